/* lathe-bench gram --sweep limits: the product method against what cores and memory can do, measured in the same run.
   SPDX-License-Identifier: BSD-3-Clause

   An entry costs 8 FLOPs per qubit (three multiply-adds and a factor) and eight bytes that nothing reads: two limits, and which
   one holds depends on where K lies. */
#include "bench/gram/gram.h"
#include "cli/system/machine.h"

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
    double       seconds, best;       /* the median, the shortest */
    double       flops, bytes;        /* per second */
    double       peak, write;         /* of as many threads: just before; in the same run */
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

static lt_status make_gram(const limits *l, int64_t q, const limit_row *r, lt_gram **g)
{
    lt_gram_options opt = lt_gram_defaults();
    opt.method = LT_GRAM_PRODUCT;
    opt.return_dtype = r->at->type;
    opt.n_workers = r->threads;
    opt.learn_tiles = false;
    return lt_gram_create(l->b->c->device, &opt, &(lt_weights){ l->w, 1, q }, g);
}

/* Seconds of a call. */
static lt_status time_call(const limits *l, lt_gram *g, limit_row *r, void *K, double *seconds)
{
    double start = cli_now();
    CLI_TRY(lt_gram_fill(g, &(lt_rows){ l->x, LT_F64, r->n, l->q, 0 }, NULL, K));
    *seconds = cli_now() - start;
    r->info = lt_gram_get_info(g);
    return LT_OK;
}

/* Seconds that the tiles of twice the qubits take longer. Y is X again, so that no tile is cut by a diagonal. The two take
   turns, since a core shared with others has good and bad moments. */
static lt_status time_tiles(const limits *l, lt_gram *g, lt_gram *twice, limit_row *r, void *K, double *seconds)
{
    enum { INSIDE = 20 };
    lt_rows x = { l->x, LT_F64, r->n, l->q, 0 }, x2 = { l->x, LT_F64, r->n, 2 * l->q, 0 };
    *seconds = 0;
    for (int k = 0; k < INSIDE; k++) {
        CLI_TRY(lt_gram_fill(twice, &x2, &x2, K));
        *seconds += lt_gram_get_info(twice).product_seconds / INSIDE;
        CLI_TRY(lt_gram_fill(g, &x, &x, K));
        r->info = lt_gram_get_info(g);
        *seconds -= r->info.product_seconds / INSIDE;
    }
    return LT_OK;
}

/* The median once warm. */
static lt_status time_calls(const limits *l, lt_gram *g, lt_gram *twice, limit_row *r, void *K)
{
    double seconds[GRAM_MAX_REPEATS];
    for (int i = -1; i < l->b->repeats; i++) {
        double t;
        CLI_TRY(twice ? time_tiles(l, g, twice, r, K, &t) : time_call(l, g, r, K, &t));
        if (i >= 0) seconds[i] = t;
        if (cli_interrupted()) return cli_stopped();
    }
    r->best = seconds[0];
    for (int i = 1; i < l->b->repeats; i++) r->best = fmin(r->best, seconds[i]);
    r->seconds = gram_median(seconds, l->b->repeats);
    if (r->seconds <= 0) r->seconds = NAN; /* on a busy machine there may be no difference to see */
    return LT_OK;
}

static lt_status measure(limits *l, const place *at, int threads, double write)
{
    limit_row *r = &l->row[l->n_rows];
    lt_gram *g = NULL, *twice = NULL;
    *r = (limit_row){ .at = at, .n = at->in_cache && l->n > ROWS_IN_CACHE ? ROWS_IN_CACHE : l->n, .threads = threads, .write = write };
    CLI_TRY(cli_measure_peak(LT_F64, threads, l->b->o->quick ? 0.02 : 0.2, &r->peak));
    void *K = make_matrix(r->n * r->n, at);
    lt_status s = K ? make_gram(l, l->q, r, &g) : cli_fail(LT_ERR_MEMORY, "no memory for a matrix of %lld rows", (long long)r->n);
    if (!s && at->in_cache) s = make_gram(l, 2 * l->q, r, &twice);
    if (!s) s = time_calls(l, g, twice, r, K);
    lt_gram_destroy(g);
    lt_gram_destroy(twice);
    free(K);
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
        cli_timing t;
        CLI_TRY(cli_measure_stream(CLI_STREAM_WRITE, threads, bytes, budget, &t));
        for (int i = 0; i < N_PLACES; i++) CLI_TRY(measure(l, &places[i], threads, (double)bytes / t.low));
    }
    return LT_OK;
}

static lt_status print_table(const limits *l)
{
    const char *columns[] = { "row", "N", "threads", "time", "best", "GFLOP/s", "of", "peak", "K GB/s", "of writing" };
    cli_table *t;
    CLI_TRY(cli_table_create(NULL, CLI_LEN(columns), columns, &t));
    for (int i = 0; i < l->n_rows; i++) {
        const limit_row *r = &l->row[i];
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", r->at->what);
        cli_table_cell(t, 1, "%lld", (long long)r->n);
        cli_table_cell(t, 2, "%d", r->threads);
        cli_table_cell(t, 3, "%s", cli_seconds(r->seconds).s);
        cli_table_cell(t, 4, "%s", r->at->in_cache ? "-" : cli_seconds(r->best).s);
        gram_number_cell(t, 5, "%.1f", 1e-9 * r->flops);
        gram_number_cell(t, 6, "%.0f %%", 100 * r->flops / r->peak);
        gram_number_cell(t, 7, "%.1f", 1e-9 * r->peak);
        gram_number_cell(t, 8, "%.1f", 1e-9 * r->bytes);
        gram_number_cell(t, 9, "%.0f %%", 100 * r->bytes / r->write);
    }
    cli_table_print(t, stdout);
    cli_table_destroy(t);
    for (int i = 0; i < l->n_rows; i += N_PLACES)
        printf("%d thread%s: memory written at %.1f GB/s\n", l->row[i].threads, l->row[i].threads == 1 ? "" : "s", 1e-9 * l->row[i].write);
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
        lt_json_field_double(j, "best_s", r->best);
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
    if (!cli_on_cpu(b->c->device)) return cli_fail(LT_ERR_ARGUMENT, "--sweep limits is about the CPU, not %s", lt_device_id(b->c->device));
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
