/* The packed product's loops for AVX2 and FMA: 6 x 2 vectors of results, two of b, one of a.
   SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 32
#define LANES_F32 8
#define LANES_F64 4
#define LT_TILE_ROWS 6
#define LT_TILE_VECTORS 2
#define LT_TILE_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define LT_TILE_WIDTHS(X, rows) X(rows, 1) X(rows, 2)
#define LT_LOOPS lt_gemm_avx2
#include "kernels/cpu/gemm_tile_isa.h"
