/* patience: the measure of stationarity is weighted by H, which may make it small by chance at an iterate that is no minimiser.
   A run may therefore go on when its tolerances are met, as long as that pays (decision 105, decision 233). It ends at the last iterate that met them, unless phi
   fell noticeably after that one. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/status.h"

#include <math.h>

#define NEARLY 1e-4 /* a KKT residual at which a point counts where the run finds no better one (decision 382) */

/* A record may be of a point that met the tolerances but for a residual between kkt_tol and NEARLY. */
static bool has_met(const lt_run *r) { return r->patience.met.present && (isinf(r->opt.kkt_tol) || r->certification.met.residual <= lt_kkt_tolerance(r)); }

static bool nearly_meets(const lt_run *r)
{
    const lt_kkt *k = &r->certification.now;
    return !has_met(r) && r->cur->feasible && r->stat.value <= r->opt.stationarity_tol && r->certification.iter == r->iter && k->known && k->residual <= NEARLY;
}

/* A fall of f by less than stationarity_tol does not count; compared by phi, so that f does not fall by what the tolerance of a constraint gives away. */
static bool has_fallen(const lt_run *r)
{
    const lt_patience *p = &r->patience;
    const lt_point *x = r->cur;
    return x->phi < x->mu * (p->f - r->opt.stationarity_tol * fmax(lt_oracle_unit(&r->oracle), fabs(p->f))) + p->violation;
}

static void remember(lt_run *r)
{
    lt_patience *p = &r->patience;
    lt_record_keep(r, r->cur, &p->met);
    if (!lt_certify(r)) lt_kkt_copy(r, &r->certification.now, &r->certification.met);
    p->stat = (lt_stat_values){ r->stat.value, r->stat.unweighted, r->stat.normalised };
}

bool lt_patience_was_over(const lt_run *r, bool meets)
{
    const lt_patience *p = &r->patience;
    return r->opt.patience ? has_met(r) && p->met_since && p->idle >= r->opt.patience : meets;
}

/* The gradients of the point alone balance: neither H nor samples can feign that. */
static bool is_proven(const lt_run *r)
{
    const lt_kkt *k = &r->certification.now;
    return r->certification.iter == r->iter && k->known && k->n_samples == 1 && k->residual <= LT_KKT_PROVEN;
}

bool lt_patience_over(lt_run *r, bool meets)
{
    lt_patience *p = &r->patience;
    if (!r->opt.patience) return meets;
    const bool first = meets && !has_met(r);
    if (meets || nearly_meets(r)) remember(r);
    if (!has_met(r)) return false;
    p->met_since = meets || (p->met_since && !has_fallen(r));
    if (first || has_fallen(r)) {
        p->f = r->cur->f;
        p->violation = r->cur->tv_l1;
        p->idle = 0;
    } else {
        p->idle++;
    }
    if (meets && is_proven(r)) p->idle = LT_MAX(p->idle, r->opt.patience);
    return lt_patience_was_over(r, meets);
}

/* Not where the run was stopped from outside or failed: then that is reported. */
static bool ran_its_course(lt_termination code)
{
    switch (code) {
    case LT_TERMINATION_CONVERGED:
    case LT_TERMINATION_MAX_ITERATIONS:
    case LT_TERMINATION_BRACKET_FEASIBLE:
    case LT_TERMINATION_BRACKET_INFEASIBLE:
    case LT_TERMINATION_NO_DESCENT:
    case LT_TERMINATION_NOT_STATIONARY:
    case LT_TERMINATION_QP_FAILED: return true;
    default: return false;
    }
}

/* What could not be certified is hardly lower than what was, or was nearly. */
static bool falls_short(const lt_run *r)
{
    const double met = r->patience.met.f;
    return r->code == LT_TERMINATION_NOT_STATIONARY && met - r->cur->f <= NEARLY * fmax(lt_oracle_unit(&r->oracle), fabs(met));
}

void lt_patience_settle(lt_run *r)
{
    lt_patience *p = &r->patience;
    if (!p->met.present || !(p->met_since || falls_short(r)) || !ran_its_course(r->code)) return;
    r->code = LT_TERMINATION_CONVERGED;
    r->error[0] = 0;
    p->settled = true;
    r->stat.value = p->stat.value;
    r->stat.unweighted = p->stat.unweighted;
    r->stat.normalised = p->stat.normalised;
    lt_kkt_copy(r, &r->certification.met, &r->certification.now);
}
