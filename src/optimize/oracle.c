/* Evaluations: counted, timed, scaled, recorded; gradients only when somebody needs them.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/number.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <math.h>

#define POLE 1e12 /* a fall by this many times max(1, |phi|) in one step */

static lt_outputs outputs_of(const lt_run *r, lt_point *p, bool values, bool gradients)
{
    int64_t n = r->n;
    lt_outputs out = { 0 };
    if (values) {
        out.f = &p->f;
        out.ce = r->q ? p->c : NULL;
        out.ci = r->p ? p->c + r->q : NULL;
    }
    if (gradients) {
        out.grad_f = p->grads;
        if (r->rows.on) {
            out.grad_ce = p->rows; /* of all constraints */
            return out;
        }
        out.grad_ce = r->q ? p->grads + n : NULL;
        out.grad_ci = r->p ? p->grads + (1 + r->q) * n : NULL;
    }
    return out;
}

static void round_state(const lt_run *r, lt_point *p, bool values, bool gradients)
{
    if (r->opt.double_precision) return;
    if (values) {
        p->f = (double)(float)p->f;
        lt_vec_round_f32(r->q + r->p, p->c);
    }
    if (gradients) lt_vec_round_f32(r->k * r->n, p->grads);
}

static void apply_scale(const lt_run *r, lt_point *p, bool values, bool gradients)
{
    if (!r->oracle.prescaled) return;
    if (values) {
        p->f *= r->oracle.scale[0];
        for (int64_t j = 0; j < r->q + r->p; j++) p->c[j] *= r->oracle.scale[1 + j];
    }
    if (gradients)
        for (int64_t j = 0; j < r->k; j++)
            if (r->oracle.scale[j] != 1) lt_vectors_scale(&r->vectors, r->oracle.scale[j], p->grads + j * r->n);
    if (gradients && r->rows.on) lt_rows_scale(r, p, r->oracle.scale);
}

static lt_status run_functions(lt_run *r, lt_point *p, bool values, bool gradients)
{
    int64_t begin = lt_clock_ns();
    lt_span span = lt_span_begin(gradients ? "eval_reverse" : "eval_forward");
    lt_outputs out = outputs_of(r, p, values, gradients);
    if (gradients) lt_foresee_trial(r, p); /* a trial that fails is asked for its values only */
    lt_status s;
    if (gradients || !lt_steps_values(r, &out, &s)) s = lt_evaluator_run(r->evaluator, p->x, &out);
    lt_span_end(span);
    r->oracle.time_ns += lt_clock_ns() - begin;
    return s;
}

/* Whether f has a gradient at all, mostly known from its first entry. Where a look costs a wait, it is taken to have one. */
static void note_objective(lt_run *r, const lt_point *p)
{
    bool *known = &r->oracle.has_objective;
    if (r->vectors.on->queues) *known = true;
    for (int64_t i = 0; !*known && i < r->n; i++) *known = p->grads[i] != 0;
}

static lt_status evaluate(lt_run *r, lt_point *p, bool values, bool gradients)
{
    const bool done = p == r->oracle.ahead && values && gradients == r->oracle.ahead_gradients;
    r->oracle.ahead = NULL;
    LT_TRY(done ? r->oracle.ahead_status : run_functions(r, p, values, gradients));
    apply_scale(r, p, values, gradients);
    round_state(r, p, values, gradients);
    if (values) {
        r->oracle.evals++;
        lt_point_measure(r, p);
    }
    if (gradients) {
        r->oracle.gradient_evals++;
        p->has_gradients = true;
        note_objective(r, p);
        lt_point_gradients(r, p);
    }
    return LT_OK;
}

bool lt_oracle_stopped(lt_run *r)
{
    if (r->code == LT_TERMINATION_NONE && r->opt.interrupt && *r->opt.interrupt) {
        r->interrupted = true;
        lt_stop(r, LT_TERMINATION_HALTED);
    }
    if (isfinite(r->opt.max_seconds) && lt_seconds_since(r->start_ns) > r->opt.max_seconds) lt_stop(r, LT_TERMINATION_MAX_TIME);
    return r->code != LT_TERMINATION_NONE;
}

/* Everything at once costs `all`; values first costs share * all, and `all` again if the trial passes.
   At once is cheaper when the chance of passing is above 1 - share. */
static bool expects_to_pass(const lt_run *r, bool first_trial)
{
    if (r->opt.gradients != LT_GRADIENTS_AUTO) return r->opt.gradients == LT_GRADIENTS_ALWAYS;
    const double chance = (double)(r->oracle.first_passed + 1) / (double)(r->oracle.first_tried + 2), share = r->evaluator->value_share;
    const bool several = r->evaluator->idles && lt_steps_planned(r); /* values of the next ones come along for little */
    /* Later trials pass about every fourth time: too rarely, unless values alone save little more than a wait. */
    if (!first_trial) return !several && r->evaluator->on_device && share > 0.75;
    return chance > (several ? fmax(0.75, 1 - share) : 1 - share);
}

/* A device that is gone is not the fault of the user's function (decision 71). */
static bool failed(lt_run *r, lt_status s)
{
    if (s) lt_stop_error(r, s == LT_ERR_DEVICE && r->evaluator->on_device ? LT_TERMINATION_DEVICE_LOST : LT_TERMINATION_FUNCTION_FAILED);
    return s != LT_OK;
}

static bool wants_both(const lt_run *r, bool first_trial) { return expects_to_pass(r, first_trial) && !r->opt.backtracking; }

void lt_oracle_forget(lt_run *r)
{
    r->oracle.ahead = NULL;
    r->steps.n = 0;
}

void lt_oracle_ahead(lt_run *r)
{
    lt_point *p = r->trial;
    if (!r->vectors.on->queues) return; /* nothing would be saved */
    lt_foresee_direction(r);
    lt_vectors_step(&r->vectors, r->cur->x, r->opt.first_step, r->d, p->x);
    lt_steps_next(r, &(lt_line_trial){ .t = r->opt.first_step });
    r->oracle.ahead_gradients = wants_both(r, true);
    r->oracle.ahead_status = run_functions(r, p, true, r->oracle.ahead_gradients);
    r->oracle.ahead = p;
}

/* Steps that end on bounds end where matrices are singular and divisors zero, but for rounding: what is left there of one divided by nothing is no
   descent, whatever its sign (decision 323). */
static void refuse_pole(const lt_run *r, lt_point *p)
{
    if (!lt_bounded(&r->bounds) || !(p->phi < r->penalty.phi - POLE * fmax(1, fabs(r->penalty.phi)))) return;
    p->phi = INFINITY;
    p->finite = p->feasible = false;
}

bool lt_oracle_values(lt_run *r, lt_point *p, const lt_line_trial *at)
{
    lt_steps_next(r, at);
    const bool both = wants_both(r, at->tried == 0);
    p->has_gradients = false;
    if (failed(r, evaluate(r, p, true, both))) return false;
    refuse_pole(r, p);
    lt_record_update(r, p);
    return true;
}

bool lt_oracle_gradients(lt_run *r, lt_point *p)
{
    if (p->has_gradients) return true;
    return !failed(r, evaluate(r, p, false, true));
}

/* ---- The start ----------------------------------------------------------------------------------------- */
/* The first entry of gradient j that is not finite, named with the function it belongs to. */
static lt_status refuse_derivative(const lt_run *r, int64_t j, int64_t i, double entry)
{
    const double v = lt_plain(entry);
    const char *advice = "choose a start where the gradient exists";
    if (!j) return lt_place_objective(LT_FAIL(LT_ERR_NUMERIC, "the objective's derivative to x[%lld] is %g at x0: %s", (long long)i, v, advice));
    const bool equality = j <= r->q;
    const int64_t number = equality ? j - 1 : lt_bounds_row(r, j - 1 - r->q);
    return lt_place_constraint(LT_FAIL(LT_ERR_NUMERIC, "%s constraint %lld has the derivative %g to x[%lld] at x0: %s", equality ? "equality" : "inequality",
                                       (long long)number, v, (long long)i, advice), equality, number);
}

static lt_status refuse_gradient(const lt_run *r, const double *grads, int64_t j)
{
    int64_t i = 0;
    while (isfinite(grads[j * r->n + i])) i++;
    return refuse_derivative(r, j, i, grads[j * r->n + i]);
}

static lt_status check_rows(const lt_run *r, const lt_point *p)
{
    int64_t entry, row = lt_rows_not_finite(r, p, &entry);
    return row < 0 ? LT_OK : refuse_derivative(r, 1 + row, r->rows.a->column[entry], p->rows[entry]);
}

static lt_status check_start(const lt_run *r, const lt_point *p, const double *grads)
{
    if (!isfinite(p->f)) return lt_place_objective(LT_FAIL(LT_ERR_NUMERIC, "the objective is %g at x0, expected a finite number", lt_plain(p->f)));
    for (int64_t j = 0; j < r->q + r->p; j++)
        if (!isfinite(p->c[j])) {
            const bool equality = j < r->q;
            const int64_t number = equality ? j : lt_bounds_row(r, j - r->q);
            return lt_place_constraint(LT_FAIL(LT_ERR_NUMERIC, "%s constraint %lld is %g at x0, expected a finite number",
                                               equality ? "equality" : "inequality", (long long)number, lt_plain(p->c[j])), equality, number);
        }
    for (int64_t j = 0; j < r->k; j++)
        if (!lt_vec_finite(r->n, grads + j * r->n)) return refuse_gradient(r, grads, j);
    return r->rows.on ? check_rows(r, p) : LT_OK;
}

static void choose_scale(lt_run *r, const lt_point *p, const double *grads)
{
    const double limit = r->opt.prescale_above;
    if (r->opt.scale_functions && isinf(limit)) {
        lt_scale_functions(r, grads);
        return;
    }
    for (int64_t j = 0; j < 1 + r->q + r->p; j++) {
        double norm = j < r->k ? lt_vec_norm2(r->n, grads + j * r->n) : lt_rows_norm(r, p, j - 1);
        r->oracle.scale[j] = norm > limit ? limit / norm : 1;
        if (r->oracle.scale[j] != 1) r->oracle.prescaled = true;
    }
}

lt_status lt_oracle_start(lt_run *r, lt_point *p)
{
    LT_TRY(evaluate(r, p, true, true));
    const double *grads = lt_vectors_look(&r->vectors, r->k * r->n, p->grads, 0);
    LT_TRY(lt_vectors_failure(&r->vectors));
    LT_TRY(check_start(r, p, grads));
    LT_TRY(lt_scale_variables(r));
    choose_scale(r, p, grads);
    if (r->oracle.prescaled) {
        apply_scale(r, p, true, true);
        lt_point_measure(r, p);
        lt_point_gradients(r, p);
    }
    lt_record_update(r, p);
    return LT_OK;
}
