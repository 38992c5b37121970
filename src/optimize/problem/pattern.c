/* Dependences followed from the inputs on: each element of a node has the list of variables that it is made of. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/pattern.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <stdlib.h>
#include <string.h>

/* Element i of a node depends on var[start[i]] … var[start[i + 1] - 1]. */
typedef struct deps { int64_t *start; int32_t *var; int64_t capacity; } deps;

typedef struct walk {
    const lt_graph *g;
    const int64_t *offset;
    int64_t  n, most;
    deps    *of;             /* by node; start NULL: of nothing */
    int64_t *seen, stamp;    /* by variable: the list it was put into last */
} walk;

static const lt_ir_node *node_at(const walk *w, int32_t id) { return &w->g->ir.node[id]; }
static int64_t count_of(const walk *w, int32_t id) { return lt_ir_count(&w->g->ir, id); }
static const deps *operand(const walk *w, int32_t id, int k) { return &w->of[lt_ir_in(node_at(w, id), k)]; }

/* ---- Lists ------------------------------------------------------------------------------------------------ */
static lt_status begin(walk *w, int32_t id)
{
    deps *d = &w->of[id];
    d->start = lt_malloc((size_t)(count_of(w, id) + 1) * sizeof *d->start);
    if (!d->start) return LT_ERR_MEMORY;
    d->start[0] = 0;
    return LT_OK;
}

static lt_status reserve(walk *w, deps *d, int64_t wanted)
{
    if (wanted <= d->capacity) return LT_OK;
    if (wanted > w->most) return LT_FAIL(LT_ERR_UNSUPPORTED, "constraints depend on too many variables each: more than %lld in all", (long long)w->most);
    const int64_t capacity = LT_MIN(LT_MAX(2 * d->capacity, LT_MAX(wanted, 256)), LT_MAX(w->most, wanted));
    int32_t *var = lt_realloc(d->var, (size_t)capacity * sizeof *var);
    if (!var) return LT_ERR_MEMORY;
    d->var = var;
    d->capacity = capacity;
    return LT_OK;
}

/* A new list, of the element that comes next: begin_list, then add_* as often as wanted, then end_list. */
static void begin_list(walk *w, deps *d, int64_t i)
{
    w->stamp++;
    d->start[i + 1] = d->start[i];
}

static lt_status add_list(walk *w, deps *d, int64_t i, const deps *from, int64_t element)
{
    if (!from->start) return LT_OK;
    LT_TRY(reserve(w, d, d->start[i + 1] + from->start[element + 1] - from->start[element]));
    for (int64_t e = from->start[element]; e < from->start[element + 1]; e++) {
        const int32_t v = from->var[e];
        if (w->seen[v] == w->stamp) continue;
        w->seen[v] = w->stamp;
        d->var[d->start[i + 1]++] = v;
    }
    return LT_OK;
}

/* ---- Ops -------------------------------------------------------------------------------------------------- */
static lt_status input(walk *w, int32_t id)
{
    deps *d = &w->of[id];
    const int64_t first = w->offset[node_at(w, id)->attr.u.input.input], count = count_of(w, id);
    LT_TRY(begin(w, id));
    LT_TRY(reserve(w, d, count));
    for (int64_t i = 0; i < count; i++) {
        d->var[i] = (int32_t)(first + i);
        d->start[i + 1] = i + 1;
    }
    return LT_OK;
}

static lt_status elementwise(walk *w, int32_t id)
{
    LT_TRY(begin(w, id));
    for (int64_t i = 0; i < count_of(w, id); i++) {
        begin_list(w, &w->of[id], i);
        for (int k = 0; k < node_at(w, id)->n_in; k++) LT_TRY(add_list(w, &w->of[id], i, operand(w, id, k), i));
    }
    return LT_OK;
}

/* Walks the elements of a shape, with the place of each in the affine view. */
static bool next(const lt_shape *s, const int64_t *stride, int64_t *index, int64_t *at)
{
    for (int i = s->rank - 1; i >= 0; i--) {
        *at += stride[i];
        if (++index[i] < s->dim[i]) return true;
        *at -= stride[i] * s->dim[i];
        index[i] = 0;
    }
    return false;
}

static lt_status view(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    int64_t index[LT_MAX_RANK] = { 0 }, at = n->attr.u.view.offset, i = 0;
    LT_TRY(begin(w, id));
    if (!count_of(w, id)) return LT_OK;
    do {
        begin_list(w, &w->of[id], i);
        LT_TRY(add_list(w, &w->of[id], i, operand(w, id, 0), at));
        i++;
    } while (next(&n->shape, n->attr.u.view.stride, index, &at));
    return LT_OK;
}

/* Where elements of several operands, or several of one, meet in one of the result: which go where, sorted by the result. */
typedef struct meeting { int64_t n; int64_t *start, *element; int32_t *from; } meeting;

static void meeting_release(meeting *m)
{
    lt_free(m->start);
    lt_free(m->element);
    lt_free(m->from);
}

static lt_status meeting_create(int64_t results, int64_t entries, meeting *m)
{
    *m = (meeting){ .n = results, .start = lt_calloc((size_t)results + 2, sizeof *m->start), .element = lt_malloc((size_t)LT_MAX(entries, 1) * sizeof *m->element),
                    .from = lt_malloc((size_t)LT_MAX(entries, 1) * sizeof *m->from) };
    return m->start && m->element && m->from ? LT_OK : LT_ERR_MEMORY;
}

/* Twice for each operand: counted, then listed. stride: of the operand's elements in the result. */
static void meet(meeting *m, bool listing, const lt_shape *shape, int64_t at, const int64_t *stride, int32_t from)
{
    int64_t index[LT_MAX_RANK] = { 0 }, i = 0;
    if (!lt_shape_count(shape)) return;
    do {
        if (!listing) m->start[at + 2]++;
        else {
            m->element[m->start[at + 1]] = i;
            m->from[m->start[at + 1]++] = from;
        }
        i++;
    } while (next(shape, stride, index, &at));
}

static void meeting_sum(meeting *m)
{
    for (int64_t i = 0; i <= m->n; i++) m->start[i + 1] += m->start[i];
}

static lt_status gather(walk *w, int32_t id, const meeting *m)
{
    LT_TRY(begin(w, id));
    for (int64_t i = 0; i < m->n; i++) {
        begin_list(w, &w->of[id], i);
        for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) LT_TRY(add_list(w, &w->of[id], i, operand(w, id, m->from[e]), m->element[e]));
    }
    return LT_OK;
}

static lt_status place(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    int64_t entries = 0;
    meeting m;
    for (int k = 0; k < n->n_in; k++) entries += count_of(w, lt_ir_in(n, k));
    lt_status s = meeting_create(count_of(w, id), entries, &m);
    for (int pass = 0; pass < 2 && !s; pass++) {
        for (int k = 0; k < n->n_in; k++) meet(&m, pass, &node_at(w, lt_ir_in(n, k))->shape, n->attr.u.place[k].offset, n->attr.u.place[k].stride, k);
        if (!pass) meeting_sum(&m);
    }
    if (!s) s = gather(w, id, &m);
    meeting_release(&m);
    return s;
}

static lt_status reduce(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id), *x = node_at(w, lt_ir_in(n, 0));
    int64_t stride[LT_MAX_RANK] = { 0 }, step = 1;
    meeting m;
    for (int a = x->shape.rank - 1; a >= 0; a--) {
        if (n->attr.u.reduce.axes >> a & 1) continue;
        stride[a] = step;
        step *= x->shape.dim[a];
    }
    lt_status s = meeting_create(count_of(w, id), count_of(w, lt_ir_in(n, 0)), &m);
    for (int pass = 0; pass < 2 && !s; pass++) {
        meet(&m, pass, &x->shape, 0, stride, 0);
        if (!pass) meeting_sum(&m);
    }
    if (!s) s = gather(w, id, &m);
    meeting_release(&m);
    return s;
}

static bool is_zero(const lt_ir_node *n, int64_t at)
{
    if (n->op == LT_OP_FULL) return n->attr.u.value == 0;
    if (n->op != LT_OP_CONST) return false;
    return n->dtype == LT_F64 ? ((const double *)n->attr.u.data)[at] == 0 : n->dtype == LT_F32 && ((const float *)n->attr.u.data)[at] == 0;
}

/* [m, k] by [k, n]; zeros of a constant factor take nothing along. */
static lt_status multiply(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id), *a = node_at(w, lt_ir_in(n, 0)), *b = node_at(w, lt_ir_in(n, 1));
    const bool ta = n->attr.u.trans.a, tb = n->attr.u.trans.b;
    const int64_t rows = n->shape.dim[0], columns = n->shape.dim[1], inner = a->shape.dim[ta ? 0 : 1];
    LT_TRY(begin(w, id));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = i * columns + j;
            begin_list(w, &w->of[id], at);
            for (int64_t k = 0; k < inner; k++) {
                const int64_t x = ta ? k * rows + i : i * inner + k, y = tb ? j * inner + k : k * columns + j;
                if (is_zero(a, x) || is_zero(b, y)) continue;
                LT_TRY(add_list(w, &w->of[id], at, operand(w, id, 0), x));
                LT_TRY(add_list(w, &w->of[id], at, operand(w, id, 1), y));
            }
        }
    return LT_OK;
}

/* Element i of an index that the graph itself has; -1: it follows from variables, or is none. */
static int64_t index_at(const walk *w, int32_t id, int64_t i)
{
    const lt_ir_node *n = node_at(w, id);
    while (n->op == LT_OP_CAST || n->op == LT_OP_RESHAPE) n = node_at(w, lt_ir_in(n, 0));
    if (n->op == LT_OP_FULL) return (int64_t)n->attr.u.value;
    if (n->op != LT_OP_CONST) return -1;
    return n->dtype == LT_I64 ? ((const int64_t *)n->attr.u.data)[i] : n->dtype == LT_F64 ? (int64_t)((const double *)n->attr.u.data)[i] : -1;
}

/* (x [.., P], index [.., Q]): one of its row for each, any where the index is not known. TAKE of a vector is the same with one row. */
static lt_status pick(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    const lt_shape *x = &node_at(w, lt_ir_in(n, 0))->shape;
    const int64_t from = x->dim[x->rank - 1], to = x->rank == 1 ? count_of(w, id) : n->shape.dim[n->shape.rank - 1];
    LT_TRY(begin(w, id));
    for (int64_t i = 0; i < count_of(w, id); i++) {
        const int64_t row = i / to * from, at = index_at(w, lt_ir_in(n, 1), i);
        begin_list(w, &w->of[id], i);
        if (at >= 0 && at < from) LT_TRY(add_list(w, &w->of[id], i, operand(w, id, 0), row + at));
        else for (int64_t k = 0; k < from; k++) LT_TRY(add_list(w, &w->of[id], i, operand(w, id, 0), row + k));
    }
    return LT_OK;
}

static bool is_pick(const walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    const lt_shape *x = &node_at(w, lt_ir_in(n, 0))->shape;
    if (!count_of(w, id) || count_of(w, id) != count_of(w, lt_ir_in(n, 1))) return false;
    return x->rank == 1 || (n->op == LT_OP_TAKE_ALONG && x->rank == n->shape.rank
                            && count_of(w, lt_ir_in(n, 0)) / x->dim[x->rank - 1] == count_of(w, id) / n->shape.dim[n->shape.rank - 1]);
}

/* Any other op: everything depends on everything. */
static lt_status mix(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    deps all = { .start = (int64_t[2]){ 0 } };
    deps *d = &w->of[id];
    lt_status s = LT_OK;
    begin_list(w, &all, 0);
    for (int k = 0; k < n->n_in; k++)
        for (int64_t i = 0; operand(w, id, k)->start && i < count_of(w, lt_ir_in(n, k)) && !s; i++) s = add_list(w, &all, 0, operand(w, id, k), i);
    const int64_t count = all.start[1];
    if (!s && count) s = begin(w, id);
    if (!s && count) s = reserve(w, d, count * count_of(w, id));
    for (int64_t i = 0; i < count_of(w, id) && !s && count; i++) {
        memcpy(d->var + d->start[i], all.var, (size_t)count * sizeof *all.var);
        d->start[i + 1] = d->start[i] + count;
    }
    lt_free(all.var);
    return s;
}

static lt_status follow(walk *w, int32_t id)
{
    const lt_ir_node *n = node_at(w, id);
    bool any = n->op == LT_OP_INPUT;
    for (int k = 0; k < n->n_in; k++) any = any || operand(w, id, k)->start;
    if (!any || n->detached) return LT_OK;
    if (lt_op_is_elementwise((lt_op)n->op)) return elementwise(w, id);
    switch (n->op) {
    case LT_OP_INPUT: return input(w, id);
    case LT_OP_CAST: case LT_OP_RESHAPE: return elementwise(w, id);
    case LT_OP_VIEW: return view(w, id);
    case LT_OP_PLACE: return place(w, id);
    case LT_OP_SUM: case LT_OP_RMAX: case LT_OP_RMIN: return reduce(w, id);
    case LT_OP_MATMUL: return n->shape.rank == 2 && node_at(w, lt_ir_in(n, 0))->shape.rank == 2 && node_at(w, lt_ir_in(n, 1))->shape.rank == 2 ? multiply(w, id) : mix(w, id);
    case LT_OP_TAKE: case LT_OP_TAKE_ALONG: return is_pick(w, id) ? pick(w, id) : mix(w, id);
    default: return mix(w, id);
    }
}

/* ---- The whole -------------------------------------------------------------------------------------------- */
static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static lt_status collect(const walk *w, const lt_node *node, int n_nodes, lt_csr *out)
{
    int64_t m = 0, entries = 0, row = 0;
    for (int k = 0; k < n_nodes; k++) {
        const deps *d = &w->of[node[k].id];
        m += count_of(w, node[k].id);
        if (d->start) entries += d->start[count_of(w, node[k].id)];
    }
    *out = (lt_csr){ m, w->n, lt_malloc((size_t)(m + 1) * sizeof *out->start), lt_malloc((size_t)LT_MAX(entries, 1) * sizeof *out->column) };
    if (!out->start || !out->column) {
        lt_csr_release(out);
        return LT_ERR_MEMORY;
    }
    out->start[0] = 0;
    for (int k = 0; k < n_nodes; k++) {
        const deps *d = &w->of[node[k].id];
        for (int64_t i = 0; i < count_of(w, node[k].id); i++, row++) {
            const int64_t count = d->start ? d->start[i + 1] - d->start[i] : 0;
            int32_t *to = out->column + out->start[row];
            if (count) memcpy(to, d->var + d->start[i], (size_t)count * sizeof *to);
            if (count > 1) qsort(to, (size_t)count, sizeof *to, ascending);
            out->start[row + 1] = out->start[row] + count;
        }
    }
    return LT_OK;
}

/* What the nodes are made of. */
static uint8_t *mark(const lt_graph *g, const lt_node *node, int n_nodes, int32_t *last)
{
    *last = 0;
    for (int k = 0; k < n_nodes; k++) *last = LT_MAX(*last, node[k].id);
    uint8_t *wanted = lt_calloc((size_t)*last + 1, 1);
    if (!wanted) return NULL;
    for (int k = 0; k < n_nodes; k++) wanted[node[k].id] = 1;
    for (int32_t id = *last; id >= 0; id--)
        for (int k = 0; wanted[id] && !g->ir.node[id].detached && k < g->ir.node[id].n_in; k++) wanted[lt_ir_in(&g->ir.node[id], k)] = 1;
    return wanted;
}

lt_status lt_pattern_find(const lt_graph *g, const lt_node *node, int n_nodes, const int64_t *offset, int64_t n, int64_t most, lt_csr *out)
{
    int32_t last;
    *out = (lt_csr){ 0 };
    if (n > INT32_MAX) return LT_FAIL(LT_ERR_UNSUPPORTED, "%lld variables are too many for sparse gradients", (long long)n);
    uint8_t *wanted = mark(g, node, n_nodes, &last);
    walk w = { .g = g, .offset = offset, .n = n, .most = most, .of = lt_calloc((size_t)last + 1, sizeof *w.of), .seen = lt_calloc((size_t)LT_MAX(n, 1), sizeof *w.seen) };
    lt_status s = wanted && w.of && w.seen ? LT_OK : LT_ERR_MEMORY;
    for (int32_t id = 0; id <= last && !s; id++)
        if (wanted[id]) s = follow(&w, id);
    if (!s) s = collect(&w, node, n_nodes, out);
    for (int32_t id = 0; w.of && id <= last; id++) {
        lt_free(w.of[id].start);
        lt_free(w.of[id].var);
    }
    lt_free(w.of);
    lt_free(w.seen);
    lt_free(wanted);
    return s;
}
