/* The keys of Spinlock's configurations that lathe accepts and does not use. Their values are checked and kept in the document; `why`
   says why nothing depends on them. `lathe generate --explain-config` and docs/dataset-config.md print this list.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/keys.h"

#include "base/status.h"

/* Only the types of these fields matter: values are checked and dropped. */
typedef struct dropped { int64_t integer; double real; bool flag; int name; const char *text; lt_text_list list; } dropped;

/* A text or a number. */
static lt_status check_scalar(const lt_schema_row *row, const lt_yaml_node *n, void *into)
{
    (void)into;
    return !n || n->text ? LT_OK : lt_schema_refuse(n, row->option.name, "a text or a number");
}

static const char *const strategies[] = { "sobol_stratified", NULL }, *const scrambles[] = { "owen", "lms_shift", NULL },
    *const strata[] = { "adaptive", "uniform", "variance_based", NULL }, *const parallels[] = { "data_parallel", "ddp", NULL },
    *const compile_modes[] = { "reduce-overhead", "max-autotune", "default", NULL }, *const inputs[] = { "gaussian", "uniform", NULL },
    *const backends[] = { "hdf5", NULL }, *const levels[] = { "DEBUG", "INFO", "WARNING", "ERROR", NULL },
    *const formats[] = { "structured", "plain", NULL };

#define UNUSED(type_, field_, path, default_, help_, why_, ...) \
    { .option = { .name = path, .type = LT_OPTION_TYPE_##type_, LT_OPTION_FIELD_(dropped, field_), .default_text = default_, .help = help_, __VA_ARGS__ }, .why = why_ }
#define BOOL(path, default_, help_, why_) UNUSED(BOOL, flag, path, default_, help_, why_, .names = NULL)
#define INT(path, default_, help_, why_, ...) UNUSED(INT, integer, path, default_, help_, why_, .range = __VA_ARGS__)
#define REAL(path, default_, help_, why_, ...) UNUSED(REAL, real, path, default_, help_, why_, .range = __VA_ARGS__)
#define ENUM(path, default_, names_, help_, why_) UNUSED(ENUM, name, path, default_, help_, why_, .names = names_)
#define LIST(path, help_, why_) UNUSED(LIST, list, path, NULL, help_, why_, .names = NULL)
#define TEXT(path, default_, flags_, help_, why_) { .option = LT_OPTION_STRING(dropped, text, path, default_, "TEXT", help_), .flags = flags_, .why = why_ }

#define FOR_READERS "a note for people"
#define STRATIFIED  "Sobol points are stratified in every column as they stand" /* decision 41 */
#define NO_REFINING "rows depend on the seed alone; refinement would make them depend on results" /* decision 41 */
#define COMPILED    "kernels are always compiled"
#define SIDE_BY_SIDE "small operators always run side by side"
#define ALL_WRITTEN "always written"
#define REPORTED    "always reported"
#define LOCAL       "lathe runs on this machine: it rents none and uploads nothing"

const lt_schema_row lt_accepted_unused[] = {
    TEXT("version", "1.0", 0, "version of the format", "every version is read alike"),
    TEXT("metadata.description", "", LT_KEY_NULL, "in words", FOR_READERS),
    TEXT("metadata.author", "", LT_KEY_NULL, "who made it", FOR_READERS),
    TEXT("metadata.created", "", LT_KEY_NULL, "when", FOR_READERS),
    TEXT("metadata.purpose", "", LT_KEY_NULL, "what it is for", FOR_READERS),
    TEXT("metadata.license", "", LT_KEY_NULL, "under which it may be used, as CC-BY-4.0: for its card", FOR_READERS),

    ENUM("sampling.strategy", "sobol_stratified", strategies, "kind of sample", "there is only one"),
    ENUM("sampling.sobol.scramble_method", "owen", scrambles, "kind of scrambling", "both names mean a random matrix and a digital shift"),
    ENUM("sampling.stratification.method", "adaptive", strata, "kind of strata", STRATIFIED),
    INT("sampling.stratification.num_strata_per_dim", "4", "strata of a column", STRATIFIED, LT_RANGE_CLOSED(2, 10)),
    INT("sampling.stratification.min_samples_per_stratum", "10", "rows in each", STRATIFIED, LT_AT_LEAST(1)),
    BOOL("sampling.refinement.enabled", "true", "add rows where results vary", NO_REFINING),
    REAL("sampling.refinement.pilot_fraction", "0.01", "rows of the first round", NO_REFINING, LT_RANGE_OPEN_LO(0, 0.1)),
    REAL("sampling.refinement.variance_threshold", "0.1", "when to refine", NO_REFINING, LT_ABOVE(0)),
    INT("sampling.refinement.max_iterations", "3", "rounds", NO_REFINING, LT_RANGE_CLOSED(1, 10)),

    ENUM("simulation.parallelism.strategy", "data_parallel", parallels, "how devices share work", "devices always share rows"),
    BOOL("simulation.performance.compile", "false", "compile networks", COMPILED),
    BOOL("simulation.performance.benchmark_cudnn", "true", "time kernels", "kernels are always tuned"),
    BOOL("simulation.performance.deterministic", "false", "the same bits again", "runs are always reproducible"),
    BOOL("simulation.performance.partition_by_architecture", "true", "group rows", "rows of one architecture always share a plan"),
    BOOL("simulation.performance.warmup_templates", "false", "run kernels once before", "nothing needs warming up"),
    INT("simulation.performance.channel_bucket_size", "16", "round widths up", "widths are exact", LT_AT_LEAST(1)),
    ENUM("simulation.performance.compile_mode", "reduce-overhead", compile_modes, "how to compile", COMPILED),
    BOOL("simulation.performance.batched_execution", "false", "batch operators", SIDE_BY_SIDE),
    INT("simulation.performance.max_batch_size", "32", "operators in a batch", SIDE_BY_SIDE, LT_AT_LEAST(1)),
    ENUM("simulation.input_generation.distribution", "gaussian", inputs, "of initial fields", "a field is what its type says"),
    INT("simulation.input_generation.num_samples_per_operator", "100", "fields of an operator", "every operator has one initial field", LT_AT_LEAST(1)),
    { .option = { .name = "simulation.input_generation.spatial_size", .type = LT_OPTION_TYPE_STRING, LT_OPTION_FIELD_(dropped, text),
                  .default_text = "from_operator", .help = "grid of the fields" },
      .read = check_scalar, .why = "a field has its operator's grid" },

    ENUM("dataset.storage.backend", "hdf5", backends, "format of the file", "there is only one"),
    LIST("dataset.data_to_store", "parts of the file", "all parts are written"),
    BOOL("dataset.metadata.include_config", "true", "keep the configuration", ALL_WRITTEN),
    BOOL("dataset.metadata.include_sampling_metrics", "true", "keep the quality of the sample", ALL_WRITTEN),
    BOOL("dataset.metadata.include_timestamps", "true", "keep dates", "the option --record-times decides"),

    TEXT("features.architecture.version", "1.0.0", 0, "version of the columns", "every version is read alike"),
    BOOL("features.architecture.include_learned_embeddings", "false", "learned columns", "nothing defines them"),
    TEXT("features.initial.version", "1.0.0", 0, "version of the columns", "every version is read alike"),
    BOOL("features.initial.cnn.freeze_encoder", "true", "train no weights", "weights are drawn and never trained"),

    ENUM("logging.level", "INFO", levels, "how much is printed", "the options --quiet and --verbose decide"),
    ENUM("logging.format", "structured", formats, "how it is printed", "the option --json decides"),
    TEXT("logging.output", "stdout", 0, "where it is printed", "results go to standard output, messages to standard error"),
    BOOL("logging.metrics.track_gpu_memory", "true", "report memory", REPORTED),
    BOOL("logging.metrics.track_sampling_time", "true", "report the time of sampling", REPORTED),
    BOOL("logging.metrics.track_simulation_time", "true", "report the time of rollouts", REPORTED),

    BOOL("cloud.provider.enabled", "false", "use a provider", LOCAL),
    TEXT("cloud.lambda_labs.api_key", NULL, LT_KEY_REQUIRED, "better as ${NAME}", LOCAL),
    TEXT("cloud.lambda_labs.gpu_type", "A100", 0, "kind of device", LOCAL),
    TEXT("cloud.lambda_labs.region", "us-west-1", 0, "where", LOCAL),
    TEXT("cloud.lambda_labs.instance_type", "gpu_1x_a100_sxm4", 0, "kind of machine", LOCAL),
    TEXT("cloud.lambda_labs.ssh_key_name", "spinlock-key", 0, "key for it", LOCAL),
    REAL("cloud.lambda_labs.max_cost_per_hour", "2", "limit", LOCAL, LT_ABOVE(0)),
    BOOL("cloud.lambda_labs.auto_shutdown_on_completion", "true", "end it afterwards", LOCAL),
    TEXT("cloud.lambda_labs.remote_working_dir", "", LT_KEY_NULL, "folder on that machine", LOCAL),
    TEXT("cloud.lambda_labs.setup_script", NULL, LT_KEY_NULL, "run first", LOCAL),
    TEXT("cloud.runpod.api_key", NULL, LT_KEY_REQUIRED, "better as ${NAME}", LOCAL),
    TEXT("cloud.runpod.gpu_type", "RTX4090", 0, "kind of device", LOCAL),
    TEXT("cloud.runpod.network_volume_id", NULL, LT_KEY_NULL, "disk", LOCAL),
    REAL("cloud.runpod.max_bid_per_hour", "1", "limit", LOCAL, LT_ABOVE(0)),
    BOOL("cloud.runpod.auto_shutdown_on_completion", "true", "end it afterwards", LOCAL),
    TEXT("cloud.lambda_labs_storage.remote_path", "", LT_KEY_NULL, "folder on that machine", LOCAL),
    TEXT("cloud.lambda_labs_storage.local_download_path", NULL, LT_KEY_NULL, "folder here", LOCAL),
    TEXT("cloud.s3.bucket", NULL, LT_KEY_REQUIRED, "name", LOCAL),
    TEXT("cloud.s3.prefix", "datasets/", 0, "before the name of the file", LOCAL),
    TEXT("cloud.s3.region", "us-west-2", 0, "where", LOCAL),
    TEXT("cloud.s3.access_key_id", NULL, LT_KEY_NULL, "better as ${NAME}", LOCAL),
    TEXT("cloud.s3.secret_access_key", NULL, LT_KEY_NULL, "better as ${NAME}", LOCAL),
    TEXT("cloud.s3.storage_class", "STANDARD", 0, "price class", LOCAL),
};
const int lt_accepted_unused_count = (int)LT_LEN(lt_accepted_unused);
