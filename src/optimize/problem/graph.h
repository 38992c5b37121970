/* What the three files about graphs share: graph.c derives, compile.c compiles, evaluate.c runs. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_PROBLEM_GRAPH_H
#define LT_OPTIMIZE_PROBLEM_GRAPH_H

#include "optimize/problem/evaluator.h"

lt_node lt_graph_input(const lt_graph *g, int index); /* LT_NONE: there is none */

static inline int64_t lt_node_elements(const lt_graph *g, lt_node n)
{
    lt_shape s = lt_node_shape(g, n);
    return lt_shape_count(&s);
}

/* One gradient of n numbers, of all inputs one after the other. */
lt_status lt_problem_add_gradient(lt_graph *g, lt_node f, const lt_node *inputs, int n_inputs, lt_node *out);
lt_status lt_problem_build_later(lt_problem *p, lt_node f, const lt_node *ci, const lt_node *ce);
lt_status lt_problem_build_now(lt_problem *p); /* what was put off */
lt_status lt_graph_run(lt_evaluator *e, const double *x, const lt_outputs *out);

#endif
