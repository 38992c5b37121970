/* Convolutions on a GPU: engines chosen by timing and stored, epilogues in the same kernel, weights turned once.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/program/program.h"
#include "lathe/rng.h"
#include "lathe/tune.h"
#include "lt_test.h"

#include <math.h>
#include <unistd.h>

enum { N = 4, SIDE = 20, IN = 16, OUT = 24, X = N * SIDE * SIDE * IN, Y = N * SIDE * SIDE * OUT, WEIGHTS = OUT * IN * 9, LARGE = 1 << 20 };
/* The CPU, which is compared with, goes through Winograd's transform. */
#define TOLERANCE_F32 1e-5
#define TOLERANCE_F16 2e-3
#define FILE_NAME "test_cuda_choose_tune.txt"

static lt_device *gpu;
static float x[X], w[WEIGHTS], bias[OUT], want[Y], got[Y], large[LARGE], large_want[LARGE], large_got[LARGE];

#define GPU_OR_SKIP() do { if (!gpu && lt_device_open("cuda", &gpu)) LT_SKIP("%s", lt_error_text()); } while (0)

static void fill(float *to, int64_t n, uint32_t stream)
{
    lt_draws d = lt_draws_make(1, "test", stream, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, n, to));
}

/* gelu(conv(x, w) + bias) with constant weights, and an elementwise program large enough to be timed. */
static lt_program *make(lt_compile_options opt)
{
    lt_graph *g;
    lt_program *p = NULL;
    lt_conv_options conv = lt_conv_defaults();
    conv.channels_last = true;
    conv.padding[0] = conv.padding[1] = 1;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F32, lt_shape4(N, SIDE, SIDE, IN)), weights = lt_constant(g, LT_F32, lt_shape4(OUT, IN, 3, 3), w);
    lt_node b = lt_constant(g, LT_F32, lt_shape1(OUT), bias), l = lt_input(g, "large", LT_F32, lt_shape1(LARGE));
    lt_node out[2] = { lt_gelu(g, lt_conv2d(g, in, weights, b, &conv)), lt_tanh(g, lt_square(g, l)) };
    LT_CHECK_OK(lt_program_create(g, out, 2, &opt, &p));
    lt_graph_destroy(g);
    return p;
}

static void prepare_data(void)
{
    fill(x, X, 0);
    fill(w, WEIGHTS, 1);
    fill(bias, OUT, 2);
    fill(large, LARGE, 3);
    lt_program *p = make((lt_compile_options){ .size = sizeof(lt_compile_options), .mode = LT_MODE_DEFAULT });
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, large }, (void *[]){ want, large_want }));
    lt_program_destroy(p);
}

static void check_run(lt_program *p, double tolerance)
{
    for (int run = 0; p && run < 2; run++) {
        double worst = 0, worst_large = 0;
        memset(got, 0xff, sizeof got);
        LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, large }, (void *[]){ got, large_got }));
        for (int i = 0; i < Y; i++) worst = fmax(worst, fabs((double)got[i] - want[i]) / (10 + fabs((double)want[i])));
        for (int i = 0; i < LARGE; i++) worst_large = fmax(worst_large, fabs((double)large_got[i] - large_want[i]));
        if (!(worst <= tolerance)) LT_TEST_FAIL("run %d is off by %g, expected at most %g", run, worst, tolerance);
        LT_CHECK(worst_large < 4 * tolerance + 1e-6);
    }
}

LT_TEST(constant_weights_are_turned_once_in_every_mode)
{
    GPU_OR_SKIP();
    prepare_data();
    for (int low = 0; low < 2; low++)
        for (int mode = LT_MODE_DEFAULT; mode <= LT_MODE_REDUCE_OVERHEAD; mode++) {
            lt_program *p = make((lt_compile_options){ .size = sizeof(lt_compile_options), .mode = (lt_mode)mode, .device = gpu, .low_precision = low, .storage_type = LT_F16 });
            int packs = 0;
            for (int i = 0; p && i < p->n_steps; i++) packs += p->step[i].packs;
            LT_CHECK_EQ_INT(packs, 1);
            check_run(p, low ? TOLERANCE_F16 : TOLERANCE_F32);
            lt_program_destroy(p);
        }
}

LT_TEST(timed_choices_are_stored_and_used_without_timing)
{
    GPU_OR_SKIP();
    prepare_data();
    (void)unlink(FILE_NAME);
    for (int low = 0; low < 2; low++) {
        lt_compile_options opt = { .size = sizeof opt, .mode = LT_MODE_MAX_AUTOTUNE, .device = gpu, .low_precision = low, .storage_type = LT_F16 };
        LT_CHECK_OK(lt_tuner_open(gpu, LT_TUNE_MEASURE, FILE_NAME, &opt.tuner));
        lt_program *p = make(opt);
        LT_CHECK(lt_tuner_measured(opt.tuner) >= (low ? 1 : 2)); /* the second kernel is the same in both */
        check_run(p, low ? TOLERANCE_F16 : TOLERANCE_F32);
        lt_program_destroy(p);
        LT_CHECK_OK(lt_tuner_save(opt.tuner));
        lt_tuner_destroy(opt.tuner);
        LT_CHECK_OK(lt_tuner_open(gpu, LT_TUNE_STORED, FILE_NAME, &opt.tuner));
        p = make(opt); /* a miss would be an error */
        LT_CHECK_EQ_INT(lt_tuner_measured(opt.tuner), 0);
        check_run(p, low ? TOLERANCE_F16 : TOLERANCE_F32);
        lt_program_destroy(p);
        lt_tuner_destroy(opt.tuner);
    }
    (void)unlink(FILE_NAME);
    (void)unlink(FILE_NAME ".lock");
}

LT_TEST_MAIN()
