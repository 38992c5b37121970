/* Cases: products, factorisations, eigenvalues and singular values. Where a result is unique only
   up to signs or order, the case builds what it must satisfy. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- products ---- */

static lt_node build_matmul(lt_graph *g, const lt_node *x) { return lt_matmul(g, x[0], x[1]); }

/* Operands as stacks of matrices: rank 1 becomes a row or a column. */
static lt_shape as_matrix(const lt_shape *s, bool left)
{
    if (s->rank >= 2) return *s;
    return left ? lt_shape2(1, s->dim[0]) : lt_shape2(s->dim[0], 1);
}

static void oracle_matmul(case_run *c)
{
    lt_shape a = as_matrix(&c->in_shape[0], true), b = as_matrix(&c->in_shape[1], false);
    int64_t m = a.dim[a.rank - 2], k = a.dim[a.rank - 1], n = b.dim[b.rank - 1], batch = m * n > 0 ? c->n_out / (m * n) : 0;
    lt_shape stack = { .rank = (a.rank > b.rank ? a.rank : b.rank) - 2 }, sa = { .rank = a.rank - 2 }, sb = { .rank = b.rank - 2 };
    for (int i = 0; i < stack.rank; i++) stack.dim[i] = c->out_shape.dim[i];
    for (int i = 0; i < sa.rank; i++) sa.dim[i] = a.dim[i];
    for (int i = 0; i < sb.rank; i++) sb.dim[i] = b.dim[i];
    for (int64_t t = 0; t < batch; t++) {
        const double *p = c->x[0] + case_broadcast_at(&stack, t, &sa) * m * k, *q = c->x[1] + case_broadcast_at(&stack, t, &sb) * k * n;
        for (int64_t i = 0; i < m * n; i++) {
            long double sum = 0, size = 0;
            for (int64_t j = 0; j < k; j++) {
                long double v = (long double)p[i / n * k + j] * q[j * n + i % n];
                sum += v;
                size += fabsl(v);
            }
            c->want[t * m * n + i] = (double)sum;
            c->size[t * m * n + i] = (double)size;
        }
    }
}

static lt_node build_matmul_transposed(lt_graph *g, const lt_node *x) { return lt_matmul(g, lt_transpose(g, x[0]), lt_transpose(g, x[1])); }
static void oracle_matmul_transposed(case_run *c)
{
    int64_t k = c->in_shape[0].dim[0], m = c->in_shape[0].dim[1], n = c->in_shape[1].dim[0];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < k; l++) {
                double v = c->x[0][l * m + i] * c->x[1][j * k + l];
                sum += v;
                size += fabs(v);
            }
            c->want[i * n + j] = sum;
            c->size[i * n + j] = size;
        }
}

static lt_node build_gram(lt_graph *g, const lt_node *x) { return lt_matmul(g, lt_transpose(g, x[0]), x[0]); }
static void oracle_gram(case_run *c)
{
    int64_t m = c->in_shape[0].dim[0], n = c->in_shape[0].dim[1];
    for (int64_t i = 0; i < n * n; i++) {
        c->want[i] = c->size[i] = 0;
        for (int64_t l = 0; l < m; l++) {
            double v = c->x[0][l * n + i / n] * c->x[0][l * n + i % n];
            c->want[i] += v;
            c->size[i] += fabs(v);
        }
    }
}

static lt_node build_dot(lt_graph *g, const lt_node *x) { return lt_dot(g, x[0], x[1]); }
static lt_node build_outer(lt_graph *g, const lt_node *x) { return lt_outer(g, x[0], x[1]); }
static void oracle_outer(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) c->size[i] = fabs(c->want[i] = c->x[0][i / c->n_in[1]] * c->x[1][i % c->n_in[1]]);
}
static lt_node build_trace(lt_graph *g, const lt_node *x) { return lt_trace(g, x[0]); }
static void oracle_trace(case_run *c)
{
    c->want[0] = c->size[0] = 0;
    for (int64_t i = 0; i < c->in_shape[0].dim[0] && i < c->in_shape[0].dim[1]; i++) {
        c->want[0] += c->x[0][i * (c->in_shape[0].dim[1] + 1)];
        c->size[0] += fabs(c->x[0][i * (c->in_shape[0].dim[1] + 1)]);
    }
}
static lt_node build_quadratic(lt_graph *g, const lt_node *x) { return lt_matmul(g, x[1], lt_matmul(g, x[0], x[1])); }
static void oracle_quadratic(case_run *c)
{
    int64_t n = c->n_in[1];
    c->want[0] = c->size[0] = 0;
    for (int64_t i = 0; i < n * n; i++) {
        double v = c->x[0][i] * c->x[1][i / n] * c->x[1][i % n];
        c->want[0] += v;
        c->size[0] += fabs(v);
    }
}

/* ---- systems ---- */

static double largest(const double *x, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
    return m;
}

/* x[0] y = b by elimination; errors are relative to the largest element of the answer, times the
   condition number, which is small by construction and part of the row's roundings. */
static long double solved(case_run *c, const double *b, int m)
{
    int n = (int)c->in_shape[0].dim[0];
    long double *a = malloc((size_t)(n * n + 1) * sizeof *a), *y = malloc((size_t)(n * m + 1) * sizeof *y);
    for (int i = 0; i < n * n; i++) a[i] = c->x[0][i];
    for (int i = 0; i < n * m; i++) y[i] = b ? b[i] : i / n == i % n;
    long double det = case_eliminate(a, y, n, m);
    for (int i = 0; i < n * m && c->n_out == n * m; i++) c->want[i] = (double)y[i];
    for (int64_t i = 0; i < c->n_out; i++) c->size[i] = largest(c->want, c->n_out);
    free(a);
    free(y);
    return det;
}

static lt_node build_solve(lt_graph *g, const lt_node *x) { return lt_linsolve(g, x[0], x[1]); }
static void oracle_solve(case_run *c) { solved(c, c->x[1], (int)(c->n_in[1] / c->in_shape[0].dim[0])); }
static lt_node build_inv(lt_graph *g, const lt_node *x) { return lt_inv(g, x[0]); }
static void oracle_inv(case_run *c) { solved(c, NULL, (int)c->in_shape[0].dim[0]); }
static lt_node build_det(lt_graph *g, const lt_node *x) { return lt_det(g, x[0]); }
static void oracle_det(case_run *c)
{
    long double d = solved(c, NULL, (int)c->in_shape[0].dim[0]);
    c->want[0] = (double)d;
    c->size[0] = fabs(c->want[0]);
}
static lt_node build_logdet(lt_graph *g, const lt_node *x) { return lt_logdet(g, x[0]); }
static lt_node build_logabsdet(lt_graph *g, const lt_node *x) { return lt_logabsdet(g, lt_neg(g, x[0])); }
static void oracle_logdet(case_run *c)
{
    long double d = solved(c, NULL, (int)c->in_shape[0].dim[0]);
    c->want[0] = (double)logl(fabsl(d));
    c->size[0] = 1 + fabs(c->want[0]);
}
static lt_node build_cholesky(lt_graph *g, const lt_node *x) { return lt_cholesky(g, x[0]); }
static void oracle_cholesky(case_run *c)
{
    int64_t n = c->in_shape[0].dim[0];
    memset(c->want, 0, (size_t)(n * n) * sizeof *c->want);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = c->x[0][i * n + j];
            for (int64_t k = 0; k < j; k++) s -= c->want[i * n + k] * c->want[j * n + k];
            c->want[i * n + j] = i == j ? sqrt(s) : s / c->want[j * n + j];
        }
    for (int64_t i = 0; i < n * n; i++) c->size[i] = largest(c->want, n * n);
}
/* The factor of a symmetric matrix made from the input, so that differences by single elements make sense. */
static lt_node build_cholesky_symmetric(lt_graph *g, const lt_node *x)
{
    return lt_cholesky(g, lt_scale(g, lt_add(g, x[0], lt_transpose(g, x[0])), 0.5));
}

/* ---- eigenvalues and singular values ---- */

static lt_node symmetric(lt_graph *g, lt_node m) { return lt_scale(g, lt_add(g, m, lt_transpose(g, m)), 0.5); }

/* Symmetric: the shifted matrix is positive, so its singular values are its eigenvalues. */
static void oracle_eigvalsh(case_run *c)
{
    int n = (int)c->in_shape[0].dim[0];
    double shift = 1 + n * largest(c->x[0], n * n), *a = malloc((size_t)(n * n + 1) * sizeof *a);
    for (int i = 0; i < n * n; i++) a[i] = (c->x[0][i] + c->x[0][i % n * n + i / n]) / 2 + (i / n == i % n ? shift : 0);
    case_singular_values(a, n, n, c->want);
    for (int i = 0; i < n / 2; i++) { double t = c->want[i]; c->want[i] = c->want[n - 1 - i]; c->want[n - 1 - i] = t; }
    for (int i = 0; i < n; i++) { c->want[i] -= shift; c->size[i] = shift; }
    free(a);
}
static lt_node build_eigvalsh(lt_graph *g, const lt_node *x) { return lt_eigvalsh(g, symmetric(g, x[0])); }

/* V diag(w) V' and V V', which must be the matrix and the identity. */
static lt_node build_eigh(lt_graph *g, const lt_node *x)
{
    lt_node v, w = lt_eigh(g, symmetric(g, x[0]), &v), vt = lt_transpose(g, v);
    return lt_stack(g, (lt_node[]){ lt_matmul(g, lt_mul(g, v, w), vt), lt_matmul(g, v, vt) }, 2, 0);
}
static void oracle_eigh(case_run *c)
{
    int64_t n = c->in_shape[0].dim[0];
    for (int64_t i = 0; i < n * n; i++) {
        c->want[i] = (c->x[0][i] + c->x[0][i % n * n + i / n]) / 2;
        c->want[n * n + i] = i / n == i % n;
        c->size[i] = (double)n * largest(c->x[0], n * n);
        c->size[n * n + i] = 1;
    }
}

static lt_node build_svdvals(lt_graph *g, const lt_node *x) { return lt_svdvals(g, x[0]); }
static void oracle_svdvals(case_run *c)
{
    int m = (int)c->in_shape[0].dim[0], n = (int)c->in_shape[0].dim[1];
    case_singular_values(c->x[0], m, n, c->want);
    for (int64_t i = 0; i < c->n_out; i++) c->size[i] = c->want[0];
}
static lt_node build_svd(lt_graph *g, const lt_node *x)
{
    lt_node u, vt, s = lt_svd(g, x[0], &u, &vt);
    return lt_matmul(g, lt_mul(g, u, s), vt);
}
static void oracle_svd(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) {
        c->want[i] = c->x[0][i];
        c->size[i] = largest(c->x[0], c->n_in[0]) * sqrt((double)c->n_in[0]);
    }
}
static void sum_of_singular_values(case_run *c, bool all)
{
    int m = (int)c->in_shape[0].dim[0], n = (int)c->in_shape[0].dim[1], r = m < n ? m : n;
    double *s = malloc((size_t)(r + 1) * sizeof *s);
    case_singular_values(c->x[0], m, n, s);
    c->want[0] = s[0];
    for (int i = 1; i < r && all; i++) c->want[0] += s[i];
    c->size[0] = c->want[0];
    free(s);
}
static lt_node build_norm_nuc(lt_graph *g, const lt_node *x) { return lt_norm_nuc(g, x[0]); }
static void oracle_norm_nuc(case_run *c) { sum_of_singular_values(c, true); }
static lt_node build_norm_spec(lt_graph *g, const lt_node *x) { return lt_norm_spec(g, x[0]); }
static void oracle_norm_spec(case_run *c) { sum_of_singular_values(c, false); }

static lt_node build_eigvals(lt_graph *g, const lt_node *x)
{
    return lt_stack(g, (lt_node[]){ lt_eigvals_re(g, x[0]), lt_eigvals_im(g, x[0]) }, 2, 0);
}
/* The smallest singular value of M - (re + i im), as a real matrix of twice the size. */
static double eigen_residual(const double *m, int n, double re, double im)
{
    double *a = calloc((size_t)(4 * n * n), sizeof *a), *s = malloc((size_t)(2 * n) * sizeof *s);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double v = m[i * n + j] - (i == j ? re : 0);
            a[i * 2 * n + j] = a[(n + i) * 2 * n + n + j] = v;
            a[i * 2 * n + n + j] = i == j ? im : 0;
            a[(n + i) * 2 * n + j] = i == j ? -im : 0;
        }
    case_singular_values(a, 2 * n, 2 * n, s);
    double least = s[2 * n - 1];
    free(a);
    free(s);
    return least;
}
/* Any order will do: each must be an eigenvalue, and together they must have the right sum. */
static void oracle_eigvals(case_run *c)
{
    int n = (int)c->in_shape[0].dim[0];
    double trace = 0, re = 0, im = 0, norm = n * largest(c->x[0], n * n);
    for (int i = 0; i < n; i++) {
        trace += c->x[0][i * n + i];
        re += c->got[i];
        im += c->got[n + i];
    }
    for (int i = 0; i < n; i++) {
        c->want[i] = c->got[i] + eigen_residual(c->x[0], n, c->got[i], c->got[n + i]) + (i ? 0 : trace - re);
        c->want[n + i] = c->got[n + i] + (i ? 0 : im);
        c->size[i] = c->size[n + i] = norm;
    }
}

/* Differences of eigenvalues need a fixed order, which powers of them do not. */
static lt_node build_eigvals_powers(lt_graph *g, const lt_node *x)
{
    lt_node re = lt_eigvals_re(g, x[0]), im = lt_eigvals_im(g, x[0]);
    lt_node squares = lt_add(g, lt_square(g, re), lt_square(g, im));
    return lt_stack(g, (lt_node[]){ lt_sum(g, lt_sin(g, re)), lt_sum(g, squares), lt_max(g, re) }, 3, 0);
}
static void oracle_eigvals_powers(case_run *c)
{
    for (int i = 0; i < 3; i++) { c->want[i] = c->got[i]; c->size[i] = 1; } /* values: the case above */
    (void)c;
}

#define ALL (CASE_SMALL | CASE_GRAD | CASE_GRAD2)
#define SMOOTH (CASE_GRAD | CASE_GRAD2)

const op_case cases_linalg[] = {
    { "matmul", build_matmul, oracle_matmul, 2, { S2(3, 4), S2(4, 5) }, -2, 2, 5, ALL, 0 },
    { "matmul of ones", build_matmul, oracle_matmul, 2, { S2(1, 1), S2(1, 1) }, -2, 2, 2, ALL, 0 },
    { "matmul, inner size 0", build_matmul, oracle_matmul, 2, { S2(3, 0), S2(0, 2) }, -2, 2, 1, CASE_SMALL, 0 },
    { "matmul, outer size 0", build_matmul, oracle_matmul, 2, { S2(0, 3), S2(3, 2) }, -2, 2, 1, CASE_SMALL, 0 },
    { "matmul of stacks", build_matmul, oracle_matmul, 2, { S3(2, 3, 4), S3(2, 4, 2) }, -2, 2, 5, ALL, 0 },
    { "matmul of broadcast stacks", build_matmul, oracle_matmul, 2, { S4(2, 1, 3, 4), S3(3, 4, 2) }, -2, 2, 5, ALL, 0 },
    { "matmul of a stack by one", build_matmul, oracle_matmul, 2, { S3(5, 3, 4), S2(4, 2) }, -2, 2, 5, ALL, 0 },
    { "matmul of one by a stack", build_matmul, oracle_matmul, 2, { S2(3, 4), S3(2, 4, 2) }, -2, 2, 5, ALL, 0 },
    { "matmul, vector by matrix", build_matmul, oracle_matmul, 2, { S1(4), S2(4, 3) }, -2, 2, 5, ALL, 0 },
    { "matmul, matrix by vector", build_matmul, oracle_matmul, 2, { S2(3, 4), S1(4) }, -2, 2, 5, ALL, 0 },
    { "matmul, stack by vector", build_matmul, oracle_matmul, 2, { S3(2, 3, 4), S1(4) }, -2, 2, 5, ALL, 0 },
    { "matmul of odd sizes", build_matmul, oracle_matmul, 2, { S2(67, 33), S2(33, 129) }, -2, 2, 34, CASE_SMALL, 0 },
    { "matmul transposed", build_matmul_transposed, oracle_matmul_transposed, 2, { S2(4, 3), S2(5, 4) }, -2, 2, 5, ALL, 0 },
    { "gram", build_gram, oracle_gram, 1, { S2(5, 3) }, -2, 2, 6, ALL, 0 },
    { "dot", build_dot, oracle_matmul, 2, { S1(7), S1(7) }, -2, 2, 8, ALL, 0 },
    { "dot of many", build_dot, oracle_matmul, 2, { S1(3001), S1(3001) }, -2, 2, 3002, 0, 0 },
    { "outer", build_outer, oracle_outer, 2, { S1(3), S1(5) }, -2, 2, 1, ALL, 0 },
    { "trace", build_trace, oracle_trace, 1, { S2(4, 4) }, -2, 2, 4, ALL, 0 },
    { "trace of a wide matrix", build_trace, oracle_trace, 1, { S2(3, 5) }, -2, 2, 4, ALL, 0 },
    { "quadratic form", build_quadratic, oracle_quadratic, 2, { S2(5, 5), S1(5) }, -2, 2, 12, ALL, 0 },
    { "solve, vector", build_solve, oracle_solve, 2, { S2(4, 4), S1(4) }, -1, 1, 100, SMOOTH, DRAW_DOMINANT },
    { "solve, matrix", build_solve, oracle_solve, 2, { S2(5, 5), S2(5, 3) }, -1, 1, 100, SMOOTH, DRAW_DOMINANT },
    { "solve of one", build_solve, oracle_solve, 2, { S2(1, 1), S2(1, 2) }, -1, 1, 10, SMOOTH, DRAW_DOMINANT },
    { "solve of many", build_solve, oracle_solve, 2, { S2(40, 40), S2(40, 7) }, -1, 1, 2000, 0, DRAW_DOMINANT },
    { "inv", build_inv, oracle_inv, 1, { S2(4, 4) }, -1, 1, 100, SMOOTH, DRAW_DOMINANT },
    { "inv of one", build_inv, oracle_inv, 1, { S2(1, 1) }, -1, 1, 10, SMOOTH, DRAW_DOMINANT },
    { "det", build_det, oracle_det, 1, { S2(4, 4) }, -1, 1, 100, SMOOTH, DRAW_DOMINANT },
    { "logdet", build_logdet, oracle_logdet, 1, { S2(3, 3) }, -1, 1, 100, SMOOTH, DRAW_DOMINANT },
    { "logdet, positive definite", build_logdet, oracle_logdet, 1, { S2(4, 4) }, -1, 1, 100, SMOOTH, DRAW_POSITIVE_DEFINITE },
    { "logabsdet", build_logabsdet, oracle_logdet, 1, { S2(3, 3) }, -1, 1, 100, SMOOTH, DRAW_DOMINANT },
    { "cholesky", build_cholesky, oracle_cholesky, 1, { S2(4, 4) }, -1, 1, 100, 0, DRAW_POSITIVE_DEFINITE },
    { "cholesky made symmetric", build_cholesky_symmetric, oracle_cholesky, 1, { S2(4, 4) }, -1, 1, 100, SMOOTH, DRAW_POSITIVE_DEFINITE },
    { "cholesky of many", build_cholesky, oracle_cholesky, 1, { S2(40, 40) }, -1, 1, 2000, 0, DRAW_POSITIVE_DEFINITE },
    { "eigvalsh", build_eigvalsh, oracle_eigvalsh, 1, { S2(5, 5) }, -1, 1, 100, CASE_GRAD, DRAW_SYMMETRIC },
    { "eigvalsh of one", build_eigvalsh, oracle_eigvalsh, 1, { S2(1, 1) }, -1, 1, 10, CASE_GRAD, DRAW_SYMMETRIC },
    { "eigh", build_eigh, oracle_eigh, 1, { S2(6, 6) }, -1, 1, 100, 0, DRAW_SYMMETRIC },
    { "svdvals, tall", build_svdvals, oracle_svdvals, 1, { S2(5, 3) }, -1, 1, 100, CASE_GRAD, 0 },
    { "svdvals, wide", build_svdvals, oracle_svdvals, 1, { S2(2, 4) }, -1, 1, 100, CASE_GRAD, 0 },
    { "svd, tall", build_svd, oracle_svd, 1, { S2(6, 3) }, -1, 1, 100, 0, 0 },
    { "svd, wide", build_svd, oracle_svd, 1, { S2(3, 7) }, -1, 1, 100, 0, 0 },
    { "nuclear norm", build_norm_nuc, oracle_norm_nuc, 1, { S2(4, 3) }, -1, 1, 100, CASE_GRAD, 0 },
    { "spectral norm", build_norm_spec, oracle_norm_spec, 1, { S2(3, 4) }, -1, 1, 100, CASE_GRAD, 0 },
    { "eigvals", build_eigvals, oracle_eigvals, 1, { S2(6, 6) }, -1, 1, 100, 0, 0 },
    { "eigvals of one", build_eigvals, oracle_eigvals, 1, { S2(1, 1) }, -1, 1, 10, 0, 0 },
    { "eigvals of a symmetric matrix", build_eigvals, oracle_eigvals, 1, { S2(5, 5) }, -1, 1, 100, 0, DRAW_SYMMETRIC },
    { "eigvals, derivative", build_eigvals_powers, oracle_eigvals_powers, 1, { S2(5, 5) }, -1, 1, 1, CASE_GRAD, 0 },
    { 0 },
};
