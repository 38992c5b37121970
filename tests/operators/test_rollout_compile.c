/* Every kernel text of rollouts compiles for the architectures lathe is made for. Needs NVRTC, no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda/compile.h"
#include "device/cuda/library.h"
#include "operators/remote/parts.h"

static const int architectures[] = { 89, 90 };
static const lt_nvrtc *rtc;
static char compiled[32][32]; /* entries that were seen */
static int n_compiled;

/* ---- a device that compiles and nothing else ---- */

static void drop(lt_kernel *k) { lt_free(k); }

static bool seen(const char *entry)
{
    for (int i = 0; i < n_compiled; i++)
        if (!strcmp(compiled[i], entry)) return true;
    snprintf(compiled[n_compiled++], sizeof compiled[0], "%s", entry);
    return false;
}

static lt_status compile(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    (void)dev;
    bool done = seen(key->entry);
    for (size_t i = 0; !done && i < LT_LEN(architectures); i++) {
        char *cubin = NULL;
        size_t bytes = 0;
        LT_TRY(lt_cuda_compile(rtc, key, architectures[i], &cubin, &bytes));
        LT_CHECK(bytes > 64 && memcmp(cubin, "\177ELF", 4) == 0);
        LT_CHECK(memmem(cubin, bytes, key->entry, strlen(key->entry)) != NULL); /* the entry point is there */
        lt_free(cubin);
    }
    lt_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    k->destroy = drop;
    *out = k;
    return LT_OK;
}

static const lt_backend backend = { .name = "compile", .build = compile };
static lt_device device = { .backend = &backend, .id = "compile" };

LT_TEST(kernels_around_the_step_compile)
{
    int major, minor;
    if (lt_nvrtc_open(&rtc, &major, &minor)) LT_SKIP("%s", lt_error_text());
    lt_rollout_job job = { .realizations = 3, .field = 192, .pixels = 64, .channels = 3, .noise_count = 192, .steps_per_launch = 8 };
    for (int noise = 0; noise < LT_NOISE_COUNT; noise++)
        for (int correlated = 0; correlated < 2; correlated++) {
            lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
            lt_rollout_kernels k;
            s.noise = (lt_noise)noise, s.grid = 8, s.full_noise = true, s.spatial_correlation = correlated ? 0.1 : 0;
            LT_CHECK_OK(lt_rollout_kernels_build(&device, &job, &s, 100, &k));
            lt_rollout_kernels_destroy(&k);
        }
    LT_CHECK_EQ_INT(n_compiled, 11); /* four around the step; four kinds of white noise; three of correlated */
}

LT_TEST_MAIN()
