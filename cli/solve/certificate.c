/* What `lathe solve` says of a certificate: JSON, text, report. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/solve/solve.h"

#include <math.h>

enum { SHOWN_LINES = 40 };

/* A constraint's elements with their multipliers; NULL: not known. */
static const double *multipliers_of(const lt_certificate *c, const lt_model_constraint *k)
{
    const double *all = k->equality ? c->ce_multipliers : c->ci_multipliers;
    return all ? all + k->first : NULL;
}

/* What f, as the user means it, gains by one unit more of the bound. */
static double sensitivity(const solve_job *j, const lt_model_constraint *k, double multiplier)
{
    const double v = j->sign * k->side * multiplier;
    return v == 0 ? 0 : v; /* no negative zero */
}

/* Numbers of a list that belong to constraint k, as elements of it. */
static int64_t elements_of(const solve_job *j, const lt_model_constraint *k, const int64_t *list, int64_t n, int64_t at)
{
    const int64_t first = k->first + (k->equality ? j->view.p : 0);
    while (at < n && !(list[at] >= first && list[at] < first + k->count)) at++;
    return at;
}

/* Constraint number i of a certificate's lists, and which of its elements that is. */
static const lt_model_constraint *constraint_of(const solve_job *j, int64_t number, int64_t *element)
{
    for (int i = 0; i < j->view.n_constraints; i++) {
        const lt_model_constraint *k = &j->view.constraints[i];
        *element = number - k->first - (k->equality ? j->view.p : 0);
        if (*element >= 0 && *element < k->count) return k;
    }
    return NULL;
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void put_elements(const solve_job *j, const char *key, const lt_model_constraint *k, const int64_t *list, int64_t n)
{
    lt_json *json = j->c->json;
    const int64_t first = k->first + (k->equality ? j->view.p : 0);
    lt_json_key(json, key);
    lt_json_array_begin(json);
    for (int64_t at = elements_of(j, k, list, n, 0); at < n; at = elements_of(j, k, list, n, at + 1)) lt_json_int(json, list[at] - first);
    lt_json_array_end(json);
}

static void put_constraint(const solve_job *j, const lt_certificate *c, const lt_model_constraint *k)
{
    lt_json *json = j->c->json;
    const double *m = multipliers_of(c, k);
    lt_json_object_begin(json);
    lt_json_field_string(json, "name", k->name);
    lt_json_field_int(json, "line", k->line);
    lt_json_field_string(json, "kind", k->equality ? "equality" : "inequality");
    solve_json_vector(json, "multipliers", m, k->count);
    if (m) {
        lt_json_key(json, "sensitivity");
        lt_json_array_begin(json);
        for (int64_t e = 0; e < k->count; e++) lt_json_double(json, sensitivity(j, k, m[e]));
        lt_json_array_end(json);
    }
    put_elements(j, "violated", k, c->violated, c->n_violated);
    if (!k->equality) put_elements(j, "active", k, c->active, c->n_active);
    lt_json_object_end(json);
}

static void put_conflict(const solve_job *j, const lt_certificate *c)
{
    lt_json *json = j->c->json;
    lt_json_key(json, "conflict");
    lt_json_array_begin(json);
    for (int64_t i = 0; i < c->n_conflict; i++) {
        int64_t element;
        const lt_model_constraint *k = constraint_of(j, c->conflict[i], &element);
        if (!k) continue;
        lt_json_object_begin(json);
        lt_json_field_string(json, "name", k->name);
        lt_json_field_int(json, "line", k->line);
        lt_json_field_int(json, "element", element);
        lt_json_field_string(json, "kind", k->equality ? "equality" : "inequality");
        lt_json_field_double(json, "weight", c->conflict_weights[i]);
        lt_json_object_end(json);
    }
    lt_json_array_end(json);
}

void solve_json_certificate(const solve_job *j, const lt_solution *s)
{
    lt_json *json = j->c->json;
    const lt_certificate *c = s->certificate;
    lt_json_key(json, "certificate");
    lt_json_object_begin(json);
    lt_json_field_bool(json, "stationary", c->stationary);
    lt_json_field_double(json, "residual", c->residual);
    lt_json_field_double(json, "stationarity", c->stationarity);
    lt_json_field_double(json, "complementarity", c->complementarity);
    lt_json_field_double(json, "weight", c->weight);
    lt_json_field_int(json, "samples", c->n_samples);
    lt_json_field_double(json, "mu", c->mu);
    lt_json_field_double(json, "condition", c->condition);
    lt_json_field_int(json, "n_active", c->n_active);
    lt_json_field_int(json, "n_violated", c->n_violated);
    solve_json_vector(json, "ci_multipliers", c->ci_multipliers, s->p);
    solve_json_vector(json, "ce_multipliers", c->ce_multipliers, s->q);
    solve_json_vector(json, "bound_multipliers", c->bound_multipliers, s->n);
    lt_json_key(json, "constraints");
    lt_json_array_begin(json);
    for (int i = 0; i < j->view.n_constraints; i++) put_constraint(j, c, &j->view.constraints[i]);
    lt_json_array_end(json);
    if (!s->best.present && s->p + s->q > 0) put_conflict(j, c);
    lt_json_object_end(json);
}

/* ---- Text ------------------------------------------------------------------------------- */

static void name_of(const lt_model_constraint *k, int64_t element, char *text, size_t size)
{
    char number[32] = "";
    if (k->count > 1) snprintf(number, sizeof number, "[%lld]", (long long)element);
    if (k->name) snprintf(text, size, "%.60s%s", k->name, number);
    else snprintf(text, size, "line %d%s", k->line, number);
}

void solve_constraint_name(const solve_job *j, int64_t number, char *text, size_t size)
{
    int64_t element;
    const lt_model_constraint *k = constraint_of(j, number, &element);
    if (k) name_of(k, element, text, size);
    else snprintf(text, size, "constraint %lld", (long long)number);
}

/* Calls `each` for constraints that hold f where it is, until it has been called `most` times. */
typedef void (*shown_fn)(void *to, const char *name, double multiplier, double change);
static int64_t walk_multipliers(const solve_job *j, const lt_certificate *c, int64_t most, shown_fn each, void *to)
{
    int64_t n = 0;
    for (int i = 0; i < j->view.n_constraints; i++) {
        const lt_model_constraint *k = &j->view.constraints[i];
        const double *m = multipliers_of(c, k);
        for (int64_t e = 0; m && e < k->count; e++) {
            if (fabs(m[e]) <= 1e-12) continue;
            char name[128];
            name_of(k, e, name, sizeof name);
            if (n++ < most) each(to, name, m[e], sensitivity(j, k, m[e]));
        }
    }
    return n;
}

static void print_multiplier(void *to, const char *name, double multiplier, double change)
{
    (void)to;
    printf("  %-24s multiplier %.6g, df/d(bound) %.6g\n", name, multiplier, change);
}

static void print_conflict(const solve_job *j, const lt_solution *s)
{
    const lt_certificate *c = s->certificate;
    if (s->best.present || !(s->p + s->q)) return;
    if (!c->n_conflict) printf("no conflict among constraints was found near x: another start may be feasible\n");
    else printf("conflict: near x these constraints cannot hold together, and could without any one of them:\n");
    for (int64_t i = 0; i < c->n_conflict && i < SHOWN_LINES; i++) {
        char name[128];
        solve_constraint_name(j, c->conflict[i], name, sizeof name);
        printf("  %-24s weight %.6g\n", name, c->conflict_weights[i]);
    }
    if (c->n_conflict > SHOWN_LINES) printf("  … (%lld constraints)\n", (long long)c->n_conflict);
}

void solve_print_certificate(const solve_job *j, const lt_solution *s)
{
    const lt_certificate *c = s->certificate;
    if (j->opt.compat) return;
    print_conflict(j, s);
    if (!c->known) return;
    printf("KKT residual: %.2e, %s", c->residual, c->stationary ? "stationary" : "not stationary");
    if (c->n_samples > 1) printf("; gradients at %lld points", (long long)c->n_samples);
    if (isfinite(c->condition)) printf("; condition of H %.2g", c->condition);
    printf("\n");
    const int64_t n = walk_multipliers(j, c, SHOWN_LINES, print_multiplier, NULL);
    if (n > SHOWN_LINES) printf("  … (%lld multipliers)\n", (long long)n);
}

/* ---- Report ------------------------------------------------------------------------------- */

static void add_row(void *to, const char *name, double multiplier, double change)
{
    cli_table *t = to;
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", name);
    cli_table_cell(t, 1, "%.6g", multiplier);
    cli_table_cell(t, 2, "%.6g", change);
}

static void add_conflict(cli_table *t, const char *name, double weight)
{
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", name);
    cli_table_cell(t, 1, "%.6g", weight);
}

static void report_conflict(lt_report *r, const solve_job *j, const lt_solution *s)
{
    const lt_certificate *c = s->certificate;
    cli_table *t;
    if (!c->n_conflict || cli_table_create("Near the result these cannot hold together", 2, (const char *[]){ "constraint", "weight" }, &t)) return;
    for (int64_t i = 0; i < c->n_conflict && i < CLI_MAX_ROWS; i++) {
        char name[128];
        solve_constraint_name(j, c->conflict[i], name, sizeof name);
        add_conflict(t, name, c->conflict_weights[i]);
    }
    cli_table_report(t, r);
    cli_table_destroy(t);
}

void solve_report_certificate(lt_report *r, const solve_job *j, const lt_solution *s)
{
    const lt_certificate *c = s->certificate;
    char text[6][96];
    const char *names[6] = { "KKT residual", "gradients", "complementarity", "constraints", "mu", "condition of H" }, *values[6];
    cli_table *t;
    report_conflict(r, j, s);
    if (!c->known) return;
    lt_report_heading(r, "Certificate");
    snprintf(text[0], sizeof text[0], "%.3g, %s", c->residual, c->stationary ? "stationary" : "not stationary");
    snprintf(text[1], sizeof text[1], "at %lld points, %.3g left of a weight of %.3g", (long long)c->n_samples, c->stationarity, c->weight);
    snprintf(text[2], sizeof text[2], "%.3g", c->complementarity);
    snprintf(text[3], sizeof text[3], "%lld active, %lld violated", (long long)c->n_active, (long long)c->n_violated);
    snprintf(text[4], sizeof text[4], "%.3g", c->mu);
    snprintf(text[5], sizeof text[5], isfinite(c->condition) ? "%.3g" : "not known", c->condition);
    for (int i = 0; i < 6; i++) values[i] = text[i];
    lt_report_facts(r, 6, names, values);
    if (!j->view.n_constraints || cli_table_create("Multipliers that are not zero", 3, (const char *[]){ "constraint", "multiplier", "df/d(bound)" }, &t)) return;
    walk_multipliers(j, c, CLI_MAX_ROWS, add_row, t);
    cli_table_report(t, r);
    cli_table_destroy(t);
}
