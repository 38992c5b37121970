/* Layout: convolutions that feed each other work on [n,h,w,c], where the channels of a pixel lie
   side by side, and what lies between them follows. SPDX-License-Identifier: BSD-3-Clause

   A tensor in the other layout is written as a view that permutes it back, so every rule is local:
   a convolution of such a view takes the tensor below it, an elementwise op of such views is done
   below them, and views that remain at the end are copies. */
#include "graph/passes/passes.h"

#include "base/alloc.h"
#include "base/status.h"

#define ENOUGH_CHANNELS 16  /* below this a pixel's channels do not fill a vector */
#define REACH 24            /* elementwise ops looked through for a neighbouring convolution */

static const int to_last[4] = { 0, 2, 3, 1 }; /* axis i of [n,h,w,c] is axis to_last[i] of [n,c,h,w] */
static const int to_first[4] = { 0, 3, 1, 2 };

static bool is_conv(lt_op op) { return op == LT_OP_CONV2D || op == LT_OP_CONV2D_DGRAD || op == LT_OP_CONV2D_WGRAD; }

/* ---- which convolutions ---- */

static bool is_wide(const lt_ir *ir, int32_t id)
{
    const lt_ir_node *n = &ir->node[id];
    if (n->op != LT_OP_CONV2D || n->attr.u.conv.channels_last || n->dtype == LT_F64) return false;
    const lt_shape *w = &ir->node[n->in[1]].shape;
    return w->dim[0] >= ENOUGH_CHANNELS && w->dim[1] * n->attr.u.conv.groups >= ENOUGH_CHANNELS;
}

/* The wide convolution whose result reaches x through elementwise ops alone; -1 if none. */
static int32_t feeding_conv(const lt_ir *ir, int32_t x, int reach)
{
    const lt_ir_node *n = &ir->node[x];
    if (is_wide(ir, x)) return x;
    if (reach == 0 || !(lt_op_is_elementwise((lt_op)n->op) || n->op == LT_OP_CAST)) return -1;
    for (int i = 0; i < n->n_in; i++) {
        int32_t found = feeding_conv(ir, n->in[i], reach - 1);
        if (found >= 0) return found;
    }
    return -1;
}

static lt_status begin(lt_rewrite *r)
{
    bool *chosen = lt_calloc((size_t)r->from->n_nodes + 1, sizeof *chosen);
    r->state = chosen;
    if (!chosen) return LT_ERR_MEMORY;
    for (int32_t id = 0; id < r->from->n_nodes; id++) {
        if (!r->uses[id] || !is_wide(r->from, id)) continue;
        int32_t before = feeding_conv(r->from, r->from->node[id].in[0], REACH);
        if (before >= 0) chosen[id] = chosen[before] = true;
    }
    return LT_OK;
}

static void end(lt_rewrite *r) { lt_free(r->state); }

/* ---- views between the layouts ---- */

static int32_t permuted(lt_rewrite *r, int32_t x, const int *axes)
{
    const lt_shape from = r->to->node[x].shape;
    lt_shape s = from;
    int64_t dense[LT_MAX_RANK];
    lt_affine v = { .offset = 0 };
    lt_dense_strides(&from, dense);
    for (int i = 0; i < 4; i++) {
        s.dim[i] = from.dim[axes[i]];
        v.stride[i] = dense[axes[i]];
    }
    return lt_rewrite_emit(r, LT_OP_VIEW, LT_F64, &s, 1, &x, &(lt_attr){ .u.view = v });
}

/* If x permutes a dense [n,h,w,c] tensor to [n,c,h,w], that tensor; else -1. */
static int32_t below(const lt_rewrite *r, int32_t x)
{
    const lt_ir_node *n = &r->to->node[x];
    if (n->op != LT_OP_VIEW || n->shape.rank != 4) return -1;
    const lt_ir_node *b = &r->to->node[n->in[0]];
    int64_t dense[LT_MAX_RANK];
    if (b->shape.rank != 4 || n->attr.u.view.offset) return -1;
    lt_dense_strides(&b->shape, dense);
    for (int i = 0; i < 4; i++)
        if (n->shape.dim[i] != b->shape.dim[to_first[i]] || n->attr.u.view.stride[i] != dense[to_first[i]]) return -1;
    return n->in[0];
}

/* x as [n,h,w,c]. */
static int32_t in_last(lt_rewrite *r, int32_t x)
{
    int32_t b = below(r, x);
    const lt_ir_node *n = &r->to->node[x];
    if (b >= 0) return b;
    if (n->op == LT_OP_FULL) {
        lt_shape s = n->shape;
        for (int i = 0; i < 4; i++) s.dim[i] = n->shape.dim[to_last[i]];
        return lt_rewrite_emit(r, LT_OP_FULL, (lt_dtype)n->dtype, &s, 0, NULL, &n->attr);
    }
    return permuted(r, x, to_last);
}

/* ---- rules ---- */

static int32_t convert_conv(lt_rewrite *r, const lt_ir_node *n)
{
    lt_attr attr = n->attr;
    int32_t in[2];
    attr.u.conv.channels_last = true;
    for (int i = 0; i < 2; i++) {
        bool weights = i == 1 && n->op != LT_OP_CONV2D_WGRAD;
        in[i] = weights ? r->map[n->in[i]] : in_last(r, r->map[n->in[i]]);
        if (in[i] < 0) return -1;
    }
    int32_t y = lt_rewrite_emit(r, (lt_op)n->op, LT_F64, NULL, 2, in, &attr);
    return y < 0 || n->op == LT_OP_CONV2D_WGRAD ? y : permuted(r, y, to_first);
}

/* Operands that are views of anything cost the same in either layout. */
static bool follows(const lt_rewrite *r, const lt_ir_node *n)
{
    int n_below = 0;
    if (n->shape.rank != 4) return false;
    for (int i = 0; i < n->n_in; i++) {
        const lt_ir_node *x = &r->to->node[r->map[n->in[i]]];
        if (below(r, r->map[n->in[i]]) >= 0) n_below++;
        else if (x->op != LT_OP_FULL && x->op != LT_OP_VIEW) return false;
    }
    return n_below > 0;
}

static int32_t convert_elementwise(lt_rewrite *r, const lt_ir_node *n)
{
    int32_t in[3];
    for (int i = 0; i < n->n_in; i++)
        if ((in[i] = in_last(r, r->map[n->in[i]])) < 0) return -1;
    int32_t y = lt_rewrite_emit(r, (lt_op)n->op, (lt_dtype)n->dtype, NULL, n->n_in, in, &n->attr);
    return y < 0 ? y : permuted(r, y, to_first);
}

/* Sums whose kept axes come in the same order in both layouts. */
static int32_t convert_sum(lt_rewrite *r, const lt_ir_node *n, int32_t x)
{
    uint32_t axes = n->attr.u.reduce.axes, moved = 0;
    for (int i = 0; i < 4; i++) if (axes >> to_last[i] & 1) moved |= 1u << i;
    return lt_rewrite_emit(r, (lt_op)n->op, LT_F64, NULL, 1, &x, &(lt_attr){ .u.reduce.axes = moved });
}

static int32_t node(lt_rewrite *r, int32_t old)
{
    const lt_ir_node *n = &r->from->node[old];
    const bool *chosen = r->state;
    lt_op op = (lt_op)n->op;
    if (chosen[old]) return convert_conv(r, n);
    /* Gradients follow where their activations went. */
    if (is_conv(op) && !n->attr.u.conv.channels_last && n->shape.rank == 4) {
        bool any = below(r, r->map[n->in[0]]) >= 0 || (op == LT_OP_CONV2D_WGRAD && below(r, r->map[n->in[1]]) >= 0);
        const lt_shape *gy = &r->from->node[n->in[1]].shape;
        if (any && (op != LT_OP_CONV2D_WGRAD || gy->rank == 4) && r->from->node[n->in[0]].shape.rank == 4) return convert_conv(r, n);
    }
    if ((lt_op_is_elementwise(op) || op == LT_OP_CAST) && follows(r, n)) return convert_elementwise(r, n);
    if (lt_op_is_reduce(op)) {
        int32_t x = below(r, r->map[n->in[0]]);
        bool keeps_channel = !(n->attr.u.reduce.axes >> 1 & 1), keeps_space = (n->attr.u.reduce.axes & 0xc) != 0xc;
        if (x >= 0 && !(keeps_channel && keeps_space)) return convert_sum(r, n, x);
    }
    return lt_rewrite_copy(r, old);
}

const lt_pass_row lt_pass_layout = { "layout", LT_PASS_LAYOUT, begin, node, end };
