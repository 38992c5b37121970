/* Everything one instruction set needs, in both types: included once by each vec_<isa>.c, which
   says how wide a vector is and what libmvec calls its functions. Loops are plain C that the
   compiler vectorises; only libmvec calls name vectors. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/vec.h"
#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* d may be an operand, element for element: no dependence between iterations all the same. */
#if defined(__clang__)
#define VEC_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VEC_LOOP _Pragma("GCC ivdep")
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif

/* Makes streamed stores visible to whoever is told that the work is done. */
static void stream_fence(void)
{
#if VEC_BYTES > 16
    _mm_sfence();
#endif
}

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define FN(name) CAT(name, SUFFIX)

#define REAL double
#define REAL_BITS int64_t
#define REAL_IS_F64 1
#define SUFFIX _f64
#define LIBM(name) name
#define MVEC(shape, name) MVEC_F64(shape, name)
#include "kernels/cpu/vec_basic.h"
#include "kernels/cpu/vec_math.h"
#include "kernels/cpu/vec_convert.h"
#include "kernels/cpu/vec_reduce.h"
#include "kernels/cpu/vec_chain.h"
#define VEC_SET VEC_NAME(f64)
#include "kernels/cpu/vec_table.h"
#undef VEC_SET
#undef REAL
#undef REAL_BITS
#undef REAL_IS_F64
#undef SUFFIX
#undef LIBM
#undef MVEC

#define REAL float
#define REAL_BITS int32_t
#define REAL_IS_F64 0
#define SUFFIX _f32
#define LIBM(name) name##f
#define MVEC(shape, name) MVEC_F32(shape, name##f)
#include "kernels/cpu/vec_basic.h"
#include "kernels/cpu/vec_math.h"
#include "kernels/cpu/vec_convert.h"
#include "kernels/cpu/vec_reduce.h"
#include "kernels/cpu/vec_chain.h"
#include "kernels/cpu/vec_turn.h"
#define VEC_SET VEC_NAME(f32)
#include "kernels/cpu/vec_table.h"
