/* Source text to machine code; needs NVRTC but no GPU. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_CUDA_COMPILE_H
#define LT_DEVICE_CUDA_COMPILE_H

#include "device/backend.h"
#include "device/cuda/api_nvrtc.h"

/* Compiles key->source with key->options for compute capability sm (90 = 9.0). *cubin is released
   with lt_free. A text that does not compile is LT_ERR_FORMAT with the compiler's first lines. */
lt_status lt_cuda_compile(const lt_nvrtc *rtc, const lt_kernel_key *key, int sm, char **cubin, size_t *bytes);

#endif
