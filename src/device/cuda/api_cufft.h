/* The part of cuFFT that lathe calls. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_API_CUFFT_H
#define LT_DEVICE_CUDA_API_CUFFT_H

#include "device/cuda/api_driver.h"

#ifndef CUFFT_VERSION /* the real header is not there */
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef void cufftComplex, cufftDoubleComplex; /* pairs of reals; only their addresses are passed */
#endif

enum { LT_CUFFT_R2C = 0x2a, LT_CUFFT_C2R = 0x2c, LT_CUFFT_D2Z = 0x6a, LT_CUFFT_Z2D = 0x6c };

#define LT_CUFFT_FUNCTIONS(X)                                                                     \
    X(unsigned, cufftGetVersion, (int *))                                                         \
    X(unsigned, cufftCreate, (int *))                                                             \
    X(unsigned, cufftDestroy, (int))                                                              \
    X(unsigned, cufftSetStream, (int, lt_cu_stream))                                              \
    X(unsigned, cufftSetAutoAllocation, (int, int))                                               \
    X(unsigned, cufftSetWorkArea, (int, void *))                                                  \
    X(unsigned, cufftMakePlanMany64, (int, int, long long *, long long *, long long, long long,   \
                                      long long *, long long, long long, unsigned, long long, size_t *)) \
    X(unsigned, cufftExecR2C, (int, cufftReal *, cufftComplex *))                                 \
    X(unsigned, cufftExecC2R, (int, cufftComplex *, cufftReal *))                                 \
    X(unsigned, cufftExecD2Z, (int, cufftDoubleReal *, cufftDoubleComplex *))                     \
    X(unsigned, cufftExecZ2D, (int, cufftDoubleComplex *, cufftDoubleReal *))

typedef struct lt_cufft {
#define X(result, name, args) result (*name) args;
    LT_CUFFT_FUNCTIONS(X)
#undef X
} lt_cufft;

#endif
