/* The exact penalty function phi = mu f + v1 and the measures of violation.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

/* Largest violations are in the user's units, sums are those that phi is made of.
   A value that is not finite makes phi infinite: the step is then rejected, wherever it came from. */
void lt_point_measure(const lt_run *r, lt_point *p)
{
    const double *ce = p->c, *ci = p->c + r->q, *scale = r->oracle.hidden ? r->oracle.scale + 1 : NULL;
    p->tvi = p->tve = p->tvi_l1 = p->tve_l1 = 0;
    for (int64_t j = 0; j < r->p; j++)
        if (ci[j] > 0) {
            p->tvi_l1 += ci[j];
            p->tvi = fmax(p->tvi, scale ? ci[j] / scale[r->q + j] : ci[j]);
        }
    for (int64_t j = 0; j < r->q; j++) {
        p->tve_l1 += fabs(ce[j]);
        p->tve = fmax(p->tve, fabs(scale ? ce[j] / scale[j] : ce[j]));
    }
    p->tv = fmax(p->tvi, p->tve);
    p->tv_l1 = p->tvi_l1 + p->tve_l1;
    p->finite = isfinite(p->f) && lt_vec_finite(r->q + r->p, p->c);
    p->feasible = p->finite && p->tvi <= r->opt.inequality_tol && p->tve <= r->opt.equality_tol;
    p->phi = p->finite ? p->mu * p->f + p->tv_l1 : INFINITY;
}

void lt_point_renew(lt_run *r, lt_point *p)
{
    p->grads = lt_cache_lend(&r->cache);
    p->sampled = false;
    if (!r->constrained) p->grad_phi = p->grads;
}

/* One full step makes an affine equality zero up to rounding, and from then on its sign is noise: each
   change of sign would put twice its gradient into y, unrelated to the step, and ruin H. Values this
   small are the kink itself (decision 33). */
#define EQUALITY_IS_ZERO 1e-12

/* At a kink an inequality of value 0 counts as active and an equality of value 0 has sign +1. */
static double weight(const lt_run *r, const lt_point *p, int64_t j)
{
    if (j >= r->q) return p->c[j] >= 0 ? 1 : 0;
    return p->c[j] >= (r->opt.compat ? -0.0 : -EQUALITY_IS_ZERO) ? 1 : -1;
}

/* Which function comes as number i in the sum that grad phi is. Its bits depend on the order: a device sums them as they lie, the host
   ends with the equalities and f. */
static int64_t summand(const lt_run *r, int64_t i)
{
    if (r->vectors.on->queues) return i;
    return i < r->p ? 1 + r->q + i : i < r->p + r->q ? 1 + i - r->p : 0;
}

static void gradient_at(const lt_run *r, const lt_point *p, double mu, double *out)
{
    if (!r->constrained) return; /* phi is f, and their gradients are one */
    if (r->rows.on) {
        lt_vectors_scaled(&r->vectors, mu, p->grads, out);
        for (int64_t j = 0; j < r->q + r->p; j++) r->penalty.factor[j] = weight(r, p, j);
        lt_rows_add(r, p, r->penalty.factor, out);
        return;
    }
    lt_vectors_sum(&r->vectors, out);
    for (int64_t i = 0; i < r->k; i++) {
        const int64_t j = summand(r, i);
        const double w = j ? weight(r, p, j - 1) : mu;
        if (!j || w != 0) lt_vectors_add(&r->vectors, w, p->grads + j * r->n, out);
    }
    lt_vectors_sum_end(&r->vectors);
}

double lt_point_slope(const lt_run *r, const lt_point *p, double mu)
{
    const double *grad_phi = p == r->cur ? r->penalty.grad_phi : p->grad_phi;
    double *factor = r->penalty.factor;
    const double **gradient = r->penalty.gradient;
    int64_t m = 0;
    if (!r->constrained || r->rows.on) return lt_vectors_dot(&r->vectors, grad_phi, r->d);
    for (int64_t j = 0; j < r->q + r->p; j++) {
        factor[m] = weight(r, p, j);
        gradient[m] = p->grads + (1 + j) * r->n;
        if (factor[m] != 0) m++;
    }
    factor[m] = mu;
    gradient[m++] = p->grads;
    return lt_vectors_dot_sum(&r->vectors, r->d, &(lt_combination){ m, factor, gradient, grad_phi });
}

void lt_point_gradients(const lt_run *r, lt_point *p) { gradient_at(r, p, p->mu, p->grad_phi); }

void lt_penalty_restore(lt_run *r)
{
    if (r->penalty.changed) lt_point_gradients(r, r->cur);
    r->penalty.mu = r->cur->mu;
    r->penalty.phi = r->cur->phi;
    r->penalty.grad_phi = r->cur->grad_phi;
    r->penalty.changed = false;
}

void lt_penalty_set_mu(lt_run *r, double mu)
{
    if (!r->constrained) return;
    r->penalty.mu = mu;
    r->penalty.phi = mu * r->cur->f + r->cur->tv_l1;
    r->penalty.changed = true;
    gradient_at(r, r->cur, mu, r->penalty.grad_phi); /* in the point's own memory, until it is left or restored */
}

/* What has arrived is not overwritten before the next one has. */
static void turn(lt_record *to, int64_t last)
{
    lt_record *before = to->before, arrived = *to;
    if (!before || !to->present || to->copy > last) return;
    *to = *before;
    *before = arrived;
    to->before = before;
    before->before = NULL;
}

void lt_record_keep(const lt_run *r, const lt_point *p, lt_record *to)
{
    turn(to, lt_vectors_arrived(&r->vectors));
    to->copy = lt_vectors_keep(&r->vectors, p->x, to->x);
    to->present = true;
    memcpy(to->c, p->c, (size_t)(r->q + r->p) * sizeof(double));
    to->f = p->f;
    to->mu = p->mu;
    to->tvi = p->tvi;
    to->tve = p->tve;
    to->tv = p->tv;
    to->feasible = p->feasible;
}

void lt_record_reach(lt_run *r)
{
    if (r->reached.x) lt_record_keep(r, r->cur, &r->reached);
}

lt_status lt_record_start(lt_run *r)
{
    lt_record_reach(r);
    lt_vectors_settle(&r->vectors);
    return lt_vectors_failure(&r->vectors);
}

/* Comparisons are strict, so that NaN never replaces a record. */
void lt_record_update(lt_run *r, const lt_point *p)
{
    if (!p->finite) return;
    if (p->feasible && (!r->best.present || p->f < r->best.f)) lt_record_keep(r, p, &r->best);
    if (!r->constrained) return;
    lt_record *m = &r->most_feasible;
    if (!m->present || p->tv < m->tv || (p->tv == m->tv && p->f < m->f)) lt_record_keep(r, p, m);
}
