/* What a call on a device did: times by the device's clock, memory, transfers, streams. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/fill.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int64_t held_bytes(const lt_device_gram *d)
{
    const lt_device_block *all[] = { &d->a, &d->b, &d->k, &d->roots[0], &d->roots[1], &d->maker.coefficients, &d->maker.x, &d->maker.spare };
    int64_t bytes = 0;
    for (size_t i = 0; i < LT_LEN(all); i++) bytes += (int64_t)all[i]->bytes;
    for (int i = 0; i < d->n_turns; i++) bytes += (int64_t)(d->turn[i].slot.bytes + d->turn[i].jobs.bytes);
    return bytes;
}

/* Rows of later blocks are made in turns with tiles: taken to cost what the first ones did. A replayed call
   is one piece: its rows are not timed. */
static lt_status report_times(lt_call *f, lt_gram_info *info)
{
    lt_device_gram *d = f->d;
    double device_ns, rows_ns = 0;
    LT_TRY(lt_event_elapsed(d->mark[0], d->mark[1], &device_ns));
    if (!f->replayed) LT_TRY(lt_event_elapsed(d->mark[0], d->mark[2], &rows_ns));
    info->device_seconds = 1e-9 * device_ns;
    info->states_seconds = 1e-9 * rows_ns * (double)f->rows_made / (double)LT_MIN(d->plan.block_rows, d->plan.n);
    info->product_seconds = info->device_seconds - info->states_seconds;
    info->transfer_seconds = 1e-9 * (double)d->fetch.ns;
    return LT_OK;
}

__attribute__((format(printf, 2, 3))) static void add_line(lt_gram_info *info, const char *format, ...)
{
    size_t used = strlen(info->plan);
    va_list ap;
    va_start(ap, format);
    vsnprintf(info->plan + used, sizeof info->plan - used, format, ap);
    va_end(ap);
}

static void report_plan(const lt_call *f, lt_gram_info *info)
{
    const lt_device_gram *d = f->d;
    snprintf(info->plan, sizeof info->plan, "method: %s, %s\n%s\ntiles: %d x %d, %s\nstreams: %d%s; the host waits every %lld launches",
             lt_gram_method_name(d->method), f->q->reason, d->plan.text, d->kernels.tile_rows, d->kernels.tile_columns,
             d->plan.half ? "upper half, mirrored" : "all of them", (int)d->opt->streams,
             d->kernels.meets && d->opt->streams > 2 ? " (launches whose blocks meet take one)" : "", (long long)d->opt->sync_interval);
    if (info->precision == LT_GRAM_FLOAT16)
        add_line(info, "\nprecision: float16, one product of half numbers where float32 takes three: errors of K below %g", lt_gram_float_bound(info->precision));
    if (d->opt->cuda_graphs)
        add_line(info, "\ngraph: %s; %lld captured, %lld replayed by this handle",
                 f->replayed ? "this call was a replay" : d->plan_is_new ? "the first call of a size runs step by step" : "too large for one sequence",
                 (long long)d->captured.captures, (long long)d->captured.replays);
}

/* 1 - var/mean^2 of the launches per stream: 1 = shared out evenly. */
static double balance(const lt_device_gram *d)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < d->n_panel_streams; i++) mean += (double)d->panel_stream[i].launches / d->n_panel_streams;
    for (int i = 0; i < d->n_panel_streams; i++) variance += ((double)d->panel_stream[i].launches - mean) * ((double)d->panel_stream[i].launches - mean) / d->n_panel_streams;
    return mean > 0 ? 1 - LT_MIN(1, variance / (mean * mean)) : 0;
}

/* Launches not yet waited for are over by now: their times are read here. */
static lt_status busy_share(const lt_call *f, double device_seconds, double *out)
{
    const lt_device_gram *d = f->d;
    double ns = 0, one;
    for (int i = 0; i < d->n_panel_streams; i++) ns += d->panel_stream[i].busy_ns;
    for (int i = 0; i < d->n_turns; i++) {
        if (!d->turn[i].under_way) continue;
        LT_TRY(lt_event_elapsed(d->turn[i].begun, d->turn[i].done, &one));
        ns += one;
    }
    *out = device_seconds > 0 ? 1e-9 * ns / (device_seconds * d->n_panel_streams) : 0;
    return LT_OK;
}

static void add(lt_gram_profile *p, const char *name, size_t bytes)
{
    if (!bytes || p->n_allocations == LT_GRAM_MAX_ALLOCATIONS) return;
    p->allocation[p->n_allocations].name = name;
    p->allocation[p->n_allocations++].bytes = (int64_t)bytes;
}

static lt_status report_profile(lt_call *f, const lt_gram_info *info, lt_gram_profile *p)
{
    lt_device_gram *d = f->d;
    size_t panels = 0, lists = 0;
    for (int i = 0; i < d->n_turns; i++) panels += d->turn[i].slot.bytes, lists += d->turn[i].jobs.bytes;
    LT_TRY(lt_row_maker_sent(&d->maker));
    *p = (lt_gram_profile){ .size = sizeof(lt_gram_profile), .peak_bytes = info->peak_bytes, .d2h_bytes = d->fetch.bytes, .d2h_seconds = 1e-9 * d->fetch.ring.copy_ns,
                            .h2d_bytes = d->maker.sent_bytes, .h2d_seconds = 1e-9 * d->maker.sent_ns,
                            .kernel_launches = f->launches + d->maker.launches, .kernel_seconds = info->device_seconds,
                            .batch_calls = f->batch.calls, .batch_adjustments = f->batch.adjustments, .batch_min = f->least_rows,
                            .batch_max = f->most_rows, .streams = d->n_panel_streams, .stream_utilization = balance(d), .syncs = f->syncs,
                            .graph_captures = d->captured.captures, .graph_replays = d->captured.replays };
    LT_TRY(busy_share(f, info->device_seconds, &p->stream_busy));
    add(p, "row states", d->a.bytes);
    add(p, "column states", d->b.bytes);
    add(p, "K", d->k.bytes);
    add(p, "panels", panels);
    add(p, "tile lists", lists);
    add(p, "gates", d->maker.coefficients.bytes);
    add(p, "features", d->maker.x.bytes + d->maker.spare.bytes);
    add(p, "norms", d->roots[0].bytes + d->roots[1].bytes);
    int64_t free_bytes;
    return lt_device_free_memory(d->dev, &free_bytes, &p->total_bytes);
}

lt_status lt_device_gram_report(lt_call *f, lt_gram_info *info, lt_gram_profile *profile)
{
    lt_device_gram *d = f->d;
    LT_TRY(report_times(f, info));
    info->precision = d->kernels.precision;
    info->tiles = f->tiles;
    info->states_built = f->rows_made;
    info->pairs = lt_panel_pairs(f, &(lt_panel){ .n_rows = d->plan.n, .n_columns = d->plan.m });
    info->repaired = (int64_t)f->faults.count;
    info->peak_bytes = held_bytes(d);
    info->graph_captures = d->captured.captures;
    info->graph_replays = d->captured.replays;
    snprintf(info->kernel, sizeof info->kernel, "%s", d->kernels.name);
    report_plan(f, info);
    return profile ? report_profile(f, info, profile) : LT_OK;
}
