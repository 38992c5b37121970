/* Public builders: reductions, norms and folds. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>

lt_node lt_reduce(lt_graph *g, lt_op op, lt_node x, uint32_t axes, bool keepdims)
{
    if (!lt_operand_ok(g, lt_op_name(op), x)) return LT_NONE;
    lt_shape kept = *lt_shape_at(g, x);
    if (!axes) return x;
    lt_node y = lt_emit_simple(g, op, 1, &x, &(lt_attr){ .u.reduce.axes = axes });
    if (!keepdims || lt_is_none(y)) return y;
    for (int i = 0; i < kept.rank; i++) if (axes >> i & 1) kept.dim[i] = 1;
    return lt_reshape(g, y, kept);
}

static uint32_t all_axes(const lt_graph *g, lt_node x) { return (1u << lt_shape_at(g, x)->rank) - 1; }

/* Elements reduced into one. */
static double reduced_count(const lt_graph *g, lt_node x, uint32_t axes)
{
    double n = 1;
    for (int i = 0; i < lt_shape_at(g, x)->rank; i++) if (axes >> i & 1) n *= (double)lt_shape_at(g, x)->dim[i];
    return n;
}

static lt_node mean_over(lt_graph *g, lt_node x, uint32_t axes, bool keepdims)
{
    double n = reduced_count(g, x, axes);
    return lt_scale(g, lt_reduce(g, LT_OP_SUM, x, axes, keepdims), 1 / n);
}

/* log sum exp around the maximum, which is treated as a constant: its derivative cancels. A
   maximum of -inf or inf is replaced by 0, so that the answer is that infinity and not NaN. */
static lt_node logsumexp_over(lt_graph *g, lt_node x, uint32_t axes, bool keepdims)
{
    lt_node top = lt_detach(g, lt_reduce(g, LT_OP_RMAX, x, axes, true));
    lt_node finite = lt_where(g, lt_lt(g, lt_abs(g, top), lt_scalar(g, lt_node_dtype(g, x), INFINITY)), top,
                              lt_scalar(g, lt_node_dtype(g, x), 0));
    lt_node y = lt_add(g, lt_log(g, lt_reduce(g, LT_OP_SUM, lt_exp(g, lt_sub(g, x, finite)), axes, true)), finite);
    if (keepdims || lt_is_none(y)) return y;
    lt_shape s = { .rank = 0 };
    const lt_shape *full = lt_shape_at(g, x);
    for (int i = 0; i < full->rank; i++) if (!(axes >> i & 1)) s.dim[s.rank++] = full->dim[i];
    return lt_reshape(g, y, s);
}

/* The maximum along one axis gives its gradient to the first maximum: it is a gather by argmax. */
static lt_node extreme_axis(lt_graph *g, const char *name, lt_op arg, lt_node x, int axis, bool keepdims)
{
    if (!lt_axis_ok(g, name, x, &axis)) return LT_NONE;
    lt_node index = lt_emit_simple(g, arg, 1, &x, &(lt_attr){ .u.index.axis = axis });
    lt_node y = lt_gather(g, x, lt_unsqueeze(g, index, axis), axis);
    return keepdims ? y : lt_squeeze(g, y, axis);
}

/* A product as a tree of halves: right with zeros among the factors, and so are its derivatives. */
static lt_node prod_axis(lt_graph *g, lt_node x, int axis, bool keepdims)
{
    while (!lt_is_none(x)) {
        int64_t n = lt_shape_at(g, x)->dim[axis], half = n / 2;
        if (n <= 1) break;
        lt_node y = lt_mul(g, lt_slice(g, x, axis, 0, half, 1), lt_slice(g, x, axis, half, 2 * half, 1));
        x = n % 2 ? lt_concat(g, (lt_node[]){ y, lt_slice(g, x, axis, n - 1, n, 1) }, 2, axis) : y;
    }
    if (lt_is_none(x)) return x;
    lt_shape s = *lt_shape_at(g, x);
    if (s.dim[axis] == 0) {
        s.dim[axis] = 1;
        x = lt_full(g, lt_dtype_at(g, x), s, 1);
    }
    return keepdims ? x : lt_squeeze(g, x, axis);
}

lt_node lt_sum(lt_graph *g, lt_node x) { return lt_operand_ok(g, "sum", x) ? lt_reduce(g, LT_OP_SUM, x, all_axes(g, x), false) : LT_NONE; }
lt_node lt_max(lt_graph *g, lt_node x) { return lt_operand_ok(g, "max", x) ? lt_reduce(g, LT_OP_RMAX, x, all_axes(g, x), false) : LT_NONE; }
lt_node lt_min(lt_graph *g, lt_node x) { return lt_operand_ok(g, "min", x) ? lt_reduce(g, LT_OP_RMIN, x, all_axes(g, x), false) : LT_NONE; }
lt_node lt_mean(lt_graph *g, lt_node x) { return lt_operand_ok(g, "mean", x) ? mean_over(g, x, all_axes(g, x), false) : LT_NONE; }
lt_node lt_logsumexp(lt_graph *g, lt_node x) { return lt_operand_ok(g, "logsumexp", x) ? logsumexp_over(g, x, all_axes(g, x), false) : LT_NONE; }
lt_node lt_prod(lt_graph *g, lt_node x) { return prod_axis(g, lt_flatten(g, x), 0, false); }
lt_node lt_amax_abs(lt_graph *g, lt_node x) { return lt_max(g, lt_abs(g, x)); }

lt_node lt_sum_axis(lt_graph *g, lt_node x, int axis, bool keepdims) { return lt_sum_axes(g, x, 1, &axis, keepdims); }
lt_node lt_mean_axis(lt_graph *g, lt_node x, int axis, bool keepdims) { return lt_mean_axes(g, x, 1, &axis, keepdims); }
lt_node lt_max_axis(lt_graph *g, lt_node x, int axis, bool keepdims) { return extreme_axis(g, "max", LT_OP_ARGMAX, x, axis, keepdims); }
lt_node lt_min_axis(lt_graph *g, lt_node x, int axis, bool keepdims) { return extreme_axis(g, "min", LT_OP_ARGMIN, x, axis, keepdims); }
lt_node lt_amax_abs_axis(lt_graph *g, lt_node x, int axis, bool keepdims) { return lt_max_axis(g, lt_abs(g, x), axis, keepdims); }
lt_node lt_prod_axis(lt_graph *g, lt_node x, int axis, bool keepdims) { return lt_axis_ok(g, "prod", x, &axis) ? prod_axis(g, x, axis, keepdims) : LT_NONE; }

lt_node lt_logsumexp_axis(lt_graph *g, lt_node x, int axis, bool keepdims)
{
    return lt_axis_ok(g, "logsumexp", x, &axis) ? logsumexp_over(g, x, 1u << axis, keepdims) : LT_NONE;
}

static bool axes_mask(lt_graph *g, const char *op, lt_node x, int n_axes, const int *axes, uint32_t *mask)
{
    *mask = 0;
    if (n_axes < 0 || (n_axes > 0 && !axes)) {
        lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "%s over %d axes: %s", op, n_axes, n_axes < 0 ? "need >= 0" : "axes is NULL"));
        return false;
    }
    for (int i = 0; i < n_axes; i++) {
        int axis = axes[i];
        if (!lt_axis_ok(g, op, x, &axis)) return false;
        *mask |= 1u << axis;
    }
    return lt_operand_ok(g, op, x);
}

lt_node lt_sum_axes(lt_graph *g, lt_node x, int n_axes, const int *axes, bool keepdims)
{
    uint32_t mask;
    return axes_mask(g, "sum", x, n_axes, axes, &mask) ? lt_reduce(g, LT_OP_SUM, x, mask, keepdims) : LT_NONE;
}

lt_node lt_mean_axes(lt_graph *g, lt_node x, int n_axes, const int *axes, bool keepdims)
{
    uint32_t mask;
    return axes_mask(g, "mean", x, n_axes, axes, &mask) ? mean_over(g, x, mask, keepdims) : LT_NONE;
}

static lt_node arg_axis(lt_graph *g, lt_op op, lt_node x, int axis)
{
    if (!lt_axis_ok(g, lt_op_name(op), x, &axis)) return LT_NONE;
    return lt_emit_simple(g, op, 1, &x, &(lt_attr){ .u.index.axis = axis });
}

lt_node lt_argmax(lt_graph *g, lt_node x, int axis) { return arg_axis(g, LT_OP_ARGMAX, x, axis); }
lt_node lt_argmin(lt_graph *g, lt_node x, int axis) { return arg_axis(g, LT_OP_ARGMIN, x, axis); }
lt_node lt_cumsum(lt_graph *g, lt_node x, int axis) { return arg_axis(g, LT_OP_CUMSUM, x, axis); }

lt_node lt_topk(lt_graph *g, lt_node x, int64_t k)
{
    return lt_take_along(g, x, lt_topk_index(g, x, k));
}

lt_node lt_topk_index(lt_graph *g, lt_node x, int64_t k)
{
    return lt_emit_simple(g, LT_OP_TOPK_INDEX, 1, &x, &(lt_attr){ .u.index.k = k });
}

/* ---- norms ---- */

/* The sum of squares is a sum like others, fused with what makes x; NORM looks at x only where it over- or underflowed (decision 195). */
static lt_node norm_over(lt_graph *g, lt_node x, uint32_t axes, bool keepdims)
{
    lt_node s = lt_reduce(g, LT_OP_SUM, lt_square(g, x), axes, false);
    if (lt_is_none(s)) return s;
    lt_node y = lt_emit_simple(g, LT_OP_NORM, 2, (lt_node[]){ s, x }, &(lt_attr){ .u.reduce.axes = axes });
    if (!keepdims || lt_is_none(y)) return y;
    lt_shape kept = *lt_shape_at(g, x);
    for (int i = 0; i < kept.rank; i++) if (axes >> i & 1) kept.dim[i] = 1;
    return lt_reshape(g, y, kept);
}

lt_node lt_norm(lt_graph *g, lt_node x) { return lt_operand_ok(g, "norm", x) ? norm_over(g, x, all_axes(g, x), false) : LT_NONE; }
lt_node lt_norm1(lt_graph *g, lt_node x) { return lt_sum(g, lt_abs(g, x)); }
lt_node lt_norm_inf(lt_graph *g, lt_node x) { return lt_amax_abs(g, x); }

lt_node lt_norm_axis(lt_graph *g, lt_node x, double order, int axis, bool keepdims)
{
    if (order == 1) return lt_sum_axis(g, lt_abs(g, x), axis, keepdims);
    if (order == 2) return lt_axis_ok(g, "norm", x, &axis) ? norm_over(g, x, 1u << axis, keepdims) : LT_NONE;
    if (order == (double)INFINITY) return lt_amax_abs_axis(g, x, axis, keepdims);
    return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "norm of order %g: need 1, 2 or infinity", order));
}

/* ---- folds ---- */

lt_node lt_fold_max(lt_graph *g, lt_node c) { return lt_max(g, c); }
lt_node lt_fold_max_abs(lt_graph *g, lt_node c) { return lt_amax_abs(g, c); }
lt_node lt_fold_l1(lt_graph *g, lt_node c) { return lt_norm1(g, c); }
lt_node lt_fold_l2(lt_graph *g, lt_node c) { return lt_norm(g, c); }
