/* Shape and type rules, one per family of ops; ops.c says which op uses which.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_INFER_H
#define LT_GRAPH_INFER_H

#include "graph/ops.h"

lt_status lt_infer_source(lt_infer *x);
lt_status lt_infer_elementwise(lt_infer *x);
lt_status lt_infer_cast(lt_infer *x);
lt_status lt_infer_reshape(lt_infer *x);
lt_status lt_infer_view(lt_infer *x);
lt_status lt_infer_place(lt_infer *x);
lt_status lt_infer_reduce(lt_infer *x);
lt_status lt_infer_arg(lt_infer *x);
lt_status lt_infer_cumsum(lt_infer *x);
lt_status lt_infer_topk(lt_infer *x);
lt_status lt_infer_take(lt_infer *x);
lt_status lt_infer_put(lt_infer *x);
lt_status lt_infer_take_along(lt_infer *x);
lt_status lt_infer_put_along(lt_infer *x);
lt_status lt_infer_matmul(lt_infer *x);
lt_status lt_infer_square_matrix(lt_infer *x);
lt_status lt_infer_eig_grad(lt_infer *x);
lt_status lt_infer_svd(lt_infer *x);
lt_status lt_infer_solve(lt_infer *x);
lt_status lt_infer_conv(lt_infer *x);
lt_status lt_infer_conv_dgrad(lt_infer *x);
lt_status lt_infer_conv_wgrad(lt_infer *x);
lt_status lt_infer_pool(lt_infer *x);
lt_status lt_infer_pool_grad(lt_infer *x);
lt_status lt_infer_fft(lt_infer *x);

#endif
