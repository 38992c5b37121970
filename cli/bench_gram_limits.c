/* lathe bench gram --sweep limits: the product method against what cores and memory can do, measured in the same run.
   SPDX-License-Identifier: BSD-3-Clause

   An entry costs 8 FLOPs per qubit (three multiply-adds and a factor) and eight bytes that nothing reads: two limits, and which
   one holds depends on where K lies. */
#include "bench_gram.h"
#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROWS_IN_CACHE = 480, LARGE_PAGE = 1 << 21 }; /* K of 1.8 MB is written, and stays, in the caches */

typedef struct place {
    const char *what;
    bool in_cache;     /* few rows; what the tiles of twice the qubits take longer, so that only arithmetic counts */
    bool large_pages;
    lt_gram_float type;
} place;

static const place places[] = {
    { "arithmetic alone, K in the caches", true, false, LT_GRAM_FLOAT64 },
    { "whole call", false, false, LT_GRAM_FLOAT64 },
    { "whole call, K on large pages", false, true, LT_GRAM_FLOAT64 },
    { "whole call, K float32", false, false, LT_GRAM_FLOAT32 },
};
enum { N_PLACES = CLI_LEN(places), MAX_LIMITS = 2 * N_PLACES };

typedef struct limit_row {
    const place *at;
    int64_t      n;
    int          threads;
    double       seconds;             /* the median */
    double       flops, bytes;        /* per second */
    double       peak, write;         /* of as many threads, in the same run */
    lt_gram_info info;
} limit_row;

typedef struct limits {
    gram_bench *b;
    int64_t     n, q;
    double     *x, *w;
    int         n_rows;
    limit_row   row[MAX_LIMITS];
} limits;

/* Touched before it is timed: K is memory the caller already has. */
static void *make_matrix(int64_t entries, const place *at)
{
    size_t bytes = ((size_t)entries * sizeof(double) + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    char *K = aligned_alloc(LARGE_PAGE, bytes);
    if (!K) return NULL;
    (void)madvise(K, bytes, at->large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE); /* a wish */
    for (size_t i = 0; i < bytes; i += 4096) K[i] = 0;
    return K;
}

/* The median of calls, or of their tiles, once warm. With in_cache Y is X again: no tile is cut by a diagonal. */
static lt_status time_calls(const limits *l, lt_gram *g, int64_t q, limit_row *r, void *K, double *median)
{
    double seconds[GRAM_MAX_REPEATS];
    lt_rows x = { l->x, LT_F64, r->n, q, 0 };
    bool tiles = r->at->in_cache;
    int inside = tiles ? 20 : 1; /* short ones are repeated */
    CLI_TRY(lt_gram_fill(g, &x, tiles ? &x : NULL, K));
    for (int i = 0; i < l->b->repeats; i++) {
        double start = cli_now(), sum = 0;
        for (int k = 0; k < inside; k++) {
            CLI_TRY(lt_gram_fill(g, &x, tiles ? &x : NULL, K));
            r->info = lt_gram_get_info(g);
            sum += r->info.product_seconds;
        }
        seconds[i] = tiles ? sum / inside : cli_now() - start;
        if (cli_interrupted()) return cli_stopped();
    }
    *median = gram_median(seconds, l->b->repeats);
    return LT_OK;
}

static lt_status time_qubits(const limits *l, int64_t q, limit_row *r, void *K, double *median)
{
    lt_gram_options opt = lt_gram_defaults();
    lt_gram *g;
    opt.method = LT_GRAM_PRODUCT;
    opt.return_dtype = r->at->type;
    opt.n_workers = r->threads;
    opt.learn_tiles = false;
    CLI_TRY(lt_gram_create(l->b->c->device, &opt, &(lt_weights){ l->w, 1, q }, &g));
    lt_status s = time_calls(l, g, q, r, K, median);
    lt_gram_destroy(g);
    return s;
}

static lt_status measure(limits *l, const place *at, int threads, double peak, double write)
{
    limit_row *r = &l->row[l->n_rows];
    double twice = 0;
    *r = (limit_row){ .at = at, .n = at->in_cache && l->n > ROWS_IN_CACHE ? ROWS_IN_CACHE : l->n, .threads = threads, .peak = peak, .write = write };
    void *K = make_matrix(r->n * r->n, at);
    if (!K) return cli_fail(LT_ERR_MEMORY, "no memory for a matrix of %lld rows", (long long)r->n);
    lt_status s = time_qubits(l, l->q, r, K, &r->seconds);
    if (!s && at->in_cache) s = time_qubits(l, 2 * l->q, r, K, &twice);
    free(K);
    if (at->in_cache) r->seconds = twice > r->seconds ? twice - r->seconds : NAN; /* on a busy machine there may be no difference to see */
    r->flops = 8 * (double)l->q * (double)r->info.pairs / r->seconds;
    r->bytes = at->in_cache ? NAN : (double)(r->n * r->n) * (at->type == LT_GRAM_FLOAT32 ? 4 : 8) / r->seconds;
    l->n_rows += s == LT_OK;
    return s;
}

/* One thread, then all: a limit of one is not half of that of two. */
static lt_status measure_all(limits *l)
{
    int cores = cli_core_count();
    double budget = l->b->o->quick ? 0.02 : 0.5;
    int64_t bytes = l->b->o->quick ? 8000000 : cli_stream_array_bytes();
    for (int threads = 1; threads <= cores; threads = threads == cores ? cores + 1 : cores) {
        double peak;
        cli_timing t;
        CLI_TRY(cli_measure_peak(LT_F64, threads, budget, &peak));
        CLI_TRY(cli_measure_stream(CLI_STREAM_WRITE, threads, bytes, budget, &t));
        for (int i = 0; i < N_PLACES; i++) CLI_TRY(measure(l, &places[i], threads, peak, (double)bytes / t.low));
    }
    return LT_OK;
}

static lt_status print_table(const limits *l)
{
    const char *columns[] = { "row", "N", "threads", "time", "GFLOP/s", "of peak", "K GB/s", "of writing" };
    cli_table *t;
    CLI_TRY(cli_table_create(NULL, CLI_LEN(columns), columns, &t));
    for (int i = 0; i < l->n_rows; i++) {
        const limit_row *r = &l->row[i];
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", r->at->what);
        cli_table_cell(t, 1, "%lld", (long long)r->n);
        cli_table_cell(t, 2, "%d", r->threads);
        cli_table_cell(t, 3, "%s", cli_seconds(r->seconds).s);
        gram_number_cell(t, 4, "%.1f", 1e-9 * r->flops);
        gram_number_cell(t, 5, "%.0f %%", 100 * r->flops / r->peak);
        gram_number_cell(t, 6, "%.1f", 1e-9 * r->bytes);
        gram_number_cell(t, 7, "%.0f %%", 100 * r->bytes / r->write);
    }
    cli_table_print(t, stdout);
    cli_table_destroy(t);
    for (int i = 0; i < l->n_rows; i += N_PLACES)
        printf("%d thread%s: multiply-adds at %.1f GFLOP/s, memory written at %.1f GB/s\n", l->row[i].threads, l->row[i].threads == 1 ? "" : "s",
               1e-9 * l->row[i].peak, 1e-9 * l->row[i].write);
    return LT_OK;
}

static lt_status put_json(const limits *l)
{
    lt_json *j = l->b->c->json;
    CLI_TRY(cli_json_machine(l->b->c));
    lt_json_field_string(j, "sweep", "limits");
    lt_json_field_int(j, "n_qubits", l->q);
    lt_json_field_int(j, "repeats", l->b->repeats);
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < l->n_rows; i++) {
        const limit_row *r = &l->row[i];
        lt_json_object_begin(j);
        lt_json_field_string(j, "label", r->at->what);
        lt_json_field_int(j, "n_samples", r->n);
        lt_json_field_int(j, "workers", r->threads);
        lt_json_field_string(j, "kernel", r->info.kernel);
        lt_json_field_double(j, "time_s", r->seconds);
        lt_json_field_double(j, "flops_per_second", r->flops);
        lt_json_field_double(j, "peak_flops_per_second", r->peak);
        lt_json_field_double(j, "share_of_peak", r->flops / r->peak);
        lt_json_field_double(j, "bytes_per_second", r->bytes);
        lt_json_field_double(j, "write_bytes_per_second", r->write);
        lt_json_field_double(j, "share_of_writing", r->bytes / r->write);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
    return LT_OK;
}

lt_status gram_limits(gram_bench *b)
{
    limits l = { .b = b, .n = b->o->quick ? 200 : b->o->n, .q = b->o->qubits };
    if (strncmp(lt_device_id(b->c->device), "cpu", 3)) return cli_fail(LT_ERR_ARGUMENT, "--sweep limits is about the CPU, not %s", lt_device_id(b->c->device));
    l.x = malloc((size_t)(2 * l.n * l.q) * sizeof *l.x);
    l.w = calloc((size_t)(2 * l.q), sizeof *l.w);
    lt_status s = l.x && l.w ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for %lld rows", (long long)l.n);
    if (!s) {
        gram_draw((uint64_t)b->c->common.seed, l.x, 2 * l.n * l.q, 3);
        s = measure_all(&l);
    }
    if (!s) s = b->c->json ? put_json(&l) : print_table(&l);
    free(l.x);
    free(l.w);
    return s;
}
