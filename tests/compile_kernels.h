/* Kernel texts compiled for the architectures lathe is made for. Needs NVRTC, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_COMPILE_KERNELS_H
#define LT_TEST_COMPILE_KERNELS_H

#include "lt_test.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "device/backend.h"
#include "device/cuda/compile.h"
#include "device/cuda/library.h"

#include "cubin.h"

/* Every generation since Ampere: A100, RTX 30, RTX 40, H100 and H200, B200, RTX 50. */
static const int architectures[] = { 80, 86, 89, 90, 100, 120 };
static const lt_nvrtc *rtc;

static inline bool have_nvrtc(void)
{
    int major, minor;
    return !lt_nvrtc_open(&rtc, &major, &minor);
}

#define OPEN_OR_SKIP() do { if (!have_nvrtc()) LT_SKIP("%s", lt_error_text()); } while (0)

/* Whether a card takes a launch of it: the parameters are those that are passed, and a block fits on a core. */
static inline void check_machine_code(const lt_kernel_key *key, int architecture, const char *cubin)
{
    cubin_entry e;
    if (!cubin_describe(cubin, key->entry, architecture, &e)) {
        LT_TEST_FAIL("%s: sm_%d: the entry is not there", key->entry, architecture);
        return;
    }
    if (!key->block[0] || key->shared_bytes > cubin_most_shared(architecture)) return; /* only a text, of no launch; not for this card */
    int passed = key->n_args + (key->scratch_bytes > 0);
    const char *why = cubin_refusal(&e, architecture, key->block, key->shared_bytes);
    if (!e.pointers || e.n_params != passed) LT_TEST_FAIL("%s: sm_%d: %d parameters%s, %d pointers are passed", key->entry, architecture, e.n_params, e.pointers ? "" : " of several sizes", passed);
    if (why) LT_TEST_FAIL("%s: sm_%d: %s: %u x %u x %u threads, %d registers each, %zu and %zu bytes of shared memory", key->entry, architecture, why, key->block[0], key->block[1], key->block[2],
                          e.registers, e.shared_bytes, key->shared_bytes);
    if (getenv("LATHE_TEST_RESOURCES")) printf("%-28s sm_%-4d %3d registers %5zu stack %6zu + %6zu shared %4u threads\n", key->entry, architecture, e.registers, e.stack_bytes, e.shared_bytes, key->shared_bytes,
                                               key->block[0] * key->block[1] * key->block[2]);
}

static inline lt_status compile_for(const lt_kernel_key *key, int architecture)
{
    char *cubin = NULL;
    size_t bytes = 0;
    LT_TRY(lt_cuda_compile(rtc, key, architecture, &cubin, &bytes));
    LT_CHECK(bytes > 64 && memcmp(cubin, "\177ELF", 4) == 0);
    check_machine_code(key, architecture, cubin);
    lt_free(cubin);
    return LT_OK;
}

static inline uint64_t hash_of_text(const lt_kernel_key *key)
{
    uint64_t h = lt_hash64(key->source, strlen(key->source), 1);
    for (int i = 0; i < key->n_options; i++) h = lt_hash64(key->options[i], strlen(key->options[i]), h);
    return h;
}

/* A text compiles for the oldest architecture, whose instructions all others have, and for one of the others in turn: a family of texts
   (an op in its types) meets them all, in a third of the time. LATHE_TEST_ARCHITECTURES=all: every text for every one. Of several
   entries of one text that come one after the other, the first has it compiled. */
static inline lt_status compile_for_all(const lt_kernel_key *key)
{
    static uint64_t last;
    static size_t turn;
    uint64_t text = hash_of_text(key);
    if (text == last && strstr(key->source, key->entry)) return LT_OK;
    last = text;
    bool all = getenv("LATHE_TEST_ARCHITECTURES") != NULL;
    size_t now = 1 + turn++ % (LT_LEN(architectures) - 1);
    for (size_t i = 0; i < LT_LEN(architectures); i++)
        if (all || i == 0 || i == now) LT_TRY(compile_for(key, architectures[i]));
    return LT_OK;
}

static inline void compile_kernels(const lt_kernel_key *key)
{
    if (compile_for_all(key)) LT_TEST_FAIL("%s: %s", key->entry, lt_error_text());
}

static inline void drop_compiled(lt_kernel *k) { lt_free(k); }

/* What a build of a device that only compiles hands out. */
static inline lt_status compiled_kernel(const lt_kernel_key *key, lt_kernel **out)
{
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_FAIL(LT_ERR_MEMORY, "kernel '%s'", key->name);
    *k = (lt_kernel){ .name = "compiled", .destroy = drop_compiled, .n_args = key->n_args, .scratch_bytes = key->scratch_bytes };
    *out = k;
    return LT_OK;
}

#endif
