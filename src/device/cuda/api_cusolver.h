/* The part of cuSOLVER that lathe calls: its 64-bit dense interface. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_API_CUSOLVER_H
#define LT_DEVICE_CUDA_API_CUSOLVER_H

#include "device/cuda/api_driver.h"

typedef struct cusolverDnContext *lt_cusolver_handle;
typedef struct cusolverDnParams *lt_cusolver_params;

enum { LT_CUSOLVER_EIG_MODE_NOVECTOR = 0, LT_CUSOLVER_EIG_MODE_VECTOR = 1 };

#define LT_CUSOLVER_FUNCTIONS(X)                                                                            \
    X(unsigned, cusolverGetVersion, (int *))                                                                \
    X(unsigned, cusolverDnCreate, (lt_cusolver_handle *))                                                   \
    X(unsigned, cusolverDnDestroy, (lt_cusolver_handle))                                                    \
    X(unsigned, cusolverDnSetStream, (lt_cusolver_handle, lt_cu_stream))                                    \
    X(unsigned, cusolverDnCreateParams, (lt_cusolver_params *))                                             \
    X(unsigned, cusolverDnDestroyParams, (lt_cusolver_params))                                              \
    X(unsigned, cusolverDnXgetrf_bufferSize, (lt_cusolver_handle, lt_cusolver_params, int64_t, int64_t, unsigned, \
        const void *, int64_t, unsigned, size_t *, size_t *))                                               \
    X(unsigned, cusolverDnXgetrf, (lt_cusolver_handle, lt_cusolver_params, int64_t, int64_t, unsigned, void *, \
        int64_t, int64_t *, unsigned, void *, size_t, void *, size_t, int *))                               \
    X(unsigned, cusolverDnXgetrs, (lt_cusolver_handle, lt_cusolver_params, unsigned, int64_t, int64_t, unsigned, \
        const void *, int64_t, const int64_t *, unsigned, void *, int64_t, int *))                          \
    X(unsigned, cusolverDnXpotrf_bufferSize, (lt_cusolver_handle, lt_cusolver_params, unsigned, int64_t,    \
        unsigned, const void *, int64_t, unsigned, size_t *, size_t *))                                     \
    X(unsigned, cusolverDnXpotrf, (lt_cusolver_handle, lt_cusolver_params, unsigned, int64_t, unsigned,     \
        void *, int64_t, unsigned, void *, size_t, void *, size_t, int *))                                  \
    X(unsigned, cusolverDnXsyevd_bufferSize, (lt_cusolver_handle, lt_cusolver_params, unsigned, unsigned,   \
        int64_t, unsigned, const void *, int64_t, unsigned, const void *, unsigned, size_t *, size_t *))    \
    X(unsigned, cusolverDnXsyevd, (lt_cusolver_handle, lt_cusolver_params, unsigned, unsigned, int64_t,     \
        unsigned, void *, int64_t, unsigned, void *, unsigned, void *, size_t, void *, size_t, int *))      \
    X(unsigned, cusolverDnXgesvd_bufferSize, (lt_cusolver_handle, lt_cusolver_params, signed char, signed char, \
        int64_t, int64_t, unsigned, const void *, int64_t, unsigned, const void *, unsigned, const void *,  \
        int64_t, unsigned, const void *, int64_t, unsigned, size_t *, size_t *))                            \
    X(unsigned, cusolverDnXgesvd, (lt_cusolver_handle, lt_cusolver_params, signed char, signed char, int64_t, \
        int64_t, unsigned, void *, int64_t, unsigned, void *, unsigned, void *, int64_t, unsigned, void *,  \
        int64_t, unsigned, void *, size_t, void *, size_t, int *))                                          \
    X(unsigned, cusolverDnXgeev_bufferSize, (lt_cusolver_handle, lt_cusolver_params, unsigned, unsigned,    \
        int64_t, unsigned, const void *, int64_t, unsigned, const void *, unsigned, const void *, int64_t,  \
        unsigned, const void *, int64_t, unsigned, size_t *, size_t *))                                     \
    X(unsigned, cusolverDnXgeev, (lt_cusolver_handle, lt_cusolver_params, unsigned, unsigned, int64_t,      \
        unsigned, void *, int64_t, unsigned, void *, unsigned, void *, int64_t, unsigned, void *, int64_t,  \
        unsigned, void *, size_t, void *, size_t, int *))

typedef struct lt_cusolver {
#define X(result, name, args) result (*name) args;
    LT_CUSOLVER_FUNCTIONS(X)
#undef X
} lt_cusolver;

#endif
