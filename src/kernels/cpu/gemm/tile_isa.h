/* Both element types of the packed product's loops for one instruction set (lt_isa_sources compiles it once
   for each). LT_TILE_HEIGHTS and LT_TILE_WIDTHS say X for every height and width up to LT_TILE_ROWS and LT_TILE_VECTORS.
   SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES LT_ISA_BYTES
#define LT_LOOPS LT_ISA_NAME(lt_gemm)
#if LT_ISA_BYTES == 64   /* 9 x 3 vectors of results, three of b, one of a */
#define LANES_F32 16
#define LANES_F64 8
#define LT_TILE_ROWS 9
#define LT_TILE_VECTORS 3
#define LT_TILE_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define LT_TILE_WIDTHS(X, rows) X(rows, 1) X(rows, 2) X(rows, 3)
#elif LT_ISA_BYTES == 32 /* 6 x 2 vectors of results, two of b, one of a */
#define LANES_F32 8
#define LANES_F64 4
#define LT_TILE_ROWS 6
#define LT_TILE_VECTORS 2
#define LT_TILE_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define LT_TILE_WIDTHS(X, rows) X(rows, 1) X(rows, 2)
#else                    /* vectors of 16 bytes, which all processors have in some form */
#define LANES_F32 4
#define LANES_F64 2
#define LT_TILE_ROWS 4
#define LT_TILE_VECTORS 2
#define LT_TILE_HEIGHTS(X) X(1) X(2) X(3) X(4)
#define LT_TILE_WIDTHS(X, rows) X(rows, 1) X(rows, 2)
#endif

#include "kernels/cpu/gemm/tile.h"
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
#include "kernels/cpu/gemm/tile_body.h"
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
#include "kernels/cpu/gemm/tile_body.h"
