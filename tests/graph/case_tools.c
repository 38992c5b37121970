/* What the oracles share: index arithmetic, elimination, singular values, by plain loops.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"

#include <math.h>
#include <stdlib.h>

int64_t case_broadcast_at(const lt_shape *out, int64_t i, const lt_shape *s)
{
    int64_t at = 0, step = 1;
    for (int k = 1; k <= out->rank; k++) {
        int64_t index = i % out->dim[out->rank - k];
        i /= out->dim[out->rank - k];
        if (k > s->rank) continue;
        int64_t extent = s->dim[s->rank - k];
        at += (extent == 1 ? 0 : index) * step;
        step *= extent;
    }
    return at;
}

case_axis case_split(const lt_shape *s, int axis)
{
    case_axis a = { 1, s->dim[axis], 1 };
    for (int i = 0; i < axis; i++) a.outer *= s->dim[i];
    for (int i = axis + 1; i < s->rank; i++) a.inner *= s->dim[i];
    return a;
}

long double case_eliminate(long double *a, long double *b, int n, int m)
{
    long double det = 1;
    for (int c = 0; c < n; c++) {
        int top = c;
        for (int r = c + 1; r < n; r++) if (fabsl(a[r * n + c]) > fabsl(a[top * n + c])) top = r;
        for (int k = 0; k < n && top != c; k++) { long double t = a[top * n + k]; a[top * n + k] = a[c * n + k]; a[c * n + k] = t; }
        for (int k = 0; k < m && top != c; k++) { long double t = b[top * m + k]; b[top * m + k] = b[c * m + k]; b[c * m + k] = t; }
        det *= top != c ? -a[c * n + c] : a[c * n + c];
        for (int r = 0; r < n; r++) {
            long double f = r == c ? 0 : a[r * n + c] / a[c * n + c];
            for (int k = c; k < n && r != c; k++) a[r * n + k] -= f * a[c * n + k];
            for (int k = 0; k < m && r != c; k++) b[r * m + k] -= f * b[c * m + k];
        }
    }
    for (int r = 0; r < n; r++)
        for (int k = 0; k < m; k++) b[r * m + k] /= a[r * n + r];
    return det;
}

/* Turns columns p and q of a (m x n) until they are orthogonal. */
static void rotate_columns(double *a, int m, int n, int p, int q)
{
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < m; i++) {
        pp += a[i * n + p] * a[i * n + p];
        qq += a[i * n + q] * a[i * n + q];
        pq += a[i * n + p] * a[i * n + q];
    }
    if (pq == 0) return;
    double zeta = (qq - pp) / (2 * pq), t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < m; i++) {
        double x = a[i * n + p], y = a[i * n + q];
        a[i * n + p] = c * x - s * y;
        a[i * n + q] = s * x + c * y;
    }
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

void case_singular_values(const double *a, int m, int n, double *s)
{
    double *w = malloc((size_t)(m * n + 1) * sizeof *w), *norm = malloc((size_t)(n + 1) * sizeof *norm);
    for (int i = 0; i < m * n; i++) w[i] = a[i];
    for (int sweep = 0; sweep < 40; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) rotate_columns(w, m, n, p, q);
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < m; i++) sum += w[i * n + j] * w[i * n + j];
        norm[j] = sqrt(sum);
    }
    qsort(norm, (size_t)n, sizeof *norm, descending);
    for (int j = 0; j < (m < n ? m : n); j++) s[j] = norm[j];
    free(w);
    free(norm);
}
