/* Rows that have no variable in common are summed before they are differentiated: as many sweeps as groups, not as constraints. The pattern comes from
   the graph, groups from colouring rows greedily (Curtis, Powell and Reid 1974). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/problem/compressed.h"
#include "optimize/problem/graph.h"
#include "optimize/problem/pattern.h"

#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <stdio.h>
#include <string.h>

#define ENTRIES_MOST ((int64_t)1 << 27)
#define GROUPS_MOST 256
#define SEEDS_MOST ((int64_t)1 << 25) /* groups times constraints, and groups times variables */

void lt_compressed_destroy(lt_compressed *c)
{
    if (!c) return;
    lt_csr_release(&c->a);
    lt_free(c->group);
    lt_free(c);
}

void lt_compressed_gather(const lt_compressed *c, const double *groups, double *entries)
{
    const lt_csr *a = &c->a;
    for (int64_t i = 0; i < a->m; i++) {
        const double *from = groups + c->group[i] * a->n;
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++) entries[e] = from[a->column[e]];
    }
}

/* ---- Groups ----------------------------------------------------------------------------------------------- */
static lt_status colour(const int64_t *from, const int32_t *to, lt_compressed *c)
{
    int64_t taken[GROUPS_MOST];  /* by group: the row that a neighbour of which has it */
    for (int k = 0; k < GROUPS_MOST; k++) taken[k] = -1;
    for (int64_t i = 0; i < c->a.m; i++) {
        int32_t g = 0;
        for (int64_t k = from[i]; k < from[i + 1]; k++)
            if (to[k] < i) taken[c->group[to[k]]] = i;
        while (g < GROUPS_MOST && taken[g] == i) g++;
        if (g == GROUPS_MOST) return LT_FAIL(LT_ERR_UNSUPPORTED, "constraints share variables: more than %d groups without a common one are needed", GROUPS_MOST);
        c->group[i] = g;
        c->n_groups = LT_MAX(c->n_groups, g + 1);
    }
    if (c->n_groups > SEEDS_MOST / LT_MAX(c->a.m, c->a.n))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "constraints share variables: %lld groups without a common one are more than gradients of this size allow", (long long)c->n_groups);
    return LT_OK;
}

static lt_status form_groups(lt_compressed *c)
{
    int64_t *from;
    int32_t *to;
    LT_TRY(lt_csr_neighbours(&c->a, ENTRIES_MOST, &from, &to));
    c->group = lt_malloc((size_t)LT_MAX(c->a.m, 1) * sizeof *c->group);
    lt_status s = c->group ? colour(from, to, c) : LT_ERR_MEMORY;
    lt_free(from);
    lt_free(to);
    return s;
}

/* ---- The graph ---------------------------------------------------------------------------------------------- */
/* [groups]: the sums of each group's constraints, with rows `row` on of this node. */
static lt_node add_sums(lt_graph *g, const lt_compressed *c, lt_node node, int64_t row, lt_node sum)
{
    const int64_t count = lt_node_elements(g, node);
    double *seed = lt_calloc((size_t)LT_MAX(c->n_groups * count, 1), sizeof *seed);
    if (!seed) return lt_graph_fail(g, LT_ERR_MEMORY);
    for (int64_t i = 0; i < count; i++) seed[c->group[row + i] * count + i] = 1;
    const lt_node part = lt_matmul(g, lt_constant(g, LT_F64, lt_shape2(c->n_groups, count), seed), lt_reshape(g, node, lt_shape2(count, 1)));
    lt_free(seed);
    return lt_is_none(sum) ? part : lt_add(g, sum, part);
}

static lt_status add_groups(lt_problem *p, const lt_node *constraint, int n, const lt_node *inputs, int n_inputs, lt_node *out)
{
    lt_graph *g = p->graph;
    lt_node sum = LT_NONE, *block = lt_malloc((size_t)n_inputs * sizeof *block);
    int64_t row = 0;
    if (!block) return LT_ERR_MEMORY;
    for (int k = 0; k < n; k++) {
        if (lt_node_elements(g, constraint[k])) sum = add_sums(g, p->compressed, constraint[k], row, sum);
        row += lt_node_elements(g, constraint[k]);
    }
    sum = lt_flatten(g, sum);
    lt_status s = lt_graph_status(g);
    for (int i = 0; i < n_inputs && !s; i++) s = lt_jacobian(g, &sum, 1, inputs[i], &block[i]);
    if (!s) *out = n_inputs == 1 ? block[0] : lt_concat(g, block, n_inputs, 1);
    lt_free(block);
    return s ? s : lt_graph_status(g);
}

/* f and the constraints, f's gradient, the groups'. */
static lt_status build(lt_problem *p, const lt_node *value)
{
    const int n_values = 1 + p->n_ce + p->n_ci, n_inputs = p->graph->ir.n_inputs;
    p->node = lt_malloc((size_t)(n_values + 2) * sizeof *p->node);
    lt_node *inputs = lt_malloc((size_t)n_inputs * sizeof *inputs);
    lt_status s = p->node && inputs ? LT_OK : LT_ERR_MEMORY;
    for (int i = 0; i < n_inputs && !s; i++) inputs[i] = lt_graph_input(p->graph, i);
    if (!s) {
        memcpy(p->node, value, (size_t)n_values * sizeof *value);
        s = lt_problem_add_gradient(p->graph, value[0], inputs, n_inputs, &p->node[n_values]);
    }
    if (!s) s = add_groups(p, p->node + 1, n_values - 1, inputs, n_inputs, &p->node[n_values + 1]);
    lt_free(inputs);
    return s;
}

/* ---- The problem ---------------------------------------------------------------------------------------------- */
/* f, equalities, inequalities; the caller frees them. */
static lt_node *list_values(const lt_problem *p)
{
    lt_node *value = lt_malloc((size_t)(1 + p->n_ce + p->n_ci) * sizeof *value);
    if (!value) return NULL;
    if (p->node) memcpy(value, p->node, (size_t)(1 + p->n_ce + p->n_ci) * sizeof *value);
    else {
        value[0] = p->built_f;
        for (int i = 0; i < p->n_ce; i++) value[1 + i] = p->built_ce[i];
        for (int i = 0; i < p->n_ci; i++) value[1 + p->n_ce + i] = p->built_ci[i];
    }
    return value;
}

static lt_status check(const lt_problem *p, const lt_node *value)
{
    for (int i = 0; i < 1 + p->n_ce + p->n_ci; i++)
        if (lt_node_dtype(p->graph, value[i]) != LT_F64)
            return LT_FAIL(LT_ERR_UNSUPPORTED, "functions are %s: sparse gradients are of f64 ones", lt_dtype_name(lt_node_dtype(p->graph, value[i])));
    for (int i = 0; i < p->graph->ir.n_inputs; i++)
        if (lt_node_dtype(p->graph, lt_graph_input(p->graph, i)) != LT_F64) return LT_FAIL(LT_ERR_UNSUPPORTED, "variables are not f64, as sparse gradients want them");
    return LT_OK;
}

static lt_status find_pattern(const lt_problem *p, const lt_node *value, lt_compressed *c)
{
    int64_t *offset = lt_malloc((size_t)LT_MAX(p->n_variables, 1) * sizeof *offset);
    if (!offset) return LT_ERR_MEMORY;
    for (int i = 0; i < p->n_variables; i++) offset[i] = p->variable[i].offset;
    lt_status s = lt_pattern_find(p->graph, value + 1, p->n_ce + p->n_ci, offset, p->n, ENTRIES_MOST, &c->a);
    lt_free(offset);
    return s;
}

static lt_status make(lt_problem *p, const lt_node *value, lt_problem *to)
{
    to->graph = p->graph;
    to->outer = p->outer ? p->outer : p;
    to->n_ci = p->n_ci;
    to->n_ce = p->n_ce;
    to->compressed = lt_calloc(1, sizeof *to->compressed);
    if (!to->compressed) return LT_ERR_MEMORY;
    LT_TRY(check(p, value));
    LT_TRY(find_pattern(p, value, to->compressed));
    LT_TRY(form_groups(to->compressed));
    return build(to, value);
}

static void share_names(const lt_problem *p, lt_problem *to)
{
    to->variable = p->variable;
    to->n_variables = p->n_variables;
    to->x0 = p->x0;
    to->maximize = p->maximize;
}

static void forget_names(lt_problem *p)
{
    p->variable = NULL;
    p->x0 = NULL;
}

static lt_status create(lt_problem *p)
{
    lt_problem *to;
    if (p->kind != &lt_problem_kind_graph) return LT_FAIL(LT_ERR_UNSUPPORTED, "the problem is a function, not a graph");
    if (!(p->p + p->q)) return LT_FAIL(LT_ERR_UNSUPPORTED, "the problem has no constraints");
    LT_TRY(lt_problem_alloc(&lt_problem_kind_graph, p->n, p->p, p->q, &to));
    lt_node *value = list_values(p);
    lt_status s = value ? make(p, value, to) : LT_ERR_MEMORY;
    lt_free(value);
    if (s) lt_problem_sparse_destroy(to);
    else p->sparse = to;
    return s;
}

void lt_problem_sparse_destroy(lt_problem *p)
{
    if (!p) return;
    forget_names(p);
    lt_problem_destroy(p);
}

lt_status lt_problem_sparse(lt_problem *p, lt_problem **out)
{
    lt_problem_lock_graph(p);
    lt_status s = LT_OK;
    if (!p->sparse && p->sparse_refused[0]) s = LT_FAIL(LT_ERR_UNSUPPORTED, "%s", p->sparse_refused);
    else if (!p->sparse && (s = create(p)) == LT_ERR_UNSUPPORTED) snprintf(p->sparse_refused, sizeof p->sparse_refused, "%s", lt_error_text());
    if (!s) share_names(p, p->sparse); /* as they are now */
    lt_problem_unlock_graph(p);
    *out = s ? NULL : p->sparse;
    return s;
}
