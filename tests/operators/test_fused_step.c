/* Whole fused steps, run by the CPU thread by thread, against its own float32 steps, with the bounds the specification
   sets for half precisions. Needs a C++ compiler, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "half_maps.h"
#include "host_device.h"
#include "lathe/rng.h"
#include "operators/rollout/noise.h"
#include "operators/rollout/fused/fused.h"
#include "operators/rollout/rollout.h"

enum { SEED = 5, INDEX = 3, STEPS = 2, MOST_SAMPLES = 3 };

/* ---- a CPU that says it is a GPU ---- */
static const lt_backend *cpu;
static lt_status describe(lt_device *dev, lt_device_info *out)
{
    LT_TRY(cpu->describe(dev, out));
    snprintf(out->features, sizeof out->features, "sm_%d", dev->generation);
    out->cores = 6;
    return LT_OK;
}

/* ---- steps ---- */
typedef struct states { size_t n; float *x; } states; /* [STEPS, n] */
static lt_status keep(void *ctx, int64_t t, const float *x, const int64_t *failed)
{
    states *s = ctx;
    (void)failed;
    memcpy(s->x + (size_t)t * s->n, x, s->n * sizeof *x);
    return LT_OK;
}

static void roll(const lt_operator_spec *spec, const lt_operator_weights *w, int64_t samples, states *s)
{
    lt_rollout_options o = lt_rollout_defaults();
    lt_rollout *r = NULL;
    o.precision = LT_PRECISION_FLOAT32, o.realizations = samples, o.steps = STEPS;
    float *field = malloc(s->n * sizeof *field);
    lt_draws d = lt_draws_make(SEED, "test field", 0, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, 3 * (int64_t)spec->grid * spec->grid, field));
    LT_CHECK_OK(lt_rollout_create(spec, &o, &r));
    LT_CHECK_OK(lt_rollout_set_operator(r, spec, w));
    LT_CHECK_OK(lt_rollout_run(r, field, -1, keep, s, NULL));
    lt_rollout_destroy(r);
    free(field);
}

static float *draw_noise(lt_device *dev, const lt_operator_spec *spec, const lt_operator_weights *w, int64_t samples)
{
    lt_noise_maker n;
    LT_CHECK_OK(lt_noise_create(spec, &n));
    float *x = malloc((size_t)(samples * n.count + 1) * sizeof *x);
    lt_noise_set(&n, spec, w);
    if (n.count) LT_CHECK_OK(lt_noise_draw(&n, dev->pool, 1, STEPS - 1, 0, samples, x));
    lt_noise_release(&n);
    return x;
}

/* Of the specification; of TF32, half of float16's: its numbers have as many digits, but only products read them. */
static const double limit[LT_PRECISION_COUNT] = { [LT_PRECISION_FLOAT32] = 1e-5, [LT_PRECISION_FLOAT16] = 4e-3, [LT_PRECISION_BFLOAT16] = 3e-2, [LT_PRECISION_TF32] = 2e-3 };

static void check_step(lt_device *dev, const lt_operator_spec *spec, lt_precision precision, int64_t samples, const char *what)
{
    lt_operator_weights *w = NULL;
    lt_fused_cnn *f = NULL;
    states s = { (size_t)(samples * 3 * spec->grid * spec->grid), NULL };
    s.x = malloc(STEPS * s.n * sizeof *s.x);
    float *got = malloc(s.n * sizeof *got), policy[2] = { 0, 1 };
    LT_CHECK_OK(lt_operator_weights_create(spec, &w));
    LT_CHECK_OK(lt_operator_weights_draw(w, SEED, INDEX));
    roll(spec, w, samples, &s);
    float *noise = draw_noise(dev, spec, w, samples);
    LT_CHECK_OK(lt_fused_cnn_create(dev, &w->network, precision, samples, &f));
    if (f) {
        LT_CHECK_OK(lt_fused_cnn_set_weights(f, lt_device_stream(dev), w->block));
        int64_t step = 1, failed[MOST_SAMPLES] = { -1, -1, -1 };
        LT_CHECK_OK(lt_fused_cnn_step(f, lt_device_stream(dev), s.x, noise, policy, got, (lt_step_end){ &step, failed }));
        LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
        for (int64_t i = 0; i < samples; i++) LT_CHECK_EQ_INT(failed[i], -1);
        double error = 0, size = 0, bound = limit[precision];
        for (size_t i = 0; i < s.n; i++) error += pow((double)got[i] - s.x[s.n + i], 2), size += pow(s.x[s.n + i], 2);
        if (!(sqrt(error / size) <= bound)) LT_TEST_FAIL("%s, %s: one step is off by %.2e, at most %.2e", what, lt_precision_name(precision), sqrt(error / size), bound);
    }
    lt_fused_cnn_destroy(f);
    lt_operator_weights_destroy(w);
    free(noise);
    free(got);
    free(s.x);
}

typedef struct step_case {
    int layers, channels, kernel, grid;
    int64_t samples;
    lt_precision precision;
    lt_normalization norm;
    lt_activation act;
    lt_noise noise;
    bool wrap;
} step_case;

static void check_case(lt_device *dev, const step_case *c)
{
    char what[128];
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = c->layers, s.base_channels = c->channels, s.kernel_size = c->kernel, s.grid = c->grid;
    s.normalization = c->norm, s.activation = c->act, s.noise = c->noise, s.circular_padding = c->wrap;
    s.noise_scale = s.noise == LT_NOISE_NONE ? 0 : s.noise == LT_NOISE_DROPOUT ? 0.3 : 0.1;
    s.policy = LT_POLICY_CONVEX, s.alpha = 0; /* the state is the operator's output */
    snprintf(what, sizeof what, "sm_%d, %d layers of %d, norm %s, noise %s", dev->generation, s.num_layers, (int)s.base_channels, lt_normalization_name(s.normalization), lt_noise_name(s.noise));
    check_step(dev, &s, c->precision, c->samples, what);
}

static void check_cases(int generation, size_t shared_bytes, const step_case *c, size_t n)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("cpu", &dev));
    cpu = dev->backend;
    lt_backend table = *cpu;
    table.describe = describe, table.build = host_device_build;
    dev->backend = &table;
    dev->generation = generation, dev->shared_bytes = shared_bytes;
    for (size_t i = 0; i < n; i++) {
        host_device_mix(i % 2);
        check_case(dev, &c[i]);
    }
    dev->backend = cpu;
    dev->generation = 0, dev->shared_bytes = 0;
    lt_device_close(dev);
}

LT_TEST(steps_agree_with_the_cpus_own)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const step_case row[] = {
        { 2, 16, 3, 40, 3, LT_PRECISION_FLOAT16, LT_NORM_INSTANCE, LT_ACT_GELU, LT_NOISE_GAUSSIAN, false },
        { 4, 20, 3, 32, 1, LT_PRECISION_FLOAT16, LT_NORM_GROUP, LT_ACT_GELU, LT_NOISE_MULTIPLICATIVE, true },
        { 2, 24, 3, 32, 1, LT_PRECISION_BFLOAT16, LT_NORM_BATCH, LT_ACT_SILU, LT_NOISE_DROPOUT, false },
        { 1, 9, 5, 32, 2, LT_PRECISION_BFLOAT16, LT_NORM_NONE, LT_ACT_RELU, LT_NOISE_NONE, true },
    };
    check_cases(90, (size_t)227 << 10, row, LT_LEN(row));
}

/* As an RTX 3060 Ti has it. */
LT_TEST(steps_for_every_card_agree_with_the_cpus_own)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const step_case row[] = {
        { 4, 20, 3, 32, 1, LT_PRECISION_FLOAT16, LT_NORM_GROUP, LT_ACT_GELU, LT_NOISE_MULTIPLICATIVE, true },
        { 1, 9, 5, 40, 2, LT_PRECISION_BFLOAT16, LT_NORM_INSTANCE, LT_ACT_SILU, LT_NOISE_DROPOUT, false },
        { 2, 24, 3, 32, 1, LT_PRECISION_TF32, LT_NORM_INSTANCE, LT_ACT_GELU, LT_NOISE_GAUSSIAN, true },
    };
    check_cases(86, (size_t)99 << 10, row, LT_LEN(row));
}

/* By three products of TF32 each, as an H200 would do it too. */
LT_TEST(single_precision_on_tensor_cores_keeps_its_digits)
{
    if (!host_device_possible()) LT_SKIP("no C++ compiler to run kernels with");
    static const step_case row[] = { { 4, 20, 3, 32, 1, LT_PRECISION_FLOAT32, LT_NORM_INSTANCE, LT_ACT_GELU, LT_NOISE_GAUSSIAN, true } };
    check_cases(90, (size_t)227 << 10, row, LT_LEN(row));
}

LT_TEST_MAIN()
