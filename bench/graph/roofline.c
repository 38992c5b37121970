/* lathe-bench roofline: what memory and cores of this machine can do, and what matmul reaches.
   The better quartile of samples counts: decision 16.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"
#include "cli/system/cases.h"
#include "cli/system/machine.h"

#include <math.h>
#include <string.h>

typedef struct roofline_options {
    cli_common  common;
    bool        quick;
    const char *report;
} roofline_options;

static const lt_option rows[] = {
    LT_OPTION_BOOL(roofline_options, quick, "quick", "false", "short measurements: a look, not a figure to keep"),
    LT_OPTION_PATH(roofline_options, report, "report", NULL, "FILE.html", "write a page with the roofline"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench roofline", .summary = "Measure memory bandwidth and arithmetic rate of the CPU",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench roofline --quick --report roofline.html",
};

enum { MAX_FIGURES = 64 };

/* One measured number: bytes or FLOPs per second; share compares with the limit of its kind. */
typedef struct figure { char name[40]; int threads; double rate; bool bytes; double share; } figure;

typedef struct roofline {
    figure row[MAX_FIGURES];
    int    n_rows, n_threads;
    double bandwidth, peak_f32, peak_f64; /* of all threads */
} roofline;

static void add(roofline *r, const char *name, int threads, double rate, bool bytes, double share)
{
    if (r->n_rows == MAX_FIGURES) return;
    figure *f = &r->row[r->n_rows++];
    *f = (figure){ .threads = threads, .rate = rate, .bytes = bytes, .share = share };
    snprintf(f->name, sizeof f->name, "%s", name);
}

static lt_status measure_memory(roofline *r, double budget)
{
    int64_t bytes = cli_stream_array_bytes();
    for (int s = 0; s < CLI_STREAM_COUNT; s++)
        for (int n = 1; n <= r->n_threads; n = n < r->n_threads && 2 * n > r->n_threads ? r->n_threads : 2 * n) {
            cli_timing t;
            char name[40];
            CLI_TRY(cli_measure_stream((cli_stream)s, n, bytes, budget, &t));
            /* The better quartile: other programs only ever slow a limit down. */
            double rate = (double)bytes * cli_stream_arrays((cli_stream)s) / t.low;
            snprintf(name, sizeof name, "memory %s", cli_stream_name((cli_stream)s));
            add(r, name, n, rate, true, NAN);
            if (s != CLI_STREAM_WRITE) r->bandwidth = fmax(r->bandwidth, rate); /* kernels read what they write about */
        }
    return LT_OK;
}

static lt_status measure_cores(roofline *r, double budget)
{
    static const lt_dtype type[] = { LT_F32, LT_F64 };
    for (int i = 0; i < 2; i++) {
        double one, all;
        char name[40];
        CLI_TRY(cli_measure_peak(type[i], 1, budget, &one));
        CLI_TRY(cli_measure_peak(type[i], r->n_threads, budget, &all));
        snprintf(name, sizeof name, "multiply-add %s", lt_dtype_name(type[i]));
        add(r, name, 1, one, false, NAN);
        if (r->n_threads > 1) add(r, name, r->n_threads, all, false, NAN);
        *(i ? &r->peak_f64 : &r->peak_f32) = all;
    }
    return LT_OK;
}

/* A GPU: its copy rate; what cores could do is not measured, so nothing is a share of it. */
static lt_status measure_gpu(roofline *r, cli_context *c)
{
    double rate;
    CLI_TRY(lt_device_bandwidth(c->device, (int64_t)1 << 30, &rate));
    add(r, "memory copy", 0, rate, true, NAN);
    r->bandwidth = rate;
    r->peak_f32 = r->peak_f64 = NAN;
    return LT_OK;
}

static lt_status measure_matmul(roofline *r, cli_context *c, bool quick, double budget)
{
    const case_row *row[] = { &case_matmul, &case_matmul_f64 };
    lt_compile_options opt = { .size = sizeof opt, .device = c->device };
    for (int i = 0; i < 2; i++) {
        case_run run;
        cli_timing t;
        CLI_TRY(case_open(row[i], quick, &opt, (uint64_t)c->common.seed, &run));
        lt_status s = case_measure(&run, c->device, budget, &t);
        double rate = run.info.flops / t.median;
        case_close(&run);
        CLI_TRY(s);
        add(r, i ? "lathe matmul f64" : "lathe matmul f32", r->n_threads, rate, false, rate / (i ? r->peak_f64 : r->peak_f32));
    }
    return LT_OK;
}

static void put_json(lt_json *j, const roofline *r)
{
    lt_json_key(j, "rows");
    lt_json_array_begin(j);
    for (int i = 0; i < r->n_rows; i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "name", r->row[i].name);
        lt_json_field_int(j, "threads", r->row[i].threads);
        lt_json_field_double(j, r->row[i].bytes ? "bytes_per_second" : "flops_per_second", r->row[i].rate);
        if (isfinite(r->row[i].share)) lt_json_field_double(j, "share_of_peak", r->row[i].share);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
    lt_json_field_double(j, "bytes_per_second", r->bandwidth);
    lt_json_field_double(j, "flops_per_second_f32", r->peak_f32);
    lt_json_field_double(j, "flops_per_second_f64", r->peak_f64);
    lt_json_field_double(j, "ridge_flops_per_byte_f64", r->peak_f64 / r->bandwidth);
}

static lt_status fill_table(const roofline *r, cli_table **out)
{
    const char *columns[] = { "what", "threads", "rate", "share of peak" };
    CLI_TRY(cli_table_create(NULL, 4, columns, out));
    for (int i = 0; i < r->n_rows; i++) {
        cli_table_row(*out);
        cli_table_cell(*out, 0, "%s", r->row[i].name);
        cli_table_cell(*out, 1, "%d", r->row[i].threads);
        cli_table_cell(*out, 2, r->row[i].bytes ? "%.2f GB/s" : "%.1f GFLOP/s", r->row[i].rate / 1e9);
        if (isfinite(r->row[i].share)) cli_table_cell(*out, 3, "%.0f %%", 100 * r->row[i].share);
    }
    return LT_OK;
}

/* Attainable rate over arithmetic intensity: the sloped roof is memory, the flat one the cores. */
static lt_status write_report(cli_context *c, const roofline *r, const cli_table *t, const char *path)
{
    enum { N = 41 };
    double x[N], roof32[N], roof64[N];
    for (int i = 0; i < N; i++) {
        x[i] = pow(10, -2 + 5.0 * i / (N - 1));
        roof32[i] = fmin(x[i] * r->bandwidth, r->peak_f32) / 1e9;
        roof64[i] = fmin(x[i] * r->bandwidth, r->peak_f64) / 1e9;
    }
    lt_series series[] = { { "f32", x, roof32, N }, { "f64", x, roof64, N } };
    lt_report *page;
    CLI_TRY(lt_report_create("Roofline of this machine", &page));
    cli_report_machine(c, page);
    lt_report_plot(page, &(lt_plot){ .size = sizeof(lt_plot), .title = "What a kernel can reach", .x_label = "FLOP per byte of memory traffic", .y_label = "GFLOP/s",
                                     .x_log = true, .y_log = true, .n_series = 2, .series = series });
    lt_report_paragraph(page, "Below %.1f FLOP per byte double-precision work is limited by memory (%.1f GB/s), above by the cores (%.0f GFLOP/s).",
                        r->peak_f64 / r->bandwidth, r->bandwidth / 1e9, r->peak_f64 / 1e9);
    cli_table_report(t, page);
    lt_status s = lt_report_write(page, path);
    lt_report_destroy(page);
    return s;
}

static lt_status run(cli_context *c)
{
    const roofline_options *o = c->options;
    double budget = o->quick ? 0.1 : 1;
    roofline r = { .n_threads = cli_core_count() };
    bool gpu = cli_on_gpu(c->device);
    if (gpu) CLI_TRY(measure_gpu(&r, c));
    else CLI_TRY(measure_memory(&r, budget));
    if (!gpu) CLI_TRY(measure_cores(&r, budget));
    CLI_TRY(measure_matmul(&r, c, o->quick, budget));
    cli_table *t;
    CLI_TRY(fill_table(&r, &t));
    lt_status s = LT_OK;
    if (c->json) {
        s = cli_json_machine(c);
        put_json(c->json, &r);
    } else {
        cli_table_print(t, stdout);
    }
    if (!s && o->report) s = write_report(c, &r, t, o->report);
    cli_table_destroy(t);
    return s;
}

const cli_command bench_roofline = {
    .name = "roofline", .options = &table, .options_bytes = sizeof(roofline_options), .need = CLI_NEED_DEVICE, .run = run,
    .description = "Measures the two limits every kernel has: bytes per second of large copies and triads, from one thread to all, "
                   "and multiply-adds per second kept in registers. Then what the library's own matmul reaches of the second.\n"
                   "Rates are the better quartile of many samples: other programs only ever slow a limit down.",
};
