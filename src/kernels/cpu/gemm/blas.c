/* One matrix product on the calling thread: OpenBLAS's gemm or gemv, own loops when tiny.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/gemm/blas.h"

#include "kernels/cpu/openblas.h"

#include "base/status.h"

#include <string.h>

/* Below this a call to OpenBLAS costs more than the product itself. */
enum { TINY = 8 };

#define TINY_LOOPS(T)                                                               \
    do {                                                                            \
        const T *x = a, *y = b;                                                     \
        T *z = c;                                                                   \
        for (int64_t i = 0; i < g->m; i++) {                                        \
            T sum[TINY] = { 0 };                                                    \
            for (int64_t l = 0; l < g->k; l++)                                      \
                for (int64_t j = 0; j < g->n; j++)                                  \
                    sum[j] += x[i * row_a + l * col_a] * y[l * row_b + j * col_b];  \
            for (int64_t j = 0; j < g->n; j++)                                      \
                z[i * g->ldc + j] = g->beta != 0 ? (T)g->beta * z[i * g->ldc + j] + sum[j] : sum[j]; \
        }                                                                           \
    } while (0)

static void tiny(const lt_gemm *g, const void *a, const void *b, void *c)
{
    int64_t row_a = g->trans_a ? 1 : g->lda, col_a = g->trans_a ? g->lda : 1;
    int64_t row_b = g->trans_b ? 1 : g->ldb, col_b = g->trans_b ? g->ldb : 1;
    if (g->t == LT_F32) TINY_LOOPS(float);
    else TINY_LOOPS(double);
}

/* gemv leaves what beta = 0 means for NaN in y to the version: start from zeros instead. */
static void clear(const lt_gemm *g, void *c)
{
    size_t size = lt_dtype_size(g->t);
    if (g->beta != 0) return;
    for (int64_t i = 0; i < g->m; i++) memset((char *)c + (size_t)(i * g->ldc) * size, 0, (size_t)g->n * size);
}

/* y = op(M) x for the m x 1 case, or y' = op(b)' a' for the 1 x n case. */
static void vector_product(const lt_gemm *g, const void *a, const void *b, void *c)
{
    bool column = g->n == 1;
    const void *mat = column ? a : b, *x = column ? b : a;
    bool trans = column ? g->trans_a : !g->trans_b;
    int64_t out = column ? g->m : g->n, ld = column ? g->lda : g->ldb;
    int rows = (int)(trans ? g->k : out), columns = (int)(trans ? out : g->k);
    int step_x = (int)(column ? (g->trans_b ? 1 : g->ldb) : (g->trans_a ? g->lda : 1));
    int step_y = (int)(column ? g->ldc : 1);
    clear(g, c);
    double beta = g->beta != 0 ? g->beta : 1;
    int op = trans ? LT_BLAS_TRANSPOSED : LT_BLAS_PLAIN;
    if (g->t == LT_F32) LT_OPENBLAS_CALL(cblas_sgemv, LT_BLAS_ROWS, op, rows, columns, 1, mat, (int)ld, x, step_x, (float)beta, c, step_y);
    else LT_OPENBLAS_CALL(cblas_dgemv, LT_BLAS_ROWS, op, rows, columns, 1, mat, (int)ld, x, step_x, beta, c, step_y);
}

void lt_gemm_run(const lt_gemm *g, const void *a, const void *b, void *c)
{
    if (g->m == 0 || g->n == 0) return;
    if (g->k == 0) {
        clear(g, c);
        return;
    }
    if (g->m <= TINY && g->n <= TINY && g->k <= TINY) {
        tiny(g, a, b, c);
        return;
    }
    if (g->m == 1 || g->n == 1) {
        vector_product(g, a, b, c);
        return;
    }
    int ta = g->trans_a ? LT_BLAS_TRANSPOSED : LT_BLAS_PLAIN, tb = g->trans_b ? LT_BLAS_TRANSPOSED : LT_BLAS_PLAIN;
    int m = (int)g->m, n = (int)g->n, k = (int)g->k, lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
    if (g->t == LT_F32) LT_OPENBLAS_CALL(cblas_sgemm, LT_BLAS_ROWS, ta, tb, m, n, k, 1, a, lda, b, ldb, (float)g->beta, c, ldc);
    else LT_OPENBLAS_CALL(cblas_dgemm, LT_BLAS_ROWS, ta, tb, m, n, k, 1, a, lda, b, ldb, g->beta, c, ldc);
}
