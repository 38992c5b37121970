/* Both element types of the direct convolution loops for one instruction set (lt_isa_sources compiles
   it once for each): tiles of results as its registers allow. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES LT_ISA_BYTES
#if LT_ISA_BYTES == 64 /* 32 registers hold 6 x 4 or 8 x 3 results */
#define LT_TILE_CHANNELS 8
#define LT_TILE_WIDE 4
#define LT_TILE_TAPS 5
#else                  /* 16 registers hold 4 x 3 */
#define LT_TILE_CHANNELS 4
#define LT_TILE_WIDE 3
#define LT_TILE_TAPS 2
#endif

#include "kernels/cpu/conv/direct/direct.h"
#include "kernels/cpu/loops.h"

#include <stdbool.h>

#define T float
#define VECTOR vector_f32
#define NAME(x) x##_f32
#include "kernels/cpu/conv/direct/body.h"
#undef T
#undef VECTOR
#undef NAME

#define T double
#define VECTOR vector_f64
#define NAME(x) x##_f64
#include "kernels/cpu/conv/direct/body.h"
#undef T
#undef VECTOR
#undef NAME

const lt_direct_loops LT_ISA_NAME(lt_direct) = { LT_VECTOR_BYTES / 4, LT_VECTOR_BYTES / 8, rows_f32, rows_f64, weights_f32, weights_f64 };
