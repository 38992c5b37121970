/* Per-step values of one channel, from its record. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/field.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

#define AT(id) value[set->slot[LT_F_##id]]

const double lt_field_quantile[] = { 0.05, 0.25, 0.50, 0.75, 0.95 };

static void moment_values(const lt_field_plan *p, const lt_moment_sums *m, double *value, lt_channel *now)
{
    const lt_feature_set *set = p->set;
    double n = (double)p->n;
    now->variance = p->n > 1 ? m->m2 / (n - 1) : 0;
    now->std = sqrt(now->variance);
    double scale = LT_MAX(now->std, 1e-4);
    bool flat = now->std < 1e-4;
    AT(MEAN) = now->mean;
    AT(VARIANCE) = now->variance;
    AT(STD) = now->std;
    AT(SKEWNESS) = flat ? 0 : m->m3 / n / (scale * scale * scale);
    AT(KURTOSIS) = flat ? 0 : m->m4 / n / (scale * scale * scale * scale) - 3;
    AT(MINIMUM) = now->lo;
    AT(MAXIMUM) = now->hi;
    AT(RANGE) = (double)now->hi - (double)now->lo;
}

static void order_values(const lt_field_plan *p, const lt_order_record *r, double *value, lt_channel *now)
{
    const lt_feature_set *set = p->set;
    double q[LT_RECORD_QUANTILES];
    for (int i = 0; i < LT_RECORD_QUANTILES; i++) {
        int64_t below;
        double weight = lt_quantile_rank(lt_field_quantile[i], p->n, &below), lo = (double)r->quantile[i][0];
        q[i] = lo + weight * ((double)r->quantile[i][1] - lo);
    }
    AT(PERCENTILE_5) = q[0];
    AT(PERCENTILE_25) = q[1];
    AT(PERCENTILE_50) = q[2];
    AT(PERCENTILE_75) = q[3];
    AT(PERCENTILE_95) = q[4];
    AT(IQR) = q[3] - q[1];
    AT(MAD) = (double)r->deviation;
    now->median = r->median;
}

/* Periodic differences sum to 0; without wrapping around they need not. */
static void open_values(const lt_field_plan *p, const lt_open_sums *s, double *value)
{
    const lt_feature_set *set = p->set;
    double g = (double)p->g;
    AT(GRADIENT_X) = AT(GRADIENT_Y) = AT(LAPLACIAN_MEAN) = 0;
    if (!set->opt.corrected || p->g < 3) return;
    AT(GRADIENT_X) = s->x / (g * (g - 2));
    AT(GRADIENT_Y) = s->y / (g * (g - 2));
    AT(LAPLACIAN_MEAN) = s->laplacian / ((g - 2) * (g - 2));
}

static void gradient_values(const lt_field_plan *p, const lt_channel_record *r, double *value, lt_channel *now)
{
    const lt_feature_set *set = p->set;
    const lt_gradient_sums *s = &r->gradient;
    double n = (double)p->n;
    double variance = p->n > 1 ? (s->x_square + s->y_square - s->magnitude * s->magnitude / n) / (n - 1) : 0;
    now->gradient_x2 = s->x_square;
    now->gradient_y2 = s->y_square;
    AT(GRADIENT_MEAN) = s->magnitude / n;
    AT(GRADIENT_STD) = sqrt(LT_MAX(variance, 0));
    AT(GRADIENT_MAX) = sqrt(s->max_square);
    AT(GRADIENT_ANISOTROPY) = s->x_abs / n / (s->y_abs / n + 1e-8);
    AT(LAPLACIAN_STD) = p->n > 1 ? sqrt(s->laplacian_square / (n - 1)) : 0;
    AT(LAPLACIAN_ENERGY) = s->laplacian_square / n;
    open_values(p, &r->open, value);
}

/* Correlations of the gradient one step ago with this field: biased covariance over unbiased
   deviations; a periodic gradient has mean 0. */
static void flow_values(const lt_field_plan *p, const double sum[2], const lt_channel *last, lt_channel *now)
{
    double n = (double)p->n;
    double of_x = sqrt(last->gradient_x2 / (n - 1)), of_y = sqrt(last->gradient_y2 / (n - 1));
    now->flow[0] = sum[0] / n / ((of_x + 1e-8) * (now->std + 1e-8));
    now->flow[1] = sum[1] / n / ((of_y + 1e-8) * (now->std + 1e-8));
}

void lt_field_values(const lt_field_plan *p, const lt_channel_record *r, const lt_channel *last, double *value, lt_channel *now)
{
    const lt_feature_set *set = p->set;
    bool spatial = set->wanted[LT_CATEGORY_SPATIAL] || set->wanted_extra;
    now->mean = r->range.sum / (double)p->n;
    now->lo = r->range.lo;
    now->hi = r->range.hi;
    moment_values(p, &r->moments, value, now);
    if (spatial) order_values(p, &r->order, value, now);
    if (spatial || set->wanted[LT_CATEGORY_CAUSALITY]) gradient_values(p, r, value, now);
    memcpy(now->norm, r->norm, sizeof now->norm);
    memcpy(now->entropy, r->entropy, sizeof now->entropy);
    now->square = r->norm[0].square;
    if (last && set->wanted[LT_CATEGORY_CAUSALITY]) flow_values(p, r->flow, last, now);
    if (set->wanted[LT_CATEGORY_SPECTRAL]) lt_spectral_values(p, &r->spectrum, value);
}
