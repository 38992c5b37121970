/* Gram loops for any processor, and which table serves which. SPDX-License-Identifier: BSD-3-Clause */
#define LT_VECTOR_BYTES 16
#define LT_COLUMNS 2
#define PRODUCT_COLUMNS 2
#define LT_SHAPE_F32 "12x2"
#define LT_SHAPE_F64 "6x2"
#define LT_SHAPE_PRODUCT "6x2"
#define LT_SHAPE_TRANSFER "2x1"
#define LT_LOOPS lt_gram_plain
#include "qkernel/loops_isa.h"

const lt_gram_isa *lt_gram_isa_of(lt_isa isa)
{
    switch (isa) {
    case LT_ISA_PLAIN: return &lt_gram_plain;
#if LT_VEC_X86
    case LT_ISA_AVX2: return &lt_gram_avx2;
    case LT_ISA_AVX512: return &lt_gram_avx512;
#endif
    default: return NULL;
    }
}
