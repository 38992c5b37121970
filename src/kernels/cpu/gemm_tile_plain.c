/* The packed product's loops for any machine: vectors of 16 bytes, which all have in some form.
   SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 16
#define LANES_F32 4
#define LANES_F64 2
#define LT_TILE_ROWS 4
#define LT_TILE_VECTORS 2
#define LT_TILE_HEIGHTS(X) X(1) X(2) X(3) X(4)
#define LT_TILE_WIDTHS(X, rows) X(rows, 1) X(rows, 2)
#define LT_LOOPS lt_gemm_plain
#include "kernels/cpu/gemm_tile_isa.h"
