/* The batched reverse sweep: all rows of all outputs in one pass over the graph.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/derive/jacobian.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#define MAX_FORMS 6 /* differently structured terms kept apart at one node */

/* Rows low..low+count-1 of an output. */
typedef struct jacobian_rows { int output; int64_t low, count; } jacobian_rows;

/* Rows that travel together: a range of one output's, or several stacked once a dense op was met. */
typedef struct row_group {
    jacobian_rows *range;          /* by output, then row; disjoint */
    int     n_ranges;
    int64_t n_rows;
} row_group;

typedef struct term_list { lt_jacobian_term *term; int n, capacity; } term_list;

typedef struct sweep {
    lt_graph  *g;
    lt_node    x;
    int64_t   *n_rows;      /* of every output */
    row_group *group;
    int        n_groups, group_capacity;
    term_list *at;          /* per node */
    int32_t    last;
    bool      *active;
    lt_arena   arena;
} sweep;

/* ---- groups ---- */

static int find_group(sweep *s, const jacobian_rows *range, int n)
{
    for (int i = 0; i < s->n_groups; i++) {
        bool same = s->group[i].n_ranges == n;
        for (int k = 0; same && k < n; k++) {
            const jacobian_rows *a = &s->group[i].range[k], *b = &range[k];
            same = a->output == b->output && a->low == b->low && a->count == b->count;
        }
        if (same) return i;
    }
    if (s->n_groups == s->group_capacity) {
        int capacity = LT_MAX(2 * s->group_capacity, 8);
        row_group *grown = lt_realloc(s->group, (size_t)capacity * sizeof *grown);
        if (!grown) return -1;
        s->group = grown;
        s->group_capacity = capacity;
    }
    row_group *q = &s->group[s->n_groups];
    *q = (row_group){ lt_arena_alloc(&s->arena, (size_t)n * sizeof *q->range), n, 0 };
    if (!q->range) return -1;
    for (int k = 0; k < n; k++) {
        q->range[k] = range[k];
        q->n_rows += range[k].count;
    }
    return s->n_groups++;
}

/* Where the rows of a range begin inside a group that holds them; -1 when it does not. */
static int64_t row_in_group(const sweep *s, int group_id, const jacobian_rows *r)
{
    int64_t row = 0;
    for (int k = 0; k < s->group[group_id].n_ranges; k++) {
        const jacobian_rows *q = &s->group[group_id].range[k];
        if (q->output == r->output && q->low <= r->low && r->low + r->count <= q->low + q->count) return row + r->low - q->low;
        row += q->count;
    }
    return -1;
}

/* A term that is nonzero in a run of rows only belongs to a smaller group: that run. */
static bool narrow(sweep *s, lt_jacobian_term *t)
{
    if (lt_is_none(t->core) || !t->seed.rank || t->window[0] == t->seed.dim[0] || s->group[t->group].n_ranges != 1) return true;
    int64_t inner = 1;
    for (int a = 1; a < t->seed.rank; a++) {
        if (t->window[a] != t->seed.dim[a]) return true;
        inner *= t->seed.dim[a];
    }
    jacobian_rows r = s->group[t->group].range[0];
    r = (jacobian_rows){ r.output, r.low + t->low[0] * inner, t->window[0] * inner };
    if ((t->group = find_group(s, &r, 1)) < 0) return false;
    for (int b = 0; b < t->shape.rank; b++) if (t->follows[b] == 0) t->offset[b] += t->low[0] * t->stride[b];
    t->seed.dim[0] = t->window[0];
    t->low[0] = 0;
    return true;
}

/* ---- terms at a node ---- */

static bool append(sweep *s, int32_t id, const lt_jacobian_term *t)
{
    term_list *l = &s->at[id];
    if (l->n == l->capacity) {
        int capacity = LT_MAX(2 * l->capacity, 4);
        lt_jacobian_term *grown = lt_arena_alloc(&s->arena, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        for (int i = 0; i < l->n; i++) grown[i] = l->term[i];
        l->term = grown;
        l->capacity = capacity;
    }
    l->term[l->n++] = *t;
    return true;
}

/* Adds a term, joining it with one of the same form; too many forms at one node become dense. */
static bool add_term(sweep *s, int32_t id, lt_jacobian_term *t)
{
    term_list *l = &s->at[id];
    if (!narrow(s, t)) return false;
    if (lt_is_none(t->core)) return true;
    int same_group = 0;
    for (int i = 0; i < l->n; i++) {
        if (lt_term_same_form(&l->term[i], t)) {
            l->term[i].core = lt_add(s->g, l->term[i].core, t->core);
            return true;
        }
        same_group += l->term[i].group == t->group;
    }
    if (same_group < MAX_FORMS) return append(s, id, t);
    /* One dense block for the group, shaped as the node is. */
    const lt_shape shape = s->g->ir.node[id].shape;
    lt_jacobian_term sum = *t;
    lt_node total = lt_term_dense(s->g, t);
    int kept = 0;
    for (int i = 0; i < l->n; i++) {
        if (l->term[i].group != t->group) { l->term[kept++] = l->term[i]; continue; }
        lt_node d = lt_term_dense(s->g, &l->term[i]);
        lt_shape flat = lt_is_none(total) ? lt_shape0() : *lt_shape_at(s->g, total);
        if (!lt_is_none(d)) total = lt_add(s->g, total, lt_reshape(s->g, d, flat));
    }
    l->n = kept;
    if (lt_is_none(total)) return true;
    lt_shape full = { .rank = 1, .dim = { lt_shape_at(s->g, total)->dim[0] } };
    for (int k = 0; k < shape.rank && full.rank < LT_MAX_RANK; k++) full.dim[full.rank++] = shape.dim[k];
    sum = lt_term_from_dense(s->g, lt_reshape(s->g, total, full), t->group, &shape);
    return append(s, id, &sum);
}

/* ---- dense ops: one call of the rule for the rows of all groups ---- */

/* Inserts a range, sorted; ranges that touch the same rows become one. */
static int insert_range(jacobian_rows *set, int n, jacobian_rows r)
{
    int at = 0;
    while (at < n && (set[at].output < r.output || (set[at].output == r.output && set[at].low + set[at].count <= r.low))) at++;
    while (at < n && set[at].output == r.output && set[at].low < r.low + r.count) { /* overlaps: absorb it */
        int64_t low = LT_MIN(set[at].low, r.low), high = LT_MAX(set[at].low + set[at].count, r.low + r.count);
        r = (jacobian_rows){ r.output, low, high - low };
        for (int k = at; k + 1 < n; k++) set[k] = set[k + 1];
        n--;
    }
    for (int k = n; k > at; k--) set[k] = set[k - 1];
    set[at] = r;
    return n + 1;
}

/* The group of all rows in the picked terms; -1 when memory is out. */
static int union_of(sweep *s, const term_list *l, const bool *pick)
{
    int n = 0, total = 0;
    for (int i = 0; i < l->n; i++) total += pick[i] ? s->group[l->term[i].group].n_ranges : 0;
    jacobian_rows *set = lt_arena_alloc(&s->arena, ((size_t)total + 1) * sizeof *set);
    if (!set) return -1;
    for (int i = 0; i < l->n; i++) {
        const row_group *q = &s->group[l->term[i].group];
        for (int k = 0; pick[i] && k < q->n_ranges; k++) n = insert_range(set, n, q->range[k]);
    }
    return find_group(s, set, n);
}

/* Places the rows of a block among those of a larger group. */
static lt_node lift_rows(sweep *s, lt_node block, int from, int to)
{
    if (from == to || lt_is_none(block)) return block;
    lt_node parts = LT_NONE;
    int64_t row = 0;
    for (int k = 0; k < s->group[from].n_ranges; k++) {
        const jacobian_rows r = s->group[from].range[k];
        int64_t at = row_in_group(s, to, &r);
        lt_node piece = lt_slice(s->g, block, 0, row, row + r.count, 1);
        lt_node padded = lt_pad(s->g, piece, 0, at, s->group[to].n_rows - at - r.count);
        parts = k ? lt_add(s->g, parts, padded) : padded;
        row += r.count;
    }
    return parts;
}

/* All picked terms of a node as one block [rows, shape…] of their common group. */
static lt_node stack_terms(sweep *s, int32_t id, const bool *pick, int to)
{
    const lt_shape shape = s->g->ir.node[id].shape;
    const term_list *l = &s->at[id];
    lt_node total = LT_NONE;
    for (int i = 0; i < l->n; i++) {
        if (!pick[i]) continue;
        lt_node d = lt_term_dense(s->g, &l->term[i]);
        if (lt_is_none(d)) continue;
        lt_shape full = { .rank = 1, .dim = { s->group[l->term[i].group].n_rows } };
        for (int k = 0; k < shape.rank && full.rank < LT_MAX_RANK; k++) full.dim[full.rank++] = shape.dim[k];
        d = lift_rows(s, lt_reshape(s->g, d, full), l->term[i].group, to);
        total = lt_is_none(total) ? d : lt_add(s->g, total, d);
    }
    return total;
}

static bool pull_dense(sweep *s, int32_t id, int i, const bool *pick)
{
    lt_node y = lt_of(s->g, id), x = lt_input_of(s->g, y, i);
    if (lt_shape_at(s->g, y)->rank >= LT_MAX_RANK) {
        lt_graph_fail(s->g, LT_FAIL(LT_ERR_UNSUPPORTED, "jacobian through %s of rank %d: at most %d",
                                    lt_op_name((lt_op)lt_get(s->g, y)->op), LT_MAX_RANK, LT_MAX_RANK - 1));
        return true;
    }
    int to = union_of(s, &s->at[id], pick);
    if (to < 0) return false;
    lt_node block = stack_terms(s, id, pick, to);
    if (lt_is_none(block)) return true;
    lt_node share = lt_grad_pull(s->g, y, i, block);
    if (lt_is_none(share)) return true;
    const lt_shape shape = *lt_shape_at(s->g, x);
    lt_jacobian_term t = lt_term_from_dense(s->g, share, to, &shape);
    return add_term(s, x.id, &t);
}

/* Products of several dense blocks are worth one larger product; structured ones are not touched. */
static bool wants_stacking(lt_op op) { return !lt_op_is_elementwise(op) && op != LT_OP_RESHAPE && op != LT_OP_VIEW && op != LT_OP_PLACE && op != LT_OP_SUM && op != LT_OP_CAST && op != LT_OP_NORM; }

static bool pull_node(sweep *s, int32_t id)
{
    const term_list *l = &s->at[id];
    lt_node y = lt_of(s->g, id);
    int n_in = lt_get(s->g, y)->n_in;
    bool *pick = lt_arena_alloc(&s->arena, (size_t)l->n * sizeof *pick);
    if (!pick) return false;
    for (int i = 0; i < n_in && !s->g->status; i++) {
        int32_t x = lt_ir_in(lt_get(s->g, y), i);
        if (!s->active[x]) continue;
        int n_dense = 0, n_left = 0;
        for (int k = 0; k < l->n; k++) n_dense += lt_term_is_dense(&l->term[k]);
        bool stack = wants_stacking((lt_op)lt_get(s->g, y)->op) && n_dense > 1;
        for (int k = 0; k < l->n; k++) {
            lt_jacobian_term t;
            pick[k] = stack && lt_term_is_dense(&l->term[k]);
            if (!pick[k]) {
                pick[k] = !lt_term_pull(s->g, y, i, &l->term[k], &t);
                if (!pick[k] && !add_term(s, x, &t)) return false;
            }
            n_left += pick[k];
        }
        if (n_left && !pull_dense(s, id, i, pick)) return false;
    }
    return true;
}

/* ---- the result ---- */

/* The rows of one output out of a term's dense block, padded to all its rows; none if it has none. */
static lt_node rows_of(sweep *s, const lt_jacobian_term *t, int output, lt_shape flat)
{
    const row_group *q = &s->group[t->group];
    lt_node total = LT_NONE, block = LT_NONE;
    int64_t row = 0;
    for (int k = 0; k < q->n_ranges; row += q->range[k++].count) {
        const jacobian_rows r = q->range[k];
        if (r.output != output) continue;
        if (lt_is_none(block)) block = lt_reshape(s->g, lt_term_dense(s->g, t), lt_shape2(q->n_rows, flat.dim[1]));
        if (lt_is_none(block)) return block;
        lt_node part = lt_pad(s->g, lt_slice(s->g, block, 0, row, row + r.count, 1), 0, r.low, flat.dim[0] - r.low - r.count);
        total = lt_is_none(total) ? part : lt_add(s->g, total, part);
    }
    return total;
}

static lt_node assemble(sweep *s, int output)
{
    lt_shape flat = lt_shape2(s->n_rows[output], lt_shape_count(lt_shape_at(s->g, s->x)));
    const term_list *l = &s->at[s->x.id];
    lt_node total = LT_NONE;
    for (int i = 0; i < l->n && !s->g->status; i++) {
        lt_node part = rows_of(s, &l->term[i], output, flat);
        if (lt_is_none(part)) continue;
        total = lt_is_none(total) ? part : lt_add(s->g, total, part);
    }
    return lt_is_none(total) ? lt_zeros(s->g, lt_dtype_at(s->g, s->x), flat) : total;
}

static lt_status run_sweep(sweep *s, const lt_node *y, int n_y, lt_node *out)
{
    s->at = lt_calloc((size_t)LT_MAX(s->last, s->x.id) + 1, sizeof *s->at);
    s->n_rows = lt_calloc((size_t)n_y, sizeof *s->n_rows);
    if (!s->at || !s->n_rows) return LT_ERR_MEMORY;
    LT_TRY(lt_grad_active(s->g, &s->x, 1, s->last, &s->active));
    for (int i = 0; i < n_y; i++) s->n_rows[i] = lt_shape_count(lt_shape_at(s->g, y[i]));
    for (int i = 0; i < n_y; i++) {
        int q = find_group(s, &(jacobian_rows){ i, 0, s->n_rows[i] }, 1);
        if (q < 0) return LT_ERR_MEMORY;
        if (!s->n_rows[i] || !s->active[y[i].id]) continue;
        lt_jacobian_term t = lt_term_identity(s->g, y[i], q);
        if (!add_term(s, y[i].id, &t)) return LT_ERR_MEMORY;
    }
    for (int32_t id = s->last; id > s->x.id && !s->g->status; id--)
        if (s->active[id] && s->at[id].n && !pull_node(s, id)) return LT_ERR_MEMORY;
    for (int i = 0; i < n_y && !s->g->status; i++) out[i] = assemble(s, i);
    return lt_graph_status(s->g);
}

lt_status lt_jacobian(lt_graph *g, const lt_node *y, int n_y, lt_node x, lt_node *out)
{
    if (n_y < 1 || !y || !out) {
        lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "jacobian: needs at least one output and room for the result"));
        return lt_graph_status(g);
    }
    for (int i = 0; i < n_y; i++) out[i] = LT_NONE;
    if (!lt_operands_ok(g, "jacobian", n_y, y) || !lt_operand_ok(g, "jacobian", x)) return lt_graph_status(g);
    sweep s = { .g = g, .x = x };
    for (int i = 0; i < n_y; i++) {
        s.last = LT_MAX(s.last, y[i].id);
        if (!lt_dtype_is_float(lt_dtype_at(g, y[i])) || !lt_dtype_is_float(lt_dtype_at(g, x))) {
            lt_graph_fail(g, LT_FAIL(LT_ERR_TYPE, "jacobian of %s by %s: needs real floating types", lt_dtype_name(lt_dtype_at(g, y[i])), lt_dtype_name(lt_dtype_at(g, x))));
            return lt_graph_status(g);
        }
    }
    lt_status status = run_sweep(&s, y, n_y, out);
    if (status) lt_graph_fail(g, status); /* memory may be out before a builder could notice */
    lt_free(s.at);
    lt_free(s.n_rows);
    lt_free(s.active);
    lt_free(s.group);
    lt_arena_release(&s.arena);
    return status;
}
