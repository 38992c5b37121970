/* Plain EIG_GRAD: the selected eigenvectors by inverse iteration on M - lambda I, in complex
   arithmetic. For a simple eigenvalue with right vector r and left vector l (l^H M = lambda l^H),
   d lambda / dM = conj(l) r^T / (l^H r). SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <complex.h>
#include <float.h>
#include <math.h>

typedef double complex cplx;

/* LU of the n x n matrix a with row exchanges; zero pivots become `tiny`, which is what makes
   inverse iteration work on a matrix that is singular on purpose. */
static void factor(cplx *a, int64_t n, int64_t *pivot, double tiny)
{
    for (int64_t j = 0; j < n; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < n; i++)
            if (cabs(a[i * n + j]) > cabs(a[best * n + j])) best = i;
        pivot[j] = best;
        for (int64_t c = 0; best != j && c < n; c++) {
            cplx t = a[j * n + c];
            a[j * n + c] = a[best * n + c];
            a[best * n + c] = t;
        }
        if (cabs(a[j * n + j]) < tiny) a[j * n + j] = tiny;
        for (int64_t i = j + 1; i < n; i++) {
            cplx f = a[i * n + j] /= a[j * n + j];
            for (int64_t c = j + 1; c < n; c++) a[i * n + c] -= f * a[j * n + c];
        }
    }
}

static void swap(cplx *x, int64_t i, int64_t j)
{
    cplx t = x[i];
    x[i] = x[j];
    x[j] = t;
}

/* x <- A^-1 x, or A^-T x. */
static void apply_inverse(const cplx *lu, int64_t n, const int64_t *pivot, bool transposed, cplx *x)
{
    if (!transposed) {
        for (int64_t i = 0; i < n; i++) swap(x, i, pivot[i]);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) x[i] -= lu[i * n + j] * x[j];
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t j = i + 1; j < n; j++) x[i] -= lu[i * n + j] * x[j];
            x[i] /= lu[i * n + i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) x[i] -= lu[j * n + i] * x[j];
            x[i] /= lu[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--)
            for (int64_t j = i + 1; j < n; j++) x[i] -= lu[j * n + i] * x[j];
        for (int64_t i = n - 1; i >= 0; i--) swap(x, i, pivot[i]);
    }
}

/* Unit vector x with A x ~ 0 (or A^T x ~ 0). The start has no special direction, so that it is
   not orthogonal to the answer by construction. */
static void inverse_iteration(const cplx *lu, int64_t n, const int64_t *pivot, bool transposed, cplx *x)
{
    for (int64_t i = 0; i < n; i++) x[i] = 1 + 0.1 * cos(1.7 * (double)i) + I * 0.1 * sin(2.3 * (double)i);
    for (int iteration = 0; iteration < 4; iteration++) {
        apply_inverse(lu, n, pivot, transposed, x);
        double norm = 0;
        for (int64_t i = 0; i < n; i++) norm = hypot(norm, cabs(x[i]));
        for (int64_t i = 0; i < n; i++) x[i] /= norm;
    }
}

typedef struct eigenpair { cplx *lu, *right, *left; int64_t *pivot; } eigenpair;

/* right and left: M r = lambda r and left^T M = lambda left^T, that is left = conj(l),
   scaled so that left . r = 1 and d lambda / dM = left r^T. */
static void eigenvectors(const double *m, int64_t n, cplx lambda, const eigenpair *v)
{
    double norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = fmax(norm, fabs(m[i]));
    for (int64_t i = 0; i < n * n; i++) v->lu[i] = m[i] - (i / n == i % n ? lambda : 0);
    factor(v->lu, n, v->pivot, fmax(DBL_EPSILON * norm, DBL_MIN));
    inverse_iteration(v->lu, n, v->pivot, false, v->right);
    inverse_iteration(v->lu, n, v->pivot, true, v->left);
    cplx dot = 0;
    for (int64_t i = 0; i < n; i++) dot += v->left[i] * v->right[i];
    for (int64_t i = 0; i < n; i++) v->left[i] /= dot;
}

static lt_status eig_grad(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    const lt_shape *sm = &p->in[0].shape, *sg = &p->in[2].shape;
    int64_t n = sm->dim[sm->rank - 1], n_m = lt_leading_count(sm, sm->rank - 2), n_g = lt_leading_count(sg, sg->rank - 2);
    eigenpair v = { (cplx *)work, (cplx *)work + n * n, (cplx *)work + n * n + n, (int64_t *)(work + 2 * n * n + 4 * n) };
    for (int64_t i = 0; i < n_g * n * n; i++) out[i] = 0;
    for (int64_t b = 0; b < n_m; b++)
        for (int64_t i = 0; i < n; i++) {
            const double *w = in[1] + b * 2 * n;
            bool ready = false;
            for (int64_t l = b; l < n_g; l += n_m) {
                double g_re = in[2][l * 2 * n + i], g_im = in[2][l * 2 * n + n + i];
                if (g_re == 0 && g_im == 0) continue;
                if (!ready) eigenvectors(in[0] + b * n * n, n, w[i] + I * w[n + i], &v);
                ready = true;
                for (int64_t j = 0; j < n * n; j++) {
                    cplx d = v.left[j / n] * v.right[j % n];
                    out[l * n * n + j] += g_re * creal(d) + g_im * cimag(d);
                }
            }
        }
    return LT_OK;
}

lt_status lt_eig_grad_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1];
    return lt_ref_prepare(p, "eig_grad_ref", eig_grad, 2 * n * n + 5 * n, 8.0 * (double)n * (double)(n * n), out);
}
