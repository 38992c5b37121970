/* Switches and numbers of the feature families, with the table that the configuration reader, the
   offline extractor and the documentation share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURE_OPTIONS_H
#define LT_OPERATORS_FEATURE_OPTIONS_H

#include "lathe/options.h"

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

/* Plain data. Rows of lt_feature_options_table() are named by their path under `features.summary`
   in a configuration: "spectral.num_fft_scales", "nonlinear.enabled", "spatial.include_histogram". */
typedef struct lt_feature_options {
    bool corrected;      /* engine.features: corrected; else reference */
    bool clip_batch;     /* engine.clip: batch; else none */
} lt_feature_options;

const lt_option_table *lt_feature_options_table(void);

#endif
