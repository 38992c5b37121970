/* Which table of Gram loops serves which processor. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/loops/loops.h"

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
