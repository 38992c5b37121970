/* Switches and numbers of the feature families, with the table that the configuration reader, the
   offline extractor and the documentation share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_OPTIONS_H
#define LT_OPERATORS_FEATURES_OPTIONS_H

#include "lathe/options.h"
#include "operators/features/rows.h"

typedef enum lt_learned_from { LT_LEARNED_ALL, LT_LEARNED_BOTTLENECK, LT_LEARNED_SKIPS, LT_LEARNED_EARLY, LT_LEARNED_MID, LT_LEARNED_PRE_OUTPUT } lt_learned_from;
typedef enum lt_temporal_agg { LT_AGG_MEAN_MAX, LT_AGG_MEAN, LT_AGG_MAX, LT_AGG_STD } lt_temporal_agg;

typedef struct lt_learned_options {
    bool            enabled;
    lt_learned_from from;
    uint32_t        skip_levels, layer_indices; /* bit sets; layer_indices 0 = all */
    lt_temporal_agg temporal_agg;
    bool            flatten;                    /* spatial_agg flatten; else gap */
    int             projection_dim;             /* 0 = none */
    int             training_epochs, patience;
    double          learning_rate;
    bool            cosine;                     /* lr_scheduler cosine; else constant */
} lt_learned_options;

/* The causality features there are, by cost: the default ones, with Granger, with transfer entropy too. */
typedef enum lt_complexity { LT_COMPLEXITY_FAST, LT_COMPLEXITY_MEDIUM, LT_COMPLEXITY_FULL } lt_complexity;

/* Plain data. Rows of lt_feature_options_table() are named by their path under `features.summary`
   in a configuration: "spectral.num_fft_scales", "nonlinear.enabled", "spatial.include_histogram".
   Lists: one lt_options_set per item, texts borrowed; an empty list means its default. */
typedef struct lt_feature_options {
    bool corrected;      /* engine.features: corrected; else reference */
    bool clip_batch;     /* engine.clip: batch; else none */

    bool enabled[LT_CATEGORY_COUNT];
    bool include[LT_F_COUNT];          /* rows that share a switch read that of the first of them */

    int           histogram_num_bins, num_fft_scales;
    int           autocorr_max_lag, pacf_max_lag;
    lt_text_list  rolling_window_fractions;
    int           num_eigen_top, mi_num_bins, max_channels_for_full_corr;
    lt_text_list  coherence_freq_bands;
    lt_complexity complexity_level;
    int           max_lag_correlation, max_lag_prediction, transfer_entropy_num_bins, granger_ar_order;
    int           num_scales, entropy_num_bins;
    double        gaussian_sigma;
    lt_text_list  lipschitz_epsilon_scales, gain_scale_factors;
    double        rqa_epsilon;
    int           rqa_embedding_dim, rqa_tau, rqa_subsample_factor;
    int           corr_dim_embedding_dim, corr_dim_tau, corr_dim_subsample_factor;
    int           perm_entropy_embedding_dim, perm_entropy_tau, perm_entropy_subsample_factor;
    int           wavelet;             /* only haar exists: other names are refused when the set is made */
    int           num_wavelet_levels, num_pyramid_levels;
    int           num_entropy_scales;
    double        component_threshold, edge_threshold;
    int           num_correlation_scales;
    double        shape_threshold;
    /* Of the whole. */
    bool          per_channel;         /* false: channels are averaged to one field first */
    bool          extract_per_timestep; /* false: TEMPORAL has no columns */
    lt_text_list  temporal_aggregation, realization_aggregation; /* recorded in the file; the second always as in the default */
} lt_feature_options;

const lt_option_table *lt_feature_options_table(void);
/* Why a setting of Spinlock has no effect (decision 92), for example "the definition has no regression"; NULL: it has one. */
const char *lt_feature_option_idle(const lt_option *row);

#endif
