/* Optional features by plain loops, written from their definitions (docs/features.md). SPDX-License-Identifier: BSD-3-Clause

   Fields are G x G, trajectories have T steps of C channels. Sums are taken in double, in the order of the definition. */
#ifndef LT_EXTRAS_ORACLE_H
#define LT_EXTRAS_ORACLE_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>

enum { G = 16, N = G * G, T = 60, C = 3 };

/* ---- Helpers ---- */
double mean_of(const double *x, int n);
double std_of(const double *x, int n);                 /* unbiased; 0 for a single number */
int    ascending(const void *a, const void *b);        /* of doubles, for qsort */
void   in_double(const float *u, double *x);
void   bins_of(const float *u, int n_bins, int *bin);  /* of equal width over the range of u */
void   spectrum_of(const float *u, double complex *s); /* G x G, orthonormal */

/* ---- Of one channel of one state; `out` in the order of the names in test_feature_extras.c ---- */
void oracle_histogram(const float *u, double *out);    /* 3 */
void oracle_wavelets(const float *u, double *out);     /* energy, mean, std of levels 1 to 4 */
void oracle_pyramid(const float *u, double *out);      /* energy, contrast of levels 1 to 4 */
void oracle_series_entropy(const float *u, double *out);      /* 2: sample, approximate */
void oracle_singular_entropy(const float *u, double *out);    /* 3 */
void oracle_coarse_entropy(const float *u, double *out);      /* 3: blocks of 2, 4, 8 */
void oracle_components(const float *u, double *out);   /* 4 */
void oracle_edges(const float *u, double *out);        /* 3 */
void oracle_grey_levels(const float *u, double *out);  /* 4 */
void oracle_correlation(const float *u, double *out);  /* 2 */
void oracle_structure_factor(const float *u, double *out);    /* 4 */
void oracle_fluctuation(const float *u, double *out);  /* 2 */
void oracle_clustering(const float *u, double *out);   /* 1 */
void oracle_shape(const float *u, double *out);        /* 10 */
void oracle_granules(const float *u, double *out);     /* 2 */

/* ---- Of one series: the spatial means of a channel ---- */
double oracle_pacf(const double *s, int lag);
void   oracle_recurrence(const double *s, double *out);    /* 4; of every second value */
double oracle_dimension(const double *s);                  /* of every second value */
double oracle_permutation_entropy(const double *s);
double oracle_transfer_entropy(const double *from, const double *to);
double oracle_granger(const double *from, const double *to);
void   oracle_drift(const double *y, double *out);         /* 4 */

#endif
