/* Rules of the ops, out of their rows in kernels/ops.def. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/ops.h"

#include "base/status.h"
#include "graph/infer.h"

#define DIFF_REAL LT_DIFF_LOCAL
#define DIFF_WHOLE LT_DIFF_LOCAL
#define DIFF_PICK LT_DIFF_LOCAL
#define DIFF_STEP LT_DIFF_ZERO
#define RULE(f) LT_DIFF_RULE, f
#define FLAT LT_DIFF_ZERO, NULL
#define MISSING LT_DIFF_MISSING, NULL

static const lt_op_row rows[LT_OP_COUNT] = {
#define LT_UNARY(ID, name, x, flops, kind, ...) [LT_OP_##ID] = { lt_infer_elementwise, DIFF_##kind, NULL },
#define LT_BINARY(ID, name, a, b, flops, kind, ...) [LT_OP_##ID] = { lt_infer_elementwise, DIFF_##kind, NULL },
#define LT_TERNARY(ID, name, x, y, z, flops, kind, ...) [LT_OP_##ID] = { lt_infer_elementwise, DIFF_##kind, NULL },
#define LT_SOURCE(ID, name, doc) [LT_OP_##ID] = { lt_infer_source, FLAT },
#define LT_OTHER(ID, name, n, infer, gradient, ...) [LT_OP_##ID] = { infer, gradient },
#include "kernels/ops.def"
};

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
