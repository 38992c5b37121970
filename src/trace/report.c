/* The tables: span names, memory by owner, transfers. SPDX-License-Identifier: BSD-3-Clause */
#include "trace/recorder.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static const char *const column_name[] = {
    [LT_TRACE_NAME] = "name", [LT_TRACE_CALLS] = "calls", [LT_TRACE_TOTAL] = "total", [LT_TRACE_SELF] = "self",
    [LT_TRACE_MEAN] = "mean", [LT_TRACE_MIN] = "min",     [LT_TRACE_MAX] = "max",     [LT_TRACE_CPU] = "cpu",
    [LT_TRACE_BYTES] = "bytes", [LT_TRACE_PEAK] = "peak",
};
_Static_assert(LT_LEN(column_name) == LT_TRACE_COLUMN_COUNT, "a name for each column");

const char *lt_trace_column_name(lt_trace_column c)
{
    return (unsigned)c < LT_TRACE_COLUMN_COUNT ? column_name[c] : "?";
}

bool lt_trace_column_parse(const char *name, lt_trace_column *out)
{
    if (!out) return false;
    for (int c = 0; c < LT_TRACE_COLUMN_COUNT; c++)
        if (name && strcmp(name, column_name[c]) == 0) { *out = (lt_trace_column)c; return true; }
    return false;
}

/* ---- Rows -------------------------------------------------------------------------- */
static int64_t in_ns(uint64_t ticks, const lt_tick_scale *scale)
{
    return (int64_t)((double)ticks * scale->ns_per_tick + 0.5);
}

static lt_trace_row read_total(lt_trace_total *s, const char *name, const lt_tick_scale *scale)
{
#define GET(field) atomic_load_explicit(&s->field, memory_order_relaxed)
    return (lt_trace_row){
        .name = name, .detail = GET(detail), .calls = GET(calls), .bytes = GET(bytes),
        .total_ns = in_ns(GET(total), scale), .self_ns = in_ns(GET(self), scale),
        .min_ns = in_ns(GET(min), scale), .max_ns = in_ns(GET(max), scale),
        .cpu_ns = GET(cpu_ns), .peak_bytes = GET(peak_bytes),
    };
#undef GET
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lt_trace_row *)a)->name, ((const lt_trace_row *)b)->name);
}

static double sort_key(const lt_trace_row *r, lt_trace_column c)
{
    switch (c) {
    case LT_TRACE_CALLS: return (double)r->calls;
    case LT_TRACE_SELF:  return (double)r->self_ns;
    case LT_TRACE_MEAN:  return (double)r->total_ns / (double)LT_MAX(r->calls, 1);
    case LT_TRACE_MIN:   return (double)r->min_ns;
    case LT_TRACE_MAX:   return (double)r->max_ns;
    case LT_TRACE_CPU:   return (double)r->cpu_ns;
    case LT_TRACE_BYTES: return (double)r->bytes;
    case LT_TRACE_PEAK:  return (double)r->peak_bytes;
    default:             return (double)r->total_ns;
    }
}

/* Largest first, equal ones by name. qsort takes no context, so the column comes in the rows'
   neighbour: a pair of key and row. */
typedef struct keyed { double key; lt_trace_row row; } keyed;
static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return by_name(&x->row, &y->row);
}

static void add_row(lt_trace_row *to, const lt_trace_row *r)
{
    to->calls += r->calls;
    to->bytes += r->bytes;
    to->total_ns += r->total_ns;
    to->self_ns += r->self_ns;
    to->cpu_ns += r->cpu_ns;
    to->min_ns = LT_MIN(to->min_ns, r->min_ns);
    to->max_ns = LT_MAX(to->max_ns, r->max_ns);
    to->peak_bytes = LT_MAX(to->peak_bytes, r->peak_bytes);
    if (r->detail) to->detail = r->detail;
}

/* All totals of all threads, one row per name, sorted by name; NULL when memory is out. */
static lt_trace_row *collect(int64_t *n_rows)
{
    lt_tick_scale scale = lt_clock_calibrate();
    lt_trace_lock();
    int64_t n_threads = 0, n = 0;
    for (lt_trace_thread *t = NULL; (t = lt_trace_next_thread(t));) n_threads++;
    lt_trace_row *rows = lt_malloc((size_t)(n_threads * LT_TRACE_NAMES + 1) * sizeof *rows);
    for (lt_trace_thread *t = NULL; rows && (t = lt_trace_next_thread(t));)
        for (int i = 0; i < LT_TRACE_NAMES; i++) {
            const char *name = atomic_load_explicit(&t->total[i].name, memory_order_acquire);
            if (!name) continue;
            rows[n] = read_total(&t->total[i], name, &scale);
            if (rows[n].calls > 0) n++;   /* else another thread is just adding it */
        }
    lt_trace_unlock();
    if (!rows) return NULL;
    qsort(rows, (size_t)n, sizeof *rows, by_name);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (kept && strcmp(rows[kept - 1].name, rows[i].name) == 0) add_row(&rows[kept - 1], &rows[i]);
        else rows[kept++] = rows[i];
    *n_rows = kept;
    return rows;
}

int64_t lt_trace_rows(lt_trace_column sort, lt_trace_row *rows, int64_t max)
{
    int64_t n = 0;
    lt_trace_row *all = collect(&n);
    if (!all) return -1;
    keyed *k = lt_malloc((size_t)(n + 1) * sizeof *k);
    if (!k) { lt_free(all); return -1; }
    for (int64_t i = 0; i < n; i++)
        k[i] = (keyed){ sort == LT_TRACE_NAME ? 0 : sort_key(&all[i], sort), all[i] };
    qsort(k, (size_t)n, sizeof *k, by_key);
    for (int64_t i = 0; i < n && i < max; i++) rows[i] = k[i].row;
    lt_free(k);
    lt_free(all);
    return n;
}

/* ---- Text -------------------------------------------------------------------------- */
typedef struct cell { char s[24]; } cell;

static cell time_cell(double ns)
{
    cell c;
    if (ns < 1e3)      snprintf(c.s, sizeof c.s, "%.0f ns", ns);
    else if (ns < 1e6) snprintf(c.s, sizeof c.s, "%.2f us", ns / 1e3);
    else if (ns < 1e9) snprintf(c.s, sizeof c.s, "%.2f ms", ns / 1e6);
    else               snprintf(c.s, sizeof c.s, "%.3f s", ns / 1e9);
    return c;
}

static lt_status written(FILE *to)
{
    return ferror(to) ? LT_FAIL(LT_ERR_IO, "trace: writing a table failed") : LT_OK;
}

static void print_row(FILE *to, const lt_trace_row *r, double all_self_ns)
{
    double calls = (double)LT_MAX(r->calls, 1);
    fprintf(to, "%-28.28s %10lld %11s %11s %6.1f%% %11s %11s %11s", r->name, (long long)r->calls,
            time_cell((double)r->total_ns).s, time_cell((double)r->self_ns).s,
            all_self_ns > 0 ? 100 * (double)r->self_ns / all_self_ns : 0.0, time_cell((double)r->total_ns / calls).s,
            time_cell((double)r->min_ns).s, time_cell((double)r->max_ns).s);
    if (r->cpu_ns) fprintf(to, "  cpu %s", time_cell((double)r->cpu_ns).s);
    if (r->bytes) fprintf(to, "  %s", lt_bytes_text_of((double)r->bytes).s);
    if (r->peak_bytes) fprintf(to, "  peak %s", lt_bytes_text_of((double)r->peak_bytes).s);
    if (r->detail) fprintf(to, "  %s", r->detail);
    fputc('\n', to);
}

lt_status lt_trace_print_table(FILE *to, lt_trace_column sort, int top_n)
{
    if ((unsigned)sort >= LT_TRACE_COLUMN_COUNT)
        return LT_FAIL(LT_ERR_ARGUMENT, "trace: no column number %d", (int)sort);
    int64_t n = lt_trace_rows(sort, NULL, 0);
    lt_trace_row *rows = n < 0 ? NULL : lt_malloc((size_t)(n + 1) * sizeof *rows);
    int64_t now = rows ? lt_trace_rows(sort, rows, n) : -1;   /* may have grown meanwhile */
    if (now < 0) { lt_free(rows); return LT_FAIL(LT_ERR_MEMORY, "trace: no memory for the table"); }
    n = LT_MIN(n, now);
    int64_t shown = top_n < 0 ? n : LT_MIN(n, top_n ? top_n : 20);
    double self = 0;
    for (int64_t i = 0; i < n; i++) self += (double)rows[i].self_ns;
    fprintf(to, "%-28s %10s %11s %11s %7s %11s %11s %11s\n", "span", "calls", "total", "self", "share", "mean", "min", "max");
    for (int64_t i = 0; i < shown; i++) print_row(to, &rows[i], self);
    if (shown < n) fprintf(to, "(%lld more names)\n", (long long)(n - shown));
    lt_free(rows);
    int64_t dropped = lt_trace_dropped();
    if (dropped)
        fprintf(to, "%lld entries did not fit and were dropped from the timeline or the table\n", (long long)dropped);
    return written(to);
}

lt_status lt_trace_print_memory(FILE *to)
{
    lt_trace_memory_row row[128];
    int64_t n = LT_MIN(lt_trace_memory_rows(row, (int64_t)LT_LEN(row)), (int64_t)LT_LEN(row));
    fprintf(to, "%-28s %12s %12s %10s %10s\n", "memory of", "peak", "now", "taken", "given back");
    for (int64_t i = 0; i < n; i++)
        fprintf(to, "%-28.28s %12s %12s %10lld %10lld\n", row[i].owner, lt_bytes_text_of((double)row[i].peak_bytes).s,
                lt_bytes_text_of((double)row[i].current_bytes).s, (long long)row[i].allocs, (long long)row[i].frees);
    return written(to);
}

lt_status lt_trace_print_transfers(FILE *to)
{
    fprintf(to, "%-10s %-9s %10s %12s\n", "transfer", "host", "count", "bytes");
    for (int d = 0; d < LT_TRANSFER_COUNT; d++)
        for (int pinned = 0; pinned < 2; pinned++) {
            lt_transfer_row r = lt_trace_transfers((lt_transfer)d, pinned);
            if (r.count)
                fprintf(to, "%-10s %-9s %10lld %12s\n", lt_transfer_name((lt_transfer)d),
                        d == LT_TRANSFER_D2D ? "-" : pinned ? "pinned" : "pageable", (long long)r.count, lt_bytes_text_of((double)r.bytes).s);
        }
    return written(to);
}
