/* Making a dataset from its configuration. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/backend.h"
#include "operators/file/journal.h"
#include "operators/rollout/rollout.h"
#include "operators/sample/quality.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void lt_generate_defaults_into(lt_generate_options *out)
{
    LT_GIVE(out, &(lt_generate_options){ .size = sizeof(lt_generate_options), .shard_count = 1 });
}

void lt_dataset_config_summary_into(const lt_dataset_config *c, lt_dataset_summary *out)
{
    static const char *const providers[] = { "lambda_labs", "runpod", "aws", "local" }; /* as config/keys.c lists them */
    const lt_dataset_summary s = { .size = sizeof s, .name = c->name, .output = c->output_path, .device = c->device, .provider = providers[c->provider],
                                 .total_samples = c->total_samples, .batch_size = c->batch_size, .realizations = c->realizations, .steps = c->steps,
                                 .seed = c->seed, .store_trajectories = c->store_trajectories, .precision = c->precision };
    LT_GIVE(out, &s);
}

/* ---- Before the file ------------------------------------------------------------------------------ */

static lt_status check_devices(const lt_generate_options *o)
{
    if (o->n_devices < 0 || o->n_devices > LT_GENERATE_MAX_DEVICES)
        return LT_FAIL(LT_ERR_ARGUMENT, "lt_generate_options.n_devices is %d: expected 0 to %d", o->n_devices, LT_GENERATE_MAX_DEVICES);
    for (int i = 0; i < o->n_devices; i++) {
        const char *name = o->devices ? o->devices[i] : NULL;
        if (!name || !name[0] || strlen(name) >= sizeof ((lt_device_info *)0)->id)
            return LT_FAIL(LT_ERR_ARGUMENT, "lt_generate_options.devices[%d] is '%.40s': expected a device, as in \"cuda:0\"", i, name ? name : "");
    }
    return LT_OK;
}

static lt_status check_options(const lt_generator *g)
{
    const lt_generate_options *o = g->opt;
    LT_TRY(check_devices(o));
    if (o->shard_count < 1 || o->shard_index < 0 || o->shard_index >= o->shard_count)
        return LT_FAIL(LT_ERR_ARGUMENT, "shard %" PRId64 " of %" PRId64 ": expected i/n with 0 <= i < n", o->shard_index, o->shard_count);
    if (o->shard_count > g->c->total_samples)
        return LT_FAIL(LT_ERR_ARGUMENT, "%" PRId64 " shards of %" PRId64 " samples: some would be empty", o->shard_count, g->c->total_samples);
    return lt_store_check_compression(g->c->compression);
}

static lt_status choose_precision(lt_generator *g)
{
    lt_rollout_info info = { .size = sizeof info, .precision = g->c->precision };
    lt_compile_options compile = { .size = sizeof compile };
    LT_TRY(lt_rollout_choose_precision(g->opt->device, g->c->precision, &info, &compile));
    g->info->precision = info.precision;
    snprintf(g->info->precision_reason, sizeof g->info->precision_reason, "%s", info.precision_reason);
    snprintf(g->info->arithmetic, sizeof g->info->arithmetic, "%s", info.arithmetic);
    g->rollout = lt_rollout_defaults();
    g->rollout.realizations = g->c->realizations;
    g->rollout.steps = g->c->steps;
    g->rollout.precision = g->c->precision;
    g->rollout.memory_bytes = g->opt->memory_bytes;
    g->rollout.device = g->opt->device;
    g->rollout.threads = g->opt->threads;
    return LT_OK;
}

/* Which rows bring their states to the CPU for features, and why the first of them does. */
static void tell_features(lt_generator *g)
{
    char why[160], first[160] = "";
    int64_t n = 0;
    if (!g->opt->device || !strcmp(g->opt->device->backend->name, "cpu") || (!g->plan.temporal_columns && !g->plan.summary_columns)) return;
    for (int64_t i = 0; i < g->rows.n; i++) {
        if (lt_remote_features_fit(g->set, g->rows.spec[i].grid, g->c->realizations, g->c->steps, why)) continue;
        if (n++ == 0) snprintf(first, sizeof first, "%s", why);
    }
    if (n)
        snprintf(g->info->feature_reason, sizeof g->info->feature_reason, "features of %" PRId64 " of %" PRId64 " operators are computed on the CPU: %s", n,
                 g->rows.n, first);
}

static const char *kind_of_device(const lt_generator *g) { return g->opt->device ? g->opt->device->backend->name : "cpu"; }

static lt_file_content content_of(const lt_generator *g)
{
    return (lt_file_content){
        .config = g->c, .features = g->set, .rows = &g->rows, .total = g->c->total_samples, .shard_index = g->opt->shard_index,
        .shard_count = g->opt->shard_count, .realizations = g->c->realizations, .steps = g->c->steps, .outputs = g->c->store_trajectories,
        .all_features = true, .precision = g->info->precision, .device = kind_of_device(g), .date = g->opt->date,
        .record_times = g->opt->record_times,
    };
}

lt_status lt_generator_prepare(lt_generator *g)
{
    int64_t start = lt_clock_ns();
    LT_TRY(check_options(g));
    LT_TRY(choose_precision(g));
    LT_TRY(lt_feature_set_create(&g->c->features, g->c->operator_features, &g->set));
    LT_TRY(lt_row_table_create(g->c, g->opt->shard_index, g->opt->shard_count, g->c->total_samples, &g->rows));
    LT_TRY(lt_row_table_signatures(&g->rows, &g->info->signatures));
    lt_file_content content = content_of(g);
    LT_TRY(lt_dataset_file_plan(&content, &g->arena, &g->plan));
    tell_features(g);
    if (g->opt->n_devices > 1) g->plan.rows_on_the_way = (g->opt->n_devices + 1) * LT_MOST_AT_ONCE; /* some with the writer */
    if (g->c->features.clip_batch) g->plan.rows_on_the_way = (int)LT_MIN(g->c->batch_size, g->plan.rows) + 2;
    g->info->sampling_seconds = 1e-9 * (double)(lt_clock_ns() - start);
    return LT_OK;
}

void lt_generator_release(lt_generator *g)
{
    lt_feature_lane_close(&g->features);
    lt_rollout_cache_destroy(g->cache);
    lt_row_table_release(&g->rows);
    lt_feature_set_destroy(g->set);
    lt_arena_release(&g->arena);
    lt_free(g->order);
}

/* ---- The file ------------------------------------------------------------------------------------------ */

static lt_status refuse(const lt_generator *g, const char *what, const char *file, const char *now)
{
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed: its %s is %s, now it is %s", g->c->output_path, what, file, now);
}

/* The texts differ from this place on; shows a little of each. */
static lt_status refuse_config(const lt_generator *g, const char *file, const char *now)
{
    size_t at = 0;
    while (file[at] && file[at] == now[at]) at++;
    while (at > 0 && file[at] != ',' && file[at] != '{') at--;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed with another configuration: the file has ...%.60s..., now it is ...%.60s...",
                   g->c->output_path, file + at, now + at);
}

/* Output path, numbers of devices, batch size and watchdog may change between runs; nothing else may. */
static lt_status compare_config(const lt_generator *g, const char *stored)
{
    lt_dataset_config *old = NULL;
    lt_dataset_overrides over = { .size = sizeof over, .output = g->c->output_path, .device = g->c->device, .batch_size = g->c->batch_size, .watchdog = "auto", .any_devices = true };
    LT_TRY(lt_dataset_config_parse(stored, strlen(stored), g->c->output_path, &over, &old));
    lt_dataset_config *now = NULL;
    lt_status s = lt_dataset_config_parse(g->c->record_json, strlen(g->c->record_json), g->c->output_path, &over, &now);
    if (!s && strcmp(old->json, now->json)) s = refuse_config(g, old->json, now->json);
    lt_dataset_config_destroy(old);
    lt_dataset_config_destroy(now);
    return s;
}

static lt_status check_resumable(const lt_generator *g)
{
    lt_dataset *d;
    LT_TRY(lt_dataset_open(g->c->output_path, &d));
    lt_dataset_info i = lt_dataset_get_info(d);
    char file[64], now[64];
    lt_status s = LT_OK;
    snprintf(file, sizeof file, "%" PRId64 "/%" PRId64, i.shard_index, i.shard_count);
    snprintf(now, sizeof now, "%" PRId64 "/%" PRId64, g->opt->shard_index, g->opt->shard_count);
    if (!i.engine_version[0]) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed: lathe did not write it", g->c->output_path);
    else if (strcmp(i.engine_version, lt_version())) s = refuse(g, "engine version", i.engine_version, lt_version());
    else if (strcmp(i.precision, lt_precision_name(g->info->precision))) s = refuse(g, "precision", i.precision, lt_precision_name(g->info->precision));
    else if (i.device[0] && strcmp(i.device, kind_of_device(g))) s = refuse(g, "device", i.device, kind_of_device(g));
    else if (strcmp(file, now)) s = refuse(g, "shard", file, now);
    else s = compare_config(g, i.config);
    lt_dataset_close(d);
    return s;
}

static bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* What ties a journal to its dataset; batch size and device may differ between the runs. */
static lt_status open_store(lt_generator *g, lt_store_claim *claim, bool resume)
{
    char identity[256];
    snprintf(identity, sizeof identity, "%s %s %" PRIu64 " %" PRId64 "/%" PRId64 " %" PRId64 " %" PRId64 " %s", lt_version(), g->c->name, g->c->seed,
             g->opt->shard_index, g->opt->shard_count, g->plan.rows, g->plan.steps, lt_precision_name(g->info->precision));
    return lt_store_open(claim, &g->plan, identity, strlen(identity), resume, &g->store);
}

/* Shards of one configuration share its output path unless each is given its own. */
static lt_status check_shard(const lt_generator *g, const lt_dataset_info *there)
{
    if (there->shard_index == g->opt->shard_index && there->shard_count == g->opt->shard_count) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: holds shard %" PRId64 "/%" PRId64 ", and this run makes %" PRId64 "/%" PRId64
                   ": choose another path (--output), or allow it to be replaced (--overwrite)", g->c->output_path, there->shard_index, there->shard_count,
                   g->opt->shard_index, g->opt->shard_count);
}

/* A finished dataset may be made again; a run to go on with, another shard, or a file of another kind, is not thrown away unasked. */
static lt_status check_replaceable(const lt_generator *g, const char *path)
{
    struct stat st;
    lt_dataset *d;
    if (g->opt->overwrite || stat(path, &st) || st.st_size == 0) return LT_OK;
    if (lt_journal_exists(path))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: holds an unfinished run: resume it (--resume), or allow it to be replaced (--overwrite)", path);
    if (lt_dataset_open(path, &d))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: is there already and is no dataset: choose another path, or allow it to be replaced (--overwrite)", path);
    lt_dataset_info there = lt_dataset_get_info(d);
    lt_status s = check_shard(g, &there);
    lt_dataset_close(d);
    return s;
}

static lt_status create_file(lt_generator *g, const lt_store_claim *claim)
{
    lt_file_content content = content_of(g);
    lt_sampling_metrics metrics;
    char *json = NULL;
    int64_t start = lt_clock_ns();
    LT_TRY(lt_sampling_measure(g->c, NULL, &metrics));
    LT_TRY(lt_sampling_json(&metrics, &json));
    g->info->sampling_seconds += 1e-9 * (double)(lt_clock_ns() - start);
    content.metrics = json;
    lt_status s = lt_dataset_file_create(claim, &content, &g->plan);
    lt_free(json);
    return s;
}

/* Looks at what is there only once nobody else may change it, and changes it only then. */
lt_status lt_generator_open_file(lt_generator *g)
{
    const char *path = g->c->output_path;
    lt_store_claim *claim;
    if (!g->opt->resume || !file_exists(path)) {
        LT_TRY(lt_generator_check_memory(g, NULL, g->rows.n));
        LT_TRY(lt_file_make_folders(path, 0777));
    }
    LT_TRY(lt_store_claim_take(path, &claim));
    bool resume = g->opt->resume && file_exists(path);
    lt_status s = resume ? check_resumable(g) : check_replaceable(g, lt_store_claim_path(claim));
    if (!s && !resume) s = create_file(g, claim);
    if (!s) return open_store(g, claim, resume);
    lt_store_claim_release(claim);
    return s;
}

/* ---- Scheduling ---------------------------------------------------------------------------------------- */

typedef struct scheduled { int64_t row; const lt_operator_spec *spec; } scheduled;

static int compare_scheduled(const void *a, const void *b)
{
    const scheduled *x = a, *y = b;
    int order = lt_architecture_compare(x->spec, y->spec);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* With batch clipping a batch runs whole or not at all. */
static bool needs_run(const lt_generator *g, int64_t row)
{
    if (!g->c->features.clip_batch) return !lt_store_row_done(g->store, row);
    int64_t first = row / g->c->batch_size * g->c->batch_size, last = LT_MIN(first + g->c->batch_size, g->plan.rows);
    for (int64_t r = first; r < last; r++)
        if (!lt_store_row_done(g->store, r)) return true;
    return false;
}

/* Pending rows, window by window: neighbours in a window share an architecture where they can, and a
   window ends with a slab, so that few rows wait in the journal. */
static lt_status schedule(lt_generator *g)
{
    int64_t k = g->plan.chunk_rows, n = g->plan.rows;
    int64_t window = g->c->features.clip_batch ? g->c->batch_size : (g->c->batch_size + k - 1) / k * k;
    g->order = lt_malloc((size_t)n * sizeof *g->order);
    scheduled *list = lt_malloc((size_t)LT_MIN(window, n) * sizeof *list);
    lt_status s = g->order && list ? LT_OK : LT_ERR_MEMORY;
    for (int64_t first = 0; first < n && !s; first += window) {
        int64_t count = 0;
        for (int64_t r = first; r < LT_MIN(first + window, n); r++)
            if (needs_run(g, r)) list[count++] = (scheduled){ r, &g->rows.spec[r] };
        qsort(list, (size_t)count, sizeof *list, compare_scheduled);
        for (int64_t i = 0; i < count; i++) g->order[g->n_order++] = list[i].row;
    }
    lt_free(list);
    return s;
}

/* ---- The whole ----------------------------------------------------------------------------------------------- */

lt_status lt_generator_run_here(lt_generator *g)
{
    LT_TRY(lt_rollout_cache_create(&g->rollout, LT_KEPT_ROLLOUTS, &g->cache));
    if (lt_rollout_cache_is_remote(g->cache)) LT_TRY(lt_generator_prepare_kernels(g));
    if (g->plan.temporal_columns || g->plan.summary_columns) lt_rollout_cache_measure(g->cache, g->set);
    LT_TRY(lt_feature_lane_open(g->c, g->set, g->c->realizations, g->c->steps, g->rows.max_grid, g->c->precision, g->opt->device, g->opt->stop,
                                &g->features));
    if (!g->source.next) g->source = (lt_row_source){ .order = g->order, .n = g->n_order };
    LT_TRY(lt_lane_ahead_start(g->c, &g->rows, &g->source, g->cache, &g->ahead));
    lt_status s = lt_generator_run(g);
    lt_lane_ahead_stop(g->ahead, &g->info->ahead_seconds);
    g->info->peak_bytes = lt_rollout_cache_peak_bytes(g->cache);
    return s;
}

static lt_status refuse_workers(const lt_generator *g)
{
    const char *why = g->opt->worker ? "engine.clip: batch needs all operators of a batch in one process" : "the program gave no worker to start (lt_generate_options.worker)";
    if (g->opt->n_devices > 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "%d devices are to share the rows, a worker process each: %s", g->opt->n_devices,
                       g->c->engine.watchdog == LT_WATCHDOG_OFF ? "engine.watchdog is off" : why);
    return LT_FAIL(LT_ERR_ARGUMENT, "engine.watchdog is on: %s", why);
}

/* Whether rollouts run in processes of their own. */
static lt_status choose_watchdog(const lt_generator *g, bool *on)
{
    int wanted = g->c->engine.watchdog;
    bool several = g->opt->n_devices > 1, gpu = !strcmp(kind_of_device(g), "cuda");
    bool asked = wanted == LT_WATCHDOG_ON || (wanted == LT_WATCHDOG_AUTO && (gpu || several));
    *on = asked && g->opt->worker && !g->c->features.clip_batch;
    return *on || (wanted != LT_WATCHDOG_ON && !several) ? LT_OK : refuse_workers(g);
}

static lt_status run_rows(lt_generator *g, bool watched)
{
    LT_TRY(schedule(g));
    g->info->skipped = lt_store_done_count(g->store);
    if (g->n_order == 0) return LT_OK;
    if (g->opt->resume) LT_TRY(lt_generator_check_memory(g, g->order, g->n_order)); /* a new file was not begun before that */
    return watched ? lt_generator_run_watched(g) : lt_generator_run_here(g);
}

/* The first failure counts; its text must survive the closing. */
static lt_status close_store(lt_generator *g, lt_status s)
{
    char text[LT_ERROR_TEXT_BYTES];
    lt_store_stats stats;
    snprintf(text, sizeof text, "%s", lt_error_text());
    int64_t start = lt_clock_ns();
    lt_status closed = lt_store_close(g->store, &stats);
    g->info->storage_seconds += 1e-9 * (double)(lt_clock_ns() - start);
    g->info->writer_seconds = stats.write_seconds;
    g->info->compress_seconds = stats.compress_seconds;
    g->info->file_bytes = stats.file_bytes;
    g->info->raw_bytes = stats.raw_bytes;
    g->info->commits = stats.commits;
    if (!s) return closed;
    lt_error_set(text);
    return s;
}

/* What stayed lost is no success, though the file has all rows. */
static lt_status tell_lost(const lt_generate_info *info, int64_t rows)
{
    char list[256] = "";
    int64_t named = LT_MIN(info->lost, (int64_t)LT_LOST_NAMED);
    for (int64_t i = 0; i < named; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%" PRId64, i ? ", " : "", info->lost_operators[i]);
    }
    return LT_FAIL(LT_ERR_DEVICE, "%" PRId64 " of %" PRId64 " operators were lost to faults of the device, also when tried again: %s%s (%s)", info->lost, rows, list,
                   info->lost > named ? ", ..." : "", info->first_failure);
}

lt_status lt_generate(const lt_dataset_config *c, const lt_generate_options *options, lt_generate_info *out)
{
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    lt_generator g = { .c = c, .opt = &opt, .info = &info };
    LT_TRY(LT_TAKE(lt_generate_options, options, &opt));
    LT_TRY(LT_CHECK_SIZE(lt_generate_info, out));
    int64_t start = lt_clock_ns();
    lt_span span = lt_span_begin("generate");
    bool watched = false;
    lt_status s = choose_watchdog(&g, &watched);
    if (!s) s = lt_generator_prepare(&g);
    int64_t opening = lt_clock_ns();
    double sampled = g.info->sampling_seconds;
    if (!s) s = lt_generator_open_file(&g);
    g.info->storage_seconds += 1e-9 * (double)(lt_clock_ns() - opening) - (g.info->sampling_seconds - sampled);
    if (!s) s = close_store(&g, run_rows(&g, watched));
    g.info->complete = !s;
    if (!s && g.info->lost) s = tell_lost(g.info, g.plan.rows);
    if (!g.info->workers) g.info->devices = g.info->samples > 0;
    g.info->total_seconds = 1e-9 * (double)(lt_clock_ns() - start);
    g.info->samples_per_second = (double)g.info->samples / g.info->total_seconds;
    g.info->gflops = g.info->inference_seconds > 0 ? 1e-9 * g.info->total_flops / g.info->inference_seconds : 0;
    lt_generator_release(&g);
    lt_span_end(span);
    LT_GIVE(out, &info);
    return s;
}
