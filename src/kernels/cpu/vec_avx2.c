/* The vector functions for AVX2 with FMA and F16C. SPDX-License-Identifier: BSD-3-Clause */
#define VEC_BYTES 32
#define VEC_NAME(type) lt_vec_avx2_##type
#if LT_HAVE_LIBMVEC
#define MVEC_F64(shape, name) _ZGVdN4##shape##_##name
#define MVEC_F32(shape, name) _ZGVdN8##shape##_##name
#endif
#include "kernels/cpu/vec_body.h"
