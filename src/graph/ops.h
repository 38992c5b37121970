/* Rules of the ops: for each its shape and type rule and its derivative rule, from kernels/ops.def.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_OPS_H
#define LT_GRAPH_OPS_H

#include "graph/ir.h"
#include "lathe/graph.h"

/* A node about to be made: the rule fills dtype and shape, or checks them where they are
   the caller's choice (sources, cast, reshape, view, place). */
typedef struct lt_infer {
    const lt_ir   *ir;
    lt_op          op;
    int            n_in;
    const int32_t *in;
    const lt_attr *attr;
    lt_dtype       dtype;
    lt_shape       shape;
} lt_infer;

typedef enum lt_diff {
    LT_DIFF_LOCAL,   /* elementwise: lt_op_slope gives the diagonal of the Jacobian */
    LT_DIFF_RULE,    /* vjp() */
    LT_DIFF_ZERO,    /* piecewise constant or not a float: contributes nothing */
    LT_DIFF_MISSING  /* differentiable, but no rule: an error that says so */
} lt_diff;

typedef struct lt_op_row {
    lt_status (*infer)(lt_infer *x);
    lt_diff    diff;
    /* The adjoint of input i from y's adjoint. adj may have one more, leading axis than y
       (many adjoints at once); rules therefore count axes from the end. None: zero. */
    lt_node  (*vjp)(lt_graph *g, lt_node y, int i, lt_node adj);
} lt_op_row;

const lt_op_row *lt_op_get(lt_op op);
lt_status lt_op_infer(lt_infer *x);

/* How messages call a node: its name in quotes or its number. */
typedef struct lt_node_text { char s[64]; } lt_node_text;
lt_node_text lt_node_label(const lt_ir *ir, int32_t id);

/* d y / d input i of an elementwise op, of y's shape; none where it is zero (derive/slopes.c). */
lt_node lt_op_slope(lt_graph *g, lt_node y, int i);
/* d norm / d sum of squares, elementwise. */
lt_node lt_norm_slope(lt_graph *g, lt_node y);
/* Derivative rules of the others, by group (grad_*.c). */
lt_node lt_vjp_shape(lt_graph *g, lt_node y, int i, lt_node adj);
lt_node lt_vjp_reduce(lt_graph *g, lt_node y, int i, lt_node adj);
lt_node lt_vjp_norm(lt_graph *g, lt_node y, int i, lt_node adj);
lt_node lt_vjp_index(lt_graph *g, lt_node y, int i, lt_node adj);
lt_node lt_vjp_matmul(lt_graph *g, lt_node y, int i, lt_node adj);
lt_node lt_vjp_linalg(lt_graph *g, lt_node y, int i, lt_node adj);
lt_node lt_vjp_network(lt_graph *g, lt_node y, int i, lt_node adj);

/* Output extent of a window along one axis; < 1 when it does not fit. */
static inline int64_t lt_window_extent(const lt_window *w, int axis)
{
    int64_t reach = w->dilation[axis] * (w->kernel[axis] - 1) + 1;
    int64_t room = w->size[axis] + 2 * w->pad[axis] - reach;
    return room < 0 ? 0 : room / w->stride[axis] + 1;
}

#endif
