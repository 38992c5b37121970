/* Spectral values of one channel: bands, centroids, flatness, rolloff.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/feature_field.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

#define AT(id) value[set->slot[LT_F_##id]]

void lt_field_power(const lt_field_plan *p, lt_field_work *w, const float *u)
{
    p->loops->widen(u, p->n, w->plane);
    /* One item on the calling thread: the kernel cannot fail on shapes it was prepared for. */
    p->fft->run(p->fft, NULL, (void *[]){ w->plane, w->spectrum, w->scratch });
    p->loops->power(w->spectrum, p->n_bins, 1.0 / (double)p->n, w->power);
}

static double signed_frequency(const lt_field_plan *p, int i) { return (double)(2 * i < p->g ? i : i - p->g) / p->g; }

/* Bands in row order: each is a run of bins in every row. */
static void sum_bands(const lt_field_plan *p, const lt_field_work *w, const lt_band_map *map, lt_power_sums *band)
{
    memset(band, 0, (size_t)map->n_bands * sizeof *band);
    for (int i = 0; i < p->g; i++) {
        const int32_t *edge = map->edge + (int64_t)i * (map->n_bands + 1);
        const double *row = w->power + (int64_t)i * p->half;
        for (int b = 0; b < map->n_bands; b++)
            if (edge[b + 1] > edge[b]) p->loops->segment(row + edge[b], edge[b + 1] - edge[b], &band[b]);
    }
}

static void scale_values(const lt_field_plan *p, const lt_field_work *w, double *value)
{
    const lt_feature_set *set = p->set;
    lt_power_sums band[LT_MAX_FFT_SCALES];
    sum_bands(p, w, &p->scales, band);
    for (int b = 0; b < p->scales.n_bands; b++) {
        double n = (double)p->scales.count[b] + 1e-8, all = (double)p->n_bins;
        double variance = (band[b].square - band[b].sum * band[b].sum / all) / (all - 1) / n;
        value[set->slot[LT_F_POWER_MEAN] + b] = band[b].sum / n;
        value[set->slot[LT_F_POWER_MAX] + b] = LT_MIN(band[b].max / n, 1e6);
        value[set->slot[LT_F_POWER_STD] + b] = p->n_bins > 1 && variance > 0 ? sqrt(variance) : 0;
    }
}

/* The first bin as strong as the strongest, up to the rounding of the transform: conjugate rows and
   symmetric fields tie exactly on paper and differ in the last digits here. */
static int64_t dominant_bin(const lt_field_plan *p, const lt_field_work *w, double max)
{
    double enough = max * (1 - 1e-10);
    for (int64_t i = 0; i < p->n_bins; i++)
        if (w->power[i] >= enough) return i;
    return 0;
}

/* In how many of the strongest bins, before the one that completes it, 85 % of the power lies. Bins
   are put in buckets by the leading bits of their power; only the bucket that completes it is sorted. */
static int64_t rolloff_bin(const lt_field_plan *p, lt_field_work *w, double total)
{
    enum { SHIFT = 20 };
    uint32_t count[LT_BUCKETS] = { 0 };
    double sum[LT_BUCKETS] = { 0 };
    for (int64_t i = 0; i < p->n_bins; i++) {
        float key = (float)w->power[i];
        uint32_t bits;
        memcpy(&bits, &key, sizeof bits);
        bits >>= SHIFT;
        w->bucket[i] = (uint16_t)bits;
        count[bits]++;
        sum[bits] += w->power[i];
    }
    double reached = 0, goal = 0.85 * total;
    int64_t before = 0;
    int b = LT_BUCKETS - 1;
    for (; b > 0 && reached + sum[b] < goal; b--) {
        reached += sum[b];
        before += count[b];
    }
    double *list = w->plane;
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_bins; i++)
        if (w->bucket[i] == b) list[n++] = w->power[i];
    lt_sort_numbers(list, n);
    int64_t k = 0;
    while (k < n - 1 && (reached += list[n - 1 - k]) < goal) k++;
    return before + k;
}

void lt_spectral_values(const lt_field_plan *p, lt_field_work *w, double *value)
{
    const lt_feature_set *set = p->set;
    double total = 0, px = 0, pxx = 0, py = 0, pyy = 0, max = 0;
    for (int i = 0; i < p->g; i++) {
        lt_row_sums row;
        double ky = signed_frequency(p, i);
        p->loops->row(w->power + (int64_t)i * p->half, p->half, &row);
        total += row.p;
        px += row.px / p->g;
        pxx += row.pxx / p->g / p->g;
        py += ky * row.p;
        pyy += ky * ky * row.p;
        max = LT_MAX(max, row.max);
    }
    scale_values(p, w, value);

    int64_t bin = dominant_bin(p, w, max);
    AT(DOMINANT_X) = (double)(bin % p->half) / p->g;
    AT(DOMINANT_Y) = (double)(bin / p->half) / p->g;
    AT(DOMINANT_POWER) = w->power[bin];

    double divisor = total + 1e-8, cx = px / divisor, cy = py / divisor;
    double spread = pxx + pyy - 2 * (cx * px + cy * py) + (cx * cx + cy * cy) * total;
    AT(CENTROID_X) = cx;
    AT(CENTROID_Y) = cy;
    AT(BANDWIDTH) = sqrt(LT_MAX(spread, 0) / divisor + 1e-8);

    lt_power_sums third[LT_SMALL_RANGES];
    sum_bands(p, w, &p->thirds, third);
    AT(LOW_RATIO) = third[0].sum / divisor;
    AT(MID_RATIO) = third[1].sum / divisor;
    AT(HIGH_RATIO) = third[2].sum / divisor;

    double bins = (double)p->n_bins;
    AT(FLATNESS) = exp(p->loops->log_sum(w->power, p->n_bins, 1e-10) / bins) / (total / bins + 1e-10);
    AT(ROLLOFF) = (double)rolloff_bin(p, w, total) / bins;
    AT(ANISOTROPY) = set->opt.corrected ? pxx / (pyy + 1e-8) : total / divisor;
}
