/* The part of cuBLASLt that lathe calls: matrix products with epilogues.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_API_CUBLASLT_H
#define LT_DEVICE_CUDA_API_CUBLASLT_H

#include "device/cuda/api_driver.h"

/* Members in macros, so that the test can lay the same structs out beside the real ones. */
#define LT_CUBLASLT_HEURISTIC_MEMBERS(algo_type) \
    algo_type algo;                              \
    size_t workspaceSize;                        \
    unsigned state;                              \
    float wavesCount;                            \
    int reserved[4];
#ifndef CUBLAS_VERSION /* the real header is not there */
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct { uint64_t data[8]; } cublasLtMatrixLayoutOpaque_t, *cublasLtMatrixLayout_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
typedef struct { uint64_t data[32]; } cublasLtMatmulDescOpaque_t, *cublasLtMatmulDesc_t;
typedef struct { uint64_t data[8]; } cublasLtMatmulPreferenceOpaque_t, *cublasLtMatmulPreference_t;
typedef struct { LT_CUBLASLT_HEURISTIC_MEMBERS(cublasLtMatmulAlgo_t) } cublasLtMatmulHeuristicResult_t;
#endif

enum { /* values of the real names without LT_ */
    LT_CUDA_R_32F = 0, LT_CUDA_R_64F = 1, LT_CUDA_R_16F = 2, LT_CUDA_C_32F = 4, LT_CUDA_C_64F = 5, LT_CUDA_R_16BF = 14,
    LT_CUBLAS_OP_N = 0, LT_CUBLAS_OP_T = 1,
    LT_CUBLAS_FILL_MODE_LOWER = 0, LT_CUBLAS_FILL_MODE_UPPER = 1,
    LT_CUBLAS_COMPUTE_32F = 68, LT_CUBLAS_COMPUTE_32F_PEDANTIC = 69, LT_CUBLAS_COMPUTE_32F_FAST_TF32 = 77, LT_CUBLAS_COMPUTE_64F = 70,
    LT_CUBLASLT_MATMUL_DESC_TRANSA = 3, LT_CUBLASLT_MATMUL_DESC_TRANSB = 4, LT_CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    LT_CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8, LT_CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
    LT_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5, LT_CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
    LT_CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1, LT_CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3, LT_CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
    LT_CUBLASLT_ALGO_CONFIG_ID = 0, LT_CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION = 5, LT_CUBLASLT_ALGO_CONFIG_STAGES_ID = 6,
    LT_CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID = 7, LT_CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID = 8,
    LT_CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5, LT_CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    LT_CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7, LT_CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
    LT_CUBLASLT_EPILOGUE_DEFAULT = 1, LT_CUBLASLT_EPILOGUE_RELU = 2, LT_CUBLASLT_EPILOGUE_BIAS = 4, LT_CUBLASLT_EPILOGUE_RELU_BIAS = 6,
};

#define LT_CUBLASLT_FUNCTIONS(X)                                                                              \
    X(size_t, cublasLtGetVersion, (void))                                                                     \
    X(const char *, cublasLtGetStatusString, (unsigned))                                                      \
    X(unsigned, cublasLtCreate, (cublasLtHandle_t *))                                                         \
    X(unsigned, cublasLtDestroy, (cublasLtHandle_t))                                                          \
    X(unsigned, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *, unsigned, unsigned))                       \
    X(unsigned, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t))                                            \
    X(unsigned, cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t, unsigned, const void *, size_t))       \
    X(unsigned, cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *, unsigned, uint64_t, uint64_t, int64_t)) \
    X(unsigned, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t))                                        \
    X(unsigned, cublasLtMatrixLayoutSetAttribute, (cublasLtMatrixLayout_t, unsigned, const void *, size_t))   \
    X(unsigned, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *))                               \
    X(unsigned, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t))                                \
    X(unsigned, cublasLtMatmulPreferenceSetAttribute, (cublasLtMatmulPreference_t, unsigned, const void *, size_t)) \
    X(unsigned, cublasLtMatmulAlgoGetHeuristic, (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, \
        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t,   \
        int, cublasLtMatmulHeuristicResult_t *, int *))                                                       \
    X(unsigned, cublasLtMatmulAlgoConfigGetAttribute, (const cublasLtMatmulAlgo_t *, unsigned, void *, size_t, size_t *)) \
    X(unsigned, cublasLtMatmul, (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,          \
        cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *, const void *,             \
        cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t, \
        lt_cu_stream))

typedef struct lt_cublaslt {
#define X(result, name, args) result (*name) args;
    LT_CUBLASLT_FUNCTIONS(X)
#undef X
} lt_cublaslt;

#endif
