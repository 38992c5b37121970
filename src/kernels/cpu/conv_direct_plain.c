/* Direct convolution loops for any processor. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 16
#define LT_TILE_CHANNELS 4
#define LT_TILE_WIDE 3
#define LT_TILE_TAPS 2
#define LT_LOOPS lt_direct_plain
#include "kernels/cpu/conv_direct_isa.h"
