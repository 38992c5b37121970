/* Fused steps: what they plan, on the null device; on a GPU against the CPU's float32 steps, one application of
   the operator, with the bounds the specification sets for half precisions. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "device/backend.h"
#include "lathe/rng.h"
#include "operators/rollout/device/device.h"
#include "operators/rollout/fused/fused.h"
#include "operators/rollout/rollout.h"

#include <math.h>

#define SEED 5
enum { STEPS = 3 };

typedef struct states { int64_t field, n; float *x; } states; /* [STEPS, n, field] */

static lt_status keep(void *ctx, int64_t t, const float *x, const int64_t *failed)
{
    states *s = ctx;
    (void)failed;
    memcpy(s->x + t * s->n * s->field, x, (size_t)(s->n * s->field) * sizeof *x);
    return LT_OK;
}

/* Returns what the step is ("fused", "graph"). */
static const char *roll(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t realizations, float *out)
{
    static char step[16];
    lt_rollout_options o = lt_rollout_defaults();
    lt_rollout *r = NULL;
    lt_operator_weights *w = NULL;
    o.device = dev, o.precision = precision, o.realizations = realizations, o.steps = STEPS;
    states s = { 3 * (int64_t)spec->grid * spec->grid, realizations, out };
    float *field = malloc((size_t)s.field * sizeof *field);
    lt_draws d = lt_draws_make(SEED, "test field", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, s.field, field));
    LT_CHECK_OK(lt_operator_weights_create(spec, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, 3));
    LT_CHECK_OK(lt_rollout_create(spec, &o, &r));
    if (r) {
        snprintf(step, sizeof step, "%s", lt_rollout_get_info(r).step);
        LT_CHECK_OK(lt_rollout_set_operator(r, spec, w));
        LT_CHECK_OK(lt_rollout_run(r, field, -1, keep, &s, NULL));
    }
    lt_rollout_destroy(r);
    lt_operator_weights_destroy(w);
    free(field);
    return step;
}

static double distance(const float *a, const float *b, int64_t n)
{
    double d = 0, s = 0;
    for (int64_t i = 0; i < n; i++) d += ((double)a[i] - b[i]) * ((double)a[i] - b[i]), s += (double)b[i] * b[i];
    return sqrt(d / s);
}

static lt_operator_spec variant(int layers, int channels, int kernel, int grid)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = layers, s.base_channels = channels, s.kernel_size = kernel, s.grid = grid;
    s.policy = LT_POLICY_CONVEX, s.alpha = 0.0; /* the state is the operator's output */
    s.noise = LT_NOISE_GAUSSIAN, s.noise_scale = 0.1;
    return s;
}

/* Which kernels make a step, in which precisions. */
typedef struct kind { const char *step; lt_precision precision; double bound; } kind;
static const kind kinds[] = {
    { "auto", LT_PRECISION_FLOAT16, 4e-3 }, { "auto", LT_PRECISION_BFLOAT16, 3e-2 }, /* those of sm_90 */
    { "mma", LT_PRECISION_FLOAT16, 4e-3 },  { "mma", LT_PRECISION_BFLOAT16, 3e-2 },  { "mma", LT_PRECISION_TF32, 2e-3 }, { "mma", LT_PRECISION_FLOAT32, 1e-5 },
};

static void compare_kind(lt_device *dev, const char *what, const lt_operator_spec *s, int64_t realizations, const kind *k, const float *exact, float *got, float *again)
{
    int64_t per_step = realizations * 3 * s->grid * s->grid;
    LT_CHECK(!strcmp(roll(dev, s, k->precision, realizations, got), "fused"));
    double d = distance(got + per_step, exact + per_step, per_step);
    if (!(d <= k->bound)) LT_TEST_FAIL("%s, %s, %s: one step is off by %.2e, at most %.2e", what, k->step, lt_precision_name(k->precision), d, k->bound);
    if (lt_test_brief()) return;
    roll(dev, s, k->precision, realizations, again);
    LT_CHECK(!memcmp(got, again, (size_t)(STEPS * per_step) * sizeof *got)); /* to the bit */
}

static void compare(lt_device *dev, const char *what, const lt_operator_spec *s, int64_t realizations)
{
    if (lt_test_brief()) realizations = 1;
    int64_t per_step = realizations * 3 * s->grid * s->grid;
    float *exact = malloc((size_t)(STEPS * per_step) * sizeof *exact), *got = calloc((size_t)(STEPS * per_step), sizeof *got);
    float *again = calloc((size_t)(STEPS * per_step), sizeof *again);
    roll(NULL, s, LT_PRECISION_FLOAT32, realizations, exact);
    for (size_t i = 0; i < LT_LEN(kinds); i++) {
        if (!strcmp(kinds[i].step, "auto") && dev->generation != 90) continue; /* a clock chooses */
        setenv("LATHE_CUDA_STEP", kinds[i].step, 1);
        compare_kind(dev, what, s, realizations, &kinds[i], exact, got, again);
    }
    unsetenv("LATHE_CUDA_STEP");
    free(exact);
    free(got);
    free(again);
}

static lt_rollout_info plan(lt_device *dev, const lt_operator_spec *s, lt_precision precision)
{
    lt_rollout_options o = lt_rollout_defaults();
    lt_rollout *r = NULL;
    o.device = dev, o.precision = precision, o.realizations = 5, o.steps = STEPS;
    LT_CHECK_OK(lt_rollout_create(s, &o, &r));
    lt_rollout_info info = lt_rollout_get_info(r);
    lt_rollout_destroy(r);
    return info;
}

LT_TEST(steps_are_planned_where_they_fit_and_say_why_elsewhere)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("null", &dev));
    enum { AROUND = 1 }; /* noise */
    lt_operator_spec s = variant(4, 64, 3, 128);
    lt_rollout_info info = plan(dev, &s, LT_PRECISION_FLOAT16);
    LT_CHECK(!strcmp(info.step, "fused") && !info.step_reason[0]);
    LT_CHECK_EQ_INT(info.kernels_per_step, 9 + 3 + 1 + AROUND);     /* norms inside; three ends of blocks, two of them with projections; the output */
    LT_CHECK(info.arena_bytes > 3LL * 5 * 128 * 128 * 256 * 2);     /* three maps, and weights and sums */
    LT_CHECK(info.arena_bytes < 4LL * 5 * 128 * 128 * 256 * 2);
    lt_rollout_options less = lt_rollout_defaults(); /* three batches of two: one realization is computed twice */
    less.device = dev, less.precision = LT_PRECISION_FLOAT16, less.realizations = 5, less.steps = STEPS, less.memory_bytes = info.arena_bytes / 2;
    lt_rollout *r = NULL;
    LT_CHECK_OK(lt_rollout_create(&s, &less, &r));
    LT_CHECK_EQ_INT(lt_rollout_get_info(r).micro_batch, 2);
    LT_CHECK_EQ_INT(lt_rollout_get_info(r).kernels_per_step, 3 * 13 + AROUND);
    LT_CHECK(lt_rollout_get_info(r).arena_bytes <= less.memory_bytes);
    lt_rollout_destroy(r);
    less.memory_bytes = 1 << 20;
    LT_CHECK_FAILS(lt_rollout_create(&s, &less, &r), LT_ERR_MEMORY, "one realization needs");
    s.num_layers = 3; /* no residual blocks: a launch per convolution, and the output */
    LT_CHECK_EQ_INT(plan(dev, &s, LT_PRECISION_BFLOAT16).kernels_per_step, 4 + 1 + AROUND);
    info = plan(dev, &s, LT_PRECISION_FLOAT32);
    LT_CHECK(!strcmp(info.step, "graph") && strstr(info.step_reason, "have not been tried on this card"));
    s.kernel_size = 13;
    info = plan(dev, &s, LT_PRECISION_FLOAT16);
    LT_CHECK(!strcmp(info.step, "graph") && strstr(info.step_reason, "too wide"));
    s.kernel_size = 3;
    s.grid = 16;
    info = plan(dev, &s, LT_PRECISION_FLOAT16);
    LT_CHECK(!strcmp(info.step, "graph") && strstr(info.step_reason, "32 x 32"));
    lt_device_close(dev);
}

/* What an RTX 3060 Ti would be asked for: 99 KiB of shared memory a block, 8 GB in all. The largest of the standard space. */
LT_TEST(the_standard_space_fits_on_cards_with_8_gb)
{
    lt_device *dev = NULL;
    int64_t bytes;
    char why[160];
    LT_CHECK_OK(lt_device_open("null", &dev));
    dev->generation = 86, dev->shared_bytes = 99 << 10;
    for (int kernel = 3; kernel <= 7; kernel += 2)
        for (int layers = 2; layers <= 5; layers++) {
            lt_operator_spec s = variant(layers, 64, kernel, 128);
            LT_CHECK(lt_fused_cnn_fits(dev, &s, LT_PRECISION_FLOAT16, why) && !lt_fused_cnn_measured(dev, LT_PRECISION_FLOAT16));
            LT_CHECK_OK(lt_fused_cnn_need(dev, &s, LT_PRECISION_FLOAT16, 5, &bytes));
            LT_CHECK(bytes <= (int64_t)2 << 30);
            LT_CHECK(lt_fused_cnn_fits(dev, &s, LT_PRECISION_FLOAT32, why));
        }
    dev->generation = 75;
    lt_operator_spec s = variant(4, 64, 3, 128);
    LT_CHECK(!lt_fused_cnn_fits(dev, &s, LT_PRECISION_FLOAT16, why) && strstr(why, "sm_80"));
    dev->generation = 90;
    lt_device_close(dev);
}

/* A whole rollout of 500 steps beside the operators that run with it: on cards with 8 GB with 5 realizations, with 24 GB with 15, in every precision. */
LT_TEST(rollouts_of_the_standard_space_are_planned_on_8_and_24_gb)
{
    static const struct { int generation; int64_t gb, realizations; } card[] = { { 86, 8, 5 }, { 89, 24, 15 } };
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("null", &dev));
    setenv("LATHE_CUDA_STEP", "mma", 1);
    for (size_t i = 0; i < LT_LEN(card); i++)
        for (int p = 0; p < LT_PRECISION_COUNT; p++) {
            lt_operator_spec s = variant(5, 64, 7, 128);
            lt_rollout_options o = lt_rollout_defaults();
            lt_rollout_need need;
            int64_t bytes = card[i].gb << 30;
            dev->generation = card[i].generation, dev->shared_bytes = 99 << 10;
            o.device = dev, o.precision = (lt_precision)p, o.realizations = card[i].realizations, o.steps = 500;
            LT_CHECK_OK(lt_device_rollout_plan(&s, &o, bytes, true, &need));
            LT_CHECK(need.exact && 2 * (need.step_bytes + need.state_bytes) <= bytes);
        }
    unsetenv("LATHE_CUDA_STEP");
    dev->generation = 90;
    lt_device_close(dev);
}

/* An environment variable says which step is planned, and refuses what it does not know. */
LT_TEST(a_kind_of_step_can_be_asked_for)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_operator_spec s = variant(4, 32, 3, 64);
    setenv("LATHE_CUDA_STEP", "mma", 1);
    LT_CHECK(!strcmp(plan(dev, &s, LT_PRECISION_TF32).step, "fused"));
    LT_CHECK(!strcmp(plan(dev, &s, LT_PRECISION_FLOAT16).step, "fused"));
    setenv("LATHE_CUDA_STEP", "graph", 1);
    LT_CHECK(!strcmp(plan(dev, &s, LT_PRECISION_FLOAT16).step, "graph"));
    setenv("LATHE_CUDA_STEP", "fast", 1);
    lt_rollout_options o = lt_rollout_defaults();
    lt_rollout *r = NULL;
    o.device = dev;
    LT_CHECK_FAILS(lt_rollout_create(&s, &o, &r), LT_ERR_ARGUMENT, "LATHE_CUDA_STEP");
    unsetenv("LATHE_CUDA_STEP");
    lt_device_close(dev);
}

LT_TEST(steps_of_every_architecture_agree_with_the_cpu)
{
    lt_device *dev = NULL;
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    static const struct { int layers, channels, kernel, grid; int64_t realizations; } row[] = {
        { 2, 16, 3, 64, 3 }, { 3, 37, 5, 48, 2 }, { 4, 64, 3, 64, 2 }, { 5, 24, 3, 100, 1 }, { 4, 20, 7, 64, 3 }, { 1, 9, 9, 32, 1 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char what[64];
        const int channels = lt_test_brief() && row[i].channels > 32 ? 32 : row[i].channels;
        lt_operator_spec s = variant(row[i].layers, channels, row[i].kernel, lt_test_brief() ? 32 + 4 * (int)i : row[i].grid);
        snprintf(what, sizeof what, "%d layers of %d, %dx%d on %d", row[i].layers, row[i].channels, row[i].kernel, row[i].kernel, row[i].grid);
        compare(dev, what, &s, row[i].realizations);
    }
    lt_device_close(dev);
}

LT_TEST(every_norm_activation_padding_and_noise_agrees_with_the_cpu)
{
    lt_device *dev = NULL;
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    for (int norm = 0; norm < LT_NORM_COUNT; norm++) {
        lt_operator_spec s = variant(4, 24, 3, lt_test_brief() ? 36 : 48);
        s.normalization = (lt_normalization)norm, s.activation = (lt_activation)(norm % LT_ACT_COUNT), s.circular_padding = norm % 2;
        s.noise = (lt_noise)(norm % LT_NOISE_COUNT);
        s.noise_scale = s.noise == LT_NOISE_DROPOUT ? 0.3 : 0.1;
        char what[96];
        snprintf(what, sizeof what, "norm %s, activation %s, noise %s", lt_normalization_name(s.normalization), lt_activation_name(s.activation), lt_noise_name(s.noise));
        compare(dev, what, &s, 2);
    }
    lt_device_close(dev);
}

LT_TEST(realizations_do_not_see_each_other)
{
    lt_device *dev = NULL;
    if (lt_device_open("cuda", &dev)) LT_SKIP("%s", lt_error_text());
    lt_operator_spec s = variant(4, 32, 3, 64);
    int64_t field = 3 * s.grid * s.grid;
    float *one = calloc((size_t)(STEPS * field), sizeof *one), *five = calloc((size_t)(STEPS * 5 * field), sizeof *five);
    roll(dev, &s, LT_PRECISION_FLOAT16, 1, one);
    roll(dev, &s, LT_PRECISION_FLOAT16, 5, five);
    for (int t = 0; t < STEPS; t++) LT_CHECK(!memcmp(one + t * field, five + t * 5 * field, (size_t)field * sizeof *one));
    free(one);
    free(five);
    lt_device_close(dev);
}

LT_TEST_MAIN()
