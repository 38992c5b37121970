/* The page `lathe solve --report` writes. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAT = 512 };

/* A column of the run's history. */
typedef double (*column_fn)(const solve_job *j, const lt_history_row *h);
static double get_f(const solve_job *j, const lt_history_row *h) { return j->sign * h->f; }
static double get_mu(const solve_job *j, const lt_history_row *h) { return (void)j, h->mu; }
static double get_tv(const solve_job *j, const lt_history_row *h) { return (void)j, fmax(h->tvi, h->tve); }
static double get_stat(const solve_job *j, const lt_history_row *h) { return (void)j, h->stat; }
static double get_unweighted(const solve_job *j, const lt_history_row *h) { return (void)j, h->stat_unweighted; }
static double get_step(const solve_job *j, const lt_history_row *h) { return (void)j, h->t; }
static double get_evals(const solve_job *j, const lt_history_row *h) { return (void)j, (double)h->evals; }
static double get_level(const solve_job *j, const lt_history_row *h) { return (void)j, (double)h->level; }

static void fill(const solve_job *j, const lt_solution *s, column_fn get, double *to)
{
    for (int64_t i = 0; i < s->n_history; i++) to[i] = get(j, &s->history[i]);
}

/* One or two columns over the iterations. */
typedef struct panel {
    const char *title;
    bool        log, points;
    struct { const char *name; column_fn get; } series[2];
} panel;

static void plot(lt_report *r, const solve_job *j, const lt_solution *s, const panel *p)
{
    double *y = malloc(2 * (size_t)(s->n_history + 1) * sizeof *y);
    lt_series series[2];
    int n = 0;
    if (!y) return;
    for (; n < 2 && p->series[n].get; n++) {
        series[n] = (lt_series){ p->series[n].name, NULL, y + n * s->n_history, s->n_history };
        fill(j, s, p->series[n].get, y + n * s->n_history);
    }
    lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = p->title, .x_label = "iteration", .y_log = p->log, .points = p->points,
                                  .n_series = n, .series = series });
    free(y);
}

/* Whether a column has this value all the way. */
static bool always(const solve_job *j, const lt_solution *s, column_fn get, double value)
{
    for (int64_t i = 0; i < s->n_history; i++)
        if (get(j, &s->history[i]) != value) return false;
    return true;
}

/* The kinds of directions over the iterations; the start, the first row, has none. */
static void put_directions(lt_report *r, const solve_job *j, const lt_solution *s)
{
    static const char *const kind[] = { "steering", "steering with identity", "quasi-Newton", "gradient", "random" };
    static const panel kinds = { "Direction: 0 steering, 1 steering with identity, 2 quasi-Newton, 3 gradient, 4 random", .points = true,
                                 .series = { { "level", get_level } } };
    bool one = s->n_history > 1;
    for (int64_t i = 2; i < s->n_history; i++) one = one && s->history[i].level == s->history[1].level;
    if (one && s->history[1].level < CLI_LEN(kind)) lt_report_paragraph(r, "All directions: %s.", kind[s->history[1].level]);
    else plot(r, j, s, &kinds);
}

static void put_convergence(lt_report *r, const solve_job *j, const lt_solution *s)
{
    static const panel objective = { "Objective", .series = { { "f", get_f } } };
    static const panel penalty = { "Penalty parameter", .log = true, .series = { { "mu", get_mu } } };
    static const panel violation = { "Violation and penalty parameter", .log = true, .series = { { "largest violation", get_tv }, { "mu", get_mu } } };
    static const panel stationarity = { "Stationarity", .log = true, .series = { { "measure", get_stat }, { "unweighted", get_unweighted } } };
    static const panel steps = { "Step lengths and evaluations", .log = true, .points = true,
                                 .series = { { "accepted step", get_step }, { "evaluations", get_evals } } };
    const bool constrained = j->view.p + j->view.q > 0, violated = !always(j, s, get_tv, 0);
    lt_report_heading(r, "Convergence");
    plot(r, j, s, &objective);
    if (constrained && violated) plot(r, j, s, &violation);
    else if (constrained && s->n_history && !always(j, s, get_mu, s->history[0].mu)) plot(r, j, s, &penalty);
    if (constrained && !violated) lt_report_paragraph(r, "No iterate violates a constraint.");
    plot(r, j, s, &stationarity);
    plot(r, j, s, &steps);
    put_directions(r, j, s);
}

static void put_facts(lt_report *r, const solve_job *j, const lt_solution *s)
{
    char text[13][192];
    const lt_solution_point *p = solve_result(s);
    const char *names[13] = { "problem", "variables", "inequalities, equalities", "result", "f", "largest violation", "stationarity",
                              "iterations", "evaluations", "with gradients", "quadratic programs", "time", "device" };
    const char *values[13];
    snprintf(text[0], sizeof text[0], "%s", j->view.name);
    snprintf(text[1], sizeof text[1], "%lld", (long long)j->view.n);
    snprintf(text[2], sizeof text[2], "%lld, %lld", (long long)j->view.p, (long long)j->view.q);
    snprintf(text[3], sizeof text[3], "code %d: %.80s", s->termination_code, lt_termination_text(s->termination_code));
    snprintf(text[4], sizeof text[4], "%.15g", j->sign * p->f);
    snprintf(text[5], sizeof text[5], "%.3g", p->tv);
    snprintf(text[6], sizeof text[6], "%.3g", s->stat_value);
    snprintf(text[7], sizeof text[7], "%lld", (long long)s->iters);
    snprintf(text[8], sizeof text[8], "%lld", (long long)s->fn_evals);
    snprintf(text[9], sizeof text[9], "%lld", (long long)s->gradient_evals);
    snprintf(text[10], sizeof text[10], "%lld, %.1f %% failed", (long long)s->n_qp, s->quadprog_failure_rate);
    snprintf(text[11], sizeof text[11], "%s", cli_seconds(s->time_total).s);
    snprintf(text[12], sizeof text[12], "%s (%s)", s->device, s->device_reason);
    for (int i = 0; i < 13; i++) values[i] = text[i];
    lt_report_facts(r, 13, names, values);
}

static void put_times(lt_report *r, const lt_solution *s)
{
    double rest = s->time_total - s->time_eval - s->time_qp - s->time_h;
    lt_report_bars(r, "Where the time went", "ms", 4, (const char *[]){ "evaluation", "quadratic programs", "inverse Hessian", "rest" },
                   (double[]){ 1e3 * s->time_eval, 1e3 * s->time_qp, 1e3 * s->time_h, 1e3 * fmax(rest, 0) });
}

/* Constraints at the result: inequalities that touch their bound, equalities with their residual. */
static void put_constraints(lt_report *r, const solve_job *j, const lt_solution *s)
{
    const lt_solution_point *p = solve_result(s);
    cli_table *t;
    if (!j->view.n_constraints || cli_table_create("Constraints at the result", 5,
        (const char *[]){ "constraint", "line", "kind", "elements", "largest value" }, &t)) return;
    for (int i = 0; i < j->view.n_constraints && i < CLI_MAX_ROWS; i++) {
        const lt_model_constraint *k = &j->view.constraints[i];
        const double *v = (k->equality ? p->ce : p->ci) + k->first;
        double worst = -INFINITY;
        int64_t active = 0;
        for (int64_t e = 0; e < k->count; e++) {
            worst = fmax(worst, k->equality ? fabs(v[e]) : v[e]);
            active += k->equality || v[e] >= -1e-6;
        }
        cli_table_row(t);
        if (k->name) cli_table_cell(t, 0, "%s", k->name); else cli_table_cell(t, 0, "%d", i);
        cli_table_cell(t, 1, "%d", k->line);
        cli_table_cell(t, 2, "%s", k->equality ? "equality" : active ? "inequality, active" : "inequality");
        cli_table_cell(t, 3, "%lld, %lld active", (long long)k->count, (long long)active);
        cli_table_cell(t, 4, "%.3g", worst);
    }
    cli_table_report(t, r);
    cli_table_destroy(t);
}

static void put_variables(lt_report *r, const solve_job *j, const lt_solution *s)
{
    const lt_solution_point *p = solve_result(s);
    lt_report_heading(r, "Variables at the result");
    for (int i = 0; i < j->view.n_variables; i++) {
        const lt_model_variable *v = &j->view.variables[i];
        const double *x = p->x + v->offset;
        int64_t count = lt_shape_count(&v->shape), columns = v->shape.rank ? v->shape.dim[v->shape.rank - 1] : 1;
        int64_t rows = columns ? count / columns : 0;
        if (v->shape.rank >= 2 && rows > 1 && columns > 1 && rows <= MAX_HEAT && columns <= MAX_HEAT)
            lt_report_heatmap(r, &(lt_heatmap){ .size = sizeof(lt_heatmap), .title = v->name, .rows = rows, .columns = columns, .values = x, .diverging = true });
        else if (count > 8)
            lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = v->name, .x_label = "element", .n_series = 1, .series = &(lt_series){ v->name, NULL, x, count } });
        else {
            char text[8][32];
            const char *names[8], *values[8];
            char label[8][64];
            for (int64_t e = 0; e < count; e++) {
                snprintf(label[e], sizeof label[e], count > 1 ? "%s, element %lld" : "%s", v->name, (long long)e);
                snprintf(text[e], sizeof text[e], "%.15g", x[e]);
                names[e] = label[e];
                values[e] = text[e];
            }
            lt_report_facts(r, (int)count, names, values);
        }
    }
}

static void put_options(lt_report *r, const solve_job *j)
{
    const lt_option_table *table = lt_solve_options_table();
    lt_solve_options defaults = lt_solve_defaults();
    char now[128], usual[128];
    lt_report_heading(r, "Options that differ from their defaults");
    int found = 0;
    for (int g = 0; g < table->n_groups; g++)
        for (int i = 0; i < table->groups[g].n_rows; i++) {
            const lt_option *row = &table->groups[g].rows[i];
            lt_options_get(table, row->name, &j->opt, now, sizeof now);
            lt_options_get(table, row->name, &defaults, usual, sizeof usual);
            if (!strcmp(now, usual)) continue;
            lt_report_facts(r, 1, &row->name, (const char *const[]){ now });
            found++;
        }
    if (!found) lt_report_paragraph(r, "None.");
}

static void put_changes(lt_report *r, const lt_solution *s)
{
    if (s->n_changed_options) lt_report_heading(r, "Options that differ from the checkpoint's");
    for (int64_t i = 0; i < s->n_changed_options; i++) {
        const lt_option_change *c = &s->changed_options[i];
        char text[200];
        snprintf(text, sizeof text, "%s, was %s", *c->now ? c->now : "none", *c->was ? c->was : "none");
        lt_report_facts(r, 1, &c->name, (const char *const[]){ text });
    }
}

lt_status solve_report(const solve_job *j, const lt_solution *s, const lt_runs *runs, const char *path)
{
    lt_report *r;
    char title[160];
    snprintf(title, sizeof title, "lathe solve %s", j->view.name);
    CLI_TRY(lt_report_create(title, &r));
    put_facts(r, j, s);
    if (runs) solve_report_starts(r, j, runs);
    put_convergence(r, j, s);
    put_times(r, s);
    solve_report_certificate(r, j, s);
    put_constraints(r, j, s);
    put_variables(r, j, s);
    put_options(r, j);
    put_changes(r, s);
    cli_report_machine(j->c, r);
    lt_status status = lt_report_write(r, path);
    lt_report_destroy(r);
    return status;
}
