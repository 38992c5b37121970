/* What a fit is given beside features: labels, values, weights, or a kernel itself; checked before anything is computed.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static lt_status check_class(const lt_qsvm *q, const lt_targets *t, int64_t n, int64_t c)
{
    const int64_t count = q->class_counts[c];
    const char *name = q->class_names[c];
    if (count == 0 && t->n_classes == 2)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: all %lld training labels are '%s': a machine needs rows of two classes", (long long)n, q->class_names[1 - c]);
    if (count == 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: class '%s' has no training row, expected some of each of the %lld classes", name, (long long)t->n_classes);
    if (count < q->opt.n_folds)
        return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: class '%s' has %lld training rows, too few for %lld folds", name, (long long)count, (long long)q->opt.n_folds);
    double weight = 0;
    for (int64_t i = 0; t->weight && i < n; i++) weight += t->label[i] == c ? t->weight[i] : 0;
    if (t->weight && weight == 0) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: all %lld training rows of class '%s' have weight 0", (long long)count, name);
    return LT_OK;
}

static lt_status check_labels(lt_qsvm *q, const lt_targets *t, int64_t n)
{
    if (!t->label) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: no labels");
    memset(q->class_counts, 0, (size_t)t->n_classes * sizeof *q->class_counts);
    for (int64_t i = 0; i < n; i++) {
        if (t->label[i] < 0 || t->label[i] >= t->n_classes)
            return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the label of row %lld is %d, expected 0 %s %lld", (long long)i, t->label[i],
                           t->n_classes == 2 ? "or" : "to", (long long)t->n_classes - 1);
        q->class_counts[t->label[i]]++;
    }
    for (int c = 0; c < 2; c++) q->info.n_class[c] = q->class_counts[c];
    for (int64_t c = 0; c < t->n_classes; c++) LT_TRY(check_class(q, t, n, c));
    return LT_OK;
}

static lt_status check_values(const lt_qsvm *q, const lt_targets *t, int64_t n)
{
    if (!t->value) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: no values");
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(t->value[i])) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the value of row %lld is %g: every number must be finite", (long long)i, lt_plain(t->value[i]));
    if (n < q->opt.n_folds) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: %lld training rows are too few for %lld folds", (long long)n, (long long)q->opt.n_folds);
    return LT_OK;
}

static lt_status check_weights(const lt_targets *t, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; t->weight && i < n; i++) {
        if (!isfinite(t->weight[i]) || t->weight[i] < 0)
            return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the weight of row %lld is %g, expected a finite number of at least 0", (long long)i, lt_plain(t->weight[i]));
        sum += t->weight[i];
    }
    return t->weight && !(sum > 0) ? LT_FAIL(LT_ERR_ARGUMENT, "qsvm: all %lld training rows have weight 0", (long long)n) : LT_OK;
}

lt_status lt_qsvm_check_targets(lt_qsvm *q, const lt_targets *t, int64_t n)
{
    LT_TRY(check_weights(t, n));
    switch (t->task) {
    case LT_QSVM_REGRESS:   return check_values(q, t, n);
    case LT_QSVM_ONE_CLASS: return LT_OK;
    default:                return check_labels(q, t, n);
    }
}

lt_status lt_qsvm_check_kernel(const double *K, int64_t n, int64_t columns)
{
    static const double rounding = 1e-6;
    double largest = 0;
    if (n != columns) return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the kernel is %lld x %lld, expected as many columns as rows", (long long)n, (long long)columns);
    for (int64_t i = 0; i < n * n; i++) largest = fmax(largest, fabs(K[i]));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (fabs(K[i * n + j] - K[j * n + i]) > rounding * largest)
                return LT_FAIL(LT_ERR_ARGUMENT, "qsvm: the kernel is %g at row %lld, column %lld and %g at row %lld, column %lld: it must be symmetric", K[i * n + j],
                               (long long)i, (long long)j, K[j * n + i], (long long)j, (long long)i);
    return LT_OK;
}
