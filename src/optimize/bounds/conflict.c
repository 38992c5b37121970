/* Why a run ended without a feasible point: a smallest set of constraints whose linear models near x cannot hold together.

   Whether there is a d with c_j + g_j'd <= 0 (= 0) is a question about the shortest such d. Its dual asks for weights y, not negative for
   inequalities, that make sum y_j [g_j; c_j] as near to [0; 1] as can be (least distance programming; Lawson and Hanson, Solving least squares
   problems, chapter 23): what is left of [0; 1] has the length 1 / sqrt(1 + |d|^2), and nothing is left where there is no d. Constraints
   without which there is still none are then left out one by one (decision 241). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

enum { COLUMNS_MAX = 1200, SAMPLES_MAX = 20, FEW_BOUNDS = 400 };
#define MOST_TIMES_LONGER 1e4 /* times the distance to the most violated constraint alone: a longer d counts as none */
#define FLAT 1e6             /* times max(1, |x|): a constraint farther than that from zero does not change */
#define NOTHING 1e-9         /* share of the largest weight that is none */

/* g NULL: a bound, whose gradient is `sign` at variable `at`. value: c_j, in the unit of the search. Bounds are constraints behind the others: n lower ones, n upper ones. */
typedef struct column { int64_t constraint; const double *g; double norm, value; int64_t at; double sign; } column;

typedef struct search {
    lt_run  *r;
    lt_vectors vectors;
    column  *col;
    int64_t  m;
    double  *Q, *part;       /* all columns; those that take part in an attempt */
    double  *linear, *lower, *upper, *y;
    int64_t *pick;           /* columns that take part */
    int64_t  n_pick;
    bool    *out;            /* by constraint: left out */
    lt_qp   *qp;
} search;

/* ---- Columns ------------------------------------------------------------------------------------------------------------ */
static void add_gradients(search *s, const double *grads, bool shared_too)
{
    const lt_run *r = s->r;
    for (int64_t j = 0; j < r->q + r->p && s->m < COLUMNS_MAX; j++) {
        const double *g = grads + (1 + j) * r->n, norm = lt_vectors_norm2(&s->vectors, g);
        if (!isfinite(norm) || (!shared_too && r->products.columns.is_shared[1 + j])) continue;
        s->col[s->m++] = (column){ j, g, norm, r->cur->c[j], 0, 0 };
    }
}

static int64_t constraints_of(const lt_run *r) { return r->q + r->p + (lt_bounded(&r->bounds) ? 2 * r->n : 0); }

/* All of few; of many those that x is at. */
static void add_bounds(search *s)
{
    const lt_run *r = s->r;
    const lt_bounds *b = &r->bounds;
    const bool all = lt_bounded(b) && 2 * r->n <= FEW_BOUNDS;
    for (int64_t i = 0; lt_bounded(b) && i < r->n && s->m + 1 < COLUMNS_MAX; i++) {
        const double x = r->cur->x[i];
        if (isfinite(b->lower[i]) && (all || x <= b->lower[i])) s->col[s->m++] = (column){ r->q + r->p + i, NULL, 1, b->lower[i] - x, i, -1 };
        if (isfinite(b->upper[i]) && (all || x >= b->upper[i])) s->col[s->m++] = (column){ r->q + r->p + r->n + i, NULL, 1, x - b->upper[i], i, 1 };
    }
}

static double product(const search *s, const column *a, const column *b)
{
    if (a->g && b->g) return lt_vectors_dot(&s->vectors, a->g, b->g);
    if (!a->g && !b->g) return a->at == b->at ? a->sign * b->sign : 0;
    return a->g ? b->sign * a->g[b->at] : a->sign * b->g[a->at];
}

static void add_samples(search *s)
{
    const lt_cache *c = &s->r->cache;
    for (int64_t i = c->n_near - 1, n = 0; i >= 0 && n < SAMPLES_MAX; i--)
        if (lt_kkt_is_sample(s->r, c->near_[i])) add_gradients(s, c->grads[c->near_[i]], false), n++;
}

/* The way to the constraint that is farthest, alone. */
static double unit_of(const search *s)
{
    double most = 0;
    for (int64_t i = 0; i < s->m; i++) {
        const double v = s->col[i].constraint < s->r->q ? fabs(s->col[i].value) : s->col[i].value;
        if (s->col[i].norm > 0) most = fmax(most, v / s->col[i].norm);
    }
    return most;
}

static void fill_matrix(search *s)
{
    const double unit = unit_of(s);
    for (int64_t i = 0; i < s->m; i++) s->col[i].value /= s->col[i].norm * unit;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j <= i; j++) {
            const column *a = &s->col[i], *b = &s->col[j];
            const double v = product(s, a, b) / (a->norm * b->norm) + a->value * b->value;
            s->Q[i * s->m + j] = s->Q[j * s->m + i] = v;
        }
}

/* ---- One attempt ---------------------------------------------------------------------------------------------------------- */
static void pick(search *s)
{
    s->n_pick = 0;
    for (int64_t i = 0; i < s->m; i++)
        if (!s->out[s->col[i].constraint]) s->pick[s->n_pick++] = i;
}

/* |sum of columns times y - [0; 1]|^2 */
static double left_over(const search *s)
{
    double sum = 1;
    for (int64_t a = 0; a < s->n_pick; a++) {
        double row = 0;
        for (int64_t b = 0; b < s->n_pick; b++) row += s->part[a * s->n_pick + b] * s->y[b];
        sum += s->y[a] * (row + 2 * s->linear[a]);
    }
    return sum;
}

/* True: those that are not left out contradict each other, with weights y. */
static bool contradicts(search *s)
{
    lt_qp_info info = { .size = sizeof info };
    pick(s);
    if (!s->n_pick) return false;
    for (int64_t a = 0; a < s->n_pick; a++) {
        const column *c = &s->col[s->pick[a]];
        for (int64_t b = 0; b < s->n_pick; b++) s->part[a * s->n_pick + b] = s->Q[s->pick[a] * s->m + s->pick[b]];
        s->linear[a] = -c->value;
        s->lower[a] = c->constraint < s->r->q ? -INFINITY : 0;
        s->upper[a] = INFINITY;
        s->y[a] = 0;
    }
    if (lt_qp_set_matrix(s->qp, s->n_pick, s->part, s->n_pick)) return false;
    const lt_qp_problem p = { .c = s->linear, .lower = s->lower, .upper = s->upper, .start = s->y };
    if (lt_qp_solve(s->qp, &p, s->y, &info) || info.status == LT_QP_FAILED) return false;
    return left_over(s) < 1 / (1 + MOST_TIMES_LONGER * MOST_TIMES_LONGER);
}

/* ---- A smallest set ---------------------------------------------------------------------------------------------------------- */
/* Leaves out what has no weight in the last answer. */
static void keep_support(search *s)
{
    double most = 0;
    bool *out = s->out;
    for (int64_t a = 0; a < s->n_pick; a++) most = fmax(most, fabs(s->y[a]));
    for (int64_t j = 0; j < constraints_of(s->r); j++) out[j] = true;
    for (int64_t a = 0; a < s->n_pick; a++)
        if (fabs(s->y[a]) > NOTHING * most) out[s->col[s->pick[a]].constraint] = false;
}

static void filter(search *s)
{
    const int64_t count = constraints_of(s->r);
    bool *before = s->out + count;
    for (int64_t j = 0; j < count; j++) {
        if (s->out[j]) continue;
        memcpy(before, s->out, (size_t)count * sizeof *before);
        s->out[j] = true;
        if (contradicts(s)) keep_support(s);
        else memcpy(s->out, before, (size_t)count * sizeof *before);
    }
}

static void give(search *s)
{
    lt_run *r = s->r;
    lt_conflict *c = &r->conflict;
    const int64_t count = constraints_of(r);
    double total = 0;
    if (!contradicts(s)) return; /* the weights of the set that is left */
    c->constraint = lt_malloc((size_t)count * sizeof *c->constraint);
    c->weight = lt_calloc((size_t)count, sizeof *c->weight);
    if (!c->constraint || !c->weight) return;
    for (int64_t j = 0; j < count; j++) {
        if (s->out[j]) continue;
        for (int64_t a = 0; a < s->n_pick; a++)
            if (s->col[s->pick[a]].constraint == j) c->weight[c->n] += s->y[a] / s->col[s->pick[a]].norm * s->r->oracle.scale[1 + j];
        total += fabs(c->weight[c->n]);
        c->constraint[c->n++] = j;
    }
    for (int64_t i = 0; i < c->n; i++) c->weight[i] /= total;
}

/* A violated constraint that hardly changes is a contradiction by itself. */
static bool constant_alone(search *s)
{
    lt_conflict *c = &s->r->conflict;
    const double reach = FLAT * fmax(1, lt_vectors_norm2(&s->vectors, s->r->cur->x));
    int64_t kept = 0;
    for (int64_t i = 0; i < s->m; i++) {
        const column *at = &s->col[i];
        const lt_solve_options *o = &s->r->opt;
        const bool violated = at->constraint < s->r->q ? fabs(at->value) > o->equality_tol : at->value > o->inequality_tol;
        if (at->norm > 0 && (!violated || fabs(at->value) <= reach * at->norm)) s->col[kept++] = *at;
        else if (violated && !c->n && (c->constraint = lt_malloc(sizeof *c->constraint)) && (c->weight = lt_malloc(sizeof *c->weight))) {
            c->n = 1;
            c->constraint[0] = at->constraint;
            c->weight[0] = at->value < 0 ? -1 : 1;
        }
    }
    s->m = kept;
    return c->n > 0;
}

static bool make(search *s)
{
    const lt_run *r = s->r;
    const int64_t m = COLUMNS_MAX, count = constraints_of(r);
    s->col = lt_malloc((size_t)m * sizeof *s->col);
    s->pick = lt_malloc((size_t)m * sizeof *s->pick);
    s->linear = lt_malloc((size_t)(4 * m) * sizeof *s->linear);
    s->out = lt_calloc((size_t)(2 * count), sizeof *s->out);
    if (!s->col || !s->pick || !s->linear || !s->out) return false;
    s->lower = s->linear + m;
    s->upper = s->lower + m;
    s->y = s->upper + m;
    return true;
}

static bool make_program(search *s)
{
    lt_qp_options opt = lt_qp_defaults();
    opt.max_shift = 1; /* Q is a product: other than convex by rounding only */
    s->Q = lt_malloc_aligned((size_t)(2 * s->m * s->m) * sizeof *s->Q);
    if (!s->Q) return false;
    s->part = s->Q + s->m * s->m;
    return lt_qp_create(s->m, &opt, &s->qp) == LT_OK;
}

void lt_conflict_find(lt_run *r)
{
    search s = { .r = r, .vectors = r->vectors };
    if (r->opt.compat || !r->constrained || r->rows.on || r->best.present || r->cur->feasible || !r->cur->has_gradients || !lt_vectors_reads(&r->vectors)) return;
    const int64_t allocations = lt_alloc_count();
    lt_span span = lt_span_begin("conflict");
    if (make(&s)) {
        add_gradients(&s, r->cur->grads, true);
        add_samples(&s);
        add_bounds(&s);
        if (!constant_alone(&s) && s.m && unit_of(&s) > 0 && make_program(&s)) {
            fill_matrix(&s);
            if (contradicts(&s)) {
                keep_support(&s);
                filter(&s);
                give(&s);
            }
        }
    }
    lt_qp_destroy(s.qp);
    lt_free_aligned(s.Q);
    lt_free(s.col);
    lt_free(s.pick);
    lt_free(s.linear);
    lt_free(s.out);
    r->recovery.n_allocations += lt_alloc_count() - allocations; /* the loop is over */
    lt_span_end(span);
}

void lt_conflict_release(lt_run *r)
{
    lt_free(r->conflict.constraint);
    lt_free(r->conflict.weight);
}
