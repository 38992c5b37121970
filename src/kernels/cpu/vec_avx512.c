/* The vector functions for AVX-512 (F, DQ, VL, BW). SPDX-License-Identifier: BSD-3-Clause */
#define VEC_BYTES 64
#define VEC_NAME(type) lt_vec_avx512_##type
#if LT_HAVE_LIBMVEC
#define MVEC_F64(shape, name) _ZGVeN8##shape##_##name
#define MVEC_F32(shape, name) _ZGVeN16##shape##_##name
#endif
#include "kernels/cpu/vec_body.h"
