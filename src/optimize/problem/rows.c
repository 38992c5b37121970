/* Which elements of a node are a x + b for one variable x each: followed through the ops that move, add and scale elements. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/rows.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>
#include <string.h>

#define ELEMENTS_MAX ((int64_t)1 << 27) /* of a node that is looked at */

typedef struct walk {
    const lt_graph *g;
    const int64_t  *offset;
    lt_row        **of;     /* by node; NULL: not looked at, or all of its elements are other */
    bool            no_memory;
} walk;

static const lt_row other = { LT_ROW_OTHER, 0, 0 };

static const lt_ir_node *node_at(const walk *w, int32_t id) { return &w->g->ir.node[id]; }
static int64_t count_of(const walk *w, int32_t id) { return lt_ir_count(&w->g->ir, id); }

static lt_row *take(walk *w, int32_t id)
{
    lt_row *v = lt_malloc((size_t)LT_MAX(count_of(w, id), 1) * sizeof *v);
    w->no_memory = w->no_memory || !v;
    return v;
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */
static lt_row add(lt_row x, double sign, lt_row y)
{
    if (x.variable == LT_ROW_OTHER || y.variable == LT_ROW_OTHER) return other;
    if (x.variable >= 0 && y.variable >= 0 && x.variable != y.variable) return other;
    return (lt_row){ x.variable >= 0 ? x.variable : y.variable, x.a + sign * y.a, x.b + sign * y.b };
}

static lt_row scale(lt_row x, double by)
{
    if (x.variable == LT_ROW_OTHER || !isfinite(by)) return other;
    return (lt_row){ x.variable, by * x.a, by * x.b };
}

static lt_row multiply(lt_row x, lt_row y)
{
    if (y.variable == LT_ROW_CONSTANT) return scale(x, y.b);
    return x.variable == LT_ROW_CONSTANT ? scale(y, x.b) : other;
}

static lt_row divide(lt_row x, lt_row y)
{
    if (y.variable != LT_ROW_CONSTANT || y.b == 0 || x.variable == LT_ROW_OTHER) return other;
    return (lt_row){ x.variable, x.a / y.b, x.b / y.b };
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------------- */
static lt_row *input(walk *w, int32_t id)
{
    lt_row *v = take(w, id);
    const int64_t first = w->offset[node_at(w, id)->attr.u.input.input];
    for (int64_t i = 0; v && i < count_of(w, id); i++) v[i] = (lt_row){ first + i, 1, 0 };
    return v;
}

static lt_row *full(walk *w, int32_t id)
{
    lt_row *v = take(w, id);
    for (int64_t i = 0; v && i < count_of(w, id); i++) v[i] = (lt_row){ LT_ROW_CONSTANT, 0, node_at(w, id)->attr.u.value };
    return v;
}

static lt_row *constant(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    if (n->dtype != LT_F64 && n->dtype != LT_F32) return NULL;
    lt_row *v = take(w, id);
    for (int64_t i = 0; v && i < count_of(w, id); i++)
        v[i] = (lt_row){ LT_ROW_CONSTANT, 0, n->dtype == LT_F64 ? ((const double *)n->attr.u.data)[i] : (double)((const float *)n->attr.u.data)[i] };
    return v;
}

/* Elementwise over operands of one shape, as the IR has them. */
static lt_row *elementwise(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    const lt_row *x = w->of[lt_ir_in(n, 0)], *y = n->n_in > 1 ? w->of[lt_ir_in(n, 1)] : NULL;
    const int64_t count = count_of(w, id);
    if (!x || (n->n_in > 1 && !y) || count_of(w, lt_ir_in(n, 0)) != count || (y && count_of(w, lt_ir_in(n, 1)) != count)) return NULL;
    lt_row *v = take(w, id);
    for (int64_t i = 0; v && i < count; i++) switch (n->op) {
        case LT_OP_ADD: v[i] = add(x[i], 1, y[i]); break;
        case LT_OP_SUB: v[i] = add(x[i], -1, y[i]); break;
        case LT_OP_MUL: v[i] = multiply(x[i], y[i]); break;
        case LT_OP_DIV: v[i] = divide(x[i], y[i]); break;
        default: v[i] = scale(x[i], -1);
    }
    return v;
}

/* Walks the elements of a shape, with the place of each in the affine view. */
static bool next(const lt_shape *s, const lt_affine *v, int64_t *index, int64_t *at)
{
    for (int i = s->rank - 1; i >= 0; i--) {
        *at += v->stride[i];
        if (++index[i] < s->dim[i]) return true;
        *at -= v->stride[i] * s->dim[i];
        index[i] = 0;
    }
    return false;
}

static lt_row *view(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    const lt_row *x = w->of[lt_ir_in(n, 0)];
    if (!x) return NULL;
    lt_row *v = take(w, id);
    int64_t index[LT_MAX_RANK] = { 0 }, at = n->attr.u.view.offset, i = 0;
    if (v && count_of(w, id)) do v[i++] = x[at]; while (next(&n->shape, &n->attr.u.view, index, &at));
    return v;
}

static lt_row *reshape(walk *w, int32_t id)
{
    const lt_row *x = w->of[lt_ir_in(node_at(w, id), 0)];
    lt_row *v = x ? take(w, id) : NULL;
    if (v) memcpy(v, x, (size_t)count_of(w, id) * sizeof *v);
    return v;
}

static lt_row *place(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    bool any = false;
    for (int k = 0; k < n->n_in; k++) any = any || w->of[lt_ir_in(n, k)];
    if (!any) return NULL;
    lt_row *v = take(w, id);
    for (int64_t i = 0; v && i < count_of(w, id); i++) v[i] = (lt_row){ LT_ROW_CONSTANT, 0, 0 };
    for (int k = 0; v && k < n->n_in; k++) {
        const int32_t in = lt_ir_in(n, k);
        int64_t index[LT_MAX_RANK] = { 0 }, at = n->attr.u.place[k].offset, i = 0;
        if (count_of(w, in)) do v[at] = add(v[at], 1, w->of[in] ? w->of[in][i] : other), i++; while (next(&node_at(w, in)->shape, &n->attr.u.place[k], index, &at));
    }
    return v;
}

/* Elements picked along the first axis by constant numbers: what a pattern of bounds may be. */
static lt_row *pick(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id), *base = node_at(w, lt_ir_in(n, 0)), *index = node_at(w, lt_ir_in(n, 1));
    const lt_row *x = w->of[lt_ir_in(n, 0)];
    if (!x || base->shape.rank != 1 || index->op != LT_OP_CONST || index->dtype != LT_I64 || count_of(w, id) != count_of(w, lt_ir_in(n, 1))) return NULL;
    lt_row *v = take(w, id);
    for (int64_t i = 0; v && i < count_of(w, id); i++) {
        const int64_t at = ((const int64_t *)index->attr.u.data)[i];
        v[i] = at >= 0 && at < base->shape.dim[0] ? x[at] : other;
    }
    return v;
}

static lt_row *describe(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    if (count_of(w, id) > ELEMENTS_MAX || n->detached) return NULL;
    switch (n->op) {
    case LT_OP_INPUT: return input(w, id);
    case LT_OP_FULL: return full(w, id);
    case LT_OP_CONST: return constant(w, id);
    case LT_OP_ADD: case LT_OP_SUB: case LT_OP_MUL: case LT_OP_DIV: case LT_OP_NEG: return elementwise(w, id);
    case LT_OP_VIEW: return view(w, id);
    case LT_OP_RESHAPE: return reshape(w, id);
    case LT_OP_PLACE: return place(w, id);
    case LT_OP_TAKE: case LT_OP_TAKE_ALONG: return pick(w, id);
    default: return NULL;
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------------------- */
static bool follows(const lt_ir_node *n)
{
    switch (n->op) {
    case LT_OP_ADD: case LT_OP_SUB: case LT_OP_MUL: case LT_OP_DIV: case LT_OP_NEG: case LT_OP_VIEW: case LT_OP_RESHAPE: case LT_OP_PLACE: case LT_OP_TAKE: case LT_OP_TAKE_ALONG: return true;
    default: return false;
    }
}

/* What the node is made of, through ops that are followed. */
static uint8_t *mark(const lt_graph *g, int32_t root)
{
    uint8_t *wanted = lt_calloc((size_t)root + 1, 1);
    if (!wanted) return NULL;
    wanted[root] = 1;
    for (int32_t id = root; id >= 0; id--)
        for (int k = 0; wanted[id] && follows(&g->ir.node[id]) && k < g->ir.node[id].n_in; k++) wanted[lt_ir_in(&g->ir.node[id], k)] = 1;
    return wanted;
}

lt_status lt_rows_describe(const lt_graph *g, lt_node node, const int64_t *offset, lt_row **out)
{
    const int32_t root = node.id;
    walk w = { .g = g, .offset = offset, .of = lt_calloc((size_t)root + 1, sizeof *w.of) };
    uint8_t *wanted = mark(g, root);
    w.no_memory = !w.of || !wanted;
    for (int32_t id = 0; id <= root && !w.no_memory; id++)
        if (wanted[id]) w.of[id] = describe(&w, id);
    *out = w.no_memory ? NULL : w.of[root];
    for (int32_t id = 0; w.of && id < root; id++) lt_free(w.of[id]);
    if (w.no_memory && w.of) lt_free(w.of[root]);
    lt_free(w.of);
    lt_free(wanted);
    return w.no_memory ? LT_ERR_MEMORY : LT_OK;
}
