/* Bounds on rounding errors, so that tests need no tuned tolerances.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_TOLERANCE_H
#define LT_TEST_TOLERANCE_H

#include "lathe/base.h"

#include <math.h>

/* Largest relative error of rounding a number to the type; 0 for integers, which are exact. */
static inline double lt_unit_roundoff(lt_dtype t)
{
    switch (t) {
    case LT_F16: return 0x1p-11;
    case LT_BF16: return 0x1p-8;
    case LT_F32: return 0x1p-24;
    case LT_F64: return 0x1p-53;
    default: return 0;
    }
}

/* Below this a number of the type loses digits: half of its smallest step is the absolute error. */
static inline double lt_smallest_step(lt_dtype t)
{
    switch (t) {
    case LT_F16: return 0x1p-24;
    case LT_BF16: return 0x1p-133;
    case LT_F32: return 0x1p-149;
    case LT_F64: return 0x1p-1074;
    default: return 0;
    }
}

/* n rounded operations in a row, or a sum of n products in any order, stay within
   n u / (1 - n u) of the exact value, relative to the sum of magnitudes. */
static inline double lt_chain_bound(double n, lt_dtype t)
{
    double nu = n * lt_unit_roundoff(t);
    return nu < 1 ? nu / (1 - nu) : INFINITY;
}

/* Whether got is want up to n roundings of numbers as large as magnitude. Infinities and NaN
   must agree exactly. */
static inline bool lt_within(double got, double want, double magnitude, double n, lt_dtype t)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return want == got;
    return fabs(got - want) <= lt_chain_bound(n, t) * magnitude + n * lt_smallest_step(t);
}

/* Central differences with step h = cbrt(u) max(1, |x|): truncation h^2 f'''/6 and rounding u f/h
   are both about u^(2/3) = 2e-11 times the size of f and its derivatives. A factor of 1e4 or so is
   left for derivatives that are larger than the function. */
#define LT_DIFFERENCE_STEP 6e-6
#define LT_DIFFERENCE_TOLERANCE 1e-6

#endif
