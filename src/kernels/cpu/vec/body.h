/* Everything one instruction set needs, in both types; lt_isa_sources compiles this once for
   each. Loops are plain C that the compiler vectorises; only libmvec calls name vectors. SPDX-License-Identifier: BSD-3-Clause */
#define VEC_BYTES LT_ISA_BYTES
#define VEC_PASTE(isa, type) lt_vec_##isa##_##type
#define VEC_OF(isa, type) VEC_PASTE(isa, type)
#define VEC_NAME(type) VEC_OF(LT_ISA, type)
/* What libmvec calls its functions for vectors of this width. */
#if LT_HAVE_LIBMVEC && LT_ISA_BYTES == 64
#define MVEC_F64(shape, name) _ZGVeN8##shape##_##name
#define MVEC_F32(shape, name) _ZGVeN16##shape##_##name
#elif LT_HAVE_LIBMVEC && LT_ISA_BYTES == 32
#define MVEC_F64(shape, name) _ZGVdN4##shape##_##name
#define MVEC_F32(shape, name) _ZGVdN8##shape##_##name
#endif

#include "kernels/cpu/vec/vec.h"
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

/* Makes streamed stores visible to threads that learn later that the work is done. */
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
#include "kernels/cpu/vec/basic.h"
#include "kernels/cpu/vec/math.h"
#include "kernels/cpu/vec/convert.h"
#include "kernels/cpu/vec/reduce.h"
#include "kernels/cpu/vec/chain.h"
#define VEC_SET VEC_NAME(f64)
#include "kernels/cpu/vec/table.h"
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
#include "kernels/cpu/vec/basic.h"
#include "kernels/cpu/vec/math.h"
#include "kernels/cpu/vec/convert.h"
#include "kernels/cpu/vec/reduce.h"
#include "kernels/cpu/vec/chain.h"
#include "kernels/cpu/vec/turn.h"
#define VEC_SET VEC_NAME(f32)
#include "kernels/cpu/vec/table.h"
