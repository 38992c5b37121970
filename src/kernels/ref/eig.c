/* Plain EIG: Hessenberg form by Householder reflections, then the double-shift QR iteration of
   Francis (Golub & Van Loan, Matrix Computations, 7.4 and 7.5), eigenvalues only.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The reflection I - 2 v v' / (v'v) that maps x (3 or fewer entries, or a column) to a multiple of
   e1: v overwrites x; returns 2/(v'v), or 0 when x is already a multiple of e1. */
static double reflector(double *x, int64_t n)
{
    double tail = 0;
    for (int64_t i = 1; i < n; i++) tail += x[i] * x[i];
    if (tail == 0) return 0;
    double norm = sqrt(x[0] * x[0] + tail);
    x[0] += copysign(norm, x[0]);
    return 2 / (x[0] * x[0] + tail);
}

/* Applies the reflection to rows first..first+count-1 of h, columns from..n-1. */
static void reflect_rows(double *h, int64_t n, const double *v, double beta, int64_t first, int64_t count, int64_t from)
{
    for (int64_t c = from; c < n; c++) {
        double dot = 0;
        for (int64_t i = 0; i < count; i++) dot += v[i] * h[(first + i) * n + c];
        for (int64_t i = 0; i < count; i++) h[(first + i) * n + c] -= beta * dot * v[i];
    }
}

/* The same to columns first..first+count-1, rows 0..to-1. */
static void reflect_columns(double *h, int64_t n, const double *v, double beta, int64_t first, int64_t count, int64_t to)
{
    for (int64_t r = 0; r < to; r++) {
        double dot = 0, *row = h + r * n + first;
        for (int64_t i = 0; i < count; i++) dot += v[i] * row[i];
        for (int64_t i = 0; i < count; i++) row[i] -= beta * dot * v[i];
    }
}

static void to_hessenberg(double *h, int64_t n, double *v)
{
    for (int64_t j = 0; j + 2 < n; j++) {
        int64_t count = n - j - 1;
        for (int64_t i = 0; i < count; i++) v[i] = h[(j + 1 + i) * n + j];
        double beta = reflector(v, count);
        if (beta == 0) continue;
        reflect_rows(h, n, v, beta, j + 1, count, j);
        reflect_columns(h, n, v, beta, j + 1, count, n);
        for (int64_t i = 1; i < count; i++) h[(j + 1 + i) * n + j] = 0;
    }
}

/* Eigenvalues of [[a, b], [c, d]]: a real pair, or a conjugate pair with the positive one first. */
static void eigenvalues_2x2(double a, double b, double c, double d, double *re, double *im)
{
    double half = (a - d) / 2, disc = half * half + b * c;
    if (disc >= 0) {
        double z = half + copysign(sqrt(disc), half); /* no cancellation; the other from the product */
        re[0] = d + z;
        re[1] = z != 0 ? d - b * c / z : d;
        im[0] = im[1] = 0;
    } else {
        re[0] = re[1] = d + half;
        im[0] = sqrt(-disc);
        im[1] = -im[0];
    }
}

/* One implicit double-shift sweep on the active block lo..hi (at least 3 rows). The shifts are
   the eigenvalues of the trailing 2 x 2 block, or exceptional ones when that does not converge. */
static void francis_step(double *h, int64_t n, int64_t lo, int64_t hi, bool exceptional)
{
    const double *last = h + hi * n + hi, *before = last - n;
    double trace = before[-1] + last[0], det = before[-1] * last[0] - before[0] * last[-1];
    if (exceptional) {
        double w = fabs(last[-1]) + fabs(h[(hi - 1) * n + hi - 2]);
        trace = 1.5 * w;
        det = w * w;
    }
    const double *top = h + lo * n + lo;
    double v[3] = { top[0] * top[0] + top[1] * top[n] - trace * top[0] + det,
                    top[n] * (top[0] + top[n + 1] - trace), top[n] * top[2 * n + 1] };
    for (int64_t k = lo; k < hi; k++) {
        int64_t count = LT_MIN(3, hi - k + 1);
        if (k > lo)
            for (int64_t i = 0; i < count; i++) v[i] = h[(k + i) * n + k - 1];
        double beta = reflector(v, count);
        if (beta == 0) continue;
        reflect_rows(h, n, v, beta, k, count, k > lo ? k - 1 : lo);
        reflect_columns(h, n, v, beta, k, count, LT_MIN(hi, k + 3) + 1);
        for (int64_t i = 1; k > lo && i < count; i++) h[(k + i) * n + k - 1] = 0;
    }
}

/* Where the block that ends at hi begins: above it the subdiagonal is negligible and set to 0. */
static int64_t block_start(double *h, int64_t n, int64_t hi)
{
    for (int64_t l = hi; l > 0; l--) {
        double near = fabs(h[(l - 1) * n + l - 1]) + fabs(h[l * n + l]);
        if (fabs(h[l * n + l - 1]) <= DBL_EPSILON * near || fabs(h[l * n + l - 1]) < DBL_MIN) {
            h[l * n + l - 1] = 0;
            return l;
        }
    }
    return 0;
}

static lt_status eigenvalues(double *h, int64_t n, double *re, double *im)
{
    int tries = 0;
    for (int64_t hi = n - 1; hi >= 0;) {
        int64_t lo = block_start(h, n, hi);
        if (hi - lo > 1) {
            if (++tries > 300)
                return LT_FAIL(LT_ERR_NUMERIC, "eig: no convergence for eigenvalue %lld of %lld", (long long)hi, (long long)n);
            francis_step(h, n, lo, hi, tries % 10 == 0);
            continue;
        }
        if (lo == hi) re[hi] = h[hi * n + hi], im[hi] = 0;
        else eigenvalues_2x2(h[lo * n + lo], h[lo * n + hi], h[hi * n + lo], h[hi * n + hi], re + lo, im + lo);
        hi = lo - 1;
        tries = 0;
    }
    return LT_OK;
}

static lt_status eig(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1], count = lt_leading_count(s, s->rank - 2);
    for (int64_t i = 0; i < count; i++, out += 2 * n) {
        const double *a = in[0] + i * n * n;
        bool finite = true;
        for (int64_t j = 0; j < n * n; j++) finite = finite && isfinite(a[j]);
        for (int64_t j = 0; !finite && j < 2 * n; j++) out[j] = NAN; /* no finite input, no answer */
        if (!finite) continue;
        memcpy(work, a, (size_t)(n * n) * sizeof *work);
        to_hessenberg(work, n, work + n * n);
        LT_TRY(eigenvalues(work, n, out, out + n));
    }
    return LT_OK;
}

lt_status lt_eig_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1];
    return lt_ref_prepare(p, "eig_ref", eig, n * n + n, 10.0 * (double)n * (double)lt_tensor_count(&p->in[0]), out);
}
