/* Shape and type rules, one per family of ops; kernels/ops.def says which op uses which.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_INFER_H
#define LT_GRAPH_INFER_H

#include "graph/ops.h"

lt_status lt_infer_source(lt_infer *x);
lt_status lt_infer_elementwise(lt_infer *x);
#define LT_OTHER(ID, name, n, infer, ...) lt_status infer(lt_infer *x);
#include "kernels/ops.def"

#endif
