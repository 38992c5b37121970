/* Cells of a picture of rollouts: aggregates over realizations. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/visualize.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

const char *const *lt_aggregate_names(void)
{
    static const char *const names[] = { "mean", "envelope", "entropy", "variance", "stddev", "overlay", "pca", "ssim", "spectral", NULL };
    return names;
}

enum { CHANNELS = LT_FIELD_CHANNELS, ENTROPY_BINS = 32, PCA_PLANES = 3, POWER_STEPS = 60 };

lt_status lt_cell_maker_create(int m, int grid, lt_cell_maker *out)
{
    size_t pixels = (size_t)grid * (size_t)grid, values = pixels * CHANNELS;
    *out = (lt_cell_maker){ .m = m, .grid = grid };
    out->planes = lt_malloc(LT_MAX(values, pixels * PCA_PLANES) * sizeof *out->planes);
    out->scratch = lt_malloc((size_t)m * values * sizeof *out->scratch);
    /* Fourier: two complex planes and a table; principal components: a Gram matrix, vectors, one plane set. */
    out->work = lt_malloc((6 * pixels + 4 * (size_t)grid + (size_t)m * (size_t)m + 8 * (size_t)m + values) * sizeof *out->work);
    if (out->planes && out->scratch && out->work) return LT_OK;
    lt_cell_maker_release(out);
    return LT_ERR_MEMORY;
}

void lt_cell_maker_release(lt_cell_maker *k)
{
    lt_free(k->planes);
    lt_free(k->scratch);
    lt_free(k->work);
    *k = (lt_cell_maker){ 0 };
}

/* ---- Moments ------------------------------------------------------------------------------------------- */

static void average(const lt_cell_maker *k, const float *x, float *out)
{
    int64_t n = (int64_t)CHANNELS * k->grid * k->grid;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int m = 0; m < k->m; m++) sum += x[m * n + i];
        out[i] = (float)(sum / k->m);
    }
}

/* Spread of one element over realizations: variance, standard deviation, or max - min. */
static double spread_of(const lt_cell_maker *k, lt_aggregate which, const float *x, int64_t stride)
{
    double sum = 0, square = 0, lo = x[0], hi = x[0];
    for (int m = 0; m < k->m; m++) {
        sum += x[m * stride];
        lo = fmin(lo, x[m * stride]);
        hi = fmax(hi, x[m * stride]);
    }
    if (which == LT_AGGREGATE_ENVELOPE) return hi - lo;
    for (int m = 0; m < k->m; m++) square += pow(x[m * stride] - sum / k->m, 2);
    double variance = k->m > 1 ? square / (k->m - 1) : 0;
    return which == LT_AGGREGATE_VARIANCE ? variance : sqrt(variance);
}

static void spread(const lt_cell_maker *k, lt_aggregate which, const float *x, float *out)
{
    int64_t pixels = (int64_t)k->grid * k->grid, n = CHANNELS * pixels;
    for (int64_t p = 0; p < pixels; p++) {
        double square = 0;
        for (int c = 0; c < CHANNELS; c++) square += pow(spread_of(k, which, x + c * pixels + p, n), 2);
        out[p] = (float)sqrt(square);
    }
}

/* Entropy of the M x C values of a pixel, in bins over the range of all of them. */
static void entropy(const lt_cell_maker *k, const float *x, float *out)
{
    int64_t pixels = (int64_t)k->grid * k->grid, n = CHANNELS * pixels;
    float lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < k->m * n; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    float scale = hi > lo ? ENTROPY_BINS / (hi - lo) : 0;
    for (int64_t p = 0; p < pixels; p++) {
        double count[ENTROPY_BINS] = { 0 }, sum = 0, total = 0;
        for (int m = 0; m < k->m; m++)
            for (int c = 0; c < CHANNELS; c++) {
                float v = x[m * n + c * pixels + p];
                if (!isfinite(v)) continue;
                count[LT_MIN((int)((v - lo) * scale), ENTROPY_BINS - 1)]++;
                total++;
            }
        for (int b = 0; b < ENTROPY_BINS; b++)
            if (count[b] > 0) sum -= count[b] / total * log2(count[b] / total);
        out[p] = (float)sum;
    }
}

/* ---- Similarity ---------------------------------------------------------------------------------------- */

static double ssim_pair(const float *a, const float *b, int64_t pixels)
{
    const double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
    double ma = 0, mb = 0, va = 0, vb = 0, cov = 0;
    for (int c = 0; c < CHANNELS; c++) ma += a[c * pixels] / (double)CHANNELS, mb += b[c * pixels] / (double)CHANNELS;
    for (int c = 0; c < CHANNELS; c++) {
        double da = a[c * pixels] - ma, db = b[c * pixels] - mb;
        va += da * da / CHANNELS, vb += db * db / CHANNELS, cov += da * db / CHANNELS;
    }
    return (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
}

static void ssim(const lt_cell_maker *k, const float *x, float *out)
{
    int64_t pixels = (int64_t)k->grid * k->grid, n = CHANNELS * pixels;
    int pairs = k->m * (k->m - 1) / 2;
    for (int64_t p = 0; p < pixels; p++) {
        double sum = 0;
        for (int a = 0; a < k->m; a++)
            for (int b = a + 1; b < k->m; b++) sum += ssim_pair(x + a * n + p, x + b * n + p, pixels);
        out[p] = pairs ? (float)(sum / pairs) : 1;
    }
}

/* ---- Spectrum ------------------------------------------------------------------------------------------- */

/* Discrete Fourier transform along one axis of a complex plane, by its definition: grids are small. */
static void transform(int g, const double *table, const double *in, double *out, bool rows)
{
    int64_t step = rows ? 1 : g, line = rows ? g : 1;
    for (int l = 0; l < g; l++)
        for (int f = 0; f < g; f++) {
            double re = 0, im = 0;
            for (int i = 0; i < g; i++) {
                const double *v = in + 2 * (l * line + i * step), *w = table + 2 * ((int64_t)f * i % g);
                re += v[0] * w[0] - v[1] * w[1];
                im += v[0] * w[1] + v[1] * w[0];
            }
            out[2 * (l * line + f * step)] = re;
            out[2 * (l * line + f * step) + 1] = im;
        }
}

/* log10 of the mean power of the channel mean, frequency 0 in the middle. */
static void spectral(lt_cell_maker *k, const float *x, float *out)
{
    int g = k->grid;
    int64_t pixels = (int64_t)g * g, n = CHANNELS * pixels;
    double *a = k->work, *b = a + 2 * pixels, *power = b + 2 * pixels, *table = power + pixels;
    for (int i = 0; i < g; i++) table[2 * i] = cos(2 * M_PI * i / g), table[2 * i + 1] = -sin(2 * M_PI * i / g);
    memset(power, 0, (size_t)pixels * sizeof *power);
    for (int m = 0; m < k->m; m++) {
        const float *s = x + m * n;
        for (int64_t p = 0; p < pixels; p++) a[2 * p] = ((double)s[p] + s[pixels + p] + s[2 * pixels + p]) / 3, a[2 * p + 1] = 0;
        transform(g, table, a, b, true);
        transform(g, table, b, a, false);
        for (int64_t p = 0; p < pixels; p++) power[p] += (a[2 * p] * a[2 * p] + a[2 * p + 1] * a[2 * p + 1]) / k->m;
    }
    for (int y = 0; y < g; y++)
        for (int c = 0; c < g; c++) out[((y + g / 2) % g) * g + (c + g / 2) % g] = (float)log10(power[y * g + c] + 1e-10);
}

/* ---- Principal components -------------------------------------------------------------------------------- */

/* The leading eigenvector of a symmetric matrix, orthogonal to those found before, by power iteration. */
static void leading_vector(const double *gram, int m, const double *before, int n_before, double *v, double *next)
{
    for (int i = 0; i < m; i++) v[i] = 1.0 / (i + 1 + n_before);
    for (int it = 0; it < POWER_STEPS; it++) {
        double norm = 0;
        for (int i = 0; i < m; i++) {
            next[i] = 0;
            for (int j = 0; j < m; j++) next[i] += gram[i * m + j] * v[j];
        }
        for (int b = 0; b < n_before; b++) {
            double dot = 0;
            for (int i = 0; i < m; i++) dot += next[i] * before[b * m + i];
            for (int i = 0; i < m; i++) next[i] -= dot * before[b * m + i];
        }
        for (int i = 0; i < m; i++) norm += next[i] * next[i];
        if (norm < 1e-300) {
            memset(v, 0, (size_t)m * sizeof *v);
            return;
        }
        for (int i = 0; i < m; i++) v[i] = next[i] / sqrt(norm);
    }
}

/* First three right singular vectors of the centred states [M, 3 G G], norm over channels, as three planes. */
static void principal(lt_cell_maker *k, const float *x, float *out)
{
    int64_t pixels = (int64_t)k->grid * k->grid, n = CHANNELS * pixels;
    double *gram = k->work, *vectors = gram + (int64_t)k->m * k->m, *next = vectors + PCA_PLANES * k->m, *right = next + k->m;
    float *mean = k->scratch;
    average(k, x, mean);
    for (int a = 0; a < k->m; a++)
        for (int b = 0; b <= a; b++) {
            double dot = 0;
            for (int64_t i = 0; i < n; i++) dot += ((double)x[a * n + i] - mean[i]) * ((double)x[b * n + i] - mean[i]);
            gram[a * k->m + b] = gram[b * k->m + a] = dot;
        }
    for (int v = 0; v < PCA_PLANES; v++) {
        double size = 0;
        leading_vector(gram, k->m, vectors, v, vectors + v * k->m, next);
        for (int64_t i = 0; i < n; i++) {
            right[i] = 0;
            for (int m = 0; m < k->m; m++) right[i] += vectors[v * k->m + m] * ((double)x[m * n + i] - mean[i]);
            size += right[i] * right[i];
        }
        size = size > 0 ? sqrt(size) : 1;
        for (int64_t p = 0; p < pixels; p++)
            out[v * pixels + p] = (float)(sqrt(right[p] * right[p] + right[pixels + p] * right[pixels + p] + right[2 * pixels + p] * right[2 * pixels + p]) / size);
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------- */

void lt_cell_aggregate(lt_cell_maker *k, lt_aggregate which, const float *states, lt_cell *out)
{
    *out = (lt_cell){ 1, k->planes };
    switch (which) {
    case LT_AGGREGATE_ENTROPY:  entropy(k, states, k->planes); break;
    case LT_AGGREGATE_SSIM:     ssim(k, states, k->planes); break;
    case LT_AGGREGATE_SPECTRAL: spectral(k, states, k->planes); break;
    case LT_AGGREGATE_PCA:
        principal(k, states, k->planes);
        out->planes = PCA_PLANES;
        break;
    case LT_AGGREGATE_VARIANCE:
    case LT_AGGREGATE_STDDEV:
    case LT_AGGREGATE_ENVELOPE: spread(k, which, states, k->planes); break;
    default:
        average(k, states, k->planes);
        out->planes = CHANNELS;
    }
}

void lt_cell_range(lt_cell_maker *k, const lt_cell *cell, float *lo, float *hi)
{
    lt_image_quantiles(cell->value, (int64_t)cell->planes * k->grid * k->grid, k->scratch, lo, hi);
}

void lt_cell_draw(lt_cell_maker *k, const lt_cell *cell, float lo, float hi, const uint8_t table[256][3], lt_image *m, lt_rect where)
{
    if (cell->planes == 1) lt_image_plane(m, where, cell->value, k->grid, k->grid, lo, hi, table);
    else lt_image_colour_planes(m, where, cell->value, k->grid, k->grid, lo, hi);
}
