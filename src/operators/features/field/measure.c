/* Records of states by the CPU's loops. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/field.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

/* Quantiles lie between order statistics; the median of the deviations is the lower of the middle two. */
static void measure_order(const lt_field_plan *p, lt_field_work *w, const float *u, lt_channel_record *out)
{
    enum { N = LT_RECORD_QUANTILES };
    int64_t wanted[2 * N + 1], middle = (p->n - 1) / 2;
    float found[2 * N + 1];
    for (int i = 0; i < N; i++) {
        (void)lt_quantile_rank(lt_field_quantile[i], p->n, &wanted[2 * i]);
        wanted[2 * i + 1] = LT_MIN(wanted[2 * i] + 1, p->n - 1);
    }
    /* On tiny grids neighbouring ranks may overlap: sorted, then looked up again. */
    int64_t sorted[2 * N + 1];
    int n_sorted = 0;
    wanted[2 * N] = middle;
    for (int i = 0; i <= 2 * N; i++) {
        int at = n_sorted++;
        for (; at > 0 && sorted[at - 1] > wanted[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = wanted[i];
    }
    lt_order_statistics(p, w, u, out->range.lo, out->range.hi, sorted, n_sorted, found);
    for (int i = 0; i <= 2 * N; i++) {
        int at = 0;
        while (sorted[at] != wanted[i]) at++;
        if (i < 2 * N) out->order.quantile[i / 2][i % 2] = found[at];
        else out->order.median = found[at];
    }
    float median = out->order.median, farthest = LT_MAX(out->range.hi - median, median - out->range.lo);
    p->loops->distances(u, p->n, median, w->high);
    lt_order_statistics(p, w, w->high, 0, farthest, &middle, 1, &out->order.deviation);
}

/* Without wrapping around, as the corrected means need it: of central differences over the columns
   (rows) that have both neighbours, they telescope to the two borders. */
static void measure_open(const lt_field_plan *p, const float *u, lt_open_sums *out)
{
    int g = p->g;
    double gx = 0, gy = 0, laplacian = 0;
    for (int i = 0; i < g && g > 2; i++) {
        const float *row = u + (int64_t)i * g, *bottom = u + (int64_t)(g - 1) * g;
        gx += 0.5 * ((double)row[g - 1] + (double)row[g - 2] - (double)row[1] - (double)row[0]);
        gy += 0.5 * ((double)bottom[i] + (double)(bottom - g)[i] - (double)u[g + i] - (double)u[i]);
    }
    for (int y = 1; y < g - 1; y++)
        for (int x = 1; x < g - 1; x++) {
            const float *at = u + (int64_t)y * g + x;
            laplacian += (double)at[1] + (double)at[-1] + (double)at[g] + (double)at[-g] - 4 * (double)at[0];
        }
    *out = (lt_open_sums){ gx, gy, laplacian };
}

/* Norms and entropy of the field, its low-pass and its high-pass part. */
static void measure_invariants(const lt_field_plan *p, lt_field_work *w, const float *u, lt_channel_record *out)
{
    const lt_feature_options *o = &p->set->opt;
    const float *field[LT_FILTERS] = { u, w->low, w->high };
    if (o->num_scales > 1) p->loops->blur(u, p->g, p->weight, p->radius, w->rows, w->low, w->high);
    for (int i = 0; i < o->num_scales; i++) {
        uint32_t count[LT_MAX_ENTROPY_BINS];
        p->loops->norms(field[i], p->g, &out->norm[i]);
        lt_field_bins(p, field[i], out->norm[i].lo, out->norm[i].hi, o->entropy_num_bins, w->bin);
        lt_count_bins(w->bin, p->n, o->entropy_num_bins, count);
        out->entropy[i] = lt_bin_entropy(count, o->entropy_num_bins, p->n);
    }
}

bool lt_field_measure(const lt_field_plan *p, lt_field_work *w, const float *u, const float *before, lt_channel_record *out, uint8_t *mi_bin)
{
    const lt_feature_set *set = p->set;
    bool spatial = set->wanted[LT_CATEGORY_SPATIAL] || set->wanted_extra;
    p->loops->range(u, p->n, &out->range);
    if (!isfinite(out->range.sum)) return false;
    double mean = out->range.sum / (double)p->n;
    p->loops->moments(u, p->n, mean, &out->moments);
    if (spatial) measure_order(p, w, u, out);
    if (spatial || set->wanted[LT_CATEGORY_CAUSALITY]) p->loops->gradients(u, p->g, w->rows, &out->gradient);
    if (spatial && set->opt.corrected) measure_open(p, u, &out->open);
    if (set->wanted[LT_CATEGORY_INVARIANT_DRIFT] || set->wanted[LT_CATEGORY_TEMPORAL]) measure_invariants(p, w, u, out);
    if (before && set->wanted[LT_CATEGORY_CAUSALITY]) p->loops->flow(before, u, p->g, mean, w->rows, out->flow);
    if (set->wanted[LT_CATEGORY_CROSS_CHANNEL]) lt_field_bins(p, u, out->range.lo, out->range.hi, set->opt.mi_num_bins, mi_bin);
    if (set->wanted[LT_CATEGORY_SPECTRAL] || set->wanted_extra) lt_field_power(p, w, u);
    if (set->wanted[LT_CATEGORY_SPECTRAL]) lt_spectrum_measure(p, w, &out->spectrum);
    return true;
}

static double mutual_information(const uint8_t *a, const uint8_t *b, int64_t n, int n_bins)
{
    uint32_t joint[LT_MAX_MI_BINS * LT_MAX_MI_BINS], of_a[LT_MAX_MI_BINS] = { 0 }, of_b[LT_MAX_MI_BINS] = { 0 };
    memset(joint, 0, (size_t)(n_bins * n_bins) * sizeof *joint);
    for (int64_t i = 0; i < n; i++) joint[a[i] * n_bins + b[i]]++;
    for (int i = 0; i < n_bins; i++)
        for (int j = 0; j < n_bins; j++) {
            of_a[i] += joint[i * n_bins + j];
            of_b[j] += joint[i * n_bins + j];
        }
    double sum = 0, count = (double)n;
    for (int i = 0; i < n_bins; i++)
        for (int j = 0; j < n_bins; j++) {
            double p = joint[i * n_bins + j] / count;
            if (p > 0) sum += p * log(p / (of_a[i] / count * (of_b[j] / count) + 1e-10));
        }
    return sum;
}

void lt_state_measure(const lt_field_plan *p, const float *u, const uint8_t *mi_bin, lt_state_record *out)
{
    double mean[LT_MAX_CHANNELS];
    for (int c = 0; c < LT_MAX_CHANNELS; c++) mean[c] = out->channel[c].range.sum / (double)p->n;
    p->loops->products(u, u + p->n, u + 2 * p->n, p->n, mean, out->product);
    for (int k = 0; k < LT_MAX_CHANNELS; k++)
        out->information[k] = mutual_information(mi_bin + lt_channel_pair[k][0] * p->n, mi_bin + lt_channel_pair[k][1] * p->n, p->n,
                                                 p->set->opt.mi_num_bins);
}
