/* Values of one channel's trajectory: growth, oscillation, trend, events, rolling windows, drift.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/stream.h"

#include "base/status.h"

#include <math.h>

#define AT(id) value[set->slot[LT_F_##id]]

double lt_series_mean(const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t t = 0; t < n; t++) sum += y[t];
    return sum / (double)n;
}

double lt_series_variance(const double *y, int64_t n, double mean)
{
    double sum = 0;
    for (int64_t t = 0; t < n; t++) sum += (y[t] - mean) * (y[t] - mean);
    return n > 1 ? sum / (double)(n - 1) : 0;
}

static int sign(double x) { return (x > 0) - (x < 0); }

/* ---- Growth and trend ---------------------------------------------------------------- */
typedef struct line { double slope, mean, middle; } line; /* y = mean + slope (t - middle) */

static line fit(const double *y, int64_t n)
{
    line l = { .mean = lt_series_mean(y, n), .middle = 0.5 * (double)(n - 1) };
    double tt = 0, ty = 0;
    for (int64_t t = 0; t < n; t++) {
        double d = (double)t - l.middle;
        tt += d * d;
        ty += d * (y[t] - l.mean);
    }
    l.slope = tt > 0 ? ty / tt : 0;
    return l;
}

static double log_slope(const double *y, int64_t n, double *work)
{
    for (int64_t t = 0; t < n; t++) work[t] = log(y[t] + 1e-8);
    return fit(work, n).slope;
}

static void trend_values(const lt_time_plan *p, lt_time_work *w, const double *s, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps;
    line l = fit(s, n);
    double residual = 0, total = 0;
    for (int64_t t = 0; t < n; t++) {
        w->a[t] = s[t] - (l.mean + l.slope * ((double)t - l.middle));
        residual += w->a[t] * w->a[t];
        total += (s[t] - l.mean) * (s[t] - l.mean);
    }
    AT(TREND) = fmin(fmax(1 - residual / (total + 1e-8), 0), 1);
    AT(DETRENDED) = lt_series_variance(w->a, n, lt_series_mean(w->a, n));
}

/* ---- Oscillation ------------------------------------------------------------------------ */
/* The strongest frequency of a series without its mean; a constant one has none, and the first
   nonzero frequency stands for it. */
static void oscillation_values(const lt_time_plan *p, lt_time_work *w, const double *energy, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps, best = 1;
    double lo = energy[0], hi = energy[0], mean = lt_series_mean(energy, n), most = -1;
    for (int64_t t = 0; t < n; t++) {
        lo = fmin(lo, energy[t]);
        hi = fmax(hi, energy[t]);
    }
    for (int64_t t = 0; t < n; t++) w->in[t] = hi > lo ? energy[t] - mean : 0;
    p->fft->run(p->fft, NULL, (void *[]){ w->in, w->out, w->scratch });
    for (int64_t k = 1; k <= n / 2; k++) {
        double re = w->out[2 * k], im = w->out[2 * k + 1], power = re * re + im * im;
        if (power > most) {
            most = power;
            best = k;
        }
    }
    AT(FREQUENCY) = (double)best / (double)n;
    AT(AMPLITUDE) = hi - lo;
    AT(PERIOD) = 1 / (AT(FREQUENCY) + 1e-8);
}

/* Autocorrelation of d at a lag, zero padded, over that at lag 0. */
static double autocorrelation(const double *d, int64_t n, int64_t lag, double zero)
{
    double sum = 0;
    for (int64_t t = 0; t + lag < n; t++) sum += d[t] * d[t + lag];
    return sum / (zero + 1e-8);
}

/* w->a holds s without its mean. */
static void memory_values(const lt_time_plan *p, lt_time_work *w, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps, limit = set->opt.autocorr_max_lag, lag = 0;
    double zero = 0, before = 0;
    for (int64_t t = 0; t < n; t++) zero += w->a[t] * w->a[t];
    while (lag < limit && lag < n && autocorrelation(w->a, n, lag, zero) >= exp(-1)) lag++;
    AT(DECAY_TIME) = (double)(lag < n ? lag : limit);
    for (int k = 1; k <= set->opt.pacf_max_lag && set->stored[LT_F_PACF]; k++) {
        double r = k < n ? autocorrelation(w->a, n, k, zero) : 0, bounded = fmin(fmax(before, -0.99), 0.99);
        value[set->slot[LT_F_PACF] + k - 1] = k == 1 ? r : r / sqrt(1 - bounded * bounded + 1e-4);
        before = r;
    }
}

/* ---- Changes and events ------------------------------------------------------------------- */
static void change_values(const lt_time_plan *p, const double *s, const double *energy, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps;
    double accel = 0, divergence = 0, bend = 0, switches = 0;
    for (int64_t t = 0; t + 1 < n; t++) divergence += log(fabs(s[t + 1] - s[t]) + 1e-8);
    for (int64_t t = 0; t + 2 < n; t++) {
        accel += fabs(energy[t + 2] - 2 * energy[t + 1] + energy[t]);
        bend += fabs(s[t + 2] - 2 * s[t + 1] + s[t]);
        switches += sign(s[t + 2] - s[t + 1]) != sign(s[t + 1] - s[t]);
    }
    double triples = n > 2 ? (double)(n - 2) : 1;
    AT(ENERGY_ACCEL) = accel / triples;
    AT(LYAPUNOV) = divergence / (double)(n - 1);
    AT(SMOOTHNESS) = bend / triples;
    AT(SWITCHES) = switches / triples;
    AT(FINAL_RATIO) = (fabs(s[n - 1]) + 1e-8) / (fabs(s[0]) + 1e-8);
}

static void event_values(const lt_time_plan *p, const double *s, double mean, double std, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps, half = n, twice = n;
    double limit = mean + 2 * std;
    for (int64_t t = 1; t < n; t++) {
        bool now = s[t] > limit, before = s[t - 1] > limit;
        bool burst = now && before && t + 1 < n && s[t + 1] > limit;
        bool burst_before = now && before && t >= 2 && s[t - 2] > limit;
        AT(SPIKES) += now && !before;
        AT(BURSTS) += burst && !burst_before;
        AT(CROSSINGS) += sign(s[t] - mean) != sign(s[t - 1] - mean);
    }
    for (int64_t t = n - 1; t >= 0; t--) {
        if (s[t] < 0.5 * s[0]) half = t;
        if (s[t] > 2 * s[0]) twice = t;
    }
    AT(TIME_TO_HALF) = (double)half / (double)n;
    AT(TIME_TO_DOUBLE) = (double)twice / (double)n;
}

/* ---- Windows --------------------------------------------------------------------------------- */
static void window_values(const lt_time_plan *p, lt_time_work *w, const double *s, int k, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t length = LT_MAX(2, (int64_t)(set->window[k] * (double)p->steps)), n = p->steps - length + 1;
    double highs = 0, lows = 0;
    if (n < 1) return;
    for (int64_t t = 0; t < n; t++) {
        double lo = s[t], hi = s[t];
        for (int64_t i = t; i < t + length; i++) {
            lo = s[i] < lo ? s[i] : lo;
            hi = s[i] > hi ? s[i] : hi;
        }
        highs += hi;
        lows += lo;
        w->a[t] = lt_series_mean(s + t, length);
        w->b[t] = sqrt(lt_series_variance(s + t, length, w->a[t]));
    }
    double means = lt_series_mean(w->a, n), stds = lt_series_mean(w->b, n);
    value[set->slot[LT_F_ROLLING_MEAN] + k] = means;
    value[set->slot[LT_F_ROLLING_STD] + k] = stds;
    value[set->slot[LT_F_ROLLING_MAX] + k] = highs / (double)n;
    value[set->slot[LT_F_ROLLING_MIN] + k] = lows / (double)n;
    value[set->slot[LT_F_ROLLING_MEAN_VAR] + k] = sqrt(lt_series_variance(w->a, n, means));
    value[set->slot[LT_F_ROLLING_STD_VAR] + k] = sqrt(lt_series_variance(w->b, n, stds));
}

/* ---- Drift -------------------------------------------------------------------------------------- */
static void drift_values(const lt_time_plan *p, const lt_track *track, double *value)
{
    static const int first_row[LT_INVARIANT_COUNT] = {
        [LT_INVARIANT_L1] = LT_F_L1_DRIFT, [LT_INVARIANT_L2] = LT_F_L2_DRIFT, [LT_INVARIANT_LINF] = LT_F_LINF_DRIFT,
        [LT_INVARIANT_ENTROPY] = LT_F_ENTROPY_DRIFT, [LT_INVARIANT_TV] = LT_F_TV_DRIFT, [LT_INVARIANT_MASS] = LT_F_MASS_DRIFT,
        [LT_INVARIANT_ENERGY] = LT_F_ENERGY_DRIFT, [LT_INVARIANT_GRADIENT_ENERGY] = LT_F_GRADIENT_ENERGY_DRIFT,
    };
    const lt_feature_set *set = p->set;
    double changes = (double)(p->steps - 1);
    for (int v = 0; v < LT_INVARIANT_COUNT; v++)
        for (int i = 0; i < set->opt.num_scales; i++) {
            const lt_drift *d = &track->drift[v][i];
            const int *slot = &set->slot[first_row[v]]; /* four rows in a row */
            value[slot[0] + i] = (d->last - d->first) / changes;
            value[slot[1] + i] = changes > 1 ? d->m2 / (changes - 1) : 0;
            value[slot[2] + i] = d->last / (d->first + 1e-8);
            value[slot[3] + i] = d->signs / changes;
        }
}

void lt_track_values(const lt_time_plan *p, lt_time_work *w, const lt_track *track, double *value)
{
    const lt_feature_set *set = p->set;
    int64_t n = p->steps;
    if (n < 2) return;
    const double *s = track->series[LT_SERIES_MEAN], *energy = track->series[LT_SERIES_ENERGY];
    double mean = lt_series_mean(s, n);
    AT(ENERGY_RATE) = log_slope(energy, n, w->a);
    AT(VARIANCE_RATE) = log_slope(track->series[LT_SERIES_VARIANCE], n, w->a);
    oscillation_values(p, w, energy, value);
    change_values(p, s, energy, value);
    trend_values(p, w, s, value);
    event_values(p, s, mean, sqrt(lt_series_variance(s, n, mean)), value);
    for (int64_t t = 0; t < n; t++) w->a[t] = s[t] - mean;
    memory_values(p, w, value);
    for (int k = 0; k < set->n_windows; k++) window_values(p, w, s, k, value);
    lt_causality_values(p, w, track, value);
    drift_values(p, track, value);
    if (set->wanted[LT_CATEGORY_NONLINEAR]) lt_nonlinear_values(p, w, s, value);
}
