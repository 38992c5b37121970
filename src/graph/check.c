/* The IR checker: what every pass must leave true. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "graph/ops.h"

static lt_status check_node(const lt_module *m, int32_t id, const char *after)
{
    const lt_ir_node *n = &m->ir.node[id];
    char line[256];
    if (n->op >= LT_OP_COUNT || n->dtype >= LT_DTYPE_COUNT)
        return LT_FAIL(LT_ERR_INTERNAL, "after %s: node %%%d has op %d, type %d", after, id, n->op, n->dtype);
    for (int i = 0; i < n->n_in; i++) {
        int32_t in = lt_ir_in(n, i);
        if (in >= 0 && in < id) continue;
        lt_ir_print_node(&m->ir, id, line, sizeof line);
        return LT_FAIL(LT_ERR_INTERNAL, "after %s: input %%%d does not come before %s", after, in, line);
    }
    lt_infer x = { &m->ir, (lt_op)n->op, n->n_in, lt_ir_inputs(n), &n->attr, (lt_dtype)n->dtype, n->shape };
    lt_status s = lt_op_infer(&x);
    if (s) return LT_FAIL(LT_ERR_INTERNAL, "after %s: node %%%d breaks its rule: %s", after, id, lt_error_text());
    if (x.dtype != (lt_dtype)n->dtype || !lt_shape_equal(&x.shape, &n->shape)) {
        lt_ir_print_node(&m->ir, id, line, sizeof line);
        return LT_FAIL(LT_ERR_INTERNAL, "after %s: the rule gives %s%s for %s", after, lt_dtype_name(x.dtype), lt_shape_str(&x.shape).s, line);
    }
    if (n->op == LT_OP_CONST && !n->attr.u.data)
        return LT_FAIL(LT_ERR_INTERNAL, "after %s: constant %%%d has no data", after, id);
    return LT_OK;
}

lt_status lt_ir_check(const lt_module *m, const char *after)
{
    for (int32_t id = 0; id < m->ir.n_nodes; id++) LT_TRY(check_node(m, id, after));
    for (int i = 0; i < m->n_outputs; i++)
        if (m->output[i] < 0 || m->output[i] >= m->ir.n_nodes)
            return LT_FAIL(LT_ERR_INTERNAL, "after %s: output %d is node %%%d of %d", after, i, m->output[i], m->ir.n_nodes);
    return LT_OK;
}
