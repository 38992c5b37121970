/* What the values of one state are computed with: tables for a grid, and work memory for a thread.
   SPDX-License-Identifier: BSD-3-Clause

   A state is measured once (features/field/measure.c, features/field/spectrum.c), which gives its record; the record alone
   decides the values (features/field/field.c, features/field/channels.c). */
#ifndef LT_OPERATORS_FEATURES_FIELD_FIELD_H
#define LT_OPERATORS_FEATURES_FIELD_FIELD_H

#include "operators/features/field/loops.h"
#include "operators/features/table.h"
#include "operators/features/features.h"

#include "device/kernel.h"

_Static_assert((int)LT_RECORD_CHANNELS == LT_MAX_CHANNELS && (int)LT_RECORD_FILTERS == LT_FILTERS && (int)LT_RECORD_SCALES == LT_MAX_FFT_SCALES,
               "records have room for every feature");

enum { LT_MAX_RADIUS = 10, LT_BUCKETS = 2048 };

/* Contiguous bins of each row of a half spectrum: band b of row i is [edge[i n + b], edge[i n + b + 1]). */
typedef struct lt_band_map {
    int      n_bands;
    int32_t *edge;       /* (g, n_bands + 1) */
    int64_t *count;      /* bins per band */
} lt_band_map;

typedef struct lt_field_plan { /* shared by threads; never changes */
    const lt_feature_set   *set;
    const lt_feature_loops *loops;
    int         g, half;       /* half = g/2 + 1 */
    int64_t     n, n_bins;     /* pixels; bins of the half spectrum */
    lt_kernel  *fft;
    lt_kernel  *line_fft, *inverse_fft; /* of optional features, or NULL */
    int         radius;        /* of the low-pass filter */
    double      weight[LT_MAX_RADIUS + 1];
    lt_band_map scales, thirds; /* of fft_power_scale_*, of the frequency ratios */
    lt_band_map coherence;      /* low, mid, high without the constant */
} lt_field_plan;

typedef struct lt_field_work { /* one thread's */
    void     *memory;
    double   *plane;     /* (g, g), FFT input; also rows of the loops */
    double   *spectrum;  /* (g, half, 2) */
    double   *first;     /* (g, half, 2), for coherence; NULL when it is not wanted */
    double   *power;     /* (g, half) */
    double   *rows;      /* filter and gradient rows */
    float    *average;   /* (g, g): the channels' mean, when they are averaged first */
    float    *low, *high, *spare;
    uint16_t *bucket;    /* (g, g) */
    uint8_t  *bin;       /* (g, g) */
    void     *scratch;   /* of the FFT kernel */
    void     *extra;     /* of optional categories: lt_extra_bytes */
} lt_field_work;

/* Real FFTs of (rows, columns) doubles. */
lt_status lt_feature_fft_create(int64_t rows, int64_t columns, lt_kernel **out);

lt_status lt_field_plan_create(const lt_feature_set *s, int grid, lt_field_plan **out);
void      lt_field_plan_destroy(lt_field_plan *p); /* NULL is allowed */
lt_status lt_field_work_create(const lt_field_plan *p, lt_field_work *out);
void      lt_field_work_destroy(lt_field_work *w);

/* What later steps and other channels use of one channel of a state. */
typedef struct lt_channel {
    double mean, variance, std;          /* unbiased */
    double square, gradient_x2, gradient_y2; /* sums */
    float  lo, hi, median;
    lt_norm_sums norm[LT_FILTERS];
    double entropy[LT_FILTERS];
    double flow[2];                      /* of the gradient before with this field; from the second step on */
} lt_channel;

extern const double lt_field_quantile[LT_RECORD_QUANTILES];
extern const int    lt_channel_pair[LT_MAX_CHANNELS][2];

/* ---- From states to records, on the CPU --------------------------------------------------------------- */
/* One channel u (g, g): what the wanted categories need. before: the same channel one step ago, or NULL. mi_bin
   (g g) receives the bins of mutual information; w->power the spectrum. False: u is not finite. */
bool lt_field_measure(const lt_field_plan *p, lt_field_work *w, const float *u, const float *before, lt_channel_record *out, uint8_t *mi_bin);
/* Measures what involves several channels of a state; the records of single channels are in out already. */
void lt_state_measure(const lt_field_plan *p, const float *u, const uint8_t *mi_bin, lt_state_record *out);

/* ---- From records to values, on the host and for devices ----------------------------------------------- */
/* All per-step values of one channel. last: what was found one step ago, or NULL. */
void lt_field_values(const lt_field_plan *p, const lt_channel_record *r, const lt_channel *last, double *value, lt_channel *now);
/* Those of all channels together. */
void lt_channel_values(const lt_field_plan *p, const lt_state_record *r, const lt_channel *channel, double *value);

/* rank[k], ascending, 0-based: value[k] is that order statistic of u. */
void lt_order_statistics(const lt_field_plan *p, lt_field_work *w, const float *u, float lo, float hi, const int64_t *rank, int n_ranks,
                         float *value);
/* Ascending, in place. */
void lt_sort_numbers(double *x, int64_t n);
/* Where numpy's and torch's quantile lies between two order statistics. */
static inline double lt_quantile_rank(double q, int64_t n, int64_t *below)
{
    double at = q * (double)(n - 1);
    *below = (int64_t)at;
    if (*below > n - 2) *below = n > 1 ? n - 2 : 0;
    return at - (double)*below;
}

/* The half spectrum of u, |.|^2 of the orthonormal transform, in w->power; the transform itself
   (unnormalised) in w->spectrum. */
void lt_field_power(const lt_field_plan *p, lt_field_work *w, const float *u);
void lt_spectrum_measure(const lt_field_plan *p, lt_field_work *w, lt_spectrum_record *out); /* of w->power */
void lt_spectral_values(const lt_field_plan *p, const lt_spectrum_record *s, double *value);

/* Histograms: bins in float32 arithmetic, as Spinlock computes them, then -sum p log(p + eps). */
void   lt_field_bins(const lt_field_plan *p, const float *u, float lo, float hi, int n_bins, uint8_t *bin);
void   lt_count_bins(const uint8_t *bin, int64_t n, int n_bins, uint32_t *count);
double lt_bin_entropy(const uint32_t *count, int n_bins, int64_t n);

#endif
