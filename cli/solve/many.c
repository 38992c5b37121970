/* lathe solve --starts and --sweep: many runs, over ranks where there are several; rows, their distribution, the page. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/solve/solve.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_STARTS = 100, BINS = 20 };

/* ---- Distribution -------------------------------------------------------------------------------------------------------------------------- */

/* Of all rows, and of f of the feasible ones in the sense of the user. */
typedef struct distribution {
    int64_t runs, feasible, infeasible, failed, interrupted, at_best; /* at_best: within 1e-6 of the best, relative to it where it is larger than 1 */
    double *f;                                                       /* [feasible], from the best to the worst */
} distribution;

static lt_status make_distribution(const solve_job *j, const lt_runs *runs, distribution *d)
{
    lt_run_row row = { .size = sizeof row };
    *d = (distribution){ .runs = lt_runs_count(runs) };
    d->f = malloc((size_t)d->runs * sizeof *d->f + 1);
    if (!d->f) return cli_fail(LT_ERR_MEMORY, "out of memory for %lld rows", (long long)d->runs);
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++) {
        d->failed += row.failed;
        d->infeasible += !row.failed && !row.feasible;
        d->interrupted += row.interrupted;
        if (!row.failed && row.feasible) d->f[d->feasible++] = row.f;
    }
    qsort(d->f, (size_t)d->feasible, sizeof *d->f, cli_ascending); /* row.f is minimised, whatever the text says */
    for (int64_t i = 0; i < d->feasible; i++) {
        d->at_best += d->f[i] <= d->f[0] + 1e-6 * fmax(1, fabs(d->f[0]));
        d->f[i] = j->sign * d->f[i];
    }
    return LT_OK;
}

/* The value below which a share of the feasible ones lies, counted from the best. */
static double quantile(const distribution *d, double share) { return d->f[(int64_t)llround(share * (double)(d->feasible - 1))]; }

static void print_distribution(const distribution *d, const char *what)
{
    printf("%lld %s: %lld feasible, %lld infeasible, %lld failed", (long long)d->runs, what, (long long)d->feasible, (long long)d->infeasible, (long long)d->failed);
    if (d->feasible)
        printf("; f: best %.12g, quartiles %.6g, %.6g, %.6g, worst %.6g; %lld within 1e-6 of the best", d->f[0], quantile(d, 0.25), quantile(d, 0.5), quantile(d, 0.75),
               quantile(d, 1), (long long)d->at_best);
    printf("\n");
}

/* With --devices: which of them. Their kind is one, so it makes no difference to rows. */
static void show_devices(const solve_job *j, const char *what)
{
    const char *list = j->opt.device ? NULL : j->opt.device_name;
    if (!list || !strchr(list, ',')) return;
    if (j->c->json) lt_json_field_string(j->c->json, "devices", list);
    else printf("%s ran on %s\n", what, cli_shown(list).s);
}

static void json_distribution(lt_json *json, const distribution *d)
{
    lt_json_key(json, "distribution");
    lt_json_object_begin(json);
    lt_json_field_int(json, "runs", d->runs);
    lt_json_field_int(json, "feasible", d->feasible);
    lt_json_field_int(json, "infeasible", d->infeasible);
    lt_json_field_int(json, "failed", d->failed);
    if (d->feasible) {
        lt_json_field_double(json, "best", d->f[0]);
        lt_json_field_double(json, "quartile_1", quantile(d, 0.25));
        lt_json_field_double(json, "median", quantile(d, 0.5));
        lt_json_field_double(json, "quartile_3", quantile(d, 0.75));
        lt_json_field_double(json, "worst", quantile(d, 1));
        lt_json_field_int(json, "within_1e-6_of_best", d->at_best);
    }
    lt_json_object_end(json);
}

/* Bars of how many runs ended where. */
static void report_distribution(lt_report *r, const distribution *d, const char *what)
{
    char label[BINS][32];
    const char *names[BINS];
    double count[BINS] = { 0 }, low, width;
    lt_report_paragraph(r, "%lld %s: %lld feasible, %lld infeasible, %lld failed; %lld within 1e-6 of the best.", (long long)d->runs, what, (long long)d->feasible,
                        (long long)d->infeasible, (long long)d->failed, (long long)d->at_best);
    if (!d->feasible) return;
    if (d->at_best == d->feasible) {
        lt_report_paragraph(r, "Feasible runs ended at f = %.12g.", d->f[0]);
        return;
    }
    low = fmin(d->f[0], d->f[d->feasible - 1]);
    width = fabs(d->f[d->feasible - 1] - d->f[0]) / BINS;
    for (int64_t i = 0; i < d->feasible; i++) {
        int bin = (int)((d->f[i] - low) / width);
        count[bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++) {
        snprintf(label[i], sizeof label[i], "from %.6g", low + i * width);
        names[i] = label[i];
    }
    lt_report_bars(r, "Where feasible runs ended", "runs", BINS, names, count);
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------------------------------- */

static lt_status make_table(const solve_job *j, const lt_runs *runs, const char *title, bool values, cli_table **out)
{
    lt_run_row row = { .size = sizeof row };
    cli_table *t;
    CLI_TRY(cli_table_create(title, 6, (const char *[]){ values ? "value" : "start", "f", "violation", "code", "iterations", "evaluations" }, &t));
    for (int64_t i = 0; i < SHOWN_STARTS && lt_runs_get(runs, i, &row); i++) {
        cli_table_row(t);
        if (values) cli_table_cell(t, 0, "%.10g", row.value);
        else cli_table_cell(t, 0, "%lld", (long long)row.number);
        if (row.failed) { cli_table_cell(t, 1, "failed"); continue; }
        cli_table_cell(t, 1, "%.12g", cli_plain(j->sign * row.f));
        cli_table_cell(t, 2, "%.2g", row.tv);
        cli_table_cell(t, 3, "%d", row.termination_code);
        cli_table_cell(t, 4, "%lld", (long long)row.iters);
        cli_table_cell(t, 5, "%lld", (long long)row.fn_evals);
    }
    *out = t;
    return LT_OK;
}

static void json_rows(const solve_job *j, const lt_runs *runs, const char *key, bool values)
{
    lt_run_row row = { .size = sizeof row };
    lt_json *json = j->c->json;
    lt_json_key(json, key);
    lt_json_array_begin(json);
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++) {
        const double *x = lt_runs_x(runs, i);
        lt_json_object_begin(json);
        if (values) lt_json_field_double(json, "value", row.value);
        else lt_json_field_int(json, "start", row.number);
        lt_json_field_bool(json, "failed", row.failed);
        if (row.failed) lt_json_field_string(json, "error", row.error);
        else {
            lt_json_field_double(json, "f", j->sign * row.f);
            lt_json_field_double(json, "tv", row.tv);
            lt_json_field_bool(json, "feasible", row.feasible);
            lt_json_field_int(json, "termination_code", row.termination_code);
            lt_json_field_int(json, "iters", row.iters);
            lt_json_field_int(json, "fn_evals", row.fn_evals);
            solve_json_vector(json, "x", x, x ? j->view.n : 0);
        }
        lt_json_object_end(json);
    }
    lt_json_array_end(json);
}

/* ---- --starts ------------------------------------------------------------------------------------------------------------------------------- */

void solve_report_starts(lt_report *r, const solve_job *j, const lt_runs *runs)
{
    distribution d;
    cli_table *t;
    if (make_distribution(j, runs, &d)) return;
    lt_report_heading(r, "Starts");
    report_distribution(r, &d, "starts");
    free(d.f);
    if (make_table(j, runs, "Starts, best first", false, &t)) return;
    cli_table_report(t, r);
    cli_table_destroy(t);
}

lt_status solve_show_starts(const solve_job *j, const lt_runs *runs)
{
    distribution d;
    cli_table *t;
    CLI_TRY(make_distribution(j, runs, &d));
    if (j->c->json) {
        json_rows(j, runs, "starts", false);
        json_distribution(j->c->json, &d);
    } else if (!make_table(j, runs, "Starts", false, &t)) {
        cli_table_print(t, stdout);
        cli_table_destroy(t);
        if (d.runs > SHOWN_STARTS) printf("… and %lld more\n", (long long)(d.runs - SHOWN_STARTS));
        print_distribution(&d, "starts");
    }
    show_devices(j, "starts");
    free(d.f);
    return LT_OK;
}

bool solve_was_interrupted(const lt_runs *runs)
{
    lt_run_row row = { .size = sizeof row };
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++)
        if (row.interrupted) return true;
    return false;
}

/* ---- --sweep -------------------------------------------------------------------------------------------------------------------------------- */

typedef struct sweep { char name[64]; double first, last; int64_t n; } sweep;

static lt_status parse(const char *text, sweep *s)
{
    const char *equals = strchr(text, '=');
    char *at;
    bool good = equals && equals > text && (size_t)(equals - text) < sizeof s->name;
    if (good) {
        snprintf(s->name, sizeof s->name, "%.*s", (int)(equals - text), text);
        s->first = strtod(equals + 1, &at);
        good = at > equals + 1 && *at == ':' && !isspace((unsigned char)equals[1]);
    }
    if (good) {
        const char *last = at + 1;
        s->last = strtod(last, &at);
        good = at > last && *at == ':';
    }
    if (good) {
        const char *n = at + 1;
        errno = 0;
        s->n = strtoll(n, &at, 10);
        good = at > n && !*at && !errno;
    }
    if (!good) return cli_fail(LT_ERR_ARGUMENT, "--sweep '%s': expected NAME=FIRST:LAST:N, as lambda=0.1:10:50", text);
    if (s->n < 1 || s->n > 10000000) return cli_fail(LT_ERR_ARGUMENT, "--sweep '%s': %lld values, expected 1 to 10000000", text, (long long)s->n);
    return LT_OK;
}

static void print_rows(const solve_job *j, const lt_runs *runs, const sweep *s)
{
    lt_run_row row = { .size = sizeof row };
    printf("%-18s %-22s %-10s %4s %10s %11s\n", s->name, "f", "violation", "code", "iterations", "evaluations");
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++) {
        if (row.failed) printf("%-18.12g failed: %s\n", row.value, cli_shown(row.error).s);
        else printf("%-18.12g %-22.14g %-10.2g %4d %10lld %11lld\n", row.value, cli_plain(j->sign * row.f), row.tv, row.termination_code,
                    (long long)row.iters, (long long)row.fn_evals);
    }
}

/* The arrays of --out: values, f, violations, codes, and x where all rows have one. */
static lt_status write_rows(const solve_job *j, const lt_runs *runs, const char *path)
{
    enum { ARRAYS = 5 };
    static const char *const names[ARRAYS] = { "value", "f", "tv", "termination_code", "x" };
    const int64_t n = lt_runs_count(runs), width = j->view.n;
    lt_run_row row = { .size = sizeof row };
    double *all = malloc((size_t)n * (size_t)(4 + width) * sizeof *all + 1), *x = all + 4 * n;
    lt_array arrays[ARRAYS];
    if (!all) return cli_fail(LT_ERR_MEMORY, "out of memory for %s", path);
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++) {
        const double *found = lt_runs_x(runs, i);
        all[i] = row.value;
        all[n + i] = row.failed ? NAN : j->sign * row.f;
        all[2 * n + i] = row.tv;
        all[3 * n + i] = row.failed ? -1 : row.termination_code;
        for (int64_t k = 0; k < width; k++) x[i * width + k] = found ? found[k] : NAN;
    }
    for (int k = 0; k < 4; k++) arrays[k] = (lt_array){ .dtype = LT_F64, .shape = lt_shape1(n), .data = all + k * n };
    arrays[4] = (lt_array){ .dtype = LT_F64, .shape = lt_shape2(n, width), .data = x };
    lt_status s = lt_npz_write(path, ARRAYS, names, arrays);
    free(all);
    return s;
}

static void plot_rows(lt_report *r, const solve_job *j, const lt_runs *runs, const sweep *s)
{
    int64_t n = lt_runs_count(runs), k = 0;
    lt_run_row row = { .size = sizeof row };
    double *x = malloc(2 * (size_t)n * sizeof *x + 1), *f = x + n;
    if (!x) return;
    for (int64_t i = 0; lt_runs_get(runs, i, &row); i++)
        if (!row.failed) x[k] = row.value, f[k++] = j->sign * row.f;
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = "f", .x_label = s->name, .n_series = 1, .series = &(lt_series){ "f", x, f, k } });
    free(x);
}

static lt_status report_sweep(const solve_job *j, const lt_runs *runs, const sweep *s, const distribution *d, const char *path)
{
    lt_report *r;
    cli_table *t;
    char title[256];
    snprintf(title, sizeof title, "lathe solve %s, %s from %.6g to %.6g", j->view.name, s->name, s->first, s->last);
    CLI_TRY(lt_report_create(title, &r));
    plot_rows(r, j, runs, s);
    report_distribution(r, d, "values");
    if (!make_table(j, runs, d->runs > SHOWN_STARTS ? "The first rows" : "Rows", true, &t)) {
        cli_table_report(t, r);
        cli_table_destroy(t);
    }
    cli_report_machine(j->c, r);
    lt_status status = lt_report_write(r, path);
    lt_report_destroy(r);
    return status;
}

static lt_status deliver(const solve_job *j, const lt_runs *runs, const sweep *s, const char *out, const char *report)
{
    distribution d;
    CLI_TRY(make_distribution(j, runs, &d));
    j->c->json_complete = true;
    if (j->c->json) {
        lt_json_field_string(j->c->json, "data", s->name);
        json_rows(j, runs, "rows", true);
        json_distribution(j->c->json, &d);
    } else {
        print_rows(j, runs, s);
        print_distribution(&d, "values");
    }
    show_devices(j, "values");
    lt_status status = out ? write_rows(j, runs, out) : LT_OK;
    if (!status && report) status = report_sweep(j, runs, s, &d, report);
    free(d.f);
    CLI_TRY(status);
    if (d.interrupted) return cli_stopped();
    return d.failed == d.runs ? cli_fail(LT_ERR_MISMATCH, "no value could be solved") : LT_OK;
}

lt_status solve_sweep(solve_job *j, const char *path, const char *text, const char *out, const char *report)
{
    sweep s;
    lt_runs *runs;
    CLI_TRY(parse(text, &s));
    const char *dot = out ? strrchr(out, '.') : NULL;
    if (out && (!dot || strcmp(dot, ".npz"))) return cli_fail(LT_ERR_ARGUMENT, "--out %s: the rows of --sweep go to a name that ends in .npz", out);
    CLI_TRY(cli_blame_input(lt_solve_sweep(j->c->cluster, path, s.name, s.first, s.last, s.n, &j->opt, j->opt.threads, &runs)));
    lt_status status = cli_first_rank(j->c) ? deliver(j, runs, &s, out, report) : LT_OK;
    lt_runs_destroy(runs);
    return status;
}
