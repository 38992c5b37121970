/* Structured adjoints: the rows of a Jacobian carried backwards together.
   SPDX-License-Identifier: BSD-3-Clause

   The rows of one output are indexed by its own axes, the seed axes. While most of the Jacobian is
   zero or repeats, a block of it is kept as a term: a dense core and, for some axes of the node,
   the statement that they follow a seed axis. Element (s, n) of the block, s over the seed and n
   over the node, is

       core[s, n]   if n_b = offset_b + stride_b * s_a for every axis b that follows a seed axis a,
                    n_b = offset_b for every fixed axis b, and s lies in the window;
       0            otherwise.

   The core has all seed axes first, then all node axes. An extent of 1 means "the same for all",
   and is all that following and fixed axes have. Elementwise ops, slices, transposes, sums and
   matrix products map terms to terms, so k elementwise constraints cost one elementwise pass and
   not k sweeps; any other op makes the block dense first. */
#ifndef LT_GRAPH_DERIVE_JACOBIAN_H
#define LT_GRAPH_DERIVE_JACOBIAN_H

#include "graph/derive/grad.h"

enum { LT_AXIS_FREE = -1, LT_AXIS_FIXED = -2 }; /* else: the seed axis it follows */

typedef struct lt_jacobian_term {
    int      group;                      /* whose rows these are */
    lt_shape seed;                       /* the group's rows as axes; their product is its row count */
    int64_t  low[LT_MAX_RANK], window[LT_MAX_RANK]; /* seed indices low..low+window-1 are nonzero */
    lt_shape shape;                      /* the node's elements as axes: its shape up to reshaping */
    int8_t   follows[LT_MAX_RANK];       /* per node axis */
    int64_t  offset[LT_MAX_RANK], stride[LT_MAX_RANK];
    lt_node  core;
} lt_jacobian_term;

/* The identity: d y / d y. */
lt_jacobian_term lt_term_identity(lt_graph *g, lt_node y, int group);
/* The block as a tensor [rows, shape…]. */
lt_node lt_term_dense(lt_graph *g, const lt_jacobian_term *t);
/* A dense block of a group with this many rows. */
lt_jacobian_term lt_term_from_dense(lt_graph *g, lt_node dense, int group, const lt_shape *shape);
/* Indexes the node by its own shape again after reshapes; makes the term dense where it must. */
void lt_term_fit(lt_graph *g, lt_jacobian_term *t, const lt_shape *shape);
bool lt_term_is_dense(const lt_jacobian_term *t); /* no axis follows or is fixed, the window is everything */
bool lt_term_same_form(const lt_jacobian_term *a, const lt_jacobian_term *b); /* then cores may be added */

/* Pulls a term of y back to its input i. False: no structured rule, use the dense one. The result
   may be zero: then its core is none. */
bool lt_term_pull(lt_graph *g, lt_node y, int i, const lt_jacobian_term *t, lt_jacobian_term *out);

#endif
