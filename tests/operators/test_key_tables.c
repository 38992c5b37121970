/* Every key that Spinlock's two schemas have is accepted with a value they allow and refused with one they do not: dataset configurations, and documents of the
   feature extractor. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/scratch.h"
#include "config_text.h"
#include "lathe/dataset.h"
#include "operators/features/options.h"

typedef struct key_case { const char *path, *good, *bad; } key_case; /* bad NULL: any value of YAML is fine */

static const key_case dataset_keys[] = {
    { "version", "'1.0'", "[1]" }, { "metadata.name", "x", "[x]" }, { "metadata.description", "x", "[x]" }, { "metadata.author", "x", "{}" },
    { "metadata.created", "'2025-12-29'", "[]" }, { "metadata.purpose", "x", "[x]" }, { "metadata.license", "x", "[x]" },
    { "sampling.strategy", "sobol_stratified", "random" }, { "sampling.sobol.scramble", "false", "maybe" }, { "sampling.sobol.scramble_method", "lms_shift", "none" },
    { "sampling.sobol.seed", "0", "-1" }, { "sampling.stratification.method", "variance_based", "x" }, { "sampling.stratification.num_strata_per_dim", "10", "11" },
    { "sampling.stratification.min_samples_per_stratum", "1", "0" }, { "sampling.refinement.enabled", "false", "3.5" }, { "sampling.refinement.pilot_fraction", "0.1", "0.2" },
    { "sampling.refinement.variance_threshold", "0.5", "0" }, { "sampling.refinement.max_iterations", "10", "11" }, { "sampling.validation.check_discrepancy", "false", "x" },
    { "sampling.validation.max_discrepancy", "0.5", "0" }, { "sampling.validation.check_correlation", "false", "x" }, { "sampling.validation.max_pairwise_correlation", "0.5", "1" },
    { "sampling.total_samples", "14", "0" }, { "sampling.batch_size", "3", "0" },
    { "simulation.device", "cuda:1", "tpu" }, { "simulation.operator_type", "cnn", "fno" }, { "simulation.precision", "bfloat16", "float8" },
    { "simulation.num_realizations", "100", "101" }, { "simulation.num_timesteps", "10000", "10001" }, { "simulation.extract_operator_features", "true", "x" },
    { "simulation.parallelism.strategy", "ddp", "x" }, { "simulation.parallelism.devices", "[0, 1]", "[a]" }, { "simulation.performance.compile", "true", "x" },
    { "simulation.performance.benchmark_cudnn", "false", "x" }, { "simulation.performance.deterministic", "true", "x" },
    { "simulation.performance.partition_by_architecture", "false", "x" }, { "simulation.performance.warmup_templates", "true", "x" },
    { "simulation.performance.channel_bucket_size", "8", "0" }, { "simulation.performance.compile_mode", "max-autotune", "fast" },
    { "simulation.performance.batched_execution", "true", "x" }, { "simulation.performance.max_batch_size", "4", "0" },
    { "simulation.input_generation.method", "mixed", "x" }, { "simulation.input_generation.distribution", "uniform", "x" },
    { "simulation.input_generation.num_samples_per_operator", "3", "0" }, { "simulation.input_generation.spatial_size", "64", "[1]" },
    { "simulation.input_generation.length_scale", "1", "0" }, { "simulation.input_generation.variance", "2", "0" },
    { "simulation.input_generation.ic_type_weights", "{structured: 1}", "{nothing: 1}" }, { "simulation.input_generation.localized", "{num_blobs: [1, 5]}", "{num_blobs: [5, 1]}" },
    { "dataset.output_path", "x.h5", "[x]" }, { "dataset.storage.backend", "hdf5", "sqlite" }, { "dataset.storage.compression", "lzf", "zip" },
    { "dataset.storage.compression_level", "9", "10" }, { "dataset.storage.chunk_size", "1", "0" }, { "dataset.storage.store_trajectories", "true", "x" },
    { "dataset.data_to_store", "[input_data]", "3" }, { "dataset.metadata.include_config", "false", "x" }, { "dataset.metadata.include_sampling_metrics", "false", "x" },
    { "dataset.metadata.include_timestamps", "false", "x" },
    { "features.temporal.enabled", "false", "x" }, { "features.summary.enabled", "true", "x" }, { "features.summary.summary_mode", "manual", "both" },
    { "features.summary.learned.enabled", "true", "x" }, { "features.summary.learned.extract_from", "mid", "x" }, { "features.summary.learned.skip_levels", "[0]", "[a]" },
    { "features.summary.learned.layer_indices", "null", "3" }, { "features.summary.learned.temporal_agg", "std", "x" }, { "features.summary.learned.spatial_agg", "flatten", "x" },
    { "features.summary.learned.projection_dim", "8", "513" }, { "features.summary.learned.training_epochs", "500", "501" }, { "features.summary.learned.learning_rate", "0.1", "0" },
    { "features.summary.learned.lr_scheduler", "constant", "x" }, { "features.summary.learned.early_stopping_patience", "100", "101" },
    { "features.summary.extract_operator_features", "true", "x" }, { "features.initial.enabled", "true", "x" }, { "features.architecture.enabled", "true", "x" },
    { "logging.level", "DEBUG", "x" }, { "logging.format", "plain", "x" }, { "logging.output", "out.log", "[]" }, { "logging.metrics.track_gpu_memory", "false", "x" },
    { "logging.metrics.track_sampling_time", "false", "x" }, { "logging.metrics.track_simulation_time", "false", "x" },
    { "cloud.provider.enabled", "true", "x" }, { "cloud.provider.provider", "aws", "x" }, { "cloud.s3", "{bucket: b, prefix: p, region: r, storage_class: s}", "{bucket: b, nothing: 1}" },
    { "cloud.lambda_labs", "{api_key: k, max_cost_per_hour: 1, setup_script: null}", "{gpu_type: A100}" },
    { "cloud.runpod", "{api_key: k, max_bid_per_hour: 1}", "{max_bid_per_hour: 1}" }, { "cloud.lambda_labs_storage", "{remote_path: p}", "{remote_path: [p]}" },
};

static const key_case document_keys[] = {
    { "metadata.name", "x", "[x]" }, { "metadata.description", "x", "[x]" }, { "metadata.author", "x", "[x]" }, { "metadata.created", "x", "[x]" }, { "metadata.purpose", "x", "[x]" },
    { "input_dataset", "a.h5", "[a]" }, { "output_dataset", "null", "[a]" }, { "batch_size", "1000", "1001" }, { "device", "cuda:1", "tpu" }, { "num_workers", "4", "x" },
    { "cache_trajectories", "true", "x" }, { "overwrite", "true", "x" }, { "max_samples", "null", "0" },
    { "temporal.enabled", "true", NULL }, { "summary.spatial.histogram_num_bins", "64", NULL }, { "summary.spectral.num_fft_scales", "5", NULL }, { "summary.spatial.include_spatial_mean", "false", NULL },
    { "architecture.version", "'1.0.0'", NULL }, { "architecture.include_learned_embeddings", "false", NULL },
    { "architecture.architecture.enabled", "true", NULL }, { "architecture.architecture.include_depth", "true", NULL }, { "architecture.architecture.include_width", "true", NULL },
    { "architecture.architecture.include_kernel_size", "true", NULL }, { "architecture.architecture.include_activation_encoding", "true", NULL },
    { "architecture.architecture.include_dropout_rate", "true", NULL }, { "architecture.architecture.include_total_parameters", "true", NULL },
    { "architecture.stochastic.enabled", "true", NULL }, { "architecture.stochastic.include_noise_scale_log", "true", NULL },
    { "architecture.stochastic.include_noise_schedule_encoding", "true", NULL }, { "architecture.stochastic.include_spatial_correlation", "true", NULL },
    { "architecture.stochastic.include_noise_type_encoding", "true", NULL }, { "architecture.stochastic.include_stochasticity_score", "true", NULL },
    { "architecture.operator.enabled", "true", NULL }, { "architecture.operator.include_normalization_encoding", "true", NULL },
    { "architecture.operator.include_grid_size", "true", NULL }, { "architecture.operator.include_grid_size_class", "true", NULL },
    { "architecture.evolution.enabled", "true", NULL }, { "architecture.evolution.include_update_policy_encoding", "true", NULL }, { "architecture.evolution.include_dt_log", "true", NULL },
    { "architecture.evolution.include_alpha", "true", NULL }, { "architecture.stratification.enabled", "true", NULL }, { "architecture.stratification.include_stratum_ids", "true", NULL },
    { "architecture.stratification.include_stratum_hash", "true", NULL }, { "architecture.stratification.include_distance_to_boundary", "true", NULL },
    { "architecture.stratification.include_extremeness_score", "true", NULL },
    { "initial.version", "'1.0.0'", NULL }, { "initial.manual.enabled", "true", NULL }, { "initial.cnn.enabled", "true", NULL }, { "initial.cnn.embedding_dim", "28", NULL },
    { "initial.cnn.architecture", "resnet3", NULL }, { "initial.cnn.use_vae", "false", NULL }, { "initial.cnn.freeze_encoder", "true", NULL },
    { "initial.store_manual_separate", "true", NULL }, { "initial.store_cnn_separate", "true", NULL }, { "initial.store_combined", "true", NULL },
};

/* Numbers of the categories, below features.summary in a configuration and below summary in a document. */
static const key_case summary_keys[] = {
    { "spectral.num_fft_scales", "10", "11" }, { "spatial.histogram_num_bins", "64", "65" }, { "temporal.autocorr_max_lag", "100", "101" }, { "temporal.pacf_max_lag", "50", "51" },
    { "temporal.rolling_window_fractions", "[0.05, 0.1, 0.2]", "[0.05, 1.5]" }, { "cross_channel.num_eigen_top", "10", "11" }, { "cross_channel.mi_num_bins", "32", "33" },
    { "cross_channel.max_channels_for_full_corr", "128", "129" }, { "cross_channel.coherence_freq_bands", "[low, mid, high]", "{a: 1}" },
    { "causality.complexity_level", "full", "slow" }, { "causality.complexity_level", "medium", "1.5" }, { "causality.max_lag_correlation", "10", "11" }, { "causality.max_lag_prediction", "5", "6" },
    { "causality.transfer_entropy_num_bins", "32", "33" }, { "causality.granger_ar_order", "5", "6" }, { "invariant_drift.num_scales", "1", "4" },
    { "invariant_drift.gaussian_sigma", "5.0", "5.5" }, { "invariant_drift.entropy_num_bins", "128", "129" }, { "operator_sensitivity.lipschitz_epsilon_scales", "[1e-4, 1e-3, 1e-2]", "[a]" },
    { "operator_sensitivity.gain_scale_factors", "[0.5, 0.75, 1.25, 1.5]", "[a]" }, { "nonlinear.rqa_epsilon", "0.01", "0" }, { "nonlinear.rqa_embedding_dim", "3", "0" },
    { "nonlinear.rqa_tau", "10", "11" }, { "nonlinear.rqa_subsample_factor", "50", "51" }, { "nonlinear.corr_dim_embedding_dim", "5", "0" }, { "nonlinear.corr_dim_tau", "10", "11" },
    { "nonlinear.corr_dim_subsample_factor", "50", "51" }, { "nonlinear.perm_entropy_embedding_dim", "3", "0" }, { "nonlinear.perm_entropy_tau", "10", "11" },
    { "nonlinear.perm_entropy_subsample_factor", "50", "51" }, { "multiscale.wavelet", "haar", "x" }, { "multiscale.num_wavelet_levels", "6", "7" }, { "multiscale.num_pyramid_levels", "6", "7" },
    { "distributional.num_entropy_scales", "5", "6" }, { "structural.component_threshold", "0.5", "x" }, { "structural.edge_threshold", "0.1", "x" },
    { "physics.num_correlation_scales", "5", "6" }, { "morphological.shape_threshold", "0.5", "x" }, { "per_channel", "true", "x" }, { "extract_per_timestep", "true", "x" },
    { "temporal_aggregation", "[mean, std]", "{a: 1}" }, { "realization_aggregation", "[mean, std, cv]", "{a: 1}" },
};

/* Kinds of parameters, in every block. */
static const key_case space_keys[] = {
    { "parameter_space.architecture.dropout_rate", "{type: continuous, bounds: [0.0, 0.3], description: x}", "{type: continuous, bounds: [0.3, 0.0]}" },
    { "parameter_space.architecture.extra", "{type: integer, bounds: [2, 5], description: x}", "{type: integer, bounds: [2, 2]}" },
    { "parameter_space.stochastic.noise_scale", "{type: continuous, bounds: [0.001, 1.0], log_scale: true}", "{type: continuous, bounds: [0.0, 1.0], log_scale: true}" },
    { "parameter_space.stochastic.noise_schedule", "{type: choice, choices: [constant, annealing, periodic]}", "{type: choice, choices: []}" },
    { "parameter_space.stochastic.schedule_period", "{type: integer, bounds: [10, 100]}", "{type: integer, bounds: [10.5, 100]}" },
    { "parameter_space.stochastic.spatial_correlation", "{type: continuous, bounds: [0.0, 0.3]}", "{type: continuous, bounds: 3}" },
    { "parameter_space.stochastic.extra", "{type: boolean, description: x}", "{type: bool}" },
    { "parameter_space.evolution.update_policy", "{type: choice, choices: [residual, convex], weights: [0.75, 0.25]}", "{type: choice, choices: [residual, convex], weights: [0.75, 0.2]}" },
    { "parameter_space.evolution.alpha", "{type: continuous, bounds: [0.1, 0.5]}", "{type: continuous, bounds: [0.1]}" },
    { "parameter_space.evolution.dt", "{type: continuous, bounds: [0.01, 0.1], log_scale: true}", "{bounds: [0.01, 0.1]}" },
    { "parameter_space.operator.extra", "{type: choice, choices: [1, 2.5, a]}", "{type: array, length: 3, element_type: float, bounds: [0, 1]}" },
};

/* "a.b.c", "v" -> "a: {b: {c: v}}" */
static const char *nested(const char *path, const char *value)
{
    static char text[1024];
    char *to = text;
    int depth = 0;
    for (const char *at = path; *at; depth++) {
        size_t n = strcspn(at, ".");
        to += snprintf(to, 256, "%s%.*s: ", depth ? "{" : "", (int)n, at);
        at += n + (at[n] == '.');
    }
    to += snprintf(to, 400, "%s", value);
    for (int i = 1; i < depth; i++) to += snprintf(to, 2, "}");
    snprintf(to, 2, "\n");
    return text;
}

static lt_status load_dataset(const char *path, const char *value)
{
    const char *over = scratch("over.yaml"), *text = nested(path, value);
    lt_dataset_config *c = NULL;
    FILE *f = fopen(over, "w");
    LT_CHECK(f != NULL);
    if (f) fputs(text, f), fclose(f);
    lt_dataset_overrides o = lt_dataset_overrides_defaults();
    o.merge_path = over;
    lt_status s = lt_dataset_config_parse(base_config, strlen(base_config), "test.yaml", &o, &c);
    for (int i = 0; c && i < lt_dataset_config_warning_count(c); i++) LT_CHECK(!strstr(lt_dataset_config_warning(c, i), "unknown key"));
    lt_dataset_config_destroy(c);
    return s;
}

/* Both values of a key; what is bad must be refused for what it is. */
static void try_key(lt_status (*load)(const char *, const char *), const char *path, const key_case *k)
{
    if (load(path, k->good)) LT_TEST_FAIL("%s: %s: %s", path, k->good, lt_error_text());
    if (!k->bad) return;
    lt_status s = load(path, k->bad);
    if (s != LT_ERR_ARGUMENT && s != LT_ERR_FORMAT) LT_TEST_FAIL("%s: %s gives %s", path, k->bad, lt_status_name(s));
}

LT_TEST(every_key_of_a_dataset_configuration)
{
    for (size_t i = 0; i < sizeof dataset_keys / sizeof *dataset_keys; i++) try_key(load_dataset, dataset_keys[i].path, &dataset_keys[i]);
    for (size_t i = 0; i < sizeof space_keys / sizeof *space_keys; i++) try_key(load_dataset, space_keys[i].path, &space_keys[i]);
    for (size_t i = 0; i < sizeof summary_keys / sizeof *summary_keys; i++) {
        char path[128];
        snprintf(path, sizeof path, "features.summary.%s", summary_keys[i].path);
        try_key(load_dataset, path, &summary_keys[i]);
    }
}

static lt_status load_document(const char *path, const char *value)
{
    const char *file = scratch("document.yaml"), *text = nested(path, value);
    lt_extract_document *d = NULL;
    FILE *f = fopen(file, "w");
    LT_CHECK(f != NULL);
    if (f) fputs(text, f), fclose(f);
    lt_status s = lt_extract_document_load(file, &d);
    lt_extract_document_destroy(d);
    return s;
}

LT_TEST(every_key_of_a_feature_document)
{
    char wrong[160];
    for (size_t i = 0; i < sizeof document_keys / sizeof *document_keys; i++) {
        const key_case *k = &document_keys[i];
        try_key(load_document, k->path, k);
        snprintf(wrong, sizeof wrong, "%s_x", k->path);
        LT_CHECK(load_document(wrong, k->good) != LT_OK); /* unknown keys are errors here */
    }
    for (size_t i = 0; i < sizeof summary_keys / sizeof *summary_keys; i++) {
        char path[128];
        snprintf(path, sizeof path, "summary.%s", summary_keys[i].path);
        LT_CHECK_OK(load_document(path, summary_keys[i].good));
        snprintf(wrong, sizeof wrong, "%s_x", path);
        LT_CHECK(load_document(wrong, summary_keys[i].good) != LT_OK);
    }
}

/* Every feature has its switch, in both places; so has every category. */
LT_TEST(every_switch_of_a_feature)
{
    const lt_option_table *t = lt_feature_options_table();
    int n = 0;
    for (int i = 0; i < t->groups[0].n_rows; i++) {
        char path[160];
        snprintf(path, sizeof path, "summary.%s", t->groups[0].rows[i].name);
        if (load_document(path, "false")) LT_TEST_FAIL("%s: %s", path, lt_error_text());
        snprintf(path, sizeof path, "features.summary.%s", t->groups[0].rows[i].name);
        if (load_dataset(path, "false")) LT_TEST_FAIL("%s: %s", path, lt_error_text());
        n += strstr(path, ".include_") != NULL;
    }
    LT_CHECK(n >= 120);
}

LT_TEST(keys_without_effect_are_listed)
{
    const char *file = scratch("idle.yaml");
    lt_extract_document *d = NULL;
    FILE *f = fopen(file, "w");
    LT_CHECK(f != NULL);
    if (f) fputs("num_workers: 2\ncache_trajectories: true\narchitecture: {include_learned_embeddings: true}\ninitial: {cnn: {freeze_encoder: true}}\n", f), fclose(f);
    LT_CHECK_OK(lt_extract_document_load(file, &d));
    int n = 0;
    while (d && lt_extract_document_idle(d, n)) n++;
    LT_CHECK_EQ_INT(n, 4);
    lt_extract_document_destroy(d);
}

LT_TEST(uniform_noise_is_no_noise_and_says_so)
{
    lt_dataset_config *c = NULL;
    LT_CHECK_OK(load_with("choices: [gaussian]", "choices: [uniform]", NULL, &c));
    bool told = false;
    for (int i = 0; c && i < lt_dataset_config_warning_count(c); i++) told = told || strstr(lt_dataset_config_warning(c, i), "adds no noise");
    LT_CHECK(told);
    lt_operator_spec spec;
    float unit[8] = { 0 };
    if (c) LT_CHECK_OK(lt_dataset_map_row(c, unit, &spec));
    LT_CHECK_EQ_INT(spec.noise, LT_NOISE_NONE);
    lt_dataset_config_destroy(c);
}

LT_TEST_MAIN()
