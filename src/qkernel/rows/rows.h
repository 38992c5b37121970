/* Rows of features, read as angles. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_ROWS_ROWS_H
#define LT_QKERNEL_ROWS_ROWS_H

#include "lathe/gram.h"

static inline double lt_rows_at(const lt_rows *x, int64_t row, int64_t column)
{
    int64_t at = row * (x->step ? x->step : x->columns) + column;
    return x->dtype == LT_F64 ? ((const double *)x->data)[at] : (double)((const float *)x->data)[at];
}

/* The row's Euclidean length; no square overflows or vanishes. */
double lt_rows_length(const lt_rows *x, int64_t row);

/* Checks type, width, count and that every number and its angle is finite; `name` is "X" or "Y". */
lt_status lt_rows_check(const char *name, const lt_rows *x, int64_t n_qubits, double scale);

#endif
