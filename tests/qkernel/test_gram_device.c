/* Gram matrices on a device with memory of its own, against the CPU. Runs on the first CUDA device; where
   there is none the null device still walks the plans. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"
#include "lathe/rng.h"
#include "lt_test.h"

enum { MAX_N = 700, MAX_Q = 15, MAX_LAYERS = 3 };
static double x[MAX_N * MAX_Q], y[MAX_N * MAX_Q], weights[MAX_LAYERS * MAX_Q * 3];
static double near[MAX_N * MAX_N], far[MAX_N * MAX_N];

static lt_device *device(bool *computes)
{
    static lt_device *dev;
    static bool real;
    if (!dev) {
        real = lt_device_open("cuda", &dev) == LT_OK;
        if (!real) {
            printf("no CUDA device here (%s): plans only, on null\n", lt_error_text());
            LT_CHECK_OK(lt_device_open("null", &dev));
        }
        lt_draws d = lt_draws_make(7, "test", 0, 0, 0);
        LT_CHECK_OK(lt_draws_normal_f64(&d, 0, MAX_N * MAX_Q, x));
        d = lt_draws_make(7, "test", 1, 0, 0);
        LT_CHECK_OK(lt_draws_normal_f64(&d, 0, MAX_N * MAX_Q, y));
        d = lt_draws_make(7, "test", 2, 0, 0);
        LT_CHECK_OK(lt_draws_normal_f64(&d, 0, MAX_LAYERS * MAX_Q * 3, weights));
    }
    *computes = real;
    return dev;
}

typedef struct setup { int64_t n, m, q, layers; lt_gram_options opt; } setup; /* m 0: without Y */

static lt_gram_info fill(lt_device *dev, const setup *s, double *K)
{
    lt_gram *g;
    lt_rows X = { x, LT_F64, s->n, s->q, 0 }, Y = { y, LT_F64, s->m, s->q, 0 };
    lt_gram_info info = { 0 };
    LT_CHECK_OK(lt_gram_create(dev, &s->opt, &(lt_weights){ weights, s->layers, s->q }, &g));
    if (!g) return info;
    LT_CHECK_OK(lt_gram_fill(g, &X, s->m ? &Y : NULL, K));
    info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return info;
}

static double worst(int64_t n)
{
    double w = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(near[i] - far[i]);
        if (!(d <= w)) w = d;
    }
    return w;
}

static void compare(const setup *s, const char *what)
{
    bool computes;
    lt_device *dev = device(&computes);
    int64_t entries = s->opt.packed ? s->n * (s->n + 1) / 2 : s->n * (s->m ? s->m : s->n);
    for (int64_t i = 0; i < entries; i++) far[i] = NAN;
    fill(NULL, s, near);
    lt_gram_info info = fill(dev, s, far);
    LT_CHECK_EQ_INT(info.pairs, s->m ? s->n * s->m : s->opt.symmetric ? s->n * (s->n + 1) / 2 : s->n * s->n);
    if (!computes) return;
    double limit = s->opt.dtype == LT_GRAM_FLOAT32 && info.method == LT_GRAM_STATES ? 2e-5 : 1e-12, got = worst(entries);
    if (!(got <= limit)) LT_TEST_FAIL("%s, q %d, n %d, m %d, layers %d, %s %s: off by %g", what, (int)s->q, (int)s->n, (int)s->m, (int)s->layers,
                                      lt_gram_method_name(info.method), lt_gram_float_name(s->opt.dtype), got);
    if (s->m || s->opt.packed || !s->opt.symmetric) return;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < i; j++)
            if (far[i * s->n + j] != far[j * s->n + i]) { LT_TEST_FAIL("%s: not symmetric at %d, %d", what, (int)i, (int)j); return; }
}

static setup usual(int64_t n, int64_t m, int64_t q, int64_t layers)
{
    setup s = { n, m, q, layers, lt_gram_defaults() };
    s.opt.re_embed_between_layers = true;
    s.opt.method = LT_GRAM_STATES;
    return s;
}

LT_TEST(states_of_every_length)
{
    for (int64_t q = 1; q <= 15; q++)
        for (int64_t layers = 1; layers <= 3; layers++)
            for (int type = 0; type < 2; type++) {
                setup s = usual(q > 12 ? 70 : 200 + q, 0, q, layers);
                s.opt.dtype = type;
                s.opt.embed_mode = q % 2 ? LT_EMBED_RYRZ : LT_EMBED_RY;
                compare(&s, "states");
            }
}

LT_TEST(other_entanglers)
{
    for (int64_t q = 2; q <= 14; q += 4) {
        setup s = usual(90, 0, q, 3);
        s.opt.entangler = LT_ENTANGLER_STRONG;
        compare(&s, "strong");
    }
}

LT_TEST(rows_against_others)
{
    for (int64_t q = 2; q <= 13; q += 11)
        for (int method = LT_GRAM_STATES; method <= LT_GRAM_TRANSFER; method++) {
            setup s = usual(131, 77, q, 2);
            s.opt.method = method;
            s.opt.re_embed_between_layers = method != LT_GRAM_PRODUCT;
            compare(&s, "cross");
        }
}

LT_TEST(closed_forms)
{
    for (int64_t q = 1; q <= 15; q++)
        for (int mode = 0; mode < 2; mode++) {
            setup s = usual(150 + q, 0, q, 2);
            s.opt.embed_mode = mode ? LT_EMBED_RYRZ : LT_EMBED_RY;
            s.opt.method = LT_GRAM_TRANSFER;
            compare(&s, "transfer");
            s.opt.re_embed_between_layers = false;
            s.opt.method = LT_GRAM_PRODUCT;
            compare(&s, "product");
        }
}

LT_TEST(halves_squares_and_triangles)
{
    for (int kind = 0; kind < 4; kind++) {
        setup s = usual(333, 0, 8, 2);
        s.opt.symmetric = kind != 0;
        s.opt.packed = kind == 1;
        s.opt.normalize = kind == 2;
        if (kind == 3) s.n = 1;
        compare(&s, "shape");
    }
}

/* Little memory: blocks of rows and columns, K in panels, panels mirrored by the host. */
LT_TEST(blocks_when_memory_is_short)
{
    for (int cross = 0; cross < 2; cross++)
        for (int half = 0; half < 2; half++)
            for (int packed = 0; packed < 2; packed++) {
                setup s = usual(700, cross ? 500 : 0, 9, 2);
                s.opt.symmetric = half;
                s.opt.packed = packed && !cross && half;
                s.opt.precompute_all_states = false;
                s.opt.state_tile = 256;
                compare(&s, "blocks");
            }
}

LT_TEST(a_matrix_that_stays)
{
    bool computes;
    lt_device *dev = device(&computes);
    setup s = usual(300, 0, 6, 2);
    lt_gram *g;
    LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
    LT_CHECK(!lt_gram_device_matrix(g));
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, NULL));
    LT_CHECK(lt_gram_device_matrix(g) != NULL);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, far));
    LT_CHECK(!lt_gram_device_matrix(g));
    lt_gram_destroy(g);
}

LT_TEST(what_the_device_cannot_is_refused)
{
    bool computes;
    lt_device *dev = device(&computes);
    for (int kind = 0; kind < 3; kind++) {
        setup s = usual(30, 20, 5, 2);
        lt_gram *g;
        s.opt.repair = kind == 0, s.opt.dynamic_batch = kind == 1, s.opt.normalize = kind == 2;
        LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
        LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, &(lt_rows){ y, LT_F64, s.m, s.q, 0 }, far), LT_ERR_UNSUPPORTED, "gram: ");
        lt_gram_destroy(g);
    }
}

LT_TEST(states_are_those_of_the_cpu)
{
    bool computes;
    lt_device *dev = device(&computes);
    for (int64_t q = 3; q <= 14; q += 11) {
        setup s = usual(20, 0, q, 3);
        lt_gram *g;
        size_t bytes = (size_t)s.n * sizeof(double) * 2 << q;
        double *here = malloc(bytes), *there = malloc(bytes);
        LT_CHECK_OK(lt_gram_create(NULL, &s.opt, &(lt_weights){ weights, s.layers, q }, &g));
        LT_CHECK_OK(lt_gram_states(g, &(lt_rows){ x, LT_F64, s.n, q, 0 }, here));
        lt_gram_destroy(g);
        LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, q }, &g));
        LT_CHECK_OK(lt_gram_states(g, &(lt_rows){ x, LT_F64, s.n, q, 0 }, there));
        lt_gram_destroy(g);
        for (size_t i = 0; computes && i < bytes / sizeof(double); i++)
            if (!(fabs(here[i] - there[i]) < 1e-13)) { LT_TEST_FAIL("q %d: number %d is %g, expected %g", (int)q, (int)i, there[i], here[i]); break; }
        free(here), free(there);
    }
}

LT_TEST_MAIN()
