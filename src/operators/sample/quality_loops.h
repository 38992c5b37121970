/* A loop over a row and a tile of rows, one per instruction set; all give the same bits.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_SAMPLE_QUALITY_LOOPS_H
#define LT_OPERATORS_SAMPLE_QUALITY_LOOPS_H

enum { LT_TILE_ROWS = 32 }; /* a few registers of any width; columns of a tile stand side by side */

/* sum[k] += prod_d min(bound[d], tile[offset[d] + k]). */
typedef void lt_kernel_adder(const double *bound, const int *offset, const double *tile, int p, double sum[LT_TILE_ROWS]);

lt_kernel_adder lt_add_kernels_plain;
#if LT_VEC_X86
lt_kernel_adder lt_add_kernels_avx2, lt_add_kernels_avx512;
#endif

#endif
