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

/* Rates of one class against all others, added to those of the classes before. */
static void add_class(const int32_t *label, const int32_t *predicted, int64_t n, int64_t c, lt_qsvm_scores *sum)
{
    double tp = 0, fp = 0, fn = 0;
    for (int64_t i = 0; i < n; i++) {
        tp += label[i] == c && predicted[i] == c;
        fp += label[i] != c && predicted[i] == c;
        fn += label[i] == c && predicted[i] != c;
    }
    sum->precision += ratio(tp, tp + fp);
    sum->recall += ratio(tp, tp + fn);
    sum->f1 += ratio(2 * tp, 2 * tp + fp + fn);
}

static lt_status check_labels(const char *what, const int32_t *label, int64_t n, int64_t n_classes)
{
    for (int64_t i = 0; i < n; i++)
        if (label[i] < 0 || label[i] >= n_classes)
            return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the %s of row %lld is %d, expected 0 to %lld", what, (long long)i, label[i], (long long)n_classes - 1);
    return LT_OK;
}

lt_status lt_qsvm_score_labels(const int32_t *label, const int32_t *predicted, int64_t n, int64_t n_classes, lt_qsvm_scores *out, int64_t *confusion)
{
    if (!label || !predicted || !out || n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: scores need labels and predictions of at least one row");
    if (n_classes < 2 || n_classes > LT_QSVM_MAX_CLASSES) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld classes, expected 2 to %d", (long long)n_classes, LT_QSVM_MAX_CLASSES);
    LT_TRY(check_labels("label", label, n, n_classes));
    LT_TRY(check_labels("predicted label", predicted, n, n_classes));
    int64_t hits = 0, present = 0;
    *out = (lt_qsvm_scores){ .roc_auc = NAN, .average_precision = NAN };
    for (int64_t i = 0; i < n; i++) hits += label[i] == predicted[i];
    for (int64_t c = 0; c < n_classes; c++) {
        bool occurs = false;
        for (int64_t i = 0; i < n && !occurs; i++) occurs = label[i] == c;
        if (!occurs) continue;
        present++;
        add_class(label, predicted, n, c, out);
    }
    out->accuracy = (double)hits / (double)n;
    out->precision /= (double)present;
    out->recall /= (double)present;
    out->f1 /= (double)present;
    out->balanced_accuracy = out->recall;
    for (int64_t i = 0; confusion && i < n_classes * n_classes; i++) confusion[i] = 0;
    for (int64_t i = 0; confusion && i < n; i++) confusion[label[i] * n_classes + predicted[i]]++;
    return LT_OK;
}

lt_status lt_qsvm_score_values(const double *value, const double *predicted, int64_t n, lt_qsvm_errors *out)
{
    if (!value || !predicted || !out || n < 1) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: scores need values and predictions of at least one row");
    double mean = 0, whole = 0, square = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) mean += value[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = value[i] - predicted[i], spread = value[i] - mean;
        if (!isfinite(d)) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: value or prediction of row %lld is not finite", (long long)i);
        whole += spread * spread;
        square += d * d;
        sum += fabs(d);
    }
    *out = (lt_qsvm_errors){ .r2 = whole > 0 ? 1 - square / whole : 0, .rmse = sqrt(square / (double)n), .mae = sum / (double)n };
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

/* Mean and deviation of n_rates numbers, which begin at of, of + step, ... */
static void combine(const double *of, int64_t n, int64_t step, int n_rates, double *mean, double *std)
{
    for (int r = 0; r < n_rates; r++) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++) sum += of[i * step + r];
        double m = sum / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double d = of[i * step + r] - m;
            square += d * d;
        }
        mean[r] = m;
        std[r] = sqrt(square / (double)n);
    }
}

void lt_scores_combine(const lt_qsvm_scores *of, int64_t n, int64_t step, lt_qsvm_scores *mean, lt_qsvm_scores *std)
{
    *mean = *std = (lt_qsvm_scores){ 0 };
    combine(rates_of(of), n, step * (int64_t)(sizeof *of / sizeof(double)), N_RATES, rates(mean), rates(std));
}

enum { N_ERRORS = sizeof(lt_qsvm_errors) / sizeof(double) };
void lt_errors_combine(const lt_qsvm_errors *of, int64_t n, int64_t step, lt_qsvm_errors *mean, lt_qsvm_errors *std)
{
    combine((const double *)of, n, step * N_ERRORS, N_ERRORS, (double *)mean, (double *)std);
}

lt_qsvm_errors lt_errors_unknown(void) { return (lt_qsvm_errors){ NAN, NAN, NAN }; }

lt_qsvm_scores lt_scores_unknown(void)
{
    lt_qsvm_scores s = { 0 };
    for (int r = 0; r < N_RATES; r++) rates(&s)[r] = NAN;
    return s;
}
