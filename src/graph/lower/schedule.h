/* From nodes to kernels: which nodes are computed together, and in which order.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_LOWER_SCHEDULE_H
#define LT_GRAPH_LOWER_SCHEDULE_H

#include "graph/ops.h"

/* One kernel to be: a fused group of elementwise nodes and reductions over one domain, or one
   other op, which may carry a group as its epilogue. */
typedef struct lt_unit {
    int32_t  op;                 /* the node with a kernel of its own; -1 for a pure group */
    int32_t  first, last;        /* members of the group, linked by lt_schedule.next; -1: none */
    int      n_members, n_externals;
    int32_t  external[32];       /* nodes the group loads from, each once */
    lt_dtype type;               /* what the group computes in */
    lt_shape domain;             /* without axes of extent 1, unless it is an epilogue */
    bool     rigid;              /* the domain's factors matter (views, partial reductions) */
    bool     reduces;
    bool     dropped;            /* became the epilogue of another unit */
    bool     lead;               /* one of the first outputs needs it: runs before those without */
    int      depth;              /* all inputs have smaller depth: units never depend in a circle */
} lt_unit;

typedef struct lt_schedule {
    lt_module *m;
    lt_unit   *unit;
    int        n_units, capacity;
    int32_t   *unit_of;          /* node -> unit that computes it; -1: source or lazy */
    int32_t   *next;             /* next member of the same group */
    bool      *stored;           /* the node needs memory of its own */
    bool      *live;
    int32_t   *uses;             /* by nodes that are no reshapes; outputs count as two */
    bool      *waiting;          /* will be computed where its only user is */
    uint8_t   *wait_length, *wait_reread; /* size of a waiting tree, and tensors it reads */
    int32_t   *order;            /* units in execution order */
    int        n_order;
    int32_t    first_copy;       /* nodes from here on copy outputs into memory of their own */
    bool       fuse;             /* false: every node by itself */
} lt_schedule;

/* Outputs that are sources, views or repeats get a copying node first, so m may grow. */
lt_status lt_schedule_make(lt_module *m, bool fuse, lt_schedule *out);
void      lt_schedule_free(lt_schedule *s);

/* Reshapes are names for the same memory: the node below them. */
int32_t lt_schedule_strip(const lt_schedule *s, int32_t id);
/* Whether a group reads the base of a view through it: it does unless the view was copied out
   before the group asked for it, for then the copy is among its externals. */
bool lt_schedule_reads_through(const lt_schedule *s, const lt_unit *u, int32_t view);
/* Whether the node is computed inside a fused group. */
bool lt_is_groupable(const lt_ir *ir, int32_t id);
/* The shape a group iterates over to compute this node, without axes of extent 1. */
lt_shape lt_group_domain(const lt_ir *ir, int32_t id);

#endif
