/* Epilogues of matrix products and convolutions. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_EPILOGUE_H
#define LT_KERNELS_CUDA_EPILOGUE_H

#include "kernels/cuda/cuda_table.h"

/* k computes p without its epilogue (arguments: inputs, output); it is owned from now on. *out does the
   whole of p: k, then the epilogue as a fused kernel. k NULL: the output has no elements. */
lt_status lt_epilogue_wrap(lt_device *dev, const lt_problem_key *p, const char *name, lt_kernel *k, lt_kernel **out);

/* Whether the epilogue is "result + bias", the bias along the output's last axis, and all of the result's
   type: then *bias and *result are the arguments (of the kernel) to read and to write. */
bool lt_epilogue_is_bias(const lt_problem_key *p, int *bias, int *result);

#endif
