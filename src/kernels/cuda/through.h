/* Narrow floats where a library knows only wide ones. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_THROUGH_H
#define LT_KERNELS_CUDA_THROUGH_H

#include "kernels/cuda/cuda_table.h"

/* p with f16 and bf16 tensors widened to f32 in scratch memory, computed there, and rounded once. */
lt_status lt_through_f32(lt_device *dev, const lt_problem_key *p,
                         lt_status (*prepare)(lt_device *dev, const lt_problem_key *p, lt_kernel **out), lt_kernel **out);

#endif
