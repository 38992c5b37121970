/* Direction in time and between channels. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/stream.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]
enum { C = LT_MAX_CHANNELS };

/* ---- One channel ------------------------------------------------------------------------ */
/* Mean error of guessing s(t + direction lag): the last value itself, or with the slope at t carried on. */
static double guess_error(const double *s, int64_t n, int lag, int direction, bool with_slope)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t goal = t + (int64_t)direction * lag, back = t - direction;
        if (goal < 0 || goal >= n || (with_slope && (back < 0 || back >= n))) continue;
        double slope = with_slope ? s[t] - s[back] : 0;
        sum += fabs(s[goal] - s[t] - lag * slope);
        count++;
    }
    return count ? sum / (double)count : 0;
}

static void prediction_values(const lt_time_plan *p, const double *s, double *value)
{
    const lt_feature_set *set = p->set;
    for (int lag = 1; lag <= set->opt.max_lag_prediction; lag++) {
        double *ratio = &value[set->slot[LT_F_PREDICTION_RATIO] + lag - 1], *difference = &value[set->slot[LT_F_PREDICTION_DIFF] + lag - 1];
        if (set->opt.corrected) {
            double forward = guess_error(s, p->steps, lag, 1, true), backward = guess_error(s, p->steps, lag, -1, true);
            *ratio = forward / (backward + 1e-8);
            *difference = forward - backward;
        } else { /* persistence errs as much backward as forward */
            double error = guess_error(s, p->steps, lag, 1, false);
            *ratio = error / (error + 1e-8);
            *difference = 0;
        }
    }
}

void lt_causality_values(const lt_time_plan *p, lt_time_work *w, const lt_track *track, double *value)
{
    (void)w;
    const lt_feature_set *set = p->set;
    const double *s = track->series[LT_SERIES_MEAN];
    int64_t n = p->steps;
    double cubes = 0, pairs = (double)(n - 1);
    prediction_values(p, s, value);
    for (int64_t t = 0; t + 1 < n; t++) {
        double d = s[t + 1] - s[t];
        cubes += d * d * d;
    }
    AT(IRREVERSIBILITY) = 2 * cubes / pairs;
    AT(ASYMMETRY) = AT(IRREVERSIBILITY) / (lt_series_variance(s, n, lt_series_mean(s, n)) + 1e-8);
    AT(FLOW) = track->flow / pairs;
    AT(FLOW_ANISOTROPY) = track->flow_anisotropy / pairs;
}

/* ---- Pairs of channels --------------------------------------------------------------------- */
/* Of a(t) with b(t + lag): biased covariance over unbiased deviations, each of its own window. */
static double lagged_correlation(const double *a, const double *b, int64_t n, int lag)
{
    int64_t m = n - lag;
    if (m < 2) return 0;
    b += lag;
    double mean_a = lt_series_mean(a, m), mean_b = lt_series_mean(b, m), sum = 0;
    for (int64_t t = 0; t < m; t++) sum += (a[t] - mean_a) * (b[t] - mean_b);
    return sum / (double)m / (sqrt(lt_series_variance(a, m, mean_a)) * sqrt(lt_series_variance(b, m, mean_b)) + 1e-8);
}

static void lag_values(const lt_time_plan *p, const double *const s[C], double *value)
{
    const lt_feature_set *set = p->set;
    for (int lag = 1; lag <= set->opt.max_lag_correlation; lag++) {
        double sum = 0, most = 0;
        for (int i = 0; i < C; i++)
            for (int j = i + 1; j < C; j++) {
                double gap = fabs(lagged_correlation(s[i], s[j], p->steps, lag) - lagged_correlation(s[j], s[i], p->steps, lag));
                sum += gap;
                most = fmax(most, gap);
            }
        /* F - F' is antisymmetric, so its mean is 0. The mean of its absolute value is not. */
        value[set->slot[LT_F_LAG_MEAN] + lag - 1] = set->opt.corrected ? sum / C : 0;
        value[set->slot[LT_F_LAG_MAX] + lag - 1] = most;
    }
}

static void symbols(const double *s, int64_t n, int n_bins, uint8_t *out)
{
    double lo = s[0], hi = s[0];
    for (int64_t t = 1; t < n; t++) {
        lo = fmin(lo, s[t]);
        hi = fmax(hi, s[t]);
    }
    for (int64_t t = 0; t < n; t++) out[t] = (uint8_t)((s[t] - lo) / (hi - lo + 1e-8) * (n_bins - 1));
}

/* Transfer entropy: the information about y(t + 1) that x(t) adds to y(t), in nats. Counts are summed over the samples, so no table of
   bins^3 is needed. */
static double transfer_entropy(const uint8_t *x, const uint8_t *y, int64_t n, int n_bins)
{
    uint32_t next_now[LT_MAX_TRANSFER_BINS][LT_MAX_TRANSFER_BINS] = { 0 }, now_from[LT_MAX_TRANSFER_BINS][LT_MAX_TRANSFER_BINS] = { 0 };
    uint32_t now[LT_MAX_TRANSFER_BINS] = { 0 };
    for (int64_t t = 0; t + 1 < n; t++) {
        next_now[y[t + 1]][y[t]]++;
        now_from[y[t]][x[t]]++;
        now[y[t]]++;
    }
    double sum = 0, pairs = (double)(n - 1);
    for (int a = 0; a < n_bins; a++)
        for (int b = 0; b < n_bins; b++) {
            uint32_t all[LT_MAX_TRANSFER_BINS] = { 0 };
            if (!next_now[a][b]) continue;
            for (int64_t t = 0; t + 1 < n; t++)
                if (y[t + 1] == a && y[t] == b) all[x[t]]++;
            for (int c = 0; c < n_bins; c++)
                if (all[c])
                    sum += all[c] / pairs * log((double)all[c] * now[b] / ((double)now_from[b][c] * next_now[a][b]));
        }
    return sum;
}

/* How much better y(t + 1) is guessed with x: persistence of y against 0.5 (y + x). */
static double granger(const double *x, const double *y, int64_t n)
{
    double alone = 0, both = 0;
    for (int64_t t = 0; t + 1 < n; t++) {
        double r = y[t + 1] - y[t], f = y[t + 1] - 0.5 * (y[t] + x[t]);
        alone += r * r;
        both += f * f;
    }
    alone /= (double)(n - 1);
    both /= (double)(n - 1);
    return (alone - both) / (alone + 1e-8);
}

/* Mean, largest and deviation over the ordered pairs. */
static void spread(const double *x, int n, double *mean, double *max, double *std)
{
    *mean = lt_series_mean(x, n);
    *std = sqrt(lt_series_variance(x, n, *mean));
    *max = x[0];
    for (int i = 1; i < n; i++) *max = fmax(*max, x[i]);
}

void lt_causality_pair_values(const lt_time_plan *p, lt_time_work *w, const lt_track *track, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps;
    if (n < 2) return;
    const double *s[C] = { track[0].series[LT_SERIES_MEAN], track[1].series[LT_SERIES_MEAN], track[2].series[LT_SERIES_MEAN] };
    lag_values(p, s, value);
    double pair[C * (C - 1)];
    if (set->stored[LT_F_TRANSFER_MEAN]) {
        uint8_t *symbol = (uint8_t *)w->a; /* T doubles hold 3 T bytes */
        for (int c = 0; c < C; c++) symbols(s[c], n, set->opt.transfer_entropy_num_bins, symbol + c * n);
        for (int i = 0, k = 0; i < C; i++)
            for (int j = 0; j < C; j++)
                if (i != j) pair[k++] = transfer_entropy(symbol + i * n, symbol + j * n, n, set->opt.transfer_entropy_num_bins);
        spread(pair, C * (C - 1), &AT(TRANSFER_MEAN), &AT(TRANSFER_MAX), &AT(TRANSFER_STD));
    }
    if (set->stored[LT_F_GRANGER_MEAN]) {
        for (int i = 0, k = 0; i < C; i++)
            for (int j = 0; j < C; j++)
                if (i != j) pair[k++] = granger(s[i], s[j], n);
        spread(pair, C * (C - 1), &AT(GRANGER_MEAN), &AT(GRANGER_MAX), &AT(GRANGER_STD));
    }
}
