/* Probabilities from decision values: a sigmoid for each pair of classes, then the distribution closest to all of them.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machines/machines.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

/* log(1 + exp(v)) without overflow. */
static double soft_plus(double v) { return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v)); }

double lt_sigmoid_at(const double sigmoid[2], double decision)
{
    const double v = decision * sigmoid[0] + sigmoid[1];
    return v >= 0 ? exp(-v) / (1 + exp(-v)) : 1 / (1 + exp(v));
}

/* What is minimised: the cross entropy of targets t_i, which stay off 0 and 1 by as much as few rows say little. */
static double entropy_of(const double *f, const double *t, int64_t n, double a, double b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = f[i] * a + b;
        sum += soft_plus(v) + (t[i] - 1) * v;
    }
    return sum;
}

typedef struct slopes { double a, b, aa, bb, ab; } slopes;

static slopes slopes_at(const double *f, const double *t, int64_t n, const double sigmoid[2])
{
    slopes s = { .aa = 1e-12, .bb = 1e-12 }; /* so that the matrix can be inverted */
    for (int64_t i = 0; i < n; i++) {
        const double p = lt_sigmoid_at(sigmoid, f[i]), d = t[i] - p, w = p * (1 - p);
        s.a += f[i] * d;
        s.b += d;
        s.aa += f[i] * f[i] * w;
        s.bb += w;
        s.ab += f[i] * w;
    }
    return s;
}

/* Newton's steps, halved until the entropy falls. */
static void minimise(const double *f, const double *t, int64_t n, double sigmoid[2])
{
    enum { MOST_STEPS = 100 };
    double value = entropy_of(f, t, n, sigmoid[0], sigmoid[1]);
    for (int step = 0; step < MOST_STEPS; step++) {
        const slopes s = slopes_at(f, t, n, sigmoid);
        if (fabs(s.a) < 1e-9 && fabs(s.b) < 1e-9) return;
        const double det = s.aa * s.bb - s.ab * s.ab, da = -(s.bb * s.a - s.ab * s.b) / det, db = -(s.aa * s.b - s.ab * s.a) / det;
        const double slope = s.a * da + s.b * db;
        double size = 1;
        for (; size > 1e-10; size /= 2) {
            const double a = sigmoid[0] + size * da, b = sigmoid[1] + size * db, next = entropy_of(f, t, n, a, b);
            if (!(next < value + 1e-4 * size * slope)) continue;
            sigmoid[0] = a;
            sigmoid[1] = b;
            value = next;
            break;
        }
        if (size <= 1e-10) return;
    }
}

lt_status lt_sigmoid_fit(const double *decision, const uint8_t *y, int64_t n, double sigmoid[2])
{
    double *target = lt_malloc((size_t)LT_MAX(1, n) * sizeof *target), positives = 0;
    if (!target) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) positives += y[i];
    const double negatives = (double)n - positives;
    for (int64_t i = 0; i < n; i++) target[i] = y[i] ? (positives + 1) / (positives + 2) : 1 / (negatives + 2);
    sigmoid[0] = 0;
    sigmoid[1] = log((negatives + 1) / (positives + 1));
    minimise(decision, target, n, sigmoid);
    lt_free(target);
    return LT_OK;
}

/* The second approach of Wu, Lin and Weng (JMLR 5, 2004): min sum over pairs of (r_ba p_a - r_ab p_b)^2 with sum p = 1, one p after the other. */
void lt_couple(const double *r, int64_t n_classes, double *p, double *work)
{
    enum { MOST_SWEEPS = 1000 };
    static const double least = 1e-7;
    double *Q = work, *Qp = work + n_classes * n_classes;
    const int64_t k = n_classes;
    if (k == 2) {
        p[0] = 1 - r[0];
        p[1] = r[0];
        return;
    }
    for (int64_t i = 0; i < k * k; i++) Q[i] = 0;
    for (int64_t a = 0; a < k; a++)
        for (int64_t b = a + 1; b < k; b++) {
            const double of_b = fmin(fmax(*r++, least), 1 - least), of_a = 1 - of_b;
            Q[a * k + a] += of_b * of_b;
            Q[b * k + b] += of_a * of_a;
            Q[a * k + b] = Q[b * k + a] = -of_a * of_b;
        }
    for (int64_t a = 0; a < k; a++) p[a] = 1 / (double)k;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double square = 0, worst = 0;
        for (int64_t a = 0; a < k; a++) {
            Qp[a] = 0;
            for (int64_t b = 0; b < k; b++) Qp[a] += Q[a * k + b] * p[b];
            square += p[a] * Qp[a];
        }
        for (int64_t a = 0; a < k; a++) worst = fmax(worst, fabs(Qp[a] - square));
        if (worst < 1e-12 / (double)k) break;
        for (int64_t a = 0; a < k; a++) {
            const double diff = (square - Qp[a]) / Q[a * k + a], whole = 1 + diff;
            p[a] += diff;
            square = (square + diff * (diff * Q[a * k + a] + 2 * Qp[a])) / (whole * whole);
            for (int64_t b = 0; b < k; b++) {
                Qp[b] = (Qp[b] + diff * Q[a * k + b]) / whole;
                p[b] /= whole;
            }
        }
    }
}
