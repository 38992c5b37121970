/* Both element types of the direct convolution loops for one instruction set. The including file
   defines LT_VECTOR_BYTES, the tile sizes its registers allow, and LT_LOOPS, the table's name.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv_direct.h"

#include <stdbool.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#if defined(__AVX512F__)
#define KEEP_IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define KEEP_IN_REGISTER(v) __asm__("" : "+x"(v))
#else
#define KEEP_IN_REGISTER(v) ((void)0)
#endif

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
