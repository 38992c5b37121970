/* lathe-bench transfers: copies between host and device, pageable against the staging ring.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"

#include <stdlib.h>
#include <string.h>

typedef struct transfer_options {
    cli_common  common;
    bool        quick;
    int         order;
    const char *report;
} transfer_options;

static const lt_option rows[] = {
    LT_OPTION_BOOL(transfer_options, quick, "quick", "false", "short measurements: a look, not a figure to keep"),
    LT_OPTION_INT(transfer_options, order, "order", "1000", LT_RANGE_CLOSED(1, 20000), "N", "the matrix is N by N, in double precision"),
    LT_OPTION_PATH(transfer_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench transfers", .summary = "Time copies between host and device, pageable against staged",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench transfers --device cpu --order 2000",
};

/* One round: the matrix and a vector come to the host, are multiplied there, the product goes back. */
typedef struct round_trip {
    int      n;
    lt_lane *matrix, *vector;
    double  *a, *x, *y;
} round_trip;

static void multiply(const round_trip *r)
{
    for (int i = 0; i < r->n; i++) {
        double sum = 0;
        for (int j = 0; j < r->n; j++) sum += r->a[(size_t)i * (size_t)r->n + (size_t)j] * r->x[j];
        r->y[i] = sum;
    }
}

static size_t matrix_bytes(const round_trip *r) { return (size_t)r->n * (size_t)r->n * sizeof(double); }
static size_t vector_bytes(const round_trip *r) { return (size_t)r->n * sizeof(double); }

static lt_status copy_out(void *ctx)
{
    round_trip *r = ctx;
    CLI_TRY(lt_lane_download(r->matrix, r->a, matrix_bytes(r)));
    return lt_lane_download(r->vector, r->x, vector_bytes(r));
}

static lt_status copy_in(void *ctx)
{
    round_trip *r = ctx;
    return lt_lane_upload(r->matrix, r->a, matrix_bytes(r));
}

static lt_status whole_round(void *ctx)
{
    round_trip *r = ctx;
    CLI_TRY(copy_out(r));
    multiply(r);
    return lt_lane_upload(r->vector, r->y, vector_bytes(r));
}

typedef struct outcome { cli_timing out, in, round; bool pinned; } outcome;

static lt_status measure(lt_device *dev, round_trip *r, lt_lane_way way, double budget, outcome *o)
{
    lt_status s = lt_lane_create(dev, matrix_bytes(r), way, &r->matrix);
    if (!s) s = lt_lane_create(dev, vector_bytes(r), way, &r->vector);
    if (!s) s = lt_lane_upload(r->vector, r->x, vector_bytes(r));
    if (!s) s = cli_time(copy_in, r, budget, &o->in);
    if (!s) s = cli_time(copy_out, r, budget, &o->out);
    if (!s) s = cli_time(whole_round, r, budget, &o->round);
    o->pinned = lt_lane_pinned(r->matrix);
    lt_lane_destroy(r->matrix);
    lt_lane_destroy(r->vector);
    r->matrix = r->vector = NULL;
    return s;
}

static const char *const way_name[] = { "pageable", "staged" };

static void put_json(lt_json *j, const round_trip *r, const outcome *o)
{
    lt_json_field_int(j, "matrix_bytes", (int64_t)matrix_bytes(r));
    lt_json_field_int(j, "vector_bytes", (int64_t)vector_bytes(r));
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < 2; i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "way", way_name[i]);
        lt_json_field_bool(j, "pinned", o[i].pinned);
        lt_json_field_double(j, "to_device_seconds", o[i].in.median);
        lt_json_field_double(j, "to_host_seconds", o[i].out.median);
        lt_json_field_double(j, "round_seconds", o[i].round.median);
        lt_json_field_double(j, "speedup", o[0].round.median / o[i].round.median);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static lt_status fill_table(const round_trip *r, const outcome *o, cli_table **t)
{
    const char *columns[] = { "way", "pinned", "to device", "to host", "round trip", "speedup" };
    CLI_TRY(cli_table_create(NULL, 6, columns, t));
    for (int i = 0; i < 2; i++) {
        cli_table_row(*t);
        cli_table_cell(*t, 0, "%s", way_name[i]);
        cli_table_cell(*t, 1, "%s", o[i].pinned ? "yes" : "no");
        cli_table_cell(*t, 2, "%.2f GB/s", (double)matrix_bytes(r) / o[i].in.median / 1e9);
        cli_table_cell(*t, 3, "%.2f GB/s", (double)(matrix_bytes(r) + vector_bytes(r)) / o[i].out.median / 1e9);
        cli_table_cell(*t, 4, "%s", cli_seconds(o[i].round.median).s);
        cli_table_cell(*t, 5, "%.2fx", o[0].round.median / o[i].round.median);
    }
    return LT_OK;
}

static lt_status present(cli_context *c, const round_trip *r, const outcome *o)
{
    const transfer_options *opt = c->options;
    cli_table *t;
    CLI_TRY(fill_table(r, o, &t));
    lt_status s = LT_OK;
    if (c->json) {
        s = cli_json_machine(c);
        put_json(c->json, r, o);
    } else {
        printf("%s: a %d x %d matrix (%s) and a vector (%s)\n", lt_device_id(c->device), r->n, r->n,
               cli_bytes((double)matrix_bytes(r)).s, cli_bytes((double)vector_bytes(r)).s);
        cli_table_print(t, stdout);
        if (!c->common.quiet && !strcmp(lt_device_id(c->device), "cpu"))
            printf("On the CPU both ways copy within the same memory; the ring pays off with a GPU.\n");
    }
    if (!s && opt->report) s = cli_table_page(c, t, "Copies between host and device", opt->report);
    cli_table_destroy(t);
    return s;
}

static lt_status run(cli_context *c)
{
    const transfer_options *o = c->options;
    round_trip r = { .n = o->order };
    outcome result[2];
    memset(result, 0, sizeof result);
    r.a = malloc(matrix_bytes(&r));
    r.x = malloc(vector_bytes(&r));
    r.y = malloc(vector_bytes(&r));
    lt_status s = r.a && r.x && r.y ? LT_OK : cli_fail(LT_ERR_MEMORY, "out of memory for a %d x %d matrix", r.n, r.n);
    lt_rng rng = lt_rng_seed((uint64_t)c->common.seed);
    for (int64_t i = 0; !s && i < (int64_t)r.n * r.n; i++) r.a[i] = lt_rng_uniform(&rng);
    for (int i = 0; !s && i < r.n; i++) r.x[i] = lt_rng_uniform(&rng);
    for (int i = 0; i < 2 && !s; i++)
        s = measure(c->device, &r, i ? LT_LANE_STAGED : LT_LANE_DIRECT, o->quick ? 0.05 : 1, &result[i]);
    if (!s) s = present(c, &r, result);
    free(r.a);
    free(r.x);
    free(r.y);
    return s;
}

const cli_command bench_transfers = {
    .name = "transfers", .options = &table, .options_bytes = sizeof(transfer_options), .need = CLI_NEED_DEVICE, .tells_device = true, .stops = true, .run = run,
    .description = "Copies a matrix and a vector from the device to the host, multiplies them there and copies the product back, once with "
                   "ordinary pageable memory and once through the page-locked staging ring, and prints both rates and the speedup.",
};
