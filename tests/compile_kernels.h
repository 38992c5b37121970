/* Kernel texts compiled for the architectures lathe is made for. Needs NVRTC, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_COMPILE_KERNELS_H
#define LT_TEST_COMPILE_KERNELS_H

#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda/compile.h"
#include "device/cuda/library.h"

static const lt_nvrtc *rtc;

#define OPEN_OR_SKIP() do { int major_, minor_; if (lt_nvrtc_open(&rtc, &major_, &minor_)) LT_SKIP("%s", lt_error_text()); } while (0)

static inline void compile_kernels(const lt_kernel_key *key)
{
    static const int architectures[] = { 89, 90 };
    for (size_t i = 0; i < LT_LEN(architectures); i++) {
        char *cubin = NULL;
        size_t bytes = 0;
        if (lt_cuda_compile(rtc, key, architectures[i], &cubin, &bytes)) LT_TEST_FAIL("sm_%d: %s", architectures[i], lt_error_text());
        else LT_CHECK(bytes > 64 && memcmp(cubin, "\177ELF", 4) == 0);
        lt_free(cubin);
    }
}

#endif
