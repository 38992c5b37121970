/* Scores of decision values against labels. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/scores.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

typedef struct scored { double decision; uint8_t y; } scored;

static int by_decision_falling(const void *a, const void *b)
{
    double x = ((const scored *)a)->decision, y = ((const scored *)b)->decision;
    return (x < y) - (x > y);
}

static lt_status check(const uint8_t *y, const double *decision, int64_t n)
{
    if (!y || !decision || n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: scores need labels and decision values of at least one row");
    for (int64_t i = 0; i < n; i++) {
        if (y[i] > 1) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the label of row %lld is %d, expected 0 or 1", (long long)i, y[i]);
        if (isnan(decision[i])) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the decision value of row %lld is not a number", (long long)i);
    }
    return LT_OK;
}

/* Highest decision first; rows of equal value form one step of every curve, so their order is no matter. */
static lt_status sorted(const uint8_t *y, const double *decision, int64_t n, scored **out)
{
    scored *s = *out = lt_malloc((size_t)n * sizeof *s);
    if (!s) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) s[i] = (scored){ decision[i], y[i] };
    qsort(s, (size_t)n, sizeof *s, by_decision_falling);
    return LT_OK;
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

static void count(const uint8_t *y, const double *decision, int64_t n, double threshold, lt_qsvm_scores *s)
{
    *s = (lt_qsvm_scores){ 0 };
    for (int64_t i = 0; i < n; i++) {
        bool positive = decision[i] > threshold;
        if (y[i]) positive ? s->true_positive++ : s->false_negative++;
        else positive ? s->false_positive++ : s->true_negative++;
    }
    double tp = (double)s->true_positive, fp = (double)s->false_positive, tn = (double)s->true_negative, fn = (double)s->false_negative;
    s->accuracy = (tp + tn) / (double)n;
    s->precision = ratio(tp, tp + fp);
    s->recall = ratio(tp, tp + fn);
    s->f1 = ratio(2 * tp, 2 * tp + fp + fn);
    /* The mean recall of the classes that are there. */
    s->balanced_accuracy = tp + fn == 0 ? ratio(tn, tn + fp) : tn + fp == 0 ? s->recall : (s->recall + ratio(tn, tn + fp)) / 2;
}

/* Area under the curve by trapezes, average precision by steps, one step per distinct decision value. */
static void rank(const scored *s, int64_t n, lt_qsvm_scores *out)
{
    double positives = 0, tp = 0, fp = 0, area = 0, average = 0;
    for (int64_t i = 0; i < n; i++) positives += s[i].y;
    double negatives = (double)n - positives;
    if (positives == 0 || negatives == 0) {
        out->roc_auc = out->average_precision = NAN;
        return;
    }
    for (int64_t i = 0; i < n;) {
        double tp_before = tp, fp_before = fp, at = s[i].decision;
        for (; i < n && s[i].decision == at; i++) s[i].y ? tp++ : fp++;
        area += (fp - fp_before) * (tp + tp_before) / 2;
        average += (tp - tp_before) * tp / (tp + fp);
    }
    out->roc_auc = area / (positives * negatives);
    out->average_precision = average / positives;
}

lt_status lt_qsvm_score(const uint8_t *y, const double *decision, int64_t n, double threshold, lt_qsvm_scores *out)
{
    scored *s;
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: scores: out is NULL");
    LT_TRY(check(y, decision, n));
    LT_TRY(sorted(y, decision, n, &s));
    count(y, decision, n, threshold, out);
    rank(s, n, out);
    lt_free(s);
    return LT_OK;
}

lt_status lt_qsvm_roc(const uint8_t *y, const double *decision, int64_t n, double *false_positive_rate, double *true_positive_rate,
                      int64_t *n_points)
{
    scored *s;
    if (!false_positive_rate || !true_positive_rate || !n_points) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: roc: an output is NULL");
    LT_TRY(check(y, decision, n));
    LT_TRY(sorted(y, decision, n, &s));
    double positives = 0, tp = 0, fp = 0;
    for (int64_t i = 0; i < n; i++) positives += y[i];
    double negatives = (double)n - positives;
    int64_t at = 0;
    false_positive_rate[0] = true_positive_rate[0] = 0;
    for (int64_t i = 0; i < n;) {
        double value = s[i].decision;
        for (; i < n && s[i].decision == value; i++) s[i].y ? tp++ : fp++;
        at++;
        false_positive_rate[at] = ratio(fp, negatives);
        true_positive_rate[at] = ratio(tp, positives);
    }
    *n_points = at + 1;
    lt_free(s);
    return LT_OK;
}

double lt_best_threshold(const uint8_t *y, const double *decision, int64_t n)
{
    enum { STEPS = 200 };
    double low = INFINITY, high = -INFINITY, best = 0;
    lt_qsvm_scores s;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, decision[i]);
        high = fmax(high, decision[i]);
    }
    count(y, decision, n, 0, &s);
    double best_f1 = s.f1;
    for (int i = 0; i <= STEPS; i++) {
        double t = low + (high - low) * i / STEPS;
        count(y, decision, n, t, &s);
        /* 0 stays unless another is better: the machine was trained for it. */
        if (s.f1 > best_f1 || (s.f1 == best_f1 && best != 0 && fabs(t) < fabs(best))) {
            best_f1 = s.f1;
            best = t;
        }
    }
    return best;
}

/* The seven rates, in the order of the struct. */
enum { N_RATES = 7 };
_Static_assert(offsetof(lt_qsvm_scores, true_positive) == N_RATES * sizeof(double), "the rates come first");
static double *rates(lt_qsvm_scores *s) { return (double *)s; }
static const double *rates_of(const lt_qsvm_scores *s) { return (const double *)s; }

void lt_scores_combine(const lt_qsvm_scores *of, int64_t n, int64_t step, lt_qsvm_scores *mean, lt_qsvm_scores *std)
{
    *mean = *std = (lt_qsvm_scores){ 0 };
    for (int r = 0; r < N_RATES; r++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++) sum += rates_of(&of[i * step])[r];
        double m = sum / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double d = rates_of(&of[i * step])[r] - m;
            square += d * d;
        }
        rates(mean)[r] = m;
        rates(std)[r] = sqrt(square / (double)n);
    }
}

lt_qsvm_scores lt_scores_unknown(void)
{
    lt_qsvm_scores s = { 0 };
    for (int r = 0; r < N_RATES; r++) rates(&s)[r] = NAN;
    return s;
}
