/* Which variables the elements of a node depend on (pattern.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_PROBLEM_PATTERN_H
#define LT_OPTIMIZE_PROBLEM_PATTERN_H

#include "lathe/graph.h"
#include "optimize/sparse/csr.h"

/* Rows: the elements of these nodes, one node after the other; columns: of all inputs, input i's from offset[i] on, n in all. By the ops alone,
   whatever the values: an entry outside of the pattern is zero everywhere. LT_ERR_UNSUPPORTED: some node has more than `most` entries.
   Released with lt_csr_release. */
lt_status lt_pattern_find(const lt_graph *g, const lt_node *node, int n_nodes, const int64_t *offset, int64_t n, int64_t most, lt_csr *out);

#endif
