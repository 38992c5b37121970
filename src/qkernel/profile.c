/* The memory report of a Gram matrix, as text and as JSON. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"

#include "base/sized.h"
#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { BOX_WIDTH = 72 };

static double gb(int64_t bytes) { return 1e-9 * (double)bytes; }
static double rate(int64_t bytes, double seconds) { return seconds > 0 ? gb(bytes) / seconds : 0; }
static double launch_ms(const lt_gram_profile *p)
{
    return p->kernel_launches ? 1e3 * p->kernel_seconds / (double)p->kernel_launches : 0;
}

static double hit_rate(const lt_gram_profile *p)
{
    int64_t all = p->graph_captures + p->graph_replays;
    return all ? (double)p->graph_replays / (double)all : 0;
}

static void rule(FILE *to)
{
    fputc('+', to);
    for (int i = 0; i < BOX_WIDTH; i++) fputc('-', to);
    fputs("+\n", to);
}

__attribute__((format(printf, 2, 3))) static void line(FILE *to, const char *format, ...)
{
    char text[BOX_WIDTH];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(to, "| %-*s|\n", BOX_WIDTH - 1, text);
}

lt_status lt_gram_profile_print(const lt_gram_profile *profile, FILE *to)
{
    LT_NEED(profile);
    LT_NEED(to);
    lt_gram_profile own = { .size = sizeof own }, *p = &own;
    LT_TRY(LT_TAKE(lt_gram_profile, profile, p));
    rule(to);
    line(to, "Memory: %.3g of %.3g GB, %.2f %%", gb(p->peak_bytes), gb(p->total_bytes),
         100 * (double)p->peak_bytes / (double)LT_MAX(1, p->total_bytes));
    for (int i = 0; i < p->n_allocations; i++) line(to, "  %-16s %10.4g GB", p->allocation[i].name, gb(p->allocation[i].bytes));
    line(to, "Transfers");
    line(to, "  to the device    %9.3g GB, %.3g GB/s", gb(p->h2d_bytes), rate(p->h2d_bytes, p->h2d_seconds));
    line(to, "  from the device  %9.3g GB, %.3g GB/s", gb(p->d2h_bytes), rate(p->d2h_bytes, p->d2h_seconds));
    line(to, "Kernels: %lld launches, %.4g ms each; %.4g million pairs/s", (long long)p->kernel_launches, launch_ms(p), p->mpairs_per_s);
    if (p->batch_calls)
        line(to, "Batch: %lld to %lld rows, %lld adjustments in %lld blocks", (long long)p->batch_min, (long long)p->batch_max,
             (long long)p->batch_adjustments, (long long)p->batch_calls);
    if (p->streams)
        line(to, "Streams: %d computing, balance %.2f, busy %.0f %%; %lld waits of the host", p->streams, p->stream_utilization, 100 * p->stream_busy,
             (long long)p->syncs);
    if (p->graph_captures) line(to, "Graphs: %lld captured, %lld replayed, hit rate %.2f", (long long)p->graph_captures, (long long)p->graph_replays, hit_rate(p));
    rule(to);
    return ferror(to) ? LT_FAIL(LT_ERR_IO, "gram: the profile could not be written") : LT_OK;
}

void lt_gram_profile_json(const lt_gram_profile *profile, lt_json *j)
{
    lt_gram_profile own = { .size = sizeof own }, *p = &own;
    if (LT_TAKE(lt_gram_profile, profile, p)) return;
    lt_json_field_double(j, "peak_allocated_gb", gb(p->peak_bytes));
    lt_json_key(j, "allocations");
    lt_json_object_begin(j);
    for (int i = 0; i < p->n_allocations; i++) lt_json_field_double(j, p->allocation[i].name, gb(p->allocation[i].bytes));
    lt_json_object_end(j);
    lt_json_field_double(j, "h2d_total_gb", gb(p->h2d_bytes));
    lt_json_field_double(j, "d2h_total_gb", gb(p->d2h_bytes));
    lt_json_field_double(j, "h2d_avg_bandwidth_gbps", rate(p->h2d_bytes, p->h2d_seconds));
    lt_json_field_double(j, "d2h_avg_bandwidth_gbps", rate(p->d2h_bytes, p->d2h_seconds));
    lt_json_field_int(j, "kernel_launches", p->kernel_launches);
    lt_json_field_double(j, "avg_kernel_time_ms", launch_ms(p));
    lt_json_field_double(j, "throughput_mpairs_per_sec", p->mpairs_per_s);
    lt_json_field_int(j, "graph_captures", p->graph_captures);
    lt_json_field_int(j, "graph_replays", p->graph_replays);
    lt_json_field_double(j, "graph_hit_rate", hit_rate(p));
    lt_json_field_int(j, "streams", p->streams);
    lt_json_field_double(j, "stream_utilization", p->stream_utilization);
    lt_json_field_double(j, "stream_busy", p->stream_busy);
    lt_json_field_int(j, "host_waits", p->syncs);
    lt_json_field_int(j, "batch_adjustments", p->batch_adjustments);
    lt_json_field_int(j, "batch_min", p->batch_min);
    lt_json_field_int(j, "batch_max", p->batch_max);
}
