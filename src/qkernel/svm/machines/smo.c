/* Sequential minimal optimisation in double precision, with the second-order choice of pairs of Fan, Chen and Lin
   (JMLR 6, 2005). SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machines/svm.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

/* Pairs whose rows coincide have no curvature; this stands in for it, as in LIBSVM. */
static const double least_curvature = 1e-12;

/* A regression has two variables for each row, which share its row of K: one that may grow from 0 and one that may shrink. */
typedef struct smo {
    int64_t       n, m;          /* rows; variables, n or 2 n */
    const double *K;
    double       *beta;          /* (m) signed coefficients */
    double       *error;         /* (m) target - sum beta K: minus the gradient with respect to beta */
    double       *low, *high;    /* (m) bounds of beta */
} smo;

typedef struct pair { int64_t i, j; double gap; } pair;

static int64_t row_of(const smo *s, int64_t t) { return t < s->n ? t : t - s->n; }

/* i: the largest error among coefficients that may grow. j: of those that may shrink, the one whose pair
   lowers the objective most. gap: how far the optimality conditions are from being met. */
static pair choose_pair(const smo *s)
{
    pair p = { -1, -1, 0 };
    double most = -INFINITY, least = INFINITY, best = -INFINITY;
    for (int64_t t = 0; t < s->m; t++)
        if (s->beta[t] < s->high[t] && s->error[t] > most) {
            most = s->error[t];
            p.i = t;
        }
    if (p.i < 0) return p;
    const double *row = s->K + row_of(s, p.i) * s->n;
    double diagonal = row[row_of(s, p.i)];
    for (int64_t t = 0; t < s->m; t++) {
        if (!(s->beta[t] > s->low[t])) continue;
        least = fmin(least, s->error[t]);
        double difference = most - s->error[t];
        if (!(difference > 0)) continue;
        const int64_t r = row_of(s, t);
        double curvature = diagonal + s->K[r * s->n + r] - 2 * row[r];
        double gain = difference * difference / fmax(curvature, least_curvature);
        if (gain > best) {
            best = gain;
            p.j = t;
        }
    }
    p.gap = p.j < 0 ? 0 : most - least;
    return p;
}

/* beta_i grows and beta_j shrinks by the same amount, so their sum stays what it is. */
static void move_pair(const smo *s, pair p)
{
    const int64_t i = row_of(s, p.i), j = row_of(s, p.j);
    const double *a = s->K + i * s->n, *b = s->K + j * s->n;
    double curvature = fmax(a[i] + b[j] - 2 * a[j], least_curvature);
    double step = (s->error[p.i] - s->error[p.j]) / curvature;
    double room_i = s->high[p.i] - s->beta[p.i], room_j = s->beta[p.j] - s->low[p.j];
    step = fmin(step, fmin(room_i, room_j));
    /* Exactly onto a bound: counts of support vectors depend on it. */
    s->beta[p.i] = step >= room_i ? s->high[p.i] : s->beta[p.i] + step;
    s->beta[p.j] = step >= room_j ? s->low[p.j] : s->beta[p.j] - step;
    for (double *error = s->error; error < s->error + s->m; error += s->n)
        for (int64_t t = 0; t < s->n; t++) error[t] -= step * (a[t] - b[t]);
}

/* Free coefficients have error = bias; without any, the middle of what the bounds allow. */
static double find_bias(const smo *s)
{
    double sum = 0, above = INFINITY, below = -INFINITY;
    int64_t n_free = 0;
    for (int64_t t = 0; t < s->m; t++) {
        bool may_grow = s->beta[t] < s->high[t], may_shrink = s->beta[t] > s->low[t];
        if (may_grow && may_shrink) {
            sum += s->error[t];
            n_free++;
        } else if (may_grow) {
            below = fmax(below, s->error[t]);
        } else if (may_shrink) {
            above = fmin(above, s->error[t]);
        }
    }
    if (n_free > 0) return sum / (double)n_free;
    return isfinite(above) && isfinite(below) ? (above + below) / 2 : isfinite(above) ? above : below;
}

static double weight_of(const lt_svm *svm, int64_t t) { return svm->weight ? svm->weight[t] : 1; }

static void begin_classes(const lt_svm *svm, const double cost[2], const smo *s)
{
    for (int64_t t = 0; t < s->n; t++) {
        const double w = weight_of(svm, t);
        s->error[t] = svm->y[t] ? 1 : -1;
        s->low[t] = svm->y[t] ? 0 : -cost[0] * w;
        s->high[t] = svm->y[t] ? cost[1] * w : 0;
    }
}

static void begin_values(const lt_svm *svm, double cost, const smo *s)
{
    for (int64_t t = 0; t < s->n; t++) {
        const double bound = cost * weight_of(svm, t);
        s->error[t] = svm->value[t] - svm->epsilon;
        s->error[s->n + t] = svm->value[t] + svm->epsilon;
        s->low[t] = s->high[s->n + t] = 0;
        s->high[t] = bound;
        s->low[s->n + t] = -bound;
    }
}

/* The first rows take what they may until the sum is nu n; steps then move it between rows. */
static void begin_one_class(const lt_svm *svm, const smo *s)
{
    double left = 0;
    for (int64_t t = 0; t < s->n; t++) left += svm->nu * weight_of(svm, t);
    for (int64_t t = 0; t < s->n; t++) {
        s->high[t] = weight_of(svm, t);
        s->low[t] = s->error[t] = 0;
        s->beta[t] = fmin(left, s->high[t]);
        left -= s->beta[t];
    }
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t t = 0; s->beta[i] > 0 && t < s->n; t++) s->error[t] -= s->beta[i] * s->K[i * s->n + t];
}

static void begin(const lt_svm *svm, const double cost[2], const smo *s)
{
    for (int64_t t = 0; t < s->m; t++) s->beta[t] = 0;
    switch (svm->task) {
    case LT_QSVM_REGRESS:   begin_values(svm, cost[0], s); break;
    case LT_QSVM_ONE_CLASS: begin_one_class(svm, s); break;
    default:                begin_classes(svm, cost, s); break;
    }
}

lt_status lt_smo_fit(const lt_svm *svm, const double cost[2], double *beta, lt_svm_result *out)
{
    smo s = { .n = svm->n, .m = svm->task == LT_QSVM_REGRESS ? 2 * svm->n : svm->n, .K = svm->K };
    double *work = lt_malloc(4 * (size_t)s.m * sizeof(double));
    if (!work) return LT_ERR_MEMORY;
    s.beta = work;
    s.error = s.beta + s.m;
    s.low = s.error + s.m;
    s.high = s.low + s.m;
    begin(svm, cost, &s);
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
    for (int64_t t = 0; t < s.n; t++) beta[t] = s.beta[t] + (s.m > s.n ? s.beta[s.n + t] : 0);
    lt_free(work);
    return LT_OK;
}
