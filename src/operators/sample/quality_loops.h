/* Loops over a row and a tile of rows, one set per instruction set; all give the same bits.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_SAMPLE_QUALITY_LOOPS_H
#define LT_OPERATORS_SAMPLE_QUALITY_LOOPS_H

enum { LT_TILE_ROWS = 32 }; /* a few registers of any width; columns of a tile stand side by side */

typedef struct lt_pair_loops {
    /* sum[k] += prod_d min(bound[d], tile[offset[d] + k]). */
    void (*add_kernels)(const double *bound, const int *offset, const double *tile, int p, double sum[LT_TILE_ROWS]);
    /* sum[k] = sum_d (point[d] - tile[offset[d] + k])^2. */
    void (*squares)(const double *point, const int *offset, const double *tile, int p, double sum[LT_TILE_ROWS]);
} lt_pair_loops;

extern const lt_pair_loops lt_pair_loops_plain;
#if LT_VEC_X86
extern const lt_pair_loops lt_pair_loops_avx2, lt_pair_loops_avx512;
#endif

#endif
