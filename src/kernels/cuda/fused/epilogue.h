/* Epilogues of matrix products and convolutions. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_FUSED_EPILOGUE_H
#define LT_KERNELS_CUDA_FUSED_EPILOGUE_H

#include "kernels/cuda/cuda_table.h"

/* k computes p without its epilogue (arguments: inputs, output); it is owned from now on. *out does the
   whole of p: k, then the epilogue as a fused kernel. k NULL: the output has no elements. */
lt_status lt_epilogue_wrap(lt_device *dev, const lt_problem_key *p, const char *name, lt_kernel *k, lt_kernel **out);

/* Steps that follow a result one after the other, each on what came before it. */
enum { LT_EPILOGUE_STEPS = 4 };
typedef struct lt_epilogue_step {
    lt_op op;             /* ADD, MUL, RELU, GELU */
    int   arg;            /* of the kernel: the other operand; -1: none */
    bool  whole;          /* that operand has the result's shape; otherwise one element per channel */
} lt_epilogue_step;
typedef struct lt_epilogue_chain {
    int n_steps, result;  /* result: the argument of the kernel to write */
    lt_epilogue_step step[LT_EPILOGUE_STEPS];
} lt_epilogue_chain;

/* Whether the epilogue is such a chain on tensors of the result's type, dense, with vectors along the axis `channel`. */
bool lt_epilogue_is_chain(const lt_problem_key *p, int channel, lt_epilogue_chain *out);

#endif
