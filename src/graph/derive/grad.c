/* Reverse-mode derivatives as graph-to-graph transformation. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/derive/grad.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

lt_status lt_grad_active(const lt_graph *g, const lt_node *wrt, int n_wrt, int32_t last, bool **out)
{
    bool *active = lt_calloc((size_t)last + 1, sizeof *active);
    *out = active;
    if (!active) return LT_ERR_MEMORY;
    for (int i = 0; i < n_wrt; i++) if (wrt[i].id <= last) active[wrt[i].id] = true;
    for (int32_t id = 0; id <= last; id++) {
        const lt_ir_node *n = &g->ir.node[id];
        if (n->detached || lt_op_get((lt_op)n->op)->diff == LT_DIFF_ZERO || !lt_dtype_is_float((lt_dtype)n->dtype)) continue;
        for (int i = 0; i < n->n_in && !active[id]; i++) active[id] = active[lt_ir_in(n, i)];
    }
    return LT_OK;
}

lt_node lt_grad_scale(lt_graph *g, lt_node adj, lt_node slope)
{
    double c;
    if (lt_is_none(slope)) return LT_NONE;
    if (lt_is_full(g, slope, &c)) return c == 1 ? adj : c == -1 ? lt_neg(g, adj) : lt_scale(g, adj, c);
    return lt_mul(g, adj, slope);
}

lt_node lt_grad_pull(lt_graph *g, lt_node y, int i, lt_node adj)
{
    const lt_op_row *row = lt_op_get((lt_op)lt_get(g, y)->op);
    switch (row->diff) {
    case LT_DIFF_LOCAL: return lt_grad_scale(g, adj, lt_op_slope(g, y, i));
    case LT_DIFF_RULE: return row->vjp(g, y, i, adj);
    case LT_DIFF_ZERO: return LT_NONE;
    default:
        return lt_graph_fail(g, LT_FAIL(LT_ERR_UNSUPPORTED, "%s has no derivative rule (a second derivative of eigenvalues?)",
                                        lt_op_name((lt_op)lt_get(g, y)->op)));
    }
}

/* Walks from y to the inputs, adding every node's share to the adjoints of what it was made from. */
static void sweep(lt_graph *g, int32_t last, const bool *active, lt_node *adjoint)
{
    for (int32_t id = last; id >= 0 && !g->status; id--) {
        if (lt_is_none(adjoint[id]) || !active[id]) continue;
        lt_node y = lt_of(g, id);
        for (int i = 0; i < lt_get(g, y)->n_in; i++) {
            int32_t x = lt_ir_in(lt_get(g, y), i);
            if (!active[x]) continue;
            lt_node share = lt_grad_pull(g, y, i, adjoint[id]);
            if (lt_is_none(share)) continue;
            adjoint[x] = lt_is_none(adjoint[x]) ? share : lt_add(g, adjoint[x], share);
        }
    }
}

static lt_status differentiate(lt_graph *g, lt_node y, lt_node seed, const lt_node *wrt, int n_wrt, lt_node *out)
{
    int32_t last = y.id;
    bool *active = NULL;
    lt_node *adjoint = lt_malloc(((size_t)last + 1) * sizeof *adjoint);
    lt_status s = adjoint ? lt_grad_active(g, wrt, n_wrt, last, &active) : LT_ERR_MEMORY;
    if (!s) {
        for (int32_t id = 0; id <= last; id++) adjoint[id] = LT_NONE;
        adjoint[last] = seed;
        sweep(g, last, active, adjoint);
        for (int i = 0; i < n_wrt; i++) {
            bool reached = wrt[i].id <= last && !lt_is_none(adjoint[wrt[i].id]);
            out[i] = reached ? adjoint[wrt[i].id] : lt_zeros(g, lt_dtype_at(g, wrt[i]), *lt_shape_at(g, wrt[i]));
        }
        s = lt_graph_status(g);
    }
    if (s) lt_graph_fail(g, s); /* memory may be out before a builder could notice */
    lt_free(active);
    lt_free(adjoint);
    return s;
}

static lt_status check_targets(lt_graph *g, const char *what, lt_node y, const lt_node *wrt, int n_wrt, lt_node *out)
{
    if (!wrt || !out || n_wrt < 1) {
        lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "%s: needs at least one node to differentiate by and room for the result", what));
        return lt_graph_status(g);
    }
    for (int i = 0; i < n_wrt; i++) out[i] = LT_NONE;
    if (!lt_operand_ok(g, what, y) || !lt_operands_ok(g, what, n_wrt, wrt)) return g ? lt_graph_status(g) : LT_ERR_ARGUMENT;
    for (int i = 0; i < n_wrt; i++)
        if (!lt_dtype_is_float(lt_dtype_at(g, wrt[i])))
            lt_graph_fail(g, LT_FAIL(LT_ERR_TYPE, "%s by %s of type %s: needs a real floating type", what,
                                     lt_node_label(&g->ir, wrt[i].id).s, lt_dtype_name(lt_dtype_at(g, wrt[i]))));
    return lt_graph_status(g);
}

lt_status lt_vjp(lt_graph *g, lt_node y, lt_node seed, const lt_node *wrt, int n_wrt, lt_node *out)
{
    LT_TRY(check_targets(g, "vjp", y, wrt, n_wrt, out));
    if (!lt_operand_ok(g, "vjp", seed)) return lt_graph_status(g);
    if (!lt_shape_equal(lt_shape_at(g, y), lt_shape_at(g, seed)) || lt_dtype_at(g, y) != lt_dtype_at(g, seed)) {
        lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "vjp of %s %s with a seed of %s %s: they must agree", lt_dtype_name(lt_dtype_at(g, y)),
                                 lt_shape_str(lt_shape_at(g, y)).s, lt_dtype_name(lt_dtype_at(g, seed)), lt_shape_str(lt_shape_at(g, seed)).s));
        return lt_graph_status(g);
    }
    return differentiate(g, y, seed, wrt, n_wrt, out);
}

lt_status lt_grad(lt_graph *g, lt_node f, const lt_node *wrt, int n_wrt, lt_node *out)
{
    LT_TRY(check_targets(g, "grad", f, wrt, n_wrt, out));
    const lt_shape s = *lt_shape_at(g, f);
    if (lt_shape_count(&s) != 1 || !lt_dtype_is_float(lt_dtype_at(g, f))) {
        lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "grad of %s %s %s: needs one real number", lt_node_label(&g->ir, f.id).s,
                                 lt_dtype_name(lt_dtype_at(g, f)), lt_shape_str(&s).s));
        return lt_graph_status(g);
    }
    return differentiate(g, f, lt_full(g, lt_dtype_at(g, f), s, 1), wrt, n_wrt, out);
}
