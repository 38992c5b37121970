/* The null device counts what it is asked to do and refuses what is not legal.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/null/null.h"
#include "device/stream.h"

static int destroyed;
static void note_destroy(lt_kernel *k) { (void)k; destroyed++; }
static lt_kernel host = { .name = "host", .destroy = note_destroy, .n_args = 2, .scratch_bytes = 64, .flops = 7 };

typedef struct setup { lt_device *dev; lt_stream *st; lt_kernel *k; char *a, *b, *scratch; } setup;

static setup make(void)
{
    setup s = { NULL, NULL, NULL, NULL, NULL, NULL };
    LT_CHECK_OK(lt_device_open("null", &s.dev));
    s.st = lt_device_stream(s.dev);
    LT_CHECK_OK(s.dev->backend->alloc(s.dev, 100, (void **)&s.a));
    LT_CHECK_OK(s.dev->backend->alloc(s.dev, 5000, (void **)&s.b));
    LT_CHECK_OK(s.dev->backend->alloc(s.dev, 64, (void **)&s.scratch));
    LT_CHECK_OK(lt_device_build(s.dev, &(lt_kernel_key){ .name = "from_host", .host = &host }, &s.k));
    return s;
}

static void drop(setup *s)
{
    lt_kernel_destroy(s->k);
    lt_device_close(s->dev);
}

LT_TEST(everything_is_counted)
{
    setup s = make();
    char h[5000];
    memset(h, 1, sizeof h);
    LT_CHECK_OK(lt_stream_copy(s.st, s.b, h, 5000, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_copy(s.st, s.b + 10, s.a, 90, LT_TRANSFER_D2D, false));
    LT_CHECK_OK(lt_stream_copy(s.st, h, s.b, 10, LT_TRANSFER_D2H, false));
    LT_CHECK(h[0] == 0 && h[9] == 0 && h[10] == 1); /* defined, and no further than asked */
    LT_CHECK_OK(lt_stream_fill(s.st, s.a, 0, 100));
    void *arg[] = { s.a, s.b + 8, s.scratch };
    lt_launch seq[] = { { s.k, arg }, { s.k, arg } };
    LT_CHECK_OK(lt_stream_launch_all(s.st, seq, 2));
    lt_capture *c;
    LT_CHECK_OK(lt_capture_begin(s.st));
    LT_CHECK_OK(lt_stream_launch(s.st, seq));
    LT_CHECK_OK(lt_stream_fill(s.st, s.a, 0, 100));
    LT_CHECK_OK(lt_capture_end(s.st, &c));
    LT_CHECK_OK(lt_capture_replay(s.st, c));
    LT_CHECK_OK(lt_capture_replay(s.st, c));
    LT_CHECK_OK(lt_stream_sync(s.st));
    lt_null_counts n = lt_null_read(s.dev);
    LT_CHECK(n.allocs == 3 && n.live_bytes == 5164 && n.peak_bytes == 5164 && n.builds == 1);
    LT_CHECK(n.launches == 2 && n.fills == 1 && n.syncs == 1 && n.captures == 1 && n.replays == 2 && n.replayed_launches == 2);
    LT_CHECK(n.copies[LT_TRANSFER_H2D] == 1 && n.copy_bytes[LT_TRANSFER_H2D] == 5000);
    LT_CHECK(n.copies[LT_TRANSFER_D2D] == 1 && n.copy_bytes[LT_TRANSFER_D2H] == 10);
    lt_capture_destroy(c);
    int before = destroyed;
    drop(&s);
    LT_CHECK_EQ_INT(destroyed, before + 1); /* the host kernel went with the one made from it */
}

LT_TEST(what_is_not_legal_is_refused)
{
    setup s = make();
    char h[200];
    LT_CHECK_FAILS(lt_stream_copy(s.st, s.a, h, 101, LT_TRANSFER_H2D, false), LT_ERR_ARGUMENT, "run past the end, 100 are left");
    LT_CHECK_FAILS(lt_stream_copy(s.st, s.a + 60, h, 41, LT_TRANSFER_H2D, false), LT_ERR_ARGUMENT, "40 are left");
    LT_CHECK_FAILS(lt_stream_copy(s.st, h, h, 8, LT_TRANSFER_H2D, false), LT_ERR_ARGUMENT, "not device memory");
    LT_CHECK_FAILS(lt_stream_copy(s.st, s.a, s.b, 8, LT_TRANSFER_H2D, false), LT_ERR_ARGUMENT, "is device memory, the host cannot");
    LT_CHECK_FAILS(lt_stream_copy(s.st, s.a, s.b, 8, LT_TRANSFER_D2H, false), LT_ERR_ARGUMENT, "is device memory, the host cannot");
    LT_CHECK_FAILS(lt_stream_copy(s.st, s.a, h, 8, LT_TRANSFER_D2D, false), LT_ERR_ARGUMENT, "not device memory");
    LT_CHECK_FAILS(lt_stream_fill(s.st, s.a + 100, 0, 1), LT_ERR_ARGUMENT, "not device memory");
    LT_CHECK_FAILS(lt_stream_launch(s.st, &(lt_launch){ s.k, (void *[]){ s.a, h, s.scratch } }), LT_ERR_ARGUMENT, "'from_host', argument 1");
    LT_CHECK_FAILS(lt_stream_launch(s.st, &(lt_launch){ s.k, (void *[]){ s.a, s.b, s.scratch + 1 } }), LT_ERR_ARGUMENT, "argument 2: 64 bytes");
    LT_CHECK_FAILS(lt_stream_launch(s.st, &(lt_launch){ &host, (void *[]){ s.a, s.b, s.scratch } }), LT_ERR_ARGUMENT, "not built for this device");
    LT_CHECK_FAILS(s.k->run(s.k, NULL, NULL), LT_ERR_UNSUPPORTED, "does not compute");
    LT_CHECK_FAILS(s.dev->backend->release(s.dev, s.a + 1), LT_ERR_ARGUMENT, "not allocated or is released");
    LT_CHECK_OK(s.dev->backend->release(s.dev, s.a));
    LT_CHECK_FAILS(s.dev->backend->release(s.dev, s.a), LT_ERR_ARGUMENT, "released already");
    LT_CHECK_FAILS(s.dev->backend->host_release(s.dev, h), LT_ERR_ARGUMENT, "not in use");
    LT_CHECK_FAILS(lt_stream_fill(s.st, s.a, 0, 1), LT_ERR_ARGUMENT, "not device memory in use");
    void *p;
    LT_CHECK_FAILS(s.dev->backend->alloc(s.dev, (size_t)17 << 30, &p), LT_ERR_MEMORY, "are free");
    lt_event *ev;
    LT_CHECK_OK(lt_event_create(s.dev, &ev));
    LT_CHECK_FAILS(lt_event_wait(s.st, ev), LT_ERR_ARGUMENT, "never recorded");
    LT_CHECK_FAILS(lt_event_sync(ev), LT_ERR_ARGUMENT, "never recorded");
    LT_CHECK_OK(lt_event_record(ev, s.st));
    LT_CHECK_OK(lt_event_wait(s.st, ev));
    LT_CHECK_OK(lt_capture_begin(s.st));
    LT_CHECK_FAILS(lt_event_wait(s.st, ev), LT_ERR_ARGUMENT, "outside this capture");
    lt_capture_abort(s.st);
    lt_event_destroy(ev);
    drop(&s);
}

LT_TEST(a_replay_checks_that_its_memory_is_still_there)
{
    setup s = make();
    lt_capture *c;
    char *other;
    LT_CHECK_OK(lt_capture_begin(s.st));
    LT_CHECK_FAILS(lt_capture_replay(s.st, NULL), LT_ERR_ARGUMENT, "while the stream captures");
    LT_CHECK_OK(lt_stream_launch(s.st, &(lt_launch){ s.k, (void *[]){ s.a, s.b, s.scratch } }));
    LT_CHECK_OK(lt_capture_end(s.st, &c));
    LT_CHECK_OK(s.dev->backend->release(s.dev, s.a));
    LT_CHECK_FAILS(lt_capture_replay(s.st, c), LT_ERR_ARGUMENT, "argument 0");
    LT_CHECK_OK(s.dev->backend->alloc(s.dev, 100, (void **)&other));
    LT_CHECK(other != s.a);
    LT_CHECK_OK(lt_capture_rebind(c, 0, (void *[]){ other, s.b, s.scratch }));
    LT_CHECK_OK(lt_capture_replay(s.st, c));
    lt_capture_destroy(c);
    drop(&s);
}

LT_TEST(kernels_from_source_are_planned)
{
    setup s = make();
    lt_kernel *k;
    lt_kernel_key key = { .name = "tile", .source = "__global__ …", .entry = "tile", .n_args = 1, .flops = 3, .bytes = 4 };
    LT_CHECK_OK(lt_device_build(s.dev, &key, &k));
    LT_CHECK(k->n_args == 1 && k->flops == 3 && strcmp(k->name, "tile") == 0);
    LT_CHECK_OK(lt_stream_launch(s.st, &(lt_launch){ k, (void *[]){ s.a } }));
    lt_kernel_destroy(k);
    key.n_args = LT_KERNEL_MAX_ARGS + 1;
    LT_CHECK_FAILS(lt_device_build(s.dev, &key, &k), LT_ERR_ARGUMENT, "arguments, at most");
    drop(&s);
}

static lt_status small_run(lt_device *dev)
{
    lt_kernel *k = NULL;
    lt_capture *c = NULL;
    lt_stream *st = NULL;
    void *p = NULL, *pinned = NULL;
    lt_status s = lt_stream_create(dev, &st);
    if (!s) s = dev->backend->alloc(dev, 64, &p);
    if (!s) s = dev->backend->host_alloc(dev, 64, &pinned);
    if (!s) s = lt_device_build(dev, &(lt_kernel_key){ .name = "t", .source = "s", .entry = "e", .n_args = 1 }, &k);
    if (!s) s = lt_capture_begin(st);
    for (int i = 0; i < 20 && !s; i++) s = lt_stream_launch(st, &(lt_launch){ k, (void *[]){ p } });
    if (!s) s = lt_capture_end(st, &c);
    if (!s) s = lt_capture_replay(st, c);
    lt_stream_destroy(st);
    lt_capture_destroy(c);
    lt_kernel_destroy(k);
    return s; /* the device takes what is left with it */
}

LT_TEST(every_failing_allocation_is_survived)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_device_close(dev);
    int64_t live = lt_alloc_live();
    bool passed = false;
    for (int64_t at = 1; at < 60 && !passed; at++) {
        LT_CHECK_OK(lt_device_open("null", &dev));
        lt_alloc_fail_at(at);
        lt_status s = small_run(dev);
        lt_alloc_fail_at(0);
        passed = s == LT_OK;
        LT_CHECK(passed || s == LT_ERR_MEMORY);
        lt_device_close(dev);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(passed);
}

LT_TEST_MAIN()
