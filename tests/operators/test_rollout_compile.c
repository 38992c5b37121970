/* Every kernel text of rollouts compiles for the architectures lathe is made for. Needs NVRTC, no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "compile_kernels.h"
#include "operators/rollout/device/parts.h"

static char compiled[32][32]; /* entries that were seen */
static int n_compiled;

/* ---- a device that compiles and nothing else ---- */

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
    if (!seen(key->entry)) LT_TRY(compile_for_all(key));
    return compiled_kernel(key, out);
}

static const lt_backend backend = { .name = "compile", .build = compile };
static lt_device device = { .backend = &backend, .id = "compile" };

LT_TEST(kernels_around_the_step_compile)
{
    OPEN_OR_SKIP();
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
