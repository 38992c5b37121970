/* Checks of feature rows. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/rows/rows.h"

#include "base/status.h"

#include <math.h>

static lt_status check_shape(const char *name, const lt_rows *x, int64_t q)
{
    if (!x->data) return LT_FAIL(LT_ERR_ARGUMENT, "gram: %s has no data", name);
    if (x->dtype != LT_F64 && x->dtype != LT_F32)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %s has type %s, expected f64 or f32", name, lt_dtype_name(x->dtype));
    if (x->n < 1 || x->n > INT64_C(1) << 40)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %s has %lld rows, expected at least one", name, (long long)x->n);
    if (x->columns != q)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: %s has %lld columns, but the weights are for %lld qubits: one feature per qubit",
                       name, (long long)x->columns, (long long)q);
    if (x->step != 0 && x->step < x->columns)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram: rows of %s are %lld elements apart, fewer than its %lld columns",
                       name, (long long)x->step, (long long)x->columns);
    return LT_OK;
}

double lt_rows_length(const lt_rows *x, int64_t row)
{
    double largest = 0, sum = 0;
    for (int64_t k = 0; k < x->columns; k++) largest = fmax(largest, fabs(lt_rows_at(x, row, k)));
    for (int64_t k = 0; largest > 0 && k < x->columns; k++) {
        double v = lt_rows_at(x, row, k) / largest;
        sum += v * v;
    }
    return largest * sqrt(sum);
}

lt_status lt_rows_check(const char *name, const lt_rows *x, int64_t n_qubits, double scale)
{
    LT_TRY(check_shape(name, x, n_qubits));
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t k = 0; k < x->columns; k++) {
            double v = lt_rows_at(x, i, k);
            if (!isfinite(v))
                return lt_place_row(LT_FAIL(LT_ERR_ARGUMENT, "gram: %s is %g at row %lld, column %lld: every number must be finite",
                                            name, v, (long long)i, (long long)k), name, i, k);
            if (!isfinite(v * scale))
                return lt_place_row(LT_FAIL(LT_ERR_ARGUMENT, "gram: %s is %g at row %lld, column %lld, which times the angle scale %g overflows",
                                            name, v, (long long)i, (long long)k, scale), name, i, k);
        }
    return LT_OK;
}
