/* What a call on a device did: times by the device's clock, memory, transfers, streams. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/fill.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int64_t held_bytes(const lt_remote *r)
{
    const lt_remote_memory *all[] = { &r->a, &r->b, &r->k, &r->roots[0], &r->roots[1], &r->maker.coefficients, &r->maker.x, &r->maker.spare };
    int64_t bytes = 0;
    for (size_t i = 0; i < LT_LEN(all); i++) bytes += (int64_t)all[i]->bytes;
    for (int i = 0; i < r->n_turns; i++) bytes += (int64_t)(r->turn[i].slot.bytes + r->turn[i].jobs.bytes);
    return bytes;
}

/* Rows of later blocks are made in turns with tiles: taken to cost what the first ones did. A replayed call
   is one piece: its rows are not told apart. */
static lt_status tell_times(lt_call *f, lt_gram_info *info)
{
    lt_remote *r = f->r;
    double device_ns, rows_ns = 0;
    LT_TRY(lt_event_elapsed(r->mark[0], r->mark[1], &device_ns));
    if (!f->replayed) LT_TRY(lt_event_elapsed(r->mark[0], r->mark[2], &rows_ns));
    info->device_seconds = 1e-9 * device_ns;
    info->states_seconds = 1e-9 * rows_ns * (double)f->rows_made / (double)LT_MIN(r->plan.block_rows, r->plan.n);
    info->product_seconds = info->device_seconds - info->states_seconds;
    info->transfer_seconds = lt_fetch_seconds(r->fetch);
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

static void tell_plan(const lt_call *f, lt_gram_info *info)
{
    const lt_remote *r = f->r;
    snprintf(info->plan, sizeof info->plan, "method: %s, %s\n%s\ntiles: %d x %d, %s\nstreams: %d%s; the host waits every %lld launches",
             lt_gram_method_name(r->method), f->q->reason, r->plan.text, r->kernels.tile_rows, r->kernels.tile_columns,
             r->plan.half ? "upper half, mirrored" : "all of them", (int)r->opt->streams,
             r->kernels.meets && r->opt->streams > 2 ? " (launches whose blocks meet take one)" : "", (long long)r->opt->sync_interval);
    if (info->precision == LT_GRAM_FLOAT16)
        add_line(info, "\nprecision: float16, one product of half numbers where float32 takes three: errors of K below %g", lt_gram_float_bound(info->precision));
    if (r->opt->cuda_graphs)
        add_line(info, "\ngraph: %s; %lld captured, %lld replayed by this handle",
                 f->replayed ? "this call was a replay" : r->plan_is_new ? "the first call of a size runs step by step" : "too large for one sequence",
                 (long long)r->captured.captures, (long long)r->captured.replays);
}

/* 1 - var/mean^2 of the launches per lane: 1 = shared out evenly. */
static double balance(const lt_remote *r)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < r->n_lanes; i++) mean += (double)r->lane[i].launches / r->n_lanes;
    for (int i = 0; i < r->n_lanes; i++) variance += ((double)r->lane[i].launches - mean) * ((double)r->lane[i].launches - mean) / r->n_lanes;
    return mean > 0 ? 1 - LT_MIN(1, variance / (mean * mean)) : 0;
}

/* Launches not yet waited for are over by now: their times are read here. */
static lt_status busy_share(const lt_call *f, double device_seconds, double *out)
{
    const lt_remote *r = f->r;
    double ns = 0, one;
    for (int i = 0; i < r->n_lanes; i++) ns += r->lane[i].busy_ns;
    for (int i = 0; i < r->n_turns; i++) {
        if (!r->turn[i].under_way) continue;
        LT_TRY(lt_event_elapsed(r->turn[i].begun, r->turn[i].done, &one));
        ns += one;
    }
    *out = device_seconds > 0 ? 1e-9 * ns / (device_seconds * r->n_lanes) : 0;
    return LT_OK;
}

static void add(lt_gram_profile *p, const char *name, size_t bytes)
{
    if (!bytes || p->n_allocations == LT_GRAM_MAX_ALLOCATIONS) return;
    p->allocation[p->n_allocations].name = name;
    p->allocation[p->n_allocations++].bytes = (int64_t)bytes;
}

static lt_status tell_profile(lt_call *f, const lt_gram_info *info, lt_gram_profile *p)
{
    lt_remote *r = f->r;
    size_t panels = 0, lists = 0;
    for (int i = 0; i < r->n_turns; i++) panels += r->turn[i].slot.bytes, lists += r->turn[i].jobs.bytes;
    LT_TRY(lt_row_maker_sent(&r->maker));
    *p = (lt_gram_profile){ .size = sizeof(lt_gram_profile), .peak_bytes = info->peak_bytes, .d2h_bytes = lt_fetch_bytes(r->fetch), .d2h_seconds = lt_fetch_copy_seconds(r->fetch),
                            .h2d_bytes = r->maker.sent_bytes, .h2d_seconds = 1e-9 * r->maker.sent_ns,
                            .kernel_launches = f->launches + r->maker.launches, .kernel_seconds = info->device_seconds,
                            .batch_calls = f->batch.calls, .batch_adjustments = f->batch.adjustments, .batch_min = f->least_rows,
                            .batch_max = f->most_rows, .streams = r->n_lanes, .stream_utilization = balance(r), .syncs = f->syncs,
                            .graph_captures = r->captured.captures, .graph_replays = r->captured.replays };
    LT_TRY(busy_share(f, info->device_seconds, &p->stream_busy));
    add(p, "row states", r->a.bytes);
    add(p, "column states", r->b.bytes);
    add(p, "K", r->k.bytes);
    add(p, "panels", panels);
    add(p, "tile lists", lists);
    add(p, "gates", r->maker.coefficients.bytes);
    add(p, "features", r->maker.x.bytes + r->maker.spare.bytes);
    add(p, "norms", r->roots[0].bytes + r->roots[1].bytes);
    int64_t free_bytes;
    return r->dev->backend->mem_info(r->dev, &free_bytes, &p->total_bytes);
}

lt_status lt_remote_report(lt_call *f, lt_gram_info *info, lt_gram_profile *profile)
{
    lt_remote *r = f->r;
    LT_TRY(tell_times(f, info));
    info->precision = r->kernels.precision;
    info->tiles = f->tiles;
    info->states_built = f->rows_made;
    info->pairs = lt_panel_pairs(f, &(lt_panel){ .n_rows = r->plan.n, .n_columns = r->plan.m });
    info->repaired = (int64_t)f->faults.count;
    info->peak_bytes = held_bytes(r);
    info->graph_captures = r->captured.captures;
    info->graph_replays = r->captured.replays;
    snprintf(info->kernel, sizeof info->kernel, "%s", r->kernels.name);
    tell_plan(f, info);
    return profile ? tell_profile(f, info, profile) : LT_OK;
}
