/* Which feature loops run here. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/loops.h"

#include "kernels/fused.h"

const lt_feature_loops *lt_feature_loops_best(void)
{
#if LT_VEC_X86
    lt_isa isa = lt_isa_best();
    if (isa == LT_ISA_AVX512) return &lt_feature_loops_avx512;
    if (isa == LT_ISA_AVX2) return &lt_feature_loops_avx2;
#endif
    return &lt_feature_loops_plain;
}
