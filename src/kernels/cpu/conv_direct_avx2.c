/* Direct convolution loops for AVX2: 16 registers hold 4 x 3 results. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 32
#define LT_TILE_CHANNELS 4
#define LT_TILE_WIDE 3
#define LT_TILE_TAPS 2
#define LT_LOOPS lt_direct_avx2
#include "kernels/cpu/conv_direct_isa.h"
