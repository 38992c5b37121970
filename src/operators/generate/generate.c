/* Making a dataset: prepare, open the file, run the rows, close. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"
#include "operators/generate/ranks.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <string.h>

void lt_generator_release(lt_generator *g)
{
    lt_row_features_close(&g->features);
    lt_rollout_cache_destroy(g->cache);
    lt_row_table_release(&g->rows);
    lt_feature_set_destroy(g->set);
    lt_arena_release(&g->arena);
    lt_dataset_close(g->old);
    lt_free(g->given);
    lt_free(g->order);
}

static lt_status run_prepared(lt_generator *g)
{
    if (g->plan.temporal_columns || g->plan.summary_columns) lt_rollout_cache_measure(g->cache, g->set);
    LT_TRY(lt_row_features_open(g->c, g->set, g->c->realizations, g->c->steps, g->rows.max_grid, g->c->precision, g->opt->device, g->opt->stop,
                                &g->features));
    if (!g->source.next) g->source = (lt_row_source){ .order = g->order, .n = g->n_order };
    LT_TRY(lt_prefetch_start(g->c, &g->rows, &g->source, g->cache, &g->ahead));
    lt_status s = lt_generator_run(g);
    lt_prefetch_stop(g->ahead, &g->info->ahead_seconds);
    g->info->peak_bytes = lt_rollout_cache_peak_bytes(g->cache);
    return s;
}

lt_status lt_generator_run_here(lt_generator *g)
{
    lt_compile_ahead *kernels = NULL;
    g->builds = lt_device_build_counts(g->opt->device);
    LT_TRY(lt_rollout_cache_create(&g->rollout, LT_KEPT_ROLLOUTS, &g->cache));
    lt_status s = lt_rollout_cache_has_device(g->cache) ? lt_compile_ahead_start(g, &kernels) : LT_OK;
    if (!s) s = run_prepared(g);
    lt_compile_ahead_stop(kernels);
    lt_generator_count_builds(g);
    return s;
}

static lt_status run_rows(lt_generator *g, bool watched)
{
    LT_TRY(lt_generator_copy_rows(g));
    LT_TRY(lt_generator_schedule(g));
    g->info->skipped = g->plan.rows - g->n_order;
    if (g->n_order == 0) return LT_OK;
    if (g->opt->resume) LT_TRY(lt_generator_check_memory(g, g->order, g->n_order)); /* for a new file this was checked before it was begun */
    return watched ? lt_generator_run_watched(g) : lt_generator_run_here(g);
}

lt_status lt_generator_close_store(lt_generator *g, lt_status s)
{
    char text[LT_ERROR_TEXT_BYTES];
    lt_store_stats stats;
    snprintf(text, sizeof text, "%s", lt_error_text());
    int64_t start = lt_clock_ns();
    lt_status closed = lt_store_close(g->store, &stats);
    g->info->storage_seconds += lt_seconds_since(start);
    g->info->writer_seconds = stats.write_seconds;
    g->info->compress_seconds = stats.compress_seconds;
    g->info->file_bytes = stats.file_bytes;
    g->info->raw_bytes = stats.raw_bytes;
    g->info->commits = stats.commits;
    if (!s) return closed;
    lt_error_set(text);
    return s;
}

/* A run with lost rows is a failure, although the file has all rows. */
static lt_status report_lost(const lt_generate_info *info, int64_t rows)
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
    LT_NEED(c);
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    lt_generator g = { .c = c, .opt = &opt, .info = &info };
    LT_TRY(LT_TAKE(lt_generate_options, options, &opt));
    LT_TRY(LT_CHECK_SIZE(lt_generate_info, out));
    int64_t start = lt_clock_ns();
    lt_span span = lt_span_begin("generate");
    bool watched = false;
    lt_status s = lt_generator_choose_watchdog(&g, &watched);
    if (!s) s = lt_generator_prepare(&g);
    bool several = lt_cluster_size(opt.cluster) > 1, whole = watched || c->features.clip_batch;
    bool shared = several || (opt.drain && !whole); /* what is dealt can be drained */
    g.drain_stops = !shared;
    int64_t opening = lt_clock_ns();
    double sampled = g.info->sampling_seconds;
    if (shared) s = lt_generator_share(&g, s);
    else if (!s) s = lt_generator_open_file(&g);
    if (!shared) g.info->storage_seconds += lt_seconds_since(opening) - (g.info->sampling_seconds - sampled);
    if (!s && !shared) s = lt_generator_close_store(&g, run_rows(&g, watched));
    g.info->complete = !s;
    if (!s && g.info->lost) s = report_lost(g.info, g.plan.rows);
    if (!g.info->workers) g.info->devices = g.info->samples > 0;
    g.info->total_seconds = lt_seconds_since(start);
    g.info->samples_per_second = (double)g.info->samples / g.info->total_seconds;
    g.info->gflops = g.info->inference_seconds > 0 ? 1e-9 * g.info->total_flops / g.info->inference_seconds : 0;
    lt_generator_release(&g);
    lt_span_end(span);
    LT_GIVE(out, &info);
    return s;
}
