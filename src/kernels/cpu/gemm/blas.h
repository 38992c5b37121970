/* Matrix products on the calling thread through OpenBLAS, which must be open (openblas.h): the pool shares out the work, by shape
   only, so that results do not depend on the number of threads. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_GEMM_BLAS_H
#define LT_KERNELS_CPU_GEMM_BLAS_H

#include "kernels/kernel_table.h"

/* One row-major product: c (m x n) = op(a) op(b) + beta c. lda, ldb, ldc are the row steps of the
   stored matrices. t is LT_F32 or LT_F64; m, n, k and steps must fit an int (lt_blas_fits). */
typedef struct lt_gemm {
    lt_dtype t;
    bool     trans_a, trans_b;
    int64_t  m, n, k, lda, ldb, ldc;
    double   beta;
} lt_gemm;

void lt_gemm_run(const lt_gemm *g, const void *a, const void *b, void *c);

static inline bool lt_blas_fits(int64_t n) { return n >= 0 && n <= INT32_MAX; }

#endif
