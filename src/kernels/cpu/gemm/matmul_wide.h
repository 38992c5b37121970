/* Matrix products of half types are computed in f32: their operands widened into scratch, the result narrowed.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_GEMM_MATMUL_WIDE_H
#define LT_KERNELS_CPU_GEMM_MATMUL_WIDE_H

#include "kernels/host_kernel.h"

typedef struct lt_matmul_wide {
    lt_dtype t;                /* what is computed in: F32 or F64 */
    bool     half;             /* the tensors have another type: the rest counts */
    size_t   a_at, b_at, c_at; /* in scratch */
} lt_matmul_wide;

/* Fills *w for p and returns how many bytes of scratch it takes from the beginning; 0 without half types. */
size_t lt_matmul_wide_place(lt_matmul_wide *w, const lt_problem_key *p);
/* Where a, b and c are while computing: arg[0..2], or scratch after widening the inputs. */
lt_status lt_matmul_wide_begin(const lt_matmul_wide *w, const lt_problem_key *p, lt_pool *pool, void *const *arg, char *scratch, char *abc[3]);
/* Narrows the result into arg[2], if it is not there already. */
lt_status lt_matmul_wide_end(const lt_matmul_wide *w, const lt_problem_key *p, lt_pool *pool, void *const *arg, const char *c);

#endif
