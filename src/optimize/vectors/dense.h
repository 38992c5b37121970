/* Dense loops that carry the solver's time, compiled once per instruction set and chosen by probe.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_VECTORS_DENSE_H
#define LT_OPTIMIZE_VECTORS_DENSE_H

#include <stdint.h>

#define LT_DENSE_BLOCK 8 /* right-hand sides of one symmetric_apply */
#define LT_DENSE_ROW 64  /* numbers in a row of combine */

typedef struct lt_dense {
    double (*dot)(int64_t n, const double *a, const double *b);
    void   (*axpy)(int64_t n, double c, const double *a, double *y);
    /* What rows first..last-1 of a packed lower triangle add to H b[j], for k <= LT_DENSE_BLOCK vectors:
       those rows of H, and the columns that mirror them. Touches out[j][0..last-1] only. */
    void   (*symmetric_rows)(const double *lower, int64_t first, int64_t last, int64_t k, const double *const *b,
                             double *const *out);
    /* Rows first..last-1 of lower += s w' + w s'. */
    void   (*rank2_rows)(const double *s, const double *w, int64_t first, int64_t last, double *lower);
    /* sum = the rows named, of LT_DENSE_ROW numbers each, times their values. */
    void   (*combine)(int64_t count, const double *value, const int32_t *row, const double *rows, double *sum);
} lt_dense;

const lt_dense *lt_dense_best(void);

extern const lt_dense lt_dense_plain;
extern const lt_dense lt_dense_avx2;
extern const lt_dense lt_dense_avx512;

#endif
