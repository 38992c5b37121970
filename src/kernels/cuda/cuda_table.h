/* The kernels of the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CUDA_CUDA_TABLE_H
#define LT_KERNELS_CUDA_CUDA_TABLE_H

#include "base/hash.h"
#include "device/stream.h"
#include "kernels/kernel_table.h"

enum { LT_CUDA_VARIANT_TEXT = 160 };

/* Whose library a row calls, which prepares by itself; as lt_device_library numbers them. */
typedef enum lt_cuda_vendor { LT_VENDOR_NONE, LT_VENDOR_CUBLASLT, LT_VENDOR_CUDNN, LT_VENDOR_CUFFT, LT_VENDOR_CUSOLVER } lt_cuda_vendor;

typedef struct lt_cuda_row {
    const char *name;             /* op, method: "matmul_cublaslt" */
    lt_op       op;
    bool      (*applies)(const lt_problem_key *p);
    lt_status (*prepare)(lt_device *dev, const lt_problem_key *p, lt_kernel **out);
    /* The ways there are, the row's own choice first, as values of lt_problem_key.variant; returns how many
       were written (<= max). NULL: there is one. */
    int       (*variants)(lt_device *dev, const lt_problem_key *p, char (*name)[LT_CUDA_VARIANT_TEXT], int max);
    lt_cuda_vendor vendor;
} lt_cuda_row;

/* One way to compute a problem: a row, or one of its variants. */
typedef struct lt_cuda_way {
    const lt_cuda_row *row;
    char variant[LT_CUDA_VARIANT_TEXT];   /* "": the row knows one way only */
    char name[LT_CUDA_VARIANT_TEXT + 32]; /* "conv_cudnn e11 2=3" */
} lt_cuda_way;

/* All rows; for each op the best first. */
const lt_cuda_row *lt_cuda_rows(int *n_rows);
/* The rows that apply to p, best first; returns how many were written (<= max). */
int lt_cuda_candidates(const lt_problem_key *p, const lt_cuda_row **out, int max);
/* All ways to compute p, best guess first; returns how many were written (<= max). */
int lt_cuda_ways(lt_device *dev, const lt_problem_key *p, lt_cuda_way *out, int max);
lt_status lt_cuda_way_prepare(lt_device *dev, const lt_problem_key *p, const lt_cuda_way *way, lt_kernel **out);
/* The best row's kernel. An op or type without one is LT_ERR_UNSUPPORTED, naming it. */
lt_status lt_cuda_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out);
/* Builds the texts of the best row and lets them go, for a device that notes them (device/build_list.h). Rows of libraries are left out. */
lt_status lt_cuda_prepare_texts(lt_device *dev, const lt_problem_key *p);
/* A fused program as generated text. Same shapes, same device: same bits. */
lt_status lt_fused_prepare_cuda(lt_device *dev, const lt_fused *f, lt_kernel **out);
/* One without reductions in a given shape: elements per pack, packs per thread. The bits are the same. */
typedef struct lt_fused_shape { int vector, unroll; } lt_fused_shape;
lt_status lt_fused_prepare_cuda_shaped(lt_device *dev, const lt_fused *f, lt_fused_shape shape, lt_kernel **out);

/* What stored choices depend on: the rows there are. No library is opened for it (decision 433). */
lt_digest lt_cuda_table_digest(void);
/* "cuDNN=9.5.1" for a way that calls a library, which is opened; else "". */
void      lt_cuda_way_library(const lt_cuda_way *way, char *text, size_t bytes);

#endif
