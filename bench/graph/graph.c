/* lathe-bench graph: the core's promises as ratios, each with its limit or peer in the same run (decision 15).
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"
#include "cli/system/cases.h"
#include "cli/system/machine.h"
#include "bench/peer/peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct graph_options {
    cli_common   common;
    bool         quick;
    int          mode;
    lt_text_list only;
    const char  *peer, *report;
} graph_options;

static const char *const mode_names[] = { "default", "eager", "reduce-overhead", "max-autotune", NULL };
static const lt_option rows[] = {
    LT_OPTION_BOOL(graph_options, quick, "quick", "false", "small sizes and short measurements: a look, not a figure to keep"),
    LT_OPTION_ENUM(graph_options, mode, "mode", "reduce-overhead", mode_names, "how the graphs are compiled"),
    LT_OPTION_LIST(graph_options, only, "only", "NAME", "run this row only"),
    LT_OPTION_PATH(graph_options, peer, "peer", NULL, "FILE.json", "timings of another framework to compare with, from bench/peers/"),
    LT_OPTION_PATH(graph_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench graph", .summary = "Time compiled graphs against this machine's limits and other libraries",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench graph --only chain --only matmul_f32",
};

/* What a row is held against, and the promise: seconds at most, or a ratio at least. */
typedef enum yardstick { BY_CLOCK, BY_COPY, BY_OPENBLAS, BY_ONEDNN, BY_CONV, BY_PEER } yardstick;
static const char *const yardstick_name[] = { "clock", "memory copy", "OpenBLAS", "oneDNN", "conv alone", "peer" };

typedef struct plan_row {
    const case_row *graph;    /* NULL: compiling a graph of 10,000 nodes */
    yardstick       by;
    double          target;   /* seconds for BY_CLOCK, else the least ratio yardstick : lathe; 0 = none */
    double          peer_target; /* least ratio to the peer file; 0 = none */
    bool            gpu;      /* only on a GPU */
    uint32_t        skip;     /* passes left out */
} plan_row;

static const plan_row plan[] = {
    { &case_rosenbrock, BY_CLOCK, 400e-9, 200, false, 0 },
    { &case_chain, BY_COPY, 0.85, 3, false, 0 },
    { &case_sum_exp, BY_PEER, 0, 2, false, 0 },
    { &case_matmul, BY_OPENBLAS, 0.97, 0, false, 0 },
    { &case_matmul_f64, BY_OPENBLAS, 0.97, 0, false, 0 },
    { &case_conv, BY_ONEDNN, 0.97, 0, false, 0 },
    { &case_conv_gelu, BY_CONV, 1 / 1.05, 0, false, 0 },
    { &case_lenet_f64, BY_PEER, 0, 1.5, false, 0 },
    { &case_lenet_f32, BY_PEER, 0, 1.5, false, 0 },
    { &case_jacobian, BY_PEER, 0, 50, false, 0 },
    { &case_chain_f32, BY_COPY, 0.90, 0, true, 0 },
    { &case_launches, BY_CLOCK, 100e-6, 0, true, 1u << LT_PASS_FUSE },
    { NULL, BY_CLOCK, 50e-3, 0, false, 0 },
};

typedef struct result {
    const char *name, *what;
    cli_timing  time;
    double      yard_seconds;  /* NaN = not measured */
    double      peer_seconds;
    lt_program_info info;
    bool        idle;          /* the device only counts: nothing to hold against a promise */
    char        note[80];
} result;

static const char *row_name(const plan_row *p) { return p->graph ? p->graph->name : "compile_10k"; }

static bool wanted(const graph_options *o, const char *name)
{
    for (int i = 0; i < o->only.n; i++)
        if (!strcmp(o->only.item[i], name)) return true;
    return o->only.n == 0;
}

static lt_status check_only(const graph_options *o)
{
    const char *names[CLI_LEN(plan)];
    for (int i = 0; i < CLI_LEN(plan); i++) names[i] = row_name(&plan[i]);
    for (int k = 0; k < o->only.n; k++) {
        bool known = false;
        for (int i = 0; i < CLI_LEN(plan); i++) known = known || !strcmp(names[i], o->only.item[k]);
        if (known) continue;
        const char *near = lt_text_nearest(o->only.item[k], names, CLI_LEN(plan));
        return cli_fail(LT_ERR_ARGUMENT, "--only %s: no such row%s%s%s", o->only.item[k], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return LT_OK;
}

/* ---- Measuring -------------------------------------------------------------------------- */

static bool on_gpu(const cli_context *c) { return cli_on_gpu(c->device); }

/* On a GPU the yardstick is its own copy rate; the CPU's libraries are no measure for it. */
static lt_status measure_gpu_yardstick(cli_context *c, const plan_row *p, case_run *alone, double budget, result *r)
{
    double rate;
    cli_timing t;
    if (p->by == BY_CONV) {
        CLI_TRY(case_measure(alone, c->device, budget, &t));
        r->yard_seconds = t.median;
    }
    if (p->by != BY_COPY) return LT_OK;
    CLI_TRY(lt_device_bandwidth(c->device, (int64_t)(r->info.bytes / 2), &rate));
    r->yard_seconds = r->info.bytes / rate;
    return LT_OK;
}

/* The yardstick of one row, right after the row itself: the machine may be busier a minute later. alone: the convolution
   without what follows it, for BY_CONV. */
static lt_status measure_yardstick(cli_context *c, const plan_row *p, case_run *alone, double budget, result *r)
{
    const graph_options *o = c->options;
    cli_timing t;
    lt_status s = LT_OK;
    int64_t side = o->quick ? 512 : 1024;
    switch (p->by) {
    case BY_COPY: /* one read and one write of the chain's arrays */
        s = cli_measure_stream(CLI_STREAM_COPY, cli_core_count(), o->quick ? 8000000 : 80000000, budget, &t);
        break;
    case BY_OPENBLAS:
        s = peer_openblas_matmul(p->graph == &case_matmul ? LT_F32 : LT_F64, side, cli_core_count(), budget, &t);
        break;
    case BY_ONEDNN:
        s = peer_onednn_conv(&(peer_layer){ 5, 64, 64, 3, o->quick ? 32 : 128 }, false, budget, &t);
        break;
    case BY_CONV:
        s = case_measure(alone, c->device, budget, &t);
        break;
    default:
        return LT_OK;
    }
    if (s == LT_ERR_UNSUPPORTED) {
        snprintf(r->note, sizeof r->note, "%s", cli_error_text());
        return LT_OK;
    }
    if (!s) r->yard_seconds = t.median;
    return s;
}

enum { ROUNDS = 3, CLOSE_ROUNDS = 9 }; /* more where a few percent decide */

static int faster(const void *a, const void *b)
{
    const result *x = a, *y = b;
    double d = x->yard_seconds / x->time.median - y->yard_seconds / y->time.median;
    return (d > 0) - (d < 0);
}

/* The row and its yardstick in turns, so that a machine that is busy for a while slows both; the round
   with the middle ratio counts. Threads of a library spin for a while after its last call: a pause. */
static lt_status measure_rounds(cli_context *c, const plan_row *p, case_run *run, case_run *alone, double budget, result *r)
{
    result round[CLOSE_ROUNDS];
    bool measured = p->by == BY_COPY || p->by == BY_OPENBLAS || p->by == BY_ONEDNN || p->by == BY_CONV;
    int n = !measured || on_gpu(c) || r->idle ? 1 : p->by == BY_CONV ? CLOSE_ROUNDS : ROUNDS;
    for (int i = 0; i < n; i++) {
        round[i] = *r;
        CLI_TRY(case_measure(run, c->device, budget / n, &round[i].time));
        if (r->idle) continue;
        CLI_TRY((on_gpu(c) ? measure_gpu_yardstick : measure_yardstick)(c, p, alone, budget / n, &round[i]));
        if (n == ROUNDS) nanosleep(&(struct timespec){ .tv_nsec = 60000000 }, NULL);
    }
    qsort(round, (size_t)n, sizeof round[0], faster);
    *r = round[n / 2];
    return LT_OK;
}

static lt_status measure_row(cli_context *c, const plan_row *p, double budget, result *r)
{
    const graph_options *o = c->options;
    lt_compile_options opt = { .size = sizeof opt, .mode = (lt_mode)o->mode, .device = c->device, .skip_passes = p->skip };
    r->name = row_name(p);
    r->idle = !cli_on_cpu(c->device) && !cli_on_gpu(c->device);
    r->yard_seconds = r->peer_seconds = NAN;
    if (!p->graph) {
        double sample[5];
        r->what = "graph of 10,000 nodes, build and compile";
        for (int i = 0; i < 5; i++) CLI_TRY(case_compile_large(o->quick ? 1000 : 10000, &opt, &sample[i]));
        double low = fmin(fmin(sample[0], sample[1]), fmin(sample[2], fmin(sample[3], sample[4])));
        double high = fmax(fmax(sample[0], sample[1]), fmax(sample[2], fmax(sample[3], sample[4])));
        double sum = sample[0] + sample[1] + sample[2] + sample[3] + sample[4];
        r->time = (cli_timing){ .median = (sum - low - high) / 3, .low = low, .high = high, .samples = 5, .calls_per_sample = 1 };
        return LT_OK;
    }
    r->what = p->graph->what;
    case_run run, alone = { 0 };
    CLI_TRY(case_open(p->graph, o->quick, &opt, (uint64_t)c->common.seed, &run));
    r->info = run.info;
    lt_status s = p->by == BY_CONV ? case_open(&case_conv, o->quick, &opt, (uint64_t)c->common.seed, &alone) : LT_OK;
    if (!s) s = measure_rounds(c, p, &run, &alone, budget, r);
    case_close(&alone);
    case_close(&run);
    return s;
}

/* ---- Reporting ----------------------------------------------------------------------------- */

static double ratio(double other, const result *r) { return other / r->time.median; }

/* "met", "missed", or "" when the row has no promise or nothing to hold it against. */
static const char *verdict(const plan_row *p, const result *r)
{
    bool judged = false, met = true;
    if (r->idle && p->graph) return "";
    if (p->by == BY_CLOCK && p->target > 0) judged = true, met = r->time.median <= p->target;
    if (p->by != BY_CLOCK && p->target > 0 && isfinite(r->yard_seconds)) judged = true, met = ratio(r->yard_seconds, r) >= p->target;
    if (p->peer_target > 0 && isfinite(r->peer_seconds)) met = met && ratio(r->peer_seconds, r) >= p->peer_target, judged = true;
    return !judged ? "" : met ? "met" : "missed";
}

static void put_json_row(lt_json *j, const plan_row *p, const result *r)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", r->name);
    lt_json_field_string(j, "what", r->what);
    lt_json_field_double(j, "seconds", r->time.median);
    lt_json_field_double(j, "seconds_low", r->time.low);
    lt_json_field_double(j, "seconds_high", r->time.high);
    lt_json_field_int(j, "samples", r->time.samples);
    lt_json_field_double(j, "flops", r->info.flops);
    lt_json_field_double(j, "bytes", r->info.bytes);
    lt_json_field_int(j, "kernels", r->info.n_kernels);
    lt_json_field_string(j, "yardstick", yardstick_name[p->by]);
    lt_json_field_double(j, "yardstick_seconds", r->yard_seconds);
    lt_json_field_double(j, "yardstick_ratio", ratio(r->yard_seconds, r));
    lt_json_field_double(j, "peer_seconds", r->peer_seconds);
    lt_json_field_double(j, "peer_ratio", ratio(r->peer_seconds, r));
    lt_json_field_double(j, "target", p->target);
    lt_json_field_double(j, "peer_target", p->peer_target);
    lt_json_field_string(j, "verdict", verdict(p, r));
    lt_json_object_end(j);
}

static void fill_row(cli_table *t, const plan_row *p, const result *r)
{
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", r->what);
    cli_table_cell(t, 1, "%s", cli_seconds(r->time.median).s);
    cli_table_cell(t, 2, "%.0f %%", 100 * (r->time.high - r->time.low) / r->time.median);
    if (isfinite(r->yard_seconds)) cli_table_cell(t, 3, "%.2fx %s", ratio(r->yard_seconds, r), yardstick_name[p->by]);
    else if (r->note[0]) cli_table_cell(t, 3, "%s", r->note);
    if (isfinite(r->peer_seconds)) cli_table_cell(t, 4, "%.1fx", ratio(r->peer_seconds, r));
    if (p->by == BY_CLOCK) cli_table_cell(t, 5, "at most %s", cli_seconds(p->target).s);
    else if (p->target > 0) cli_table_cell(t, 5, "%.2fx", p->target);
    if (p->peer_target > 0) cli_table_cell(t, 6, "%gx", p->peer_target);
    cli_table_cell(t, 7, "%s", verdict(p, r));
}

static lt_status write_report(cli_context *c, const cli_table *t, int n, const result *r, const char *path)
{
    lt_report *page;
    const char *label[CLI_LEN(plan)];
    double spread[CLI_LEN(plan)];
    for (int i = 0; i < n; i++) {
        label[i] = r[i].what;
        spread[i] = r[i].time.median * 1e6;
    }
    CLI_TRY(lt_report_create("Compiled graphs on this machine", &page));
    cli_report_machine(c, page);
    cli_table_report(t, page);
    lt_report_bars(page, "Time of one call", "us", n, label, spread);
    lt_status s = lt_report_write(page, path);
    lt_report_destroy(page);
    return s;
}

static lt_status run(cli_context *c)
{
    const graph_options *o = c->options;
    peer_file peer = { 0 };
    result r[CLI_LEN(plan)];
    memset(r, 0, sizeof r);
    CLI_TRY(check_only(o));
    if (o->peer) CLI_TRY(peer_file_read(o->peer, &peer));
    const char *columns[] = { "what", "time", "spread", "against", peer.peer[0] ? peer.peer : "peer", "promise", "to peer", "verdict" };
    cli_table *t;
    lt_progress *bar;
    CLI_TRY(cli_table_create(NULL, 8, columns, &t));
    lt_status s = lt_progress_create("graph", "row", CLI_LEN(plan), c->common.quiet || c->json, &bar);
    int n = 0;
    if (c->json) {
        cli_json_machine(c);
        lt_json_field_string(c->json, "mode", mode_names[o->mode]);
        lt_json_field_string(c->json, "peer", peer.peer);
        lt_json_field_bool(c->json, "quick", o->quick);
        lt_json_key(c->json, "rows");
        lt_json_array_begin(c->json);
    }
    for (int i = 0; i < CLI_LEN(plan) && !s; i++) {
        if (!wanted(o, row_name(&plan[i])) || plan[i].gpu > on_gpu(c)) continue;
        if (!plan[i].graph && on_gpu(c)) continue; /* that times our compiler, not NVIDIA's */
        s = measure_row(c, &plan[i], o->quick ? 0.05 : 1, &r[n]);
        if (s) break;
        r[n].peer_seconds = peer_file_seconds(&peer, r[n].name);
        if (c->json) put_json_row(c->json, &plan[i], &r[n]);
        fill_row(t, &plan[i], &r[n]);
        n++;
        lt_progress_set(bar, i + 1);
    }
    lt_progress_destroy(bar);
    if (c->json) lt_json_array_end(c->json);
    else if (!s) cli_table_print(t, stdout);
    if (!s && !c->json && o->quick && !c->common.quiet) printf("quick: sizes are smaller than named\n");
    if (!s && o->report) s = write_report(c, t, n, r, o->report);
    cli_table_destroy(t);
    return s;
}

const cli_command bench_graph = {
    .name = "graph", .options = &table, .options_bytes = sizeof(graph_options), .need = CLI_NEED_DEVICE, .stops = true, .run = run,
    .description = "Times compiled graphs: each row gives the median of many samples, the spread between their quartiles, and the ratio to "
                   "what it is held against in the same run: a memory copy of the same bytes, OpenBLAS or oneDNN called directly. "
                   "A ratio above one means lathe is faster.\n"
                   "bench/peers/torch_graph.py prints the same rows timed in PyTorch; with --peer their ratios are added. "
                   "The last columns hold the promise of each row and whether it was met.\n"
                   "On a GPU the times are those of the kernels, by its own clock, and the limit is its own copy rate.",
};
