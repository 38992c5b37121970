/* All loops for one instruction set (lt_isa_sources compiles this once for each): as many columns as its registers allow,
   LT_COLUMNS beside three row vectors, PRODUCT_COLUMNS beside nine. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES LT_ISA_BYTES
#define LT_LOOPS LT_ISA_NAME(lt_gram)
#if LT_ISA_BYTES == 64   /* 24 of 32 registers hold results */
#define LT_COLUMNS 8
#define PRODUCT_COLUMNS 4
#define LT_SHAPE_F32 "48x8"
#define LT_SHAPE_F64 "24x8"
#define LT_SHAPE_PRODUCT "24x4"
#define LT_SHAPE_TRANSFER "8x1"
#elif LT_ISA_BYTES == 32 /* 12 of 16 registers hold results */
#define LT_COLUMNS 4
#define PRODUCT_COLUMNS 2
#define LT_SHAPE_F32 "24x4"
#define LT_SHAPE_F64 "12x4"
#define LT_SHAPE_PRODUCT "12x2"
#define LT_SHAPE_TRANSFER "4x1"
#else
#define LT_COLUMNS 2
#define PRODUCT_COLUMNS 2
#define LT_SHAPE_F32 "12x2"
#define LT_SHAPE_F64 "6x2"
#define LT_SHAPE_PRODUCT "6x2"
#define LT_SHAPE_TRANSFER "2x1"
#endif

#include "qkernel/loops/loops.h"

#include <math.h>
#include <string.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define AHEAD 16 /* amplitudes between prefetch and use */
#define SIZED(bytes) __attribute__((vector_size(bytes), may_alias))

/* Stores of a whole vector, which may go past the caches. */
#if LT_VECTOR_BYTES == 64
#include <immintrin.h>
#define PUT(p, v, streaming) \
    ((streaming) ? _mm512_stream_si512((__m512i *)(void *)(p), (__m512i)(v)) : (void)(*(p) = (v)))
#define FENCE() _mm_sfence()
#elif LT_VECTOR_BYTES == 32
#include <immintrin.h>
#define PUT(p, v, streaming) \
    ((streaming) ? _mm256_stream_si256((__m256i *)(void *)(p), (__m256i)(v)) : (void)(*(p) = (v)))
#define FENCE() _mm_sfence()
#else
#define PUT(p, v, streaming) ((void)(streaming), (void)(*(p) = (v)))
#define FENCE() ((void)0)
#endif

/* ---- vectors of rows ---- */
#define LANE(v, r) ((v)[r])
#define WIDEN(v) __builtin_convertvector((v), VD)
#define ROUND(v) __builtin_convertvector((v), ROUNDED)
#define MV 3
#define NR LT_COLUMNS
#define SPREAD(x) ((x) - (V){ 0 }) /* to all lanes; adding zero would be an instruction, since it changes the sign of -0 */

typedef float vector_f32 SIZED(LT_VECTOR_BYTES);
typedef double wide_f32 __attribute__((vector_size(2 * LT_VECTOR_BYTES), may_alias, aligned(LT_VECTOR_BYTES)));
typedef double vector_f64 SIZED(LT_VECTOR_BYTES);
typedef float half_f32 SIZED(LT_VECTOR_BYTES / 2); /* as many lanes as vector_f64 */

#define D vector_f64

#define T float
#define V vector_f32
#define VD wide_f32
#define ROUNDED half_f32
#define LANES (LT_VECTOR_BYTES / 4)
#define FN(name) name##_f32
#include "qkernel/loops/state_body.h"
#include "qkernel/loops/bond_body.h"
#include "qkernel/loops/overlap_body.h"
#undef T
#undef V
#undef VD
#undef ROUNDED
#undef LANES
#undef FN

#define T double
#define V vector_f64
#define VD vector_f64
#define ROUNDED vector_f64
#define LANES (LT_VECTOR_BYTES / 8)
#define FN(name) name##_f64
#include "qkernel/loops/state_body.h"
#include "qkernel/loops/bond_body.h"
#include "qkernel/loops/overlap_body.h"
#include "qkernel/loops/turn_body.h"
#include "qkernel/loops/product_body.h"
#include "qkernel/loops/sincos_body.h"
#include "qkernel/loops/transfer_body.h"
#undef T
#undef V
#undef VD
#undef ROUNDED
#undef LANES
#undef FN
#undef MV
#undef NR
#undef LANE
#undef WIDEN
#undef D
#undef ROUND

/* ---- one row at a time ---- */
#undef PUT
#define PUT(p, v, streaming) ((void)(streaming), (void)(*(p) = (v)))
#define LANE(v, r) (v)
#define WIDEN(v) ((double)(v))
#define D double
#define ROUNDED V
#define ROUND(v) ((V)(v))
#define MV 2
#define NR 1
#define LANES 1
#define VD double

#define T float
#define V float
#define FN(name) name##_narrow_f32
#include "qkernel/loops/state_body.h"
#include "qkernel/loops/bond_body.h"
#include "qkernel/loops/overlap_body.h"
#undef T
#undef V
#undef FN

#define T double
#define V double
#define FN(name) name##_narrow_f64
#include "qkernel/loops/state_body.h"
#include "qkernel/loops/bond_body.h"
#include "qkernel/loops/overlap_body.h"

#define ROW(lanes_, panel_, columns_, shape_, t)                                             \
    { lanes_, panel_, columns_, shape_, fuse##t, sincos_f64, product_state##t, gates##t, permute##t, bond_tables##t, bond_sums##t, pack##t, unpack##t, overlap##t }
const lt_gram_isa LT_LOOPS = {
    .f32 = ROW(LT_VECTOR_BYTES / 4, 3 * (LT_VECTOR_BYTES / 4), LT_COLUMNS, LT_SHAPE_F32, _f32),
    .f64 = ROW(LT_VECTOR_BYTES / 8, 3 * (LT_VECTOR_BYTES / 8), LT_COLUMNS, LT_SHAPE_F64, _f64),
    .narrow_f32 = ROW(1, 2, 1, "2x1", _narrow_f32),
    .narrow_f64 = ROW(1, 2, 1, "2x1", _narrow_f64),
    .closed = { LT_VECTOR_BYTES / 8, 3 * (LT_VECTOR_BYTES / 8), LT_SHAPE_PRODUCT, LT_SHAPE_TRANSFER, product_f64, sincos_f64, transfer_f64 },
    .lanes = LT_VECTOR_BYTES / 8,
    .turn = turn_f64,
};
