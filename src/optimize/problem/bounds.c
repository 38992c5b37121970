/* Bounds of problems: set by a program, or found among the rows of a graph. Rows that are bounds need no gradients: a reduced problem has the others
   alone, and a run that keeps within the bounds is a run on that one (decision 242). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/bounds.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"
#include "optimize/problem/graph.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { RUNS_MAX = 16 };         /* pieces of a vector that are sliced; more are gathered */

/* ---- Memory --------------------------------------------------------------------------------------------------- */
static void destroy(lt_problem_bounds *b)
{
    if (!b) return;
    if (b->reduced) { /* these are the whole problem's */
        b->reduced->variable = NULL;
        b->reduced->x0 = NULL;
        lt_problem_destroy(b->reduced);
    }
    lt_free(b->lower);
    lt_free(b->lower_row);
    lt_free(b->row);
    lt_free(b->says);
    lt_free(b->kept);
    lt_free(b);
}

void lt_problem_bounds_destroy(lt_problem *p)
{
    if (p->declared != p->bounds) destroy(p->declared);
    destroy(p->bounds);
    p->declared = p->bounds = NULL;
}

/* Without rows: all inequalities are kept. */
static lt_problem_bounds *create(const lt_problem *p)
{
    lt_problem_bounds *b = lt_calloc(1, sizeof *b);
    if (!b) return NULL;
    b->lower = lt_malloc((size_t)(2 * p->n) * sizeof *b->lower);
    b->lower_row = lt_malloc((size_t)(2 * p->n) * sizeof *b->lower_row);
    b->kept = lt_malloc((size_t)LT_MAX(p->p, 1) * sizeof *b->kept);
    if (!b->lower || !b->lower_row || !b->kept) {
        destroy(b);
        return NULL;
    }
    b->upper = b->lower + p->n;
    b->upper_row = b->lower_row + p->n;
    for (int64_t i = 0; i < p->n; i++) b->lower[i] = -INFINITY, b->upper[i] = INFINITY;
    for (int64_t i = 0; i < 2 * p->n; i++) b->lower_row[i] = -1;
    for (int64_t j = 0; j < p->p; j++) b->kept[j] = j;
    b->n_kept = p->p;
    return b;
}

/* ---- What a row says ---------------------------------------------------------------------------------------------- */
/* A variable of single precision is rounded where it is used: its bound must be one of its values. */
static double inward(double v, bool upper, bool single)
{
    float f = (float)v;
    if (!single || isinf(v)) return v;
    if (upper ? (double)f > v : (double)f < v) f = nextafterf(f, upper ? -INFINITY : INFINITY);
    return f;
}

/* The last x for which a x + b <= 0 holds in rounded arithmetic, too. */
static double solve_row(const lt_row *r)
{
    double x = -r->b / r->a;
    for (int i = 0; i < 8 && r->a * x + r->b > 0; i++) x = nextafter(x, r->a > 0 ? -INFINITY : INFINITY);
    return x;
}

static bool is_bound(const lt_row *r) { return r->variable >= 0 && isfinite(r->a) && isfinite(r->b) && fabs(r->a) > DBL_MIN && isfinite(r->b / r->a); }

static void apply(lt_problem_bounds *b, int64_t row, const lt_row *says, const bool *single)
{
    const int64_t i = says->variable;
    const bool upper = says->a > 0;
    const double v = inward(solve_row(says), upper, single[i]);
    if (upper && v < b->upper[i]) b->upper[i] = v, b->upper_row[i] = row;
    if (!upper && v > b->lower[i]) b->lower[i] = v, b->lower_row[i] = row;
    b->row[b->n_rows] = row;
    b->says[b->n_rows++] = *says;
}

/* ---- The other rows ------------------------------------------------------------------------------------------------ */
typedef struct parts { lt_graph *g; lt_node *node; int n, capacity; } parts;

static void add_part(parts *to, lt_node node)
{
    if (to->n == to->capacity) {
        const int capacity = 2 * to->capacity + 8;
        lt_node *more = lt_realloc(to->node, (size_t)capacity * sizeof *more);
        if (!more) {
            lt_graph_fail(to->g, LT_ERR_MEMORY);
            return;
        }
        to->node = more;
        to->capacity = capacity;
    }
    to->node[to->n++] = node;
}

/* Elements kept of a vector: as it stands, in slices, or picked one by one. */
static void keep_some(parts *to, lt_node flat, int64_t count, const bool *out)
{
    int64_t n = 0, n_runs = 0;
    for (int64_t i = 0; i < count; i++) n += !out[i], n_runs += !out[i] && (!i || out[i - 1]);
    if (!n) return;
    if (n == count) {
        add_part(to, flat);
        return;
    }
    if (n_runs <= RUNS_MAX) {
        for (int64_t i = 0, end; i < count; i = end) {
            for (end = i; end < count && out[end] == out[i];) end++;
            if (!out[i]) add_part(to, lt_slice(to->g, flat, 0, i, end, 1));
        }
        return;
    }
    int64_t *index = lt_malloc((size_t)n * sizeof *index);
    if (!index) {
        lt_graph_fail(to->g, LT_ERR_MEMORY);
        return;
    }
    n = 0;
    for (int64_t i = 0; i < count; i++)
        if (!out[i]) index[n++] = i;
    add_part(to, lt_gather(to->g, flat, lt_constant(to->g, LT_I64, lt_shape1(n), index), 0));
    lt_free(index);
}

/* Vectors one after the other are looked at one by one. */
static bool is_concat(const lt_graph *g, lt_node node)
{
    const lt_ir_node *n = lt_get(g, node);
    int64_t at = 0;
    if (n->op != LT_OP_PLACE || n->shape.rank != 1) return false;
    for (int k = 0; k < n->n_in; k++) {
        const lt_ir_node *in = &g->ir.node[lt_ir_in(n, k)];
        if (in->shape.rank != 1 || n->attr.u.place[k].offset != at || (in->shape.dim[0] > 1 && n->attr.u.place[k].stride[0] != 1)) return false;
        at += in->shape.dim[0];
    }
    return at == n->shape.dim[0];
}

static void keep_of(parts *to, lt_node node, const bool *out)
{
    if (!is_concat(to->g, node)) {
        keep_some(to, lt_flatten(to->g, node), lt_node_elements(to->g, node), out);
        return;
    }
    const int n_in = lt_get(to->g, node)->n_in;
    for (int k = 0; k < n_in; k++) {
        const lt_node in = lt_input_of(to->g, node, k);
        const int64_t count = lt_node_elements(to->g, in);
        keep_some(to, in, count, out);
        out += count;
    }
}

/* ---- Finding ------------------------------------------------------------------------------------------------------------ */
static lt_status describe_all(const lt_problem *p, const lt_node *ci, lt_row *says)
{
    int64_t *offset = lt_malloc((size_t)LT_MAX(p->n_variables, 1) * sizeof *offset), at = 0;
    if (!offset) return LT_ERR_MEMORY;
    for (int i = 0; i < p->n_variables; i++) offset[i] = p->variable[i].offset;
    lt_status s = LT_OK;
    for (int k = 0; k < p->n_ci && !s; k++) {
        const int64_t count = lt_node_elements(p->graph, ci[k]);
        lt_row *rows;
        s = lt_rows_describe(p->graph, ci[k], offset, &rows);
        for (int64_t i = 0; i < count; i++) says[at + i] = rows ? rows[i] : (lt_row){ LT_ROW_OTHER, 0, 0 };
        lt_free(rows);
        at += count;
    }
    lt_free(offset);
    return s;
}

static lt_status list_singles(const lt_problem *p, bool *single)
{
    for (int i = 0; i < p->n_variables; i++) {
        const lt_node in = lt_graph_input(p->graph, i);
        memset(single + p->variable[i].offset, lt_node_dtype(p->graph, in) == LT_F32, (size_t)lt_shape_count(&p->variable[i].shape));
    }
    return LT_OK;
}

/* Sorts rows: bounds are applied, others kept; out says which are bounds. */
static lt_status sort_rows(const lt_problem *p, const lt_row *says, const bool *out, lt_problem_bounds *b)
{
    bool *single = lt_calloc((size_t)p->n, sizeof *single);
    int64_t n = 0;
    for (int64_t j = 0; j < p->p; j++) n += out[j];
    b->row = lt_malloc((size_t)LT_MAX(n, 1) * sizeof *b->row);
    b->says = lt_malloc((size_t)LT_MAX(n, 1) * sizeof *b->says);
    lt_status s = single && b->row && b->says ? list_singles(p, single) : LT_ERR_MEMORY;
    b->n_kept = 0;
    for (int64_t j = 0; j < p->p && !s; j++) {
        if (out[j]) apply(b, j, &says[j], single);
        else b->kept[b->n_kept++] = j;
    }
    lt_free(single);
    return s;
}

static lt_status make_reduced(lt_problem *p, lt_problem_bounds *b, lt_node f, const lt_node *ci, const lt_node *ce, const bool *out)
{
    parts kept = { .g = p->graph };
    int64_t at = 0;
    for (int k = 0; k < p->n_ci; k++) {
        keep_of(&kept, ci[k], out + at);
        at += lt_node_elements(p->graph, ci[k]);
    }
    const lt_node all = kept.n > 1 ? lt_concat(p->graph, kept.node, kept.n, 0) : kept.n ? kept.node[0] : LT_NONE;
    lt_free(kept.node);
    LT_TRY(lt_graph_status(p->graph));
    LT_TRY(lt_problem_alloc(&lt_problem_kind_graph, p->n, b->n_kept, p->q, &b->reduced));
    b->reduced->outer = p;
    b->reduced->graph = p->graph;
    b->reduced->n_ci = kept.n > 0;
    b->reduced->n_ce = p->n_ce;
    return lt_problem_build_later(b->reduced, f, &all, ce);
}

static lt_status make(lt_problem *p, const lt_row *says, const bool *out, lt_node f, const lt_node *ci, const lt_node *ce, lt_problem_bounds **to)
{
    lt_problem_bounds *b = create(p);
    lt_status s = b ? sort_rows(p, says, out, b) : LT_ERR_MEMORY;
    if (!s) s = make_reduced(p, b, f, ci, ce, out);
    if (s) destroy(b);
    else *to = b;
    return s;
}

static void share(const lt_problem *p, const lt_problem_bounds *b)
{
    lt_problem *r = b ? b->reduced : NULL;
    if (!r) return;
    r->variable = p->variable;
    r->n_variables = p->n_variables;
    r->x0 = p->x0;
    r->maximize = p->maximize;
}

void lt_problem_share_names(lt_problem *p)
{
    share(p, p->bounds);
    if (p->declared != p->bounds) share(p, p->declared);
}

/* Which rows are bounds: of those that were declared, or all; how many. */
static int64_t choose(const lt_problem *p, const lt_row *says, const bool *declared, bool *out)
{
    int64_t n = 0;
    for (int64_t j = 0; j < p->p; j++) n += out[j] = (!declared || declared[j]) && is_bound(&says[j]);
    return n;
}

lt_status lt_problem_find_bounds(lt_problem *p, lt_node f, const lt_node *ci, const lt_node *ce) { return lt_problem_declare_bounds(p, ci, ce, f, NULL); }

lt_status lt_problem_declare_bounds(lt_problem *p, const lt_node *ci, const lt_node *ce, lt_node f, const bool *declared)
{
    lt_row *says = lt_malloc((size_t)LT_MAX(p->p, 1) * sizeof *says);
    bool *out = lt_malloc((size_t)LT_MAX(p->p, 1));
    lt_status s = says && out ? describe_all(p, ci, says) : LT_ERR_MEMORY;
    const int64_t all = s ? 0 : choose(p, says, NULL, out);
    if (all && !p->bounds) s = make(p, says, out, f, ci, ce, &p->bounds);
    const int64_t some = s || !declared ? 0 : choose(p, says, declared, out);
    if (!s && some == all) p->declared = declared ? p->bounds : NULL;
    else if (!s && some) s = make(p, says, out, f, ci, ce, &p->declared);
    lt_problem_share_names(p);
    lt_free(says);
    lt_free(out);
    return s;
}

/* ---- Setting -------------------------------------------------------------------------------------------------------------- */
static void tighten(const lt_problem *p, lt_problem_bounds *b, const double *lower, const double *upper)
{
    for (int64_t i = 0; i < p->n; i++) {
        if (lower && lower[i] > b->lower[i]) b->lower[i] = lower[i], b->lower_row[i] = -1;
        if (upper && upper[i] < b->upper[i]) b->upper[i] = upper[i], b->upper_row[i] = -1;
    }
}

lt_status lt_problem_set_bounds(lt_problem *p, const double *lower, const double *upper)
{
    if (!p) return LT_FAIL(LT_ERR_ARGUMENT, "problem_set_bounds: the problem is NULL");
    for (int64_t i = 0; i < p->n; i++) {
        const double l = lower ? lower[i] : (double)-INFINITY, u = upper ? upper[i] : (double)INFINITY;
        if (isnan(l) || isnan(u)) return LT_FAIL(LT_ERR_ARGUMENT, "problem_set_bounds: the %s bound of x[%lld] is NaN", isnan(l) ? "lower" : "upper", (long long)i);
        if (l > u || l == INFINITY || u == -INFINITY)
            return LT_FAIL(LT_ERR_ARGUMENT, "problem_set_bounds: x[%lld] is to lie in [%g, %g]: no number does", (long long)i, l, u);
    }
    const bool same = p->declared == p->bounds;
    if (!p->bounds && !(p->bounds = create(p))) return LT_ERR_MEMORY;
    if (same) p->declared = p->bounds;
    if (!p->declared && !(p->declared = create(p))) return LT_ERR_MEMORY;
    tighten(p, p->bounds, lower, upper);
    if (!same) tighten(p, p->declared, lower, upper);
    p->bounds_set = true;
    return LT_OK;
}

/* ---- Using -------------------------------------------------------------------------------------------------------------------- */
#define MANY_NUMBERS ((int64_t)1 << 27) /* of gradients of all inequalities, 1 GiB: bounds among them are kept rather than that */

#define KEPT_BELOW 256 /* variables: from here on H may be on a device, where no bounds are kept unless somebody declared them */

/* A start that would have to be moved says that bounds are to be approached from outside: another local solution may be nearer (decision 321). */
static bool start_is_inside(const lt_problem *p, const double *x0, const lt_problem_bounds *b)
{
    if (!x0) return false;
    for (int64_t i = 0; i < p->n; i++)
        if (!(x0[i] >= b->lower[i] && x0[i] <= b->upper[i])) return false;
    return true;
}

const lt_problem_bounds *lt_problem_bounds_of(const lt_problem *p, const lt_solve_options *o)
{
    if (o->compat || o->honor_bounds == LT_HONOR_NONE) return NULL;
    if (o->honor_bounds == LT_HONOR_AUTO && p->bounds && p->bounds->n_rows && p->n < KEPT_BELOW && !o->lbfgs_pairs && o->hessian_on != LT_HESSIAN_DEVICE
        && start_is_inside(p, o->x0 ? o->x0 : p->x0, p->bounds)) return p->bounds;
    if (o->honor_bounds == LT_HONOR_ALL || (p->bounds && p->bounds->n_rows && p->n > MANY_NUMBERS / LT_MAX(p->p, 1))) return p->bounds;
    return p->declared;
}

/* The variable as users call it. */
static void name_of(const lt_problem *p, int64_t i, char *text, size_t size)
{
    for (int k = 0; k < p->n_variables; k++) {
        const lt_variable *v = &p->variable[k];
        const int64_t at = i - v->offset;
        if (!v->name || at < 0 || at >= lt_shape_count(&v->shape)) continue;
        if (v->shape.rank) snprintf(text, size, "%s, element %lld,", v->name, (long long)at);
        else snprintf(text, size, "%s", v->name);
        return;
    }
    snprintf(text, size, "x[%lld]", (long long)i);
}

lt_status lt_problem_check_bounds(const lt_problem *p, const lt_problem_bounds *b)
{
    for (int64_t i = 0; i < p->n; i++) {
        char name[160];
        if (b->lower[i] <= b->upper[i]) continue;
        name_of(p, i, name, sizeof name);
        const int64_t row = LT_MAX(b->lower_row[i], b->upper_row[i]);
        const lt_status s = LT_FAIL(LT_ERR_MISMATCH, "the bounds of %s contradict each other: at least %.10g and at most %.10g", name, b->lower[i], b->upper[i]);
        return row < 0 ? s : lt_place_constraint(s, false, row);
    }
    return LT_OK;
}
