/* Derivative rules of factorisations, convolution, pooling and Fourier transforms. Every rule
   accepts adjoints with extra leading axes. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>

/* ---- factorisations ---- */

/* Elements [offset, offset + count(s)) of the last axis of a packed result, shaped s; axes
   before the last are kept in front. */
static lt_node packed_part(lt_graph *g, lt_node packed, int64_t offset, lt_shape s)
{
    lt_shape p = *lt_shape_at(g, packed), out = { .rank = p.rank - 1 };
    int64_t dense[LT_MAX_RANK];
    lt_affine v = { .offset = offset };
    lt_dense_strides(&p, dense);
    for (int i = 0; i < out.rank; i++) { out.dim[i] = p.dim[i]; v.stride[i] = dense[i]; }
    lt_affine inner = { .offset = 0 };
    lt_dense_strides(&s, inner.stride);
    for (int i = 0; i < s.rank; i++) { v.stride[out.rank] = inner.stride[i]; out.dim[out.rank++] = s.dim[i]; }
    return lt_view(g, packed, &out, &v);
}

/* left diag(d) right, for d with leading axes. */
static lt_node sandwich(lt_graph *g, lt_node left, lt_node d, lt_node right)
{
    return lt_matmul(g, lt_mul(g, left, lt_unsqueeze(g, d, -2)), right);
}

static lt_node vjp_eigh(lt_graph *g, lt_node y, lt_node adj)
{
    int64_t n = lt_shape_at(g, lt_input_of(g, y, 0))->dim[0];
    lt_node v = lt_detach(g, packed_part(g, y, 0, lt_shape2(n, n)));
    return sandwich(g, v, packed_part(g, adj, n * n, lt_shape1(n)), lt_transpose(g, v));
}

static lt_node vjp_svd(lt_graph *g, lt_node y, lt_node adj)
{
    const lt_shape *m = lt_shape_at(g, lt_input_of(g, y, 0));
    int64_t rows = m->dim[0], cols = m->dim[1], r = LT_MIN(rows, cols);
    lt_node u = lt_detach(g, packed_part(g, y, 0, lt_shape2(rows, r)));
    lt_node vt = lt_detach(g, packed_part(g, y, rows * r + r, lt_shape2(r, cols)));
    return sandwich(g, u, packed_part(g, adj, rows * r, lt_shape1(r)), vt);
}

static lt_node solve_transposed(lt_graph *g, lt_node a, lt_node b) { return lt_linsolve(g, lt_transpose(g, a), b); }

/* The lower triangle with its diagonal halved. */
static lt_node half_lower(lt_graph *g, lt_node x)
{
    int rank = lt_shape_at(g, x)->rank;
    int64_t n = lt_shape_at(g, x)->dim[rank - 1];
    lt_dtype t = lt_dtype_at(g, x);
    lt_node i = lt_unsqueeze(g, lt_arange(g, t, 0, 1, n), 1), j = lt_arange(g, t, 0, 1, n);
    return lt_mul(g, x, lt_scale(g, lt_add(g, lt_gt(g, i, j), lt_ge(g, i, j)), 0.5));
}

static lt_node vjp_cholesky(lt_graph *g, lt_node y, lt_node adj)
{
    lt_node p = half_lower(g, lt_matmul(g, lt_transpose(g, y), adj));
    lt_node s = lt_transpose(g, solve_transposed(g, y, lt_transpose(g, solve_transposed(g, y, p))));
    return lt_scale(g, lt_add(g, s, lt_transpose(g, s)), 0.5);
}

static lt_node vjp_solve(lt_graph *g, lt_node y, int i, lt_node adj)
{
    lt_node a = lt_input_of(g, y, 0);
    const lt_shape square = *lt_shape_at(g, a);
    const int lead = lt_shape_at(g, adj)->rank - lt_shape_at(g, y)->rank;
    lt_node gb = solve_transposed(g, a, adj);
    if (i == 1) return gb;
    return lt_unbroadcast(g, lt_neg(g, lt_matmul(g, gb, lt_transpose(g, y))), &square, lead);
}

static lt_node as_matrix_factor(lt_graph *g, lt_node s) { return lt_unsqueeze(g, lt_unsqueeze(g, s, -1), -1); }

/* The adjugate's transpose: det times the inverse, or what ADJUGATE finds where that is no number (decision 196). */
static lt_node vjp_det(lt_graph *g, lt_node m, lt_node y, lt_node adj)
{
    lt_dtype t = lt_dtype_at(g, y);
    lt_node size = lt_abs(g, lt_detach(g, y));
    lt_node regular = lt_mul(g, lt_gt(g, size, lt_scalar(g, t, 0)), lt_lt(g, size, lt_scalar(g, t, INFINITY)));
    lt_node usual = lt_mul(g, as_matrix_factor(g, lt_mul(g, adj, y)), lt_transpose(g, lt_inv(g, m)));
    lt_node adjugate = lt_emit_simple(g, LT_OP_ADJUGATE, 2, (lt_node[]){ m, y }, NULL);
    return lt_where(g, as_matrix_factor(g, regular), usual, lt_mul(g, as_matrix_factor(g, adj), lt_transpose(g, adjugate)));
}

lt_node lt_vjp_linalg(lt_graph *g, lt_node y, int i, lt_node adj)
{
    lt_node m = lt_input_of(g, y, 0);
    lt_op op = (lt_op)lt_get(g, y)->op;
    bool stack_ok = op == LT_OP_INV || op == LT_OP_DET || op == LT_OP_LOGDET || op == LT_OP_LOGABSDET;
    if (lt_shape_at(g, m)->rank != 2 && !stack_ok)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_UNSUPPORTED, "derivative of %s of a stack of matrices %s: only for one matrix",
                                        lt_op_name(op), lt_shape_str(lt_shape_at(g, m)).s));
    switch (op) {
    case LT_OP_EIG: return lt_emit_simple(g, LT_OP_EIG_GRAD, 3, (lt_node[]){ m, y, adj }, NULL);
    case LT_OP_EIGH: return vjp_eigh(g, y, adj);
    case LT_OP_SVD: return vjp_svd(g, y, adj);
    case LT_OP_CHOLESKY: return vjp_cholesky(g, y, adj);
    case LT_OP_SOLVE: return vjp_solve(g, y, i, adj);
    case LT_OP_INV: {
        lt_node t = lt_transpose(g, y);
        return lt_neg(g, lt_matmul(g, lt_matmul(g, t, adj), t));
    }
    case LT_OP_DET: return vjp_det(g, m, y, adj);
    default: return lt_mul(g, as_matrix_factor(g, adj), lt_transpose(g, lt_inv(g, m))); /* LOGDET, LOGABSDET */
    }
}

/* ---- networks ---- */

/* Merges the leading axes of adj (beyond rank) into the first of the others: [k, n, ..] -> [k n, ..]. */
static lt_node fold_lead(lt_graph *g, lt_node adj, int rank)
{
    lt_shape s = *lt_shape_at(g, adj), out = { .rank = rank };
    int lead = s.rank - rank;
    int64_t n = 1;
    for (int i = 0; i <= lead; i++) n *= s.dim[i];
    out.dim[0] = n;
    for (int i = 1; i < rank; i++) out.dim[i] = s.dim[lead + i];
    return lt_reshape(g, adj, out);
}

/* All leading axes of adj as one, of extent 1 if there were none: [.., shape] -> [k, shape]. */
static lt_node one_lead(lt_graph *g, lt_node adj, int rank)
{
    lt_shape s = *lt_shape_at(g, adj), out = { .rank = rank + 1 };
    int64_t k = 1;
    for (int i = 0; i < s.rank - rank; i++) k *= s.dim[i];
    out.dim[0] = k;
    for (int i = 0; i < rank; i++) out.dim[1 + i] = s.dim[s.rank - rank + i];
    return lt_reshape(g, adj, out);
}

/* Without leading axes adj stays as it is: then weight gradients can be differentiated again. */
static lt_node at_most_one_lead(lt_graph *g, lt_node adj, int rank)
{
    return lt_shape_at(g, adj)->rank == rank ? adj : one_lead(g, adj, rank);
}

static lt_node conv_op(lt_graph *g, lt_op op, lt_node a, lt_node b, const lt_attr *attr)
{
    return lt_emit_simple(g, op, 2, (lt_node[]){ a, b }, attr);
}

/* Weights that differ for each leading index: one convolution each, stacked. */
static lt_node conv_per_lead(lt_graph *g, lt_op op, lt_node a, lt_node adj, const lt_attr *attr, const lt_shape *like)
{
    lt_shape out = lt_with_lead(g, adj, 4, like);
    lt_node stacked = one_lead(g, adj, 4);
    if (lt_is_none(stacked)) return stacked;
    int64_t k = lt_shape_at(g, stacked)->dim[0];
    lt_node *each = lt_arena_alloc(&g->arena, LT_MAX((size_t)k, 1) * sizeof *each);
    if (!each) return lt_graph_fail(g, LT_ERR_MEMORY);
    for (int64_t j = 0; j < k; j++) each[j] = conv_op(g, op, a, lt_at(g, stacked, j), attr);
    lt_node all = lt_stack(g, each, (int)k, 0);
    return lt_is_none(all) ? all : lt_reshape(g, all, out);
}

static lt_node vjp_conv(lt_graph *g, lt_node y, int i, lt_node adj)
{
    lt_node a = lt_input_of(g, y, 0), b = lt_input_of(g, y, 1);
    const lt_shape target = *lt_shape_at(g, i ? b : a);
    const lt_attr attr = lt_get(g, y)->attr;
    lt_op op = (lt_op)lt_get(g, y)->op;
    const lt_shape out = lt_with_lead(g, adj, 4, &target);
    lt_node d;
    if (op == LT_OP_CONV2D) /* y = conv(x = a, w = b) */
        d = i == 0 ? conv_op(g, LT_OP_CONV2D_DGRAD, fold_lead(g, adj, 4), b, &attr)
                   : conv_op(g, LT_OP_CONV2D_WGRAD, a, at_most_one_lead(g, adj, 4), &attr);
    else if (op == LT_OP_CONV2D_DGRAD) /* y = dgrad(gy = a, w = b) */
        d = i == 0 ? conv_op(g, LT_OP_CONV2D, fold_lead(g, adj, 4), b, &attr)
                   : conv_op(g, LT_OP_CONV2D_WGRAD, at_most_one_lead(g, adj, 4), a, &attr);
    else if (target.rank != 4 || lt_shape_at(g, i ? a : b)->rank != 4)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_UNSUPPORTED, "second derivative of a Jacobian of conv2d"));
    else /* y = wgrad(x = a, gy = b); adj is a set of weights */
        return conv_per_lead(g, i == 0 ? LT_OP_CONV2D_DGRAD : LT_OP_CONV2D, i == 0 ? b : a, adj, &attr, &target);
    return lt_is_none(d) ? d : lt_reshape(g, d, out);
}

/* Each column of the half spectrum stands for itself (weight `edge`) or for itself and its mirror
   image (weight `inner`). */
static lt_node weigh_columns(lt_graph *g, lt_node x, int64_t width, double edge, double inner)
{
    int64_t columns = width / 2 + 1;
    lt_dtype t = lt_dtype_at(g, x);
    void *w = lt_arena_alloc(&g->arena, (size_t)columns * lt_dtype_size(t));
    if (!w) return lt_graph_fail(g, LT_ERR_MEMORY);
    for (int64_t c = 0; c < columns; c++) lt_store_double(t, w, c, c == 0 || 2 * c == width ? edge : inner);
    return lt_mul(g, x, lt_constant(g, t, lt_shape2(columns, 1), w));
}

lt_node lt_vjp_network(lt_graph *g, lt_node y, int i, lt_node adj)
{
    lt_node x = lt_input_of(g, y, 0);
    const lt_attr attr = lt_get(g, y)->attr;
    switch ((lt_op)lt_get(g, y)->op) {
    case LT_OP_AVGPOOL: return lt_emit_simple(g, LT_OP_AVGPOOL_GRAD, 1, &adj, &attr);
    case LT_OP_AVGPOOL_GRAD: return lt_emit_simple(g, LT_OP_AVGPOOL, 1, &adj, &attr);
    case LT_OP_RFFT2: {
        int64_t width = lt_shape_at(g, x)->dim[lt_shape_at(g, x)->rank - 1];
        return lt_irfft2(g, weigh_columns(g, adj, width, 1, 0.5), width);
    }
    case LT_OP_IRFFT2: return weigh_columns(g, lt_rfft2(g, adj), attr.u.index.extent, 1, 2);
    default: return vjp_conv(g, y, i, adj);
    }
}
