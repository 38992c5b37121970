/* Sequential minimal optimisation in double precision, with the second-order choice of pairs of Fan, Chen and Lin
   (JMLR 6, 2005). SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/svm.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

/* Pairs whose rows coincide have no curvature; this stands in for it, as in LIBSVM. */
static const double least_curvature = 1e-12;

typedef struct smo {
    int64_t       n;
    const double *K;
    double       *beta;          /* signed coefficients */
    double       *error;         /* y - sum beta K: minus the gradient with respect to beta */
    double       *low, *high;    /* bounds of beta */
} smo;

typedef struct pair { int64_t i, j; double gap; } pair;

/* i: the largest error among coefficients that may grow. j: of those that may shrink, the one whose pair
   lowers the objective most. gap: how far the optimality conditions are from being met. */
static pair choose_pair(const smo *s)
{
    pair p = { -1, -1, 0 };
    double most = -INFINITY, least = INFINITY, best = -INFINITY;
    for (int64_t t = 0; t < s->n; t++)
        if (s->beta[t] < s->high[t] && s->error[t] > most) {
            most = s->error[t];
            p.i = t;
        }
    if (p.i < 0) return p;
    const double *row = s->K + p.i * s->n;
    double diagonal = row[p.i];
    for (int64_t t = 0; t < s->n; t++) {
        if (!(s->beta[t] > s->low[t])) continue;
        least = fmin(least, s->error[t]);
        double difference = most - s->error[t];
        if (!(difference > 0)) continue;
        double curvature = diagonal + s->K[t * s->n + t] - 2 * row[t];
        double gain = difference * difference / fmax(curvature, least_curvature);
        if (gain > best) {
            best = gain;
            p.j = t;
        }
    }
    p.gap = p.j < 0 ? 0 : most - least;
    return p;
}

/* beta_i grows and beta_j shrinks by the same amount, so their sum stays zero. */
static void move_pair(const smo *s, pair p)
{
    const double *a = s->K + p.i * s->n, *b = s->K + p.j * s->n;
    double curvature = fmax(a[p.i] + b[p.j] - 2 * a[p.j], least_curvature);
    double step = (s->error[p.i] - s->error[p.j]) / curvature;
    double room_i = s->high[p.i] - s->beta[p.i], room_j = s->beta[p.j] - s->low[p.j];
    step = fmin(step, fmin(room_i, room_j));
    /* Exactly onto a bound: counts of support vectors depend on it. */
    s->beta[p.i] = step >= room_i ? s->high[p.i] : s->beta[p.i] + step;
    s->beta[p.j] = step >= room_j ? s->low[p.j] : s->beta[p.j] - step;
    for (int64_t t = 0; t < s->n; t++) s->error[t] -= step * (a[t] - b[t]);
}

/* Free coefficients have error = bias; without any, the middle of what the bounds allow. */
static double find_bias(const smo *s)
{
    double sum = 0, above = INFINITY, below = -INFINITY;
    int64_t n_free = 0;
    for (int64_t t = 0; t < s->n; t++) {
        bool may_grow = s->beta[t] < s->high[t], may_shrink = s->beta[t] > s->low[t];
        if (may_grow && may_shrink) {
            sum += s->error[t];
            n_free++;
        } else if (may_grow) {
            below = fmax(below, s->error[t]);
        } else {
            above = fmin(above, s->error[t]);
        }
    }
    if (n_free > 0) return sum / (double)n_free;
    return isfinite(above) && isfinite(below) ? (above + below) / 2 : isfinite(above) ? above : below;
}

lt_status lt_smo_fit(const lt_svm *svm, const double cost[2], double *beta, lt_svm_result *out)
{
    smo s = { .n = svm->n, .K = svm->K, .beta = beta };
    s.error = lt_malloc(3 * (size_t)s.n * sizeof(double));
    if (!s.error) return LT_ERR_MEMORY;
    s.low = s.error + s.n;
    s.high = s.low + s.n;
    for (int64_t t = 0; t < s.n; t++) {
        beta[t] = 0;
        s.error[t] = svm->y[t] ? 1 : -1;
        s.low[t] = svm->y[t] ? 0 : -cost[0];
        s.high[t] = svm->y[t] ? cost[1] : 0;
    }
    int64_t limit = svm->max_iterations > 0 ? svm->max_iterations : LT_MAX(INT64_C(10000000), 100 * s.n);
    out->converged = false;
    for (out->iterations = 0; out->iterations < limit; out->iterations++) {
        pair p = choose_pair(&s);
        if (p.gap < svm->tolerance) {
            out->converged = true;
            break;
        }
        move_pair(&s, p);
    }
    out->bias = find_bias(&s);
    lt_free(s.error);
    return LT_OK;
}
