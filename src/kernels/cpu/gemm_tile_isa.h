/* Both element types of the packed product's loops for one instruction set. The including file defines
   LT_VECTOR_BYTES, LANES_F32 and LANES_F64 (as plain numbers), LT_TILE_ROWS and LT_TILE_VECTORS, LT_TILE_HEIGHTS
   and LT_TILE_WIDTHS (X for every height and width up to those) and LT_LOOPS, what the tables' names begin with.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/loops.h"

#include "base/pool.h"
#include "base/status.h"

/* sum += x * y with sum in the same register throughout: left to itself gcc 12 renames one of the sums
   in every round and copies it back, which costs a sixth of the speed. */
#if defined(__FMA__)
#define MULTIPLY_ADD(sum, x, y) __asm__("vfmadd231" FMA_TYPE " %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y))
#else
#define MULTIPLY_ADD(sum, x, y) ((sum) += (x) * (y))
#endif

enum { STRIDE = 8 }; /* steps of k between fetches of what comes next: more would take the place of loads */

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define LIST_2(f, x) f(0, x), f(1, x)
#define LIST_4(f, x) LIST_2(f, x), f(2, x), f(3, x)
#define LIST_8(f, x) LIST_4(f, x), f(4, x), f(5, x), f(6, x), f(7, x)
#define LIST_16(f, x) LIST_8(f, x), f(8, x), f(9, x), f(10, x), f(11, x), f(12, x), f(13, x), f(14, x), f(15, x)
#define INDICES CAT(LIST_, LANES)

#define T float
#define FMA_TYPE "ps"
#define VECTOR vector_f32
#define NAME(x) CAT(x, _f32)
#define LANES LANES_F32
#include "kernels/cpu/gemm_tile_body.h"
#undef T
#undef FMA_TYPE
#undef VECTOR
#undef NAME
#undef LANES

#define T double
#define FMA_TYPE "pd"
#define VECTOR vector_f64
#define NAME(x) CAT(x, _f64)
#define LANES LANES_F64
#include "kernels/cpu/gemm_tile_body.h"
