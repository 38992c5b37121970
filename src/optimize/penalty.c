/* The exact penalty function phi = mu f + v1 and the measures of violation.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vector.h"

#include <math.h>
#include <string.h>

/* A value that is not finite makes phi infinite: the step is then rejected, wherever it came from. */
void lt_point_measure(const lt_run *r, lt_point *p)
{
    const double *ce = p->c, *ci = p->c + r->q;
    p->tvi = p->tve = p->tvi_l1 = p->tve_l1 = 0;
    for (int64_t j = 0; j < r->p; j++)
        if (ci[j] > 0) {
            p->tvi_l1 += ci[j];
            p->tvi = fmax(p->tvi, ci[j]);
        }
    for (int64_t j = 0; j < r->q; j++) {
        p->tve_l1 += fabs(ce[j]);
        p->tve = fmax(p->tve, fabs(ce[j]));
    }
    p->tv = fmax(p->tvi, p->tve);
    p->tv_l1 = p->tvi_l1 + p->tve_l1;
    p->finite = isfinite(p->f) && lt_vec_finite(r->q + r->p, p->c);
    p->feasible = p->finite && p->tvi <= r->opt.viol_ineq_tol && p->tve <= r->opt.viol_eq_tol;
    p->phi = p->finite ? p->mu * p->f + p->tv_l1 : INFINITY;
}

/* One full step makes an affine equality zero up to rounding, and from then on its sign is noise: each
   change of sign would put twice its gradient into y, unrelated to the step, and ruin H. Values this
   small are the kink itself. */
#define EQUALITY_IS_ZERO 1e-12

/* At a kink an inequality of value 0 counts as active and an equality of value 0 has sign +1. */
static void gradient_at(const lt_run *r, const lt_point *p, double mu, double *out)
{
    int64_t n = r->n;
    const double *ce = p->c, *ci = p->c + r->q, *grad_ce = p->grads + n, *grad_ci = grad_ce + r->q * n;
    if (!r->constrained) return; /* phi is f, and their gradients are one */
    memset(out, 0, (size_t)n * sizeof(double));
    for (int64_t j = 0; j < r->p; j++)
        if (ci[j] >= 0) lt_vec_axpy(n, 1, grad_ci + j * n, out);
    const double zero = r->opt.compat ? 0 : EQUALITY_IS_ZERO;
    for (int64_t j = 0; j < r->q; j++) lt_vec_axpy(n, ce[j] >= -zero ? 1 : -1, grad_ce + j * n, out);
    lt_vec_step(n, out, mu, p->grads, out);
}

void lt_point_gradients(const lt_run *r, lt_point *p) { gradient_at(r, p, p->mu, p->grad_phi); }

void lt_penalty_restore(lt_run *r)
{
    if (r->mu_changed) lt_point_gradients(r, r->cur);
    r->mu = r->cur->mu;
    r->phi = r->cur->phi;
    r->grad_phi = r->cur->grad_phi;
    r->mu_changed = false;
}

void lt_penalty_set_mu(lt_run *r, double mu)
{
    if (!r->constrained) return;
    r->mu = mu;
    r->phi = mu * r->cur->f + r->cur->tv_l1;
    r->mu_changed = true;
    gradient_at(r, r->cur, mu, r->grad_phi); /* in the point's own memory, until it is left or restored */
}

static void keep(const lt_run *r, const lt_point *p, lt_record *to)
{
    to->present = true;
    memcpy(to->x, p->x, (size_t)r->n * sizeof(double));
    memcpy(to->c, p->c, (size_t)(r->q + r->p) * sizeof(double));
    to->f = p->f;
    to->mu = p->mu;
    to->tvi = p->tvi;
    to->tve = p->tve;
    to->tv = p->tv;
    to->feasible = p->feasible;
}

/* Comparisons are strict, so that NaN never replaces a record. */
void lt_record_update(lt_run *r, const lt_point *p)
{
    if (!p->finite) return;
    if (p->feasible && (!r->best.present || p->f < r->best.f)) keep(r, p, &r->best);
    if (!r->constrained) return;
    lt_record *m = &r->most_feasible;
    if (!m->present || p->tv < m->tv || (p->tv == m->tv && p->f < m->f)) keep(r, p, m);
}
