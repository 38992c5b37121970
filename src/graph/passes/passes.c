/* The order of the passes and the loop that runs one. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/passes/passes.h"

#include "base/alloc.h"
#include "base/status.h"

#include <string.h>

static const lt_pass_row *const order[] = {
    &lt_pass_cse, &lt_pass_algebraic, &lt_pass_precision, &lt_pass_layout, &lt_pass_algebraic, &lt_pass_fold,
    &lt_pass_algebraic, &lt_pass_cse,
};

const char *lt_pass_name(lt_pass p)
{
    static const char *const names[LT_PASS_COUNT] = {
        [LT_PASS_FOLD] = "fold", [LT_PASS_CSE] = "cse", [LT_PASS_ALGEBRAIC] = "algebraic", [LT_PASS_LAYOUT] = "layout",
        [LT_PASS_PRECISION] = "precision", [LT_PASS_FUSE] = "fuse", [LT_PASS_REUSE] = "reuse",
    };
    return (unsigned)p < LT_PASS_COUNT ? names[p] : "?";
}

int32_t lt_rewrite_emit(lt_rewrite *r, lt_op op, lt_dtype dtype, const lt_shape *shape,
                        int n_in, const int32_t *in, const lt_attr *attr)
{
    static const lt_attr none;
    lt_infer x = { r->to, op, n_in, in, attr ? attr : &none, dtype, shape ? *shape : lt_shape0() };
    return lt_op_infer(&x) ? -1 : lt_ir_push(r->to, op, x.dtype, &x.shape, n_in, in, attr);
}

/* Counts the uses of what the outputs need; everything else stays at 0 and is dropped. */
static void count_uses(const lt_module *m, int32_t *uses)
{
    for (int i = 0; i < m->n_outputs; i++) uses[m->output[i]]++;
    for (int32_t id = m->ir.n_nodes - 1; id >= 0; id--)
        for (int i = 0; uses[id] && i < m->ir.node[id].n_in; i++) uses[lt_ir_in(&m->ir.node[id], i)]++;
}

/* A pass may look at nodes through pointers while it appends this many for one old node. */
#define NODES_PER_REWRITE 16

static lt_status rewrite_nodes(lt_rewrite *r, const lt_pass_row *pass)
{
    for (int32_t id = 0; id < r->from->n_nodes; id++) {
        if (!r->uses[id]) continue;
        if (!lt_ir_reserve(r->to, NODES_PER_REWRITE)) return LT_ERR_MEMORY;
        r->map[id] = pass->node(r, id);
        if (r->map[id] < 0) return LT_ERR_MEMORY;
        lt_ir_node *made = &r->to->node[r->map[id]];
        if (!made->name) made->name = r->from->node[id].name;
    }
    return LT_OK;
}

static lt_status run_pass(lt_module *m, const lt_pass_row *pass, const lt_compile_options *opt)
{
    size_t n = (size_t)LT_MAX(m->ir.n_nodes, 1);
    lt_ir to = { .arena = m->ir.arena, .n_inputs = m->ir.n_inputs };
    lt_rewrite r = { .from = &m->ir, .to = &to, .opt = opt };
    r.map = lt_malloc(n * sizeof *r.map);
    r.uses = lt_calloc(n, sizeof *r.uses);
    lt_status s = r.map && r.uses ? LT_OK : LT_ERR_MEMORY;
    if (!s) {
        memset(r.map, -1, n * sizeof *r.map);
        count_uses(m, r.uses);
        if (pass->begin) s = pass->begin(&r);
        if (!s) s = rewrite_nodes(&r, pass);
        if (pass->end) pass->end(&r);
    }
    if (s) {
        lt_ir_free(&to);
    } else {
        for (int i = 0; i < m->n_outputs; i++) m->output[i] = r.map[m->output[i]];
        lt_ir_free(&m->ir);
        m->ir = to;
    }
    lt_free(r.map);
    lt_free(r.uses);
    return s ? s : lt_ir_check(m, pass->name);
}

lt_status lt_passes_run(lt_module *m, const lt_compile_options *opt)
{
    LT_TRY(lt_ir_check(m, "building"));
    for (size_t i = 0; i < LT_LEN(order); i++)
        if (!(opt->skip_passes >> order[i]->id & 1)) LT_TRY(run_pass(m, order[i], opt));
    return LT_OK;
}
