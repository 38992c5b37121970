/* Building graphs from inside: what the public builders and the derivative rules share.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_BUILD_BUILD_H
#define LT_GRAPH_BUILD_BUILD_H

#include "graph/ops.h"

struct lt_graph {
    lt_ir     ir;
    lt_arena  arena;
    uint32_t  serial;        /* stands in every lt_node, so that nodes of other graphs are noticed */
    lt_status status;        /* the first mistake; later builders do nothing */
    char      error[512];
};

/* Appends a node after running its shape rule; records the failure and returns none if it fails.
   dtype and shape matter only for ops whose rule takes them from the caller. */
lt_node lt_emit(lt_graph *g, lt_op op, lt_dtype dtype, const lt_shape *shape,
                int n_in, const lt_node *in, const lt_attr *attr);
/* The common case: shape and type follow from the operands. */
lt_node lt_emit_simple(lt_graph *g, lt_op op, int n_in, const lt_node *in, const lt_attr *attr);
/* Forgets the recorded mistake: a front end that has reported it may go on building. */
void lt_graph_forgive(lt_graph *g);
/* Shortens an input vector whose views all lie in its first n elements: a front end learns the
   length only after building on it. */
lt_status lt_input_cut(lt_graph *g, lt_node x, int64_t n);
/* Records a mistake whose text LT_FAIL has just set; returns none. */
lt_node lt_graph_fail(lt_graph *g, lt_status s);
/* True when every operand is a node of g and no mistake was made; records one otherwise. */
bool lt_operands_ok(lt_graph *g, const char *op, int n, const lt_node *x);
static inline bool lt_operand_ok(lt_graph *g, const char *op, lt_node x) { return lt_operands_ok(g, op, 1, &x); }

static inline const lt_ir_node *lt_get(const lt_graph *g, lt_node n) { return &g->ir.node[n.id]; }
static inline lt_node lt_of(const lt_graph *g, int32_t id) { return (lt_node){ id, g->serial }; }
static inline lt_node lt_input_of(const lt_graph *g, lt_node y, int i) { return lt_of(g, lt_ir_in(lt_get(g, y), i)); }
static inline const lt_shape *lt_shape_at(const lt_graph *g, lt_node n) { return &lt_get(g, n)->shape; }
static inline lt_dtype lt_dtype_at(const lt_graph *g, lt_node n) { return (lt_dtype)lt_get(g, n)->dtype; }
/* Whether n is a constant with this one value everywhere. */
bool lt_is_full(const lt_graph *g, lt_node n, double *value);

/* NumPy axis to 0..rank-1; records a mistake and returns false when it is outside. */
bool lt_axis_ok(lt_graph *g, const char *op, lt_node x, int *axis);

/* Building blocks without public names. */
lt_node lt_view(lt_graph *g, lt_node x, const lt_shape *shape, const lt_affine *view);
lt_node lt_place(lt_graph *g, const lt_shape *shape, int n, const lt_node *parts, const lt_affine *at);
lt_node lt_reduce(lt_graph *g, lt_op op, lt_node x, uint32_t axes, bool keepdims);
lt_node lt_take_along(lt_graph *g, lt_node x, lt_node index);
/* Sums adj over the axes along which `shape` was broadcast to adj's trailing axes; `lead` leading
   axes of adj are kept apart. The result has the lead axes, then shape. */
lt_node lt_unbroadcast(lt_graph *g, lt_node adj, const lt_shape *shape, int lead);
/* shape with the leading axes of adj (those beyond y_rank) in front. */
lt_shape lt_with_lead(const lt_graph *g, lt_node adj, int y_rank, const lt_shape *shape);

#endif
