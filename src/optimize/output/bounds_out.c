/* A solution in the terms of the caller's problem: rows that are bounds among the inequalities again. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "optimize/problem/bounds.h"

#include <math.h>
#include <string.h>

static const lt_problem_bounds *rows_of(const lt_run *r)
{
    const lt_problem_bounds *b = r->bounds.from;
    return b && b->n_rows ? b : NULL;
}

int64_t lt_bounds_row(const lt_run *r, int64_t j)
{
    const lt_problem_bounds *b = rows_of(r);
    return b ? b->kept[j] : j;
}

/* Numbers of the kept rows, and of those that are bounds. */
static lt_status spread(const lt_problem_bounds *b, int64_t p, double **list, double other)
{
    double *all = lt_malloc((size_t)LT_MAX(p, 1) * sizeof *all);
    if (!all) return LT_ERR_MEMORY;
    for (int64_t j = 0; j < p; j++) all[j] = other;
    for (int64_t j = 0; *list && j < b->n_kept; j++) all[b->kept[j]] = (*list)[j];
    lt_free(*list);
    *list = all;
    return LT_OK;
}

static lt_status spread_point(const lt_run *r, lt_solution_point *x)
{
    const lt_problem_bounds *b = rows_of(r);
    if (!x->present) return LT_OK;
    LT_TRY(spread(b, r->given->p, &x->ci, 0));
    for (int64_t k = 0; k < b->n_rows; k++) {
        const lt_row *row = &b->says[k];
        const double v = row->a * x->x[row->variable] + row->b;
        x->ci[b->row[k]] = v;
        x->tvi = fmax(x->tvi, v); /* rounding, at most */
    }
    x->tv = fmax(x->tvi, x->tve);
    return LT_OK;
}

/* The row that says a bound has its multiplier, in its own unit. */
static double multiplier_of(const lt_problem_bounds *b, int64_t k, const double *bound)
{
    const lt_row *row = &b->says[k];
    const bool upper = row->a > 0;
    const double z = bound[row->variable];
    if (b->row[k] != (upper ? b->upper_row : b->lower_row)[row->variable]) return 0;
    return upper ? fmax(-z, 0) / row->a : fmax(z, 0) / -row->a;
}

/* ci and ce lie in one block. */
static lt_status spread_multipliers(const lt_run *r, lt_certificate *c)
{
    const lt_problem_bounds *b = rows_of(r);
    const int64_t p = r->given->p, q = r->q;
    double *all = lt_calloc((size_t)(p + q + 1), sizeof *all);
    if (!all) return LT_ERR_MEMORY;
    for (int64_t j = 0; c->ci_multipliers && j < b->n_kept; j++) all[b->kept[j]] = c->ci_multipliers[j];
    for (int64_t k = 0; k < b->n_rows; k++) all[b->row[k]] = multiplier_of(b, k, c->bound_multipliers);
    if (q && c->ce_multipliers) memcpy(all + p, c->ce_multipliers, (size_t)q * sizeof *all);
    lt_free((double *)c->ci_multipliers);
    c->ci_multipliers = all;
    c->ce_multipliers = q ? all + p : NULL;
    return LT_OK;
}

/* In a conflict bounds come after the constraints: lower ones, then upper ones. */
static int64_t row_of_conflict(const lt_problem_bounds *b, int64_t j, int64_t p, const lt_run *r)
{
    const int64_t bound = j - b->n_kept - r->q;
    if (j < b->n_kept) return b->kept[j];
    if (bound < 0) return j - b->n_kept + p;
    const int64_t row = bound < r->n ? b->lower_row[bound] : b->upper_row[bound - r->n];
    return row >= 0 ? row : p + r->q + bound;
}

/* Lists count inequalities and then equalities; bounds that x is at are active. */
static lt_status spread_lists(const lt_run *r, const lt_solution_point *x, lt_certificate *c)
{
    const lt_problem_bounds *b = rows_of(r);
    const int64_t p = r->given->p, m = p + r->q;
    int64_t *list = lt_malloc((size_t)(2 * m + 1) * sizeof *list), n = 0;
    if (!list) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < c->n_violated; i++) {
        const int64_t j = c->violated[i];
        list[n++] = j < b->n_kept ? b->kept[j] : j - b->n_kept + p;
    }
    for (int64_t i = 0; i < c->n_conflict; i++) {
        int64_t *at = (int64_t *)c->conflict + i;
        *at = row_of_conflict(b, *at, p, r);
    }
    int64_t *active = list + m;
    n = 0;
    for (int64_t j = 0; x->x && j < p; j++)
        if (x->ci[j] <= r->opt.inequality_tol && x->ci[j] >= -r->opt.inequality_tol) active[n++] = j;
    c->n_active = n;
    lt_free((int64_t *)c->violated);
    c->violated = list;
    c->active = active;
    return LT_OK;
}

/* Also of bounds that no row says: multipliers by variable. */
static lt_status give_bounds(const lt_run *r, lt_certificate *c)
{
    const lt_kkt *k = &r->certification.now;
    double *v = lt_calloc((size_t)r->n, sizeof *v);
    if (!v) return LT_ERR_MEMORY;
    if (k->known) memcpy(v, k->bound, (size_t)r->n * sizeof *v);
    c->bound_multipliers = v;
    return LT_OK;
}

/* A problem whose rows are all bounds has no constraints in the run, and every point is feasible: the best is the most feasible one. */
static lt_status copy_point(const lt_solution *s, const lt_solution_point *from, lt_solution_point *to)
{
    *to = *from;
    to->x = lt_malloc((size_t)s->n * sizeof *to->x);
    to->ci = lt_malloc((size_t)s->p * sizeof *to->ci);
    to->ce = NULL;
    if (!to->x || !to->ci) return LT_ERR_MEMORY;
    memcpy(to->x, from->x, (size_t)s->n * sizeof *to->x);
    memcpy(to->ci, from->ci, (size_t)s->p * sizeof *to->ci);
    return LT_OK;
}

lt_status lt_bounds_report(const lt_run *r, lt_solution *s)
{
    lt_certificate *c = (lt_certificate *)s->certificate;
    const lt_problem_bounds *b = rows_of(r);
    if (!lt_bounded(&r->bounds)) return LT_OK;
    s->n_start_moved = r->bounds.n_moved;
    LT_TRY(give_bounds(r, c));
    if (!b) return LT_OK;
    lt_solution_point *points[] = { &s->final, &s->best, &s->most_feasible, &s->final_unscaled, &s->best_unscaled, &s->most_feasible_unscaled };
    for (size_t i = 0; i < LT_LEN(points); i++) LT_TRY(spread_point(r, points[i]));
    if (s->scalings.ci) LT_TRY(spread(b, r->given->p, &s->scalings.ci, 1));
    if (c->known) LT_TRY(spread_multipliers(r, c));
    LT_TRY(spread_lists(r, s->final.present ? &s->final : &s->best, c));
    s->p = r->given->p;
    if (!s->most_feasible.present && s->best.present) LT_TRY(copy_point(s, &s->best, &s->most_feasible));
    return LT_OK;
}
