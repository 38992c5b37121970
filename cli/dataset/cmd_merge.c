/* lathe merge and extract-features: new datasets from old ones. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <stdlib.h>
#include <string.h>

/* ---- merge ---- */

typedef struct merge_cli { cli_common common; const char *out; } merge_cli;

static const lt_option merge_rows[] = { LT_OPTION_PATH(merge_cli, out, "out", NULL, "FILE.h5", "the whole dataset") };
static const lt_option_group merge_groups[] = CLI_GROUPS(merge_rows);
static const lt_option_table merge_table = {
    .program = "lathe merge", .summary = "Assemble shards of a dataset", .operands = "SHARD.h5...", .min_operands = 1, .max_operands = -1,
    .groups = merge_groups, .n_groups = 2, .example = "lathe merge --out all.h5 shard0.h5 shard1.h5",
};

/* A shard that cannot be read is the user's to mend, a disk that fails is not. */
static lt_status look_at_shards(cli_context *c, dataset_devices *devices)
{
    char text[256];
    for (int i = 0; i < c->n_operands; i++) {
        lt_dataset *d;
        CLI_TRY(dataset_blame(lt_dataset_open(c->operand[i], &d)));
        lt_status s = dataset_blame(dataset_count_devices(d, devices));
        lt_dataset_close(d);
        CLI_TRY(s);
    }
    if (devices->n > 1 && !c->common.quiet)
        fprintf(stderr, "lathe: the shards were made on different devices (rows: %s), which differ in the last bits: no single one would give this file; "
                        "/status/device keeps the device of each row\n", dataset_list_devices(devices, text));
    return LT_OK;
}

static lt_status run_merge(cli_context *c)
{
    const merge_cli *o = c->options;
    lt_dataset *d;
    dataset_devices devices = { 0 };
    if (!o->out) return cli_fail(LT_ERR_ARGUMENT, "where to? Give --out FILE.h5");
    CLI_TRY(look_at_shards(c, &devices));
    CLI_TRY(lt_dataset_merge(o->out, c->n_operands, (const char *const *)c->operand));
    CLI_TRY(lt_dataset_open(o->out, &d));
    lt_dataset_info i = lt_dataset_get_info(d);
    if (c->json) {
        lt_json_field_string(c->json, "output", o->out);
        lt_json_field_int(c->json, "rows", i.rows);
        lt_json_field_int(c->json, "file_bytes", (int64_t)i.file_bytes);
        lt_json_field_string(c->json, "device", i.device);
        dataset_json_devices(c->json, &devices);
    } else printf("%s: %lld rows from %d shard%s, %s\n", cli_shown(o->out).s, (long long)i.rows, c->n_operands, c->n_operands == 1 ? "" : "s",
                  cli_bytes((double)i.file_bytes).s);
    lt_dataset_close(d);
    return LT_OK;
}

const cli_command cli_merge = {
    .name = "merge", .options = &merge_table, .options_bytes = sizeof(merge_cli), .need = CLI_NEED_NOTHING, .run = run_merge,
    .description = "Checks that configuration, seed, precision and engine version of the shards agree and that every row occurs once, then writes one file.",
};

/* ---- extract-features ---- */

typedef struct extract_cli { cli_common common; const char *dataset; int64_t batch_size, max_samples, num_fft_scales; bool dry_run, explain_config, verbose; lt_extract_options e; } extract_cli;

#define O extract_cli
static const lt_option extract_rows[] = {
    LT_OPTION_PATH(O, dataset, "dataset", NULL, "FILE.h5", "the dataset; may also be given as the operand"),
    LT_OPTION_PATH(O, e.config, "config", NULL, "FILE.yaml", "which features, from where to where; docs/features.md lists the keys"),
    LT_OPTION_PATH(O, e.output, "output", NULL, "NEW.h5", "a new file; without, features are written into the dataset itself"),
    LT_OPTION_STRING(O, e.only, "only", NULL, "FAMILIES", "compute these of temporal, summary, architecture, initial (with commas); the others stay"),
    LT_OPTION_BOOL(O, e.spatial, "enable-spatial", "false", "only categories so enabled: spatial"),
    LT_OPTION_BOOL(O, e.spectral, "enable-spectral", "false", "only categories so enabled: spectral"),
    LT_OPTION_BOOL(O, e.temporal, "enable-temporal", "false", "only categories so enabled: temporal dynamics"),
    LT_OPTION_INT(O, num_fft_scales, "num-fft-scales", "0", LT_RANGE_CLOSED(0, 10), "N", "bands of the spectrum; 0 = as configured"),
    LT_OPTION_INT(O, batch_size, "batch-size", "0", LT_RANGE_CLOSED(0, 1000), "N", "operators read at a time; 0 = 32"),
    LT_OPTION_INT(O, max_samples, "max-samples", "0", LT_AT_LEAST(0), "N", "only the first N operators; 0 = all"),
    LT_OPTION_BOOL(O, e.overwrite, "overwrite", "false", "the output, or features that the dataset has, may be replaced"),
    LT_OPTION_BOOL(O, e.record_times, "record-times", "false", "keep the date and the seconds of each row in the file"),
    LT_OPTION_BOOL(O, dry_run, "dry-run", "false", "say what would be done; write nothing"),
    LT_OPTION_BOOL(O, explain_config, "explain-config", "false", "print which keys of --config have no effect, and why; write nothing"),
    LT_OPTION_BOOL(O, verbose, "verbose", "false", "say where the states come from"),
};
#undef O
static const lt_option_group extract_groups[] = CLI_GROUPS(extract_rows);
static const lt_option_table extract_table = {
    .program = "lathe extract-features", .summary = "Compute features of an existing dataset", .operands = "[FILE.h5]", .max_operands = 1,
    .groups = extract_groups, .n_groups = 2, .example = "lathe extract-features small.h5 --output features.h5 --enable-spatial --enable-spectral",
};

static lt_status extract_from(cli_context *c, const extract_cli *o, const char *output, lt_dataset *d)
{
    lt_dataset_info i = lt_dataset_get_info(d);
    dataset_bar bar = { .c = c, .label = "features" };
    lt_generate_info info = { .size = sizeof info };
    lt_extract_options e = o->e;
    e.size = sizeof e;
    e.batch_size = o->batch_size;
    e.max_rows = o->max_samples;
    e.num_fft_scales = (int)o->num_fft_scales;
    e.device = dataset_device(c);
    e.stop = cli_interrupt_flag();
    e.progress = dataset_bar_set;
    e.progress_ctx = &bar;
    int64_t n = e.max_rows && e.max_rows < i.rows ? e.max_rows : i.rows;
    if ((o->verbose || o->dry_run) && !c->json)
        printf("%lld of %lld operators, %s states, to %s\n", (long long)n, (long long)i.rows, i.has_outputs ? "stored" : "replayed", cli_shown(output ? output : "the dataset itself").s);
    if (o->dry_run) {
        if (c->json) lt_json_field_int(c->json, "rows", n);
        return LT_OK;
    }
    lt_status s = lt_dataset_extract(d, &e, &info);
    dataset_bar_end(&bar);
    if (s == LT_ERR_CANCELLED && cli_interrupted())
        return output ? cli_stopped() : cli_fail(s, "%s; the dataset is as it was, and the same command goes on", cli_stop_reason());
    CLI_TRY(s);
    if (c->json) dataset_json_info(c->json, &info);
    else printf("%lld operators in %s, %.4g per second; %s\n", (long long)info.samples, cli_seconds(info.total_seconds).s, info.samples_per_second,
                cli_bytes((double)info.file_bytes).s);
    return LT_OK;
}

static lt_status explain_document(cli_context *c, const lt_extract_document *doc)
{
    const lt_idle_key *k;
    int n = 0;
    if (!doc) return cli_fail(LT_ERR_ARGUMENT, "--explain-config: which configuration? Give --config FILE.yaml");
    if (c->json) lt_json_key(c->json, "without_effect"), lt_json_array_begin(c->json);
    for (; (k = lt_extract_document_idle(doc, n)); n++)
        if (c->json) lt_json_string(c->json, k->key);
        else printf("%s: %s: %s\n", k->place, k->key, k->reason);
    if (c->json) lt_json_array_end(c->json);
    else printf("%d %s no effect\n", n, n == 1 ? "key has" : "keys have");
    return LT_OK;
}

/* The device of the document, unless the command names one: a GPU that is not here is replaced by the CPU, and that is said. */
static lt_status open_device(cli_context *c, const lt_extract_document *doc)
{
    const char *wanted = doc ? lt_extract_document_device(doc) : NULL;
    if (!wanted || strncmp(wanted, "cuda", 4) || strcmp(c->common.device, "auto")) return LT_OK;
    lt_device *gpu = NULL;
    if (lt_device_open(wanted, &gpu)) {
        if (!c->common.quiet) fprintf(stderr, "lathe: device is %s in the configuration; it cannot be used here, states are replayed on the CPU\n", wanted);
        return LT_OK;
    }
    lt_device_close(c->device);
    c->device = gpu;
    c->common.device = wanted;
    return LT_OK;
}

static lt_status extract_document(cli_context *c, const extract_cli *o, const lt_extract_document *doc)
{
    const char *input = o->dataset || c->n_operands || !doc ? o->dataset : lt_extract_document_input(doc);
    const char *output = o->e.output ? o->e.output : doc ? lt_extract_document_output(doc) : NULL;
    lt_dataset *d;
    if (o->explain_config) return explain_document(c, doc);
    CLI_TRY(open_device(c, doc));
    CLI_TRY(dataset_open(c, input, &d));
    lt_status s = extract_from(c, o, output, d);
    lt_dataset_close(d);
    return s;
}

static lt_status run_extract(cli_context *c)
{
    const extract_cli *o = c->options;
    lt_extract_document *doc = NULL;
    if (o->e.config) CLI_TRY(dataset_blame(lt_extract_document_load(o->e.config, &doc)));
    lt_status s = extract_document(c, o, doc);
    lt_extract_document_destroy(doc);
    return s;
}

const cli_command cli_extract_features = {
    .name = "extract-features", .options = &extract_table, .options_bytes = sizeof(extract_cli), .need = CLI_NEED_CHOSEN, .stops = true, .run = run_extract,
    .description = "Computes features from the states in the file, or, where they were not stored, from replayed ones: the same bits. Writes a new dataset, or, without an output, a copy "
                   "beside the dataset that takes its place when it is whole: the old features stay until then, and after a kill the same command goes on.",
};
