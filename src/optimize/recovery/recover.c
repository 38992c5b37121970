/* Recovery: what is changed when a run would end without a certified point. The order of attempts is a row of a table per reason;
   each is worth one retry, and all begin again when the run got on in between (decision 186). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define PROGRESS 1e-6      /* of f or of the violation, relative to max(1, |f|): the run got on */
#define TIGHT 1e-6         /* a KKT residual at which a failed line search is the end */
#define WAIT 10            /* iterations that an attempt is given before the next */
#define CHECKED_EVERY 20   /* iterations */
#define MUCH_TOO_SMALL 10  /* factor by which mu is raised at least while the run gets on */
#define USUAL_RADIUS 1e-4  /* what sample_radius is by default: certificates may come from there */
#define RAISE_MOST 100     /* factor of one raise of mu */

typedef enum act { ACT_NONE, ACT_RESET_H, ACT_RESCALE, ACT_RAISE_MU, ACT_RAISE_MU_MUCH, ACT_LOWER_MU, ACT_RESTORE, ACT_RETURN, ACT_SAMPLE, ACT_SAMPLE_CLOSER,
                   ACT_SAMPLE_BETWEEN, ACT_SAMPLE_WIDER } act;

static const act uncertified[LT_RECOVERY_STAGES] = { ACT_RAISE_MU_MUCH, ACT_SAMPLE, ACT_SAMPLE_BETWEEN, ACT_SAMPLE_WIDER, ACT_RAISE_MU, ACT_RESET_H, ACT_SAMPLE_CLOSER };
static const act stuck[LT_RECOVERY_STAGES] = { ACT_RESCALE, ACT_SAMPLE, ACT_RESET_H, ACT_RAISE_MU, ACT_SAMPLE_BETWEEN, ACT_SAMPLE_WIDER, ACT_SAMPLE_CLOSER };
static const act stuck_outside[LT_RECOVERY_STAGES] = { ACT_RETURN, ACT_RESET_H, ACT_RESTORE, ACT_SAMPLE, ACT_RESTORE, ACT_SAMPLE_CLOSER };
static const act falling[LT_RECOVERY_STAGES] = { ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU };

static const act cornered[LT_RECOVERY_STAGES] = { ACT_RETURN, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU, ACT_LOWER_MU };

/* At a corner of the bounds phi cannot fall, whatever mu is, although it falls without end where the bounds are left out. */
static bool is_cornered(const lt_run *r, lt_termination code) { return code == LT_TERMINATION_NO_DESCENT && lt_bounded(&r->bounds) && !r->cur->feasible; }

static const act *ladder_of(const lt_run *r, lt_termination code)
{
    if (is_cornered(r, code)) return cornered;
    if (code == LT_TERMINATION_NO_DESCENT && !r->cur->feasible) return stuck_outside;
    switch (code) {
    case LT_TERMINATION_NOT_STATIONARY: return uncertified;
    case LT_TERMINATION_BRACKET_INFEASIBLE: return stuck_outside;
    case LT_TERMINATION_UNBOUNDED: return falling;
    default: return stuck;
    }
}

void lt_recovery_release(lt_run *r) { lt_free(r->recovery.direction); }

/* ---- Attempts -------------------------------------------------------------------------------------------- */
/* For good, unlike lt_penalty_set_mu. */
static bool change_mu(lt_run *r, double mu)
{
    if (!r->constrained || !r->opt.recover_mu || !(mu > 1e-300) || mu == r->cur->mu) return false;
    lt_console_note(r, 2, "Recovery: mu = %g in iteration %lld.", mu, (long long)r->iter + 1);
    r->cur->mu = mu;
    lt_point_measure(r, r->cur);
    r->penalty.changed = true; /* so that its gradient is formed anew */
    lt_penalty_restore(r);
    return true;
}

static bool reset_hessian(lt_run *r)
{
    if (!r->opt.recover_H || !r->hessian.counts.updates || !lt_hessian_reset(&r->hessian)) return false;
    lt_console_note(r, 2, "Recovery: H begins anew in iteration %lld.", (long long)r->iter + 1);
    lt_products_forget(r);
    lt_regularize(r);
    return true;
}

/* What the variables' scales were chosen by may be far away by now. */
static bool rescale(lt_run *r)
{
    if (!r->opt.recover_scales || !lt_rescale_variables(r)) return false;
    lt_console_note(r, 2, "Recovery: H begins anew with other scales in iteration %lld.", (long long)r->iter + 1);
    lt_products_forget(r);
    lt_regularize(r);
    return true;
}

/* The penalty function is exact below 1 / (largest multiplier): half of that leaves room. */
static double wanted_mu(const lt_run *r)
{
    const lt_kkt *k = &r->certification.now;
    double largest = 0;
    for (int64_t j = 0; j < r->q + r->p; j++) largest = fmax(largest, fabs(k->multiplier[j]) * r->oracle.scale[0] / r->oracle.scale[1 + j]);
    const double most = fmin(RAISE_MOST * r->cur->mu, fmax(1, r->opt.mu0));
    return largest > 0 ? fmin(0.5 / largest, most) : most;
}

static bool raise_mu(lt_run *r, double by)
{
    if (!r->constrained || lt_certify(r) || !r->certification.now.known) return false;
    const double wanted = wanted_mu(r);
    if (!(wanted > by * r->cur->mu) || !change_mu(r, wanted)) return false;
    reset_hessian(r); /* it was made for another phi */
    return true;
}

static bool lower_mu(lt_run *r, double factor)
{
    const bool lowered = change_mu(r, factor * r->cur->mu);
    r->penalty.n_reductions += lowered;
    return lowered;
}

/* The violation has a local minimum here, which a smaller mu does not leave; a feasible point that was seen is another place to begin (decision 322). */
static bool go_back(lt_run *r)
{
    if (!r->best.present || r->cur->feasible || r->vectors.on->queues || !lower_mu(r, 0.1)) return false;
    lt_console_note(r, 2, "Recovery: back to the best feasible point in iteration %lld.", (long long)r->iter + 1);
    reset_hessian(r);
    return r->recovery.back = true;
}

bool lt_recover_step_back(lt_run *r, lt_line_result *line)
{
    lt_recovery *c = &r->recovery;
    lt_point *p = r->trial;
    if (!c->back && !c->away) return false;
    lt_oracle_forget(r);
    if (c->away) lt_vectors_put(&r->vectors, r->n, c->direction, r->d);
    else lt_vectors_difference(&r->vectors, r->best.x, r->cur->x, r->d);
    c->back = c->away = false;
    c->direct = true;
    if (lt_bounded(&r->bounds)) lt_bounds_step(r, 1, p->x);
    else lt_vectors_step(&r->vectors, r->cur->x, 1, r->d, p->x);
    p->mu = r->penalty.mu;
    r->last.evals++;
    if (!lt_oracle_values(r, p, &(lt_line_trial){ .t = 1 }) || !p->finite) return false;
    r->last.phi_before = r->penalty.phi;
    *line = (lt_line_result){ .fail = LT_LINE_OK, .t = 1, .at = p };
    return true;
}

static bool carry_out(lt_run *r, act what)
{
    switch (what) {
    case ACT_RESET_H: return reset_hessian(r);
    case ACT_RESCALE: return rescale(r);
    case ACT_RAISE_MU: return raise_mu(r, 1.5);
    case ACT_RAISE_MU_MUCH: return raise_mu(r, MUCH_TOO_SMALL);
    case ACT_LOWER_MU: return lower_mu(r, 0.1);
    case ACT_RETURN: return go_back(r);
    case ACT_RESTORE: return lower_mu(r, 0.01) && (reset_hessian(r) || true);
    case ACT_SAMPLE: return lt_sample_around(r, r->opt.sample_radius);
    case ACT_SAMPLE_CLOSER: return lt_sample_around(r, 0.01 * r->opt.sample_radius);
    case ACT_SAMPLE_BETWEEN: return r->opt.sample_radius < USUAL_RADIUS && lt_sample_around(r, sqrt(r->opt.sample_radius * USUAL_RADIUS));
    case ACT_SAMPLE_WIDER: return lt_sample_around(r, r->opt.sample_radius < USUAL_RADIUS ? USUAL_RADIUS : 100 * r->opt.sample_radius);
    default: return false;
    }
}

/* ---- The ladder ------------------------------------------------------------------------------------------- */
static bool got_on(const lt_run *r)
{
    const lt_recovery *c = &r->recovery;
    const double enough = PROGRESS * fmax(lt_oracle_unit(&r->oracle), fabs(c->f));
    return !c->begun || r->cur->tv_l1 < c->violation - enough || (r->cur->f < c->f - enough && r->cur->tv_l1 <= c->violation + enough);
}

/* A search that fails where the KKT conditions hold is the end: there is nothing to recover. */
static bool is_the_end(lt_run *r, lt_termination code)
{
    if (code == LT_TERMINATION_UNBOUNDED || code == LT_TERMINATION_NOT_STATIONARY || !r->cur->feasible) return false;
    return lt_certify(r) == LT_OK && r->certification.now.known && r->certification.now.residual <= TIGHT;
}

static bool samples_certify(const lt_run *r) { return r->certification.iter == r->iter && r->cur->feasible && lt_certified(r); }

/* At a minimiser a search finds nothing lower. The measure may be large all the same: its samples come from the path, not from this search. */
void lt_recover_settle(lt_run *r)
{
    const lt_kkt *k = &r->certification.now;
    const bool failed = r->code == LT_TERMINATION_BRACKET_FEASIBLE || r->code == LT_TERMINATION_NO_DESCENT;
    if (r->opt.compat || !failed || !r->cur->feasible || r->certification.iter != r->iter || !k->known || !(k->residual <= LT_KKT_PROVEN)
        || !(k->stationarity <= r->opt.stationarity_tol))
        return;
    r->code = LT_TERMINATION_CONVERGED;
    r->error[0] = 0;
    r->stat.value = r->stat.unweighted = r->stat.normalised = k->stationarity;
}

/* patience alone kept the run going: it may end where it was certified. */
static bool has_a_certified_point(const lt_run *r) { return r->patience.met.present && r->patience.met_since; }

bool lt_recover(lt_run *r, lt_termination code)
{
    lt_recovery *c = &r->recovery;
    const act *ladder = ladder_of(r, code);
    if (r->opt.compat || r->code != LT_TERMINATION_NONE || c->n_used >= r->opt.recoveries || has_a_certified_point(r) || is_the_end(r, code)) return false;
    if (got_on(r)) c->stage = 0;
    c->f = r->cur->f;
    c->violation = r->cur->tv_l1;
    c->begun = true;
    lt_penalty_restore(r);
    while (c->stage < LT_RECOVERY_STAGES && ladder[c->stage] != ACT_NONE && r->code == LT_TERMINATION_NONE)
        if (carry_out(r, ladder[c->stage++])) {
            c->n_used++;
            c->wait_until = r->iter + WAIT;
            return true;
        } else if (samples_certify(r)) {
            return false;
        }
    return r->code != LT_TERMINATION_NONE;
}

/* With a mu far below what the multipliers ask for, steps along curved constraints stay short for ever. */
void lt_recover_slow(lt_run *r)
{
    lt_recovery *c = &r->recovery;
    if (!r->constrained || !r->opt.recover_mu || r->opt.compat || r->code != LT_TERMINATION_NONE || c->n_used >= r->opt.recoveries) return;
    if (!r->iter || r->iter % CHECKED_EVERY || r->iter < c->wait_until || r->cur->mu >= fmax(1, r->opt.mu0) || !r->cur->feasible) return;
    if (lt_certify(r) || !r->certification.now.known || lt_certified(r)) return;
    if (!raise_mu(r, MUCH_TOO_SMALL)) return;
    c->n_used++;
    c->wait_until = r->iter + WAIT;
}

void lt_recover_uncertified(lt_run *r)
{
    if (r->iter < r->recovery.wait_until || has_a_certified_point(r)) return;
    if (!lt_recover(r, LT_TERMINATION_NOT_STATIONARY) && !lt_certified(r)) lt_stop(r, LT_TERMINATION_NOT_STATIONARY);
}
