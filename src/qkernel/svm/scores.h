/* Scores, as the search uses them. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SVM_SCORES_H
#define LT_QKERNEL_SVM_SCORES_H

#include "lathe/qsvm.h"

/* Of 201 equidistant values between the extremes the one with the best F1; 0 when none is better than 0. */
double lt_best_threshold(const uint8_t *y, const double *decision, int64_t n);
/* Mean and deviation of every rate over of[0], of[step], …, n of them. */
void lt_scores_combine(const lt_qsvm_scores *of, int64_t n, int64_t step, lt_qsvm_scores *mean, lt_qsvm_scores *std);
lt_qsvm_scores lt_scores_unknown(void); /* all rates NaN */
void lt_errors_combine(const lt_qsvm_errors *of, int64_t n, int64_t step, lt_qsvm_errors *mean, lt_qsvm_errors *std);
lt_qsvm_errors lt_errors_unknown(void);

#endif
