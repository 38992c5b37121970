/* What the features of a state are computed from: sums, order statistics and counts of its channels, measured by the loops of the CPU or by
   kernels of a device (decision 81). SPDX-License-Identifier: BSD-3-Clause

   Kernel texts (features/device) include this file too: plain types only, no includes. All sums are in double, so that cancellation between
   large fields and small differences loses no digits of the data. */
#ifndef LT_OPERATORS_FEATURES_FIELD_RECORD_H
#define LT_OPERATORS_FEATURES_FIELD_RECORD_H

enum { LT_RECORD_CHANNELS = 3, LT_RECORD_FILTERS = 3, LT_RECORD_QUANTILES = 5, LT_RECORD_SCALES = 10, LT_RECORD_THIRDS = 3 };

typedef struct lt_range_sums { double sum; float lo, hi; } lt_range_sums;
typedef struct lt_moment_sums { double m2, m3, m4; } lt_moment_sums; /* of u - mean */
typedef struct lt_norm_sums {
    double sum, abs, square;
    double variation;                  /* sum |dx| + sum |dy|: forward differences, not periodic */
    double gradient;                   /* sum dx^2 + sum dy^2 of the same */
    float  lo, hi;
} lt_norm_sums;
typedef struct lt_gradient_sums {      /* periodic central differences and 5-point Laplacian */
    double magnitude, max_square, x_square, y_square, x_abs, y_abs, laplacian_square;
} lt_gradient_sums;
typedef struct lt_open_sums { double x, y, laplacian; } lt_open_sums; /* of the same without wrapping around: where all neighbours are inside */
typedef struct lt_power_sums { double sum, square, max; } lt_power_sums;

/* Order statistics: those on both sides of the quantiles 5, 25, 50, 75, 95 %; the lower of the middle two; and
   that of the distances to it. */
typedef struct lt_order_record { float quantile[LT_RECORD_QUANTILES][2], median, deviation; } lt_order_record;

/* Of the half spectrum p: kx, ky in cycles per pixel, ky signed. */
typedef struct lt_spectrum_record {
    double total, x, xx, y, yy;        /* sums of p, p kx, p kx^2, p ky, p ky^2 */
    lt_power_sums scale[LT_RECORD_SCALES];
    double third[LT_RECORD_THIRDS];    /* sums of p by frequency: low, mid, high */
    double log_sum;                    /* of log(p + 1e-10) */
    double dominant;                   /* p of the dominant bin */
    int    dominant_bin, rolloff_bin;
} lt_spectrum_record;

typedef struct lt_channel_record {
    lt_range_sums      range;          /* its sum is finite only when the state is */
    lt_moment_sums     moments;
    lt_order_record    order;
    lt_gradient_sums   gradient;
    lt_open_sums       open;
    lt_norm_sums       norm[LT_RECORD_FILTERS];    /* of u, its low-pass and its high-pass part */
    double             entropy[LT_RECORD_FILTERS]; /* of their histograms */
    double             flow[2];        /* sums of (gradient one step ago) (u - mean): along x, along y */
    lt_spectrum_record spectrum;
} lt_channel_record;

/* One realization's state. Pairs of channels: 0 1, 0 2, 1 2. */
typedef struct lt_state_record {
    lt_channel_record channel[LT_RECORD_CHANNELS];
    double            product[LT_RECORD_CHANNELS];     /* sums of (a - mean) (b - mean) */
    double            information[LT_RECORD_CHANNELS]; /* mutual information */
} lt_state_record;

#endif
