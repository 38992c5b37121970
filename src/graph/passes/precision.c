/* Mixed precision: products and convolutions read and write the storage type; what lies between
   them is computed in f32 and rounded once when stored. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/passes/passes.h"

static bool is_product(lt_op op)
{
    return op == LT_OP_MATMUL || op == LT_OP_CONV2D || op == LT_OP_CONV2D_DGRAD || op == LT_OP_CONV2D_WGRAD;
}

/* x in type t; a cast that only undoes another is dropped. */
static int32_t in_type(lt_rewrite *r, int32_t x, lt_dtype t)
{
    const lt_ir_node *n = &r->to->node[x];
    if (n->dtype == t) return x;
    if (n->op == LT_OP_CAST && r->to->node[n->in[0]].dtype == t) return n->in[0];
    return lt_rewrite_emit(r, LT_OP_CAST, t, NULL, 1, &x, NULL);
}

/* Whether x is an input, or elements of one in another order. */
static bool is_from_outside(const lt_ir *ir, int32_t x)
{
    for (const lt_ir_node *n = &ir->node[x];; n = &ir->node[n->in[0]]) {
        if (n->op == LT_OP_INPUT) return true;
        if (n->op != LT_OP_RESHAPE && n->op != LT_OP_VIEW && n->op != LT_OP_PLACE) return false;
    }
}

/* x with eleven digits, by Dekker's splitting: m - (m - x) with m = (2^13 + 1) x. Ops round one by one on every device. */
static int32_t with_tf32_digits(lt_rewrite *r, int32_t x)
{
    lt_shape shape = r->to->node[x].shape;
    int32_t factor = lt_rewrite_emit(r, LT_OP_FULL, LT_F32, &shape, 0, NULL, &(lt_attr){ .u.value = 8193 });
    if (factor < 0) return -1;
    int32_t more = lt_rewrite_emit(r, LT_OP_MUL, LT_F32, NULL, 2, (int32_t[]){ x, factor }, NULL);
    int32_t rest = more < 0 ? -1 : lt_rewrite_emit(r, LT_OP_SUB, LT_F32, NULL, 2, (int32_t[]){ more, x }, NULL);
    return rest < 0 ? -1 : lt_rewrite_emit(r, LT_OP_SUB, LT_F32, NULL, 2, (int32_t[]){ more, rest }, NULL);
}

/* The same product of rounded operands (decision 370). */
static int32_t tf32_product(lt_rewrite *r, const lt_ir_node *n)
{
    int32_t in[2] = { with_tf32_digits(r, r->map[n->in[0]]), -1 };
    lt_attr attr = n->attr;
    in[1] = in[0] < 0 ? -1 : n->in[1] == n->in[0] ? in[0] : with_tf32_digits(r, r->map[n->in[1]]);
    if (n->op != LT_OP_MATMUL) attr.u.conv.tf32 = true;
    return in[1] < 0 ? -1 : lt_rewrite_emit(r, (lt_op)n->op, LT_F32, NULL, 2, in, &attr);
}

static int32_t node(lt_rewrite *r, int32_t old)
{
    const lt_ir_node *n = &r->from->node[old];
    bool product = n->dtype == LT_F32 && is_product((lt_op)n->op), first = r->opt->full_first && product && is_from_outside(r->from, n->in[0]);
    if (r->opt->tf32 && product && !first) return tf32_product(r, n);
    if (!r->opt->low_precision || !product || first) return lt_rewrite_copy(r, old);
    int32_t in[2];
    for (int i = 0; i < 2; i++)
        if ((in[i] = in_type(r, r->map[n->in[i]], r->opt->storage_type)) < 0) return -1;
    int32_t y = lt_rewrite_emit(r, (lt_op)n->op, LT_F32, NULL, 2, in, &n->attr);
    return y < 0 ? -1 : lt_rewrite_emit(r, LT_OP_CAST, LT_F32, NULL, 1, &y, NULL);
}

const lt_pass_row lt_pass_precision = { "precision", LT_PASS_PRECISION, NULL, node, NULL };
