/* The inner loops of the QP solver, compiled once per instruction set. Matrices are column major.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_QP_LOOPS_H
#define LT_OPTIMIZE_QP_LOOPS_H

#include <stddef.h>

typedef struct lt_qp_loops {
    double (*dot)(int n, const double *a, const double *b);
    /* out += sum over k of coef[k] * column[k] of q, rows 0..rows-1. */
    void (*add_columns)(int rows, int count, const int *column, const double *coef, const double *q, size_t stride, double *out);
    /* Solve L x = b and L' x = b in place; L lower triangular n x n, inverse = reciprocal diagonal. */
    void (*forward)(int n, const double *l, size_t stride, const double *inverse, double *b);
    void (*backward)(int n, const double *l, size_t stride, const double *inverse, double *b);
    /* One rotation of a removal: to[i] = c from[i] + s w[i], w[i] = c w[i] - s from[i]. */
    void (*rotate)(int n, double c, double s, const double *from, double *to, double *w);
    /* Lower triangle of s (count x count) -= x'x, x rows x count. */
    void (*subtract_gram)(int rows, int count, const double *x, size_t x_stride, double *s, size_t s_stride);
    /* Lower triangle of a (n x n) becomes its Cholesky factor; 0, or the 1-based pivot that failed. */
    int (*cholesky)(int n, double *a, size_t stride, double *inverse);
} lt_qp_loops;

extern const lt_qp_loops lt_qp_loops_plain;
extern const lt_qp_loops lt_qp_loops_avx2; /* only where compiled in: lt_qp_loops_best knows */

const lt_qp_loops *lt_qp_loops_best(void);

#endif
