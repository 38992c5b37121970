/* lathe tune: times the kernels there are for a list of problems and keeps the fastest.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/system/cases.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct tune_options {
    cli_common  common;
    bool        quick, list, clear;
    int         mode;
    const char *file;
} tune_options;

static const char *const mode_names[] = { "estimate", "measure", "stored", NULL };
static const lt_option rows[] = {
    LT_OPTION_ENUM(tune_options, mode, "mode", "measure", mode_names, "time what is not stored, or only look"),
    LT_OPTION_PATH(tune_options, file, "file", NULL, "FILE", "the tuning file; otherwise one in the cache folder"),
    LT_OPTION_BOOL(tune_options, list, "list", "false", "show what is stored and stop"),
    LT_OPTION_BOOL(tune_options, clear, "clear", "false", "remove the tuning file and stop"),
    LT_OPTION_BOOL(tune_options, quick, "quick", "false", "small problems only"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe tune", .summary = "Time the kernels for common problems and keep the fastest",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe tune --list",
};

/* The standard problems: what the benchmarks and the engines run. */
static const case_row *const problems[] = {
    &case_matmul, &case_matmul_f64, &case_conv, &case_conv_gelu, &case_group_norm, &case_softmax,
    &case_lenet_f32, &case_lenet_f64, &case_jacobian, &case_chain, &case_sum_exp, &case_rosenbrock,
};

static lt_status open_tuner(cli_context *c, lt_tuner **out)
{
    const tune_options *o = c->options;
    return lt_tuner_open(c->device, o->list || o->clear ? LT_TUNE_ESTIMATE : (lt_tune_mode)o->mode, o->file, out);
}

/* What was measured is kept at once: a run that is cut short has not been in vain. */
static lt_status keep(const tune_options *o, lt_tuner *tuner)
{
    return (lt_tune_mode)o->mode == LT_TUNE_MEASURE ? lt_tuner_save(tuner) : LT_OK;
}

static lt_status tune_all(cli_context *c, lt_tuner *tuner)
{
    const tune_options *o = c->options;
    lt_progress *bar;
    /* A GPU runs networks in 16 bits as well. */
    int n = CLI_LEN(problems), n_runs = cli_on_gpu(c->device) ? 2 * n : n;
    CLI_TRY(lt_progress_create("tune", "problem", n_runs, c->common.quiet || c->json, &bar));
    lt_status s = LT_OK;
    for (int i = 0; i < n_runs && !s; i++) {
        lt_compile_options opt = { .size = sizeof opt, .mode = LT_MODE_MAX_AUTOTUNE, .device = c->device, .tuner = tuner, .low_precision = i >= n, .storage_type = LT_F16 };
        case_run run;
        s = case_open(problems[i % n], o->quick, &opt, (uint64_t)c->common.seed, &run);
        if (!s) case_close(&run);
        lt_status kept = keep(o, tuner);
        s = s ? s : kept;
        if (!s && cli_interrupted()) s = cli_stopped();
        lt_progress_set(bar, i + 1);
    }
    lt_progress_destroy(bar);
    if (s || o->quick) return s;
    s = lt_gram_tune(c->device, tuner);
    lt_status kept = keep(o, tuner);
    return s ? s : kept;
}

static void put_json(lt_json *j, lt_tuner *tuner)
{
    lt_tune_entry e;
    lt_json_field_string(j, "file", lt_tuner_path(tuner));
    lt_json_field_string(j, "header", lt_tuner_header(tuner));
    lt_json_field_string(j, "refused", lt_tuner_refusal(tuner));
    lt_json_field_int(j, "measured", lt_tuner_measured(tuner));
    lt_json_key(j, "entries");
    lt_json_array_begin(j);
    for (int64_t i = 0; lt_tuner_entry(tuner, i, &e); i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "problem", e.problem);
        lt_json_field_string(j, "choice", e.choice);
        lt_json_field_double(j, "time_us", e.time_us);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static void put_text(cli_context *c, lt_tuner *tuner)
{
    lt_tune_entry e;
    for (int64_t i = 0; lt_tuner_entry(tuner, i, &e); i++) printf("%s : %s : %.4g us\n", e.problem, e.choice, e.time_us);
    if (c->common.quiet) return;
    if (lt_tuner_refusal(tuner)[0]) printf("refused: %s\n", lt_tuner_refusal(tuner));
    printf("%lld entries, %lld measured now, in %s\n", (long long)lt_tuner_count(tuner), (long long)lt_tuner_measured(tuner), lt_tuner_path(tuner));
}

static lt_status clear_file(cli_context *c, const char *path)
{
    bool existed = unlink(path) == 0;
    if (!existed && errno != ENOENT) return cli_fail(LT_ERR_IO, "%s: %s", path, strerror(errno));
    if (c->json) {
        lt_json_field_string(c->json, "file", path);
        lt_json_field_bool(c->json, "removed", existed);
    } else if (!c->common.quiet) {
        printf(existed ? "removed %s\n" : "there was no %s\n", path);
    }
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    const tune_options *o = c->options;
    if (o->list && o->clear) return cli_fail(LT_ERR_ARGUMENT, "--list and --clear exclude each other");
    lt_tuner *tuner;
    CLI_TRY(open_tuner(c, &tuner));
    lt_status s = LT_OK;
    if (o->clear) {
        s = clear_file(c, lt_tuner_path(tuner));
    } else {
        if (!o->list) s = tune_all(c, tuner);
        if (!s && c->json) put_json(c->json, tuner);
        else if (!s) put_text(c, tuner);
    }
    lt_tuner_destroy(tuner);
    return s;
}

const cli_command cli_tune = {
    .name = "tune", .options = &table, .options_bytes = sizeof(tune_options), .need = CLI_NEED_CPU, .stops = true, .run = run,
    .description = "Compiles the graphs of the benchmarks with every kernel timed where there is a choice, and stores the answers in the tuning "
                   "file, one line each. A problem already stored is not timed again; --mode stored fails on one that is not.\n"
                   "On a GPU the candidates are engines of cuDNN, algorithms of cuBLASLt and shapes of generated kernels, for graphs in the types "
                   "they have and in float16; GPUs of one name, with the same driver and libraries, share the answers.\n"
                   "--list shows the file, --clear removes it. A file of another device or version is refused whole.",
};
