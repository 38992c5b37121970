/* The kernels of the CUDA device: who can compute an op there. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_CUDA_TABLE_H
#define LT_KERNELS_CUDA_CUDA_TABLE_H

#include "device/stream.h"
#include "kernels/kernel_table.h"

typedef struct lt_cuda_row {
    const char *name;             /* op, method: "matmul_cublaslt" */
    lt_op       op;
    bool      (*applies)(const lt_problem_key *p);
    lt_status (*prepare)(lt_device *dev, const lt_problem_key *p, lt_kernel **out);
} lt_cuda_row;

/* All rows; for each op the best first. */
const lt_cuda_row *lt_cuda_rows(int *n_rows);
/* The rows that apply to p, best first; returns how many were written (<= max). */
int lt_cuda_candidates(const lt_problem_key *p, const lt_cuda_row **out, int max);
/* The best row's kernel. An op or type without one is LT_ERR_UNSUPPORTED, naming it. */
lt_status lt_cuda_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out);
/* A fused program as generated text. Same shapes, same device: same bits. */
lt_status lt_fused_prepare_cuda(lt_device *dev, const lt_fused *f, lt_kernel **out);

#endif
