/* Calls of cuDNN, cuFFT and cuSOLVER from several streams and threads, over libraries that are none (tests/device/fake_*.c) and fail
   where the real ones would: a handle or plan in two hands, a handle whose own streams belong to somebody's capture.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "device/cuda/library.h"
#include "kernels/cuda/cuda_table.h"
#include "kernels/kernel_table.h"
#include "lt_test.h"

#include <pthread.h>

static lt_device *dev;
static void *memory; /* of the device, for everything */

static bool opens(void)
{
    const lt_nvrtc *rtc;
    int major, minor;
    return dev || (!lt_nvrtc_open(&rtc, &major, &minor) && !lt_device_open("cuda", &dev) && !dev->backend->alloc(dev, 1 << 16, &memory));
}
#define OPEN_OR_SKIP() do { if (!opens()) LT_SKIP("%s", lt_error_text()); } while (0)

static const lt_cuda_row *row_named(const char *name)
{
    int n;
    const lt_cuda_row *rows = lt_cuda_rows(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

static lt_problem_key convolution(void)
{
    static const lt_attr conv_attr = { .u.conv = { .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 }, .dilation = { 1, 1 }, .size = { 8, 8 }, .groups = 1 } };
    return (lt_problem_key){ .op = LT_OP_CONV2D, .n_in = 2, .attr = &conv_attr, .in = { { LT_F32, lt_shape4(1, 4, 8, 8) }, { LT_F32, lt_shape4(4, 4, 3, 3) } },
                             .out = { LT_F32, lt_shape4(1, 4, 8, 8) } };
}

static lt_problem_key transform(void)
{
    static lt_attr none;
    return (lt_problem_key){ .op = LT_OP_RFFT2, .n_in = 1, .attr = &none, .in = { { LT_F32, lt_shape2(8, 8) } }, .out = { LT_F32, lt_shape3(8, 5, 2) } };
}

static lt_problem_key cholesky(void)
{
    static lt_attr none;
    return (lt_problem_key){ .op = LT_OP_CHOLESKY, .n_in = 1, .attr = &none, .in = { { LT_F32, lt_shape2(4, 4) } }, .out = { LT_F32, lt_shape2(4, 4) } };
}

static lt_kernel *prepare(const char *row, lt_problem_key key)
{
    const lt_cuda_row *r = row_named(row);
    lt_kernel *k = NULL;
    LT_CHECK(r != NULL);
    if (r) LT_CHECK_OK(r->prepare(dev, &key, &k));
    return k;
}

static lt_status launch(lt_stream *st, const lt_kernel *k)
{
    void *arg[LT_KERNEL_MAX_ARGS + 1];
    for (int i = 0; i <= LT_KERNEL_MAX_ARGS; i++) arg[i] = memory;
    return lt_stream_launch(st, &(lt_launch){ k, arg });
}

/* The order of calls that lost rows: a lane records a sequence while steps of another operator are queued. */
LT_TEST(work_beside_a_capture_does_not_meet_its_streams)
{
    OPEN_OR_SKIP();
    lt_kernel *a = prepare("conv_cudnn", convolution()), *b = prepare("conv_cudnn", convolution());
    lt_stream *recorded, *queued;
    lt_capture *c = NULL, *second = NULL;
    LT_CHECK_OK(lt_stream_create(dev, &recorded));
    LT_CHECK_OK(lt_stream_create(dev, &queued));
    LT_CHECK_OK(lt_capture_begin(recorded));
    LT_CHECK_OK(launch(recorded, a));
    LT_CHECK_OK(launch(queued, b));
    LT_CHECK_OK(launch(recorded, a));
    LT_CHECK_OK(lt_capture_begin(queued)); /* and two captures at a time */
    LT_CHECK_OK(launch(queued, b));
    LT_CHECK_OK(launch(recorded, a));
    LT_CHECK_OK(lt_capture_end(queued, &second));
    LT_CHECK_OK(lt_capture_end(recorded, &c));
    LT_CHECK_OK(launch(recorded, b));
    lt_capture_destroy(c);
    lt_capture_destroy(second);
    lt_stream_destroy(recorded);
    lt_stream_destroy(queued);
    lt_kernel_destroy(a);
    lt_kernel_destroy(b);
}

/* Streams come and go with rollouts: as many handles are made as streams were there at a time. */
LT_TEST(streams_hand_their_handles_on)
{
    OPEN_OR_SKIP();
    lt_kernel *solve = prepare("linalg_cusolver", cholesky()), *conv = prepare("conv_cudnn", convolution());
    for (int i = 0; i < 20; i++) {
        lt_stream *st;
        LT_CHECK_OK(lt_stream_create(dev, &st));
        LT_CHECK_OK(launch(st, conv));
        LT_CHECK_OK(launch(st, solve)); /* fails where the last stream's work still has the handle's memory */
        LT_CHECK_OK(launch(lt_device_stream(dev), solve));
        lt_stream_destroy(st);
    }
    lt_kernel_destroy(solve);
    lt_kernel_destroy(conv);
}

enum { THREADS = 4, TURNS = 60 };
typedef struct worker { pthread_t thread; const lt_kernel *shared[3]; bool plans; lt_status status; char text[200]; } worker;

/* Kernels of all threads on a stream of its own, or the making of new ones. */
static lt_status work(worker *w)
{
    lt_stream *st;
    lt_problem_key key = convolution();
    LT_TRY(lt_stream_create(dev, &st));
    lt_status s = LT_OK;
    for (int i = 0; i < TURNS && !s; i++) {
        lt_kernel *k = NULL;
        if (w->plans) s = row_named("conv_cudnn")->prepare(dev, &key, &k);
        for (int j = 0; j < 3 && !s && !w->plans; j++) s = launch(st, w->shared[j]);
        lt_kernel_destroy(k);
    }
    lt_stream_destroy(st);
    return s;
}

static void *run_worker(void *ctx)
{
    worker *w = ctx;
    w->status = work(w);
    snprintf(w->text, sizeof w->text, "%s", w->status ? lt_error_text() : "");
    return NULL;
}

LT_TEST(no_handle_and_no_plan_is_in_two_hands)
{
    OPEN_OR_SKIP();
    lt_kernel *shared[] = { prepare("conv_cudnn", convolution()), prepare("fft_cufft", transform()), prepare("linalg_cusolver", cholesky()) };
    worker w[THREADS] = { 0 };
    for (int i = 0; i < THREADS; i++) {
        w[i].plans = i == 0;
        memcpy((void *)w[i].shared, shared, sizeof shared);
        LT_CHECK(!pthread_create(&w[i].thread, NULL, run_worker, &w[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        if (w[i].status) LT_TEST_FAIL("thread %d: %s", i, w[i].text);
    }
    for (int i = 0; i < 3; i++) lt_kernel_destroy(shared[i]);
}

LT_TEST(the_device_closes)
{
    OPEN_OR_SKIP();
    LT_CHECK_OK(dev->backend->release(dev, memory));
    lt_device_close(dev);
    dev = NULL;
}

LT_TEST_MAIN()
