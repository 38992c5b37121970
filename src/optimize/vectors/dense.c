/* Which dense loops run here. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/dense.h"

#include "kernels/cpu/vec/vec.h"

#include <pthread.h>

static const lt_dense *best = &lt_dense_plain;
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

static void choose(void)
{
#if LT_VEC_X86
    switch (lt_isa_best()) {
    case LT_ISA_AVX512: best = &lt_dense_avx512; break;
    case LT_ISA_AVX2: best = &lt_dense_avx2; break;
    default: break;
    }
#endif
}

const lt_dense *lt_dense_best(void)
{
    pthread_once(&chosen, choose);
    return best;
}
