/* A model in words, for --check. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/status.h"
#include "graph/build/build.h"
#include "lathe/problem.h"

#include <string.h>

/* The nodes f, ci and ce need; the rest of the graph is what was read but not used. */
static lt_status mark_used(const lt_model_view *v, uint8_t **out)
{
    const lt_ir *ir = &v->graph->ir;
    uint8_t *used = lt_calloc(LT_MAX((size_t)ir->n_nodes, 1), 1);
    if (!used) return LT_ERR_MEMORY;
    const lt_node roots[] = { v->f, v->ci, v->ce };
    for (size_t i = 0; i < LT_LEN(roots); i++) if (!lt_is_none(roots[i])) used[roots[i].id] = 1;
    for (int32_t id = ir->n_nodes - 1; id >= 0; id--)
        for (int k = 0; used[id] && k < ir->node[id].n_in; k++) used[lt_ir_in(&ir->node[id], k)] = 1;
    *out = used;
    return LT_OK;
}

static lt_status describe_ops(const lt_model_view *v, FILE *to)
{
    uint8_t *used;
    int count[LT_OP_COUNT] = { 0 }, total = 0;
    LT_TRY(mark_used(v, &used));
    for (int32_t id = 0; id < v->graph->ir.n_nodes; id++)
        if (used[id]) count[v->graph->ir.node[id].op]++, total++;
    lt_free(used);
    fprintf(to, "operations   %d:", total);
    for (int op = 0; op < LT_OP_COUNT; op++)
        if (count[op]) fprintf(to, count[op] > 1 ? " %s x%d" : " %s", lt_op_name((lt_op)op), count[op]);
    fputc('\n', to);
    return LT_OK;
}

static void describe_variables(const lt_model_view *v, FILE *to)
{
    for (int i = 0; i < v->n_variables; i++) {
        const lt_model_variable *x = &v->variables[i];
        bool started = v->x0[x->offset] == v->x0[x->offset];
        fprintf(to, "  %s%s%s\n", x->name, x->shape.rank ? " " : "", x->shape.rank ? lt_shape_str(&x->shape).s : "");
        if (!started) fprintf(to, "    no start given: random normal\n");
    }
}

static void describe_constraints(const lt_model_view *v, FILE *to)
{
    for (int i = 0; i < v->n_constraints; i++) {
        const lt_model_constraint *c = &v->constraints[i];
        if (c->line) fprintf(to, "  line %d: ", c->line);
        else fputs("  ", to); /* a model of AMPL's has no lines */
        fprintf(to, "%s%s%lld %s%s\n", c->name ? c->name : "", c->name ? ", " : "", (long long)c->count,
                c->equality ? "equalit" : "inequalit", c->count == 1 ? "y" : "ies");
    }
}

lt_status lt_model_describe(const lt_model *m, FILE *to)
{
    lt_model_view v = lt_model_get(m);
    if (!to || !v.graph) return LT_FAIL(LT_ERR_ARGUMENT, "lt_model_describe: %s", to ? "the model has errors" : "file is NULL");
    fprintf(to, "problem      %s: %s\n", v.name, v.maximize ? "maximize" : "minimize");
    fprintf(to, "variables    n = %lld\n", (long long)v.n);
    describe_variables(&v, to);
    fprintf(to, "constraints  p = %lld inequalities, q = %lld equalities\n", (long long)v.p, (long long)v.q);
    describe_constraints(&v, to);
    for (int i = 0; i < v.n_options; i++) fprintf(to, "option       %s = %s\n", v.options[i].name, v.options[i].value);
    LT_TRY(describe_ops(&v, to));
    return ferror(to) ? LT_FAIL(LT_ERR_IO, "lt_model_describe: write failed") : LT_OK;
}
