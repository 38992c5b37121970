/* The IR: nodes in topological order, every shape and type known.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_IR_H
#define LT_GRAPH_IR_H

#include "base/arena.h"
#include "kernels/kernel_table.h"

typedef struct lt_ir_node {
    uint8_t  op;               /* lt_op */
    uint8_t  dtype;            /* lt_dtype */
    uint16_t n_in;
    bool     detached;         /* RESHAPE made by lt_detach: derivatives stop here */
    int32_t  in[3];            /* the inputs when n_in <= 3 */
    const int32_t *more;       /* all inputs when n_in > 3 */
    lt_shape shape;
    lt_attr  attr;
    const char *name;          /* NULL, or given by the user */
} lt_ir_node;

/* Inputs of a node come before it. Attributes and names lie in the arena, which the owner
   of the IR releases; passes build a new IR in the same arena. */
typedef struct lt_ir {
    lt_ir_node *node;
    int         n_nodes, capacity;
    int         n_inputs;      /* INPUT nodes made so far; their attr.u.input.input counts 0.. */
    lt_arena   *arena;
} lt_ir;

/* What a pass hands to the next: an IR and the ids of its outputs. */
typedef struct lt_module {
    lt_ir    ir;
    int32_t *output;
    int      n_outputs;
    int      n_lead;           /* this many outputs, the first ones, can be computed before the others */
} lt_module;

void lt_ir_free(lt_ir *ir);    /* the node array only; the arena is the owner's */

/* Room for this many more nodes: until they are used up, pointers to nodes stay valid. */
bool lt_ir_reserve(lt_ir *ir, int extra);

/* Appends a node as it is; its shape and type are the caller's word (lt_ir_infer makes them).
   in and attr are copied (attr may be NULL). Returns its id, or -1 when memory is out. */
int32_t lt_ir_push(lt_ir *ir, lt_op op, lt_dtype dtype, const lt_shape *shape,
                   int n_in, const int32_t *in, const lt_attr *attr);
/* Copies a node of another IR with its inputs renumbered by map. */
int32_t lt_ir_copy_node(lt_ir *to, const lt_ir_node *node, const int32_t *map);

static inline int32_t lt_ir_in(const lt_ir_node *n, int i) { return n->n_in > 3 ? n->more[i] : n->in[i]; }
static inline const int32_t *lt_ir_inputs(const lt_ir_node *n) { return n->n_in > 3 ? n->more : n->in; }
static inline int64_t lt_ir_count(const lt_ir *ir, int32_t id) { return lt_shape_count(&ir->node[id].shape); }

/* Row-major strides in elements of a dense tensor. */
static inline void lt_dense_strides(const lt_shape *s, int64_t *stride)
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) { stride[i] = step; step *= s->dim[i]; }
}
/* Whether the view lists the base's elements one after the other, from its offset on. */
bool lt_affine_is_dense(const lt_affine *v, const lt_shape *s);
/* outer views the dense result (of shape mid) of inner: one view of inner's base, if affine. */
bool lt_affine_compose(const lt_affine *inner, const lt_shape *mid,
                       const lt_affine *outer, const lt_shape *shape, lt_affine *out);
/* The same elements in the same order, indexed by another shape of equal count, if affine. */
bool lt_affine_reshape(const lt_affine *v, const lt_shape *from, const lt_shape *to, lt_affine *out);
/* Smallest and largest base element touched; false when the shape is empty. */
bool lt_affine_range(const lt_affine *v, const lt_shape *s, int64_t *lo, int64_t *hi);

/* Structural equality of op, type, shape, attributes and inputs; and a hash to go with it. */
bool     lt_ir_same(const lt_ir_node *a, const lt_ir_node *b);
uint64_t lt_ir_hash(const lt_ir_node *n);

/* Checks every invariant: inputs before users, arities, shape and type rules recomputed,
   views inside their base, constants present, outputs in range. `after` names the pass. */
lt_status lt_ir_check(const lt_module *m, const char *after);

/* One line of text for a node: "%12 = mul f64[3, 4] %3 %7". */
void lt_ir_print_node(const lt_ir *ir, int32_t id, char *text, size_t size);

#endif
