/* Vectors of doubles. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/vector.h"

#include "optimize/vectors/dense.h"

#include <math.h>
#include <stddef.h>

double lt_vec_dot(int64_t n, const double *a, const double *b) { return lt_dense_best()->dot(n, a, b); }

double lt_vec_max_abs(int64_t n, const double *a)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = fabs(a[i]);
        if (!(v <= most)) most = v; /* also taken by NaN, which then stays unless a larger one follows */
        if (isnan(most)) return most;
    }
    return most;
}

double lt_vec_norm2(int64_t n, const double *a)
{
    double square = lt_vec_dot(n, a, a);
    if (square > 1e-280 && square < 1e280) return sqrt(square);
    double most = lt_vec_max_abs(n, a);
    if (most == 0 || !isfinite(most)) return most;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] / most) * (a[i] / most);
    return most * sqrt(sum);
}

void lt_vec_add_squares(int64_t n, const double *a, const double *b, lt_vec_sums *to)
{
    lt_vec_sums sums = *to;
    double *part = sums.part;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += (a[i + j] - b[i + j]) * (a[i + j] - b[i + j]);
    for (int j = 0; i < n; i++, j++) part[j] += (a[i] - b[i]) * (a[i] - b[i]);
    *to = sums;
}

double lt_vec_root(const lt_vec_sums *sums)
{
    const double *part = sums->part;
    return sqrt(((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7])));
}

double lt_vec_distance(int64_t n, const double *a, const double *b)
{
    lt_vec_sums sums = { { 0 } };
    lt_vec_add_squares(n, a, b, &sums);
    return lt_vec_root(&sums);
}

void lt_vec_axpy(int64_t n, double c, const double *a, double *y) { lt_dense_best()->axpy(n, c, a, y); }

void lt_vec_scale(int64_t n, double c, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] *= c;
}

void lt_vec_step(int64_t n, const double *x, double t, const double *restrict d, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i] + t * d[i];
}

bool lt_vec_finite(int64_t n, const double *a)
{
    /* x - x is 0 for every finite number and NaN otherwise; no branch and eight sums, so it runs in vectors. */
    double part[8] = { 0 }, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += a[i + j] - a[i + j];
    for (; i < n; i++) sum += a[i] - a[i];
    for (int j = 0; j < 8; j++) sum += part[j];
    return sum == 0;
}

void lt_vec_round_f32(int64_t n, double *a)
{
    for (int64_t i = 0; i < n; i++) a[i] = (double)(float)a[i];
}
