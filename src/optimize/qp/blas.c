/* The two places where large QPs spend their time, through OpenBLAS where there is one.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/internal.h"

#if LT_HAVE_OPENBLAS
#include "kernels/cpu/openblas.h"

enum { WORTH_A_CALL = 48 }; /* rows; below, calling the library costs more than it gains */

static bool call_library(int n) { return n >= WORTH_A_CALL && !lt_openblas_open(); }

static void panel_solve_library(const lt_qp *w, int count, double *x, size_t x_stride, double *s, size_t s_stride)
{
    LT_OPENBLAS_CALL(cblas_dtrsm, LT_BLAS_COLUMNS, LT_BLAS_LEFT, LT_BLAS_LOWER, LT_BLAS_PLAIN, LT_BLAS_NOT_UNIT, w->n, count, 1, w->l, w->max_m, x, (int)x_stride);
    LT_OPENBLAS_CALL(cblas_dsyrk, LT_BLAS_COLUMNS, LT_BLAS_LOWER, LT_BLAS_TRANSPOSED, count, w->n, -1, x, (int)x_stride, 1, s, (int)s_stride);
}

static int cholesky_library(int n, double *a, size_t stride, double *inverse)
{
    int info, step = (int)stride;
    LT_OPENBLAS_CALL(dpotrf_, "L", &n, a, &step, &info, (size_t)1);
    if (info) return info;
    for (int i = 0; i < n; i++) inverse[i] = 1 / a[(size_t)i * stride + (size_t)i];
    return 0;
}
#else
static bool call_library(int n) { (void)n; return false; }
static void panel_solve_library(const lt_qp *w, int count, double *x, size_t x_stride, double *s, size_t s_stride)
{
    (void)w, (void)count, (void)x, (void)x_stride, (void)s, (void)s_stride;
}
static int cholesky_library(int n, double *a, size_t stride, double *inverse)
{
    (void)n, (void)a, (void)stride, (void)inverse;
    return 0;
}
#endif

void lt_qp_panel_solve(const lt_qp *w, int count, double *x, size_t x_stride, double *s, size_t s_stride)
{
    if (count > 8 && call_library(w->n)) {
        panel_solve_library(w, count, x, x_stride, s, s_stride);
        return;
    }
    for (int k = 0; k < count; k++) w->loops->forward(w->n, w->l, (size_t)w->max_m, w->inverse, x + (size_t)k * x_stride);
    w->loops->subtract_gram(w->n, count, x, x_stride, s, s_stride);
}

int lt_qp_cholesky(const lt_qp *w, int n, double *a, size_t stride, double *inverse)
{
    return call_library(n) ? cholesky_library(n, a, stride, inverse) : w->loops->cholesky(n, a, stride, inverse);
}
