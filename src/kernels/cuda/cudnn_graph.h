/* Plans of cuDNN's backend graph API. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_CUDNN_GRAPH_H
#define LT_KERNELS_CUDA_CUDNN_GRAPH_H

#include "device/cuda/libraries.h"
#include "kernels/window.h"

#define LT_CUDNN_ALIGNMENT 16 /* bytes every address must be a multiple of */

/* The status that goes with a result of cuDNN other than 0, with its text. */
lt_status lt_cudnn_failed(const lt_cudnn *api, unsigned result, const char *what);

/* A finished execution plan for CONV2D, CONV2D_DGRAD or CONV2D_WGRAD of one gradient; unique ids are 1 for
   x, 2 for w, 3 for y. LT_ERR_UNSUPPORTED when no engine takes it. */
lt_status lt_cudnn_plan_convolution(const lt_cudnn *api, lt_cudnn_handle handle, const lt_problem_key *p, const lt_conv_shape *s,
                                    lt_cudnn_descriptor *plan, size_t *workspace_bytes);

#endif
