/* Problems read from text. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/model.h"
#include "optimize/problem/bounds.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

lt_status lt_problem_from_model(const lt_model *m, lt_problem **out)
{
    if (!m || !out) return LT_FAIL(LT_ERR_ARGUMENT, "problem: an argument is NULL");
    *out = NULL;
    lt_model_view view = lt_model_get(m);
    if (!view.graph) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the model has errors");
    LT_TRY(lt_problem_from_graph(view.graph, view.f, &view.ci, !lt_is_none(view.ci), &view.ce, !lt_is_none(view.ce), out));
    lt_problem *p = *out;
    lt_status s = m->declared ? lt_problem_declare_bounds(p, &view.ci, &view.ce, view.f, m->declared) : LT_OK;
    if (s) {
        lt_problem_destroy(p);
        *out = NULL;
        return s;
    }
    lt_variable *v = lt_malloc((size_t)LT_MAX(view.n_variables, 1) * sizeof *v);
    p->x0 = lt_malloc((size_t)p->n * sizeof *p->x0);
    if (!v || !p->x0) {
        lt_free(v);
        lt_problem_destroy(p);
        *out = NULL;
        return LT_ERR_MEMORY;
    }
    for (int i = 0; i < view.n_variables; i++)
        v[i] = (lt_variable){ view.variables[i].name, view.variables[i].shape, view.variables[i].offset };
    lt_free(p->variable);
    p->variable = v;
    p->n_variables = view.n_variables;
    p->maximize = view.maximize;
    for (int64_t i = 0; i < p->n; i++) p->x0[i] = view.x0 ? view.x0[i] : NAN;
    lt_problem_share_names(p);
    return LT_OK;
}

lt_status lt_solve_options_from_model(lt_solve_options *opt, const lt_model *m)
{
    if (!opt || !m) return LT_FAIL(LT_ERR_ARGUMENT, "solve options: an argument is NULL");
    lt_model_view view = lt_model_get(m);
    for (int i = 0; i < view.n_options; i++) {
        const lt_model_option *o = &view.options[i];
        lt_status s = lt_solve_options_set(opt, o->name, o->value);
        if (!s) continue;
        char text[512];
        snprintf(text, sizeof text, "%s", lt_error_text());
        return LT_FAIL(s, "%s:%d:%d: %s", view.name, o->line, o->column, text);
    }
    return LT_OK;
}
