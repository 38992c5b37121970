/* The file of a run: a new one, or the one to resume; whether it may be resumed or replaced. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"
#include "operators/file/journal.h"
#include "operators/sample/quality.h"
#include "trace/clock.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Whether the file may be resumed or replaced ------------------------------------------------ */
static lt_status refuse(const lt_generator *g, const char *what, const char *file, const char *now)
{
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed: its %s is %s, now it is %s", g->c->output_path, what, file, now);
}

static lt_status refuse_device(const lt_generator *g, const char *file)
{
    if (!strcmp(file, "several"))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed: its rows are of several kinds of device, each with its own beside it: give --mixed-devices (lt_generate_options.mixed_devices)",
                       g->c->output_path);
    return refuse(g, "device", file, lt_generator_recorded_device(g));
}

/* Shows the two texts from their first difference on. */
static lt_status refuse_config(const lt_generator *g, const char *file, const char *now)
{
    size_t at = 0;
    while (file[at] && file[at] == now[at]) at++;
    while (at > 0 && file[at] != ',' && file[at] != '{') at--;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed with another configuration: the file has ...%.60s..., now it is ...%.60s...",
                   g->c->output_path, file + at, now + at);
}

/* A resumed run may change the output path, the devices, the batch size, the watchdog and notes for people, and nothing else; a finished file may
   get more rows. */
static lt_status compare_config(const lt_generator *g, const char *stored)
{
    lt_dataset_config *old = NULL, *now = NULL;
    lt_dataset_overrides over = { .size = sizeof over, .output = g->c->output_path, .device = g->c->device, .batch_size = g->c->batch_size,
                                  .watchdog = "auto", .any_devices = true };
    lt_status s = lt_dataset_config_parse(g->c->record_json, strlen(g->c->record_json), g->c->output_path, &over, &now);
    if (!s) s = lt_dataset_config_parse(stored, strlen(stored), g->c->output_path, &over, &old);
    if (!s && old->total_samples < now->total_samples) {
        lt_dataset_config_destroy(old);
        old = NULL;
        over.total_samples = now->total_samples;
        s = lt_dataset_config_parse(stored, strlen(stored), g->c->output_path, &over, &old);
    }
    if (!s && strcmp(old->json, now->json)) s = refuse_config(g, old->json, now->json);
    lt_dataset_config_destroy(old);
    lt_dataset_config_destroy(now);
    return s;
}

/* g->old stays open where the run makes a copy of it. */
static lt_status check_resumable(lt_generator *g)
{
    LT_TRY(lt_dataset_open(g->c->output_path, &g->old));
    lt_dataset_info i = lt_dataset_get_info(g->old);
    char file[64], now[64];
    lt_status s = LT_OK;
    snprintf(file, sizeof file, "%" PRId64 "/%" PRId64, i.shard_index, i.shard_count);
    snprintf(now, sizeof now, "%" PRId64 "/%" PRId64, g->opt->shard_index, g->opt->shard_count);
    if (!i.engine_version[0]) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed: lathe did not write it", g->c->output_path);
    else if (i.engine_age) s = refuse(g, "engine version", i.engine_version, lt_dataset_engine());
    else if (strcmp(i.precision, lt_precision_name(g->info->precision))) s = refuse(g, "precision", i.precision, lt_precision_name(g->info->precision));
    else if (i.device[0] && strcmp(i.device, lt_generator_recorded_device(g))) s = refuse_device(g, i.device);
    else if (strcmp(file, now)) s = refuse(g, "shard", file, now);
    else s = compare_config(g, i.config);
    if (s || lt_generator_grows(g, &i)) return s;
    lt_dataset_close(g->old);
    g->old = NULL;
    return LT_OK;
}

/* Shards of one configuration share its output path unless each is given its own. */
static lt_status check_shard(const lt_generator *g, const lt_dataset_info *old)
{
    if (old->shard_index == g->opt->shard_index && old->shard_count == g->opt->shard_count) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: holds shard %" PRId64 "/%" PRId64 ", and this run makes %" PRId64 "/%" PRId64
                   ": choose another path (--output), or allow it to be replaced (--overwrite)", g->c->output_path, old->shard_index, old->shard_count,
                   g->opt->shard_index, g->opt->shard_count);
}

/* A finished dataset may be replaced. An unfinished run, another shard or a file of another kind is not replaced without --overwrite (decision 64). */
static lt_status check_replaceable(const lt_generator *g, const char *path)
{
    struct stat st;
    lt_dataset *d;
    if (g->opt->overwrite || stat(path, &st) || st.st_size == 0) return LT_OK;
    if (lt_journal_exists(path))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: holds an unfinished run: resume it (--resume), or allow it to be replaced (--overwrite)", path);
    if (lt_dataset_open(path, &d))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: is there already and is no dataset: choose another path, or allow it to be replaced (--overwrite)", path);
    lt_dataset_info old = lt_dataset_get_info(d);
    lt_status s = check_shard(g, &old);
    lt_dataset_close(d);
    return s;
}

/* ---- Creating and opening ----------------------------------------------------------------------- */
/* A new file: at its place, or beside the one that grows, which then has the claim. */
static lt_status create_file(lt_generator *g, lt_store_claim *claim)
{
    lt_file_content content = lt_generator_content(g);
    lt_sampling_metrics metrics;
    char *json = NULL;
    int64_t start = lt_clock_ns();
    LT_TRY(lt_sampling_measure(g->c, NULL, &metrics));
    LT_TRY(lt_sampling_json(&metrics, &json));
    g->info->sampling_seconds += lt_seconds_since(start);
    content.metrics = json;
    lt_status s = g->old ? lt_generator_grow(g, claim, &content) : lt_dataset_file_create(claim, &content, &g->plan);
    lt_free(json);
    return s;
}

static bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* The identity that ties a journal to its dataset. Batch size and device may differ between runs. */
static lt_status open_store(lt_generator *g, lt_store_claim *claim, bool resume)
{
    char identity[256];
    snprintf(identity, sizeof identity, "%s %s %" PRIu64 " %" PRId64 "/%" PRId64 " %" PRId64 " %" PRId64 " %s", lt_dataset_engine(), g->c->name, g->c->seed,
             g->opt->shard_index, g->opt->shard_count, g->plan.rows, g->plan.steps, lt_precision_name(g->info->precision));
    return lt_store_open(claim, &g->plan, identity, strlen(identity), resume, &g->store);
}

/* Takes the claim first, so that no other process can change the file while it is examined or replaced. */
lt_status lt_generator_open_file(lt_generator *g)
{
    const char *path = g->c->output_path;
    lt_store_claim *claim;
    if (g->opt->end_row && !file_exists(path)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is not there, so that no rows of it can be made again", path);
    if (!g->opt->resume || !file_exists(path)) {
        LT_TRY(lt_generator_check_memory(g, NULL, g->rows.n));
        LT_TRY(lt_file_make_folders(path, 0777));
    }
    LT_TRY(lt_store_claim_take(path, &claim));
    bool resume = g->opt->resume && file_exists(path);
    lt_status s = resume ? check_resumable(g) : check_replaceable(g, lt_store_claim_path(claim));
    if (!s && g->old) return create_file(g, claim);
    if (!s && !resume) s = create_file(g, claim);
    if (!s) return open_store(g, claim, resume);
    lt_store_claim_release(claim);
    return s;
}
