/* lathe-bench solve --starts: where runs end when their start moves by one part in 10^9. Where rounding decides the late
   iterations one end says little; the ends of many starts say what a run reaches. SPDX-License-Identifier: BSD-3-Clause */
#include "bench/peer/peers.h"
#include "cli/solve/solve.h"
#include "bench/solve/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double start_shift = 1e-9;

/* The ends of one run from all starts, ours or a peer's. */
typedef struct ends {
    int     n, n_infeasible, n_code[10]; /* codes are counted where known */
    double  f[PEER_MAX_STARTS];
    double  sorted[PEER_MAX_STARTS];     /* infeasible ones are infinite */
    int64_t iters[PEER_MAX_STARTS];
    double  seconds;                     /* of the processor per run; a peer's as its file says */
} ends;

/* Start 0 is the problem's own. Others: x0 + 1e-9 max(1, |x0|) z, z in [-1, 1) by one step of SplitMix64 per entry, as
   bench/peers/pygranso.py has it. */
static double shift_of(int start, int64_t i)
{
    uint64_t z = ((uint64_t)start << 32) + (uint64_t)i + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return 2 * ((double)(z >> 11) * 0x1p-53) - 1;
}

static void move_start(int64_t n, const double *from, int start, double *to)
{
    for (int64_t i = 0; i < n; i++) to[i] = start ? from[i] + start_shift * fmax(1, fabs(from[i])) * shift_of(start, i) : from[i];
}

static void sort_ends(ends *e) { qsort(e->sorted, (size_t)e->n, sizeof *e->sorted, cli_ascending); }

static void add_end(ends *e, double f, bool feasible)
{
    e->f[e->n] = f;
    e->sorted[e->n] = feasible ? f : INFINITY;
    e->n_infeasible += !feasible;
    e->n++;
}

static double quantile(const ends *e, double share) { return e->sorted[(int)(share * (e->n - 1) + 0.5)]; }

static double median_iters(const ends *e)
{
    double v[PEER_MAX_STARTS], low, high;
    for (int i = 0; i < e->n; i++) v[i] = (double)e->iters[i];
    return solve_median(v, e->n, &low, &high);
}

/* The chance that an end of ours is lower than one of theirs; equal ones count half. */
static double chance_lower(const ends *ours, const ends *theirs)
{
    double wins = 0;
    for (int i = 0; i < ours->n; i++)
        for (int j = 0; j < theirs->n; j++) {
            const double a = ours->sorted[i], b = theirs->sorted[j];
            const bool same = a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)));
            wins += same ? 0.5 : a < b;
        }
    return wins / ((double)ours->n * (double)theirs->n);
}

/* What that chance may fall below one half by when nothing separates the two: twice the standard deviation of the rank sum. */
static double chance_noise(const ends *ours, const ends *theirs)
{
    const double a = ours->n, b = theirs->n;
    return 2 * sqrt((a + b + 1) / (12 * a * b));
}

static double ratio(const ends *ours, const ends *theirs) { return theirs->n ? theirs->seconds / ours->seconds : NAN; }

/* At least as good an f, and the ratio promised. */
static const char *verdict(const solve_case *what, const ends *ours, const ends *theirs)
{
    const bool higher = chance_lower(ours, theirs) < 0.5 - chance_noise(ours, theirs);
    const bool slower = what->ratio > 0 && what->per == SOLVE_PER_RUN && ratio(ours, theirs) < what->ratio;
    return higher && slower ? "missed: f, ratio" : higher ? "missed: f" : slower ? "missed: ratio" : "met";
}

/* ---- Solving ------------------------------------------------------------------------------------ */

/* The start a case begins with; NULL: it has none of its own. */
static const double *own_start(const solve_run *r, int64_t n)
{
    const double *x0 = r->part[0].opt.x0 ? r->part[0].opt.x0 : lt_model_get(r->part[0].model).x0;
    for (int64_t i = 0; x0 && i < n; i++)
        if (isnan(x0[i])) return NULL;
    return x0;
}

static lt_status solve_from(solve_run *r, const double *x0, ends *e)
{
    lt_solution *s;
    lt_solve_options opt = r->part[0].opt;
    opt.x0 = x0;
    const clock_t begin = clock();
    CLI_TRY(lt_solve(r->part[0].problem, &opt, &s));
    e->seconds += (double)(clock() - begin) / CLOCKS_PER_SEC;
    const bool stopped = s->interrupted;
    e->iters[e->n] = s->iters;
    if (s->termination_code < CLI_LEN(e->n_code)) e->n_code[s->termination_code]++;
    add_end(e, solve_result(s)->f, solve_result(s)->feasible_to_tol);
    lt_solution_destroy(s);
    return stopped ? cli_stopped() : LT_OK;
}

/* The graphs are compiled by the first run of a problem. */
static lt_status compile(solve_run *r)
{
    lt_solution *s;
    lt_solve_options opt = r->part[0].opt;
    opt.max_iterations = 1;
    CLI_TRY(lt_solve(r->part[0].problem, &opt, &s));
    lt_solution_destroy(s);
    return LT_OK;
}

static lt_status solve_all(solve_run *r, int n_starts, ends *e)
{
    const int64_t n = lt_problem_get_size(r->part[0].problem).n;
    const double *from = own_start(r, n);
    double *x0 = malloc((size_t)n * sizeof *x0);
    lt_status s = x0 ? compile(r) : cli_fail(LT_ERR_MEMORY, "out of memory for a start");
    for (int i = 0; i < n_starts && !s; i++) {
        move_start(n, from, i, x0);
        s = solve_from(r, x0, e);
    }
    free(x0);
    e->seconds /= n_starts;
    sort_ends(e);
    return s;
}

static void take_peer(const peer_file *peer, const solve_run *r, ends *e)
{
    const peer_row *row = peer_file_row(peer, r->what->name);
    const lt_solve_options *opt = &r->part[0].opt;
    for (int i = 0; row && i < row->n_f; i++)
        add_end(e, row->f[i], !(i < row->n_violation && row->violation[i] > fmax(opt->inequality_tol, opt->equality_tol)));
    e->seconds = row ? row->seconds : NAN;
    sort_ends(e);
}

/* ---- Output --------------------------------------------------------------------------------------- */

static void put_ends(lt_json *j, const char *key, const ends *e)
{
    static const struct { const char *key; double share; } quantiles[] = {
        { "lowest", 0 }, { "lower_quartile", 0.25 }, { "median", 0.5 }, { "upper_quartile", 0.75 }, { "highest", 1 } };
    lt_json_key(j, key);
    lt_json_object_begin(j);
    lt_json_field_int(j, "starts", e->n);
    lt_json_field_int(j, "infeasible", e->n_infeasible);
    lt_json_field_double(j, "processor_seconds", e->seconds);
    lt_json_field_double(j, "own_start", e->f[0]);
    for (int i = 0; i < CLI_LEN(quantiles); i++) lt_json_field_double(j, quantiles[i].key, quantile(e, quantiles[i].share));
    lt_json_key(j, "f");
    lt_json_array_begin(j);
    for (int i = 0; i < e->n; i++) lt_json_double(j, e->f[i]);
    lt_json_array_end(j);
    lt_json_object_end(j);
}

static void put_row(lt_json *j, const solve_case *what, const ends *ours, const ends *theirs)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", what->name);
    put_ends(j, "lathe", ours);
    lt_json_field_double(j, "median_iterations", median_iters(ours));
    lt_json_key(j, "codes");
    lt_json_array_begin(j);
    for (int k = 0; k < CLI_LEN(ours->n_code); k++) lt_json_int(j, ours->n_code[k]);
    lt_json_array_end(j);
    if (theirs->n) {
        put_ends(j, "peer", theirs);
        lt_json_field_double(j, "chance_lower", chance_lower(ours, theirs));
        lt_json_field_double(j, "chance_noise", chance_noise(ours, theirs));
        lt_json_field_double(j, "ratio", ratio(ours, theirs));
        lt_json_field_double(j, "required_ratio", what->ratio > 0 ? what->ratio : NAN);
        lt_json_field_string(j, "verdict", verdict(what, ours, theirs));
    }
    lt_json_object_end(j);
}

static void fill_ends(cli_table *t, const char *name, const char *program, const ends *e)
{
    static const double share[] = { 0, 0.25, 0.5, 0.75, 1 };
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", name);
    cli_table_cell(t, 1, "%s", program);
    for (int i = 0; i < CLI_LEN(share); i++) cli_table_cell(t, 2 + i, "%.9g", quantile(e, share[i]));
    cli_table_cell(t, 9, "%s", cli_seconds(e->seconds).s);
}

static void fill_row(cli_table *t, const solve_case *what, const char *peer, const ends *ours, const ends *theirs)
{
    char codes[60] = "", promise[20] = "";
    fill_ends(t, what->name, "lathe", ours);
    for (int k = 0; k < CLI_LEN(ours->n_code); k++)
        if (ours->n_code[k]) snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s%d: %d", *codes ? ", " : "", k, ours->n_code[k]);
    if (ours->n_infeasible) snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "; %d infeasible", ours->n_infeasible);
    cli_table_cell(t, 7, "%s", codes);
    cli_table_cell(t, 8, "%.0f", median_iters(ours));
    if (!theirs->n) return;
    if (what->ratio > 0) snprintf(promise, sizeof promise, " (%.0fx)", what->ratio);
    cli_table_cell(t, 10, "%.0f %%", 100 * chance_lower(ours, theirs));
    cli_table_cell(t, 11, "%.0fx, %s%s", ratio(ours, theirs), verdict(what, ours, theirs), promise);
    fill_ends(t, "", peer, theirs);
    if (theirs->n_infeasible) cli_table_cell(t, 7, "%d infeasible", theirs->n_infeasible);
}

/* ---- All rows --------------------------------------------------------------------------------------- */

typedef struct study {
    cli_context *c;
    const solve_starts *o;
    peer_file   *peer;
    cli_table   *table;
    lt_progress *bar;
    int          n_rows;
} study;

static lt_status measure(study *s, const solve_case *what)
{
    solve_run run;
    ends ours = { 0 }, theirs = { 0 };
    lt_status status = solve_case_open(what, s->o->quick, NULL, &run);
    if (!status) status = solve_case_set_all(&run, s->o->set);
    if (!status && own_start(&run, lt_problem_get_size(run.part[0].problem).n)) {
        status = solve_all(&run, s->o->n_starts, &ours);
        take_peer(s->peer, &run, &theirs);
        s->n_rows++;
        if (!status && s->c->json) put_row(s->c->json, what, &ours, &theirs);
        if (!status) fill_row(s->table, what, s->peer->peer, &ours, &theirs);
    }
    solve_case_close(&run);
    return status;
}

static lt_status measure_all(study *s)
{
    int total = 0, done = 0;
    const solve_starts *o = s->o;
    for (int i = 0; i < solve_n_cases; i++) total += o->wanted(o->ctx, solve_cases[i].name);
    CLI_TRY(lt_progress_create("solve", "run", total, s->c->common.quiet || s->c->json, &s->bar));
    lt_status status = LT_OK;
    for (int i = 0; i < solve_n_cases && !status; i++) {
        const solve_case *what = &solve_cases[i];
        if (!o->wanted(o->ctx, what->name)) continue;
        if (!what->device_only && what->n_parts <= 1) status = measure(s, what);
        lt_progress_set(s->bar, ++done);
    }
    lt_progress_destroy(s->bar);
    if (!status && !s->n_rows) return cli_fail(LT_ERR_ARGUMENT, "--starts: none of these runs is one problem with a start of its own");
    return status;
}

static lt_status finish(study *s)
{
    if (s->c->json) lt_json_array_end(s->c->json);
    else cli_table_print(s->table, stdout);
    if (!s->c->json && !s->c->common.quiet)
        printf("f at the best feasible point, from %d starts that differ by about one part in 10^9; infeasible ends count as infinite\n"
               "time: of the processor, per run; lower: the chance that an end of lathe's is lower than one of the peer's, equal ones counted half\n"
               "verdict: on that chance, which may be below 50 %% by twice its standard deviation, and on the ratio of the times (promised)\n", s->o->n_starts);
    return s->o->report ? cli_table_page(s->c, s->table, "Ends of runs from nearly the same start", s->o->report) : LT_OK;
}

lt_status bench_solve_starts(cli_context *c, const solve_starts *o)
{
    static const char *const columns[] = { "run", "program", "lowest", "quartile", "median", "quartile", "highest", "codes", "its", "time", "lower",
                                           "ratio, verdict" };
    study s = { .c = c, .o = o, .peer = calloc(1, sizeof *s.peer) };
    if (!s.peer) return cli_fail(LT_ERR_MEMORY, "out of memory for a peer's rows");
    lt_status status = o->peer ? peer_file_read(o->peer, s.peer) : LT_OK;
    if (!status) status = cli_table_create(NULL, CLI_LEN(columns), columns, &s.table);
    if (!status && c->json) {
        cli_json_machine(c);
        lt_json_field_string(c->json, "peer", s.peer->peer);
        lt_json_field_double(c->json, "shift", start_shift);
        lt_json_key(c->json, "rows");
        lt_json_array_begin(c->json);
    }
    if (!status) status = measure_all(&s);
    if (!status) status = finish(&s);
    cli_table_destroy(s.table);
    free(s.peer);
    return status;
}
