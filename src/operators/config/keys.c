/* The schema of dataset configurations: one row per key drives defaults, checks, notes and documentation. Keys that are
   checked and change nothing are in accepted_unused.c. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/keys.h"

#include "base/status.h"
#include "operators/config/config.h"
#include "operators/fields/types.h"
#include "operators/config/names.h"
#include "operators/sample/sobol.h"

#include <string.h>

/* ---- Values no option type holds --------------------------------------------------- */
/* Two names as a bool: the second one is true. */
static lt_status read_second(const lt_schema_row *row, const lt_yaml_node *n, void *into)
{
    const char *text = n ? n->text : row->option.default_text;
    bool *field = (bool *)((char *)into + row->option.offset);
    for (int i = 0; text && i < 2; i++)
        if (!strcmp(text, row->option.names[i])) {
            *field = i == 1;
            return LT_OK;
        }
    char expected[128];
    snprintf(expected, sizeof expected, "%s or %s", row->option.names[0], row->option.names[1]);
    return lt_schema_refuse(n, row->option.name, expected);
}

/* Small integers as a bit set. */
static lt_status read_bits(const lt_schema_row *row, const lt_yaml_node *n, void *into)
{
    uint32_t *bits = (uint32_t *)((char *)into + row->option.offset);
    if (!n) {
        *bits = row->option.default_text ? 7 : 0; /* [0, 1, 2], or null: all */
        return LT_OK;
    }
    *bits = 0;
    for (const lt_yaml_node *m = n->first; m; m = m->next) {
        if (m->kind != LT_YAML_INT || m->integer < 0 || m->integer > 31) return lt_schema_refuse(m, row->option.name, "integers in 0..31");
        *bits |= 1u << m->integer;
    }
    return n->kind == LT_YAML_LIST ? LT_OK : lt_schema_refuse(n, row->option.name, "a list of integers");
}

static lt_status read_device(const lt_schema_row *row, const lt_yaml_node *n, void *into)
{
    const char **field = (const char **)((char *)into + row->option.offset), *text = n ? n->text : row->option.default_text;
    *field = text;
    if (text) {
        size_t digits = strncmp(text, "cuda:", 5) ? 0 : strspn(text + 5, "0123456789");
        if (!strcmp(text, "cpu") || !strcmp(text, "cuda") || !strcmp(text, "auto")) return LT_OK;
        if (digits && digits < 4 && !text[5 + digits]) return LT_OK;
    }
    return lt_schema_refuse(n, row->option.name, "cpu, cuda, cuda:N or auto");
}

/* simulation.parallelism.devices: "auto", no bit, or a list of numbers as a bit set. */
static lt_status read_devices(const lt_schema_row *row, const lt_yaml_node *n, void *into)
{
    static const char expected[] = "auto or a list of integers in 0..31, each once";
    uint32_t *bits = (uint32_t *)((char *)into + row->option.offset);
    *bits = 0;
    if (!n || (n->kind == LT_YAML_TEXT && !strcmp(n->text, "auto"))) return LT_OK;
    for (const lt_yaml_node *m = n->first; m; m = m->next) {
        if (m->kind != LT_YAML_INT || m->integer < 0 || m->integer > 31 || *bits >> m->integer & 1) return lt_schema_refuse(m, row->option.name, expected);
        *bits |= 1u << m->integer;
    }
    return *bits && n->kind == LT_YAML_LIST ? LT_OK : lt_schema_refuse(n, row->option.name, expected);
}

/* ---- Names ---------------------------------------------------------------------------- */
static const char *const compressions[] = { "gzip", "lzf", "none", NULL }, *const summary_modes[] = { "manual", "learned", "hybrid", NULL },
    *const learned_from[] = { "all", "bottleneck", "skips", "early", "mid", "pre_output", NULL },
    *const temporal_aggs[] = { "mean_max", "mean", "max", "std", NULL }, *const spatial_aggs[] = { "gap", "flatten", NULL },
    *const schedulers[] = { "constant", "cosine", NULL }, *const initial_variants[] = { "manual14", "basic38", NULL },
    *const cnn_kinds[] = { "resnet3", NULL }, *const architecture_variants[] = { "unit", "named", "products", NULL },
    *const providers[] = { "lambda_labs", "runpod", "aws", "local", NULL }, *const paddings[] = { "zeros", "circular", NULL },
    *const gelus[] = { "erf", "tanh", NULL }, *const semantics[] = { "reference", "full", NULL },
    *const grfs[] = { "reference", "physical", NULL }, *const clips[] = { "none", "batch", NULL },
    *const feature_modes[] = { "reference", "corrected", NULL }, *const alias_blocks[] = { "use", "ignore", NULL }, *const watchdogs[] = { "auto", "on", "off", NULL };

/* ---- Rows ------------------------------------------------------------------------------ */
#define C lt_dataset_config
#define SECTION(path, flags_, help_) { .option = { .name = path, .help = help_ }, .flags = flags_ }
#define KEY(...) { .option = __VA_ARGS__ }
#define KEY_WITH(flags_, ...) { .option = __VA_ARGS__, .flags = flags_ }
#define CUSTOM(reader, flags_, field_, path, default_, names_, help_) \
    { .option = { .name = path, .type = LT_OPTION_TYPE_STRING, LT_OPTION_FIELD_(C, field_), .default_text = default_, .names = names_, .help = help_ }, \
      .flags = flags_, .read = reader }

static const lt_schema_row rows[] = {

    SECTION("metadata", LT_KEY_SECTION | LT_KEY_REQUIRED, "what the dataset is"),
    KEY_WITH(LT_KEY_REQUIRED, LT_OPTION_STRING(C, name, "metadata.name", NULL, "TEXT", "name of the dataset")),

    SECTION("parameter_space", LT_KEY_SECTION | LT_KEY_REQUIRED, "which operators there are"),
    SECTION("parameter_space.architecture", LT_KEY_OPEN | LT_KEY_REQUIRED, "parameters of the network"),
    SECTION("parameter_space.stochastic", LT_KEY_OPEN | LT_KEY_REQUIRED, "parameters of the noise"),
    SECTION("parameter_space.operator", LT_KEY_OPEN | LT_KEY_REQUIRED, "normalisation and grid"),
    SECTION("parameter_space.evolution", LT_KEY_OPEN, "update policy"),
    SECTION("parameter_space.u_afno", LT_KEY_OPEN, "parameters of U-AFNO operators; those left out have default bounds"),

    SECTION("sampling", LT_KEY_SECTION | LT_KEY_REQUIRED, "how rows are drawn"),
    KEY(LT_OPTION_BOOL(C, scramble, "sampling.sobol.scramble", "true", "random matrix and digital shift per column")),
    KEY(LT_OPTION_INT(C, seed, "sampling.sobol.seed", "42", LT_AT_LEAST(0), "N", "seed of everything: rows, weights, fields, noise")),
    KEY(LT_OPTION_BOOL(C, check_discrepancy, "sampling.validation.check_discrepancy", "true", "judge the discrepancy")),
    KEY(LT_OPTION_REAL(C, max_discrepancy, "sampling.validation.max_discrepancy", "0.01", LT_ABOVE(0), "X", "passes below it")),
    KEY(LT_OPTION_BOOL(C, check_correlation, "sampling.validation.check_correlation", "true", "judge the correlations")),
    KEY(LT_OPTION_REAL(C, max_correlation, "sampling.validation.max_pairwise_correlation", "0.05", LT_RANGE_OPEN(0, 1), "X", "passes below it")),
    KEY_WITH(LT_KEY_REQUIRED, LT_OPTION_INT(C, total_samples, "sampling.total_samples", NULL, LT_RANGE_CLOSED(1, LT_SOBOL_MAX_POINTS), "N", "operators in the dataset")),
    KEY(LT_OPTION_INT(C, batch_size, "sampling.batch_size", "1000", LT_AT_LEAST(1), "N", "operators handed on together; results do not depend on it")),

    SECTION("simulation", LT_KEY_SECTION | LT_KEY_REQUIRED, "how operators are run"),
    CUSTOM(read_device, 0, device, "simulation.device", "cuda", NULL, "cpu, cuda, cuda:N or auto"),
    KEY(LT_OPTION_ENUM(C, kind, "simulation.operator_type", "cnn", lt_operator_kind_names, "kind of operator")),
    KEY(LT_OPTION_ENUM(C, precision, "simulation.precision", "float32", lt_precision_names, "arithmetic of the network; left out: float16 when num_timesteps > 1")),
    KEY(LT_OPTION_INT(C, realizations, "simulation.num_realizations", "10", LT_RANGE_CLOSED(1, 100), "M", "runs of each operator")),
    KEY(LT_OPTION_INT(C, steps, "simulation.num_timesteps", "1", LT_RANGE_CLOSED(1, 10000), "T", "states per run, the first field included; 1 = snapshots")),
    KEY(LT_OPTION_BOOL(C, operator_features, "simulation.extract_operator_features", "false", "the ten operator-sensitivity columns")),
    CUSTOM(read_devices, 0, devices, "simulation.parallelism.devices", "auto", NULL,
           "GPUs that share the rows, a worker process each, with device cuda or auto: auto, all that are alike, or a list of their numbers"),
    SECTION("simulation.input_generation", LT_KEY_OPEN, "initial fields: one parameter block per type or alias"),
    KEY(LT_OPTION_ENUM(C, method, "simulation.input_generation.method", "random", lt_field_method_names, "type of all fields, or sampled")),
    KEY(LT_OPTION_REAL(C, length_scale, "simulation.input_generation.length_scale", "0.1", LT_RANGE_OPEN_LO(0, 1), "L",
                       "of gaussian_random_field, unless its block says otherwise")),
    KEY(LT_OPTION_REAL(C, variance, "simulation.input_generation.variance", "1", LT_ABOVE(0), "V", "of gaussian_random_field, unless its block says otherwise")),
    SECTION("simulation.input_generation.ic_type_weights", LT_KEY_OPEN, "name: weight, with method sampled"),

    SECTION("dataset", LT_KEY_SECTION | LT_KEY_REQUIRED, "the file"),
    KEY_WITH(LT_KEY_REQUIRED, LT_OPTION_PATH(C, output_path, "dataset.output_path", NULL, "F.h5", "where it goes")),
    KEY(LT_OPTION_ENUM(C, compression, "dataset.storage.compression", "gzip", compressions, "of chunks")),
    KEY(LT_OPTION_INT(C, compression_level, "dataset.storage.compression_level", "4", LT_RANGE_CLOSED(0, 9), "N", "of gzip")),
    KEY(LT_OPTION_INT(C, chunk_rows, "dataset.storage.chunk_size", "1000", LT_AT_LEAST(1), "K", "operators per chunk, at most all of them")),
    KEY(LT_OPTION_BOOL(C, store_trajectories, "dataset.storage.store_trajectories", "false", "keep every state")),

    KEY(LT_OPTION_BOOL(C, temporal, "features.temporal.enabled", "true", "per-step features")),
    KEY(LT_OPTION_BOOL(C, summary, "features.summary.enabled", "true", "per-trajectory features")),
    KEY(LT_OPTION_BOOL(C, summary_operator_features, "features.summary.extract_operator_features", "false", "as simulation.extract_operator_features")),
    KEY(LT_OPTION_BOOL(C, initial, "features.initial.enabled", "false", "features of the initial field")),
    KEY(LT_OPTION_ENUM(C, initial_variant, "features.initial.variant", "manual14", initial_variants, "which of them")),
    KEY(LT_OPTION_BOOL(C, architecture, "features.architecture.enabled", "false", "what the operator is, as features")),
    KEY(LT_OPTION_ENUM(C, architecture_variant, "features.architecture.variant", "unit", architecture_variants,
                       "the unit row; named columns; the unit row and products of pairs")),
    KEY(LT_OPTION_BOOL(C, named.architecture, "features.architecture.architecture.enabled", "true", "with variant named: columns of the network")),
    KEY(LT_OPTION_BOOL(C, named.depth, "features.architecture.architecture.include_depth", "true", "arch_num_layers")),
    KEY(LT_OPTION_BOOL(C, named.width, "features.architecture.architecture.include_width", "true", "arch_base_channels")),
    KEY(LT_OPTION_BOOL(C, named.kernel_size, "features.architecture.architecture.include_kernel_size", "true", "arch_kernel_size")),
    KEY(LT_OPTION_BOOL(C, named.activation, "features.architecture.architecture.include_activation_encoding", "true", "arch_activation_*")),
    KEY(LT_OPTION_BOOL(C, named.dropout, "features.architecture.architecture.include_dropout_rate", "true", "arch_dropout_rate")),
    KEY(LT_OPTION_BOOL(C, named.parameters, "features.architecture.architecture.include_total_parameters", "true", "arch_total_params_log10")),
    KEY(LT_OPTION_BOOL(C, named.stochastic, "features.architecture.stochastic.enabled", "true", "with variant named: columns of the noise")),
    KEY(LT_OPTION_BOOL(C, named.noise_scale, "features.architecture.stochastic.include_noise_scale_log", "true", "stoch_noise_scale_log")),
    KEY(LT_OPTION_BOOL(C, named.schedule, "features.architecture.stochastic.include_noise_schedule_encoding", "true", "stoch_schedule_*")),
    KEY(LT_OPTION_BOOL(C, named.correlation, "features.architecture.stochastic.include_spatial_correlation", "true", "stoch_spatial_corr")),
    KEY(LT_OPTION_BOOL(C, named.noise_type, "features.architecture.stochastic.include_noise_type_encoding", "true", "stoch_noise_*")),
    KEY(LT_OPTION_BOOL(C, named.score, "features.architecture.stochastic.include_stochasticity_score", "true", "stoch_score")),
    KEY(LT_OPTION_BOOL(C, named.operators, "features.architecture.operator.enabled", "true", "with variant named: columns of norm and grid")),
    KEY(LT_OPTION_BOOL(C, named.normalization, "features.architecture.operator.include_normalization_encoding", "true", "op_norm_*")),
    KEY(LT_OPTION_BOOL(C, named.grid_size, "features.architecture.operator.include_grid_size", "true", "op_grid_size")),
    KEY(LT_OPTION_BOOL(C, named.grid_class, "features.architecture.operator.include_grid_size_class", "true", "op_grid_*")),
    KEY(LT_OPTION_BOOL(C, named.evolution, "features.architecture.evolution.enabled", "true", "with variant named: columns of the update")),
    KEY(LT_OPTION_BOOL(C, named.policy, "features.architecture.evolution.include_update_policy_encoding", "true", "evol_policy_*")),
    KEY(LT_OPTION_BOOL(C, named.dt, "features.architecture.evolution.include_dt_log", "true", "evol_dt_log")),
    KEY(LT_OPTION_BOOL(C, named.alpha, "features.architecture.evolution.include_alpha", "true", "evol_alpha")),
    KEY(LT_OPTION_BOOL(C, named.stratification, "features.architecture.stratification.enabled", "true", "with variant named: columns of the strata")),
    KEY(LT_OPTION_BOOL(C, named.strata, "features.architecture.stratification.include_stratum_ids", "true", "strat_dim*_stratum")),
    KEY(LT_OPTION_BOOL(C, named.hash, "features.architecture.stratification.include_stratum_hash", "true", "strat_hash")),
    KEY(LT_OPTION_BOOL(C, named.boundary, "features.architecture.stratification.include_distance_to_boundary", "true", "strat_boundary_dist")),
    KEY(LT_OPTION_BOOL(C, named.extremeness, "features.architecture.stratification.include_extremeness_score", "true", "strat_extremeness")),
    KEY(LT_OPTION_BOOL(C, initials.manual, "features.initial.manual.enabled", "true", "the columns of the variant")),
    KEY(LT_OPTION_BOOL(C, initials.cnn, "features.initial.cnn.enabled", "false", "an embedding by a network with weights drawn from the seed")),
    KEY(LT_OPTION_INT(C, initials.dim, "features.initial.cnn.embedding_dim", "28", LT_RANGE_CLOSED(1, 1024), "N", "columns of it")),
    KEY(LT_OPTION_ENUM(C, initials.cnn_kind, "features.initial.cnn.architecture", "resnet3", cnn_kinds, "the network")),
    KEY(LT_OPTION_BOOL(C, initials.vae, "features.initial.cnn.use_vae", "false", "the mean of an autoencoder's code, a linear map of its own")),
    KEY(LT_OPTION_BOOL(C, initials.combined, "features.initial.store_combined", "true", "all columns in /features/initial/aggregated/features")),
    KEY(LT_OPTION_BOOL(C, initials.manual_separate, "features.initial.store_manual_separate", "false", "those of the variant in /features/initial/manual/features as well")),
    KEY(LT_OPTION_BOOL(C, initials.cnn_separate, "features.initial.store_cnn_separate", "false", "those of the embedding in /features/initial/cnn/features as well")),
    KEY(LT_OPTION_ENUM(C, summary_mode, "features.summary.summary_mode", "manual", summary_modes, "statistics, learned features or both")),
    KEY(LT_OPTION_BOOL(C, learned.enabled, "features.summary.learned.enabled", "false", "learned features")),
    KEY(LT_OPTION_ENUM(C, learned.from, "features.summary.learned.extract_from", "all", learned_from, "which latents")),
    CUSTOM(read_bits, 0, learned.skip_levels, "features.summary.learned.skip_levels", "[0, 1, 2]", NULL, "with skips"),
    CUSTOM(read_bits, LT_KEY_NULL, learned.layer_indices, "features.summary.learned.layer_indices", NULL, NULL, "with mid; null = all"),
    KEY(LT_OPTION_ENUM(C, learned.temporal_agg, "features.summary.learned.temporal_agg", "mean_max", temporal_aggs, "over time")),
    CUSTOM(read_second, 0, learned.flatten, "features.summary.learned.spatial_agg", "gap", spatial_aggs, "over the grid: gap or flatten"),
    KEY_WITH(LT_KEY_NULL, LT_OPTION_INT(C, learned.projection_dim, "features.summary.learned.projection_dim", "0", LT_RANGE_CLOSED(0, 512), "N",
                                        "8..512; null or 0 = none")),
    KEY(LT_OPTION_INT(C, learned.training_epochs, "features.summary.learned.training_epochs", "100", LT_RANGE_CLOSED(1, 500), "N", "at most")),
    KEY(LT_OPTION_REAL(C, learned.learning_rate, "features.summary.learned.learning_rate", "0.001", LT_ABOVE(0), "R", "of Adam")),
    CUSTOM(read_second, 0, learned.cosine, "features.summary.learned.lr_scheduler", "cosine", schedulers, "constant or cosine"),
    KEY(LT_OPTION_INT(C, learned.patience, "features.summary.learned.early_stopping_patience", "20", LT_RANGE_CLOSED(1, 100), "N", "epochs without progress")),

    SECTION("cloud", LT_KEY_STRICT, "rented machines, as Spinlock knows them"),
    KEY(LT_OPTION_ENUM(C, provider, "cloud.provider.provider", "local", providers, "every run is local; another name is only reported")),

    SECTION("engine", LT_KEY_SECTION, "keys of lathe, which other readers ignore"),
    KEY(LT_OPTION_ENUM(C, engine.padding, "engine.padding", "zeros", paddings, "of convolutions")),
    KEY(LT_OPTION_ENUM(C, engine.gelu, "engine.gelu", "erf", gelus, "exact, or the tanh form")),
    KEY(LT_OPTION_ENUM(C, engine.noise_semantics, "engine.noise_semantics", "reference", semantics, "full: schedule and correlation are applied")),
    KEY(LT_OPTION_ENUM(C, engine.grf, "engine.grf", "reference", grfs, "physical: length scales are fractions of the grid, variances hold")),
    KEY(LT_OPTION_ENUM(C, engine.clip, "engine.clip", "none", clips, "of features, by the quartiles of a batch")),
    KEY(LT_OPTION_ENUM(C, engine.features, "engine.features", "reference", feature_modes, "corrected: replacements of degenerate formulas")),
    KEY(LT_OPTION_ENUM(C, engine.alias_blocks, "engine.alias_blocks", "use", alias_blocks, "ignore: aliases and structured have default parameters")),
    KEY(LT_OPTION_ENUM(C, engine.watchdog, "engine.watchdog", "auto", watchdogs,
                       "on: rollouts run in a process of their own, which is replaced when a step hangs; auto: on for cuda; results do not depend on it")),
};

lt_schema lt_config_schema(void)
{
    return (lt_schema){ .rows = rows, .n_rows = (int)LT_LEN(rows), .unused = lt_accepted_unused, .n_unused = lt_accepted_unused_count, .more = lt_feature_options_table(),
                        .more_prefix = "features.summary.", .more_base = offsetof(C, features) };
}
