/* Plain EIGH (cyclic Jacobi) and SVD (one-sided Jacobi). SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_SWEEPS = 60 }; /* convergence is quadratic: ten sweeps are already many */

static bool all_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* The rotation with tan t that zeroes the off-diagonal of [[a, b], [b, d]]. */
static void rotation(double a, double b, double d, double *cosine, double *sine)
{
    double theta = (d - a) / (2 * b);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    *cosine = 1 / sqrt(t * t + 1);
    *sine = t * *cosine;
}

/* Applies the rotation to the vectors x and y of n elements with the given step. */
static void rotate(double *x, double *y, int64_t n, int64_t step, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        double a = x[i * step], b = y[i * step];
        x[i * step] = c * a - s * b;
        y[i * step] = s * a + c * b;
    }
}

/* ---- EIGH ------------------------------------------------------------------------------- */
/* Entries that small against the whole matrix are rounding noise of earlier rotations. */
static double negligible(const double *a, int64_t n)
{
    double norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = fmax(norm, fabs(a[i]));
    return fmax(DBL_EPSILON / 16 * norm, DBL_MIN);
}

static bool sweep_symmetric(double *a, double *v, int64_t n)
{
    bool changed = false;
    double noise = negligible(a, n);
    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            double b = a[p * n + q];
            if (fabs(b) <= noise) continue;
            double c, s;
            rotation(a[p * n + p], b, a[q * n + q], &c, &s);
            rotate(a + p, a + q, n, n, c, s);
            rotate(a + p * n, a + q * n, n, 1, c, s);
            a[p * n + q] = a[q * n + p] = 0;
            rotate(v + p, v + q, n, n, c, s);
            changed = true;
        }
    return changed;
}

/* Ascending order by selection; the columns of v move along. */
static void sort_pairs(double *w, double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++)
            if (w[j] < w[best]) best = j;
        if (best == i) continue;
        double t = w[i];
        w[i] = w[best];
        w[best] = t;
        rotate(v + i, v + best, n, n, 0, 1); /* exchanges the columns up to a sign */
    }
}

static lt_status eigh(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *shape = &p->in[0].shape;
    int64_t n = shape->dim[shape->rank - 1], count = lt_leading_count(shape, shape->rank - 2);
    for (int64_t i = 0; i < count; i++) {
        const double *a = in[0] + i * n * n;
        double *v = out + i * (n * n + n), *w = v + n * n;
        if (!all_finite(a, n * n)) {
            for (int64_t j = 0; j < n * n + n; j++) v[j] = NAN;
            continue;
        }
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < n; c++) {
                work[r * n + c] = r >= c ? a[r * n + c] : a[c * n + r]; /* the lower triangle counts */
                v[r * n + c] = r == c;
            }
        int sweeps = 0;
        while (sweep_symmetric(work, v, n))
            if (++sweeps > MAX_SWEEPS)
                return LT_FAIL(LT_ERR_NUMERIC, "eigh: no convergence in %d Jacobi sweeps (n = %lld)",
                               (int)MAX_SWEEPS, (long long)n);
        for (int64_t j = 0; j < n; j++) w[j] = work[j * n + j];
        sort_pairs(w, v, n);
    }
    return LT_OK;
}

lt_status lt_eigh_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1];
    return lt_ref_prepare(p, "eigh_ref", eigh, n * n, 9.0 * (double)n * (double)lt_tensor_count(&p->in[0]), out);
}

/* ---- SVD -------------------------------------------------------------------------------- */
static double sum_of_squares(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* Makes the rows of g (r x l) orthogonal by rotations from the left, which z (r x r) gathers. Rows
   below the rounding noise of the whole stand for zero singular values: their direction is noise
   too, and chasing it would never end. */
static bool sweep_rows(double *g, double *z, int64_t r, int64_t l)
{
    bool changed = false;
    double noise = DBL_EPSILON * DBL_EPSILON * sum_of_squares(g, r * l);
    for (int64_t p = 0; p < r; p++)
        for (int64_t q = p + 1; q < r; q++) {
            double a = 0, b = 0, d = 0, c, s;
            for (int64_t i = 0; i < l; i++) {
                a += g[p * l + i] * g[p * l + i];
                b += g[p * l + i] * g[q * l + i];
                d += g[q * l + i] * g[q * l + i];
            }
            if (fabs(b) <= DBL_EPSILON * (double)l * sqrt(a) * sqrt(d) || LT_MIN(a, d) <= noise) continue;
            rotation(a, b, d, &c, &s);
            rotate(g + p * l, g + q * l, l, 1, c, s);
            rotate(z + p * r, z + q * r, r, 1, c, s);
            changed = true;
        }
    return changed;
}

static void swap(double *x, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double t = x[i];
        x[i] = y[i];
        y[i] = t;
    }
}

/* Rows of g with (nearly) no length carry no direction: replaced by one orthogonal to those
   above, found among the unit vectors. */
static void complete_row(double *g, int64_t row, int64_t l)
{
    for (int64_t unit = 0; unit < l; unit++) {
        double *x = g + row * l;
        for (int64_t i = 0; i < l; i++) x[i] = i == unit;
        for (int pass = 0; pass < 2; pass++) /* twice is enough */
            for (int64_t j = 0; j < row; j++) {
                double dot = 0;
                for (int64_t i = 0; i < l; i++) dot += g[j * l + i] * x[i];
                for (int64_t i = 0; i < l; i++) x[i] -= dot * g[j * l + i];
            }
        double norm = sum_of_squares(x, l);
        if (norm < 0.5 / (double)l) continue; /* some unit vector leaves at least 1/l */
        for (int64_t i = 0; i < l; i++) x[i] /= sqrt(norm);
        return;
    }
}

/* g = diag(s) * orthonormal rows after sorting; z sorted along. */
static void scale_and_sort(double *g, double *z, double *s, int64_t r, int64_t l)
{
    for (int64_t j = 0; j < r; j++) s[j] = sqrt(sum_of_squares(g + j * l, l));
    for (int64_t j = 0; j < r; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < r; i++)
            if (s[i] > s[best]) best = i;
        if (best != j) {
            swap(s + j, s + best, 1);
            swap(g + j * l, g + best * l, l);
            swap(z + j * r, z + best * r, r);
        }
        if (s[j] > DBL_EPSILON * (double)l * s[0] && s[j] > DBL_MIN)
            for (int64_t i = 0; i < l; i++) g[j * l + i] /= s[j];
        else complete_row(g, j, l);
    }
}

/* One matrix; g (r x l) and z (r x r) are work, l = max(m, n). The short side is the rows of g,
   so A = Z' diag(s) G when wide and A = G' diag(s) Z when tall. */
static lt_status svd_one(const double *a, int64_t m, int64_t n, double *out, double *g, double *z)
{
    int64_t r = LT_MIN(m, n), l = LT_MAX(m, n);
    double *u = out, *s = u + m * r, *vt = s + r;
    for (int64_t i = 0; i < r; i++) {
        for (int64_t j = 0; j < l; j++) g[i * l + j] = m <= n ? a[i * n + j] : a[j * n + i];
        for (int64_t j = 0; j < r; j++) z[i * r + j] = i == j;
    }
    int sweeps = 0;
    while (sweep_rows(g, z, r, l))
        if (++sweeps > MAX_SWEEPS)
            return LT_FAIL(LT_ERR_NUMERIC, "svd: no convergence in %d Jacobi sweeps (%lld by %lld)",
                           (int)MAX_SWEEPS, (long long)m, (long long)n);
    scale_and_sort(g, z, s, r, l);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < r; j++) u[i * r + j] = m <= n ? z[j * r + i] : g[j * l + i];
    memcpy(vt, m <= n ? g : z, (size_t)(r * n) * sizeof *vt);
    return LT_OK;
}

static lt_status svd(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *shape = &p->in[0].shape;
    int64_t m = shape->dim[shape->rank - 2], n = shape->dim[shape->rank - 1];
    int64_t r = LT_MIN(m, n), packed = m * r + r + r * n, count = lt_leading_count(shape, shape->rank - 2);
    for (int64_t i = 0; i < count; i++) {
        const double *a = in[0] + i * m * n;
        if (all_finite(a, m * n)) LT_TRY(svd_one(a, m, n, out + i * packed, work, work + m * n));
        else
            for (int64_t j = 0; j < packed; j++) out[i * packed + j] = NAN;
    }
    return LT_OK;
}

lt_status lt_svd_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t m = s->dim[s->rank - 2], n = s->dim[s->rank - 1], r = LT_MIN(m, n);
    return lt_ref_prepare(p, "svd_ref", svd, m * n + r * r, 14.0 * (double)r * (double)lt_tensor_count(&p->in[0]), out);
}
