/* The inner loops of streamed features: one table per instruction set, chosen by probe.
   SPDX-License-Identifier: BSD-3-Clause

   Fields are float32; every product and sum is taken in double (features/field/record.h) (decision 65). */
#ifndef LT_OPERATORS_FEATURES_FIELD_LOOPS_H
#define LT_OPERATORS_FEATURES_FIELD_LOOPS_H

#include "lathe/base.h"
#include "operators/features/field/record.h"

typedef struct lt_row_sums { double p, px, pxx, max; } lt_row_sums;  /* of p, j p, j^2 p */

typedef struct lt_feature_loops {
    void (*range)(const float *u, int64_t n, lt_range_sums *out);
    void (*moments)(const float *u, int64_t n, double mean, lt_moment_sums *out);
    void (*norms)(const float *u, int g, lt_norm_sums *out);
    /* rows: 3 (g + 2) doubles of work memory, here and in flow. */
    void (*gradients)(const float *u, int g, double *rows, lt_gradient_sums *out);
    /* Sums of (gradient of before) (now - mean): out[0] along x, out[1] along y. */
    void (*flow)(const float *before, const float *now, int g, double mean, double *rows, double out[2]);
    /* Zero-padded separable filter of 2 radius + 1 taps; weight[k] for distance k. low + high = u.
       rows: (2 radius + 1) g + (g + 2 radius) + g doubles. */
    void (*blur)(const float *u, int g, const double *weight, int radius, double *rows, float *low, float *high);
    /* trunc(((u - lo) / width) top), each operation in float32. */
    void (*bins)(const float *u, int64_t n, float lo, float width, float top, uint8_t *bin);
    /* trunc((u - lo) scale), at most last: buckets that keep the order of u. */
    void (*buckets)(const float *u, int64_t n, float lo, float scale, int last, uint16_t *bucket);
    void (*distances)(const float *u, int64_t n, float from, float *out); /* |u - from| */
    void (*widen)(const float *u, int64_t n, double *out);
    void (*products)(const float *a, const float *b, const float *c, int64_t n, const double mean[3], double out[3]); /* ab, ac, bc */
    /* Power spectra: n bins. */
    void (*power)(const double *spectrum, int64_t n, double scale, double *p);
    void (*segment)(const double *p, int64_t n, lt_power_sums *out); /* adds to out */
    void (*row)(const double *p, int n, lt_row_sums *out);
    double (*log_sum)(const double *p, int64_t n, double shift);     /* sum log(p + shift), p + shift > 0 */
} lt_feature_loops;

const lt_feature_loops *lt_feature_loops_best(void);

extern const lt_feature_loops lt_feature_loops_plain;
#if LT_VEC_X86
extern const lt_feature_loops lt_feature_loops_avx2, lt_feature_loops_avx512;
#endif

#endif
