/* lathe-bench solve --device: what the solver costs beside functions that run on a device.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/solve/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which runs, and how far: enough iterations for a median, not to the end. */
static const struct { const char *run, *set; } rows[] = {
    { "A1a", NULL }, { "B2", NULL }, { "B2wide", NULL }, { "C1", NULL }, { "C2", "max_iterations=200" }, { "A3", NULL }, { "D1v", NULL },
    { "D1v128", "max_iterations=30" }, { "D2v", NULL }, { "D3v", "max_iterations=30" },
};

static const double overhead_limit = 60e-6;

typedef struct row_result {
    const solve_case *what;
    lt_problem_size   size;
    solve_sample      s;        /* the sample of median overhead */
    double            overhead, low, high; /* seconds per iteration: median and quartiles */
    int               samples;
    char              refused[96]; /* why the device cannot run it; "" when it can */
} row_result;

static double per_iteration(const solve_sample *s, double seconds) { return s->iters ? seconds / (double)s->iters : NAN; }
/* Evaluations one after the other wherever searches came to, by what one of values and one of everything takes. */
static double function_seconds(const lt_solve_transfers *t, double values, double all)
{
    return (double)(t->values_runs - t->shared_runs + t->trials_used) * values + (double)t->gradient_runs * all;
}
/* The evaluation at the start comes before the loop. */
static double loop_seconds(const lt_solve_transfers *t, double values, double all)
{
    return function_seconds(t, values, all) - (t->gradient_runs > 0 ? all : 0);
}
static double function_of(const solve_sample *s) { return loop_seconds(&s->moved, s->moved.values_seconds, s->moved.all_seconds); }
static double overhead_of(const solve_sample *s) { return per_iteration(s, s->loop - function_of(s)); }
/* Beyond functions that are launched and waited for one by one, as a caller without the solver has to. */
static double beyond_calls(const solve_sample *s)
{
    return per_iteration(s, s->loop - loop_seconds(&s->moved, s->moved.values_call_seconds, s->moved.all_call_seconds));
}
static double per_call(const solve_sample *s, int64_t what)
{
    return s->moved.evaluation.calls ? (double)what / (double)s->moved.evaluation.calls : 0;
}
/* Of evaluations, of H and of numbers about vectors, together. */
static double waits_of(const solve_sample *s)
{
    return per_iteration(s, (double)(s->moved.evaluation.syncs + s->moved.hessian.syncs + s->moved.vectors.syncs));
}
static double bytes_of(const solve_sample *s)
{
    const lt_solve_crossings *part[] = { &s->moved.evaluation, &s->moved.hessian, &s->moved.vectors };
    double sum = 0;
    for (int i = 0; i < CLI_LEN(part); i++) sum += (double)(part[i]->bytes_up + part[i]->bytes_down);
    return per_iteration(s, sum);
}
/* What an evaluation takes beyond its kernels: copies, launch, wait. */
static double exchange_of(const solve_sample *s)
{
    int64_t calls = s->moved.evaluation.calls;
    const double kernels = function_seconds(&s->moved, s->moved.values_seconds, s->moved.all_seconds);
    return calls ? (s->eval - kernels) / (double)calls : 0;
}

/* ---- Measuring -------------------------------------------------------------------------------------- */

static int by_overhead(const void *a, const void *b)
{
    const double x = overhead_of(a), y = overhead_of(b);
    return (x > y) - (x < y);
}

/* The kernels of the functions alone, after the runs: a device that was idle takes a while to reach its clock. */
static lt_status time_functions(solve_run *run, solve_sample *sample, int n)
{
    solve_sample timed;
    run->part[0].debug.time_function = true;
    run->part[0].opt.debug = &run->part[0].debug;
    CLI_TRY(solve_case_solve(run, &timed));
    for (int i = 0; i < n; i++) {
        lt_solve_transfers *t = &sample[i].moved;
        t->values_seconds = timed.moved.values_seconds;
        t->all_seconds = timed.moved.all_seconds;
        t->values_call_seconds = timed.moved.values_call_seconds;
        t->all_call_seconds = timed.moved.all_call_seconds;
    }
    return LT_OK;
}

static lt_status take_samples(solve_run *run, double budget, row_result *r)
{
    enum { MIN_SAMPLES = 3, MAX_SAMPLES = 25 };
    static solve_sample sample[MAX_SAMPLES];
    int n = 0;
    CLI_TRY(solve_case_solve(run, &sample[0])); /* compiles, captures */
    for (const double begin = cli_now(); n < MAX_SAMPLES && (n < MIN_SAMPLES || cli_now() - begin < budget); n++)
        CLI_TRY(solve_case_solve(run, &sample[n]));
    CLI_TRY(time_functions(run, sample, n));
    qsort(sample, (size_t)n, sizeof *sample, by_overhead);
    r->s = sample[n / 2];
    r->overhead = overhead_of(&r->s);
    r->low = overhead_of(&sample[n / 4]);
    r->high = overhead_of(&sample[n - 1 - n / 4]);
    r->samples = n;
    return LT_OK;
}

static lt_status measure(cli_context *c, int row, const solve_on_device *o, row_result *r)
{
    solve_run run;
    *r = (row_result){ .what = solve_case_find(rows[row].run) };
    lt_status s = solve_case_open(r->what, o->quick, o->quick ? NULL : rows[row].set, &run);
    if (!s) s = solve_case_set_all(&run, o->set);
    if (!s) {
        solve_case_place(&run, c->device);
        r->size = lt_problem_get_size(run.part[0].problem);
        s = take_samples(&run, o->quick ? 0.05 : 0.5, r);
    }
    if (s == LT_ERR_UNSUPPORTED) {
        snprintf(r->refused, sizeof r->refused, "%.90s", lt_error_text());
        s = LT_OK;
    }
    solve_case_close(&run);
    return s;
}

/* ---- Reporting ----------------------------------------------------------------------------------------- */

static const char *verdict(const row_result *r, bool quick)
{
    if (quick || !isfinite(r->overhead)) return "";
    return r->overhead <= overhead_limit ? "met" : "missed";
}

static void put_row(lt_json *j, const row_result *r, bool quick)
{
    const solve_sample *s = &r->s;
    const struct { const char *key; double value; } number[] = {
        { "microseconds_per_iteration", 1e6 * per_iteration(s, s->loop) },
        { "function_microseconds_per_iteration", 1e6 * per_iteration(s, function_of(s)) },
        { "overhead_microseconds_per_iteration", 1e6 * r->overhead }, { "overhead_low", 1e6 * r->low }, { "overhead_high", 1e6 * r->high },
        { "beyond_calls_microseconds_per_iteration", 1e6 * beyond_calls(s) }, { "values_call_microseconds", 1e6 * s->moved.values_call_seconds },
        { "all_call_microseconds", 1e6 * s->moved.all_call_seconds },
        { "exchange_microseconds_per_evaluation", 1e6 * exchange_of(s) }, { "qp_microseconds_per_iteration", 1e6 * per_iteration(s, s->qp) },
        { "hessian_microseconds_per_iteration", 1e6 * per_iteration(s, s->h) },
        { "values_microseconds", 1e6 * s->moved.values_seconds }, { "all_microseconds", 1e6 * s->moved.all_seconds },
        { "waits_per_iteration", waits_of(s) }, { "bytes_per_iteration", bytes_of(s) }, { "waits_per_evaluation", per_call(s, s->moved.evaluation.syncs) },
        { "bytes_up_per_evaluation", per_call(s, s->moved.evaluation.bytes_up) },
        { "bytes_down_per_evaluation", per_call(s, s->moved.evaluation.bytes_down) }, { "limit_microseconds", 1e6 * overhead_limit }, { "f", s->f },
    };
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", r->what->name);
    lt_json_field_string(j, "what", r->what->what);
    lt_json_field_string(j, "refused", r->refused);
    for (int i = 0; i < CLI_LEN(number) && !*r->refused; i++) lt_json_field_double(j, number[i].key, number[i].value);
    lt_json_field_int(j, "n", r->size.n);
    lt_json_field_int(j, "constraints", r->size.p + r->size.q);
    lt_json_field_int(j, "samples", r->samples);
    lt_json_field_int(j, "iterations", s->iters);
    lt_json_field_int(j, "evaluations", s->moved.evaluation.calls);
    lt_json_field_int(j, "code", s->code);
    lt_json_field_bool(j, "hessian_on_device", s->moved.hessian_on_device);
    lt_json_field_int(j, "hessian_waits", s->moved.hessian.syncs);
    lt_json_field_bool(j, "vectors_on_device", s->moved.vectors_on_device);
    lt_json_field_int(j, "vector_waits", s->moved.vectors.syncs);
    lt_json_field_string(j, "verdict", verdict(r, quick));
    lt_json_object_end(j);
}

static void fill_row(cli_table *t, const row_result *r, bool quick)
{
    const solve_sample *s = &r->s;
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", r->what->name);
    cli_table_cell(t, 1, "%lld / %lld", (long long)r->size.n, (long long)(r->size.p + r->size.q));
    if (*r->refused) {
        cli_table_cell(t, 2, "%s", r->refused);
        return;
    }
    cli_table_cell(t, 2, "%lld / %lld", (long long)s->iters, (long long)s->moved.evaluation.calls);
    cli_table_cell(t, 3, "%.10g", s->f);
    cli_table_cell(t, 4, "%.1f", 1e6 * per_iteration(s, s->loop));
    cli_table_cell(t, 5, "%.1f", 1e6 * per_iteration(s, function_of(s)));
    cli_table_cell(t, 6, "%.1f", 1e6 * r->overhead);
    cli_table_cell(t, 7, "%.1f", 1e6 * beyond_calls(s));
    cli_table_cell(t, 8, "%.1f", 1e6 * exchange_of(s));
    cli_table_cell(t, 9, "%.1f / %.1f", 1e6 * per_iteration(s, s->qp), 1e6 * per_iteration(s, s->h));
    cli_table_cell(t, 10, "%.1f, %s", waits_of(s), cli_bytes(bytes_of(s)).s);
    cli_table_cell(t, 11, "%s, %s", s->moved.hessian_on_device ? "device" : "host", s->moved.vectors_on_device ? "device" : "host");
    cli_table_cell(t, 12, "%s", verdict(r, quick));
}

static lt_status measure_all(cli_context *c, const solve_on_device *o, cli_table *t)
{
    int total = 0, done = 0;
    lt_progress *bar;
    for (int i = 0; i < CLI_LEN(rows); i++) total += o->wanted(o->ctx, rows[i].run);
    if (!total) return cli_fail(LT_ERR_ARGUMENT, "--device has no row for the runs chosen with --only");
    CLI_TRY(lt_progress_create("solve", "run", total, c->common.quiet || c->json, &bar));
    lt_status s = LT_OK;
    for (int i = 0; i < CLI_LEN(rows) && !s; i++) {
        row_result r;
        if (!o->wanted(o->ctx, rows[i].run)) continue;
        s = measure(c, i, o, &r);
        if (s) break;
        if (c->json) put_row(c->json, &r, o->quick);
        fill_row(t, &r, o->quick);
        lt_progress_set(bar, ++done);
    }
    lt_progress_destroy(bar);
    return s;
}

lt_status bench_solve_device(cli_context *c, const solve_on_device *o)
{
    static const char *const columns[] = { "run", "n / constraints", "its / evals", "f", "us per it", "function", "overhead", "beyond calls", "us per exchange",
                                           "QP / H us", "waits, bytes per it", "H, vectors on", "<= 60 us" };
    cli_table *t;
    CLI_TRY(cli_table_create(NULL, CLI_LEN(columns), columns, &t));
    if (c->json) {
        cli_json_machine(c);
        lt_json_field_string(c->json, "device", lt_device_id(c->device));
        lt_json_field_bool(c->json, "quick", o->quick);
        solve_put_set(c->json, o->set);
        lt_json_key(c->json, "rows");
        lt_json_array_begin(c->json);
    }
    lt_status s = measure_all(c, o, t);
    if (c->json) lt_json_array_end(c->json);
    if (!s && !c->json) {
        cli_table_print(t, stdout);
        if (!c->common.quiet) {
            printf("per iteration: the whole, the kernels of the functions alone (captured, by the device's clock), and the difference;\n"
                   "beyond calls: beyond functions launched and waited for one by one, without a solver;\n"
                   "an exchange is what one evaluation takes beyond its kernels: copies, launch, wait\n");
            solve_report_set(o->set);
        }
    }
    if (!s && o->report) s = cli_table_page(c, t, "What the optimizer adds to functions on a device", o->report);
    cli_table_destroy(t);
    return s;
}
