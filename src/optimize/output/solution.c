/* The result of a run: points, numbers, certificate. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/functions.h"
#include "optimize/device/hessian.h"
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>

static const char *const code_texts[LT_TERMINATION_COUNT] = {
    [LT_TERMINATION_CONVERGED] = "converged to stationarity and feasibility tolerances",
    [LT_TERMINATION_SMALL_DECREASE] = "relative decrease in penalty function is below tolerance, at a feasible point",
    [LT_TERMINATION_TARGET] = "objective target value reached at a feasible point",
    [LT_TERMINATION_HALTED] = "halt requested by the user",
    [LT_TERMINATION_MAX_ITERATIONS] = "maximum number of iterations reached",
    [LT_TERMINATION_MAX_TIME] = "clock time limit reached",
    [LT_TERMINATION_BRACKET_FEASIBLE] = "line search bracketed a minimizer but failed to satisfy the Wolfe conditions at a feasible point; "
          "this often means practical optimality",
    [LT_TERMINATION_BRACKET_INFEASIBLE] = "line search bracketed a minimizer but failed to satisfy the Wolfe conditions at an infeasible point",
    [LT_TERMINATION_UNBOUNDED] = "line search failed to bracket a minimizer: the penalty function may be unbounded below; "
          "if there are constraints, try a smaller mu0",
    [LT_TERMINATION_NO_DESCENT] = "failed to produce a descent direction",
    [LT_TERMINATION_RETIRED] = "retired code, never produced",
    [LT_TERMINATION_FUNCTION_FAILED] = "user-supplied function failed",
    [LT_TERMINATION_QP_FAILED] = "a quadratic program failed and no other direction was left",
    [LT_TERMINATION_INTERNAL] = "internal error",
    [LT_TERMINATION_DEVICE_LOST] = "the device failed; the best point found before is kept",
    [LT_TERMINATION_NOT_STATIONARY] = "the penalty function is stationary to tolerance, but no multipliers balance the gradients of objective and constraints "
          "to kkt_tol: the point is probably no minimizer, and nothing tried led away from it",
};

const char *lt_termination_text(lt_termination code)
{
    return code >= 0 && code < LT_TERMINATION_COUNT ? code_texts[code] : "?";
}

static double *copy(const double *from, int64_t count)
{
    double *to = lt_malloc((size_t)LT_MAX(count, 1) * sizeof *to);
    if (to && count) memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static void unscale(const lt_run *r, int64_t first, int64_t count, double *c)
{
    for (int64_t j = 0; r->oracle.hidden && j < count; j++) c[j] /= r->oracle.scale[1 + first + j];
}

static lt_status fill_point(const lt_run *r, const lt_record *from, lt_solution_point *to)
{
    to->present = from->present;
    to->f = lt_oracle_f(&r->oracle, from->f);
    to->mu = from->mu;
    to->tvi = from->tvi;
    to->tve = from->tve;
    to->tv = from->tv;
    to->feasible_to_tol = from->feasible;
    if (!from->present) return LT_OK;
    to->x = copy(from->x, r->n);
    if (r->q) to->ce = copy(from->c, r->q);
    if (r->p) to->ci = copy(from->c + r->q, r->p);
    if (!to->x || (r->q && !to->ce) || (r->p && !to->ci)) return LT_ERR_MEMORY;
    unscale(r, 0, r->q, to->ce);
    unscale(r, r->q, r->p, to->ci);
    return LT_OK;
}

/* The same point with the multipliers of prescaling taken off again. */
static lt_status fill_unscaled(lt_run *r, const lt_record *from, lt_solution_point *to)
{
    lt_point *w = r->trial; /* no longer needed */
    w->mu = from->mu;
    w->f = from->f / r->oracle.scale[0];
    for (int64_t j = 0; j < r->q + r->p; j++) w->c[j] = from->c[j] / r->oracle.scale[1 + j];
    lt_point_measure(r, w);
    lt_record plain = { .present = from->present, .x = from->x, .c = w->c, .f = w->f, .mu = w->mu, .tvi = w->tvi,
                        .tve = w->tve, .tv = w->tv, .feasible = w->feasible };
    return fill_point(r, &plain, to);
}

/* What has arrived is what there is when the device was lost on the way. */
static void trust_what_arrived(lt_run *r)
{
    lt_record *record[] = { &r->best, &r->most_feasible, &r->patience.met, &r->reached };
    if (!lt_vectors_failure(&r->vectors)) return;
    for (size_t i = 0; i < LT_LEN(record); i++)
        if (record[i]->present && record[i]->copy > lt_vectors_arrived(&r->vectors)) *record[i] = *record[i]->before;
}

static lt_record final_record(const lt_run *r, double *at)
{
    const lt_point *x = r->cur;
    if (lt_vectors_failure(&r->vectors)) return r->reached;
    if (r->patience.settled) return r->patience.met;
    return (lt_record){ .present = true, .x = at, .c = x->c, .f = x->f, .mu = x->mu, .tvi = x->tvi, .tve = x->tve,
                        .tv = x->tv, .feasible = x->feasible };
}

static lt_status fill_points(lt_run *r, lt_solution *s)
{
    double *x = lt_vectors_stage(&r->vectors, r->cur->x);
    lt_vectors_get(&r->vectors, r->n, r->cur->x, x);
    trust_what_arrived(r);
    lt_record final = final_record(r, x);
    LT_TRY(fill_point(r, &final, &s->final));
    LT_TRY(fill_point(r, &r->best, &s->best));
    LT_TRY(fill_point(r, &r->most_feasible, &s->most_feasible));
    if (!r->oracle.prescaled || r->oracle.hidden) return LT_OK;
    LT_TRY(fill_unscaled(r, &final, &s->final_unscaled));
    LT_TRY(fill_unscaled(r, &r->best, &s->best_unscaled));
    return fill_unscaled(r, &r->most_feasible, &s->most_feasible_unscaled);
}

static lt_status fill_scale(const lt_run *r, int64_t first, int64_t count, double **out)
{
    bool used = false;
    for (int64_t j = first; j < first + count; j++) used = used || r->oracle.scale[j] != 1;
    if (!used || r->oracle.hidden) return LT_OK;
    *out = copy(r->oracle.scale + first, count);
    return *out ? LT_OK : LT_ERR_MEMORY;
}

static void fill_numbers(const lt_run *r, lt_solution *s)
{
    int64_t qps = r->steering.sub.n_solved + r->stat.sub.n_solved;
    int64_t failed = r->steering.sub.n_failed + r->stat.sub.n_failed;
    s->n = r->n;
    s->p = r->p;
    s->q = r->q;
    s->stat_value = r->stat.value;
    s->stat_unweighted = r->stat.unweighted;
    s->stat_mu_normalised = r->stat.normalised;
    s->iters = r->iter;
    s->fn_evals = r->oracle.evals;
    s->gradient_evals = r->oracle.gradient_evals;
    s->BFGS_updates = r->hessian.counts;
    s->termination_code = r->code;
    s->quadprog_failure_rate = qps ? 100.0 * (double)failed / (double)qps : 0;
    s->mu_lowest = r->code == LT_TERMINATION_UNBOUNDED && r->constrained ? fmin(r->penalty.lowest, r->cur->mu) : NAN;
    s->time_total = lt_seconds_since(r->start_ns);
    s->time_eval = (double)r->oracle.time_ns * 1e-9;
    s->time_qp = (double)(r->steering.sub.time_ns + r->stat.sub.time_ns) * 1e-9;
    s->time_h = (double)r->hessian_ns * 1e-9;
    s->time_compile = r->evaluator->compile_seconds;
    s->n_qp = qps;
    s->n_mu_reductions = r->penalty.n_reductions;
    s->interrupted = r->interrupted;
}

typedef struct whole {       /* a solution and what it points at */
    lt_solution        solution;
    lt_solve_transfers transfers;
} whole;

static void fill_transfers(const lt_run *r, lt_solve_transfers *t)
{
    if (r->evaluator->on_device) *t = lt_device_functions_read(r->evaluator->on_device);
    t->size = sizeof *t;
    t->trials_used = r->steps.used;
    lt_vectors_report(&r->vectors, t);
    if (!r->hessian.device) return;
    t->hessian_on_device = true;
    t->hessian = lt_device_hessian_crossings(r->hessian.device);
}

static void fill_device(const lt_run *r, lt_solution *s)
{
    const lt_evaluator *e = r->evaluator;
    snprintf(s->device, sizeof s->device, "%s", e->on_device ? lt_device_id(e->device) : "cpu");
    snprintf(s->device_reason, sizeof s->device_reason, "%s", e->reason);
}

/* An H that was lost with its device must not take the solution along. */
static lt_status give_hessian(lt_run *r, lt_hessian_state *out)
{
    lt_status s = lt_hessian_give(&r->hessian, out);
    if (!s || s == LT_ERR_MEMORY || !r->hessian.device) return s;
    *out = (lt_hessian_state){ .n = r->n };
    return LT_OK;
}

/* ---- The certificate ---- */
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

/* Of the points and H that s has already. */
static lt_status give_certificate(const lt_run *r, lt_solution *s)
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

/* ---- The whole ---- */
lt_status lt_solution_create(lt_run *r, lt_solution **out)
{
    int64_t in_loop = r->allocations_at_2 < 0 ? 0 : lt_alloc_count() - r->allocations_at_2 - r->recovery.n_allocations;
    lt_products_release(r); /* room for the copies that follow */
    lt_cache_release(&r->cache);
    whole *w = lt_calloc(1, sizeof *w);
    if (!w) return LT_ERR_MEMORY;
    lt_solution *s = &w->solution;
    s->size = sizeof *s;
    s->transfers = &w->transfers;
    fill_numbers(r, s);
    fill_transfers(r, &w->transfers);
    fill_device(r, s);
    s->loop_allocations = in_loop;
    lt_status status = fill_points(r, s);
    if (!status) status = fill_scale(r, 0, 1, &s->scalings.f);
    if (!status) status = fill_scale(r, 1, r->q, &s->scalings.ce);
    if (!status) status = fill_scale(r, 1 + r->q, r->p, &s->scalings.ci);
    if (!status) status = give_hessian(r, &s->H_final);
    if (!status) status = give_certificate(r, s);
    if (!status) status = lt_resumed_give(r, s);
    if (!status && r->error[0] && !(s->error = lt_strdup(r->error))) status = LT_ERR_MEMORY;
    s->history = r->history.row; /* handed over */
    s->n_history = r->history.n;
    r->history.row = NULL;
    if (status) lt_solution_destroy(s);
    else *out = s;
    return status;
}

static void free_point(lt_solution_point *p)
{
    lt_free(p->x);
    lt_free(p->ci);
    lt_free(p->ce);
}

static void free_certificate(lt_certificate *c)
{
    if (!c) return;
    lt_free((int64_t *)c->violated);
    lt_free((double *)c->ci_multipliers);
    lt_free((int64_t *)c->conflict);
    lt_free((double *)c->bound_multipliers);
    lt_free((double *)c->conflict_weights);
    lt_free(c);
}

void lt_solution_destroy(lt_solution *s)
{
    if (!s) return;
    lt_solution_point *points[] = { &s->final, &s->best, &s->most_feasible, &s->final_unscaled, &s->best_unscaled,
                                    &s->most_feasible_unscaled };
    for (size_t i = 0; i < LT_LEN(points); i++) free_point(points[i]);
    lt_free(s->scalings.f);
    lt_free(s->scalings.ci);
    lt_free(s->scalings.ce);
    lt_hessian_state_release(&s->H_final);
    lt_free((char *)s->error);
    lt_free(s->history);
    lt_free((lt_option_change *)s->changed_options);
    free_certificate((lt_certificate *)s->certificate);
    lt_free(s);
}
