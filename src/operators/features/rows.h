/* The one list of streamed features: names, columns, categories, switches and clipping all come from it.
   SPDX-License-Identifier: BSD-3-Clause

   X(id, category, family, axis, loop, joined, clip, name, switch)
     family   STEP: one value per step, the array TEMPORAL.  RUN: one per trajectory, the array SUMMARY.
     axis     EACH: one per channel, averaged over channels.  ALL: one for all channels together.
     loop     "{}" in the name runs over the loop's labels (NONE: no loop, one column).
     joined   1: shares the loop of the row before, the loop outermost: a_0 b_0 a_1 b_1; 0: a_0 a_1, then b_0 b_1.
     clip     interquartile ranges allowed beyond the quartiles with engine.clip: batch; 0: never clipped.
     switch   the option `<category>.include_<switch>`; NULL: that of the row before.
   Three parts: the default layout, the operator's sensitivity, and what is there only when asked for. */
#ifndef LT_OPERATORS_FEATURES_ROWS_H
#define LT_OPERATORS_FEATURES_ROWS_H

#define LT_STEP_ROWS(X)                                                                                   \
    X(MEAN, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_mean", "spatial_mean")                               \
    X(VARIANCE, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_variance", "spatial_variance")                   \
    X(STD, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_std", "spatial_std")                                  \
    X(SKEWNESS, SPATIAL, STEP, EACH, NONE, 0, 10, "spatial_skewness", "spatial_skewness")                  \
    X(KURTOSIS, SPATIAL, STEP, EACH, NONE, 0, 15, "spatial_kurtosis", "spatial_kurtosis")                  \
    X(MINIMUM, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_min", "spatial_min")                              \
    X(MAXIMUM, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_max", "spatial_max")                              \
    X(RANGE, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_range", "spatial_range")                            \
    X(IQR, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_iqr", "spatial_iqr")                                  \
    X(MAD, SPATIAL, STEP, EACH, NONE, 0, 0, "spatial_mad", "spatial_mad")                                  \
    X(GRADIENT_MEAN, SPATIAL, STEP, EACH, NONE, 0, 0, "gradient_magnitude_mean", "gradient_magnitude_mean") \
    X(GRADIENT_STD, SPATIAL, STEP, EACH, NONE, 0, 0, "gradient_magnitude_std", "gradient_magnitude_std")   \
    X(GRADIENT_MAX, SPATIAL, STEP, EACH, NONE, 0, 0, "gradient_magnitude_max", "gradient_magnitude_max")   \
    X(GRADIENT_X, SPATIAL, STEP, EACH, NONE, 0, 0, "gradient_x_mean", "gradient_x_mean")                   \
    X(GRADIENT_Y, SPATIAL, STEP, EACH, NONE, 0, 0, "gradient_y_mean", "gradient_y_mean")                   \
    X(GRADIENT_ANISOTROPY, SPATIAL, STEP, EACH, NONE, 0, 0, "gradient_anisotropy", "gradient_anisotropy")  \
    X(LAPLACIAN_MEAN, SPATIAL, STEP, EACH, NONE, 0, 0, "laplacian_mean", "laplacian_mean")                 \
    X(LAPLACIAN_STD, SPATIAL, STEP, EACH, NONE, 0, 0, "laplacian_std", "laplacian_std")                    \
    X(LAPLACIAN_ENERGY, SPATIAL, STEP, EACH, NONE, 0, 0, "laplacian_energy", "laplacian_energy")           \
    X(PERCENTILE_5, SPATIAL, STEP, EACH, NONE, 0, 0, "percentile_5", "percentile_5")                       \
    X(PERCENTILE_25, SPATIAL, STEP, EACH, NONE, 0, 0, "percentile_25", "percentile_25")                    \
    X(PERCENTILE_50, SPATIAL, STEP, EACH, NONE, 0, 0, "percentile_50", "percentile_50")                    \
    X(PERCENTILE_75, SPATIAL, STEP, EACH, NONE, 0, 0, "percentile_75", "percentile_75")                    \
    X(PERCENTILE_95, SPATIAL, STEP, EACH, NONE, 0, 0, "percentile_95", "percentile_95")                    \
    X(POWER_MEAN, SPECTRAL, STEP, EACH, FFT_SCALE, 0, 10, "fft_power_scale_{}_mean", "fft_power_mean")     \
    X(POWER_MAX, SPECTRAL, STEP, EACH, FFT_SCALE, 1, 10, "fft_power_scale_{}_max", "fft_power_max")        \
    X(POWER_STD, SPECTRAL, STEP, EACH, FFT_SCALE, 1, 10, "fft_power_scale_{}_std", "fft_power_std")        \
    X(DOMINANT_X, SPECTRAL, STEP, EACH, NONE, 0, 10, "dominant_freq_x", "dominant_freq_x")                 \
    X(DOMINANT_Y, SPECTRAL, STEP, EACH, NONE, 0, 10, "dominant_freq_y", "dominant_freq_y")                 \
    X(DOMINANT_POWER, SPECTRAL, STEP, EACH, NONE, 0, 10, "dominant_freq_magnitude", "dominant_freq_magnitude") \
    X(CENTROID_X, SPECTRAL, STEP, EACH, NONE, 0, 10, "spectral_centroid_x", "spectral_centroid_x")         \
    X(CENTROID_Y, SPECTRAL, STEP, EACH, NONE, 0, 10, "spectral_centroid_y", "spectral_centroid_y")         \
    X(BANDWIDTH, SPECTRAL, STEP, EACH, NONE, 0, 10, "spectral_bandwidth", "spectral_bandwidth")            \
    X(LOW_RATIO, SPECTRAL, STEP, EACH, NONE, 0, 10, "low_freq_ratio", "low_freq_ratio")                    \
    X(MID_RATIO, SPECTRAL, STEP, EACH, NONE, 0, 10, "mid_freq_ratio", "mid_freq_ratio")                    \
    X(HIGH_RATIO, SPECTRAL, STEP, EACH, NONE, 0, 10, "high_freq_ratio", "high_freq_ratio")                 \
    X(FLATNESS, SPECTRAL, STEP, EACH, NONE, 0, 10, "spectral_flatness", "spectral_flatness")               \
    X(ROLLOFF, SPECTRAL, STEP, EACH, NONE, 0, 10, "spectral_rolloff", "spectral_rolloff")                  \
    X(ANISOTROPY, SPECTRAL, STEP, EACH, NONE, 0, 10, "spectral_anisotropy", "spectral_anisotropy")         \
    X(EIGEN_TOP, CROSS_CHANNEL, STEP, ALL, EIGEN, 0, 10, "cross_channel_eigen_top_{}", "eigen_top")        \
    X(EIGEN_TRACE, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_eigen_trace", "eigen_trace")      \
    X(CONDITION, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_condition_number", "condition_number") \
    X(PARTICIPATION, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_participation_ratio", "participation_ratio") \
    X(CORR_MEAN, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_corr_mean", "corr_mean")            \
    X(CORR_MAX, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_corr_max", "corr_max")               \
    X(CORR_MIN, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_corr_min", "corr_min")               \
    X(CORR_STD, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_corr_std", "corr_std")               \
    X(MI_MEAN, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_mi_mean", "mi_mean")                  \
    X(MI_MAX, CROSS_CHANNEL, STEP, ALL, NONE, 0, 10, "cross_channel_mi_max", "mi_max")

#define LT_DRIFT_ROWS(X, ID, NORM)                                                                         \
    X(ID##_DRIFT, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_mean_drift_{}", NORM "_mean_drift")    \
    X(ID##_VARIANCE, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_drift_variance_{}", NORM "_drift_variance") \
    X(ID##_RATIO, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_final_initial_ratio_{}", NORM "_final_initial_ratio") \
    X(ID##_MONOTONE, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_monotonicity_{}", NORM "_monotonicity")
/* Norms of one switch together. */
#define LT_DRIFT_ROWS_SHARED(X, ID, NORM, SWITCH)                                                          \
    X(ID##_DRIFT, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_mean_drift_{}", SWITCH)                \
    X(ID##_VARIANCE, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_drift_variance_{}", NULL)           \
    X(ID##_RATIO, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_final_initial_ratio_{}", NULL)         \
    X(ID##_MONOTONE, INVARIANT_DRIFT, RUN, EACH, FILTER, 0, 10, NORM "_monotonicity_{}", NULL)

#define LT_RUN_ROWS(X)                                                                                     \
    X(ENERGY_RATE, TEMPORAL, RUN, EACH, NONE, 0, 10, "energy_growth_rate", "energy_growth_rate")           \
    X(ENERGY_ACCEL, TEMPORAL, RUN, EACH, NONE, 0, 10, "energy_growth_accel", "energy_growth_accel")        \
    X(VARIANCE_RATE, TEMPORAL, RUN, EACH, NONE, 0, 10, "variance_growth_rate", "variance_growth_rate")     \
    X(FREQUENCY, TEMPORAL, RUN, EACH, NONE, 0, 10, "temporal_freq_dominant", "temporal_freq_dominant")     \
    X(AMPLITUDE, TEMPORAL, RUN, EACH, NONE, 0, 10, "oscillation_amplitude", "oscillation_amplitude")       \
    X(PERIOD, TEMPORAL, RUN, EACH, NONE, 0, 10, "oscillation_period", "oscillation_period")                \
    X(DECAY_TIME, TEMPORAL, RUN, EACH, NONE, 0, 10, "autocorr_decay_time", "autocorr_decay_time")          \
    X(LYAPUNOV, TEMPORAL, RUN, EACH, NONE, 0, 10, "lyapunov_approx", "lyapunov_approx")                    \
    X(SMOOTHNESS, TEMPORAL, RUN, EACH, NONE, 0, 10, "trajectory_smoothness", "trajectory_smoothness")      \
    X(SWITCHES, TEMPORAL, RUN, EACH, NONE, 0, 10, "regime_switches", "regime_switches")                    \
    X(FINAL_RATIO, TEMPORAL, RUN, EACH, NONE, 0, 10, "final_to_initial_ratio", "final_to_initial_ratio")   \
    X(TREND, TEMPORAL, RUN, EACH, NONE, 0, 10, "trend_strength", "trend_strength")                         \
    X(DETRENDED, TEMPORAL, RUN, EACH, NONE, 0, 10, "detrended_variance", "detrended_variance")             \
    X(SPIKES, TEMPORAL, RUN, EACH, NONE, 0, 10, "num_spikes", "num_spikes")                                \
    X(BURSTS, TEMPORAL, RUN, EACH, NONE, 0, 10, "num_bursts", "num_bursts")                                \
    X(CROSSINGS, TEMPORAL, RUN, EACH, NONE, 0, 10, "num_zero_crossings", "num_zero_crossings")             \
    X(TIME_TO_HALF, TEMPORAL, RUN, EACH, NONE, 0, 10, "time_to_0.5x", "time_to_0.5x")                      \
    X(TIME_TO_DOUBLE, TEMPORAL, RUN, EACH, NONE, 0, 10, "time_to_2.0x", "time_to_2.0x")                    \
    X(ROLLING_MEAN, TEMPORAL, RUN, EACH, WINDOW, 0, 10, "rolling_w{}_mean", "rolling_mean")                \
    X(ROLLING_STD, TEMPORAL, RUN, EACH, WINDOW, 1, 10, "rolling_w{}_std", "rolling_std")                   \
    X(ROLLING_MAX, TEMPORAL, RUN, EACH, WINDOW, 1, 10, "rolling_w{}_max", "rolling_max")                   \
    X(ROLLING_MIN, TEMPORAL, RUN, EACH, WINDOW, 1, 10, "rolling_w{}_min", "rolling_min")                   \
    X(ROLLING_MEAN_VAR, TEMPORAL, RUN, EACH, WINDOW, 1, 10, "rolling_w{}_mean_variability", "rolling_mean_variability") \
    X(ROLLING_STD_VAR, TEMPORAL, RUN, EACH, WINDOW, 1, 10, "rolling_w{}_std_variability", "rolling_std_variability") \
    X(LAG_MEAN, CAUSALITY, RUN, ALL, LAG, 0, 0, "causality_lag_corr_asymmetry_mean_lag{}", "lag_corr_asymmetry_mean") \
    X(LAG_MAX, CAUSALITY, RUN, ALL, LAG, 1, 0, "causality_lag_corr_asymmetry_max_lag{}", "lag_corr_asymmetry_max") \
    X(PREDICTION_RATIO, CAUSALITY, RUN, EACH, PREDICTION, 0, 0, "causality_pred_error_ratio_lag{}", "pred_error_ratio") \
    X(PREDICTION_DIFF, CAUSALITY, RUN, EACH, PREDICTION, 1, 0, "causality_pred_error_diff_lag{}", "pred_error_diff") \
    X(IRREVERSIBILITY, CAUSALITY, RUN, EACH, NONE, 0, 0, "causality_time_irreversibility", "time_irreversibility") \
    X(ASYMMETRY, CAUSALITY, RUN, EACH, NONE, 0, 0, "causality_time_asymmetry_index", "time_asymmetry_index") \
    X(FLOW, CAUSALITY, RUN, EACH, NONE, 0, 0, "causality_spatial_flow_magnitude", "spatial_flow_magnitude") \
    X(FLOW_ANISOTROPY, CAUSALITY, RUN, EACH, NONE, 0, 0, "causality_spatial_flow_anisotropy", "spatial_flow_anisotropy") \
    LT_DRIFT_ROWS(X, L1, "L1") LT_DRIFT_ROWS(X, L2, "L2") LT_DRIFT_ROWS(X, LINF, "Linf")                   \
    LT_DRIFT_ROWS(X, ENTROPY, "entropy") LT_DRIFT_ROWS(X, TV, "tv")

#define LT_SENSITIVITY_ROWS(X)                                                                             \
    X(LIPSCHITZ, SENSITIVITY, RUN, ALL, EPSILON, 0, 0, "lipschitz_eps_{}", "lipschitz")                    \
    X(GAIN, SENSITIVITY, RUN, ALL, GAIN, 0, 0, "gain_scale_{}", "gain")                                    \
    X(LINEARITY, SENSITIVITY, RUN, ALL, NONE, 0, 0, "linearity_r2", "linearity_r2")                        \
    X(SATURATION, SENSITIVITY, RUN, ALL, NONE, 0, 0, "saturation_degree", "saturation_degree")             \
    X(COMPRESSION, SENSITIVITY, RUN, ALL, NONE, 0, 0, "compression_ratio", "compression_ratio")

/* Off by default: each needs its own switch, or its category's `enabled` (decision 67). */
#define LT_STEP_EXTRA_ROWS(X)                                                                              \
    X(HISTOGRAM_ENTROPY, SPATIAL, STEP, EACH, NONE, 0, 0, "histogram_entropy", "histogram")                \
    X(HISTOGRAM_PEAK, SPATIAL, STEP, EACH, NONE, 0, 0, "histogram_peak_fraction", NULL)                    \
    X(HISTOGRAM_BINS, SPATIAL, STEP, EACH, NONE, 0, 0, "histogram_effective_bins", NULL)                   \
    X(COHERENCE, CROSS_CHANNEL, STEP, ALL, BAND, 0, 10, "cross_channel_coherence_{}", "coherence")         \
    X(WAVELET_ENERGY, MULTISCALE, STEP, EACH, WAVELET, 0, 0, "wavelet_energy_level_{}", "wavelet_energy")  \
    X(WAVELET_MEAN, MULTISCALE, STEP, EACH, WAVELET, 1, 0, "wavelet_mean_level_{}", "wavelet_mean")        \
    X(WAVELET_STD, MULTISCALE, STEP, EACH, WAVELET, 1, 0, "wavelet_std_level_{}", "wavelet_std")           \
    X(PYRAMID_ENERGY, MULTISCALE, STEP, EACH, PYRAMID, 0, 0, "pyramid_energy_level_{}", "pyramid_energy")  \
    X(PYRAMID_CONTRAST, MULTISCALE, STEP, EACH, PYRAMID, 1, 0, "pyramid_contrast_level_{}", "pyramid_contrast") \
    X(SAMPLE_ENTROPY, DISTRIBUTIONAL, STEP, EACH, NONE, 0, 0, "sample_entropy", "sample_entropy")          \
    X(APPROXIMATE_ENTROPY, DISTRIBUTIONAL, STEP, EACH, NONE, 0, 0, "approximate_entropy", "approximate_entropy") \
    X(SVD_ENTROPY, DISTRIBUTIONAL, STEP, EACH, NONE, 0, 0, "svd_entropy", "svd_entropy")                   \
    X(SVD_PARTICIPATION, DISTRIBUTIONAL, STEP, EACH, NONE, 0, 0, "participation_ratio", "participation_ratio") \
    X(SVD_COMPRESSION, DISTRIBUTIONAL, STEP, EACH, NONE, 0, 0, "pca_compression_ratio", "pca_compression_ratio") \
    X(COARSE_ENTROPY, DISTRIBUTIONAL, STEP, EACH, ENTROPY_SCALE, 0, 0, "multiscale_entropy_scale_{}", "multiscale_entropy") \
    X(COMPONENTS, STRUCTURAL, STEP, EACH, NONE, 0, 0, "num_connected_components", "num_connected_components") \
    X(LARGEST_COMPONENT, STRUCTURAL, STEP, EACH, NONE, 0, 0, "largest_component_size", "largest_component_size") \
    X(COMPONENT_MEAN, STRUCTURAL, STEP, EACH, NONE, 0, 0, "component_size_mean", "component_size_mean")    \
    X(COMPONENT_STD, STRUCTURAL, STEP, EACH, NONE, 0, 0, "component_size_std", "component_size_std")       \
    X(EDGE_DENSITY, STRUCTURAL, STEP, EACH, NONE, 0, 0, "edge_density", "edge_density")                    \
    X(EDGE_MEAN, STRUCTURAL, STEP, EACH, NONE, 0, 0, "edge_magnitude_mean", "edge_magnitude_mean")         \
    X(EDGE_STD, STRUCTURAL, STEP, EACH, NONE, 0, 0, "edge_magnitude_std", "edge_magnitude_std")            \
    X(GLCM_CONTRAST, STRUCTURAL, STEP, EACH, NONE, 0, 0, "glcm_contrast", "glcm_contrast")                 \
    X(GLCM_HOMOGENEITY, STRUCTURAL, STEP, EACH, NONE, 0, 0, "glcm_homogeneity", "glcm_homogeneity")        \
    X(GLCM_ENERGY, STRUCTURAL, STEP, EACH, NONE, 0, 0, "glcm_energy", "glcm_energy")                       \
    X(GLCM_CORRELATION, STRUCTURAL, STEP, EACH, NONE, 0, 0, "glcm_correlation", "glcm_correlation")        \
    X(CORRELATION_LENGTH, PHYSICS, STEP, EACH, NONE, 0, 0, "correlation_length", "correlation_length")     \
    X(CORRELATION_PEAK, PHYSICS, STEP, EACH, NONE, 0, 0, "correlation_peak", "correlation_peak")           \
    X(FACTOR_PEAK_K, PHYSICS, STEP, EACH, NONE, 0, 0, "structure_factor_peak_k", "structure_factor_peak_k") \
    X(FACTOR_PEAK, PHYSICS, STEP, EACH, NONE, 0, 0, "structure_factor_peak_value", "structure_factor_peak_value") \
    X(FACTOR_WIDTH, PHYSICS, STEP, EACH, NONE, 0, 0, "structure_factor_width", "structure_factor_width")   \
    X(FACTOR_INTEGRAL, PHYSICS, STEP, EACH, NONE, 0, 0, "structure_factor_integral", "structure_factor_integral") \
    X(DENSITY_FLUCTUATION, PHYSICS, STEP, EACH, NONE, 0, 0, "density_fluctuation", "density_fluctuation")  \
    X(COMPRESSIBILITY, PHYSICS, STEP, EACH, NONE, 0, 0, "compressibility_proxy", "compressibility_proxy")  \
    X(CLUSTERING, PHYSICS, STEP, EACH, NONE, 0, 0, "clustering_coefficient", "clustering_coefficient")     \
    X(AREA_FRACTION, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "area_fraction", "area_fraction")              \
    X(PERIMETER, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "perimeter", "perimeter")                          \
    X(CIRCULARITY, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "circularity", "circularity")                    \
    X(ECCENTRICITY, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "eccentricity", "eccentricity")                 \
    X(SOLIDITY, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "solidity", "solidity")                             \
    X(EXTENT, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "extent", "extent")                                   \
    X(MASS_CENTRE_X, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "centroid_x", "centroid_x")                    \
    X(MASS_CENTRE_Y, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "centroid_y", "centroid_y")                    \
    X(HU_1, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "hu_moment_1", "hu_moment_1")                           \
    X(HU_2, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "hu_moment_2", "hu_moment_2")                           \
    X(GRANULE_MEAN, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "mean_granule_size", "mean_granule_size")       \
    X(GRANULE_STD, MORPHOLOGICAL, STEP, EACH, NONE, 0, 0, "granule_size_std", "granule_size_std")

#define LT_RUN_EXTRA_ROWS(X)                                                                               \
    X(PACF, TEMPORAL, RUN, EACH, PACF, 0, 10, "pacf_lag_{}", "pacf")                                       \
    X(RECURRENCE, NONLINEAR, RUN, EACH, NONE, 0, 0, "recurrence_rate", "recurrence_rate")                  \
    X(DETERMINISM, NONLINEAR, RUN, EACH, NONE, 0, 0, "determinism", "determinism")                         \
    X(LAMINARITY, NONLINEAR, RUN, EACH, NONE, 0, 0, "laminarity", "laminarity")                            \
    X(DIAGONAL_ENTROPY, NONLINEAR, RUN, EACH, NONE, 0, 0, "entropy_diag_length", "entropy_diag_length")    \
    X(CORRELATION_DIMENSION, NONLINEAR, RUN, EACH, NONE, 0, 0, "correlation_dimension", "correlation_dimension") \
    X(PERMUTATION_ENTROPY, NONLINEAR, RUN, EACH, NONE, 0, 0, "permutation_entropy", "permutation_entropy") \
    X(TRANSFER_MEAN, CAUSALITY, RUN, ALL, NONE, 0, 0, "causality_transfer_entropy_mean", "transfer_entropy") \
    X(TRANSFER_MAX, CAUSALITY, RUN, ALL, NONE, 0, 0, "causality_transfer_entropy_max", NULL)               \
    X(TRANSFER_STD, CAUSALITY, RUN, ALL, NONE, 0, 0, "causality_transfer_entropy_std", NULL)               \
    X(GRANGER_MEAN, CAUSALITY, RUN, ALL, NONE, 0, 0, "causality_granger_mean", "granger")                  \
    X(GRANGER_MAX, CAUSALITY, RUN, ALL, NONE, 0, 0, "causality_granger_max", NULL)                         \
    X(GRANGER_STD, CAUSALITY, RUN, ALL, NONE, 0, 0, "causality_granger_std", NULL)                         \
    LT_DRIFT_ROWS_SHARED(X, MASS, "mass", "mass_drift")                                                    \
    LT_DRIFT_ROWS_SHARED(X, ENERGY, "energy_L2", "energy_drift")                                           \
    LT_DRIFT_ROWS_SHARED(X, GRADIENT_ENERGY, "energy_gradient", NULL)

#define LT_FEATURE_ROWS(X) LT_STEP_ROWS(X) LT_RUN_ROWS(X) LT_SENSITIVITY_ROWS(X) LT_STEP_EXTRA_ROWS(X) LT_RUN_EXTRA_ROWS(X)

typedef enum lt_feature_id {
#define X(id, ...) LT_F_##id,
    LT_FEATURE_ROWS(X)
#undef X
    LT_F_COUNT,
    LT_F_FIRST_SENSITIVITY = LT_F_LIPSCHITZ,
    LT_F_FIRST_EXTRA = LT_F_HISTOGRAM_ENTROPY,
} lt_feature_id;

/* Categories in the order of the file's registry. */
#define LT_FEATURE_CATEGORIES(X)                                                                          \
    X(SPATIAL, "spatial") X(SPECTRAL, "spectral") X(TEMPORAL, "temporal") X(SENSITIVITY, "operator_sensitivity") \
    X(CROSS_CHANNEL, "cross_channel") X(CAUSALITY, "causality") X(INVARIANT_DRIFT, "invariant_drift")      \
    X(NONLINEAR, "nonlinear") X(MULTISCALE, "multiscale") X(DISTRIBUTIONAL, "distributional")              \
    X(STRUCTURAL, "structural") X(PHYSICS, "physics") X(MORPHOLOGICAL, "morphological")

typedef enum lt_feature_category {
#define X(id, name) LT_CATEGORY_##id,
    LT_FEATURE_CATEGORIES(X)
#undef X
    LT_CATEGORY_COUNT,
    LT_CATEGORY_FIRST_EXTRA = LT_CATEGORY_NONLINEAR,
} lt_feature_category;

#endif
