/* Direct convolution loops for AVX-512: 32 registers hold 6 x 4 or 8 x 3 results.
   SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 64
#define LT_TILE_CHANNELS 8
#define LT_TILE_WIDE 4
#define LT_TILE_TAPS 5
#define LT_LOOPS lt_direct_avx512
#include "kernels/cpu/conv_direct_isa.h"
