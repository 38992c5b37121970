/* lathe-bench solve: whole runs of the optimizer, where their time goes, and what they have to reach.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"
#include "bench/peer/peers.h"
#include "bench/solve/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_options {
    cli_common   common;
    bool         quick, ablate;
    int          starts;
    lt_text_list only, set;
    const char  *peer, *report;
} bench_options;

static const lt_option rows[] = {
    LT_OPTION_BOOL(bench_options, quick, "quick", "false", "few iterations of the long runs: a look, not a figure to keep"),
    LT_OPTION_BOOL(bench_options, ablate, "ablate", "false", "measure what each technique is worth, one switched off at a time"),
    LT_OPTION_INT(bench_options, starts, "starts", "0", LT_RANGE_CLOSED(0, PEER_MAX_STARTS), "N",
                  "solve each from N starts that differ by one part in 10^9, and tell where they end"),
    LT_OPTION_LIST(bench_options, set, "set", "NAME=VALUE", "an option of the solver, for all runs"),
    LT_OPTION_LIST(bench_options, only, "only", "NAME", "this run only, or all whose names begin so: A1a, A1, D"),
    LT_OPTION_PATH(bench_options, peer, "peer", NULL, "FILE.json", "PyGRANSO's times on this machine, from bench/peers/pygranso.py"),
    LT_OPTION_PATH(bench_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench solve", .summary = "Time whole runs of the optimizer and show where the time goes",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench solve --only C2 --ablate",
};

enum { SMALL_N = 10 };                         /* up to here the solver's own time per iteration is bounded */
static const double own_limit = 15e-6;

typedef struct result {
    const solve_case *what;
    lt_problem_size   size;
    double            read;     /* seconds from text to problem: median */
    double            first, first_low, first_high; /* of solving a problem for the first time, compiling it: median and quartiles */
    int               n_first;
    solve_timing      t;
    double            peer;     /* seconds there; NaN = not known */
    double            peer_f;   /* where it ended; NaN = not known, or not lower than here */
    double            reach;    /* seconds to that f: the run goes on until there; infinite = it did not get there */
    bool              judged;   /* not a shortened run */
} result;

/* ---- Choosing rows ------------------------------------------------------------------------- */

/* A name that is no run's stands for all that begin with it. */
static bool wanted(const bench_options *o, const char *name)
{
    for (int i = 0; i < o->only.n; i++) {
        const char *only = o->only.item[i];
        if (solve_case_find(only) ? !strcmp(only, name) : !strncmp(only, name, strlen(only))) return true;
    }
    return o->only.n == 0;
}

static bool wanted_row(const void *ctx, const char *name) { return wanted(ctx, name); }

/* The device of --device, when that is not the host. */
static lt_device *device_of(const cli_context *c)
{
    return !cli_on_cpu(c->device) ? c->device : NULL;
}

static lt_status check_only(const bench_options *o)
{
    const char *names[64];
    for (int i = 0; i < solve_n_cases; i++) names[i] = solve_cases[i].name;
    for (int k = 0; k < o->only.n; k++) {
        const char *only = o->only.item[k];
        bool known = false;
        for (int i = 0; i < solve_n_cases; i++) known = known || (*only && !strncmp(only, names[i], strlen(only)));
        if (known) continue;
        const char *near = lt_text_nearest(only, names, solve_n_cases);
        return cli_fail(LT_ERR_ARGUMENT, "--only %s: no such run%s%s%s", only, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return LT_OK;
}

/* ---- Judging --------------------------------------------------------------------------------- */

static double seconds(const result *r)
{
    return r->what->per == SOLVE_PER_RUN ? r->t.time.median : r->t.time.median / (double)r->t.last.evals;
}
static double per_iteration(const result *r) { return r->t.time.median / (double)(r->t.last.iters ? r->t.last.iters : 1); }
static double share(const result *r, double part) { return r->t.sum.seconds > 0 ? part / r->t.sum.seconds : 0; }
static double rest_share(const result *r)
{
    return fmax(0, 1 - share(r, r->t.sum.eval) - share(r, r->t.sum.qp) - share(r, r->t.sum.h));
}
/* Time per iteration that is the solver's own. */
static double own(const result *r) { return per_iteration(r) * (1 - share(r, r->t.sum.eval)); }
/* A run cut short is no match for a whole one; an evaluation is an evaluation. */
static bool comparable(const result *r) { return r->judged || r->what->per == SOLVE_PER_EVALUATION; }
static double published_ratio(const result *r)
{
    return r->what->published > 0 && comparable(r) ? r->what->published / seconds(r) : NAN;
}
static double peer_ratio(const result *r) { return comparable(r) ? r->peer / seconds(r) : NAN; }
/* To an f at least as good as the peer's. */
static double reach_ratio(const result *r) { return isfinite(r->peer_f) ? r->peer / r->reach : NAN; }
/* The one that counts: on this machine where known. */
static double judged_ratio(const result *r) { return isfinite(r->peer) ? peer_ratio(r) : published_ratio(r); }

/* Names what was missed, separated by commas: "" = everything promised was met. */
static void misses(const result *r, char *out, size_t capacity)
{
    const struct { bool missed; const char *what; } check[] = {
        { !r->t.last.accepted, "result" },
        { r->what->limit > 0 && seconds(r) > r->what->limit, "time" },
        { r->size.n <= SMALL_N && own(r) > own_limit, "own time" },
        { r->what->ratio > 0 && judged_ratio(r) < r->what->ratio, "ratio" },
        { r->what->ratio > 0 && reach_ratio(r) < r->what->ratio, "ratio to the peer's f" },
        { r->what->least_share > 0 && share(r, r->t.sum.eval) < r->what->least_share, "share" },
        { r->t.last.allocations > 0, "allocations" },
    };
    *out = '\0';
    for (int i = 0; i < CLI_LEN(check); i++) {
        if (!check[i].missed) continue;
        const size_t used = strlen(out);
        snprintf(out + used, capacity - used, "%s%s", used ? ", " : "", check[i].what);
    }
}

/* ---- Output ------------------------------------------------------------------------------------ */

static void put_row(lt_json *j, const result *r)
{
    char missed[80];
    misses(r, missed, sizeof missed);
    const solve_sample *s = &r->t.last;
    const struct { const char *key; double value; } number[] = {
        { "seconds", seconds(r) }, { "run_seconds", r->t.time.median }, { "run_seconds_low", r->t.time.low },
        { "run_seconds_high", r->t.time.high }, { "first_seconds", r->first }, { "first_seconds_low", r->first_low },
        { "first_seconds_high", r->first_high }, { "read_seconds", r->read },
        { "microseconds_per_iteration", 1e6 * per_iteration(r) }, { "own_microseconds_per_iteration", 1e6 * own(r) },
        { "share_evaluation", share(r, r->t.sum.eval) }, { "share_qp", share(r, r->t.sum.qp) },
        { "share_hessian", share(r, r->t.sum.h) }, { "share_rest", rest_share(r) }, { "f", s->f }, { "violation", s->violation },
        { "limit_seconds", r->what->limit > 0 ? r->what->limit : NAN }, { "required_ratio", r->what->ratio > 0 ? r->what->ratio : NAN },
        { "published_seconds", r->what->published > 0 ? r->what->published : NAN }, { "published_ratio", published_ratio(r) },
        { "peer_seconds", r->peer }, { "peer_ratio", peer_ratio(r) }, { "peer_lower_f", r->peer_f }, { "seconds_to_peer_f", r->reach },
        { "peer_ratio_to_its_f", reach_ratio(r) },
    };
    const struct { const char *key; int64_t value; } count[] = {
        { "n", r->size.n }, { "p", r->size.p }, { "q", r->size.q }, { "samples", r->t.time.samples }, { "first_samples", r->n_first }, { "iterations", s->iters },
        { "evaluations", s->evals }, { "gradient_evaluations", s->gradient_evals }, { "qps", s->n_qp }, { "code", s->code },
        { "loop_allocations", s->allocations },
    };
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", r->what->name);
    lt_json_field_string(j, "what", r->what->what);
    for (int i = 0; i < CLI_LEN(number); i++) lt_json_field_double(j, number[i].key, number[i].value);
    for (int i = 0; i < CLI_LEN(count); i++) lt_json_field_int(j, count[i].key, count[i].value);
    lt_json_field_string(j, "ratio_judged_by", isfinite(r->peer) ? "peer, this machine" : r->what->published > 0 ? "published, other machine" : "");
    lt_json_field_bool(j, "accepted", s->accepted);
    lt_json_field_string(j, "verdict", !r->judged ? "" : *missed ? "missed" : "met");
    lt_json_field_string(j, "missed", r->judged ? missed : "");
    lt_json_object_end(j);
}

static void fill_row(cli_table *t, const result *r)
{
    const solve_sample *s = &r->t.last;
    char missed[80];
    misses(r, missed, sizeof missed);
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", r->what->name);
    cli_table_cell(t, 1, "%s%s", cli_seconds(seconds(r)).s, r->what->per == SOLVE_PER_EVALUATION ? " / ev." : "");
    cli_table_cell(t, 2, "%.0f %%", 100 * (r->t.time.high - r->t.time.low) / r->t.time.median);
    cli_table_cell(t, 3, "%lld / %lld", (long long)s->iters, (long long)s->evals);
    cli_table_cell(t, 4, "%d", s->code);
    cli_table_cell(t, 5, "%.10g", s->f);
    cli_table_cell(t, 6, "%.1f", 1e6 * per_iteration(r));
    cli_table_cell(t, 7, "%.0f / %.0f / %.0f / %.0f", 100 * share(r, r->t.sum.eval), 100 * share(r, r->t.sum.qp),
                   100 * share(r, r->t.sum.h), 100 * rest_share(r));
    cli_table_cell(t, 8, "%lld", (long long)s->allocations);
    if (isfinite(published_ratio(r))) cli_table_cell(t, 9, "%.0fx", published_ratio(r));
    char reach[40] = "";
    if (isfinite(r->reach)) snprintf(reach, sizeof reach, ", %.0fx to its f", reach_ratio(r));
    else if (isfinite(r->peer_f)) snprintf(reach, sizeof reach, ", its f not reached");
    if (isfinite(peer_ratio(r))) cli_table_cell(t, 10, "%.0fx%s", peer_ratio(r), reach);
    if (!r->judged) return;
    char promise[80] = "";
    if (r->what->ratio > 0) snprintf(promise, sizeof promise, " (%.0fx%s%s)", r->what->ratio, r->what->limit > 0 ? ", " : "",
                                     r->what->limit > 0 ? cli_seconds(r->what->limit).s : "");
    cli_table_cell(t, 11, "%s%s%s", *missed ? "missed: " : "met", missed, promise);
}

static void put_ablation(lt_json *j, const solve_ablation *a)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "technique", a->technique);
    lt_json_field_string(j, "run", a->run);
    lt_json_field_double(j, "seconds_on", a->on);
    lt_json_field_double(j, "seconds_off", a->off);
    lt_json_field_int(j, "iterations_on", a->iters_on);
    lt_json_field_int(j, "iterations_off", a->iters_off);
    lt_json_field_int(j, "samples", a->samples);
    lt_json_field_double(j, "evaluation_seconds_on", a->eval_on);
    lt_json_field_double(j, "evaluation_seconds_off", a->eval_off);
    lt_json_field_double(j, "gain_per_iteration", solve_ablation_gain(a));
    lt_json_field_double(j, "evaluation_gain_per_iteration", solve_ablation_eval_gain(a));
    lt_json_field_double(j, "gain_of_the_run", a->off / a->on);
    lt_json_object_end(j);
}

static void fill_ablation(cli_table *t, const solve_ablation *a)
{
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", a->technique);
    cli_table_cell(t, 1, "%s", a->run);
    cli_table_cell(t, 2, "%s", cli_seconds(a->on).s);
    cli_table_cell(t, 3, "%s", cli_seconds(a->off).s);
    cli_table_cell(t, 4, "%lld / %lld", (long long)a->iters_on, (long long)a->iters_off);
    cli_table_cell(t, 5, "%.2fx", a->off / a->on);
    cli_table_cell(t, 6, "%.2fx", solve_ablation_gain(a));
    cli_table_cell(t, 7, "%.2fx", solve_ablation_eval_gain(a));
}

/* ---- Measuring ------------------------------------------------------------------------------------ */

typedef struct bench {
    cli_context   *c;
    const bench_options *o;
    peer_file      peer;
    cli_table     *table;
    lt_progress   *bar;
    int            n_results, n_done;
    result         results[64];
} bench;

/* Where the peer ended lower: the time until this run is there too, going on past its own tolerance. */
static lt_status measure_reach(const bench *b, result *r)
{
    const peer_row *row = peer_file_row(&b->peer, r->what->name);
    const double f = row && row->n_f == 1 ? row->f[0] : NAN;
    r->peer_f = r->reach = NAN;
    if (!r->judged || r->what->n_parts > 1 || r->what->per != SOLVE_PER_RUN || !(r->t.last.f > f + 1e-9 * fabs(f))) return LT_OK;
    enum { TIMES_AS_LONG = 10 };       /* beyond that it counts as not reached */
    const double always = 0.1;         /* seconds: a busy machine may take that long for nothing */
    char set[120];
    solve_run run;
    solve_timing t = { 0 };
    snprintf(set, sizeof set, "target_f=%.17g patience=20 max_seconds=%.3g", f, fmax(always, TIMES_AS_LONG * r->t.time.median));
    lt_status s = solve_case_open(r->what, false, set, &run);
    if (!s) s = solve_case_set_all(&run, &b->o->set);
    if (!s) s = solve_case_set(&run.part[0], set); /* these win */
    if (!s) s = solve_case_measure(&run, 1, &t);
    r->peer_f = f;
    r->reach = t.last.f <= f ? t.time.median : INFINITY;
    solve_case_close(&run);
    return s;
}

/* A problem read and solved for the first time, again and again with others that are the same: once says little where it is a millisecond (decision 332). */
static lt_status measure_first(const bench *b, const solve_case *what, result *r)
{
    enum { MOST = 15 };
    const double budget = b->o->quick ? 0.02 : 0.5, begin = cli_now();
    double read[MOST], first[MOST], low, high;
    lt_status s = LT_OK;
    int n = 0;
    while (!s && n < MOST && (n == 0 || cli_now() - begin < budget)) {
        solve_run run;
        solve_sample sample;
        s = solve_case_open(what, b->o->quick, NULL, &run);
        if (!s) s = solve_case_set_all(&run, &b->o->set);
        if (!s) s = solve_case_solve(&run, &sample);
        read[n] = run.read_seconds;
        first[n++] = sample.seconds;
        solve_case_close(&run);
    }
    if (s) return s;
    r->n_first = n;
    r->read = solve_median(read, n, &low, &high);
    r->first = solve_median(first, n, &r->first_low, &r->first_high);
    return LT_OK;
}

static lt_status measure_run(bench *b, const solve_case *what, result *r)
{
    solve_run run;
    lt_status s = solve_case_open(what, b->o->quick, NULL, &run);
    *r = (result){ .what = what, .judged = !(b->o->quick && what->quick) };
    if (!s) r->size = lt_problem_get_size(run.part[0].problem);
    if (!s) s = solve_case_set_all(&run, &b->o->set);
    if (!s) s = solve_case_measure(&run, b->o->quick ? 0.05 : 1, &r->t);
    r->peer = peer_file_seconds(&b->peer, what->name);
    solve_case_close(&run);
    if (!s) s = measure_first(b, what, r); /* after the other: what it leaves of the heap costs short runs some microseconds */
    return s ? s : measure_reach(b, r);
}

static lt_status measure_runs(bench *b)
{
    for (int i = 0; i < solve_n_cases; i++) {
        if (solve_cases[i].device_only || !wanted(b->o, solve_cases[i].name)) continue;
        result *r = &b->results[b->n_results];
        CLI_TRY(measure_run(b, &solve_cases[i], r));
        b->n_results++;
        if (b->c->json) put_row(b->c->json, r);
        fill_row(b->table, r);
        lt_progress_set(b->bar, ++b->n_done);
    }
    return LT_OK;
}

static lt_status measure_ablations(bench *b)
{
    lt_device *dev = device_of(b->c);
    for (int i = 0; i < solve_ablation_count(dev); i++) {
        if (!wanted(b->o, solve_ablation_run(dev, i))) continue;
        solve_ablation a;
        CLI_TRY(solve_ablation_measure(dev, i, b->o->quick, &a));
        if (b->c->json) put_ablation(b->c->json, &a);
        fill_ablation(b->table, &a);
        lt_progress_set(b->bar, ++b->n_done);
    }
    return LT_OK;
}

static lt_status write_report(bench *b, const char *path)
{
    lt_report *page;
    const char *label[CLI_LEN(b->results)];
    double value[CLI_LEN(b->results)];
    CLI_TRY(lt_report_create(b->o->ablate ? "What each technique of the optimizer is worth" : "Runs of the optimizer", &page));
    cli_report_machine(b->c, page);
    cli_table_report(b->table, page);
    for (int i = 0; i < b->n_results; i++) {
        label[i] = b->results[i].what->name;
        value[i] = 1e6 * per_iteration(&b->results[i]);
    }
    if (b->n_results) lt_report_bars(page, "Time of one iteration", "us", b->n_results, label, value);
    lt_status s = lt_report_write(page, path);
    lt_report_destroy(page);
    return s;
}

static lt_status create_table(bench *b)
{
    static const char *const ablation[] = { "technique", "run", "with", "without", "iterations", "gain", "per iteration", "of evaluations" };
    const char *columns[] = { "run", "time", "spread", "its / evals", "code", "f", "us per it", "eval / QP / H / rest %", "allocs",
                              "published", b->peer.peer[0] ? b->peer.peer : "peer", "verdict" };
    return b->o->ablate ? cli_table_create(NULL, CLI_LEN(ablation), ablation, &b->table)
                        : cli_table_create(NULL, CLI_LEN(columns), columns, &b->table);
}

static lt_status measure_all(bench *b)
{
    int total = 0;
    for (int i = 0; i < solve_n_cases && !b->o->ablate; i++) total += !solve_cases[i].device_only && wanted(b->o, solve_cases[i].name);
    const lt_device *dev = device_of(b->c);
    for (int i = 0; i < solve_ablation_count(dev) && b->o->ablate; i++) total += wanted(b->o, solve_ablation_run(dev, i));
    if (!total) return cli_fail(LT_ERR_ARGUMENT, b->o->ablate ? "--ablate has no row for the runs chosen with --only"
                                                              : "the runs chosen with --only need a --device");
    CLI_TRY(lt_progress_create("solve", "run", total, b->c->common.quiet || b->c->json, &b->bar));
    if (b->c->json) {
        cli_json_machine(b->c);
        lt_json_field_string(b->c->json, "peer", b->peer.peer);
        lt_json_field_bool(b->c->json, "quick", b->o->quick);
        solve_put_set(b->c->json, &b->o->set);
        lt_json_key(b->c->json, b->o->ablate ? "ablation" : "rows");
        lt_json_array_begin(b->c->json);
    }
    lt_status s = b->o->ablate ? measure_ablations(b) : measure_runs(b);
    lt_progress_destroy(b->bar);
    if (b->c->json) lt_json_array_end(b->c->json);
    return s;
}

static void print_notes(const bench *b)
{
    if (b->o->ablate) printf("gain: time without the technique over time with it; below one it costs\n");
    else printf("published: PyGRANSO 2.0 on two cores of another machine\n");
    if (b->o->quick) printf("quick: long runs are cut short\n");
    solve_report_set(&b->o->set);
}

static lt_status run(cli_context *c)
{
    const bench_options *o = c->options;
    CLI_TRY(check_only(o));
    if (o->set.n && o->ablate) return cli_fail(LT_ERR_ARGUMENT, "--set %s: leave --ablate out", o->set.item[0]);
    if (o->starts) {
        if (o->ablate || device_of(c)) return cli_fail(LT_ERR_ARGUMENT, "--starts: leave %s out", o->ablate ? "--ablate" : "--device");
        return bench_solve_starts(c, &(solve_starts){ o->starts, o->quick, &o->set, wanted_row, o, o->peer, o->report });
    }
    if (device_of(c) && !o->ablate) {
        if (o->peer) return cli_fail(LT_ERR_ARGUMENT, "--peer: PyGRANSO's times are of the CPU; leave --device out");
        return bench_solve_device(c, &(solve_on_device){ o->quick, &o->set, wanted_row, o, o->report });
    }
    bench *b = calloc(1, sizeof *b);
    if (!b) return cli_fail(LT_ERR_MEMORY, "out of memory for the results");
    b->c = c;
    b->o = o;
    lt_status s = o->peer ? peer_file_read(o->peer, &b->peer) : LT_OK;
    if (!s) s = create_table(b);
    if (!s) s = measure_all(b);
    if (!s && !c->json) {
        cli_table_print(b->table, stdout);
        if (!c->common.quiet) print_notes(b);
    }
    if (!s && o->report) s = write_report(b, o->report);
    cli_table_destroy(b->table);
    free(b);
    return s;
}

const cli_command bench_solve = {
    .name = "solve", .options = &table, .options_bytes = sizeof(bench_options), .need = CLI_NEED_CHOSEN, .stops = true, .run = run,
    .description = "Solves the built-in examples to their tolerances, several times each, and prints the median time of a run with its graphs "
                   "compiled, the spread between quartiles, iterations and evaluations, the time of an iteration and its shares: evaluation, "
                   "quadratic programs, the Hessian, the rest. Allocations are those after the second iteration.\n"
                   "Ratios above one mean lathe is faster than PyGRANSO: as published for another machine and, with --peer, on this one. "
                   "The verdict names what a run missed: the result it has to end with, the time or the ratio promised (in parentheses), "
                   "15 us of the solver's own time per iteration for up to 10 variables, no allocation. Where the peer's file says that it ended at a "
                   "lower f, the run is measured again until it is there too, with patience=20 and for at most ten times as long; the ratio of that time is "
                   "beside the other.\n"
                   "With a --device other than the CPU the functions run there, and the rows tell what the solver adds to them: the time of an "
                   "iteration less that of the function's own kernels, which are timed alone in the same run; the verdict is on 60 us.\n"
                   "--starts prints where runs end instead: f from N starts that differ by one part in 10^9, as lowest, quartiles and highest, "
                   "beside a peer's ends from the same starts, and the processor time of a run. Late iterations of nonsmooth problems follow the "
                   "rounding, so that one end says little. The verdict is then on f, at least as good as the peer's, and on the ratio.\n"
                   "--set changes an option of all runs, as patience=5 with which no run ends higher than PyGRANSO's do.\n"
                   "--ablate prints what each technique is worth instead: the same runs with and without it, taking turns.",
};
