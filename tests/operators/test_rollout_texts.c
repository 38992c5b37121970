/* Texts that are noted before rollouts are made are all texts they need. The driver is a made-up one (tests/device/fake_cuda.c), the compiler
   the real one. Needs NVRTC, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "device/build_list.h"
#include "operators/features/device/device.h"
#include "operators/rollout/device/device.h"

#include "compile_kernels.h"

static lt_operator_spec architecture(lt_operator_kind kind, lt_noise noise)
{
    lt_operator_spec s = lt_operator_defaults(kind);
    s.num_layers = 2, s.base_channels = 8, s.grid = 32, s.noise = noise, s.noise_scale = 0.1;
    s.encoder_levels = 1, s.afno_blocks = 1, s.modes = 4, s.blocks_per_level = 1;
    return s;
}

static lt_status never(void *ctx) { return ++*(int *)ctx > 2 ? LT_FAIL(LT_ERR_CANCELLED, "enough") : LT_OK; }

/* Notes, compiles, makes the rollout, and returns how many texts it still had to have compiled. */
static int64_t compiled_late(lt_device *dev, const lt_operator_spec *s, lt_precision precision, int64_t *noted)
{
    lt_rollout_options o = lt_rollout_defaults();
    lt_build_list *l = NULL;
    lt_rollout *r = NULL;
    o.realizations = 2, o.steps = 4, o.precision = precision;
    LT_CHECK_OK(lt_build_list_create(dev, &l));
    o.device = lt_build_list_device(l);
    LT_CHECK_OK(lt_device_rollout_prepare(s, &o));
    LT_CHECK_OK(lt_device_rollout_prepare(s, &o)); /* noted once */
    *noted = lt_build_list_texts(l);
    lt_build_counts before = lt_device_build_counts(dev);
    LT_CHECK_OK(lt_build_list_run(l, lt_device_pool(dev), NULL, NULL));
    lt_build_counts then = lt_device_build_counts(dev);
    LT_CHECK(then.compiled + then.loaded - before.compiled - before.loaded <= *noted); /* some are known from an architecture before */
    lt_build_list_destroy(l);
    o.device = dev;
    LT_CHECK_OK(lt_rollout_create(s, &o, &r));
    lt_rollout_destroy(r);
    lt_build_counts now = lt_device_build_counts(dev);
    return now.compiled + now.loaded - then.compiled - then.loaded;
}

LT_TEST(rollouts_find_every_text_compiled)
{
    lt_device *dev;
    int64_t noted;
    OPEN_OR_SKIP();
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    lt_operator_spec s = architecture(LT_OPERATOR_CNN, LT_NOISE_GAUSSIAN);
    LT_CHECK_EQ_INT(compiled_late(dev, &s, LT_PRECISION_FLOAT16, &noted), 0);
    LT_CHECK(noted >= 6); /* stem, two convolutions, output, packing, states, noise; shapes may agree */
    s.num_layers = 3, s.base_channels = 32; /* wide enough for convolutions of our own */
    setenv("LATHE_CUDA_STEP", "graph", 1); /* no trial: it would compile both */
    LT_CHECK_EQ_INT(compiled_late(dev, &s, LT_PRECISION_FLOAT32, &noted), 0);
    LT_CHECK(noted >= 6);
    setenv("LATHE_CUDA_STEP", "mma", 1);
    LT_CHECK_EQ_INT(compiled_late(dev, &s, LT_PRECISION_TF32, &noted), 0);
    LT_CHECK(noted >= 6);
    unsetenv("LATHE_CUDA_STEP");
    lt_device_close(dev);
}

LT_TEST(a_list_ends_when_it_is_asked_to)
{
    lt_device *dev;
    lt_build_list *l = NULL;
    int calls = 0;
    OPEN_OR_SKIP();
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    lt_operator_spec s = architecture(LT_OPERATOR_CNN, LT_NOISE_LAPLACE);
    lt_rollout_options o = lt_rollout_defaults();
    LT_CHECK_OK(lt_build_list_create(dev, &l));
    o.device = lt_build_list_device(l), o.realizations = 2, o.steps = 4, o.precision = LT_PRECISION_FLOAT16;
    LT_CHECK_OK(lt_device_rollout_prepare(&s, &o));
    LT_CHECK_FAILS(lt_build_list_run(l, NULL, never, &calls), LT_ERR_CANCELLED, "enough");
    LT_CHECK_EQ_INT(calls, 3);
    LT_CHECK(lt_device_build_counts(dev).compiled + lt_device_build_counts(dev).loaded <= 2);
    lt_build_list_destroy(l);
    lt_device_close(dev);
}

LT_TEST_MAIN()
