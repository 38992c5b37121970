/* What `lathe solve` says of a solution: text and JSON. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/solve/solve.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_ROWS = 8, SHOWN_COLUMNS = 8 };

const lt_solution_point *solve_result(const lt_solution *s) { return s->best.present ? &s->best : &s->final; }

/* ---- Text ----------------------------------------------------------------------------- */

static void print_row(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n && i < SHOWN_COLUMNS; i++) printf(" %.10g", cli_plain(x[i]));
    if (n > SHOWN_COLUMNS) printf(" … (%lld)", (long long)n);
}

static void print_tensor(const lt_shape *s, const double *x)
{
    int64_t count = lt_shape_count(s), columns = s->rank ? s->dim[s->rank - 1] : 1, rows = columns ? count / columns : 0;
    if (rows <= 1) {
        print_row(x, count);
        printf("\n");
        return;
    }
    printf("\n");
    for (int64_t r = 0; r < rows && r < SHOWN_ROWS; r++) {
        printf("   ");
        print_row(x + r * columns, columns);
        printf("\n");
    }
    if (rows > SHOWN_ROWS) printf("    … (%lld rows)\n", (long long)rows);
}

void solve_print_variables(const solve_job *j, const double *x)
{
    for (int i = 0; i < j->view.n_variables; i++) {
        const lt_model_variable *v = &j->view.variables[i];
        printf("%s%s =", v->name, v->shape.rank ? lt_shape_str(&v->shape).s : "");
        print_tensor(&v->shape, x + v->offset);
    }
}

void solve_print_device(const lt_solution *s)
{
    const lt_solve_crossings *e = &s->transfers->evaluation, *h = &s->transfers->hessian, *v = &s->transfers->vectors;
    printf("device: %s (%s)\n", s->device, s->device_reason);
    if (!e->calls) return;
    const double n = (double)e->calls;
    printf("per evaluation: %s there in %.2f copies, %s back in %.2f, %.2f waits; %s memory, %.0f %% replayed\n",
           cli_bytes((double)e->bytes_up / n).s, (double)e->uploads / n, cli_bytes((double)e->bytes_down / n).s, (double)e->downloads / n,
           (double)e->syncs / n, s->transfers->pinned ? "page-locked" : "pageable", 100 * (double)s->transfers->replays / n);
    if (h->calls)
        printf("H on the device: %lld products and updates, %s there, %s back, %lld waits\n", (long long)h->calls,
               cli_bytes((double)h->bytes_up).s, cli_bytes((double)h->bytes_down).s, (long long)h->syncs);
    if (s->transfers->trials_run)
        printf("several steps at once: %lld evaluated, %lld of them taken by searches\n", (long long)s->transfers->trials_run, (long long)s->transfers->trials_used);
    if (s->transfers->vectors_on_device)
        printf("vectors on the device: %s there, %s back, %lld waits beside those of evaluations and of H\n", cli_bytes((double)v->bytes_up).s,
               cli_bytes((double)v->bytes_down).s, (long long)v->syncs);
}

/* ---- JSON ------------------------------------------------------------------------------ */

void solve_json_vector(lt_json *json, const char *key, const double *x, int64_t n)
{
    if (!x) return;
    lt_json_key(json, key);
    lt_json_array_begin(json);
    for (int64_t i = 0; i < n; i++) lt_json_double(json, x[i]);
    lt_json_array_end(json);
}

static const double *put_axis(lt_json *json, const lt_shape *s, int axis, const double *x)
{
    if (axis == s->rank) {
        lt_json_double(json, *x);
        return x + 1;
    }
    lt_json_array_begin(json);
    for (int64_t i = 0; i < s->dim[axis]; i++) x = put_axis(json, s, axis + 1, x);
    lt_json_array_end(json);
    return x;
}

void solve_json_tensor(lt_json *json, const lt_shape *shape, const double *x) { put_axis(json, shape, 0, x); }

static void put_point(const solve_job *j, const char *key, const lt_solution_point *p)
{
    lt_json *json = j->c->json;
    if (!p->present) return;
    lt_json_key(json, key);
    lt_json_object_begin(json);
    solve_json_vector(json, "x", p->x, j->view.n);
    lt_json_field_double(json, "f", j->sign * p->f);
    if (j->view.p + j->view.q > 0) {
        solve_json_vector(json, "ci", p->ci, j->view.p);
        solve_json_vector(json, "ce", p->ce, j->view.q);
        lt_json_field_double(json, "tvi", p->tvi);
        lt_json_field_double(json, "tve", p->tve);
        lt_json_field_double(json, "tv", p->tv);
        lt_json_field_bool(json, "feasible_to_tol", p->feasible_to_tol);
        lt_json_field_double(json, "mu", p->mu);
    }
    lt_json_object_end(json);
}

static void put_counts(lt_json *json, const lt_bfgs_counts *b)
{
    lt_json_key(json, "BFGS_updates");
    lt_json_object_begin(json);
    lt_json_field_int(json, "requests", b->requests);
    lt_json_field_int(json, "updates", b->updates);
    lt_json_field_int(json, "damped_requests", b->damped_requests);
    lt_json_field_int(json, "damped_updates", b->damped_updates);
    lt_json_field_int(json, "scaling_skips", b->scaling_skips);
    lt_json_field_int(json, "sty_fails", b->sty_fails);
    lt_json_field_int(json, "infnan_fails", b->infnan_fails);
    lt_json_object_end(json);
}

static void put_problem(const solve_job *j)
{
    lt_json *json = j->c->json;
    lt_json_key(json, "problem");
    lt_json_object_begin(json);
    lt_json_field_string(json, "file", j->view.name);
    lt_json_field_int(json, "n", j->view.n);
    lt_json_field_int(json, "p", j->view.p);
    lt_json_field_int(json, "q", j->view.q);
    lt_json_field_string(json, "sense", j->view.maximize ? "maximize" : "minimize");
    lt_json_object_end(json);
}

static void put_named(const solve_job *j, const lt_solution_point *p)
{
    lt_json *json = j->c->json;
    lt_json_key(json, "variables");
    lt_json_object_begin(json);
    for (int i = 0; i < j->view.n_variables; i++) {
        lt_json_key(json, j->view.variables[i].name);
        solve_json_tensor(json, &j->view.variables[i].shape, p->x + j->view.variables[i].offset);
    }
    lt_json_object_end(json);
    lt_json_key(json, "constraints");
    lt_json_object_begin(json);
    for (int i = 0; i < j->view.n_constraints; i++) {
        const lt_model_constraint *k = &j->view.constraints[i];
        char number[24];
        snprintf(number, sizeof number, "%d", i);
        solve_json_vector(json, k->name ? k->name : number, (k->equality ? p->ce : p->ci) + k->first, k->count);
    }
    lt_json_object_end(json);
}

static void put_crossings(lt_json *json, const char *key, const lt_solve_crossings *c)
{
    lt_json_key(json, key);
    lt_json_object_begin(json);
    lt_json_field_int(json, "calls", c->calls);
    lt_json_field_int(json, "uploads", c->uploads);
    lt_json_field_int(json, "downloads", c->downloads);
    lt_json_field_int(json, "bytes_up", c->bytes_up);
    lt_json_field_int(json, "bytes_down", c->bytes_down);
    lt_json_field_int(json, "syncs", c->syncs);
    lt_json_object_end(json);
}

void solve_json_device(lt_json *json, const lt_solution *s)
{
    lt_json_field_string(json, "device", s->device);
    lt_json_field_string(json, "device_reason", s->device_reason);
    if (!s->transfers->evaluation.calls) return;
    lt_json_key(json, "transfers");
    lt_json_object_begin(json);
    put_crossings(json, "evaluation", &s->transfers->evaluation);
    put_crossings(json, "hessian", &s->transfers->hessian);
    put_crossings(json, "vectors", &s->transfers->vectors);
    lt_json_field_int(json, "values_runs", s->transfers->values_runs);
    lt_json_field_int(json, "gradient_runs", s->transfers->gradient_runs);
    lt_json_field_int(json, "replays", s->transfers->replays);
    lt_json_field_int(json, "host_copies", s->transfers->host_copies);
    lt_json_field_int(json, "shared_runs", s->transfers->shared_runs);
    lt_json_field_int(json, "trials_run", s->transfers->trials_run);
    lt_json_field_int(json, "trials_used", s->transfers->trials_used);
    lt_json_field_bool(json, "pinned", s->transfers->pinned);
    lt_json_field_bool(json, "hessian_on_device", s->transfers->hessian_on_device);
    lt_json_field_bool(json, "vectors_on_device", s->transfers->vectors_on_device);
    lt_json_object_end(json);
}

static void put_changes(lt_json *json, const lt_solution *s)
{
    lt_json_key(json, "changed_options");
    lt_json_array_begin(json);
    for (int64_t i = 0; i < s->n_changed_options; i++) {
        lt_json_object_begin(json);
        lt_json_field_string(json, "name", s->changed_options[i].name);
        lt_json_field_string(json, "was", s->changed_options[i].was);
        lt_json_field_string(json, "now", s->changed_options[i].now);
        lt_json_object_end(json);
    }
    lt_json_array_end(json);
}

void solve_json(const solve_job *j, const lt_solution *s)
{
    lt_json *json = j->c->json;
    put_problem(j);
    put_point(j, "final", &s->final);
    put_point(j, "best", &s->best);
    put_point(j, "most_feasible", &s->most_feasible);
    put_point(j, "final_unscaled", &s->final_unscaled);
    put_point(j, "best_unscaled", &s->best_unscaled);
    put_point(j, "most_feasible_unscaled", &s->most_feasible_unscaled);
    lt_json_field_double(json, "stat_value", s->stat_value);
    lt_json_field_double(json, "stat_unweighted", s->stat_unweighted);
    solve_json_certificate(j, s);
    lt_json_field_int(json, "start_moved", s->n_start_moved);
    lt_json_field_int(json, "iters", s->iters);
    lt_json_field_int(json, "fn_evals", s->fn_evals);
    lt_json_field_int(json, "gradient_evals", s->gradient_evals);
    put_counts(json, &s->BFGS_updates);
    solve_json_state(json, s);
    lt_json_field_int(json, "termination_code", s->termination_code);
    lt_json_field_string(json, "termination_text", lt_termination_text(s->termination_code));
    lt_json_field_string(json, "error", s->error);
    lt_json_field_double(json, "quadprog_failure_rate", s->quadprog_failure_rate);
    if (s->termination_code == LT_TERMINATION_UNBOUNDED && j->view.p + j->view.q > 0) lt_json_field_double(json, "mu_lowest", s->mu_lowest);
    lt_json_field_double(json, "time_total", s->time_total);
    lt_json_field_double(json, "time_eval", s->time_eval);
    lt_json_field_double(json, "time_qp", s->time_qp);
    lt_json_field_double(json, "time_h", s->time_h);
    lt_json_field_int(json, "n_qp", s->n_qp);
    lt_json_field_int(json, "n_mu_reductions", s->n_mu_reductions);
    put_named(j, solve_result(s)); /* the point of the text and of --out */
    solve_json_device(json, s);
    lt_json_field_string(json, "precision", j->opt.double_precision ? "float64" : "float32");
    lt_json_field_int(json, "seed", j->opt.seed);
    if (j->opt.resume) put_changes(json, s);
}
