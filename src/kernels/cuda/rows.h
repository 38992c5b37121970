/* The functions the CUDA kernel table lists; cuda_table.c says which op each serves.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_ROWS_H
#define LT_KERNELS_CUDA_ROWS_H

#include "kernels/cuda/cuda_table.h"

#define LT_CUDA_ROW(name)                                 \
    bool      lt_##name##_applies(const lt_problem_key *p); \
    lt_status lt_##name##_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out);

/* Own text. */
LT_CUDA_ROW(cuda_cast) LT_CUDA_ROW(cuda_reshape) LT_CUDA_ROW(cuda_view) LT_CUDA_ROW(cuda_place)
LT_CUDA_ROW(cuda_norm) LT_CUDA_ROW(cuda_adjugate) LT_CUDA_ROW(cuda_arg) LT_CUDA_ROW(cuda_cumsum) LT_CUDA_ROW(cuda_topk)
LT_CUDA_ROW(cuda_take) LT_CUDA_ROW(cuda_put) LT_CUDA_ROW(cuda_take_along) LT_CUDA_ROW(cuda_put_along)
LT_CUDA_ROW(cuda_pool) LT_CUDA_ROW(cuda_conv) LT_CUDA_ROW(cuda_matmul) LT_CUDA_ROW(cuda_eig_grad) LT_CUDA_ROW(cuda_svd)
#define LT_CUDA_VARIED_ROW(name) \
    LT_CUDA_ROW(name)            \
    int lt_##name##_variants(lt_device *dev, const lt_problem_key *p, char (*variant)[LT_CUDA_VARIANT_TEXT], int max);
LT_CUDA_VARIED_ROW(conv_f32)
/* Libraries. */
LT_CUDA_VARIED_ROW(matmul_cublaslt) LT_CUDA_VARIED_ROW(conv_cudnn) LT_CUDA_VARIED_ROW(conv_tf32) LT_CUDA_ROW(fft_cufft)
LT_CUDA_ROW(linalg_cusolver)

#endif
