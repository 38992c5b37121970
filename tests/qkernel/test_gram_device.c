/* Gram matrices on a device with memory of its own, against the CPU. Runs on the first CUDA device; where
   there is none the null device still walks the plans. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"
#include "lathe/graph.h"
#include "lathe/rng.h"
#define LT_TEST_KEPT_BLOCKS 64 /* kernels of a device stay loaded */
#include "lt_test.h"

#include "base/status.h"
#include "device/null/null.h"
#include "qkernel/device/parts.h"
#include "qkernel/tuning.h"

#include <unistd.h>

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
    lt_gram_info info = { .size = sizeof info };
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
    setup reference = *s;
    if (s->opt.dtype == LT_GRAM_FLOAT16) reference.opt.dtype = LT_GRAM_FLOAT64;
    fill(NULL, &reference, near);
    lt_gram_info info = fill(dev, s, far);
    LT_CHECK(info.precision == (info.method != LT_GRAM_STATES ? LT_GRAM_FLOAT64 : s->q < 4 && s->opt.dtype == LT_GRAM_FLOAT16 ? LT_GRAM_FLOAT32 : s->opt.dtype));
    LT_CHECK(info.error_bound == lt_gram_float_bound(info.precision));
    LT_CHECK_EQ_INT(info.pairs, s->m ? s->n * s->m : s->opt.symmetric ? s->n * (s->n + 1) / 2 : s->n * s->n);
    if (!computes) return;
    double limit = info.error_bound, got = worst(entries);
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
            for (int type = 0; type < LT_GRAM_FLOAT_COUNT; type++) {
                if (lt_test_brief() && layers != (q > 10 ? 1 : 1 + q % 3)) continue;
                setup s = usual(lt_test_brief() ? 24 : q > 12 ? 70 : 200 + q, 0, q, layers);
                s.opt.dtype = type;
                s.opt.embed_mode = q % 2 ? LT_EMBED_RYRZ : LT_EMBED_RY;
                compare(&s, "states");
            }
}

/* The bound that is told holds, the mode is not float32 under another name, and normalised rows are of length 1 again. */
LT_TEST(half_numbers_are_worse_and_say_so)
{
    bool computes;
    lt_device *dev = device(&computes);
    double error[LT_GRAM_FLOAT_COUNT];
    for (int type = 0; type < LT_GRAM_FLOAT_COUNT; type++) {
        setup s = usual(200, 0, 8, 2);
        fill(NULL, &s, near);
        s.opt.dtype = type;
        lt_gram_info info = fill(dev, &s, far);
        error[type] = worst(s.n * s.n);
        LT_CHECK((strstr(info.plan, "precision: float16") != NULL) == (type == LT_GRAM_FLOAT16));
        LT_CHECK((strstr(info.kernel, "overlap_f16_tensor") != NULL) == (type == LT_GRAM_FLOAT16));
    }
    if (!computes) return;
    printf("errors of K at 8 qubits: %.2g %.2g %.2g\n", error[LT_GRAM_FLOAT64], error[LT_GRAM_FLOAT32], error[LT_GRAM_FLOAT16]);
    LT_CHECK(error[LT_GRAM_FLOAT16] > 20 * error[LT_GRAM_FLOAT32] && error[LT_GRAM_FLOAT16] <= lt_gram_float_bound(LT_GRAM_FLOAT16));
}

/* What is stored for float32 counts for float16: neither is timed by itself. */
LT_TEST(half_numbers_go_by_the_shapes_of_single_ones)
{
    bool computes;
    lt_device *dev = device(&computes);
    lt_tuner *tuner;
    lt_tile_shape single = { 0 }, half = { 0 };
    LT_CHECK_OK(lt_tuner_open(dev, LT_TUNE_MEASURE, NULL, &tuner));
    LT_CHECK_OK(lt_gram_tune_shapes(dev, tuner, 6, LT_GRAM_FLOAT32, &(lt_rows){ x, LT_F64, 200, 6, 0 }, weights));
    LT_CHECK_OK(lt_tuner_save(tuner));
    lt_tuner_destroy(tuner);
    LT_CHECK(lt_gram_stored_shape(dev, 6, LT_GRAM_FLOAT32, &single) && lt_gram_stored_shape(dev, 6, LT_GRAM_FLOAT16, &half));
    LT_CHECK(memcmp(&single, &half, sizeof single) == 0);
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
                setup s = lt_test_brief() ? usual(300, cross ? 260 : 0, 5, 1) : usual(700, cross ? 500 : 0, 9, 2);
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
    s.opt.normalize = true;
    LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
    LT_CHECK(!lt_gram_device_matrix(g));
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, NULL));
    LT_CHECK(lt_gram_device_matrix(g) != NULL);
    LT_CHECK_OK(lt_stream_copy(lt_device_stream(dev), far, lt_gram_device_matrix(g), (size_t)(s.n * s.n) * sizeof *far, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
    fill(NULL, &s, near);
    if (computes) LT_CHECK(worst(s.n * s.n) <= 1e-12);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, far));
    LT_CHECK(!lt_gram_device_matrix(g));
    lt_gram_destroy(g);
}

LT_TEST(normalised_kernels)
{
    for (int method = LT_GRAM_STATES; method <= LT_GRAM_TRANSFER; method++)
        for (int cross = 0; cross < 2; cross++)
            for (int type = 0; type < LT_GRAM_FLOAT_COUNT; type++) {
                setup s = usual(150, cross ? 90 : 0, 7, 2);
                s.opt.method = method;
                s.opt.re_embed_between_layers = method != LT_GRAM_PRODUCT;
                s.opt.normalize = true;
                s.opt.jitter = 1e-3;
                s.opt.dtype = type;
                s.opt.repair = true; /* nothing to repair: the same result */
                compare(&s, "normalised");
                s.opt.precompute_all_states = false;
                s.opt.state_tile = 64;
                compare(&s, "normalised, in blocks");
            }
}

/* Every switch leaves the result as it is. */
LT_TEST(switches_of_a_device)
{
    for (int kind = 0; kind < 7; kind++) {
        setup s = usual(lt_test_brief() ? 300 : 700, 0, kind == 6 ? 13 : 8, 2);
        if (kind == 6) s.n = lt_test_brief() ? 140 : 300;
        s.opt.streams = kind == 0 ? 1 : kind <= 2 ? 2 + kind : 9;
        s.opt.sync_interval = kind == 3 ? 1 : kind == 4 ? 0 : 32;
        s.opt.pinned = kind != 4;
        s.opt.profile_memory = kind == 5 || kind == 6;
        s.opt.dynamic_batch = kind == 5;
        s.opt.autotune = s.opt.learn_tiles = kind != 3;
        if (kind >= 2) s.opt.precompute_all_states = false, s.opt.state_tile = 128;
        compare(&s, "switches");
        s.m = lt_test_brief() ? 70 : 300;
        s.n = lt_test_brief() ? 140 : 500;
        compare(&s, "switches, with other columns");
    }
}

LT_TEST(profiles_say_what_happened)
{
    bool computes;
    lt_device *dev = device(&computes);
    setup s = usual(700, 0, 8, 2);
    lt_gram *g;
    s.opt.profile_memory = true;
    s.opt.streams = 3;
    s.opt.precompute_all_states = false;
    s.opt.state_tile = 128;
    s.opt.sync_interval = 2;
    LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, far));
    lt_gram_profile p = lt_gram_get_profile(g);
    lt_gram_info info = lt_gram_get_info(g);
    LT_CHECK_EQ_INT(p.d2h_bytes, s.n * s.n * 8); /* K and nothing else: no state leaves the device */
    LT_CHECK_EQ_INT(p.h2d_bytes, info.states_built * s.q * 8);
    LT_CHECK_EQ_INT(p.streams, 2);
    LT_CHECK(p.n_allocations >= 4 && p.peak_bytes > 0 && p.peak_bytes == info.peak_bytes);
    LT_CHECK(p.syncs > 0 && p.kernel_launches > 6);
    LT_CHECK(p.stream_utilization > 0 && p.stream_utilization <= 1);
    if (computes) LT_CHECK(p.stream_busy > 0 && p.d2h_seconds > 0 && p.h2d_seconds > 0);
    int64_t allocations = 0;
    for (int i = 0; i < p.n_allocations; i++) allocations += p.allocation[i].bytes;
    LT_CHECK(allocations <= p.peak_bytes && 2 * allocations > p.peak_bytes);
    lt_gram_destroy(g);
}

/* A call like the one before asks the device for nothing: no memory, no page-locked memory, no stream, no kernel. */
LT_TEST(a_second_call_takes_no_memory)
{
    for (int kind = 0; kind < 4; kind++) {
        bool computes;
        lt_device *dev = device(&computes); /* which draws x, y and weights; counts are null's */
        lt_memory_stats before = { .size = sizeof before }, after = { .size = sizeof after };
        setup s = usual(300, kind == 1 ? 120 : 0, 8, 2);
        lt_gram *g;
        if (kind == 2) s.opt.precompute_all_states = false, s.opt.state_tile = 128;
        if (kind == 3) s.opt.method = LT_GRAM_TRANSFER;
        s.opt.streams = 1 + kind;
        lt_rows X = { x, LT_F64, s.n, s.q, 0 }, Y = { y, LT_F64, s.m, s.q, 0 };
        LT_CHECK_OK(lt_device_open("null", &dev));
        LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
        LT_CHECK_OK(lt_gram_fill(g, &X, s.m ? &Y : NULL, far));
        lt_null_counts first = lt_null_read(dev);
        LT_CHECK_OK(lt_device_memory(dev, &before));
        LT_CHECK_OK(lt_gram_fill(g, &X, s.m ? &Y : NULL, far));
        lt_null_counts second = lt_null_read(dev);
        LT_CHECK_OK(lt_device_memory(dev, &after));
        LT_CHECK(first.allocs > 0 && first.host_allocs > 0);
        LT_CHECK_EQ_INT(after.allocs, before.allocs);
        LT_CHECK_EQ_INT(second.allocs, first.allocs);
        LT_CHECK_EQ_INT(second.host_allocs, first.host_allocs);
        LT_CHECK_EQ_INT(second.builds, first.builds);
        lt_gram_destroy(g);
        LT_CHECK_OK(lt_device_memory_trim(dev));
        LT_CHECK_EQ_INT(lt_null_read(dev).live_bytes, 0);
        lt_device_close(dev);
    }
}

/* The null device's table with a number of calls it survives. */
static struct { lt_backend table; int64_t left; } frail;

static lt_status frail_step(void)
{
    if (frail.left > 0) frail.left--;
    return frail.left == 0 ? LT_FAIL(LT_ERR_DEVICE, "the test's device is lost") : LT_OK; /* negative: it never is */
}
static lt_status frail_sync(lt_stream *st) { LT_TRY(frail_step()); return lt_backend_null()->sync(st); }
static lt_status frail_event_sync(lt_event *e) { LT_TRY(frail_step()); return lt_backend_null()->event_sync(e); }
static lt_status frail_launch(lt_stream *st, const lt_launch *at) { LT_TRY(frail_step()); return lt_backend_null()->launch(st, at); }
static lt_status frail_copy(lt_stream *st, void *dst, const void *src, size_t n, lt_transfer dir) { LT_TRY(frail_step()); return lt_backend_null()->copy(st, dst, src, n, dir); }
static lt_status frail_replay(lt_stream *st, lt_capture *c) { LT_TRY(frail_step()); return lt_backend_null()->replay(st, c); }

/* A device lost at any call: the fault's own text, no crash, everything given back. */
LT_TEST(a_device_lost_at_any_moment_is_told)
{
    bool computes;
    (void)device(&computes); /* draws x and weights */
    for (int kind = 0; kind < 3; kind++)
        for (int64_t calls = 1; calls < 60; calls += 1 + calls / 8) {
            lt_device *dev;
            setup s = usual(300, 0, 8, 2);
            lt_gram *g;
            if (kind == 1) s.opt.precompute_all_states = false, s.opt.state_tile = 128, s.opt.streams = 4;
            if (kind == 2) s.n = 100, s.opt.cuda_graphs = true;
            lt_rows X = { x, LT_F64, s.n, s.q, 0 };
            LT_CHECK_OK(lt_device_open("null", &dev));
            frail.table = *dev->backend;
            frail.table.sync = frail_sync;
            frail.table.event_sync = frail_event_sync;
            frail.table.launch = frail_launch;
            frail.table.copy = frail_copy;
            frail.table.replay = frail_replay;
            frail.left = -1;
            dev->backend = &frail.table;
            LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
            frail.left = calls;
            lt_status status = LT_OK;
            for (int i = 0; i < 20 && !status; i++) status = lt_gram_fill(g, &X, NULL, far);
            LT_CHECK_EQ_INT(status, LT_ERR_DEVICE);
            LT_CHECK(strstr(lt_error_text(), "the test's device is lost"));
            LT_CHECK_FAILS(lt_gram_fill(g, &X, NULL, far), LT_ERR_DEVICE, "the test's device is lost");
            lt_gram_destroy(g);
            frail.left = -1;
            LT_CHECK_OK(lt_device_memory_trim(dev));
            LT_CHECK_EQ_INT(lt_null_read(dev).live_bytes, 0);
            lt_device_close(dev);
        }
}

/* The first call runs, the second is captured, the third only replayed; other sizes begin anew. */
LT_TEST(small_calls_are_replayed)
{
    bool computes;
    lt_device *dev = device(&computes);
    for (int kind = 0; kind < 4; kind++) {
        setup s = usual(lt_test_brief() ? 70 : 180, kind == 1 ? 60 : 0, kind == 3 ? 13 : 7, 2);
        if (kind == 2) s.opt.method = LT_GRAM_TRANSFER;
        lt_gram *plain, *graphs;
        LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &plain));
        s.opt.cuda_graphs = true;
        s.opt.profile_memory = true;
        LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &graphs));
        for (int call = 0; call < 4; call++) {
            lt_rows X = { x + 11 * call, LT_F64, s.n, s.q, 0 }, Y = { y + 7 * call, LT_F64, s.m, s.q, 0 };
            int64_t entries = s.n * (s.m ? s.m : s.n);
            for (int64_t i = 0; i < entries; i++) near[i] = far[i] = NAN;
            LT_CHECK_OK(lt_gram_fill(plain, &X, s.m ? &Y : NULL, near));
            LT_CHECK_OK(lt_gram_fill(graphs, &X, s.m ? &Y : NULL, far));
            LT_CHECK(worst(entries) == 0);
            lt_gram_info info = lt_gram_get_info(graphs);
            LT_CHECK_EQ_INT(info.graph_captures, call >= 1);
            LT_CHECK_EQ_INT(info.graph_replays, call);
            LT_CHECK(strstr(info.plan, call ? "this call was a replay" : "runs step by step") != NULL);
        }
        lt_rows fewer = { x, LT_F64, 50, s.q, 0 };
        LT_CHECK_OK(lt_gram_fill(graphs, &fewer, NULL, far));
        LT_CHECK_EQ_INT(lt_gram_get_info(graphs).graph_replays, 3);
        LT_CHECK_EQ_INT(lt_gram_get_profile(graphs).graph_captures, 1);
        lt_gram_destroy(plain);
        lt_gram_destroy(graphs);
    }
}

/* Two devices; where there is one GPU it is opened twice. */
LT_TEST(several_devices)
{
    bool computes;
    lt_device *dev[2] = { device(&computes), NULL };
    LT_CHECK_OK(lt_device_open(computes ? "cuda" : "null", &dev[1]));
    for (int kind = 0; kind < 5; kind++) {
        setup s = usual(700, kind == 1 ? 500 : 0, 8, 2);
        lt_gram *g;
        lt_rows X = { x, LT_F64, s.n, s.q, 0 }, Y = { y, LT_F64, s.m, s.q, 0 };
        int64_t entries = s.n * (s.m ? s.m : s.n);
        s.opt.symmetric = kind != 2;
        s.opt.profile_memory = kind == 3;
        if (kind == 3) s.opt.precompute_all_states = false, s.opt.state_tile = 128;
        if (kind == 4) s.opt.method = LT_GRAM_TRANSFER;
        fill(NULL, &s, near);
        for (int64_t i = 0; i < entries; i++) far[i] = NAN;
        LT_CHECK_OK(lt_gram_create_on(dev, 2, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
        LT_CHECK_OK(lt_gram_fill(g, &X, s.m ? &Y : NULL, far));
        lt_gram_info info = lt_gram_get_info(g);
        LT_CHECK_EQ_INT(info.devices, 2);
        LT_CHECK_EQ_INT(info.pairs, s.m ? s.n * s.m : s.opt.symmetric ? s.n * (s.n + 1) / 2 : s.n * s.n);
        LT_CHECK(strstr(info.plan, "devices: 2") != NULL);
        double got = worst(entries);
        if (computes ? !(got <= 1e-12) : !isfinite(got)) LT_TEST_FAIL("devices, kind %d: off by %g", kind, got); /* null writes zeros: everywhere */
        LT_CHECK_FAILS(lt_gram_fill(g, &X, NULL, NULL), LT_ERR_UNSUPPORTED, "only one device alone may keep it");
        lt_gram_destroy(g);
    }
    lt_device_close(dev[1]);
}

static bool stop_at_once(void *ctx, const lt_gram_progress *p) { (void)ctx; return p->pairs_done == 0; }

LT_TEST(devices_stop_together)
{
    bool computes;
    lt_device *dev[2] = { device(&computes), NULL };
    LT_CHECK_OK(lt_device_open(computes ? "cuda" : "null", &dev[1]));
    setup s = usual(700, 0, 8, 2);
    lt_gram *g;
    s.opt.progress = stop_at_once;
    s.opt.precompute_all_states = false;
    s.opt.state_tile = 64;
    LT_CHECK_OK(lt_gram_create(dev[0], &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, far), LT_ERR_CANCELLED, "stopped by the progress function");
    lt_gram_destroy(g);
    LT_CHECK_OK(lt_gram_create_on(dev, 2, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g));
    lt_status status = lt_gram_fill(g, &(lt_rows){ x, LT_F64, s.n, s.q, 0 }, NULL, far);
    LT_CHECK(status == LT_ERR_CANCELLED || status == LT_OK); /* the other one may have taken every row */
    lt_gram_destroy(g);
    LT_CHECK_FAILS(lt_gram_create_on(dev, 0, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g), LT_ERR_ARGUMENT, "0 devices");
    dev[0] = NULL;
    LT_CHECK_FAILS(lt_gram_create_on(dev, 2, &s.opt, &(lt_weights){ weights, s.layers, s.q }, &g), LT_ERR_ARGUMENT, "is NULL");
    lt_device_close(dev[1]);
}

/* Tiles over states of which one row is not a number: counted, and with repair replaced. */
static void poisoned(lt_device *dev, int q, lt_gram_float type, bool repair)
{
    enum { ROWS = 96, BAD_ROW = 70 };
    lt_gram_kernels k;
    lt_stream *st = lt_device_stream(dev);
    bool single = type != LT_GRAM_FLOAT64;
    lt_kernel_request request = { .method = LT_GRAM_STATES, .q = q, .single = single, .one_product = type == LT_GRAM_FLOAT16, .overlaps = true, .repair = repair };
    size_t row_bytes = (size_t)1 << (q + (single ? 3 : 4)), padded = 2 * ROWS;
    char *states, *jobs;
    double *K;
    lt_tile_faults faults = { 0, UINT64_MAX }, *there;
    LT_CHECK_OK(lt_gram_kernels_build(dev, &request, &k));
    LT_CHECK_OK(lt_device_alloc(dev, st, row_bytes * padded, "test", (void **)&states));
    LT_CHECK_OK(lt_device_alloc(dev, st, ROWS * ROWS * sizeof *K, "test", (void **)&K));
    LT_CHECK_OK(lt_device_alloc(dev, st, 1 << 16, "test", (void **)&jobs));
    LT_CHECK_OK(lt_device_alloc(dev, st, sizeof faults, "test", (void **)&there));
    LT_CHECK_OK(lt_stream_fill(st, states, 0, row_bytes * padded));
    LT_CHECK_OK(lt_stream_fill(st, states + BAD_ROW * row_bytes, 0xff, row_bytes)); /* all bits set: NaN in every precision */
    lt_tile_job job = { .n_rows = ROWS, .n_columns = ROWS, .half = 1, .mirror = 1, .pitch = ROWS, .mirror_pitch = ROWS, .faults = there };
    lt_tile_at list[ROWS * ROWS / 256];
    for (int r = 0; r < ROWS; r += k.tile_rows)
        for (int c = 0; c < ROWS; c += k.tile_columns)
            if (c + k.tile_columns > r) list[job.n_tiles++] = (lt_tile_at){ r, c };
    LT_CHECK_OK(lt_stream_copy(st, there, &faults, sizeof faults, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_copy(st, jobs, &job, sizeof job, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_copy(st, jobs + sizeof job, list, sizeof list, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k.tiles, (void *[]){ jobs, jobs + sizeof job, states, states, K, K } }));
    LT_CHECK_OK(lt_stream_copy(st, far, K, ROWS * ROWS * sizeof *K, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_copy(st, &faults, there, sizeof faults, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK_EQ_INT(faults.count, ROWS); /* its row from the diagonal on, and its column above */
    LT_CHECK_EQ_INT(faults.first, BAD_ROW);
    int bad = 0;
    for (int i = 0; i < ROWS * ROWS; i++) bad += !(far[i] == 0);
    LT_CHECK_EQ_INT(bad, repair ? 0 : 2 * ROWS - 1);
    void *all[] = { states, K, jobs, there };
    for (size_t i = 0; i < LT_LEN(all); i++) LT_CHECK_OK(lt_device_free(dev, st, all[i]));
    lt_gram_kernels_destroy(&k);
}

LT_TEST(numbers_that_are_not_finite_are_found)
{
    bool computes;
    lt_device *dev = device(&computes);
    if (!computes) LT_SKIP("needs a device that computes");
    for (int q = 3; q <= 7; q += 4)
        for (int type = 0; type < LT_GRAM_FLOAT_COUNT; type++)
            for (int repair = 0; repair < 2; repair++) poisoned(dev, q, type, repair);
}

/* An H200 and 100000 rows of 16 qubits: K stays on the device, states come in blocks; with more rows K passes in panels. */
LT_TEST(plans_of_matrices_larger_than_the_device)
{
    lt_gram_options opt = lt_gram_defaults();
    lt_gram_device_sizes s = { .n = 100000, .m = 100000, .tile_rows = 64, .tile_columns = 64, .free_bytes = 149000000000, .total_bytes = 150000000000,
                          .n_slots = 2, .half = true, .row_bytes = (size_t)16 << 16, .element = 8, .opt = &opt };
    for (int large = 0; large < 2; large++) {
        lt_gram_device_plan p;
        s.n = s.m = large ? 200000 : 100000;
        LT_CHECK_OK(lt_gram_device_plan_make(&s, &p));
        LT_CHECK(p.whole_k == !large && !p.bulk);
        LT_CHECK(p.a_bytes + p.b_bytes + p.k_bytes + 2 * p.slot_bytes <= (size_t)(0.95 * 149e9));
        LT_CHECK(p.block_rows >= 20000 && p.block_rows >= p.block_columns && p.panel_rows % 64 == 0);
        LT_CHECK(large ? p.slot_bytes >= (size_t)(2 * p.panel_rows * LT_MAX(p.block_rows, p.block_columns)) * s.element : p.slot_bytes == 0); /* a block with itself */
    }
    s.free_bytes = 1150000000;
    LT_CHECK_FAILS(lt_gram_device_plan_make(&s, &(lt_gram_device_plan){ 0 }), LT_ERR_MEMORY, "vram_fraction 0.70");
    s.free_bytes = 149000000000;
    opt.vram_fraction = 1e-6;
    LT_CHECK_FAILS(lt_gram_device_plan_make(&s, &(lt_gram_device_plan){ 0 }), LT_ERR_MEMORY, "Raise vram_fraction to 0.05 or more");
    opt.vram_fraction = 0.05;
    LT_CHECK_OK(lt_gram_device_plan_make(&s, &(lt_gram_device_plan){ 0 }));
    opt = lt_gram_defaults();
    s.free_bytes = 400000000; /* others have it all: K comes home anyway, so that is no remedy */
    LT_CHECK_FAILS(lt_gram_device_plan_make(&s, &(lt_gram_device_plan){ 0 }), LT_ERR_MEMORY, "the budget is 0 GiB (0.95 of the smaller of 0.373 GiB free");
    s.keep = true;
    LT_CHECK_FAILS(lt_gram_device_plan_make(&s, &(lt_gram_device_plan){ 0 }), LT_ERR_MEMORY, "bring it to the host");
}

/* What a matrix in a file says that it was made by. */
static void make_in_file(lt_device *dev, const setup *s, lt_gram_file_info *info)
{
    lt_gram *g;
    char path[] = "/tmp/lathe-gram-device-XXXXXX", file[64], digest[LT_GRAM_DIGEST_BYTES];
    lt_rows X = { x, LT_F64, s->n, s->q, 0 };
    lt_weights w = { weights, s->layers, s->q };
    lt_gram_file_options o = lt_gram_file_defaults();
    LT_CHECK(mkdtemp(path) != NULL);
    snprintf(file, sizeof file, "%s/K.npy", path);
    LT_CHECK_OK(lt_gram_create(dev, &s->opt, &w, &g));
    LT_CHECK_OK(lt_gram_digest(&s->opt, &w, &X, NULL, digest));
    o.digest = digest;
    LT_CHECK_OK(lt_gram_fill_file(g, &X, NULL, file, &o, info));
    lt_gram_destroy(g);
    (void)unlink(file);
    snprintf(file, sizeof file, "%s/K.npy.tiles", path);
    (void)unlink(file);
    LT_CHECK(rmdir(path) == 0);
}

/* Timed once, stored, found again by another handle. Files tell it apart, since sums are cut by the depth of tiles: ranks and resumed runs must have the same. */
LT_TEST(shapes_are_tuned_and_stored)
{
    bool computes;
    lt_device *dev = device(&computes);
    lt_tuner *tuner;
    lt_tile_shape shape = { 0 };
    lt_rows X = { x, LT_F64, 200, 6, 0 };
    LT_CHECK_OK(lt_tuner_open(dev, LT_TUNE_MEASURE, NULL, &tuner));
    int64_t before = lt_tuner_count(tuner);
    LT_CHECK_OK(lt_gram_tune_shapes(dev, tuner, 6, LT_GRAM_FLOAT64, &X, weights));
    LT_CHECK_OK(lt_gram_tune_shapes(dev, tuner, 6, LT_GRAM_FLOAT64, &X, weights));
    LT_CHECK(lt_tuner_measured(tuner) + before == lt_tuner_count(tuner) && lt_tuner_count(tuner) >= 1);
    LT_CHECK_OK(lt_tuner_save(tuner));
    lt_tuner_destroy(tuner);
    LT_CHECK(lt_gram_stored_shape(dev, 6, LT_GRAM_FLOAT64, &shape));
    LT_CHECK(shape.warps_m == 2 && shape.depth >= 8 && shape.blocks >= 1);
    LT_CHECK(!lt_gram_stored_shape(dev, 25, LT_GRAM_FLOAT64, &shape));
    setup s = usual(300, 0, 6, 2);
    compare(&s, "tuned");
    lt_gram_file_info info = { .size = sizeof info };
    char depth[32];
    snprintf(depth, sizeof depth, ", tuned depth %d", shape.depth);
    s.opt.method = LT_GRAM_STATES;
    s.opt.autotune = true;
    make_in_file(dev, &s, &info);
    LT_CHECK(strstr(info.kind, depth) != NULL);
    s.opt.autotune = false;
    make_in_file(dev, &s, &info);
    LT_CHECK(info.kind[0] && !strstr(info.kind, "tuned"));
}

LT_TEST(states_are_those_of_the_cpu)
{
    bool computes;
    lt_device *dev = device(&computes);
    static const int64_t wires[] = { 3, 12, 14 };
    for (int i = 0; i < 6; i++) {
        int64_t q = wires[i / 2];
        setup s = usual(20, 0, q, 2 + i % 2);
        lt_gram *g;
        size_t bytes = (size_t)s.n * sizeof(double) * 2 << q;
        double *here = malloc(bytes), *there = malloc(bytes);
        LT_CHECK_OK(lt_gram_create(NULL, &s.opt, &(lt_weights){ weights, s.layers, q }, &g));
        LT_CHECK_OK(lt_gram_states(g, &(lt_rows){ x, LT_F64, s.n, q, 0 }, here));
        lt_gram_destroy(g);
        LT_CHECK_OK(lt_gram_create(dev, &s.opt, &(lt_weights){ weights, s.layers, q }, &g));
        LT_CHECK_OK(lt_gram_states(g, &(lt_rows){ x, LT_F64, s.n, q, 0 }, there));
        lt_gram_destroy(g);
        for (size_t k = 0; computes && k < bytes / sizeof(double); k++)
            if (!(fabs(here[k] - there[k]) < 1e-13)) { LT_TEST_FAIL("q %d: number %d is %g, expected %g", (int)q, (int)k, there[k], here[k]); break; }
        free(here), free(there);
    }
}

LT_TEST_MAIN()
