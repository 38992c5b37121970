/* From an AMPL model to a graph: defined variables level by level, constraints by shape, bounds. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/group.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- Defined variables -------------------------------------------------------------------------------- */

/* One more than the highest level used. A definition uses only earlier ones: the reader saw to that. */
static int64_t level_of(const lt_nl *nl, const lt_nl_body *body, const int64_t *level)
{
    int64_t most = 0;
    for (int64_t i = 0; body->first >= 0 && i < nl->node[body->first].size; i++) {
        const lt_nl_node *node = &nl->node[body->first + i];
        if (node->kind == LT_NL_VARIABLE && node->variable >= nl->n) most = LT_MAX(most, level[node->variable - nl->n]);
    }
    for (int64_t k = 0; k < body->linear.n; k++)
        if (body->linear.variable[k] >= nl->n) most = LT_MAX(most, level[body->linear.variable[k] - nl->n]);
    return most + 1;
}

/* A definition may stand in the file before those that it uses by number, never before those it uses in fact; order by segment. */
static int64_t find_levels(const lt_nl *nl, int64_t *level)
{
    int64_t most = 0;
    for (bool changed = true; changed;) { /* definitions mostly stand in order: two passes */
        changed = false;
        for (int64_t i = 0; i < nl->n_defined; i++) {
            int64_t l = nl->defined[i].given ? level_of(nl, &nl->defined[i], level) : 0;
            changed |= l != level[i];
            level[i] = l;
            most = LT_MAX(most, l);
        }
    }
    return most;
}

/* Appends the values of one level to those that later ones see. */
static void build_level(lt_nl_scope *s, lt_nl_item *items, int64_t n, int64_t *n_values)
{
    lt_node *parts = lt_nl_take(s, n + 1, sizeof *parts);
    int n_parts = 1;
    if (!parts) return;
    parts[0] = s->values;
    lt_nl_sort(s->nl, items, n);
    for (int64_t at = 0, k; at < n; at += k) {
        k = lt_nl_group_size(s->nl, items + at, n - at);
        parts[n_parts++] = lt_nl_group_build(s, items + at, k);
        for (int64_t i = 0; i < k; i++) s->position[s->nl->n + items[at + i].id] = (*n_values)++;
    }
    s->values = lt_concat(s->g, parts, n_parts, 0);
}

static void build_defined(lt_nl_scope *s)
{
    const lt_nl *nl = s->nl;
    int64_t *level = lt_nl_take(s, nl->n_defined, sizeof *level), n_values = nl->n;
    lt_nl_item *items = lt_nl_take(s, nl->n_defined, sizeof *items);
    if (!level || !items) return;
    int64_t most = find_levels(nl, level);
    for (int64_t l = 1; l <= most; l++) {
        int64_t n = 0;
        for (int64_t i = 0; i < nl->n_defined; i++)
            if (level[i] == l) items[n++] = (lt_nl_item){ .id = i, .first = nl->defined[i].first, .linear = &nl->defined[i].linear, .factor = 1 };
        build_level(s, items, n, &n_values);
    }
}

/* ---- Constraints and bounds -------------------------------------------------------------------------------- */

enum { FREE_ROW = 0, UPPER = 1, LOWER = 2, EQUAL = 4 };

static int kind_of(double lower, double upper)
{
    if (lower == upper) return EQUAL;
    return (isfinite(upper) ? UPPER : 0) | (isfinite(lower) ? LOWER : 0);
}

/* Rows of ci and ce as they come. */
typedef struct rows {
    lt_nl_scope *s;
    lt_node     *ci, *ce;
    int          n_ci, n_ce;
    lt_nl_graph *out;
} rows;

/* sign * (body - bound of each id) becomes rows of ci or ce; where[id] says which. */
static void add_rows(rows *r, lt_node body, double sign, const int64_t *id, int64_t n, const double *bound, bool equality, int64_t *where)
{
    double *v = lt_nl_take(r->s, n, sizeof *v);
    int64_t *next = equality ? &r->out->q : &r->out->p;
    if (!v) return;
    for (int64_t i = 0; i < n; i++) {
        v[i] = bound[id[i]];
        where[id[i]] = (*next)++;
    }
    lt_node b = lt_nl_vector(r->s->g, v, n);
    lt_node part = sign > 0 ? lt_sub(r->s->g, body, b) : lt_sub(r->s->g, b, body);
    if (equality) r->ce[r->n_ce++] = part;
    else r->ci[r->n_ci++] = part;
}

static void add_kind(rows *r, int kind, lt_node body, const int64_t *id, int64_t n, const double *lower, const double *upper, const lt_nl_rows *where)
{
    if (kind & EQUAL) add_rows(r, body, 1, id, n, lower, true, where->equal);
    if (kind & UPPER) add_rows(r, body, 1, id, n, upper, false, where->upper);
    if (kind & LOWER) add_rows(r, body, -1, id, n, lower, false, where->lower);
}

static void build_constraints(rows *r)
{
    const lt_nl *nl = r->s->nl;
    lt_nl_item *items = lt_nl_take(r->s, nl->m, sizeof *items);
    int64_t *id = lt_nl_take(r->s, nl->m, sizeof *id), n = 0;
    if (!items || !id) return;
    for (int64_t i = 0; i < nl->m; i++) {
        int kind = kind_of(nl->c_lower[i], nl->c_upper[i]);
        if (kind == FREE_ROW) continue;
        items[n++] = (lt_nl_item){ .id = i, .kind = kind, .first = nl->constraint[i].first, .linear = &nl->constraint[i].linear, .factor = 1 };
    }
    lt_nl_sort(nl, items, n);
    for (int64_t at = 0, k; at < n; at += k) {
        k = lt_nl_group_size(nl, items + at, n - at);
        for (int64_t i = 0; i < k; i++) id[i] = items[at + i].id;
        add_kind(r, items[at].kind, lt_nl_group_build(r->s, items + at, k), id, k, nl->c_lower, nl->c_upper, &r->out->constraint);
    }
}

static void build_bounds(rows *r)
{
    const lt_nl *nl = r->s->nl;
    static const int kinds[] = { EQUAL, UPPER, LOWER };
    int64_t *id = lt_nl_take(r->s, nl->n, sizeof *id);
    if (!id) return;
    for (size_t k = 0; k < LT_LEN(kinds); k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < nl->n; i++)
            if (kind_of(nl->lower[i], nl->upper[i]) & kinds[k]) id[n++] = i;
        if (!n) continue;
        lt_node body = lt_broadcast_to(r->s->g, lt_nl_pick(r->s, id, n), lt_shape1(n)); /* x stands first among the values */
        add_kind(r, kinds[k], body, id, n, nl->lower, nl->upper, &r->out->bound);
    }
}

/* ---- The whole ------------------------------------------------------------------------------------------ */

static bool make_where(lt_arena *arena, int64_t n, lt_nl_rows *out)
{
    int64_t *v = lt_arena_alloc(arena, (size_t)(3 * n + 1) * sizeof *v);
    if (!v) return false;
    for (int64_t i = 0; i < 3 * n; i++) v[i] = -1;
    *out = (lt_nl_rows){ .upper = v, .lower = v + n, .equal = v + 2 * n };
    return true;
}

static void build_all(lt_nl_scope *s, lt_nl_graph *out)
{
    const lt_nl *nl = s->nl;
    rows r = { .s = s, .out = out, .ci = lt_nl_take(s, 2 * nl->m + 2, sizeof *r.ci), .ce = lt_nl_take(s, nl->m + 1, sizeof *r.ce) };
    s->position = lt_nl_take(s, nl->n + nl->n_defined, sizeof *s->position);
    if (!r.ci || !r.ce || !s->position) return;
    for (int64_t i = 0; i < nl->n; i++) s->position[i] = i;
    build_defined(s);
    lt_node f = lt_nl_total(s, nl->objective.first, &nl->objective.linear);
    if (!nl->objective.given) f = lt_scale(s->g, lt_sum(s->g, out->x), 0); /* any feasible point will do */
    out->f = nl->maximize ? lt_neg(s->g, f) : f;
    build_constraints(&r);
    build_bounds(&r);
    if (r.n_ci) out->ci = lt_concat(s->g, r.ci, r.n_ci, 0);
    if (r.n_ce) out->ce = lt_concat(s->g, r.ce, r.n_ce, 0);
}

lt_status lt_nl_build(const lt_nl *nl, lt_arena *arena, lt_graph *g, lt_nl_graph *out)
{
    lt_arena lists = { 0 };
    bool no_memory = false;
    *out = (lt_nl_graph){ .x = lt_input(g, "x", LT_F64, lt_shape1(nl->n)), .f = LT_NONE, .ci = LT_NONE, .ce = LT_NONE };
    if (!make_where(arena, nl->m, &out->constraint) || !make_where(arena, nl->n, &out->bound)) return LT_ERR_MEMORY;
    lt_nl_scope s = { .nl = nl, .arena = &lists, .g = g, .values = out->x, .no_memory = &no_memory };
    build_all(&s, out);
    lt_arena_release(&lists);
    if (no_memory) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for its graph", nl->name);
    return lt_graph_status(g);
}
