/* Derivative rules of movement, reductions, indexing and products. Every rule accepts adjoints
   with extra leading axes (decision 22). SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "base/status.h"
#include "graph/build/build.h"

static int lead_of(const lt_graph *g, lt_node y, lt_node adj) { return lt_shape_at(g, adj)->rank - lt_shape_at(g, y)->rank; }

lt_shape lt_with_lead(const lt_graph *g, lt_node adj, int y_rank, const lt_shape *shape)
{
    const lt_shape *a = lt_shape_at(g, adj);
    lt_shape s = { .rank = a->rank - y_rank };
    for (int i = 0; i < s.rank; i++) s.dim[i] = a->dim[i];
    for (int i = 0; i < shape->rank && s.rank < LT_MAX_RANK; i++) s.dim[s.rank++] = shape->dim[i];
    return s;
}

lt_node lt_unbroadcast(lt_graph *g, lt_node adj, const lt_shape *shape, int lead)
{
    const lt_shape target = *shape, a = *lt_shape_at(g, adj);
    int extra = a.rank - lead - target.rank;
    uint32_t axes = 0;
    for (int i = lead; i < a.rank; i++) {
        int k = i - lead - extra;
        if (k < 0 || (target.dim[k] == 1 && a.dim[i] != 1)) axes |= 1u << i;
    }
    lt_shape s = { .rank = lead };
    for (int i = 0; i < lead; i++) s.dim[i] = a.dim[i];
    for (int i = 0; i < target.rank; i++) s.dim[s.rank++] = target.dim[i];
    lt_node y = lt_reduce(g, LT_OP_SUM, adj, axes, false);
    return lt_is_none(y) ? y : lt_reshape(g, y, s);
}

/* ---- movement ---- */

/* Axes of the view that move through the base, largest step first. */
static int moving_axes(const lt_affine *v, const lt_shape *s, int *axis)
{
    int n = 0;
    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] > 1 && v->stride[i] != 0) axis[n++] = i;
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && v->stride[axis[k]] > v->stride[axis[k - 1]]; k--) {
            int t = axis[k]; axis[k] = axis[k - 1]; axis[k - 1] = t;
        }
    return n;
}

/* Whether the moving axes visit every base element once: then the transpose is a view, too. */
static bool is_permutation(const lt_affine *v, const lt_shape *s, const int *axis, int n, int64_t base_count)
{
    int64_t step = 1;
    for (int i = n - 1; i >= 0; i--) {
        if (v->stride[axis[i]] != step) return false;
        step *= s->dim[axis[i]];
    }
    return step == base_count && v->offset == 0;
}

/* Transpose of an affine gather: sum over the broadcast axes, then scatter. */
static lt_node vjp_view(lt_graph *g, lt_node y, lt_node adj)
{
    const lt_shape s = *lt_shape_at(g, y), base = *lt_shape_at(g, lt_input_of(g, y, 0));
    const lt_affine v = lt_get(g, y)->attr.u.view;
    const int lead = lead_of(g, y, adj);
    int axis[LT_MAX_RANK], perm[LT_MAX_RANK], n = moving_axes(&v, &s, axis);
    lt_shape out = lt_with_lead(g, adj, s.rank, &base);
    uint32_t still = 0; /* axes of adj to sum away */
    for (int i = 0; i < s.rank; i++) if (s.dim[i] != 1 && v.stride[i] == 0) still |= 1u << (lead + i);
    lt_node a = lt_reduce(g, LT_OP_SUM, adj, still, true);
    if (lt_is_none(a)) return a;
    if (is_permutation(&v, &s, axis, n, lt_shape_count(&base))) {
        for (int i = 0; i < lead; i++) perm[i] = i;
        for (int i = 0; i < n; i++) perm[lead + i] = lead + axis[i];
        for (int i = 0, k = lead + n; i < s.rank; i++)
            if (s.dim[i] <= 1 || v.stride[i] == 0) perm[k++] = lead + i;
        return lt_reshape(g, lt_permute(g, a, perm), out);
    }
    lt_affine at = { .offset = v.offset };
    int64_t dense[LT_MAX_RANK];
    lt_dense_strides(&out, dense);
    for (int i = 0; i < lead; i++) at.stride[i] = dense[i];
    for (int i = 0; i < s.rank; i++) at.stride[lead + i] = s.dim[i] > 1 ? v.stride[i] : 0;
    return lt_place(g, &out, 1, &a, &at);
}

/* Part i of place: the gather with the same map. */
static lt_node vjp_place(lt_graph *g, lt_node y, int i, lt_node adj)
{
    const lt_shape part = *lt_shape_at(g, lt_input_of(g, y, i)), a = *lt_shape_at(g, adj);
    const lt_affine at = lt_get(g, y)->attr.u.place[i];
    const int lead = lead_of(g, y, adj);
    lt_shape s = lt_with_lead(g, adj, lt_shape_at(g, y)->rank, &part);
    int64_t dense[LT_MAX_RANK];
    lt_affine v = { .offset = at.offset };
    lt_dense_strides(&a, dense);
    for (int k = 0; k < lead; k++) v.stride[k] = dense[k];
    for (int k = 0; k < part.rank; k++) v.stride[lead + k] = at.stride[k];
    return lt_view(g, adj, &s, &v);
}

lt_node lt_vjp_shape(lt_graph *g, lt_node y, int i, lt_node adj)
{
    lt_node x = lt_input_of(g, y, i);
    switch ((lt_op)lt_get(g, y)->op) {
    case LT_OP_CAST: return lt_dtype_is_float(lt_dtype_at(g, x)) ? lt_cast(g, adj, lt_dtype_at(g, x)) : LT_NONE;
    case LT_OP_RESHAPE: {
        if (lt_get(g, y)->detached) return LT_NONE;
        lt_shape in = *lt_shape_at(g, x);
        return lt_reshape(g, adj, lt_with_lead(g, adj, lt_shape_at(g, y)->rank, &in));
    }
    case LT_OP_VIEW: return vjp_view(g, y, adj);
    default: return vjp_place(g, y, i, adj);
    }
}

/* ---- reductions ---- */

lt_node lt_vjp_reduce(lt_graph *g, lt_node y, int i, lt_node adj)
{
    (void)i;
    lt_node x = lt_input_of(g, y, 0);
    const lt_shape in = *lt_shape_at(g, x);
    const uint32_t axes = lt_get(g, y)->attr.u.reduce.axes;
    lt_shape kept = in;
    for (int k = 0; k < in.rank; k++) if (axes >> k & 1) kept.dim[k] = 1;
    const int y_rank = lt_shape_at(g, y)->rank;
    lt_node spread = lt_reshape(g, adj, lt_with_lead(g, adj, y_rank, &kept));
    if (lt_is_none(spread)) return spread;
    spread = lt_broadcast_to(g, spread, lt_with_lead(g, adj, y_rank, &in));
    if (lt_get(g, y)->op == LT_OP_SUM) return spread;
    lt_node hit = lt_eq(g, x, lt_reshape(g, y, kept)); /* 1 at every tie */
    return lt_mul(g, spread, lt_div(g, hit, lt_reduce(g, LT_OP_SUM, hit, axes, true)));
}

lt_node lt_norm_slope(lt_graph *g, lt_node y)
{
    lt_node at_zero = lt_eq(g, y, lt_scalar(g, lt_dtype_at(g, y), 0)); /* slope 0 there, as the squares have none (decision 24) */
    return lt_rdiv(g, 0.5, lt_add(g, y, at_zero));
}

/* Through the sum of squares alone: x is read for the value. */
lt_node lt_vjp_norm(lt_graph *g, lt_node y, int i, lt_node adj) { return i == 1 ? LT_NONE : lt_mul(g, adj, lt_norm_slope(g, y)); }

/* ---- indexing ---- */

lt_node lt_vjp_index(lt_graph *g, lt_node y, int i, lt_node adj)
{
    if (i == 1) return LT_NONE;
    lt_node x = lt_input_of(g, y, 0);
    const lt_shape in = *lt_shape_at(g, x);
    lt_attr attr = lt_get(g, y)->attr;
    const int lead = lead_of(g, y, adj);
    lt_op op = (lt_op)lt_get(g, y)->op;
    attr.u.index.axis += lead;
    if (op == LT_OP_CUMSUM) {
        attr.u.index.reverse = !attr.u.index.reverse;
        return lt_emit_simple(g, LT_OP_CUMSUM, 1, &adj, &attr);
    }
    lt_node operands[2] = { adj, lt_input_of(g, y, 1) };
    if (op == LT_OP_TAKE) attr.u.index.extent = in.dim[attr.u.index.axis - lead];
    if (op == LT_OP_TAKE_ALONG) attr.u.index.extent = in.dim[in.rank - 1];
    lt_op transpose = op == LT_OP_TAKE ? LT_OP_PUT : op == LT_OP_PUT ? LT_OP_TAKE
                    : op == LT_OP_TAKE_ALONG ? LT_OP_PUT_ALONG : LT_OP_TAKE_ALONG;
    return lt_emit_simple(g, transpose, 2, operands, &attr);
}

/* ---- products ---- */

lt_node lt_vjp_matmul(lt_graph *g, lt_node y, int i, lt_node adj)
{
    lt_node a = lt_input_of(g, y, 0), b = lt_input_of(g, y, 1);
    const lt_shape target = *lt_shape_at(g, i ? b : a);
    const int lead = lead_of(g, y, adj);
    lt_node d = i ? lt_matmul(g, lt_transpose(g, a), adj) : lt_matmul(g, adj, lt_transpose(g, b));
    return lt_is_none(d) ? d : lt_unbroadcast(g, d, &target, lead);
}
