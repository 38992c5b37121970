/* Source text to machine code by NVRTC. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/compile.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>

#define MAX_OPTIONS 64
#define LOG_SHOWN 600 /* of the compiler's messages */

static lt_status fail(const lt_nvrtc *rtc, unsigned r, const lt_kernel_key *key, lt_nvrtc_program p)
{
    size_t bytes = 0;
    char *log = NULL;
    if (p && !rtc->nvrtcGetProgramLogSize(p, &bytes) && bytes > 1) log = lt_calloc(1, bytes + 1);
    if (log && rtc->nvrtcGetProgramLog(p, log)) log[0] = 0;
    lt_status s = LT_FAIL(LT_ERR_FORMAT, "kernel '%s' does not compile: %s\n%.*s", key->name, rtc->nvrtcGetErrorString(r), LOG_SHOWN,
                          log ? log : "");
    lt_free(log);
    return s;
}

static lt_status take_cubin(const lt_nvrtc *rtc, const lt_kernel_key *key, lt_nvrtc_program p, char **cubin, size_t *bytes)
{
    unsigned r = rtc->nvrtcGetCUBINSize(p, bytes);
    if (r || !*bytes) return fail(rtc, r, key, p);
    *cubin = lt_malloc(*bytes);
    if (!*cubin) return LT_FAIL(LT_ERR_MEMORY, "kernel '%s': %zu bytes of machine code", key->name, *bytes);
    r = rtc->nvrtcGetCUBIN(p, *cubin);
    if (!r) return LT_OK;
    lt_free(*cubin);
    *cubin = NULL;
    return fail(rtc, r, key, p);
}

lt_status lt_cuda_compile(const lt_nvrtc *rtc, const lt_kernel_key *key, int sm, char **cubin, size_t *bytes)
{
    char arch[32];
    const char *option[MAX_OPTIONS + 4] = { arch, "--std=c++17", "-default-device" };
    int n = 3;
    *cubin = NULL;
    if (key->n_options > MAX_OPTIONS)
        return LT_FAIL(LT_ERR_ARGUMENT, "kernel '%s': %d options, at most %d", key->name, key->n_options, MAX_OPTIONS);
    /* Machine code is made for the device at hand, so that what only its generation has (wgmma) may be used. */
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%s", sm, sm == 90 ? "a" : ""); /* for the device at hand only (decision 98) */
    for (int i = 0; i < key->n_options; i++) option[n++] = key->options[i];
    lt_nvrtc_program p = NULL;
    unsigned r = rtc->nvrtcCreateProgram(&p, key->source, key->name, 0, NULL, NULL);
    if (r) return fail(rtc, r, key, NULL);
    r = rtc->nvrtcCompileProgram(p, n, option);
    lt_status s = r ? fail(rtc, r, key, p) : take_cubin(rtc, key, p, cubin, bytes);
    (void)rtc->nvrtcDestroyProgram(&p);
    return s;
}
