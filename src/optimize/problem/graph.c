/* Problems written as graphs, or as text, which becomes one: the gradients of all functions are added to the graph, once.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/model.h"
#include "optimize/problem/bounds.h"
#include "optimize/problem/graph.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>

lt_node lt_graph_input(const lt_graph *g, int index)
{
    for (int32_t id = 0; id < g->ir.n_nodes; id++) {
        const lt_ir_node *n = &g->ir.node[id];
        if (n->op == LT_OP_INPUT && n->attr.u.input.input == index) return (lt_node){ id, g->serial };
    }
    return LT_NONE;
}

static lt_status list_variables(lt_graph *g, lt_variable *v, lt_node *inputs)
{
    for (int i = 0; i < g->ir.n_inputs; i++) {
        inputs[i] = lt_graph_input(g, i);
        if (lt_is_none(inputs[i])) return LT_FAIL(LT_ERR_INTERNAL, "problem: input %d of the graph is missing", i);
        lt_dtype t = lt_node_dtype(g, inputs[i]);
        const char *name = g->ir.node[inputs[i].id].name;
        if (t != LT_F64 && t != LT_F32)
            return LT_FAIL(LT_ERR_TYPE, "problem: variable '%s' is %s, expected f64 or f32", name ? name : "?", lt_dtype_name(t));
        v[i] = (lt_variable){ .name = name, .shape = lt_node_shape(g, inputs[i]) };
    }
    return LT_OK;
}

static lt_status count_block(const lt_graph *g, const lt_node *c, int n, const char *what, int64_t *count)
{
    *count = 0;
    for (int i = 0; i < n; i++) {
        if (lt_is_none(c[i])) return LT_FAIL(LT_ERR_ARGUMENT, "problem: %s constraint %d is no node", what, i);
        lt_dtype t = lt_node_dtype(g, c[i]);
        if (t != LT_F64 && t != LT_F32)
            return LT_FAIL(LT_ERR_TYPE, "problem: %s constraint %d is %s, expected f64 or f32", what, i, lt_dtype_name(t));
        *count += lt_node_elements(g, c[i]);
    }
    return LT_OK;
}

/* [count(y), n]: the blocks of all variables side by side. */
static lt_status add_jacobians(lt_graph *g, const lt_node *y, int n_y, const lt_node *inputs, int n_inputs, lt_node *out)
{
    if (n_inputs == 1) return lt_jacobian(g, y, n_y, inputs[0], out);
    lt_node *block = lt_malloc((size_t)n_y * (size_t)n_inputs * sizeof *block * 2);
    if (!block) return LT_ERR_MEMORY;
    lt_node *beside = block + (size_t)n_y * (size_t)n_inputs;
    lt_status s = LT_OK;
    for (int i = 0; i < n_inputs && !s; i++) s = lt_jacobian(g, y, n_y, inputs[i], block + i * n_y);
    for (int j = 0; j < n_y && !s; j++) {
        for (int i = 0; i < n_inputs; i++) beside[i] = block[i * n_y + j];
        out[j] = lt_concat(g, beside, n_inputs, 1);
        s = lt_graph_status(g);
    }
    lt_free(block);
    return s;
}

lt_status lt_problem_add_gradient(lt_graph *g, lt_node f, const lt_node *inputs, int n_inputs, lt_node *out)
{
    lt_node *part = lt_malloc((size_t)n_inputs * sizeof *part);
    if (!part) return LT_ERR_MEMORY;
    lt_status s = lt_grad(g, f, inputs, n_inputs, part);
    if (!s) {
        for (int i = 0; i < n_inputs; i++) part[i] = lt_flatten(g, part[i]);
        *out = n_inputs == 1 ? part[0] : lt_concat(g, part, n_inputs, 0);
        s = lt_graph_status(g);
    }
    lt_free(part);
    return s;
}

/* Adds the derivatives to the graph. */
static lt_status build(lt_problem *p, lt_node f, const lt_node *ci, const lt_node *ce)
{
    if (p->n > ((int64_t)1 << 40) / (1 + p->p + p->q)) return lt_problem_too_many(p->n, p->p + p->q);
    int n_values = 1 + p->n_ce + p->n_ci, n_inputs = p->graph->ir.n_inputs;
    p->node = lt_malloc((size_t)(2 * n_values) * sizeof *p->node);
    lt_node *inputs = lt_malloc((size_t)n_inputs * sizeof *inputs);
    lt_status s = p->node && inputs ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; i < n_inputs && !s; i++) inputs[i] = lt_graph_input(p->graph, i);
    if (!s) {
        p->node[0] = f;
        for (int i = 0; i < p->n_ce; i++) p->node[1 + i] = ce[i];
        for (int i = 0; i < p->n_ci; i++) p->node[1 + p->n_ce + i] = ci[i];
        s = lt_problem_add_gradient(p->graph, f, inputs, n_inputs, &p->node[n_values]);
    }
    if (!s && n_values > 1) s = add_jacobians(p->graph, p->node + 1, n_values - 1, inputs, n_inputs, p->node + n_values + 1);
    lt_free(inputs);
    return s;
}

/* Gradients of rows that are bounds are wanted by few, and by none where there are a million; many others may turn out to be sparse. */
lt_status lt_problem_build_later(lt_problem *p, lt_node f, const lt_node *ci, const lt_node *ce)
{
    p->built_f = f;
    p->built_ci = lt_malloc((size_t)(p->n_ci + p->n_ce + 1) * sizeof *p->built_ci);
    if (!p->built_ci) return LT_ERR_MEMORY;
    p->built_ce = p->built_ci + p->n_ci;
    for (int i = 0; i < p->n_ci; i++) p->built_ci[i] = ci[i];
    for (int i = 0; i < p->n_ce; i++) p->built_ce[i] = ce[i];
    return LT_OK;
}

lt_status lt_problem_build_now(lt_problem *p)
{
    if (!p->built_ci) return LT_OK;
    lt_status s = build(p, p->built_f, p->built_ci, p->built_ce);
    if (s) {
        lt_free(p->node);
        p->node = NULL;
        return s;
    }
    lt_free(p->built_ci);
    p->built_ci = NULL;
    return LT_OK;
}

lt_status lt_problem_from_graph(lt_graph *g, lt_node f, const lt_node *ci, int n_ci, const lt_node *ce, int n_ce,
                                lt_problem **out)
{
    if (!out || !g) return LT_FAIL(LT_ERR_ARGUMENT, "problem: an argument is NULL");
    *out = NULL;
    LT_TRY(lt_graph_status(g));
    if (lt_is_none(f) || lt_node_elements(g, f) != 1)
        return LT_FAIL(LT_ERR_SHAPE, "problem: the objective has %lld elements, expected 1",
                       lt_is_none(f) ? 0LL : (long long)lt_node_elements(g, f));
    if (n_ci < 0 || n_ce < 0 || (n_ci && !ci) || (n_ce && !ce)) return LT_FAIL(LT_ERR_ARGUMENT, "problem: constraints are NULL");
    int n_inputs = g->ir.n_inputs;
    if (!n_inputs) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the graph has no input: nothing to minimise over");
    lt_variable *v = lt_calloc((size_t)n_inputs, sizeof *v);
    lt_node *inputs = lt_malloc((size_t)n_inputs * sizeof *inputs);
    int64_t n = 0, p = 0, q = 0;
    lt_status s = v && inputs ? list_variables(g, v, inputs) : LT_ERR_MEMORY;
    if (!s) s = count_block(g, ci, n_ci, "inequality", &p);
    if (!s) s = count_block(g, ce, n_ce, "equality", &q);
    if (!s) n = lt_variables_layout(v, n_inputs);
    if (!s) s = lt_problem_alloc(&lt_problem_kind_graph, n, p, q, out);
    if (!s) {
        (*out)->graph = g;
        (*out)->n_ci = n_ci;
        (*out)->n_ce = n_ce;
        (*out)->variable = v;
        (*out)->n_variables = n_inputs;
        v = NULL;
        s = lt_problem_find_bounds(*out, f, ci, ce);
        const bool many = n > LT_SPARSE_FROM / LT_MAX(p + q, 1);
        if (!s) s = (many ? lt_problem_build_later : build)(*out, f, ci, ce);
    }
    lt_free(v);
    lt_free(inputs);
    if (s) {
        lt_problem_destroy(*out);
        *out = NULL;
    }
    return s;
}

/* ---- Problem files ---- */
/* What the graph does not know: names, start, sense. */
static lt_status take_over(lt_problem *p, const lt_model_view *view)
{
    lt_variable *v = lt_malloc((size_t)LT_MAX(view->n_variables, 1) * sizeof *v);
    p->x0 = lt_malloc((size_t)p->n * sizeof *p->x0);
    if (!v || !p->x0) {
        lt_free(v);
        return LT_ERR_MEMORY;
    }
    for (int i = 0; i < view->n_variables; i++)
        v[i] = (lt_variable){ view->variables[i].name, view->variables[i].shape, view->variables[i].offset };
    lt_free(p->variable);
    p->variable = v;
    p->n_variables = view->n_variables;
    p->maximize = view->maximize;
    for (int64_t i = 0; i < p->n; i++) p->x0[i] = view->x0 ? view->x0[i] : NAN;
    lt_problem_share_names(p);
    return LT_OK;
}

lt_status lt_problem_from_model(const lt_model *m, lt_problem **out)
{
    if (!m || !out) return LT_FAIL(LT_ERR_ARGUMENT, "problem: an argument is NULL");
    *out = NULL;
    lt_model_view view = lt_model_get(m);
    if (!view.graph) return LT_FAIL(LT_ERR_ARGUMENT, "problem: the model has errors");
    LT_TRY(lt_problem_from_graph(view.graph, view.f, &view.ci, !lt_is_none(view.ci), &view.ce, !lt_is_none(view.ce), out));
    lt_status s = m->declared ? lt_problem_declare_bounds(*out, &view.ci, &view.ce, view.f, m->declared) : LT_OK;
    if (!s) s = take_over(*out, &view);
    if (s) {
        lt_problem_destroy(*out);
        *out = NULL;
    }
    return s;
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
