/* Public builders: products, factorisations, eigenvalues and singular values.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "graph/build/build.h"

#include <float.h>

#define LABEL(x) lt_node_label(&g->ir, (x).id).s
#define SHAPE(x) lt_shape_str(lt_shape_at(g, x)).s

lt_node lt_dot(lt_graph *g, lt_node a, lt_node b)
{
    if (!lt_operands_ok(g, "dot", 2, (lt_node[]){ a, b })) return LT_NONE;
    const lt_shape *sa = lt_shape_at(g, a), *sb = lt_shape_at(g, b);
    if (sa->rank != 1 || sb->rank != 1 || sa->dim[0] != sb->dim[0])
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "dot of %s %s and %s %s: need two vectors of one length",
                                        LABEL(a), SHAPE(a), LABEL(b), SHAPE(b)));
    return lt_sum(g, a.id == b.id ? lt_square(g, a) : lt_mul(g, a, b));
}

lt_node lt_outer(lt_graph *g, lt_node a, lt_node b)
{
    return lt_mul(g, lt_unsqueeze(g, lt_flatten(g, a), 1), lt_unsqueeze(g, lt_flatten(g, b), 0));
}

/* The product of operands of rank >= 2; a stack of matrices by one matrix is one tall product. */
static lt_node product(lt_graph *g, lt_node a, lt_node b)
{
    lt_shape sa = *lt_shape_at(g, a);
    const lt_shape *sb = lt_shape_at(g, b);
    if (sa.rank == 2 || sb->rank != 2 || sa.dim[sa.rank - 1] != sb->dim[0])
        return lt_emit_simple(g, LT_OP_MATMUL, 2, (lt_node[]){ a, b }, NULL);
    int64_t n = sb->dim[1], k = sb->dim[0];
    lt_node tall = lt_reshape(g, a, lt_shape2(k ? lt_shape_count(&sa) / k : 0, k));
    lt_node y = lt_emit_simple(g, LT_OP_MATMUL, 2, (lt_node[]){ tall, b }, NULL);
    sa.dim[sa.rank - 1] = n;
    return k ? lt_reshape(g, y, sa) : lt_full(g, lt_dtype_at(g, a), sa, 0);
}

lt_node lt_matmul(lt_graph *g, lt_node a, lt_node b)
{
    if (!lt_operands_ok(g, "matmul", 2, (lt_node[]){ a, b })) return LT_NONE;
    int ra = lt_shape_at(g, a)->rank, rb = lt_shape_at(g, b)->rank;
    if (ra == 0 || rb == 0)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "matmul of %s %s by %s %s: scalars multiply with *", LABEL(a), SHAPE(a), LABEL(b), SHAPE(b)));
    lt_dtype ta = lt_dtype_at(g, a), tb = lt_dtype_at(g, b), t = ta == tb ? ta : LT_MAX(ta, tb);
    if (ta != tb && ta <= LT_F64 && tb <= LT_F64) {
        a = lt_cast(g, a, t <= LT_BF16 ? LT_F32 : t);
        b = lt_cast(g, b, t <= LT_BF16 ? LT_F32 : t);
    }
    if (ra == 1 && rb == 1) return lt_dot(g, a, b);
    if (ra == 1) {
        lt_node y = product(g, lt_unsqueeze(g, a, 0), b);
        return lt_is_none(y) ? y : lt_squeeze(g, y, -2);
    }
    if (rb == 1) {
        lt_node y = product(g, a, lt_unsqueeze(g, b, 1));
        return lt_is_none(y) ? y : lt_squeeze(g, y, -1);
    }
    return product(g, a, b);
}

lt_node lt_inv(lt_graph *g, lt_node m) { return lt_emit_simple(g, LT_OP_INV, 1, &m, NULL); }
lt_node lt_det(lt_graph *g, lt_node m) { return lt_emit_simple(g, LT_OP_DET, 1, &m, NULL); }
lt_node lt_logdet(lt_graph *g, lt_node m) { return lt_emit_simple(g, LT_OP_LOGDET, 1, &m, NULL); }
lt_node lt_logabsdet(lt_graph *g, lt_node m) { return lt_emit_simple(g, LT_OP_LOGABSDET, 1, &m, NULL); }
lt_node lt_cholesky(lt_graph *g, lt_node m) { return lt_emit_simple(g, LT_OP_CHOLESKY, 1, &m, NULL); }

/* lt_solve is the optimizer (decision 31). */
lt_node lt_linsolve(lt_graph *g, lt_node a, lt_node b)
{
    if (!lt_operands_ok(g, "solve", 2, (lt_node[]){ a, b })) return LT_NONE;
    bool vector = lt_shape_at(g, b)->rank == 1;
    if (vector) b = lt_unsqueeze(g, b, 1);
    lt_node x = lt_emit_simple(g, LT_OP_SOLVE, 2, (lt_node[]){ a, b }, NULL);
    return vector && !lt_is_none(x) ? lt_squeeze(g, x, 1) : x;
}

/* ---- eigenvalues and singular values: packed results, taken apart by views (decision 21) ---- */

static bool is_matrix(lt_graph *g, const char *op, lt_node m)
{
    if (!lt_operand_ok(g, op, m)) return false;
    if (lt_shape_at(g, m)->rank == 2) return true;
    lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: needs a matrix", op, LABEL(m), SHAPE(m)));
    return false;
}

static lt_node part(lt_graph *g, lt_node packed, int64_t offset, lt_shape s)
{
    lt_affine view = { .offset = offset };
    lt_dense_strides(&s, view.stride);
    return lt_view(g, packed, &s, &view);
}

static lt_node eig_row(lt_graph *g, const char *name, lt_node m, int row)
{
    if (!is_matrix(g, name, m)) return LT_NONE;
    return lt_at(g, lt_emit_simple(g, LT_OP_EIG, 1, &m, NULL), row);
}

lt_node lt_eigvals_re(lt_graph *g, lt_node m) { return eig_row(g, "eigvals_re", m, 0); }
lt_node lt_eigvals_im(lt_graph *g, lt_node m) { return eig_row(g, "eigvals_im", m, 1); }

lt_node lt_eigh(lt_graph *g, lt_node m, lt_node *vectors)
{
    if (vectors) *vectors = LT_NONE;
    if (!is_matrix(g, "eigh", m)) return LT_NONE;
    int64_t n = lt_shape_at(g, m)->dim[0];
    lt_node packed = lt_emit_simple(g, LT_OP_EIGH, 1, &m, NULL);
    if (lt_is_none(packed)) return packed;
    if (vectors) *vectors = lt_detach(g, part(g, packed, 0, lt_shape2(n, n)));
    return part(g, packed, n * n, lt_shape1(n));
}

lt_node lt_eigvalsh(lt_graph *g, lt_node m) { return lt_eigh(g, m, NULL); }

lt_node lt_svd(lt_graph *g, lt_node m, lt_node *u, lt_node *vt)
{
    if (u) *u = LT_NONE;
    if (vt) *vt = LT_NONE;
    if (!is_matrix(g, "svd", m)) return LT_NONE;
    int64_t rows = lt_shape_at(g, m)->dim[0], cols = lt_shape_at(g, m)->dim[1], r = LT_MIN(rows, cols);
    lt_node packed = lt_emit_simple(g, LT_OP_SVD, 1, &m, NULL);
    if (lt_is_none(packed)) return packed;
    if (u) *u = lt_detach(g, part(g, packed, 0, lt_shape2(rows, r)));
    if (vt) *vt = lt_detach(g, part(g, packed, rows * r + r, lt_shape2(r, cols)));
    return part(g, packed, rows * r, lt_shape1(r));
}

lt_node lt_svdvals(lt_graph *g, lt_node m) { return lt_svd(g, m, NULL, NULL); }

/* Singular values at rounding level have arbitrary vectors: they are left out, so that the
   gradient U V' is that of the numerical rank. */
lt_node lt_norm_nuc(lt_graph *g, lt_node m)
{
    lt_node s = lt_svdvals(g, m);
    if (lt_is_none(s)) return s;
    const lt_shape *shape = lt_shape_at(g, m);
    double eps = lt_dtype_at(g, m) == LT_F64 ? DBL_EPSILON : FLT_EPSILON;
    if (lt_shape_at(g, s)->dim[0] == 0) return lt_sum(g, s);
    double relative = eps * (double)LT_MAX(shape->dim[0], shape->dim[1]);
    lt_node floor_ = lt_scale(g, lt_detach(g, lt_at(g, s, 0)), relative);
    return lt_sum(g, lt_where(g, lt_gt(g, s, floor_), s, lt_scalar(g, lt_node_dtype(g, s), 0)));
}

lt_node lt_norm_spec(lt_graph *g, lt_node m)
{
    lt_node s = lt_svdvals(g, m);
    return lt_is_none(s) ? s : lt_at(g, s, 0);
}
