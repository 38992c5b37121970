/* The choice between the QP solver's inner loops. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/loops.h"

#include "kernels/fused.h"

const lt_qp_loops *lt_qp_loops_best(void)
{
#if LT_VEC_X86
    if (lt_isa_best() >= LT_ISA_AVX2) return &lt_qp_loops_avx2;
#endif
    return &lt_qp_loops_plain;
}
