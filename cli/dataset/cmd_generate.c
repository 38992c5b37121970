/* lathe generate: datasets of operator rollouts. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"
#include "cli/system/machine.h"

#include <stdlib.h>
#include <string.h>

typedef struct generate_cli {
    cli_common  common;
    const char *config, *output, *merge, *shard, *report, *rows;
    int64_t     total_samples, batch_size, num_realizations, seed, threads, at_once;
    lt_text_list define;
    bool        dry_run, explain_config, verbose, resume, overwrite, record_times, requeue, mixed_devices;
    int         watchdog;
    double      watchdog_seconds;
} generate_cli;

static const char *const watchdog_names[] = { "file", "auto", "on", "off", NULL };

#define O generate_cli
static const lt_option rows[] = {
    LT_OPTION_PATH(O, config, "config", NULL, "FILE.yaml", "what to generate; docs/dataset-config.md lists the keys; may also be given as the operand"),
    LT_OPTION_PATH(O, output, "output", NULL, "FILE.h5", "instead of dataset.output_path"),
    LT_OPTION_INT(O, total_samples, "total-samples", NULL, LT_AT_LEAST(1), "N", "instead of sampling.total_samples"),
    LT_OPTION_INT(O, batch_size, "batch-size", NULL, LT_AT_LEAST(1), "N", "instead of sampling.batch_size; results do not depend on it"),
    LT_OPTION_INT(O, num_realizations, "num-realizations", NULL, LT_AT_LEAST(1), "M", "instead of simulation.num_realizations"),
    LT_OPTION_INT(O, seed, "seed", "-1", LT_AT_LEAST(-1), "N", "instead of sampling.sobol.seed; -1 = as in the file"),
    LT_OPTION_PATH(O, merge, "merge", NULL, "OVER.yaml", "a document laid over the configuration: mappings merge, everything else replaces"),
    LT_OPTION_LIST(O, define, "define", "NAME=VALUE", "what ${NAME} in the configuration stands for"),
    LT_OPTION_INT(O, threads, "threads", "0", LT_RANGE_CLOSED(0, 1024), "N", "threads of a rollout, 0 = all; results do not depend on it"),
    LT_OPTION_ENUM(O, watchdog, "watchdog", "file", watchdog_names,
                   "instead of engine.watchdog: whether rollouts run in a process of their own, which is replaced when a step hangs"),
    LT_OPTION_REAL(O, watchdog_seconds, "watchdog-seconds", "10", LT_ABOVE(0), "S",
                   "what a step may take at least before the watchdog suspects it; it waits for 100 times what is expected"),
    LT_OPTION_INT(O, at_once, "at-once", "0", LT_RANGE_CLOSED(0, 4), "N", "operators side by side on a GPU, 0 = by their size; results do not depend on it"),
    LT_OPTION_BOOL(O, resume, "resume", "false", "go on with a file where an earlier run stopped; a finished one gets the rows it lacks of a larger total_samples"),
    LT_OPTION_STRING(O, rows, "rows", NULL, "a:b", "make rows a to b - 1 of a finished file again; the others stay"),
    LT_OPTION_BOOL(O, overwrite, "overwrite", "false", "an unfinished run, or a file that is no dataset, may be replaced"),
    LT_OPTION_BOOL(O, record_times, "record-times", "false",
                   "keep the date of the run and the seconds of each row in the file; without, equal runs give equal files, byte for byte"),
    LT_OPTION_BOOL(O, requeue, "requeue", "false",
                   "SIGTERM, as batch systems send it before the time limit, ends the run after the operators at hand, with status 0 and 'resume "
                   "me'"),
    LT_OPTION_BOOL(O, mixed_devices, "mixed-devices", "false",
                   "ranks may have CPUs and GPUs of different kinds, whose rows differ in the last bits: /status/device says which made each"),
    LT_OPTION_PATH(O, report, "report", NULL, "FILE.html", "write a page about the dataset and the run"),
    LT_OPTION_BOOL(O, dry_run, "dry-run", "false", "print the plan: memory, work, estimated time and size; write nothing"),
    LT_OPTION_BOOL(O, explain_config, "explain-config", "false", "print which keys of the configuration have no effect, and why; write nothing"),
    LT_OPTION_BOOL(O, verbose, "verbose", "false", "say what the configuration amounts to before the run"),
    LT_OPTION_STRING(O, shard, "shard", NULL, "i/n", "rows i, i + n, ... only, as a file of their own; see lathe merge"),
};
#undef O

/* The seed has a row of its own: here its absence means something. */
static const lt_option_group groups[] = {
    { .title = "Options", .rows = rows, .n_rows = CLI_LEN(rows) },
    { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS - 1 },
};
static const lt_option_table table = {
    .program = "lathe generate", .summary = "Make a dataset of operator rollouts with features",
    .operands = "[FILE.yaml]", .max_operands = 1, .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe generate --config examples/configs/baseline_10k.yaml --total-samples 8 --output small.h5 --report small.html",
};

/* ---- Configuration ---- */

static lt_status split_defines(const generate_cli *o, char *text, size_t size, const char **names, const char **values)
{
    size_t at = 0;
    for (int i = 0; i < o->define.n; i++) {
        const char *item = o->define.item[i], *equals = strchr(item, '=');
        size_t n = equals ? (size_t)(equals - item) : 0;
        if (n == 0 || at + n + 1 > size) return cli_fail(LT_ERR_ARGUMENT, "--define %s: expected NAME=VALUE", item);
        names[i] = memcpy(text + at, item, n);
        text[at + n] = '\0';
        at += n + 1;
        values[i] = equals + 1;
    }
    return LT_OK;
}

/* The path of the configuration is held to the same as --output, which cli_check_files looks at. */
static lt_status check_output_path(const generate_cli *o, const char *output)
{
    const char *const other[][2] = { { "config", o->config }, { "merge", o->merge }, { "report", o->report }, { "profile", o->common.profile } };
    CLI_TRY(cli_check_no_folder(output));
    for (int i = 0; i < CLI_LEN(other); i++)
        if (cli_same_file(output, other[i][1]))
            return cli_fail(LT_ERR_ARGUMENT, "the dataset would go to %s, which is also the file of --%s: they must differ", output, other[i][0]);
    return LT_OK;
}

static lt_status load(const generate_cli *o, lt_dataset_config **out)
{
    char text[4096];
    const char *names[LT_TEXT_LIST_MAX], *values[LT_TEXT_LIST_MAX];
    if (!o->config) return cli_fail(LT_ERR_ARGUMENT, "which configuration? Give --config FILE.yaml");
    CLI_TRY(split_defines(o, text, sizeof text, names, values));
    lt_dataset_overrides over = { .size = sizeof over, .output = o->output, .device = strcmp(o->common.device, "auto") ? o->common.device : NULL, .total_samples = o->total_samples,
        .batch_size = o->batch_size, .realizations = o->num_realizations, .has_seed = o->seed >= 0, .seed = (uint64_t)o->seed,
        .names = names, .values = values, .n_names = o->define.n, .merge_path = o->merge,
        .watchdog = o->watchdog ? watchdog_names[o->watchdog] : o->common.profile ? "off" : NULL, /* a trace shows this process alone */ };
    CLI_TRY(dataset_blame(lt_dataset_config_load(o->config, &over, out)));
    lt_status s = check_output_path(o, lt_dataset_config_summary(*out).output);
    if (s) {
        lt_dataset_config_destroy(*out);
        return s;
    }
    for (int i = 0; !o->common.quiet && !o->explain_config && i < lt_dataset_config_warning_count(*out); i++)
        fprintf(stderr, "lathe: %s\n", cli_shown(lt_dataset_config_warning(*out, i)).s);
    return LT_OK;
}

static lt_status parse_shard(const char *text, lt_generate_options *opt)
{
    long long i, n;
    char rest;
    if (!text) return LT_OK;
    if (sscanf(text, "%lld/%lld%c", &i, &n, &rest) != 2 || n < 1 || i < 0 || i >= n)
        return cli_fail(LT_ERR_ARGUMENT, "--shard %s: expected i/n with 0 <= i < n, as in 0/4", text);
    opt->shard_index = i;
    opt->shard_count = n;
    return LT_OK;
}

static lt_status parse_rows(const char *text, lt_generate_options *opt)
{
    long long a, b;
    char rest;
    if (!text) return LT_OK;
    if (sscanf(text, "%lld:%lld%c", &a, &b, &rest) != 2 || a < 0 || b <= a) return cli_fail(LT_ERR_ARGUMENT, "--rows %s: expected a:b with 0 <= a < b, as in 4:8", text);
    opt->first_row = a;
    opt->end_row = b;
    return LT_OK;
}

/* A device in the place of the one that is open, if any. */
static lt_status reopen(cli_context *c, const char *name)
{
    lt_device_close(c->device);
    c->device = NULL;
    return lt_device_open(name, &c->device);
}

/* With several GPUs: which of them, said once. */
static void report_devices(const cli_context *c, const lt_generate_devices *d, const char *gpu)
{
    if (c->common.quiet) return;
    if (d->n > 1) {
        fprintf(stderr, "lathe: rollouts run on %s", d->name[0]);
        for (int i = 1; i < d->n; i++) fprintf(stderr, ", %s", d->name[i]);
        fprintf(stderr, ", each %s\n", gpu);
    } else fprintf(stderr, "lathe: rollouts run on %s, %s\n", lt_device_id(c->device), gpu);
    if (d->reason[0]) fprintf(stderr, "lathe: %s\n", d->reason);
}

/* A rank has one GPU of its machine. Where a batch system shows each rank one, that is it. */
static void take_own_device(const cli_context *c, lt_generate_devices *d)
{
    int own = d->n ? lt_cluster_get_info(c->cluster).local_rank % d->n : 0;
    if (own) memcpy(d->name[0], d->name[own], sizeof d->name[0]);
    if (d->n > 1) d->n = 1;
}

/* The device of --device; with auto a GPU where there is one and the configuration does not ask for the CPU. GPUs are those that
   simulation.parallelism.devices means, the first of them open, unless --device names one. */
static lt_status choose_device(cli_context *c, const lt_dataset_config *config, lt_generate_devices *d, lt_device **out)
{
    const char *wanted = lt_dataset_config_summary(config).device;
    bool chosen = strcmp(c->common.device, "auto") != 0;
    *out = dataset_device(c);
    if (!strncmp(wanted, "cpu", 3)) {
        if (!chosen && !c->common.quiet && !c->json) fprintf(stderr, "lathe: rollouts run on the CPU, as simulation.device says\n");
        return LT_OK;
    }
    CLI_TRY(lt_generate_choose_devices(config, d));
    if (cli_several_ranks(c)) take_own_device(c, d);
    if (chosen && (!d->n || !strcmp(d->name[0], lt_device_id(c->device)))) {
        if (d->n > 1 || d->reason[0]) {
            lt_device_info first = { .size = sizeof first };
            CLI_TRY(lt_device_describe(c->device, &first));
            report_devices(c, d, first.name);
        }
        return LT_OK;
    }
    CLI_TRY(reopen(c, d->n ? d->name[0] : "auto"));
    lt_device_info info = { .size = sizeof info };
    CLI_TRY(lt_device_describe(c->device, &info));
    bool gpu = info.own_memory;
    *out = gpu ? c->device : NULL;
    if (gpu) report_devices(c, d, info.name);
    else if (!c->common.quiet) fprintf(stderr, "lathe: simulation.device is %s; there is no GPU that can be used here, rollouts run on the CPU\n", wanted);
    return LT_OK;
}

/* ---- Keys without effect ---- */

static void json_idle_keys(lt_json *j, const lt_dataset_config *config)
{
    const lt_idle_key *k;
    lt_json_key(j, "without_effect");
    lt_json_array_begin(j);
    for (int i = 0; (k = lt_dataset_config_idle(config, i)); i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "key", k->key);
        lt_json_field_string(j, "place", k->place);
        lt_json_field_string(j, "reason", k->reason);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static void print_idle_keys(const lt_dataset_config *config)
{
    const lt_idle_key *k;
    int n = 0;
    for (; (k = lt_dataset_config_idle(config, n)); n++) printf("%s: %s: %s\n", k->place, k->key, k->reason);
    printf("%d %s no effect\n", n, n == 1 ? "key has" : "keys have");
}

static lt_status explain_config(const cli_context *c, const lt_dataset_config *config)
{
    if (c->json) json_idle_keys(c->json, config);
    else print_idle_keys(config);
    return LT_OK;
}

/* ---- Plan ---- */

static void print_plan(const lt_dataset_summary *s, const lt_generate_plan *p)
{
    printf("%s: %lld operators of %lld architectures, %lld realizations, %lld steps, grids up to %lld\n", cli_shown(s->name).s, (long long)p->rows, (long long)p->signatures,
           (long long)p->realizations, (long long)p->steps, (long long)p->grid);
    printf("memory            %s activations, %s weights, %s states, %s rows on their way\n", cli_bytes((double)p->arena_bytes).s,
           cli_bytes((double)p->weight_bytes).s, cli_bytes((double)p->state_bytes).s, cli_bytes((double)p->host_bytes).s);
    printf("work              %.4g TFLOP in %s, %s\n", 1e-12 * p->total_flops, lt_precision_name(p->precision), p->arithmetic);
    if (p->precision_reason[0]) printf("precision         %s\n", p->precision_reason);
    printf("time, estimated   %s at %.4g GFLOP/s (networks alone, timed on operators of four sizes)\n", cli_seconds(p->estimated_seconds).s, p->gflops);
    printf("file, estimated   %s (%s before compression): %s\n", cli_bytes((double)p->estimated_file_bytes).s, cli_bytes((double)p->raw_bytes).s, cli_shown(s->output).s);
}

static void json_plan(lt_json *j, const lt_dataset_summary *s, const lt_generate_plan *p)
{
    lt_json_field_string(j, "name", s->name);
    lt_json_field_string(j, "output", s->output);
    lt_json_field_int(j, "rows", p->rows);
    lt_json_field_int(j, "signatures", p->signatures);
    lt_json_field_int(j, "realizations", p->realizations);
    lt_json_field_int(j, "steps", p->steps);
    lt_json_field_int(j, "grid", p->grid);
    lt_json_field_int(j, "arena_bytes", p->arena_bytes);
    lt_json_field_int(j, "weight_bytes", p->weight_bytes);
    lt_json_field_int(j, "state_bytes", p->state_bytes);
    lt_json_field_int(j, "host_bytes", p->host_bytes);
    lt_json_field_double(j, "total_flops", p->total_flops);
    lt_json_field_double(j, "estimated_seconds", p->estimated_seconds);
    lt_json_field_double(j, "gflops", p->gflops);
    lt_json_field_int(j, "raw_bytes", (int64_t)p->raw_bytes);
    lt_json_field_int(j, "estimated_file_bytes", (int64_t)p->estimated_file_bytes);
    lt_json_field_string(j, "precision", lt_precision_name(p->precision));
    lt_json_field_string(j, "precision_reason", p->precision_reason);
    lt_json_field_string(j, "arithmetic", p->arithmetic);
}

static lt_status show_plan(cli_context *c, const lt_dataset_config *config, const lt_generate_options *opt, bool as_result)
{
    lt_generate_plan plan = { .size = sizeof plan };
    lt_dataset_summary s = lt_dataset_config_summary(config);
    CLI_TRY(lt_generate_make_plan(config, opt, &plan));
    if (c->json && as_result) json_plan(c->json, &s, &plan);
    else if (!c->json) print_plan(&s, &plan);
    return LT_OK;
}

/* ---- Run ---- */

/* Rollouts against what the cores can do at all, measured now. */
static lt_status report_limit(const lt_generate_info *info, lt_report *r)
{
    double limit;
    CLI_TRY(cli_measure_peak(LT_F32, cli_core_count(), 0.2, &limit));
    lt_report_paragraph(r, "Multiply-adds in registers reach %.4g GFLOP/s on %d threads of this machine, measured just now: rollouts used %.3g %% of that.",
                        1e-9 * limit, cli_core_count(), 1e11 * info->gflops / limit);
    return LT_OK;
}

static lt_status write_report(cli_context *c, const char *dataset, const char *path, const lt_generate_info *info)
{
    lt_dataset *d;
    lt_report *r = NULL;
    CLI_TRY(lt_dataset_open(dataset, &d));
    lt_status s = lt_report_create("Operator dataset", &r);
    if (!s) s = lt_dataset_report(d, info, r);
    if (!s) {
        lt_report_heading(r, "Run");
        s = report_limit(info, r);
        cli_report_machine(c, r);
    }
    if (!s) {
        s = lt_report_write(r, path);
    }
    lt_report_destroy(r);
    lt_dataset_close(d);
    return s;
}

/* What a run that wrote all rows has to say. */
static lt_status report_run(cli_context *c, const generate_cli *o, const char *output, const lt_generate_info *info)
{
    const char *const remarks[] = { info->precision_reason, info->device_reason, info->feature_reason };
    for (int i = 0; i < CLI_LEN(remarks); i++)
        if (remarks[i][0] && !c->common.quiet) fprintf(stderr, "lathe: %s\n", remarks[i]);
    if (o->report) CLI_TRY(write_report(c, output, o->report, info));
    if (c->json) {
        lt_json_field_string(c->json, "output", output);
        dataset_json_info(c->json, info);
        return cli_json_machine(c);
    }
    dataset_print_info(info);
    printf("%s\n", cli_shown(output).s);
    return LT_OK;
}

static lt_status fail_resumable(lt_status s, const char *text) { return cli_fail(s, "%s; what was written stays readable, and --resume goes on", text); }

/* All rows are written, some of them as lost: reported as a run that ended, and a failure. */
static lt_status report_lost(cli_context *c, const generate_cli *o, const char *output, const lt_generate_info *info)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", lt_error_text());
    CLI_TRY(report_run(c, o, output, info));
    c->json_complete = true;
    return fail_resumable(LT_ERR_DEVICE, text);
}

static lt_status run_config(cli_context *c, const generate_cli *o, const lt_dataset_config *config, lt_generate_options *opt)
{
    dataset_bar bar = { .c = c, .label = "generate" };
    lt_generate_info info = { .size = sizeof info };
    lt_dataset_summary summary = lt_dataset_config_summary(config);
    if (o->dry_run) return cli_first_rank(c) ? show_plan(c, config, opt, true) : LT_OK;
    if (o->verbose && cli_first_rank(c)) CLI_TRY(show_plan(c, config, opt, false));
    opt->progress = dataset_bar_set;
    opt->progress_ctx = &bar;
    opt->stop = cli_interrupt_flag();
    opt->cluster = c->cluster;
    if (o->requeue) cli_drain_on_term();
    if (o->requeue) opt->drain = cli_drain_flag();
    lt_status s = lt_generate(config, opt, &info);
    dataset_bar_end(&bar);
    if (s == LT_ERR_CANCELLED && o->requeue && *cli_drain_flag()) return cli_say_resume(c, "operators", info.skipped + info.samples, summary.total_samples);
    if (s == LT_ERR_CANCELLED && cli_interrupted())
        return cli_fail(LT_ERR_CANCELLED, "%s after %lld operators; the same command with --resume goes on", cli_stop_reason(), (long long)(info.skipped + info.samples));
    if (s == LT_ERR_DEVICE && info.complete && cli_first_rank(c)) return report_lost(c, o, summary.output, &info);
    if ((s == LT_ERR_IO || s == LT_ERR_DEVICE || s == LT_ERR_MEMORY) && info.samples + info.skipped) return fail_resumable(s, lt_error_text());
    CLI_TRY(s);
    return !cli_first_rank(c) ? LT_OK : report_run(c, o, summary.output, &info);
}

static lt_status generate(cli_context *c, const generate_cli *o, const lt_dataset_config *config, lt_generate_options opt)
{
    opt.resume = o->resume || o->rows;
    opt.overwrite = o->overwrite;
    opt.record_times = o->record_times;
    opt.mixed_devices = o->mixed_devices;
    opt.threads = (int)o->threads;
    opt.worker = (const char *const[]){ "/proc/self/exe", CLI_WORKER, NULL };
    opt.watchdog_seconds = o->watchdog_seconds;
    const char *provider = lt_dataset_config_summary(config).provider;
    if (strcmp(provider, "local") && !c->common.quiet) fprintf(stderr, "lathe: cloud.provider.provider is %s; this run is local\n", provider);
    opt.at_once = (int)o->at_once;
    lt_generate_devices devices = { .size = sizeof devices };
    const char *names[LT_GENERATE_MAX_DEVICES];
    lt_status s = choose_device(c, config, &devices, &opt.device);
    if ((s || devices.reason[0]) && o->common.profile && !o->watchdog && !c->common.quiet)
        fprintf(stderr, "lathe: engine.watchdog is off for the sake of --profile: a trace shows one process\n");
    for (int i = 0; i < devices.n; i++) names[i] = devices.name[i];
    opt.devices = names;
    opt.n_devices = devices.n > 1 ? devices.n : 0;
    return s ? s : run_config(c, o, config, &opt);
}

/* The configuration by its option or as the operand. */
static lt_status take_operand(const cli_context *c, generate_cli *o)
{
    if (!c->n_operands) return LT_OK;
    if (o->config) return cli_fail(LT_ERR_ARGUMENT, "two configurations: --config %s and %s; --merge lays one over another", o->config, c->operand[0]);
    o->config = c->operand[0];
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    generate_cli own = *(const generate_cli *)c->options, *o = &own;
    lt_dataset_config *config = NULL;
    lt_generate_options opt = lt_generate_defaults();
    CLI_TRY(take_operand(c, o));
    CLI_TRY(parse_shard(o->shard, &opt));
    CLI_TRY(parse_rows(o->rows, &opt));
    CLI_TRY(load(o, &config));
    lt_status s = o->explain_config ? explain_config(c, config) : generate(c, o, config, opt);
    lt_dataset_config_destroy(config);
    return s;
}

const cli_command cli_generate_dataset = {
    .name = "generate", .options = &table, .options_bytes = sizeof(generate_cli), .need = CLI_NEED_CHOSEN, .reports_device = true,
    .makes_folders = true, .stops = true, .ranks = true, .run = run,
    .description = "Draws operators from a parameter space, iterates each from an initial field, accumulates features as it runs and writes one HDF5 "
                   "file. Everything is a function of the configuration and its seed: batch size, threads, shards, devices that share the rows and interruptions "
                   "change nothing.\n"
                   "All GPUs that are alike share the rows, each in a worker process; simulation.parallelism.devices lists those that are to, --device cuda:N "
                   "takes one.\n"
                   "mpirun -n N lathe generate ... shares the rows between N ranks, on one machine or many (docs/scaling.md): rank 0 writes, and the file is "
                   "the same, byte for byte.\n"
                   "The file can be read at any time, also after a kill; --resume then goes on where it stopped. With a larger total_samples it adds rows to a finished "
                   "file, which has the bytes of one made in one go then; notes for people (description, author, created, purpose) may differ. Added rows "
                   "and those of --rows are "
                   "written to a copy beside the file, which takes its place when it is whole.\n"
                   "An operator whose device, driver or library fails is run again: alone, then with everything made anew, then in a fresh process. "
                   "When some stay lost all others are kept, the command names them and ends with status 1, and --resume makes them.",
};
