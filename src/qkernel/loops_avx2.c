/* Gram loops for AVX2: 12 of 16 registers hold results. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 32
#define LT_COLUMNS 4
#define PRODUCT_COLUMNS 2
#define LT_SHAPE_F32 "24x4"
#define LT_SHAPE_F64 "12x4"
#define LT_SHAPE_PRODUCT "12x2"
#define LT_SHAPE_TRANSFER "4x1"
#define LT_LOOPS lt_gram_avx2
#include "qkernel/loops_isa.h"
