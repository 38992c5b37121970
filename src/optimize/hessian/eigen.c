/* Eigenvalues and vectors of a dense symmetric matrix: Householder reduction to tridiagonal form,
   then implicit QL with Wilkinson's shift (Golub and Van Loan, 8.3).
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* a becomes T = P a P with the orthogonal P accumulated in the rows of v; diagonal and off-diagonal
   of T go to w and e (e[i] couples i and i + 1). */
static void tridiagonalise(int64_t n, double *a, double *w, double *e, double *v, double *u)
{
    memset(v, 0, (size_t)(n * n) * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i * n + i] = 1;
    for (int64_t k = 0; k + 2 < n; k++) {
        int64_t m = n - k - 1;
        for (int64_t i = 0; i < m; i++) u[i] = a[(k + 1 + i) * n + k];
        double norm = lt_vec_norm2(m, u);
        if (lt_vec_max_abs(m - 1, u + 1) == 0 || norm == 0) continue;
        u[0] += copysign(norm, u[0]);
        double scale = 2 / lt_vec_dot(m, u, u);
        /* Both sides of the trailing block, as a rank-2 update with q = scale A u - (…) u. */
        double *q = u + n;
        for (int64_t i = 0; i < m; i++) q[i] = scale * lt_vec_dot(m, a + (k + 1 + i) * n + k + 1, u);
        double half = 0.5 * scale * lt_vec_dot(m, u, q);
        lt_vec_axpy(m, -half, u, q);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++) a[(k + 1 + i) * n + k + 1 + j] -= u[i] * q[j] + q[i] * u[j];
        for (int64_t i = 0; i < m; i++) a[(k + 1 + i) * n + k] = a[k * n + k + 1 + i] = 0;
        a[(k + 1) * n + k] = a[k * n + k + 1] = -copysign(norm, u[0]);
        for (int64_t j = 0; j < n; j++) q[j] = 0;
        for (int64_t i = 0; i < m; i++) lt_vec_axpy(n, u[i], v + (k + 1 + i) * n, q);
        for (int64_t i = 0; i < m; i++) lt_vec_axpy(n, -scale * u[i], q, v + (k + 1 + i) * n);
    }
    for (int64_t i = 0; i < n; i++) w[i] = a[i * n + i];
    for (int64_t i = 0; i + 1 < n; i++) e[i] = a[(i + 1) * n + i];
}

/* One rotation of rows i and i + 1 of v. */
static void rotate(int64_t n, double *v, int64_t i, double c, double s)
{
    double *a = v + i * n, *b = v + (i + 1) * n;
    for (int64_t j = 0; j < n; j++) {
        double t = b[j];
        b[j] = s * a[j] + c * t;
        a[j] = c * a[j] - s * t;
    }
}

static void ql_step(int64_t n, int64_t l, int64_t m, double *w, double *e, double *v)
{
    double g = (w[l + 1] - w[l]) / (2 * e[l]), root = hypot(g, 1);
    g = w[m] - w[l] + e[l] / (g + copysign(root, g));
    double s = 1, c = 1, p = 0;
    int64_t i = m - 1;
    for (; i >= l; i--) {
        double f = s * e[i], b = c * e[i];
        e[i + 1] = root = hypot(f, g);
        if (root == 0) break;
        s = f / root;
        c = g / root;
        g = w[i + 1] - p;
        root = (w[i] - g) * s + 2 * c * b;
        p = s * root;
        w[i + 1] = g + p;
        g = c * root - b;
        rotate(n, v, i, c, s);
    }
    if (root == 0 && i >= l) {
        w[i + 1] -= p;
        e[m] = 0;
        return;
    }
    w[l] -= p;
    e[l] = g;
    e[m] = 0;
}

static void sort_ascending(int64_t n, double *w, double *v, double *row)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (w[j] < w[least]) least = j;
        if (least == i) continue;
        double t = w[i];
        w[i] = w[least];
        w[least] = t;
        memcpy(row, v + i * n, (size_t)n * sizeof *v);
        memcpy(v + i * n, v + least * n, (size_t)n * sizeof *v);
        memcpy(v + least * n, row, (size_t)n * sizeof *v);
    }
}

bool lt_eigen_symmetric(int64_t n, double *a, double *w, double *v, double *work)
{
    if (!lt_vec_finite(n * n, a)) return false;
    double *e = work, *u = work + n; /* u: 2 n */
    tridiagonalise(n, a, w, e, v, u);
    e[n - 1] = 0;
    for (int64_t l = 0; l < n; l++)
        for (int round = 0;; round++) {
            int64_t m = l;
            while (m + 1 < n && fabs(e[m]) > DBL_EPSILON * (fabs(w[m]) + fabs(w[m + 1]))) m++;
            if (m == l) break;
            if (round == 60) return false;
            ql_step(n, l, m, w, e, v);
        }
    sort_ascending(n, w, v, u);
    return true;
}
