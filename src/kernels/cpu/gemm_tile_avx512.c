/* The packed product's loops for AVX-512: 9 x 3 vectors of results, three of b, one of a.
   SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 64
#define LANES_F32 16
#define LANES_F64 8
#define LT_TILE_ROWS 9
#define LT_TILE_VECTORS 3
#define LT_TILE_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define LT_TILE_WIDTHS(X, rows) X(rows, 1) X(rows, 2) X(rows, 3)
#define LT_LOOPS lt_gemm_avx512
#include "kernels/cpu/gemm_tile_isa.h"
