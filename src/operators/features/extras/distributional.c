/* Entropies of one channel: of its spectrum, its singular values, and coarse copies.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { SAMPLES = 256, COARSE_BINS = 16 };

/* ---- Singular values ------------------------------------------------------------------- */
/* Eigenvalues of a symmetric matrix: Householder reduction to tridiagonal form, then QL with implicit
   shifts (Wilkinson & Reinsch, II/2 and II/3), without vectors. d: result; e: work of g. */
static void tridiagonalise(double *a, int g, double *d, double *e)
{
    for (int i = g - 1; i > 0; i--) {
        double *row = a + (int64_t)i * g, norm = 0;
        for (int k = 0; k < i - 1; k++) norm += row[k] * row[k];
        e[i] = row[i - 1];
        d[i] = row[i];
        if (norm == 0) continue;
        double length = sqrt(norm + e[i] * e[i]), alpha = e[i] > 0 ? -length : length;
        double scale = 1 / (length * length - e[i] * alpha); /* 2 / |v|^2, v = row - alpha at i-1 */
        row[i - 1] -= alpha;
        e[i] = alpha;
        double *p = d; /* p = scale A v, in the part of d not yet used */
        double half = 0;
        for (int j = 0; j < i; j++) {
            double sum = 0;
            for (int k = 0; k <= j; k++) sum += a[(int64_t)j * g + k] * row[k];
            for (int k = j + 1; k < i; k++) sum += a[(int64_t)k * g + j] * row[k];
            p[j] = scale * sum;
            half += p[j] * row[j];
        }
        half *= scale / 2;
        for (int j = 0; j < i; j++) {
            p[j] -= half * row[j];
            for (int k = 0; k <= j; k++) a[(int64_t)j * g + k] -= row[j] * p[k] + p[j] * row[k];
        }
    }
    d[0] = a[0];
    e[0] = 0;
}

static void implicit_ql(double *d, double *e, int g)
{
    for (int i = 1; i < g; i++) e[i - 1] = e[i];
    e[g - 1] = 0;
    for (int l = 0; l < g; l++)
        for (int sweep = 0; sweep < 60; sweep++) {
            int m = l;
            while (m < g - 1 && fabs(e[m]) > 1e-16 * (fabs(d[m]) + fabs(d[m + 1]))) m++;
            if (m == l) break;
            double s = (d[l + 1] - d[l]) / (2 * e[l]), r = hypot(s, 1), sine = 1, cosine = 1, shift = 0;
            s = d[m] - d[l] + e[l] / (s + copysign(r, s));
            int i = m - 1;
            for (; i >= l; i--) {
                double f = sine * e[i], b = cosine * e[i];
                e[i + 1] = r = hypot(f, s);
                if (r == 0) {
                    d[i + 1] -= shift;
                    e[m] = 0;
                    break;
                }
                sine = f / r;
                cosine = s / r;
                s = d[i + 1] - shift;
                r = (d[i] - s) * sine + 2 * cosine * b;
                shift = sine * r;
                d[i + 1] = s + shift;
                s = cosine * r - b;
            }
            if (r == 0 && i >= l) continue;
            d[l] -= shift;
            e[l] = s;
            e[m] = 0;
        }
}

/* Squares of the singular values of a (g x g) matrix, ascending; the matrix is destroyed. By the eigenvalues of its Gram matrix in work. */
static void singular_squares(double *a, int g, double *work, double *out)
{
    for (int i = 0; i < g; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < g; k++) sum += a[(int64_t)i * g + k] * a[(int64_t)j * g + k];
            work[(int64_t)i * g + j] = sum;
        }
    tridiagonalise(work, g, out, a); /* a is free now: its first row serves as off-diagonal */
    implicit_ql(out, a, g);
    for (int i = 0; i < g; i++) out[i] = fmax(out[i], 0);
    lt_sort_numbers(out, g);
}

static void singular_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, double *value)
{
    const lt_feature_set *set = p->set;
    double *square = x->plane[2], total = 0, squares = 0, fourth = 0, entropy = 0, sum = 0;
    int g = p->g, components = 0;
    p->loops->widen(u, p->n, x->plane[0]);
    singular_squares(x->plane[0], g, x->plane[1], square);
    for (int i = 0; i < g; i++) {
        total += sqrt(square[i]);
        squares += square[i];
        fourth += square[i] * square[i];
    }
    for (int i = 0; i < g && total > 0; i++) {
        double share = sqrt(square[i]) / total;
        entropy -= share * log(share + 1e-10);
    }
    while (components < g && squares > 0 && sum < 0.9 * squares) sum += square[g - 1 - components++];
    AT(SVD_ENTROPY) = entropy;
    AT(SVD_PARTICIPATION) = fourth > 0 ? squares * squares / fourth / g : 0;
    AT(SVD_COMPRESSION) = (double)components / g;
}

/* ---- Entropies ---------------------------------------------------------------------------- */
static double lag_sum(const double *d, int n, int lag)
{
    double sum = 0;
    for (int i = 0; i + lag < n; i++) sum += d[i] * d[i + lag];
    return fabs(sum);
}

static double sample_entropy(const lt_field_plan *p, const float *u)
{
    double d[SAMPLES], mean = 0;
    int n = (int)LT_MIN(p->n, SAMPLES);
    int64_t stride = p->n / n;
    for (int i = 0; i < n; i++) mean += (d[i] = (double)u[i * stride]) / n;
    for (int i = 0; i < n; i++) d[i] -= mean;
    return fmin(fmax(-log((lag_sum(d, n, 3) + 1e-10) / (lag_sum(d, n, 2) + 1e-10)), 0), 10);
}

static double spectral_entropy(const lt_field_plan *p, const lt_extra_work *x, const float *u)
{
    int64_t n_bins = p->n / 2 + 1;
    double total = 0, entropy = 0;
    p->loops->widen(u, p->n, x->plane[0]);
    p->line_fft->run(p->line_fft, NULL, (void *[]){ x->plane[0], x->line, x->scratch });
    p->loops->power(x->line, n_bins, 1.0 / (double)p->n, x->plane[1]);
    for (int64_t k = 0; k < n_bins; k++) total += x->plane[1][k];
    for (int64_t k = 0; k < n_bins; k++) {
        double share = x->plane[1][k] / (total + 1e-10);
        entropy -= share * log(share + 1e-10);
    }
    return fmin(fmax(entropy, 0), 10);
}

/* Entropy of a histogram of the averages over blocks of `block` x `block`. */
static double coarse_entropy(const lt_field_plan *p, const lt_extra_work *x, const float *u, int block)
{
    int h = p->g / block;
    double lo = INFINITY, hi = -INFINITY, *mean = x->plane[0];
    uint32_t count[COARSE_BINS] = { 0 };
    if (h < 1) return 0;
    for (int i = 0; i < h * h; i++) {
        double sum = 0;
        for (int y = 0; y < block; y++)
            for (int k = 0; k < block; k++) sum += (double)u[((int64_t)(i / h) * block + y) * p->g + (int64_t)(i % h) * block + k];
        mean[i] = sum / (block * block);
        lo = fmin(lo, mean[i]);
        hi = fmax(hi, mean[i]);
    }
    for (int i = 0; i < h * h; i++) count[(int)((mean[i] - lo) / (hi - lo + 1e-8) * (COARSE_BINS - 1))]++;
    return lt_bin_entropy(count, COARSE_BINS, (int64_t)h * h);
}

void lt_distributional_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, double *value)
{
    const lt_feature_set *set = p->set;
    AT(SAMPLE_ENTROPY) = sample_entropy(p, u);
    if (set->stored[LT_F_APPROXIMATE_ENTROPY]) AT(APPROXIMATE_ENTROPY) = spectral_entropy(p, x, u);
    if (set->stored[LT_F_SVD_ENTROPY] || set->stored[LT_F_SVD_PARTICIPATION] || set->stored[LT_F_SVD_COMPRESSION])
        singular_values(p, x, u, value);
    for (int k = 0; k < set->opt.num_entropy_scales; k++)
        value[set->slot[LT_F_COARSE_ENTROPY] + k] = coarse_entropy(p, x, u, 2 << k);
}
