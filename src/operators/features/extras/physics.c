/* Correlation length, structure factor and fluctuations of one channel.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/extras/extras.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { MAX_RADII = 4097, FACTOR_BINS = 50 };

/* Periodic autocorrelation of u - mean as the inverse transform of its power, averaged over rings
   of radius r - 1/2 to r + 1/2, over that at 0. */
static void radial_autocorrelation(const lt_field_plan *p, const lt_extra_work *x, const lt_field_work *w, double *ring, int n_rings)
{
    int g = p->g;
    double *spectrum = x->plane[0], *map = x->plane[2], count[MAX_RADII] = { 0 };
    for (int64_t i = 0; i < p->n_bins; i++) {
        spectrum[2 * i] = i ? w->power[i] : 0;
        spectrum[2 * i + 1] = 0;
    }
    p->inverse_fft->run(p->inverse_fft, NULL, (void *[]){ spectrum, map, x->scratch });
    memset(ring, 0, (size_t)n_rings * sizeof *ring);
    for (int y = 0; y < g; y++)
        for (int k = 0; k < g; k++) {
            double dy = LT_MIN(y, g - y), dx = LT_MIN(k, g - k);
            int r = (int)(sqrt(dy * dy + dx * dx) + 0.5);
            if (r >= n_rings) continue;
            ring[r] += map[(int64_t)y * g + k];
            count[r]++;
        }
    double zero = ring[0];
    for (int r = 0; r < n_rings; r++) ring[r] = zero > 0 ? ring[r] / count[r] / zero : 0;
}

static void correlation_values(const lt_field_plan *p, const lt_extra_work *x, const lt_field_work *w, double *value)
{
    const lt_feature_set *set = p->set;
    int n_rings = p->g / 2 + 1, quarter = LT_MAX(2, p->g / 8);
    double ring[MAX_RADII], mr = 0, my = 0, rr = 0, ry = 0, peak = 0;
    radial_autocorrelation(p, x, w, ring, n_rings);
    int last = LT_MIN(quarter, n_rings - 1);
    for (int r = 0; r <= last; r++) {
        mr += (double)r / (last + 1);
        my += log(fmax(ring[r], 1e-8)) / (last + 1);
    }
    for (int r = 0; r <= last; r++) {
        rr += (r - mr) * (r - mr);
        ry += (r - mr) * (log(fmax(ring[r], 1e-8)) - my);
    }
    for (int r = 1; r < n_rings; r++) peak = r == 1 ? ring[r] : fmax(peak, ring[r]);
    bool flat = ring[0] == 0;
    double length = flat ? 0 : ry < 0 ? -rr / ry : INFINITY;
    AT(CORRELATION_LENGTH) = fmin(length / (0.5 * p->g), 2);
    AT(CORRELATION_PEAK) = peak;
}

/* Mean power at radial wave numbers 1, 2, ..., in cycles per pixel once divided by g. */
static void factor_values(const lt_field_plan *p, const lt_field_work *w, double *value)
{
    const lt_feature_set *set = p->set;
    int n = LT_MIN(FACTOR_BINS, p->g / 2), best = 0;
    double sum[FACTOR_BINS] = { 0 }, count[FACTOR_BINS] = { 0 }, total = 0, spread = 0;
    for (int y = 0; y < p->g; y++)
        for (int k = 0; k < p->half; k++) {
            double dy = LT_MIN(y, p->g - y);
            int r = (int)(sqrt(dy * dy + (double)k * k) + 0.5);
            if (r < 1 || r > n) continue;
            sum[r - 1] += w->power[(int64_t)y * p->half + k];
            count[r - 1]++;
        }
    for (int r = 0; r < n; r++) {
        sum[r] = count[r] > 0 ? sum[r] / count[r] : 0;
        total += sum[r];
        if (sum[r] > sum[best]) best = r;
    }
    for (int r = 0; r < n; r++) spread += sum[r] * (r - best) * (r - best);
    AT(FACTOR_PEAK_K) = (double)(best + 1) / p->g;
    AT(FACTOR_PEAK) = sum[best];
    AT(FACTOR_WIDTH) = sqrt(spread / (total + 1e-8)) / p->g;
    AT(FACTOR_INTEGRAL) = total;
}

/* Correlation of the means of 3 x 3 neighbourhoods (periodic) with those one column to the right. */
static double clustering(const lt_field_plan *p, const lt_extra_work *x, const float *u)
{
    int g = p->g;
    double *mean = x->plane[0], n = (double)g * (g - 1), ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
    for (int y = 0; y < g; y++)
        for (int k = 0; k < g; k++) {
            double sum = 0;
            for (int i = -1; i <= 1; i++)
                for (int j = -1; j <= 1; j++) sum += (double)u[(int64_t)((y + i + g) % g) * g + (k + j + g) % g];
            mean[(int64_t)y * g + k] = sum / 9;
        }
    for (int y = 0; y < g; y++)
        for (int k = 0; k + 1 < g; k++) {
            ma += mean[(int64_t)y * g + k] / n;
            mb += mean[(int64_t)y * g + k + 1] / n;
        }
    for (int y = 0; y < g; y++)
        for (int k = 0; k + 1 < g; k++) {
            double a = mean[(int64_t)y * g + k] - ma, b = mean[(int64_t)y * g + k + 1] - mb;
            aa += a * a;
            bb += b * b;
            ab += a * b;
        }
    return ab / (sqrt(aa * bb) + 1e-8);
}

void lt_physics_values(const lt_field_plan *p, const lt_extra_work *x, const lt_field_work *w, const float *u, const lt_channel *now,
                       double *value)
{
    const lt_feature_set *set = p->set;
    correlation_values(p, x, w, value);
    factor_values(p, w, value);
    AT(DENSITY_FLUCTUATION) = fmin(now->variance / (now->mean * now->mean + 1e-8), 100);
    AT(COMPRESSIBILITY) = fmin(now->variance / (fabs(now->mean) + 1e-8), 100);
    AT(CLUSTERING) = clustering(p, x, u);
}
