/* The op table. To add an op: its name in kernels/op.h, its row here, its kernels, one test case.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/ops.h"

#include "base/status.h"
#include "graph/infer.h"

/* Rough FLOPs per element, for plans and the fusion's idea of cost; not a measurement. */
#define LOCAL(id, rule, cost) [LT_OP_##id] = { lt_infer_elementwise, LT_DIFF_LOCAL, rule, NULL, cost }
#define STEP(id, cost) [LT_OP_##id] = { lt_infer_elementwise, LT_DIFF_ZERO, NULL, NULL, cost }
#define RULE(id, infer, rule) [LT_OP_##id] = { infer, LT_DIFF_RULE, NULL, rule, 1 }
#define FLAT(id, infer) [LT_OP_##id] = { infer, LT_DIFF_ZERO, NULL, NULL, 1 }
#define U(id, cost) LOCAL(id, lt_deriv_unary, cost)
#define B(id, cost) LOCAL(id, lt_deriv_binary, cost)

static const lt_op_row rows[LT_OP_COUNT] = {
    U(NEG, 1), U(ABS, 1), STEP(SIGN, 1), U(SQUARE, 1), U(SQRT, 4), U(CBRT, 20), U(EXP, 12), U(EXPM1, 16),
    U(LOG, 12), U(LOG1P, 16), U(SIN, 14), U(COS, 14), U(TAN, 20), U(ASIN, 20), U(ACOS, 20), U(ATAN, 16),
    U(SINH, 20), U(COSH, 20), U(TANH, 18), U(SIGMOID, 16), U(SOFTPLUS, 26), U(RELU, 1), U(GELU, 20),
    U(ERF, 18), STEP(FLOOR, 1), U(RECIP, 4),
    B(ADD, 1), B(SUB, 1), B(MUL, 1), B(DIV, 4), B(POW, 30), B(ATAN2, 24), B(HYPOT, 8), B(MIN, 1), B(MAX, 1),
    STEP(LT, 1), STEP(LE, 1), STEP(GT, 1), STEP(GE, 1), STEP(EQ, 1),
    LOCAL(WHERE, lt_deriv_ternary, 1), LOCAL(CLAMP, lt_deriv_ternary, 2),

    FLAT(INPUT, lt_infer_source), FLAT(CONST, lt_infer_source), FLAT(FULL, lt_infer_source),
    RULE(CAST, lt_infer_cast, lt_vjp_shape), RULE(RESHAPE, lt_infer_reshape, lt_vjp_shape),
    RULE(VIEW, lt_infer_view, lt_vjp_shape), RULE(PLACE, lt_infer_place, lt_vjp_shape),
    RULE(SUM, lt_infer_reduce, lt_vjp_reduce), RULE(RMAX, lt_infer_reduce, lt_vjp_reduce),
    RULE(RMIN, lt_infer_reduce, lt_vjp_reduce),
    FLAT(ARGMAX, lt_infer_arg), FLAT(ARGMIN, lt_infer_arg),
    RULE(CUMSUM, lt_infer_cumsum, lt_vjp_index), FLAT(TOPK_INDEX, lt_infer_topk),
    RULE(TAKE, lt_infer_take, lt_vjp_index), RULE(PUT, lt_infer_put, lt_vjp_index),
    RULE(TAKE_ALONG, lt_infer_take_along, lt_vjp_index), RULE(PUT_ALONG, lt_infer_put_along, lt_vjp_index),
    RULE(MATMUL, lt_infer_matmul, lt_vjp_matmul),
    RULE(EIG, lt_infer_square_matrix, lt_vjp_linalg),
    [LT_OP_EIG_GRAD] = { lt_infer_eig_grad, LT_DIFF_MISSING, NULL, NULL, 0 },
    RULE(EIGH, lt_infer_square_matrix, lt_vjp_linalg), RULE(SVD, lt_infer_svd, lt_vjp_linalg),
    RULE(CHOLESKY, lt_infer_square_matrix, lt_vjp_linalg), RULE(SOLVE, lt_infer_solve, lt_vjp_linalg),
    RULE(INV, lt_infer_square_matrix, lt_vjp_linalg), RULE(DET, lt_infer_square_matrix, lt_vjp_linalg),
    RULE(LOGDET, lt_infer_square_matrix, lt_vjp_linalg),
    RULE(CONV2D, lt_infer_conv, lt_vjp_network), RULE(CONV2D_DGRAD, lt_infer_conv_dgrad, lt_vjp_network),
    RULE(CONV2D_WGRAD, lt_infer_conv_wgrad, lt_vjp_network),
    FLAT(MAXPOOL_INDEX, lt_infer_pool), RULE(AVGPOOL, lt_infer_pool, lt_vjp_network),
    RULE(AVGPOOL_GRAD, lt_infer_pool_grad, lt_vjp_network),
    RULE(RFFT2, lt_infer_fft, lt_vjp_network), RULE(IRFFT2, lt_infer_fft, lt_vjp_network),
};
_Static_assert(LT_OP_COUNT == 78, "a new op needs its row above");

const lt_op_row *lt_op_get(lt_op op) { return &rows[op]; }

lt_status lt_op_infer(lt_infer *x)
{
    int arity = lt_op_arity(x->op);
    if (arity >= 0 && x->n_in != arity)
        return LT_FAIL(LT_ERR_ARGUMENT, "%s takes %d operands, got %d", lt_op_name(x->op), arity, x->n_in);
    LT_TRY(rows[x->op].infer(x));
    /* Sizes in bytes must fit as well, for elements of up to 16 bytes. */
    int64_t count = lt_shape_count(&x->shape);
    if (count < 0 || count > INT64_MAX / 16)
        return LT_FAIL(LT_ERR_SHAPE, "%s to %s: too many elements", lt_op_name(x->op), lt_shape_str(&x->shape).s);
    return LT_OK;
}

static double matrix_flops(const lt_ir *ir, const lt_ir_node *n)
{
    const lt_shape *a = &ir->node[n->in[0]].shape;
    double rows_ = a->rank >= 2 ? (double)a->dim[a->rank - 2] : 1, cols = a->rank >= 1 ? (double)a->dim[a->rank - 1] : 1;
    double batch = rows_ * cols > 0 ? (double)lt_shape_count(a) / (rows_ * cols) : 0;
    switch ((lt_op)n->op) {
    case LT_OP_EIG: return 10 * batch * rows_ * rows_ * rows_;
    case LT_OP_EIG_GRAD: return 6 * rows_ * rows_ * rows_;
    case LT_OP_EIGH: return 9 * batch * rows_ * rows_ * rows_;
    case LT_OP_SVD: return 20 * batch * rows_ * cols * LT_MIN(rows_, cols);
    case LT_OP_CHOLESKY: return batch * rows_ * rows_ * rows_ / 3;
    case LT_OP_INV: return 2 * batch * rows_ * rows_ * rows_;
    case LT_OP_SOLVE: return 2.0 / 3 * rows_ * rows_ * rows_ + 2 * rows_ * (double)lt_shape_count(&n->shape);
    default: return 2.0 / 3 * batch * rows_ * rows_ * rows_; /* DET LOGDET */
    }
}

static double product_flops(const lt_ir *ir, const lt_ir_node *n)
{
    const lt_shape *a = &ir->node[n->in[0]].shape, *b = &ir->node[n->in[1]].shape;
    double out = (double)lt_shape_count(&n->shape);
    switch ((lt_op)n->op) {
    case LT_OP_MATMUL: return 2 * out * (double)a->dim[a->rank - 1 - n->attr.u.trans.a];
    case LT_OP_CONV2D: return 2 * out * (double)(b->dim[1] * b->dim[2] * b->dim[3]);
    case LT_OP_CONV2D_DGRAD: return 2 * (double)lt_shape_count(a) * (double)(b->dim[1] * b->dim[2] * b->dim[3]);
    default: { /* WGRAD: every output of the convolution meets one weight of its filter */
        const lt_shape *w = &n->shape;
        double filter = (double)(w->dim[w->rank - 1] * w->dim[w->rank - 2] * w->dim[w->rank - 3]);
        return 2 * (double)lt_shape_count(b) * filter;
    }
    }
}

void lt_op_cost(const lt_ir *ir, int32_t id, double *flops, double *bytes)
{
    const lt_ir_node *n = &ir->node[id];
    double out = (double)lt_shape_count(&n->shape);
    *bytes = out * (double)lt_dtype_size((lt_dtype)n->dtype);
    for (int i = 0; i < n->n_in; i++) {
        const lt_ir_node *a = &ir->node[lt_ir_in(n, i)];
        *bytes += (double)lt_shape_count(&a->shape) * (double)lt_dtype_size((lt_dtype)a->dtype);
    }
    lt_op op = (lt_op)n->op;
    if (lt_op_is_elementwise(op)) *flops = out * rows[op].flops_per_element;
    else if (lt_op_is_reduce(op)) *flops = (double)lt_shape_count(&ir->node[n->in[0]].shape);
    else if (op == LT_OP_MATMUL || op == LT_OP_CONV2D || op == LT_OP_CONV2D_DGRAD || op == LT_OP_CONV2D_WGRAD)
        *flops = product_flops(ir, n);
    else if (op >= LT_OP_EIG && op <= LT_OP_LOGDET) *flops = matrix_flops(ir, n);
    else if (op == LT_OP_RFFT2 || op == LT_OP_IRFFT2) *flops = 15 * out; /* 2.5 N log2 N, N about 64 x 64 */
    else *flops = 0;
}
