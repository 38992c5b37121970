/* The certificate of a solution. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { CONDITION_UP_TO = 100 }; /* variables: all eigenvalues then take less than a millisecond */

/* The condition of a full H; NaN: not known. */
static double condition(const lt_hessian_state *h)
{
    const int64_t n = h->n;
    double *work = h->H && n <= CONDITION_UP_TO ? lt_malloc((size_t)(2 * n * n + 5 * n) * sizeof *work) : NULL, answer = NAN;
    if (!work) return NAN;
    memcpy(work, h->H, (size_t)(n * n) * sizeof *work);
    double *vectors = work + n * n, *values = vectors + n * n;
    if (lt_eigen_symmetric(n, work, values, vectors, values + n)) answer = values[0] > 0 ? values[n - 1] / values[0] : INFINITY;
    lt_free(work);
    return answer;
}

/* By the tolerances that decide feasibility, in the units in which they do. */
static void list_constraints(const lt_run *r, const lt_solution_point *x, lt_certificate *c, int64_t *list)
{
    int64_t *active = list + r->p + r->q;
    c->violated = list;
    c->active = active;
    if (!x->x) return;
    for (int64_t j = 0; j < r->p; j++) {
        if (!(x->ci[j] <= r->opt.inequality_tol)) list[c->n_violated++] = j;
        else if (x->ci[j] >= -r->opt.inequality_tol) active[c->n_active++] = j;
    }
    for (int64_t j = 0; j < r->q; j++)
        if (!(fabs(x->ce[j]) <= r->opt.equality_tol)) list[c->n_violated++] = r->p + j;
}

static lt_status fill_multipliers(const lt_run *r, const lt_kkt *k, lt_certificate *c)
{
    const int64_t m = r->p + r->q;
    double *all = lt_malloc((size_t)LT_MAX(m, 1) * sizeof *all);
    if (!all) return LT_ERR_MEMORY;
    c->ci_multipliers = all; /* freed by this name, whatever p is */
    memcpy(all, k->multiplier + r->q, (size_t)r->p * sizeof *all);
    memcpy(all + r->p, k->multiplier, (size_t)r->q * sizeof *all);
    c->ce_multipliers = r->q ? all + r->p : NULL;
    return LT_OK;
}

/* Inequalities come first here. */
static lt_status fill_conflict(const lt_run *r, lt_certificate *c)
{
    const lt_conflict *from = &r->conflict;
    int64_t *list = from->n ? lt_malloc((size_t)from->n * sizeof *list) : NULL;
    double *weight = from->n ? lt_malloc((size_t)from->n * sizeof *weight) : NULL;
    c->conflict = list;
    c->conflict_weights = weight;
    if (!from->n) return LT_OK;
    if (!list || !weight) return LT_ERR_MEMORY;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < from->n; i++) {
            const int64_t j = from->constraint[i];
            if ((j < r->q || j >= r->q + r->p) != (pass == 1)) continue;
            list[c->n_conflict] = j < r->q ? r->p + j : j < r->q + r->p ? j - r->q : j;
            weight[c->n_conflict++] = from->weight[i];
        }
    return LT_OK;
}

lt_status lt_certificate_create(const lt_run *r, lt_solution *s)
{
    const lt_kkt *k = &r->certification.now;
    const double tolerance = isinf(r->opt.kkt_tol) ? fmax(lt_solve_defaults().kkt_tol, r->opt.stationarity_tol) : lt_kkt_tolerance(r);
    lt_certificate *c = lt_calloc(1, sizeof *c);
    int64_t *list = c ? lt_malloc((size_t)(2 * (r->p + r->q) + 1) * sizeof *list) : NULL;
    s->certificate = c;
    if (!list) return LT_ERR_MEMORY;
    *c = (lt_certificate){ .size = sizeof *c, .known = k->known, .residual = k->known ? k->residual : NAN, .stationarity = k->known ? k->stationarity : NAN,
                           .complementarity = k->known ? k->complementarity : NAN, .weight = k->known ? k->weight : NAN, .mu = s->final.mu,
                           .condition = condition(&s->H_final), .n_samples = k->known ? k->n_samples : 0 };
    c->stationary = k->known && s->final.feasible_to_tol && k->residual <= tolerance;
    list_constraints(r, s->final.present ? &s->final : &s->best, c, list);
    LT_TRY(fill_conflict(r, c));
    return k->known && r->constrained ? fill_multipliers(r, k, c) : LT_OK;
}

void lt_certificate_destroy(lt_solution *s)
{
    lt_certificate *c = (lt_certificate *)s->certificate;
    if (!c) return;
    lt_free((int64_t *)c->violated);
    lt_free((double *)c->ci_multipliers);
    lt_free((int64_t *)c->conflict);
    lt_free((double *)c->bound_multipliers);
    lt_free((double *)c->conflict_weights);
    lt_free(c);
}
