/* The main loop: steering, line search, stationarity, update. Reads like the published algorithm (docs/guide-optimize.md names
   the paper). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/device/hessian.h"
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

void lt_stop(lt_run *r, lt_termination code)
{
    if (r->code == LT_TERMINATION_NONE) r->code = code;
}

void lt_stop_error(lt_run *r, lt_termination code)
{
    if (r->code == LT_TERMINATION_NONE) snprintf(r->error, sizeof r->error, "%s", lt_error_text());
    lt_stop(r, code);
}

void lt_stop_if_lost(lt_run *r)
{
    if ((r->hessian.device && lt_device_hessian_failure(r->hessian.device)) || lt_vectors_failure(&r->vectors)) lt_stop_error(r, LT_TERMINATION_DEVICE_LOST);
}

/* ---- Directions ---------------------------------------------------------------------------------------- */
static bool steer(lt_run *r, bool identity)
{
    double mu = r->penalty.mu;
    lt_span span = lt_span_begin("steering");
    bool ok = lt_steer(r, identity, r->d, &mu);
    lt_span_end(span);
    if (!ok) {
        LT_FAIL(LT_ERR_NUMERIC, "steering: a QP of %lld variables failed in iteration %lld", (long long)(r->p + r->q),
                (long long)r->iter + 1);
        lt_console_note(r, 3, "Steering: a QP failed in iteration %lld.", (long long)r->iter + 1);
        if (r->opt.stop_on_qp_failure) lt_stop_error(r, LT_TERMINATION_QP_FAILED);
        return false;
    }
    if (mu != r->penalty.mu) {
        lt_penalty_set_mu(r, mu);
        r->fallback.steering_changed = true;
    }
    return true;
}

static void quasi_newton(lt_run *r)
{
    const double *Hg = r->d;
    if (r->constrained || r->regular.active) lt_hessian_apply(&r->hessian, r->penalty.grad_phi, r->d);
    else Hg = lt_products_current(r); /* phi = f: known already */
    lt_vectors_scaled(&r->vectors, -1, Hg, r->d);
    lt_stop_if_lost(r);
}

static void draw_direction(lt_run *r)
{
    double *d = lt_vectors_stage(&r->vectors, r->d);
    for (int64_t i = 0; i < r->n; i++) d[i] = lt_rng_normal(&r->rng);
    lt_vectors_put(&r->vectors, r->n, d, r->d);
    r->fallback.random_attempts++;
}

/* A direction that recovery found comes first. */
static bool take_directed(lt_run *r)
{
    if (!r->recovery.directed) return false;
    r->recovery.directed = false;
    r->recovery.direct = true;
    lt_vectors_put(&r->vectors, r->n, r->recovery.direction, r->d);
    r->fallback.level = LT_MAX(r->fallback.level, LT_LEVEL_GRADIENT);
    return true;
}

static bool choose_direction(lt_run *r)
{
    bool ok = true;
    r->recovery.direct = false;
    if (take_directed(r)) {
        if (lt_bounded(&r->bounds)) lt_bounds_block(r, r->d);
        return true;
    }
    switch (r->fallback.level) {
    case LT_LEVEL_STEERING: ok = steer(r, false); break;
    case LT_LEVEL_STEERING_IDENTITY: ok = steer(r, true); break;
    case LT_LEVEL_QUASI_NEWTON: quasi_newton(r); break;
    case LT_LEVEL_GRADIENT:
        lt_vectors_scaled(&r->vectors, -1, r->penalty.grad_phi, r->d);
        break;
    default: draw_direction(r);
    }
    if (ok && lt_bounded(&r->bounds)) lt_bounds_block(r, r->d);
    if (ok && r->opt.unit_directions) lt_vectors_scale(&r->vectors, 1 / lt_vectors_norm2(&r->vectors, r->d), r->d);
    if (ok && !r->opt.double_precision) lt_vec_round_f32(r->n, r->d);
    return ok;
}

/* The slope along d, and how many evaluations it is worth: 0 when the direction is of no use. */
static double classify(lt_run *r, double *slope)
{
    double g0 = lt_point_slope(r, r->cur, r->penalty.mu);
    lt_stop_if_lost(r);
    if (g0 > 0 && r->fallback.level == LT_LEVEL_RANDOM) {
        lt_vectors_scale(&r->vectors, -1, r->d);
        lt_oracle_forget(r);
        g0 = -g0;
    }
    *slope = g0;
    if (!isfinite(g0)) return 0;
    return g0 < 0 ? INFINITY : (double)r->opt.nondescent_evals;
}

static bool raise_level(lt_run *r)
{
    lt_penalty_restore(r);
    if (r->fallback.level < r->opt.last_fallback) {
        r->fallback.level++;
        return true;
    }
    return r->fallback.level == LT_LEVEL_RANDOM && r->fallback.random_attempts < r->opt.random_directions;
}

/* ---- Line search ------------------------------------------------------------------------------------------ */
/* A search that never brackets means phi falls without end along d: mu is lowered and the same d
   searched again, while it is a descent direction. Unless that finds a step, "without end" stands (decision 45). */
static lt_line_result search(lt_run *r, double g0, double limit)
{
    bool first = r->iter == 0;
    int64_t reattempts = first ? r->opt.search_retries_at_start : r->opt.search_retries;
    double factor = first ? r->opt.search_retry_factor_at_start : r->opt.search_retry_factor;
    r->last.phi_before = r->penalty.phi;
    lt_line_result line = lt_line_search(r, g0, limit);
    if (line.fail == LT_LINE_UNBOUNDED && r->constrained)
        for (int64_t i = 0; line.fail != LT_LINE_OK && line.fail != LT_LINE_STOPPED && i < reattempts; i++) {
            lt_penalty_set_mu(r, factor * r->penalty.mu);
            r->penalty.n_reductions++;
            double slope = lt_point_slope(r, r->cur, r->penalty.mu);
            if (slope >= 0) break;
            lt_console_note(r, 2, "Line search: no bracket in iteration %lld, again with mu = %g.", (long long)r->iter + 1, r->penalty.mu);
            line = lt_line_search(r, slope, limit);
            if (line.fail == LT_LINE_BRACKETED) line.fail = LT_LINE_UNBOUNDED;
        }
    if (isfinite(limit) && line.fail != LT_LINE_OK && line.fail != LT_LINE_STOPPED) line.fail = LT_LINE_NOT_DESCENT;
    return line;
}

/* The levels are walked again when recovery has changed something. */
static void give_up(lt_run *r, lt_termination code)
{
    char why[sizeof r->error];
    snprintf(why, sizeof why, "%s", code == LT_TERMINATION_QP_FAILED ? lt_error_text() : "");
    if (!lt_recover(r, code)) {
        if (r->code == LT_TERMINATION_NONE) snprintf(r->error, sizeof r->error, "%s", why);
        lt_stop(r, code);
        return;
    }
    r->fallback.level = r->opt.first_fallback;
    r->fallback.random_attempts = 0;
    lt_pause_note(r);
}

/* True when the step is to be taken all the same; otherwise the level was raised or the run stopped. */
static bool overlook_failure(lt_run *r, const lt_line_result *line)
{
    bool feasible = r->cur->feasible;
    r->penalty.lowest = fmin(r->penalty.lowest, r->penalty.mu);
    if (r->opt.go_on_after_bracket_failure && r->fallback.level == LT_LEVEL_GRADIENT) return true;
    switch (line->fail) {
    case LT_LINE_BRACKETED:
        if (r->opt.stop_on_bracket_failure && feasible && !r->opt.go_on_after_bracket_failure) give_up(r, LT_TERMINATION_BRACKET_FEASIBLE);
        else if (!raise_level(r)) give_up(r, feasible ? LT_TERMINATION_BRACKET_FEASIBLE : LT_TERMINATION_BRACKET_INFEASIBLE);
        break;
    case LT_LINE_UNBOUNDED: give_up(r, LT_TERMINATION_UNBOUNDED); break;
    default:
        if (!raise_level(r)) give_up(r, LT_TERMINATION_NO_DESCENT);
    }
    return false;
}

/* Walks the levels until a step is found; false when the run has stopped. */
static bool find_step(lt_run *r, lt_line_result *line)
{
    r->fallback.level = r->opt.first_fallback;
    r->fallback.random_attempts = 0;
    lt_pause_note(r);
    r->last.evals = 0;
    while (r->code == LT_TERMINATION_NONE) {
        double slope, limit;
        r->fallback.steering_changed = false;
        lt_penalty_restore(r);
        if (lt_recover_step_back(r, line)) return true;
        bool known = choose_direction(r);
        lt_oracle_forget(r);
        if (known) lt_oracle_ahead(r);
        if (!known || (limit = classify(r, &slope)) == 0) {
            if (!raise_level(r) && r->code == LT_TERMINATION_NONE) give_up(r, known ? LT_TERMINATION_NO_DESCENT : LT_TERMINATION_QP_FAILED);
            continue;
        }
        *line = search(r, slope, limit);
        if (line->fail == LT_LINE_OK) return true;
        if (line->fail != LT_LINE_STOPPED && overlook_failure(r, line)) return true;
    }
    return false;
}

/* ---- Steps -------------------------------------------------------------------------------------------------- */
static double relative_change(const lt_run *r, double phi)
{
    bool changed = r->opt.compat ? r->fallback.steering_changed : r->penalty.changed;
    return changed || r->last.phi_before == 0 ? INFINITY : fabs(phi - r->last.phi_before) / fabs(r->last.phi_before);
}

static void swap_points(lt_point **a, lt_point **b)
{
    lt_point *t = *a;
    *a = *b;
    *b = t;
}

/* A step to where the point is already: it will be sampled again, as another sample. */
static void stay(lt_run *r)
{
    const double *grads = r->cur->grads;
    if (!r->cur->sampled) return;
    lt_point_renew(r, r->cur);
    memcpy(r->cur->grads, grads, (size_t)(r->k * r->n) * sizeof *grads);
}

/* The new point takes the snapshot's place. s and y are formed with one and the same mu, y in the memory of a point no longer
   needed: mostly the snapshot's, whose gradient it is made of entry by entry. */
static bool move(lt_run *r, const lt_line_result *line)
{
    lt_point *from = r->cur, *to = line->at ? line->at : r->cur;
    if (!lt_oracle_gradients(r, to)) return false;
    if (!line->at) stay(r);
    r->last.alpha = line->at ? line->t : 0;
    r->last.rel_diff = relative_change(r, to->phi);
    if (to == r->trial) swap_points(&r->cur, &r->trial);
    else if (to == r->lower) swap_points(&r->cur, &r->lower);
    r->last.left = line->at && from->sampled && !lt_bounded(&r->bounds) ? from->x : NULL; /* a step that was cut does not lead to the point, bit for bit */
    r->last.y = r->last.change ? r->last.change : r->trial->grad_phi;
    if (lt_bounded(&r->bounds)) lt_vectors_difference(&r->vectors, to->x, from->x, r->last.s);
    else lt_vectors_scaled(&r->vectors, r->last.alpha, r->d, r->last.s);
    lt_curvature(r, from, to);
    if (line->at) r->penalty.changed = false; /* that was the gradient at the point left */
    lt_penalty_restore(r);
    r->last.level = r->fallback.level;
    r->iter++;
    lt_record_reach(r);
    return true;
}

/* The update is done: the step to the newest sample has found its place, and the oldest may leave its memory to the next point. */
static void settle_sample(lt_run *r, bool paired)
{
    lt_cache *c = &r->cache;
    lt_point *free_to_try[] = { r->trial, r->lower };
    if (!c->takes_over) return;
    if (!c->x && r->cur->sampled && c->live > 1) {
        if (r->last.left) lt_trail_add_step(c, r->last.s, paired);
        else lt_trail_add_point(c, c->newest, r->cur->x);
    }
    lt_sample_retire(r);
    for (size_t i = 0; i < LT_LEN(free_to_try); i++)
        if (free_to_try[i] && free_to_try[i]->sampled) lt_point_renew(r, free_to_try[i]);
}

static void update_hessian(lt_run *r)
{
    static const char *const why[] = {
        [LT_UPDATE_NOT_SCALED] = "H0 could not be scaled", [LT_UPDATE_NO_CURVATURE] = "update skipped, s'y <= 0",
        [LT_UPDATE_NOT_FINITE] = "update skipped, not finite",
    };
    int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin("bfgs");
    lt_products *p = &r->products;
    r->hessian.Hs = lt_run_work(r);
    lt_hessian_free_variables(&r->hessian, NULL);
    lt_update_code code = lt_hessian_update(&r->hessian, r->last.s, r->last.y, p->has_Hs ? p->Hs : NULL, p->has_Hy ? p->Hy : NULL);
    p->has_Hy = p->has_Hs = false;
    lt_products_updated(r);
    lt_stop_if_lost(r);
    lt_span_end(span);
    r->hessian_ns += lt_clock_ns() - begin;
    settle_sample(r, code == LT_UPDATE_DONE || code == LT_UPDATE_NOT_SCALED);
    if (code != LT_UPDATE_DONE) lt_console_note(r, 2, "BFGS: %s in iteration %lld.", why[code], (long long)r->iter);
}

/* ---- What happens after a step ---------------------------------------------------------------------------------- */
/* Gradients and values of cur in the user's units: powers of two come off without rounding. */
static const double *unscaled(lt_run *r, const double *grads, const double **c)
{
    double *to = r->oracle.shown;
    *c = r->cur->c;
    if (!r->oracle.hidden || !to) return grads;
    for (int64_t j = 0; j < r->k; j++)
        for (int64_t i = 0; i < r->n; i++) to[j * r->n + i] = grads[j * r->n + i] / r->oracle.scale[j];
    double *values = to + r->k * r->n;
    for (int64_t j = 0; j < r->q + r->p; j++) values[j] = r->cur->c[j] / r->oracle.scale[1 + j];
    *c = values;
    return to;
}

static bool callback_wants_halt(lt_run *r)
{
    if (!r->opt.iterate_fn) return false;
    const lt_vectors *s = &r->vectors;
    const lt_point *x = r->cur;
    const int64_t n = r->n;
    const double *c, *grads = unscaled(r, lt_vectors_look(s, r->k * n, x->grads, 0), &c);
    lt_iterate it = {
        .size = sizeof it, .iter = r->iter, .n = n, .p = r->p, .q = r->q, .x = lt_vectors_look(s, n, x->x, r->k), .f = lt_oracle_f(&r->oracle, x->f), .mu = x->mu, .phi = x->phi,
        .grad_f = grads, .grad_phi = lt_vectors_look(s, n, x->grad_phi, r->k + 1), .ce = r->q ? c : NULL, .ci = r->p ? c + r->q : NULL,
        .grad_ce = r->q && !r->rows.on ? grads + n : NULL, .grad_ci = r->p && !r->rows.on ? grads + (1 + r->q) * n : NULL,
        .tvi = x->tvi, .tve = x->tve, .tv = x->tv, .tvi_l1 = x->tvi_l1, .tve_l1 = x->tve_l1, .tv_l1 = x->tv_l1,
        .feasible_to_tol = x->feasible, .d = lt_vectors_look(s, n, r->d, r->k + 2), .alpha = r->last.alpha, .ls_evals = r->last.evals,
        .n_gradients = r->stat.n_samples, .stat_vec = lt_vectors_look(s, n, r->stat.vector, r->k + 3), .stat_val = r->stat.value,
        .fallback_level = r->iter ? r->last.level : 0, .H_regularised = r->regular.active ? r->regular.H : NULL,
        .hessian = &r->hessian };
    return r->opt.iterate_fn(r->opt.iterate_ctx, &it);
}

static void report(lt_run *r, bool *halt)
{
    lt_history_log(r);
    *halt = callback_wants_halt(r);
    lt_span span = lt_span_begin("print");
    lt_console_row(r);
    lt_span_end(span);
}

/* The measure of phi is small, and code 0 needs the KKT conditions as well, which know neither mu nor H. */
static bool meets_tolerances(lt_run *r)
{
    if (!r->cur->feasible || !(r->stat.value <= r->opt.stationarity_tol)) return false;
    if (isinf(r->opt.kkt_tol)) return true;
    if (lt_certify(r)) lt_stop_error(r, LT_TERMINATION_INTERNAL);
    return lt_certified(r);
}

/* Where the first holds and the second does not, the run goes on for a while. */
static bool is_stationary(lt_run *r)
{
    if (meets_tolerances(r)) return true;
    if (r->cur->feasible && r->stat.value <= r->opt.stationarity_tol) lt_recover_uncertified(r);
    return r->certification.iter == r->iter && r->stat.value <= r->opt.stationarity_tol && r->cur->feasible && lt_certified(r);
}

static void test_tolerances(lt_run *r, bool over)
{
    if (over) lt_stop(r, LT_TERMINATION_CONVERGED);
    if (r->cur->feasible) {
        if (r->last.rel_diff <= r->opt.decrease_tol) lt_stop(r, LT_TERMINATION_SMALL_DECREASE);
        else if (lt_oracle_f(&r->oracle, r->cur->f) <= r->opt.target_f) lt_stop(r, LT_TERMINATION_TARGET);
    }
}

static void test_convergence(lt_run *r, bool halt)
{
    test_tolerances(r, lt_patience_over(r, is_stationary(r)));
    if (halt) lt_stop(r, LT_TERMINATION_HALTED);
    if (!lt_oracle_stopped(r)) lt_recover_slow(r);
}

/* check_internals: what must hold after every step. */
static void check_state(lt_run *r)
{
    const lt_point *x = r->cur;
    double phi = x->mu * x->f + x->tv_l1;
    if (!r->opt.check_internals) return;
    if (!isfinite(x->phi) || x->phi != phi || !lt_vectors_finite(&r->vectors, x->x)) {
        LT_FAIL(LT_ERR_INTERNAL, "iteration %lld: phi is %.17g, but mu f + v is %.17g", (long long)r->iter, x->phi, phi);
        lt_stop_error(r, LT_TERMINATION_INTERNAL);
    } else if (!r->cache.x && x->sampled && lt_trail_distance(&r->cache, x->x) != 0) {
        LT_FAIL(LT_ERR_INTERNAL, "iteration %lld: the steps between samples do not lead to x", (long long)r->iter);
        lt_stop_error(r, LT_TERMINATION_INTERNAL);
    }
}

static void saved(lt_run *r, lt_status s)
{
    r->last_checkpoint_ns = lt_clock_ns();
    if (!s) return;
    r->code = LT_TERMINATION_NONE; /* whatever ended the run, losing the checkpoint is what must be reported */
    lt_stop_error(r, LT_TERMINATION_INTERNAL);
}

/* What is lost with the device or an internal error is not written: the last checkpoint stands. */
static bool is_whole(const lt_run *r) { return r->code != LT_TERMINATION_DEVICE_LOST && r->code != LT_TERMINATION_INTERNAL; }

/* Between iterations, where the state is whole. The end is saved too: a run that was stopped can go on, and one that had ended ends
   again at the same point (decision 181). */
static void save_if_due(lt_run *r)
{
    if (!r->opt.checkpoint || !is_whole(r)) return;
    bool due = (r->opt.checkpoint_every && r->iter % r->opt.checkpoint_every == 0)
               || lt_seconds_since(r->last_checkpoint_ns) >= r->opt.checkpoint_seconds
               || r->code != LT_TERMINATION_NONE || r->iter == r->opt.max_iterations;
    if (due) saved(r, lt_checkpoint_write(r, r->opt.checkpoint));
}

/* A run that ended while it looked for a step, and will look for it again. */
static void save_search(lt_run *r)
{
    if (r->opt.checkpoint && is_whole(r)) saved(r, lt_pause_write(r, r->opt.checkpoint));
}

/* ---- The run ------------------------------------------------------------------------------------------------------ */
static void iterate(lt_run *r)
{
    while (r->code == LT_TERMINATION_NONE) {
        lt_line_result line;
        bool halt;
        if (r->iter == 2) r->allocations_at_2 = lt_alloc_count();
        if (r->iter >= r->opt.max_iterations) {
            lt_stop(r, LT_TERMINATION_MAX_ITERATIONS);
        } else if (find_step(r, &line) && move(r, &line)) {
            lt_bounds_mark_free(r);
            if (lt_stationarity_measure(r)) lt_stop_error(r, LT_TERMINATION_INTERNAL); /* uses H before the update */
            update_hessian(r);
            lt_bounds_mark_free(r);
            report(r, &halt);
            check_state(r);
            test_convergence(r, halt);
            if (r->code == LT_TERMINATION_NONE && r->iter < r->opt.max_iterations) lt_regularize(r);
            save_if_due(r);
        } else {
            save_search(r);
        }
    }
    lt_penalty_restore(r);
    lt_patience_settle(r);
    if (!r->patience.settled && r->code != LT_TERMINATION_DEVICE_LOST && r->cur->has_gradients) (void)lt_certify(r); /* without memory there is none */
    lt_recover_settle(r);
    if (r->code != LT_TERMINATION_DEVICE_LOST) lt_conflict_find(r);
}

/* The measure, row and tests at x0. */
static lt_status begin(lt_run *r)
{
    bool halt;
    lt_console_header(r);
    r->last.evals = 1;
    lt_regularize(r);
    lt_bounds_mark_free(r);
    LT_TRY(lt_stationarity_measure(r));
    report(r, &halt);
    r->last.rel_diff = INFINITY;
    test_convergence(r, halt);
    lt_recover_start(r);
    if (r->code != LT_TERMINATION_NONE) save_if_due(r);
    return LT_OK;
}

/* A checkpoint may be of a run that had ended; with these options it may have, or not any more. */
static void go_on(lt_run *r)
{
    lt_console_header(r);
    lt_bounds_mark_free(r);
    test_tolerances(r, lt_patience_was_over(r, meets_tolerances(r)));
}

/* What fails before the first step is bad input, and there is no solution (decision 87); what happens later is a code of the solution. */
static lt_status run(lt_problem *p, const lt_solve_options *opt, lt_solution **out)
{
    lt_run *r;
    LT_TRY(lt_run_create(p, opt, &r));
    lt_status s = LT_OK;
    if (!r->opt.resume) s = begin(r);
    else go_on(r);
    if (!s) {
        iterate(r);
        s = lt_solution_create(r, out);
        if (!s) s = lt_bounds_report(r, *out);
        if (s) lt_solution_destroy(*out), *out = NULL;
    }
    if (!s) lt_console_end(r, *out);
    lt_run_destroy(r);
    return s;
}

lt_status lt_solve(lt_problem *p, const lt_solve_options *opt, lt_solution **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "solve: out is NULL");
    *out = NULL;
    if (!p) return LT_FAIL(LT_ERR_ARGUMENT, "solve: the problem is NULL");
    lt_settings settings;
    LT_TRY(lt_settings_take(opt, &settings));
    opt = &settings.opt;
    if (!opt->device && strchr(opt->device_name, ','))
        return LT_FAIL(LT_ERR_ARGUMENT, "option 'device_name' is %s: several devices share many starts or a sweep, one run has one", opt->device_name);
    if (!opt->profile) return run(p, opt, out);
    LT_TRY(lt_trace_start(NULL));
    lt_status s = run(p, opt, out);
    lt_trace_stop();
    if (!s) s = lt_trace_write_chrome(opt->profile);
    if (s) {
        lt_solution_destroy(*out);
        *out = NULL;
    }
    return s;
}
