/* Plain SOLVE, INV, DET, LOGDET (LU with partial pivoting) and CHOLESKY.
   A singular matrix is an answer, not an error: SOLVE and INV are then filled with NaN, so that
   a line search can reject the point; CHOLESKY of a matrix that is not positive definite too (decision 29).
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

/* LU with partial pivoting of a (n x n, row major) in place; pivot[i] is the row exchanged with
   row i. Returns the sign of the permutation, 0 when an exact zero pivot was met. */
static int factorize(double *a, int64_t n, int64_t *pivot)
{
    int sign = 1;
    for (int64_t j = 0; j < n; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < n; i++)
            if (fabs(a[i * n + j]) > fabs(a[best * n + j])) best = i;
        pivot[j] = best;
        if (best != j) {
            sign = -sign;
            for (int64_t c = 0; c < n; c++) {
                double t = a[j * n + c];
                a[j * n + c] = a[best * n + c];
                a[best * n + c] = t;
            }
        }
        if (a[j * n + j] == 0) return 0;
        for (int64_t i = j + 1; i < n; i++) {
            double f = a[i * n + j] /= a[j * n + j];
            for (int64_t c = j + 1; c < n; c++) a[i * n + c] -= f * a[j * n + c];
        }
    }
    return sign;
}

static void swap_rows(double *b, int64_t m, int64_t i, int64_t j)
{
    for (int64_t c = 0; i != j && c < m; c++) {
        double t = b[i * m + c];
        b[i * m + c] = b[j * m + c];
        b[j * m + c] = t;
    }
}

/* Row i of b minus factor times row j. */
static void eliminate(double *b, int64_t m, int64_t i, int64_t j, double factor)
{
    for (int64_t c = 0; c < m; c++) b[i * m + c] -= factor * b[j * m + c];
}

static void scale_row(double *b, int64_t m, int64_t i, double divisor)
{
    for (int64_t c = 0; c < m; c++) b[i * m + c] /= divisor;
}

static void solve_factored(const double *lu, int64_t n, const int64_t *pivot, bool transposed, double *b, int64_t m)
{
    if (!transposed) {                                /* P A = L U: b <- U^-1 L^-1 P b */
        for (int64_t i = 0; i < n; i++) swap_rows(b, m, i, pivot[i]);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) eliminate(b, m, i, j, lu[i * n + j]);
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t j = i + 1; j < n; j++) eliminate(b, m, i, j, lu[i * n + j]);
            scale_row(b, m, i, lu[i * n + i]);
        }
    } else {                                          /* b <- P' L'^-1 U'^-1 b */
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) eliminate(b, m, i, j, lu[j * n + i]);
            scale_row(b, m, i, lu[i * n + i]);
        }
        for (int64_t i = n - 1; i >= 0; i--)
            for (int64_t j = i + 1; j < n; j++) eliminate(b, m, i, j, lu[j * n + i]);
        for (int64_t i = n - 1; i >= 0; i--) swap_rows(b, m, i, pivot[i]);
    }
}

static void fill(double *x, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++) x[i] = value;
}

/* ---- SOLVE and INV ------------------------------------------------------------------ */
static lt_status solve(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *sa = &p->in[0].shape, *sb = &p->in[1].shape;
    int64_t n = sb->dim[sb->rank - 2], m = sb->dim[sb->rank - 1];
    int64_t count_a = lt_leading_count(sa, sa->rank - 2), count = lt_leading_count(sb, sb->rank - 2);
    int64_t *pivot = (int64_t *)(work + n * n);
    for (int64_t i = 0; i < count; i++) {
        memcpy(work, in[0] + i % count_a * n * n, (size_t)(n * n) * sizeof *work);
        memcpy(out + i * n * m, in[1] + i * n * m, (size_t)(n * m) * sizeof *out);
        if (factorize(work, n, pivot)) solve_factored(work, n, pivot, p->attr->u.trans.a, out + i * n * m, m);
        else fill(out + i * n * m, n * m, NAN);
    }
    return LT_OK;
}

lt_status lt_solve_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *b = &p->in[1].shape;
    double n = (double)b->dim[b->rank - 2], all = (double)lt_tensor_count(&p->in[1]);
    return lt_ref_prepare(p, "solve_ref", solve, (int64_t)(n * n + n), 2 * n * n * n / 3 + 2 * n * all, out);
}

static lt_status inverse(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1], count = lt_leading_count(s, s->rank - 2);
    int64_t *pivot = (int64_t *)(work + n * n);
    for (int64_t i = 0; i < count; i++, out += n * n) {
        memcpy(work, in[0] + i * n * n, (size_t)(n * n) * sizeof *work);
        if (!factorize(work, n, pivot)) {
            fill(out, n * n, NAN);
            continue;
        }
        fill(out, n * n, 0);
        for (int64_t j = 0; j < n; j++) out[j * n + j] = 1;
        solve_factored(work, n, pivot, false, out, n);
    }
    return LT_OK;
}

static double matrix_flops(const lt_problem_key *p, double factor)
{
    const lt_shape *s = &p->in[0].shape;
    return factor * (double)s->dim[s->rank - 1] * (double)lt_tensor_count(&p->in[0]);
}

static int64_t lu_work(const lt_problem_key *p)
{
    int64_t n = p->in[0].shape.dim[p->in[0].shape.rank - 1];
    return n * n + n;
}

lt_status lt_inv_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "inv_ref", inverse, lu_work(p), matrix_flops(p, 2), out);
}

/* ---- DET and LOGDET ------------------------------------------------------------------- */
static bool factor_cholesky(const double *a, double *l, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double s = a[i * n + j];
            for (int64_t c = 0; c < j; c++) s -= l[i * n + c] * l[j * n + c];
            if (i == j && !(s > 0)) return false;
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
    return true;
}

/* Whether a (n x n) is symmetric without being positive definite: there a logarithm of its determinant is out of domain,
   whatever the determinant (decision 196). */
static bool is_indefinite(const double *a, int64_t n, double *work)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (a[i * n + j] != a[j * n + i]) return false;
    return !factor_cholesky(a, work, n);
}

static lt_status determinant(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1], count = lt_leading_count(s, s->rank - 2);
    for (int64_t i = 0; i < count; i++) {
        memcpy(work, in[0] + i * n * n, (size_t)(n * n) * sizeof *work);
        int sign = factorize(work, n, (int64_t *)(work + n * n));
        double product = sign, logarithm = sign ? 0 : -INFINITY;
        bool negative = sign < 0;
        for (int64_t j = 0; sign && j < n; j++) {
            product *= work[j * n + j];
            logarithm += log(fabs(work[j * n + j]));
            negative ^= work[j * n + j] < 0;
        }
        if (p->op == LT_OP_LOGDET && sign && (negative || is_indefinite(in[0] + i * n * n, n, work))) logarithm = NAN;
        out[i] = p->op == LT_OP_DET ? product : logarithm;
    }
    return LT_OK;
}

lt_status lt_det_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "det_ref", determinant, lu_work(p), matrix_flops(p, 2.0 / 3), out);
}

/* ---- CHOLESKY ------------------------------------------------------------------------- */
static lt_status cholesky(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1], count = lt_leading_count(s, s->rank - 2);
    for (int64_t i = 0; i < count; i++) {
        fill(out + i * n * n, n * n, 0);
        if (!factor_cholesky(in[0] + i * n * n, out + i * n * n, n)) fill(out + i * n * n, n * n, NAN);
    }
    return LT_OK;
}

lt_status lt_cholesky_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "cholesky_ref", cholesky, 0, matrix_flops(p, 1.0 / 3), out);
}
