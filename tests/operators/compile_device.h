/* A device that compiles kernels for given architectures and nothing else. Needs NVRTC, no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMPILE_DEVICE_H
#define COMPILE_DEVICE_H

#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/backend.h"
#include "device/cuda/compile.h"
#include "device/cuda/library.h"

static const lt_nvrtc *rtc;

static inline bool have_nvrtc(void)
{
    int major, minor;
    return !lt_nvrtc_open(&rtc, &major, &minor);
}

static void drop_compiled(lt_kernel *k) { lt_free(k); }

static inline lt_status compile_for(const lt_kernel_key *key, int architecture)
{
    char *cubin = NULL;
    size_t bytes = 0;
    LT_TRY(lt_cuda_compile(rtc, key, architecture, &cubin, &bytes));
    LT_CHECK(bytes > 64 && memcmp(cubin, "\177ELF", 4) == 0);
    LT_CHECK(memmem(cubin, bytes, key->entry, strlen(key->entry)) != NULL); /* the entry point is there */
    lt_free(cubin);
    return LT_OK;
}

/* What a build hands out. */
static inline lt_status compiled_kernel(lt_kernel **out)
{
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    k->destroy = drop_compiled;
    *out = k;
    return LT_OK;
}

#endif
