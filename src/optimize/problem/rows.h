/* Rows of a graph that say a x + b of one variable x (rows.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_PROBLEM_ROWS_H
#define LT_OPTIMIZE_PROBLEM_ROWS_H

#include "lathe/graph.h"

enum { LT_ROW_CONSTANT = -1, LT_ROW_OTHER = -2 };
typedef struct lt_row { int64_t variable; double a, b; } lt_row; /* variable: entry of the packed x; or one of the above, then b alone or nothing counts */

/* Element by element of a node, *out for lt_free; NULL: none of them is of one variable. offset: where each input stands in x. */
lt_status lt_rows_describe(const lt_graph *g, lt_node node, const int64_t *offset, lt_row **out);

#endif
