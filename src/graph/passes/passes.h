/* Passes: each rewrites a module into an equivalent, better one. To add one: pass_<name>.c and
   its row in passes.c. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_PASSES_PASSES_H
#define LT_GRAPH_PASSES_PASSES_H

#include "graph/ops.h"

/* A rewrite in progress: nodes of `from` are taken in order and appended to `to`. */
typedef struct lt_rewrite {
    const lt_ir *from;
    lt_ir       *to;
    int32_t     *map;       /* old id -> new id; -1 while not reached */
    int32_t     *uses;      /* how often an old node is used; outputs count too */
    void        *state;     /* the pass's own */
    const lt_compile_options *opt;
} lt_rewrite;

typedef struct lt_pass_row {
    const char *name;
    lt_pass     id;
    lt_status (*begin)(lt_rewrite *r);               /* NULL: nothing to prepare */
    /* The new id of an old node whose inputs are mapped; -1 when memory is out. */
    int32_t   (*node)(lt_rewrite *r, int32_t old);
    void      (*end)(lt_rewrite *r);
} lt_pass_row;

extern const lt_pass_row lt_pass_fold, lt_pass_cse, lt_pass_algebraic, lt_pass_layout, lt_pass_precision;

/* Runs the passes opt does not skip, with the checker after each, until nothing more changes
   in the cheap ones. The module's IR is replaced. */
lt_status lt_passes_run(lt_module *m, const lt_compile_options *opt);

/* Appends op(in…) to r->to with shape and type by rule; -1 on failure (memory). */
int32_t lt_rewrite_emit(lt_rewrite *r, lt_op op, lt_dtype dtype, const lt_shape *shape,
                        int n_in, const int32_t *in, const lt_attr *attr);
/* The node as it is, with mapped inputs. */
static inline int32_t lt_rewrite_copy(lt_rewrite *r, int32_t old) { return lt_ir_copy_node(r->to, &r->from->node[old], r->map); }

#endif
