/* Algebraic simplification: identities, scales, stable forms, and the algebra of views.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/passes/passes.h"

#include "base/dtype.h"
#include "base/status.h"

#include <math.h>

/* A node being simplified: its op with inputs already in `to`. */
typedef struct site {
    lt_rewrite *r;
    const lt_ir_node *n;   /* the old node */
    int32_t in[3];
} site;

static const lt_ir_node *made(const site *s, int32_t id) { return &s->r->to->node[id]; }

static bool is_full(const site *s, int32_t id, double value)
{
    return made(s, id)->op == LT_OP_FULL && made(s, id)->attr.u.value == value;
}

static int32_t emit_unary(site *s, lt_op op, int32_t x) { return lt_rewrite_emit(s->r, op, LT_F64, NULL, 1, &x, NULL); }

static int32_t emit_binary(site *s, lt_op op, int32_t a, int32_t b)
{
    return lt_rewrite_emit(s->r, op, LT_F64, NULL, 2, (int32_t[]){ a, b }, NULL);
}

static int32_t emit_full(site *s, double value)
{
    return lt_rewrite_emit(s->r, LT_OP_FULL, (lt_dtype)s->n->dtype, &s->n->shape, 0, NULL, &(lt_attr){ .u.value = value });
}

static int32_t emit_reshape(site *s, int32_t x)
{
    if (lt_shape_equal(&made(s, x)->shape, &s->n->shape)) return x;
    return lt_rewrite_emit(s->r, LT_OP_RESHAPE, LT_F64, &s->n->shape, 1, &x, NULL);
}

#define KEEP (-2) /* no rule applied */

/* ---- scalars ---- */

/* Whether a factor is far from where elements of the type overflow or lose digits. */
static bool is_safe_factor(const site *s, double c)
{
    double largest = s->n->dtype == LT_F64 ? 1e290 : s->n->dtype == LT_F16 ? 1e3 : 1e30;
    return fabs(c) <= largest && fabs(c) >= 1 / largest;
}

/* c * (d * x) and (c x) * d: one multiplication by the product of the constants. */
static int32_t simplify_scale(site *s, int32_t x, double c)
{
    if (c == 1) return x;
    if (c == -1) return emit_unary(s, LT_OP_NEG, x);
    const lt_ir_node *inner = made(s, x);
    if (inner->op == LT_OP_NEG) return emit_binary(s, LT_OP_MUL, inner->in[0], emit_full(s, -c));
    if (inner->op != LT_OP_MUL) return KEEP;
    for (int i = 0; i < 2; i++) {
        const lt_ir_node *f = made(s, inner->in[i]);
        if (f->op == LT_OP_FULL && is_safe_factor(s, f->attr.u.value * c)) {
            int32_t rest = inner->in[1 - i];
            double both = f->attr.u.value * c;
            return both == 1 ? rest : emit_binary(s, LT_OP_MUL, rest, emit_full(s, both));
        }
    }
    return KEEP;
}

static int32_t simplify_mul(site *s)
{
    int32_t a = s->in[0], b = s->in[1];
    if (a == b) return emit_unary(s, LT_OP_SQUARE, a);
    if (made(s, b)->op == LT_OP_FULL) return simplify_scale(s, a, made(s, b)->attr.u.value);
    if (made(s, a)->op == LT_OP_FULL) return simplify_scale(s, b, made(s, a)->attr.u.value);
    return KEEP;
}

static int32_t simplify_add(site *s)
{
    int32_t a = s->in[0], b = s->in[1];
    if (is_full(s, b, 0)) return a;
    if (is_full(s, a, 0)) return b;
    if (made(s, b)->op == LT_OP_NEG) return emit_binary(s, LT_OP_SUB, a, made(s, b)->in[0]);
    if (made(s, a)->op == LT_OP_NEG) return emit_binary(s, LT_OP_SUB, b, made(s, a)->in[0]);
    return KEEP;
}

static int32_t simplify_sub(site *s)
{
    int32_t a = s->in[0], b = s->in[1];
    if (is_full(s, b, 0)) return a;
    if (is_full(s, a, 0)) return emit_unary(s, LT_OP_NEG, b);
    if (made(s, b)->op == LT_OP_NEG) return emit_binary(s, LT_OP_ADD, a, made(s, b)->in[0]);
    return KEEP;
}

/* Division by a power of two is exact as a multiplication. */
static int32_t simplify_div(site *s)
{
    int exponent;
    int32_t a = s->in[0], b = s->in[1];
    if (made(s, b)->op != LT_OP_FULL) return is_full(s, a, 1) ? emit_unary(s, LT_OP_RECIP, b) : KEEP;
    double c = made(s, b)->attr.u.value;
    if (c == 1) return a;
    if (!isfinite(c) || c == 0 || fabs(frexp(c, &exponent)) != 0.5 || exponent < -60 || exponent > 60) return KEEP;
    return emit_binary(s, LT_OP_MUL, a, emit_full(s, 1 / c));
}

static int32_t simplify_unary(site *s)
{
    const lt_ir_node *x = made(s, s->in[0]);
    switch ((lt_op)s->n->op) {
    case LT_OP_NEG:
        if (x->op == LT_OP_NEG) return x->in[0];
        if (x->op == LT_OP_SUB) return emit_binary(s, LT_OP_SUB, x->in[1], x->in[0]);
        return KEEP;
    case LT_OP_ABS: return x->op == LT_OP_ABS || x->op == LT_OP_SQUARE ? s->in[0]
                         : x->op == LT_OP_NEG ? emit_unary(s, LT_OP_ABS, x->in[0]) : KEEP;
    case LT_OP_SQUARE: return x->op == LT_OP_NEG || x->op == LT_OP_ABS ? emit_unary(s, LT_OP_SQUARE, x->in[0]) : KEEP;
    case LT_OP_LOG1P: return x->op == LT_OP_EXP ? emit_unary(s, LT_OP_SOFTPLUS, x->in[0]) : KEEP;
    case LT_OP_LOG:
        if (x->op != LT_OP_ADD) return KEEP;
        for (int i = 0; i < 2; i++)
            if (is_full(s, x->in[i], 1) && made(s, x->in[1 - i])->op == LT_OP_EXP)
                return emit_unary(s, LT_OP_SOFTPLUS, made(s, x->in[1 - i])->in[0]);
        return KEEP;
    default: return KEEP;
    }
}

/* ---- views ---- */

/* A view looks at its base's elements in order: reshapes below it do not matter, and a view of
   a view is one view when the arithmetic allows it. */
static int32_t transposed_product(site *s, const lt_ir_node *product, const lt_affine *v);

static int32_t simplify_view(site *s)
{
    lt_affine v = s->n->attr.u.view, both;
    int32_t base = s->in[0];
    bool changed = false;
    for (;;) {
        const lt_ir_node *b = made(s, base);
        if (b->op == LT_OP_FULL) return emit_full(s, b->attr.u.value);
        if (b->op == LT_OP_RESHAPE) base = b->in[0];
        else if (b->op == LT_OP_VIEW && lt_affine_compose(&b->attr.u.view, &b->shape, &v, &s->n->shape, &both)) {
            v = both;
            base = b->in[0];
        } else break;
        changed = true;
    }
    if (made(s, base)->op == LT_OP_MATMUL && s->r->uses[s->n->in[0]] == 1) {
        int32_t swapped = transposed_product(s, made(s, base), &v);
        if (swapped != KEEP) return swapped;
    }
    if (v.offset == 0 && lt_affine_is_dense(&v, &s->n->shape) && lt_ir_count(s->r->to, base) == lt_shape_count(&s->n->shape))
        return emit_reshape(s, base);
    if (!changed) return KEEP;
    return lt_rewrite_emit(s->r, LT_OP_VIEW, LT_F64, &s->n->shape, 1, &base, &(lt_attr){ .u.view = v });
}

static int32_t simplify_reshape(site *s)
{
    int32_t base = s->in[0];
    while (made(s, base)->op == LT_OP_RESHAPE) base = made(s, base)->in[0];
    const lt_ir_node *b = made(s, base);
    if (b->op == LT_OP_FULL) return emit_full(s, b->attr.u.value);
    lt_affine v;
    if (b->op == LT_OP_PLACE && s->r->uses[s->n->in[0]] == 1) { /* its maps speak of elements, not of axes */
        lt_attr attr = b->attr;
        return lt_rewrite_emit(s->r, LT_OP_PLACE, LT_F64, &s->n->shape, b->n_in, lt_ir_inputs(b), &attr);
    }
    if (b->op == LT_OP_VIEW && !lt_shape_equal(&b->shape, &s->n->shape) &&
        lt_affine_reshape(&b->attr.u.view, &b->shape, &s->n->shape, &v)) {
        int32_t x = b->in[0];
        return lt_rewrite_emit(s->r, LT_OP_VIEW, LT_F64, &s->n->shape, 1, &x, &(lt_attr){ .u.view = v });
    }
    return emit_reshape(s, base); /* drops the detached mark, too: derivatives are done */
}

/* ---- place ---- */

/* Appends the parts of node `id` when it is a place used nowhere else; false when they do not fit. */
static bool absorb_place(site *s, int32_t id, int32_t old, int32_t *part, lt_affine *at, int *n)
{
    const lt_ir_node *p = made(s, id);
    if (p->op != LT_OP_PLACE || s->r->uses[old] != 1 || *n + p->n_in > LT_OP_MAX_INPUTS) return false;
    for (int i = 0; i < p->n_in; i++, (*n)++) {
        part[*n] = lt_ir_in(p, i);
        at[*n] = p->attr.u.place[i];
    }
    return true;
}

/* place(..) + place(..) into the same shape: one place of all parts. */
static int32_t merge_places(site *s)
{
    int32_t part[LT_OP_MAX_INPUTS];
    lt_affine at[LT_OP_MAX_INPUTS];
    int n = 0;
    if (s->in[0] == s->in[1]) return KEEP;
    for (int i = 0; i < 2; i++)
        if (!absorb_place(s, s->in[i], s->n->in[i], part, at, &n)) return KEEP;
    return lt_rewrite_emit(s->r, LT_OP_PLACE, LT_F64, &s->n->shape, n, part, &(lt_attr){ .u.place = at });
}

/* One part that fills the result in order is a reshape; parts that are places open up. */
static int32_t simplify_place(site *s)
{
    int32_t part[LT_OP_MAX_INPUTS];
    lt_affine at[LT_OP_MAX_INPUTS];
    int n = 0;
    bool changed = false;
    for (int i = 0; i < s->n->n_in; i++) {
        int32_t old = lt_ir_in(s->n, i), id = s->r->map[old];
        const lt_ir_node *p = made(s, id);
        const lt_affine *outer = &s->n->attr.u.place[i];
        bool opened = p->op == LT_OP_PLACE && s->r->uses[old] == 1 &&
                      n + p->n_in + (s->n->n_in - i - 1) <= LT_OP_MAX_INPUTS;
        int first = n;
        for (int k = 0; opened && k < p->n_in; k++, n++) {
            part[n] = lt_ir_in(p, k);
            opened = lt_affine_compose(outer, &p->shape, &p->attr.u.place[k], &made(s, part[n])->shape, &at[n]);
        }
        changed = changed || opened;
        if (opened) continue;
        n = first;
        part[n] = id;
        at[n++] = *outer;
    }
    if (n == 1 && at[0].offset == 0 && lt_affine_is_dense(&at[0], &made(s, part[0])->shape) &&
        lt_ir_count(s->r->to, part[0]) == lt_shape_count(&s->n->shape))
        return emit_reshape(s, part[0]);
    return changed ? lt_rewrite_emit(s->r, LT_OP_PLACE, LT_F64, &s->n->shape, n, part, &(lt_attr){ .u.place = at }) : KEEP;
}

/* ---- products and sums ---- */

/* If x is the transpose (last two axes) of a dense tensor, that tensor in its own shape; else -1. */
static int32_t untransposed(site *s, int32_t x)
{
    const lt_ir_node *v = made(s, x);
    int r = v->shape.rank;
    if (v->op != LT_OP_VIEW || v->attr.u.view.offset || r < 2) return -1;
    lt_shape base = v->shape;
    lt_affine swapped = v->attr.u.view;
    base.dim[r - 1] = v->shape.dim[r - 2];
    base.dim[r - 2] = v->shape.dim[r - 1];
    swapped.stride[r - 1] = v->attr.u.view.stride[r - 2];
    swapped.stride[r - 2] = v->attr.u.view.stride[r - 1];
    int32_t inner = v->in[0];
    if (!lt_affine_is_dense(&swapped, &base) || lt_ir_count(s->r->to, inner) != lt_shape_count(&base)) return -1;
    if (lt_shape_equal(&made(s, inner)->shape, &base)) return inner;
    return lt_rewrite_emit(s->r, LT_OP_RESHAPE, LT_F64, &base, 1, &inner, NULL);
}

static int32_t simplify_product(site *s)
{
    lt_attr attr = s->n->attr;
    int32_t in[2] = { s->in[0], s->in[1] };
    bool changed = false;
    for (int i = 0; i < (s->n->op == LT_OP_SOLVE ? 1 : 2); i++) {
        int32_t base = untransposed(s, in[i]);
        if (base < 0) continue;
        in[i] = base;
        if (i == 0) attr.u.trans.a = !attr.u.trans.a; else attr.u.trans.b = !attr.u.trans.b;
        changed = true;
    }
    return changed ? lt_rewrite_emit(s->r, (lt_op)s->n->op, LT_F64, NULL, 2, in, &attr) : KEEP;
}

/* (a b)' is b' a'. */
static int32_t transposed_product(site *s, const lt_ir_node *product, const lt_affine *v)
{
    const lt_shape *p = &product->shape, *t = &s->n->shape;
    if (p->rank != 2 || t->rank != 2 || v->offset || t->dim[0] != p->dim[1] || t->dim[1] != p->dim[0]) return KEEP;
    if (v->stride[0] != 1 || v->stride[1] != p->dim[1]) return KEEP;
    lt_attr attr = { .u.trans = { .a = !product->attr.u.trans.b, .b = !product->attr.u.trans.a } };
    return lt_rewrite_emit(s->r, LT_OP_MATMUL, LT_F64, NULL, 2, (int32_t[]){ product->in[1], product->in[0] }, &attr);
}

static int32_t simplify_reduce(site *s)
{
    const lt_shape *in = &made(s, s->in[0])->shape;
    for (int i = 0; i < in->rank; i++)
        if (s->n->attr.u.reduce.axes >> i & 1 && in->dim[i] != 1) return KEEP;
    return emit_reshape(s, s->in[0]);
}

static int32_t simplify(site *s)
{
    lt_op op = (lt_op)s->n->op;
    if (lt_op_is_elementwise(op) && lt_op_arity(op) == 1) return simplify_unary(s);
    switch (op) {
    case LT_OP_ADD: {
        int32_t merged = merge_places(s);
        return merged == KEEP ? simplify_add(s) : merged;
    }
    case LT_OP_SUB: return simplify_sub(s);
    case LT_OP_MUL: return simplify_mul(s);
    case LT_OP_DIV: return simplify_div(s);
    case LT_OP_VIEW: return simplify_view(s);
    case LT_OP_RESHAPE: return simplify_reshape(s);
    case LT_OP_PLACE: return simplify_place(s);
    case LT_OP_MATMUL: case LT_OP_SOLVE: return simplify_product(s);
    case LT_OP_SUM: case LT_OP_RMAX: case LT_OP_RMIN: return simplify_reduce(s);
    default: return KEEP;
    }
}

static int32_t node(lt_rewrite *r, int32_t old)
{
    site s = { .r = r, .n = &r->from->node[old] };
    for (int i = 0; i < s.n->n_in && i < 3; i++) s.in[i] = r->map[lt_ir_in(s.n, i)];
    int32_t id = lt_dtype_is_float((lt_dtype)s.n->dtype) || !lt_op_is_elementwise((lt_op)s.n->op) ? simplify(&s) : KEEP;
    return id == KEEP ? lt_rewrite_copy(r, old) : id;
}

const lt_pass_row lt_pass_algebraic = { "algebraic", LT_PASS_ALGEBRAIC, NULL, node, NULL };
