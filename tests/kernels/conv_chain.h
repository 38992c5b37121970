/* What follows a convolution inside its kernel: act((result + bias by channel) * factor by element), three steps.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONV_CHAIN_H
#define CONV_CHAIN_H

#include "lt_test.h"

#include "kernels/kernel_table.h"

/* Arguments: the raw result, bias, factor, the result. */
typedef struct chain { lt_fused_load load[3]; lt_fused_step step[3]; lt_fused_store store; lt_fused f; } chain;

static inline void chain_behind(const lt_tensor_type *y, int channel, lt_op act, chain *out)
{
    lt_affine dense = { 0 }, vector = { 0 };
    int64_t stride = 1;
    for (int d = y->shape.rank - 1; d >= 0; d--) dense.stride[d] = stride, stride *= y->shape.dim[d];
    vector.stride[channel] = 1;
    *out = (chain){ .load = { { 0, 0, LT_F32, dense }, { 1, 1, LT_F32, vector }, { 2, 2, LT_F32, dense } },
                    .step = { { LT_OP_ADD, 3, { 0, 1 } }, { LT_OP_MUL, 4, { 3, 2 } }, { act, 5, { 4 } } }, .store = { 5, 3, LT_F32, dense } };
    out->f = (lt_fused){ .type = LT_F32, .domain = y->shape, .n_regs = 6, .n_args = 4, .n_loads = 3, .n_steps = 3, .n_stores = 1,
                         .loads = out->load, .steps = out->step, .stores = &out->store };
}

#endif
