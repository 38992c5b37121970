/* Haar wavelets and a Laplacian pyramid of one channel. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"

#include "base/status.h"

#include <math.h>

/* One orthonormal Haar level of a (g x g) plane: averages to `to` (g/2 x g/2), the three detail bands
   into sums. */
typedef struct detail { double sum_abs, sum, square; } detail;

static detail haar(const double *from, int g, double *to)
{
    detail d = { 0 };
    int h = g / 2;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < h; x++) {
            const double *top = from + (int64_t)(2 * y) * g + 2 * x, *low = top + g;
            double a = top[0], b = top[1], c = low[0], e = low[1];
            double band[3] = { (a - b + c - e) / 2, (a + b - c - e) / 2, (a - b - c + e) / 2 };
            to[(int64_t)y * h + x] = (a + b + c + e) / 2;
            for (int k = 0; k < 3; k++) {
                d.sum += band[k];
                d.sum_abs += fabs(band[k]);
                d.square += band[k] * band[k];
            }
        }
    return d;
}

static void wavelet_values(const lt_field_plan *p, double *from, double *to, double *value)
{
    const lt_feature_set *set = p->set;
    for (int l = 0, g = p->g; l < set->opt.num_wavelet_levels; l++, g /= 2) {
        double energy = 0, mean = 0, std = 0, n = 3.0 * (g / 2) * (g / 2);
        if (g >= 2) {
            detail d = haar(from, g, to);
            energy = d.square / (n / 3);
            mean = d.sum_abs / n;
            std = sqrt(fmax(d.square - d.sum * d.sum / n, 0) / (n - 1));
        }
        value[set->slot[LT_F_WAVELET_ENERGY] + l] = energy;
        value[set->slot[LT_F_WAVELET_MEAN] + l] = mean;
        value[set->slot[LT_F_WAVELET_STD] + l] = std;
        double *t = from;
        from = to;
        to = t;
    }
}

/* ---- Pyramid --------------------------------------------------------------------------------- */
static double at_zero(const double *u, int g, int y, int x) { return y < 0 || y >= g || x < 0 || x >= g ? 0 : u[(int64_t)y * g + x]; }

/* 5 x 5 Gaussian of sigma 1, zero padded, then the average of 2 x 2: one output at a time. */
static void reduce(const double *u, int g, double *to)
{
    double tap[5], total = 0;
    for (int k = 0; k < 5; k++) total += tap[k] = exp(-0.5 * (k - 2) * (k - 2));
    double both[6] = { 0 }; /* the average of two neighbours filters with the taps at both places */
    for (int k = 0; k < 5; k++) {
        both[k] += 0.5 * tap[k] / total;
        both[k + 1] += 0.5 * tap[k] / total;
    }
    int h = g / 2;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < h; x++) {
            double sum = 0;
            for (int i = 0; i < 6; i++)
                for (int j = 0; j < 6; j++) sum += both[i] * both[j] * at_zero(u, g, 2 * y + i - 2, 2 * x + j - 2);
            to[(int64_t)y * h + x] = sum;
        }
}

/* Bilinear at half-pixel centres, edges held: value of the (h x h) plane seen from a (g x g) one. */
static double upsampled(const double *u, int h, int g, int y, int x)
{
    double scale = (double)h / g, sy = fmax((y + 0.5) * scale - 0.5, 0), sx = fmax((x + 0.5) * scale - 0.5, 0);
    int y0 = LT_MIN((int)sy, h - 1), x0 = LT_MIN((int)sx, h - 1), y1 = LT_MIN(y0 + 1, h - 1), x1 = LT_MIN(x0 + 1, h - 1);
    double wy = sy - y0, wx = sx - x0;
    const double *a = u + (int64_t)y0 * h, *b = u + (int64_t)y1 * h;
    return (1 - wy) * ((1 - wx) * a[x0] + wx * a[x1]) + wy * ((1 - wx) * b[x0] + wx * b[x1]);
}

static void pyramid_values(const lt_field_plan *p, double *from, double *to, double *value)
{
    const lt_feature_set *set = p->set;
    for (int l = 0, g = p->g; l < set->opt.num_pyramid_levels; l++, g /= 2) {
        double energy = 0, contrast = 0, n = (double)g * g, sum = 0, square = 0;
        if (g >= 2) {
            reduce(from, g, to);
            for (int y = 0; y < g; y++)
                for (int x = 0; x < g; x++) {
                    double d = from[(int64_t)y * g + x] - upsampled(to, g / 2, g, y, x);
                    sum += d;
                    square += d * d;
                }
            energy = square / n;
            contrast = sqrt(fmax(square - sum * sum / n, 0) / (n - 1));
        }
        value[set->slot[LT_F_PYRAMID_ENERGY] + l] = energy;
        value[set->slot[LT_F_PYRAMID_CONTRAST] + l] = contrast;
        double *t = from;
        from = to;
        to = t;
    }
}

void lt_multiscale_values(const lt_field_plan *p, const lt_extra_work *x, const float *u, double *value)
{
    p->loops->widen(u, p->n, x->plane[0]);
    wavelet_values(p, x->plane[0], x->plane[1], value);
    p->loops->widen(u, p->n, x->plane[0]);
    pyramid_values(p, x->plane[0], x->plane[1], value);
}
