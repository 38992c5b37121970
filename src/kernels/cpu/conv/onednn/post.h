/* Bias and activation that a convolution through oneDNN applies by itself. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_CONV_ONEDNN_POST_H
#define LT_KERNELS_CPU_CONV_ONEDNN_POST_H

#include "kernels/cpu/conv/onednn/api.h"
#include "kernels/cpu/vec/vec.h"
#include "kernels/kernel_table.h"

typedef struct lt_dnnl_post {
    bool found;
    int  bias_arg, out_arg;     /* of the epilogue; bias_arg 0 = none */
    bool by_library;            /* the activation is oneDNN's; else `own` is to be applied to each part while it is near */
    dnnl_alg_kind_t activation;
    lt_vec_fn own;              /* NULL: none */
    lt_vec_turn turn;           /* `own` where the channels are turned around: on the way */
} lt_dnnl_post;

/* What a convolution's epilogue does, when it is no more than this. */
lt_dnnl_post lt_dnnl_post_of(const lt_problem_key *p);

#endif
