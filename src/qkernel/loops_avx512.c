/* Gram loops for AVX-512: 24 of 32 registers hold results. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 64
#define LT_COLUMNS 8
#define PRODUCT_COLUMNS 4
#define LT_SHAPE_F32 "48x8"
#define LT_SHAPE_F64 "24x8"
#define LT_SHAPE_PRODUCT "24x4"
#define LT_SHAPE_TRANSFER "8x1"
#define LT_LOOPS lt_gram_avx512
#include "qkernel/loops_isa.h"
