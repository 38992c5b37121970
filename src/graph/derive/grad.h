/* Shared by the gradient and the Jacobian sweep. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_DERIVE_GRAD_H
#define LT_GRAPH_DERIVE_GRAD_H

#include "graph/build/build.h"

/* active[id], for ids up to last: whether a derivative can flow from it to some wrt. Free with lt_free. */
lt_status lt_grad_active(const lt_graph *g, const lt_node *wrt, int n_wrt, int32_t last, bool **out);
/* adj * slope, without multiplying by constants 1 and -1; none when slope is. */
lt_node lt_grad_scale(lt_graph *g, lt_node adj, lt_node slope);
/* The share of input i in y's adjoint; none when it is zero. */
lt_node lt_grad_pull(lt_graph *g, lt_node y, int i, lt_node adj);

#endif
