/* Parts of the record of `lathe solve` that are large or rarely looked at, and its array files.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/solve/solve.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STATE = 1000000 }; /* numbers of H in JSON; beyond, the text would be larger than anything that reads it */

/* ---- JSON ------------------------------------------------------------------------------ */

static void put_tensor(lt_json *json, const char *key, lt_shape shape, const double *x)
{
    lt_json_key(json, key);
    solve_json_tensor(json, &shape, x);
}

static void put_hessian(lt_json *json, const lt_hessian_state *h)
{
    lt_json_key(json, "H_final");
    if (h->H && h->n * h->n <= MAX_STATE) {
        lt_shape square = lt_shape2(h->n, h->n);
        solve_json_tensor(json, &square, h->H);
        return;
    }
    lt_json_object_begin(json);
    if (h->H || 2 * h->m * h->n > MAX_STATE) {
        lt_json_field_string(json, "left_out", "more than a million numbers; programs find them in lt_solution.H_final");
    } else {
        put_tensor(json, "S", lt_shape2(h->m, h->n), h->S);
        put_tensor(json, "Y", lt_shape2(h->m, h->n), h->Y);
        put_tensor(json, "rho", lt_shape1(h->m), h->rho);
        lt_json_field_double(json, "gamma", h->gamma);
    }
    lt_json_object_end(json);
}

void solve_json_state(lt_json *json, const lt_solution *s)
{
    if (s->scalings.f || s->scalings.ci || s->scalings.ce) {
        lt_json_key(json, "scalings");
        lt_json_object_begin(json);
        if (s->scalings.f) lt_json_field_double(json, "f", *s->scalings.f);
        if (s->scalings.ci) put_tensor(json, "ci", lt_shape1(s->p), s->scalings.ci);
        if (s->scalings.ce) put_tensor(json, "ce", lt_shape1(s->q), s->scalings.ce);
        lt_json_object_end(json);
    }
    put_hessian(json, &s->H_final);
}

lt_status solve_json_check(const solve_job *j)
{
    lt_json *json = j->c->json;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) return cli_fail(LT_ERR_MEMORY, "out of memory for the description");
    lt_status s = lt_model_describe(j->model, to);
    if (fclose(to) && !s) s = cli_fail(LT_ERR_MEMORY, "out of memory for the description");
    if (!s) {
        lt_json_field_int(json, "n", j->view.n);
        lt_json_field_int(json, "p", j->view.p);
        lt_json_field_int(json, "q", j->view.q);
        lt_json_field_string(json, "sense", j->view.maximize ? "maximize" : "minimize");
        lt_json_field_string(json, "description", text);
        lt_json_field_string(json, "warnings", lt_model_messages(j->model));
    }
    free(text);
    return s;
}

/* ---- Files -------------------------------------------------------------------------------- */

static lt_array view_of(lt_shape s, const double *x) { return (lt_array){ .dtype = LT_F64, .shape = s, .data = (void *)(uintptr_t)x }; }

/* A variable may have the name of a result, which then gets an underscore behind it. */
static const char *free_name(const solve_job *j, const char *const *pair)
{
    for (int i = 0; i < j->view.n_variables; i++)
        if (!strcmp(j->view.variables[i].name, pair[0])) return pair[1];
    return pair[0];
}

enum { MAX_SAVED = 1 << 24 }; /* numbers of H in a .npz file */

/* Arrays of a .npz file as they are listed. */
typedef struct members { const solve_job *j; const char **name; lt_array *array; int n; } members;

/* names: as it is, and where a variable has that name. */
static void add(members *m, const char *const *names, lt_shape shape, const double *v)
{
    if (!v) return;
    m->name[m->n] = free_name(m->j, names);
    m->array[m->n++] = view_of(shape, v);
}

/* What a run that starts from this file goes on with. */
static void add_state(members *m, const lt_solution *s)
{
    static const char *const names[][2] = { { "H", "H_" }, { "S", "S_" }, { "Y", "Y_" }, { "rho", "rho_" }, { "gamma", "gamma_" },
                                            { "ci_multipliers", "ci_multipliers_" }, { "ce_multipliers", "ce_multipliers_" } };
    const lt_hessian_state *h = &s->H_final;
    const lt_certificate *c = s->certificate;
    if (h->H && h->n * h->n <= MAX_SAVED) add(m, names[0], lt_shape2(h->n, h->n), h->H);
    if (h->m && 2 * h->m * h->n <= MAX_SAVED) {
        add(m, names[1], lt_shape2(h->m, h->n), h->S);
        add(m, names[2], lt_shape2(h->m, h->n), h->Y);
        add(m, names[3], lt_shape1(h->m), h->rho);
        add(m, names[4], lt_shape0(), &h->gamma);
    }
    if (s->p) add(m, names[5], lt_shape1(s->p), c->ci_multipliers);
    if (s->q) add(m, names[6], lt_shape1(s->q), c->ce_multipliers);
}

static void add_results(members *m, const lt_solution_point *p, const double *f)
{
    static const char *const f_names[] = { "f", "f_" }, *const mu_names[] = { "mu", "mu_" }, *const ci_names[] = { "ci", "ci_" },
                      *const ce_names[] = { "ce", "ce_" };
    const lt_model_view *v = &m->j->view;
    for (int i = 0; i < v->n_variables; i++) {
        m->name[m->n] = v->variables[i].name;
        m->array[m->n++] = view_of(v->variables[i].shape, p->x + v->variables[i].offset);
    }
    add(m, f_names, lt_shape0(), f);
    add(m, mu_names, lt_shape0(), &p->mu);
    if (v->p) add(m, ci_names, lt_shape1(v->p), p->ci);
    if (v->q) add(m, ce_names, lt_shape1(v->q), p->ce);
}

lt_status solve_write(const solve_job *j, const lt_solution *s, const char *path)
{
    const lt_solution_point *p = solve_result(s);
    if (strcmp(strrchr(path, '.'), ".npz")) return lt_npy_write(path, LT_F64, &(lt_shape){ .rank = 1, .dim = { j->view.n } }, p->x);
    const size_t most = (size_t)j->view.n_variables + 11;
    const double f = j->sign * p->f;
    members m = { .j = j, .name = calloc(most, sizeof *m.name), .array = calloc(most, sizeof *m.array) };
    lt_status status = m.name && m.array ? LT_OK : cli_fail(LT_ERR_MEMORY, "out of memory for %s", path);
    if (!status) {
        add_results(&m, p, &f);
        add_state(&m, s);
        status = lt_npz_write(path, m.n, m.name, m.array);
    }
    free(m.name);
    free(m.array);
    return status;
}
