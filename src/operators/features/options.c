/* The table of feature switches and numbers. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/options.h"
#include "operators/features/table.h"

#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *const complexity_names[] = { "fast", "medium", "full", NULL };
static const char *const wavelet_names[] = { "haar", "db4", "coif1", NULL };

#define INT(field, name, value, lo, hi, help) \
    LT_OPTION_INT(lt_feature_options, field, name, value, LT_RANGE_CLOSED(lo, hi), "N", help)
#define REAL(field, name, value, lo, hi, help) \
    LT_OPTION_REAL(lt_feature_options, field, name, value, LT_RANGE_CLOSED(lo, hi), "X", help)
#define LIST(field, name, help) LT_OPTION_LIST(lt_feature_options, field, name, "X", help)

#define NO_EFFECT "no effect: "

static const lt_option number_rows[] = {
    INT(histogram_num_bins, "spatial.histogram_num_bins", "16", 8, 64, "bins of the spatial histogram"),
    INT(num_fft_scales, "spectral.num_fft_scales", "5", 1, LT_MAX_FFT_SCALES, "radial bands of the power spectrum"),
    INT(autocorr_max_lag, "temporal.autocorr_max_lag", "20", 1, 100, "lags searched for the decay of the autocorrelation"),
    INT(pacf_max_lag, "temporal.pacf_max_lag", "10", 1, LT_MAX_PACF, "lags of the partial autocorrelation"),
    LIST(rolling_window_fractions, "temporal.rolling_window_fractions", "window lengths as fractions of T; default 0.05, 0.10, 0.20"),
    INT(num_eigen_top, "cross_channel.num_eigen_top", "3", 1, 10, "eigenvalues of the channel correlations, at most the 3 there are"),
    INT(mi_num_bins, "cross_channel.mi_num_bins", "16", 8, LT_MAX_MI_BINS, "bins per channel of mutual information"),
    INT(max_channels_for_full_corr, "cross_channel.max_channels_for_full_corr", "16", 4, 128, NO_EFFECT "all pairs of the 3 channels are used"),
    LIST(coherence_freq_bands, "cross_channel.coherence_freq_bands", "bands of the coherence; default low, mid, high"),
    LT_OPTION_ENUM(lt_feature_options, complexity_level, "causality.complexity_level", "fast", complexity_names,
                   "medium adds Granger, full adds transfer entropy too"),
    INT(max_lag_correlation, "causality.max_lag_correlation", "3", 1, LT_MAX_LAGS, "lags of the correlation asymmetry"),
    INT(max_lag_prediction, "causality.max_lag_prediction", "2", 1, LT_MAX_LAGS / 2, "lags of the prediction error"),
    INT(transfer_entropy_num_bins, "causality.transfer_entropy_num_bins", "8", 4, LT_MAX_TRANSFER_BINS, "bins of transfer entropy"),
    INT(granger_ar_order, "causality.granger_ar_order", "2", 1, 5, NO_EFFECT "the definition has no regression"),
    INT(num_scales, "invariant_drift.num_scales", "3", 1, LT_FILTERS, "raw; with lowpass; with highpass too"),
    REAL(gaussian_sigma, "invariant_drift.gaussian_sigma", "2.0", 0.5, 5, "of the low-pass filter, in pixels"),
    INT(entropy_num_bins, "invariant_drift.entropy_num_bins", "32", 8, LT_MAX_ENTROPY_BINS, "bins of the entropy"),
    LIST(lipschitz_epsilon_scales, "operator_sensitivity.lipschitz_epsilon_scales", "perturbations; default 1e-4, 1e-3, 1e-2"),
    LIST(gain_scale_factors, "operator_sensitivity.gain_scale_factors", "input scales; default 0.5, 0.75, 1.25, 1.5"),
    REAL(rqa_epsilon, "nonlinear.rqa_epsilon", "0.1", 0.01, 1, "radius of recurrence over the diameter"),
    INT(rqa_embedding_dim, "nonlinear.rqa_embedding_dim", "3", 1, 10, "delay embedding of recurrence"),
    INT(rqa_tau, "nonlinear.rqa_tau", "1", 1, 10, "delay of recurrence"),
    INT(rqa_subsample_factor, "nonlinear.rqa_subsample_factor", "10", 1, 50, "every n-th step for recurrence"),
    INT(corr_dim_embedding_dim, "nonlinear.corr_dim_embedding_dim", "5", 1, 10, "delay embedding of the correlation dimension"),
    INT(corr_dim_tau, "nonlinear.corr_dim_tau", "1", 1, 10, "delay of the correlation dimension"),
    INT(corr_dim_subsample_factor, "nonlinear.corr_dim_subsample_factor", "10", 1, 50, "every n-th step for the correlation dimension"),
    INT(perm_entropy_embedding_dim, "nonlinear.perm_entropy_embedding_dim", "3", 2, 6, "order of permutation entropy"),
    INT(perm_entropy_tau, "nonlinear.perm_entropy_tau", "1", 1, 10, "delay of permutation entropy"),
    INT(perm_entropy_subsample_factor, "nonlinear.perm_entropy_subsample_factor", "10", 1, 50, "every n-th step for permutation entropy"),
    LT_OPTION_ENUM(lt_feature_options, wavelet, "multiscale.wavelet", "haar", wavelet_names, "only haar exists"),
    INT(num_wavelet_levels, "multiscale.num_wavelet_levels", "4", 1, LT_MAX_LEVELS, "levels of the wavelet transform"),
    INT(num_pyramid_levels, "multiscale.num_pyramid_levels", "4", 1, LT_MAX_LEVELS, "levels of the Laplacian pyramid"),
    INT(num_entropy_scales, "distributional.num_entropy_scales", "3", 1, 5, "coarse grainings by 2, 4, 8, ..."),
    REAL(component_threshold, "structural.component_threshold", "0.5", -10, 10, "standard deviations above the median that make a component"),
    REAL(edge_threshold, "structural.edge_threshold", "0.1", 0, 1, NO_EFFECT "edges are above mean + std"),
    INT(num_correlation_scales, "physics.num_correlation_scales", "3", 1, 5, NO_EFFECT "one fit over the first quarter"),
    REAL(shape_threshold, "morphological.shape_threshold", "0.5", -10, 10, "standard deviations above the median that make a shape"),
    LT_OPTION_BOOL(lt_feature_options, per_channel, "per_channel", "true", "each channel by itself, then the average; else of the average of the channels"),
    LT_OPTION_BOOL(lt_feature_options, extract_per_timestep, "extract_per_timestep", "true", "store per-step features"),
    LIST(temporal_aggregation, "temporal_aggregation", "recorded in the file; default mean, std"),
    LIST(realization_aggregation, "realization_aggregation", "recorded in the file; always mean, std, cv"),
};

/* One `enabled` per category, then one row per switch; their names are put together once. */
enum { N_SWITCHES = LT_CATEGORY_COUNT + 2 * LT_F_COUNT, NAME_BYTES = 80 };
static lt_option        switch_rows[N_SWITCHES];
static char             switch_names[N_SWITCHES][NAME_BYTES];
static lt_option_group  groups[2];
static lt_option_table  table = { .program = "features.summary", .summary = "which features there are", .groups = groups, .n_groups = 2 };
static pthread_once_t   made = PTHREAD_ONCE_INIT;

static lt_option *add_switch(size_t offset, bool on, const char *help)
{
    lt_option_group *g = &groups[0];
    lt_option *row = &switch_rows[g->n_rows];
    *row = (lt_option){ .name = switch_names[g->n_rows], .type = LT_OPTION_TYPE_BOOL, .offset = offset, .size = sizeof(bool),
                        .default_text = on ? "true" : "false", .help = help };
    g->n_rows++;
    return row;
}

/* Names that begin with their category ("spatial_mean", "cross_channel_mi_max") are known with and
   without it; one of the two is shown. */
static void add_feature_switches(int id, const lt_feature_row *feature)
{
    const char *category = lt_feature_category_name(feature->category), *name = feature->include;
    bool extra = id >= LT_F_FIRST_EXTRA && feature->category < LT_CATEGORY_FIRST_EXTRA;
    size_t offset = offsetof(lt_feature_options, include) + (size_t)id * sizeof(bool), length = strlen(category);
    lt_option *row = add_switch(offset, !extra, feature->name);
    snprintf(switch_names[row - switch_rows], NAME_BYTES, "%s.include_%s", category, name);
    if (strncmp(feature->name, category, length) || feature->name[length] != '_') return;
    row = add_switch(offset, !extra, feature->name);
    row->hidden = true;
    if (!strncmp(name, category, length)) snprintf(switch_names[row - switch_rows], NAME_BYTES, "%s.include_%s", category, name + length + 1);
    else snprintf(switch_names[row - switch_rows], NAME_BYTES, "%s.include_%s_%s", category, category, name);
}

static void make_table(void)
{
    groups[0] = (lt_option_group){ .title = "Switches", .rows = switch_rows };
    groups[1] = (lt_option_group){ .title = "Numbers", .rows = number_rows, .n_rows = LT_LEN(number_rows) };
    for (int c = 0; c < LT_CATEGORY_COUNT; c++) {
        lt_option *row = add_switch(offsetof(lt_feature_options, enabled) + (size_t)c * sizeof(bool), c < LT_CATEGORY_FIRST_EXTRA,
                                    "the category as a whole");
        snprintf(switch_names[row - switch_rows], NAME_BYTES, "%s.enabled", lt_feature_category_name(c));
    }
    for (int f = 0; f < LT_F_COUNT; f++) {
        const lt_feature_row *feature = lt_feature_row_of(f);
        if (!feature->include) continue;
        add_feature_switches(f, feature);
    }
}

const lt_option_table *lt_feature_options_table(void)
{
    pthread_once(&made, make_table);
    return &table;
}

const char *lt_feature_option_idle(const lt_option *row)
{
    size_t length = strlen(NO_EFFECT);
    return strncmp(row->help, NO_EFFECT, length) ? NULL : row->help + length;
}
