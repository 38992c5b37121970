/* Per-step values of one channel. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/feature_field.h"
#include "operators/feature_extras.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]

static void moment_values(const lt_field_plan *p, const float *u, double *value, lt_channel *now)
{
    const lt_feature_set *set = p->set;
    double n = (double)p->n;
    lt_moment_sums m;
    p->loops->moments(u, p->n, now->mean, &m);
    now->variance = p->n > 1 ? m.m2 / (n - 1) : 0;
    now->std = sqrt(now->variance);
    double scale = LT_MAX(now->std, 1e-4);
    bool flat = now->std < 1e-4;
    AT(MEAN) = now->mean;
    AT(VARIANCE) = now->variance;
    AT(STD) = now->std;
    AT(SKEWNESS) = flat ? 0 : m.m3 / n / (scale * scale * scale);
    AT(KURTOSIS) = flat ? 0 : m.m4 / n / (scale * scale * scale * scale) - 3;
    AT(MINIMUM) = now->lo;
    AT(MAXIMUM) = now->hi;
    AT(RANGE) = (double)now->hi - (double)now->lo;
}

/* Quantiles between order statistics; the median of the deviations is the lower of the middle two. */
static void order_values(const lt_field_plan *p, lt_field_work *w, const float *u, double *value, lt_channel *now)
{
    static const double quantile[] = { 0.05, 0.25, 0.50, 0.75, 0.95 };
    enum { N = LT_LEN(quantile) };
    const lt_feature_set *set = p->set;
    int64_t wanted[2 * N + 1], below[N];
    double weight[N], q[N];
    float found[2 * N + 1];
    for (int i = 0; i < N; i++) {
        weight[i] = lt_quantile_rank(quantile[i], p->n, &below[i]);
        wanted[2 * i] = below[i];
        wanted[2 * i + 1] = LT_MIN(below[i] + 1, p->n - 1);
    }
    /* On tiny grids neighbouring ranks may overlap: sorted, then looked up again. */
    int64_t sorted[2 * N + 1], middle = (p->n - 1) / 2;
    int n_sorted = 0;
    wanted[2 * N] = middle;
    for (int i = 0; i <= 2 * N; i++) {
        int at = n_sorted++;
        for (; at > 0 && sorted[at - 1] > wanted[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = wanted[i];
    }
    lt_order_statistics(p, w, u, now->lo, now->hi, sorted, n_sorted, found);
    double of[2 * N + 1];
    for (int i = 0; i <= 2 * N; i++) {
        int at = 0;
        while (sorted[at] != wanted[i]) at++;
        of[i] = (double)found[at];
    }
    for (int i = 0; i < N; i++) q[i] = of[2 * i] + weight[i] * (of[2 * i + 1] - of[2 * i]);
    AT(PERCENTILE_5) = q[0];
    AT(PERCENTILE_25) = q[1];
    AT(PERCENTILE_50) = q[2];
    AT(PERCENTILE_75) = q[3];
    AT(PERCENTILE_95) = q[4];
    AT(IQR) = q[3] - q[1];
    now->median = (float)of[2 * N];
    p->loops->distances(u, p->n, now->median, w->high);
    float deviation, farthest = LT_MAX(now->hi - now->median, now->median - now->lo);
    lt_order_statistics(p, w, w->high, 0, farthest, &middle, 1, &deviation);
    AT(MAD) = (double)deviation;
}

/* Without wrapping around, as the corrected means need it: of central differences over the columns
   (rows) that have both neighbours, they telescope to the two borders. */
static void open_means(const lt_field_plan *p, const float *u, double *value)
{
    const lt_feature_set *set = p->set;
    int g = p->g;
    double gx = 0, gy = 0, laplacian = 0;
    AT(GRADIENT_X) = AT(GRADIENT_Y) = AT(LAPLACIAN_MEAN) = 0;
    if (g < 3) return;
    for (int i = 0; i < g; i++) {
        const float *row = u + (int64_t)i * g, *bottom = u + (int64_t)(g - 1) * g;
        gx += 0.5 * ((double)row[g - 1] + (double)row[g - 2] - (double)row[1] - (double)row[0]);
        gy += 0.5 * ((double)bottom[i] + (double)(bottom - g)[i] - (double)u[g + i] - (double)u[i]);
    }
    for (int y = 1; y < g - 1; y++)
        for (int x = 1; x < g - 1; x++) {
            const float *at = u + (int64_t)y * g + x;
            laplacian += (double)at[1] + (double)at[-1] + (double)at[g] + (double)at[-g] - 4 * (double)at[0];
        }
    AT(GRADIENT_X) = gx / ((double)g * (g - 2));
    AT(GRADIENT_Y) = gy / ((double)g * (g - 2));
    AT(LAPLACIAN_MEAN) = laplacian / ((double)(g - 2) * (g - 2));
}

static void gradient_values(const lt_field_plan *p, lt_field_work *w, const float *u, double *value, lt_channel *now)
{
    const lt_feature_set *set = p->set;
    double n = (double)p->n;
    lt_gradient_sums s;
    p->loops->gradients(u, p->g, w->rows, &s);
    double variance = p->n > 1 ? (s.x_square + s.y_square - s.magnitude * s.magnitude / n) / (n - 1) : 0;
    now->gradient_x2 = s.x_square;
    now->gradient_y2 = s.y_square;
    AT(GRADIENT_MEAN) = s.magnitude / n;
    AT(GRADIENT_STD) = sqrt(LT_MAX(variance, 0));
    AT(GRADIENT_MAX) = sqrt(s.max_square);
    AT(GRADIENT_ANISOTROPY) = s.x_abs / n / (s.y_abs / n + 1e-8);
    AT(LAPLACIAN_STD) = p->n > 1 ? sqrt(s.laplacian_square / (n - 1)) : 0;
    AT(LAPLACIAN_ENERGY) = s.laplacian_square / n;
    if (set->opt.corrected) open_means(p, u, value);
    else AT(GRADIENT_X) = AT(GRADIENT_Y) = AT(LAPLACIAN_MEAN) = 0; /* periodic differences sum to 0 */
}

/* Norms and entropy of the field, its low-pass and its high-pass part: series of the drift features. */
static void invariant_values(const lt_field_plan *p, lt_field_work *w, const float *u, lt_channel *now)
{
    const lt_feature_options *o = &p->set->opt;
    const float *field[LT_FILTERS] = { u, w->low, w->high };
    if (o->num_scales > 1) p->loops->blur(u, p->g, p->weight, p->radius, w->rows, w->low, w->high);
    for (int i = 0; i < o->num_scales; i++) {
        uint32_t count[LT_MAX_ENTROPY_BINS];
        p->loops->norms(field[i], p->g, &now->norm[i]);
        lt_field_bins(p, field[i], now->norm[i].lo, now->norm[i].hi, o->entropy_num_bins, w->bin);
        lt_count_bins(w->bin, p->n, o->entropy_num_bins, count);
        now->entropy[i] = lt_bin_entropy(count, o->entropy_num_bins, p->n);
    }
    now->square = now->norm[0].square;
}

/* Correlations of the gradient one step ago with this field: biased covariance over unbiased
   deviations; a periodic gradient has mean 0. */
static void flow_values(const lt_field_plan *p, lt_field_work *w, const float *u, const float *before, const lt_channel *last, lt_channel *now)
{
    double sum[2], n = (double)p->n;
    p->loops->flow(before, u, p->g, now->mean, w->rows, sum);
    double of_x = sqrt(last->gradient_x2 / (n - 1)), of_y = sqrt(last->gradient_y2 / (n - 1));
    now->flow[0] = sum[0] / n / ((of_x + 1e-8) * (now->std + 1e-8));
    now->flow[1] = sum[1] / n / ((of_y + 1e-8) * (now->std + 1e-8));
}

bool lt_field_values(const lt_field_plan *p, lt_field_work *w, const float *u, const float *before, const lt_channel *last,
                     double *value, lt_channel *now, uint8_t *mi_bin)
{
    const lt_feature_set *set = p->set;
    lt_range_sums range;
    p->loops->range(u, p->n, &range);
    if (!isfinite(range.sum)) return false;
    now->mean = range.sum / (double)p->n;
    now->lo = range.lo;
    now->hi = range.hi;
    moment_values(p, u, value, now);
    if (set->wanted[LT_CATEGORY_SPATIAL] || set->wanted_extra) {
        order_values(p, w, u, value, now);
        gradient_values(p, w, u, value, now);
    } else if (set->wanted[LT_CATEGORY_CAUSALITY]) {
        gradient_values(p, w, u, value, now);
    }
    if (set->wanted[LT_CATEGORY_INVARIANT_DRIFT] || set->wanted[LT_CATEGORY_TEMPORAL]) invariant_values(p, w, u, now);
    if (before && set->wanted[LT_CATEGORY_CAUSALITY] && p->n > 1) flow_values(p, w, u, before, last, now);
    if (set->wanted[LT_CATEGORY_CROSS_CHANNEL]) lt_field_bins(p, u, now->lo, now->hi, set->opt.mi_num_bins, mi_bin);
    if (set->wanted[LT_CATEGORY_SPECTRAL] || set->wanted_extra) {
        lt_field_power(p, w, u);
        if (set->wanted_extra) lt_extra_values(p, w, u, now, value); /* rolloff reuses the plane: extras first */
        if (set->wanted[LT_CATEGORY_SPECTRAL]) lt_spectral_values(p, w, value);
    }
    return true;
}
