/* Both element types of the direct convolution loops for one instruction set. The including file
   defines LT_VECTOR_BYTES, the tile sizes its registers allow, and LT_LOOPS, the table's name.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv_direct.h"
#include "kernels/cpu/loops.h"

#include <stdbool.h>

#define T float
#define VECTOR vector_f32
#define NAME(x) x##_f32
#include "kernels/cpu/conv_direct_body.h"
#undef T
#undef VECTOR
#undef NAME

#define T double
#define VECTOR vector_f64
#define NAME(x) x##_f64
#include "kernels/cpu/conv_direct_body.h"
#undef T
#undef VECTOR
#undef NAME

const lt_direct_loops LT_LOOPS = { LT_VECTOR_BYTES / 4, LT_VECTOR_BYTES / 8, rows_f32, rows_f64, weights_f32, weights_f64 };
