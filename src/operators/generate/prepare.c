/* What is decided before a dataset is made: options, precision, workers, the rows and the plan of the file.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/sized.h"
#include "base/status.h"
#include "cluster/cluster.h"
#include "device/flags.h"
#include "operators/rollout/rollout.h"
#include "trace/clock.h"

#include <inttypes.h>
#include <string.h>

void lt_generate_defaults_into(lt_generate_options *out)
{
    LT_GIVE(out, &(lt_generate_options){ .size = sizeof(lt_generate_options), .shard_count = 1 });
}

/* ---- Options ------------------------------------------------------------------------------------ */
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
    if (o->first_row < 0 || o->end_row < o->first_row || (o->end_row && (o->end_row == o->first_row || o->end_row > g->c->total_samples)))
        return LT_FAIL(LT_ERR_ARGUMENT, "rows %" PRId64 ":%" PRId64 ": expected a:b with 0 <= a < b <= %" PRId64, o->first_row, o->end_row, g->c->total_samples);
    return lt_store_check_compression(g->c->compression);
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
lt_status lt_generator_choose_watchdog(const lt_generator *g, bool *on)
{
    int wanted = g->c->engine.watchdog;
    bool several = g->opt->n_devices > 1, gpu = lt_device_has(g->opt->device, LT_DEVICE_OWN_MEMORY | LT_DEVICE_COMPUTES);
    bool asked = wanted == LT_WATCHDOG_ON || (wanted == LT_WATCHDOG_AUTO && (gpu || several));
    if (lt_cluster_size(g->opt->cluster) > 1) return LT_OK; /* each rank is a process already; generate/ranks.c refuses what it cannot have */
    *on = asked && g->opt->worker && !g->c->features.clip_batch;
    return *on || (wanted != LT_WATCHDOG_ON && !several) ? LT_OK : refuse_workers(g);
}

/* ---- Precision, rows, plan ---------------------------------------------------------------------- */
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

/* Reports for which rows the host computes features from copied states, and why. */
static void report_features(lt_generator *g)
{
    char why[160], first[160] = "";
    int64_t n = 0;
    if (!lt_device_has(g->opt->device, LT_DEVICE_OWN_MEMORY) || (!g->plan.temporal_columns && !g->plan.summary_columns)) return;
    for (int64_t i = 0; i < g->rows.n; i++) {
        if (lt_device_features_fit(g->set, g->rows.spec[i].grid, g->c->realizations, g->c->steps, why)) continue;
        if (n++ == 0) snprintf(first, sizeof first, "%s", why);
    }
    if (n)
        snprintf(g->info->feature_reason, sizeof g->info->feature_reason, "features of %" PRId64 " of %" PRId64 " operators are computed on the CPU: %s", n,
                 g->rows.n, first);
}

const char *lt_generator_device(const lt_generator *g) { return lt_device_kind(g->opt->device); }

const char *lt_generator_recorded_device(const lt_generator *g) { return g->opt->mixed_devices ? "several" : lt_generator_device(g); }

lt_file_content lt_generator_content(const lt_generator *g)
{
    return (lt_file_content){
        .config = g->c, .features = g->set, .rows = &g->rows, .total = g->c->total_samples, .shard_index = g->opt->shard_index,
        .shard_count = g->opt->shard_count, .realizations = g->c->realizations, .steps = g->c->steps, .outputs = g->c->store_trajectories,
        .all_features = true, .precision = g->info->precision, .device = lt_generator_recorded_device(g), .row_devices = g->opt->mixed_devices, .date = g->opt->date,
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
    lt_file_content content = lt_generator_content(g);
    LT_TRY(lt_dataset_file_plan(&content, &g->arena, &g->plan));
    report_features(g);
    if (g->opt->n_devices > 1) g->plan.rows_on_the_way = (g->opt->n_devices + 1) * LT_MOST_AT_ONCE; /* some rows are with the writer */
    if (g->c->features.clip_batch) g->plan.rows_on_the_way = (int)LT_MIN(g->c->batch_size, g->plan.rows) + 2;
    g->info->sampling_seconds = lt_seconds_since(start);
    return LT_OK;
}
