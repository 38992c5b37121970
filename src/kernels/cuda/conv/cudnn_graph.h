/* Convolutions in cuDNN's backend graph API. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_CONV_CUDNN_GRAPH_H
#define LT_KERNELS_CUDA_CONV_CUDNN_GRAPH_H

#include "device/cuda/libraries.h"
#include "kernels/cuda/fused/epilogue.h"
#include "kernels/window.h"

#define LT_CUDNN_ALIGNMENT 16 /* bytes every address must be a multiple of */

/* CONV2D, CONV2D_DGRAD or CONV2D_WGRAD of one gradient, and what follows it in the same kernel. */
typedef struct lt_cudnn_problem {
    const lt_problem_key    *key;
    const lt_conv_sizes     *shape;
    const lt_epilogue_chain *chain; /* CONV2D only; NULL: nothing */
} lt_cudnn_problem;

/* How cuDNN numbers the tensors: x, w, y, then the operand of each step of the chain that has one. */
enum { LT_CUDNN_ID_X = 1, LT_CUDNN_ID_W, LT_CUDNN_ID_Y, LT_CUDNN_ID_OPERAND, LT_CUDNN_IDS = LT_CUDNN_ID_OPERAND + LT_EPILOGUE_STEPS };

/* The status that goes with a result of cuDNN other than 0, with its text. */
lt_status lt_cudnn_failed(const lt_cudnn *api, unsigned result, const char *what);

/* The configurations of engines that may compute p, cuDNN's favourite first, as text without spaces at its ends:
   "e11 2=3 13=32", at least 7 bytes shorter than fits. Returns how many were written (<= max). */
int lt_cudnn_configurations(const lt_cudnn *api, lt_cudnn_handle handle, const lt_cudnn_problem *p, char (*name)[LT_CUDA_VARIANT_TEXT], int max);

/* A finished execution plan, of the configuration called `name` or, where that is NULL, of the first that works.
   LT_ERR_UNSUPPORTED when there is none. */
lt_status lt_cudnn_plan(const lt_cudnn *api, lt_cudnn_handle handle, const lt_cudnn_problem *p, const char *name, lt_cudnn_descriptor *plan,
                        size_t *workspace_bytes);

/* ---- between cudnn_graph.c, which describes the work, and cudnn_plan.c, which finds an engine for it ---- */

/* Descriptors made on the way; all but the plan are given back at the end. */
enum { LT_CUDNN_MAX_CONFIGS = 16, LT_CUDNN_MAX_DESCRIPTORS = 64 + LT_CUDNN_MAX_CONFIGS };
typedef struct lt_cudnn_maker {
    const lt_cudnn *api;
    lt_cudnn_descriptor made[LT_CUDNN_MAX_DESCRIPTORS];
    int n_made;
} lt_cudnn_maker;

lt_status lt_cudnn_create(lt_cudnn_maker *m, unsigned type, lt_cudnn_descriptor *out);
lt_status lt_cudnn_set(const lt_cudnn_maker *m, lt_cudnn_descriptor d, unsigned name, unsigned type, int64_t n, const void *value);
lt_status lt_cudnn_finalize(const lt_cudnn_maker *m, lt_cudnn_descriptor d, const char *what);
void      lt_cudnn_drop(lt_cudnn_maker *m, int first); /* those made from number `first` on */

lt_status lt_cudnn_describe(lt_cudnn_maker *m, lt_cudnn_handle handle, const lt_cudnn_problem *p, lt_cudnn_descriptor *graph);

#endif
