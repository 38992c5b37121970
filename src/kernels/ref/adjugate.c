/* ADJUGATE: the matrix of cofactors, transposed, of a matrix that has no inverse, or whose determinant is out of range
   (decision 196). SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* P A Q = L U with the largest element left as pivot: row[i] and column[i] of A stand at i. */
typedef struct factors { double *lu; int64_t n, rank, *row, *column; int sign; } factors;

static void swap_rows(factors *f, int64_t a, int64_t b)
{
    if (a == b) return;
    int64_t index = f->row[a];
    f->row[a] = f->row[b], f->row[b] = index, f->sign = -f->sign;
    for (int64_t j = 0; j < f->n; j++) {
        double t = f->lu[a * f->n + j];
        f->lu[a * f->n + j] = f->lu[b * f->n + j], f->lu[b * f->n + j] = t;
    }
}

static void swap_columns(factors *f, int64_t a, int64_t b)
{
    if (a == b) return;
    int64_t index = f->column[a];
    f->column[a] = f->column[b], f->column[b] = index, f->sign = -f->sign;
    for (int64_t i = 0; i < f->n; i++) {
        double t = f->lu[i * f->n + a];
        f->lu[i * f->n + a] = f->lu[i * f->n + b], f->lu[i * f->n + b] = t;
    }
}

static void eliminate(factors *f, int64_t k)
{
    for (int64_t i = k + 1; i < f->n; i++) {
        double factor = f->lu[i * f->n + k] /= f->lu[k * f->n + k];
        for (int64_t j = k + 1; j < f->n; j++) f->lu[i * f->n + j] -= factor * f->lu[k * f->n + j];
    }
}

static void factor(factors *f)
{
    f->sign = 1;
    for (int64_t i = 0; i < f->n; i++) f->row[i] = f->column[i] = i;
    for (f->rank = 0; f->rank < f->n; f->rank++) {
        int64_t best = f->rank * f->n + f->rank;
        for (int64_t i = f->rank; i < f->n; i++)
            for (int64_t j = f->rank; j < f->n; j++)
                if (fabs(f->lu[i * f->n + j]) > fabs(f->lu[best])) best = i * f->n + j;
        if (f->lu[best] == 0) return;
        swap_rows(f, f->rank, best / f->n);
        swap_columns(f, f->rank, best % f->n);
        eliminate(f, f->rank);
    }
}

/* x becomes U^-1 x over the leading n rows. */
static void solve_upper(const factors *f, int64_t n, double *x)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) x[i] -= f->lu[i * f->n + j] * x[j];
        x[i] /= f->lu[i * f->n + i];
    }
}

/* The product of the first n pivots with the sign of the exchanges, as mantissa and exponent. */
static double product(const factors *f, int64_t n, int *exponent)
{
    double m = f->sign;
    *exponent = 0;
    for (int64_t i = 0; i < n; i++) {
        int pivot, left;
        m = frexp(m * frexp(f->lu[i * f->n + i], &pivot), &left);
        *exponent += pivot + left;
    }
    return m;
}

/* Rank n - 1: the null vector to the right, times the one to the left. */
static void singular(const factors *f, double *right, double *left, double *out)
{
    int64_t n = f->n, last = n - 1;
    int exponent;
    double scale = product(f, last, &exponent);
    for (int64_t i = 0; i < last; i++) right[i] = -f->lu[i * n + last], left[i] = 0;
    right[last] = left[last] = 1;
    solve_upper(f, last, right);
    for (int64_t j = last - 1; j >= 0; j--)
        for (int64_t i = j + 1; i < n; i++) left[j] -= left[i] * f->lu[i * n + j];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[f->column[i] * n + f->row[j]] = ldexp(scale * right[i] * left[j], exponent);
}

/* The determinant times the inverse, column by column, with the exponent kept apart. */
static void regular(const factors *f, double *x, double *out)
{
    int64_t n = f->n;
    int exponent;
    double scale = product(f, n, &exponent);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            x[i] = i == j;
            for (int64_t k = 0; k < i; k++) x[i] -= f->lu[i * n + k] * x[k];
        }
        solve_upper(f, n, x);
        for (int64_t i = 0; i < n; i++) {
            int e;
            double m = frexp(x[i], &e);
            out[f->column[i] * n + f->row[j]] = ldexp(scale * m, exponent + e);
        }
    }
}

static bool is_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) if (!isfinite(x[i])) return false;
    return true;
}

static lt_status adjugate(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1], count = lt_leading_count(s, s->rank - 2);
    factors f = { .lu = work, .n = n, .row = (int64_t *)(work + n * n), .column = (int64_t *)(work + n * n + n) };
    double *right = work + n * n + 2 * n, *left = right + n;
    for (int64_t m = 0; m < count; m++, out += n * n) {
        const double *a = in[0] + m * n * n;
        bool finite = is_finite(a, n * n);
        for (int64_t i = 0; i < n * n; i++) out[i] = finite ? 0 : (double)NAN;
        if (!finite || (isfinite(in[1][m]) && in[1][m] != 0)) continue;
        memcpy(work, a, (size_t)(n * n) * sizeof *work);
        factor(&f);
        if (f.rank == n) regular(&f, right, out);
        else if (f.rank == n - 1) singular(&f, right, left, out);
    }
    return LT_OK;
}

lt_status lt_adjugate_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    int64_t n = p->in[0].shape.dim[p->in[0].shape.rank - 1];
    return lt_ref_prepare(p, "adjugate_ref", adjugate, n * n + 4 * n, (double)lt_tensor_count(&p->in[0]), out);
}
