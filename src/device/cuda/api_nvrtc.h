/* The part of NVRTC, the run-time compiler, that lathe calls. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_API_NVRTC_H
#define LT_DEVICE_CUDA_API_NVRTC_H

#include <stddef.h>

typedef struct _nvrtcProgram *lt_nvrtc_program;

#define LT_NVRTC_FUNCTIONS(X)                                                                          \
    X(unsigned, nvrtcVersion, (int *, int *))                                                          \
    X(const char *, nvrtcGetErrorString, (unsigned))                                                   \
    X(unsigned, nvrtcCreateProgram, (lt_nvrtc_program *, const char *, const char *, int,              \
                                     const char *const *, const char *const *))                        \
    X(unsigned, nvrtcDestroyProgram, (lt_nvrtc_program *))                                             \
    X(unsigned, nvrtcCompileProgram, (lt_nvrtc_program, int, const char *const *))                     \
    X(unsigned, nvrtcGetCUBINSize, (lt_nvrtc_program, size_t *))                                       \
    X(unsigned, nvrtcGetCUBIN, (lt_nvrtc_program, char *))                                             \
    X(unsigned, nvrtcGetProgramLogSize, (lt_nvrtc_program, size_t *))                                  \
    X(unsigned, nvrtcGetProgramLog, (lt_nvrtc_program, char *))

typedef struct lt_nvrtc {
#define X(result, name, args) result (*name) args;
    LT_NVRTC_FUNCTIONS(X)
#undef X
} lt_nvrtc;

#endif
