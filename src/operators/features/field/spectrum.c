/* Spectra of one channel and their values: bands, centroids, flatness, rolloff.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/field.h"

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

/* The first bin as strong as the strongest, up to the rounding of the transform: conjugate rows and
   symmetric fields tie exactly on paper and differ in the last digits here. */
static int64_t dominant_bin(const lt_field_plan *p, const lt_field_work *w, double max)
{
    double enough = max * (1 - 1e-10);
    for (int64_t i = 0; i < p->n_bins; i++)
        if (w->power[i] >= enough) return i;
    return 0;
}

/* The number of strongest bins that together hold 85 % of the power. Bins are put into buckets by the leading bits of their power; only the
   bucket that reaches 85 % is sorted. */
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

void lt_spectrum_measure(const lt_field_plan *p, lt_field_work *w, lt_spectrum_record *out)
{
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
    lt_power_sums third[LT_RECORD_THIRDS];
    int64_t bin = dominant_bin(p, w, max);
    *out = (lt_spectrum_record){ .total = total, .x = px, .xx = pxx, .y = py, .yy = pyy, .dominant_bin = (int)bin, .dominant = w->power[bin] };
    sum_bands(p, w, &p->scales, out->scale);
    sum_bands(p, w, &p->thirds, third);
    for (int b = 0; b < LT_RECORD_THIRDS; b++) out->third[b] = third[b].sum;
    out->log_sum = p->loops->log_sum(w->power, p->n_bins, 1e-10);
    out->rolloff_bin = (int)rolloff_bin(p, w, total);
}

/* ---- Values ------------------------------------------------------------------------------ */
static void scale_values(const lt_field_plan *p, const lt_power_sums *band, double *value)
{
    const lt_feature_set *set = p->set;
    for (int b = 0; b < p->scales.n_bands; b++) {
        double n = (double)p->scales.count[b] + 1e-8, all = (double)p->n_bins;
        double variance = (band[b].square - band[b].sum * band[b].sum / all) / (all - 1) / n;
        value[set->slot[LT_F_POWER_MEAN] + b] = band[b].sum / n;
        value[set->slot[LT_F_POWER_MAX] + b] = LT_MIN(band[b].max / n, 1e6);
        value[set->slot[LT_F_POWER_STD] + b] = p->n_bins > 1 && variance > 0 ? sqrt(variance) : 0;
    }
}

void lt_spectral_values(const lt_field_plan *p, const lt_spectrum_record *s, double *value)
{
    const lt_feature_set *set = p->set;
    scale_values(p, s->scale, value);
    AT(DOMINANT_X) = (double)(s->dominant_bin % p->half) / p->g;
    AT(DOMINANT_Y) = (double)(s->dominant_bin / p->half) / p->g;
    AT(DOMINANT_POWER) = s->dominant;

    double divisor = s->total + 1e-8, cx = s->x / divisor, cy = s->y / divisor;
    double spread = s->xx + s->yy - 2 * (cx * s->x + cy * s->y) + (cx * cx + cy * cy) * s->total;
    AT(CENTROID_X) = cx;
    AT(CENTROID_Y) = cy;
    AT(BANDWIDTH) = sqrt(LT_MAX(spread, 0) / divisor + 1e-8);
    AT(LOW_RATIO) = s->third[0] / divisor;
    AT(MID_RATIO) = s->third[1] / divisor;
    AT(HIGH_RATIO) = s->third[2] / divisor;

    double bins = (double)p->n_bins;
    AT(FLATNESS) = exp(s->log_sum / bins) / (s->total / bins + 1e-10);
    AT(ROLLOFF) = (double)s->rolloff_bin / bins;
    AT(ANISOTROPY) = set->opt.corrected ? s->xx / (s->yy + 1e-8) : s->total / divisor;
}
