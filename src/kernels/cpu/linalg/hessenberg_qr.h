/* Eigenvalues of real Hessenberg matrices of moderate size. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_LINALG_HESSENBERG_QR_H
#define LT_KERNELS_CPU_LINALG_HESSENBERG_QR_H

#include <stdbool.h>
#include <stdint.h>

/* Faster than LAPACK's up to here: its loops know two numbers a vector, and its blocked iteration does not
   pay yet (decision 46). */
#define LT_HESSENBERG_QR_MAX 400

/* The eigenvalues of h (n x n, upper Hessenberg, column major, zero below the first subdiagonal, destroyed).
   False when the iteration does not converge, which no matrix met so far has managed. */
bool lt_hessenberg_qr(int64_t n, double *h, double *re, double *im);

/* I - t v v' with v = (1, v2, v3): t1 = t, t2 = t v2, t3 = t v3. */
typedef struct lt_reflector { double v2, v3, t1, t2, t3; } lt_reflector;

/* The loops that take the time, once per instruction set: `count` columns of three rows, `count` rows of three
   columns; and both with a second reflector one row or column further on. */
typedef struct lt_hessenberg_loops {
    void (*rows)(int64_t count, double *h, int64_t step, const lt_reflector *r);
    void (*columns)(int64_t count, double *h, int64_t step, const lt_reflector *r);
    void (*rows_twice)(int64_t count, double *h, int64_t step, const lt_reflector r[2]);
    void (*columns_twice)(int64_t count, double *h, int64_t step, const lt_reflector r[2]);
} lt_hessenberg_loops;

extern const lt_hessenberg_loops lt_hessenberg_plain, lt_hessenberg_avx2, lt_hessenberg_avx512;

#endif
