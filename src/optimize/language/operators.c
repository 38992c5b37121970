/* The operators + - * / @ ^ on values, with broadcasting. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/status.h"

#include <math.h>

static double apply(int sign, double a, double b)
{
    switch (sign) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    default: return pow(a, b);
    }
}

typedef struct binary { int sign; int lead; bool exact_power; double exponent; lt_shape a, b; } binary;

/* NumPy's rule, over shapes of one rank. */
static bool broadcast_shapes(const lt_shape *a, const lt_shape *b, lt_shape *out)
{
    *out = *a;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i] && a->dim[i] != 1 && b->dim[i] != 1) return false;
        out->dim[i] = a->dim[i] == 1 ? b->dim[i] : a->dim[i];
    }
    return true;
}

/* Constants: plain loops over the broadcast shape. */
static lt_value compute(lt_reader *r, lt_text_span where, const binary *o, const lt_value *a, const lt_value *b, const lt_shape *shape)
{
    double *out = lt_value_alloc(r, where, shape);
    if (!out) return lt_value_none();
    int64_t n = lt_shape_count(shape), step_a[LT_MAX_RANK], step_b[LT_MAX_RANK], at[LT_MAX_RANK] = { 0 };
    int64_t size_a = 1, size_b = 1, ia = 0, ib = 0;
    for (int i = shape->rank - 1; i >= 0; i--) {
        step_a[i] = o->a.dim[i] == 1 ? 0 : size_a;
        step_b[i] = o->b.dim[i] == 1 ? 0 : size_b;
        size_a *= o->a.dim[i];
        size_b *= o->b.dim[i];
    }
    for (int64_t k = 0; k < n; k++) {
        out[k] = apply(o->sign, a->data[ia], b->data[ib]);
        for (int i = shape->rank - 1; i >= 0; i--) {
            ia += step_a[i], ib += step_b[i];
            if (++at[i] < shape->dim[i]) break;
            ia -= step_a[i] * shape->dim[i], ib -= step_b[i] * shape->dim[i];
            at[i] = 0;
        }
    }
    lt_value v = lt_value_constant(shape, out);
    v.lead = o->lead;
    return v;
}

static lt_node build_binary(void *ctx, lt_graph *g, const lt_node *in)
{
    const binary *o = ctx;
    lt_node a = lt_reshape(g, in[0], o->a), b = lt_reshape(g, in[1], o->b);
    switch (o->sign) {
    case '+': return lt_add(g, a, b);
    case '-': return lt_sub(g, a, b);
    case '*': return lt_mul(g, a, b);
    case '/': return lt_div(g, a, b);
    default: return o->exact_power ? lt_pow_scalar(g, a, o->exponent) : lt_pow(g, a, b);
    }
}

static const char *sign_name(int sign)
{
    return sign == '+' ? "sum" : sign == '-' ? "difference" : sign == '*' ? "product" : sign == '/' ? "quotient" : "power";
}

static lt_value elementwise(lt_reader *r, lt_text_span where, int sign, const lt_value *a, const lt_value *b)
{
    int lead = LT_MAX(a->lead, b->lead), rank = LT_MAX(a->shape.rank - a->lead, b->shape.rank - b->lead);
    if (lead + rank > LT_MAX_RANK) return lt_cannot_lift(r, "the number of its axes");
    binary o = { sign, lead, false, 0, lt_value_aligned(a, lead, rank), lt_value_aligned(b, lead, rank) };
    lt_shape shape;
    if (!broadcast_shapes(&o.a, &o.b, &shape)) {
        lt_reader_error(r, where, "%s of %s and %s: the shapes do not broadcast", sign_name(sign),
                        lt_value_shape_text(a).s, lt_value_shape_text(b).s);
        return lt_value_none();
    }
    if (a->kind == LT_VALUE_CONSTANT && b->kind == LT_VALUE_CONSTANT) return compute(r, where, &o, a, b, &shape);
    /* A scalar constant exponent is exact for negative bases when it is integral. */
    if (sign == '^' && b->kind == LT_VALUE_CONSTANT && lt_value_count(b) == 1 && lt_shape_equal(&o.a, &shape)) {
        o.exact_power = true;
        o.exponent = b->data[0];
    }
    return lt_value_build(r, where, (lt_value[]){ *a, *b }, 2, lead, build_binary, &o);
}

/* ---- matmul ---- */

/* Vectors become matrices in the right place; their axis is dropped from the result. */
static lt_node build_matmul(void *ctx, lt_graph *g, const lt_node *in)
{
    const binary *o = ctx;
    lt_node a = in[0], b = in[1];
    if (!o->lead) return lt_matmul(g, a, b);
    return lt_matmul(g, lt_reshape(g, a, o->a), lt_reshape(g, b, o->b));
}

static lt_value lifted_matmul(lt_reader *r, lt_text_span where, const lt_value *a, const lt_value *b)
{
    lt_shape ea = lt_value_element(a), eb = lt_value_element(b);
    if (ea.rank > 2 || eb.rank > 2) return lt_cannot_lift(r, "a product of stacks of matrices");
    int lead = LT_MAX(a->lead, b->lead);
    if (lead + 2 > LT_MAX_RANK) return lt_cannot_lift(r, "the number of its axes");
    binary o = { '@', lead, false, 0, lt_value_aligned(a, lead, 2), lt_value_aligned(b, lead, 2) };
    if (eb.rank == 1) { o.b.dim[lead] = eb.dim[0]; o.b.dim[lead + 1] = 1; } /* a column; a's vector is a row already */
    lt_value v = lt_value_build(r, where, (lt_value[]){ *a, *b }, 2, lead, build_matmul, &o);
    if (v.kind == LT_VALUE_NONE) return v;
    lt_shape s = { .rank = lead };
    for (int i = 0; i < lead; i++) s.dim[i] = v.shape.dim[i];
    if (ea.rank == 2) s.dim[s.rank++] = v.shape.dim[lead];
    if (eb.rank == 2) s.dim[s.rank++] = v.shape.dim[lead + 1];
    return lt_value_reshape(r, where, &v, &s, lead);
}

static lt_value matmul(lt_reader *r, lt_text_span where, const lt_value *a, const lt_value *b)
{
    lt_shape ea = lt_value_element(a), eb = lt_value_element(b);
    if (!ea.rank || !eb.rank) {
        lt_reader_error(r, where, "matmul of %s by %s: numbers multiply with '*'", lt_shape_str(&ea).s, lt_shape_str(&eb).s);
        return lt_value_none();
    }
    int64_t ka = ea.dim[ea.rank - 1], kb = eb.dim[LT_MAX(eb.rank - 2, 0)];
    if (ka != kb) {
        lt_reader_error(r, where, "matmul of %s by %s: inner sizes %lld and %lld differ", lt_shape_str(&ea).s,
                        lt_shape_str(&eb).s, (long long)ka, (long long)kb);
        return lt_value_none();
    }
    if (a->lead || b->lead) return lifted_matmul(r, where, a, b);
    binary o = { .sign = '@' };
    return lt_value_build(r, where, (lt_value[]){ *a, *b }, 2, 0, build_matmul, &o);
}

lt_value lt_value_binary(lt_reader *r, lt_text_span where, int sign, const lt_value *a, const lt_value *b)
{
    if (a->kind == LT_VALUE_NONE || b->kind == LT_VALUE_NONE) return lt_value_none();
    if (!lt_expect_tensor(r, where, a) || !lt_expect_tensor(r, where, b)) return lt_value_none();
    return sign == '@' ? matmul(r, where, a, b) : elementwise(r, where, sign, a, b);
}
