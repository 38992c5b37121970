/* Streams, events, capture and replay on the CPU. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/stream.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdatomic.h>

/* arg[0] += arg[1], both int64. */
static lt_status run_add(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k; (void)pool;
    *(int64_t *)arg[0] += *(const int64_t *)arg[1];
    return LT_OK;
}
static lt_status run_fail(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)pool; (void)arg;
    return LT_FAIL(LT_ERR_NUMERIC, "'%s' failed on purpose", k->name);
}
static lt_status run_slow(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    for (int64_t end = lt_clock_ns() + 3000000; lt_clock_ns() < end;) {}
    return run_add(k, pool, arg);
}
static void keep(lt_kernel *k) { (void)k; }
static lt_kernel add = { .name = "add_i64", .run = run_add, .destroy = keep, .n_args = 2, .bytes = 24 };
static lt_kernel slow = { .name = "slow_i64", .run = run_slow, .destroy = keep, .n_args = 2 };
static lt_kernel fails = { .name = "fails", .run = run_fail, .destroy = keep, .n_args = 2 };

static lt_device *open_cpu(void)
{
    lt_device *dev = NULL;
    LT_CHECK_OK(lt_device_open("cpu", &dev));
    return dev;
}

LT_TEST(work_on_a_stream_runs_in_order)
{
    lt_device *dev = open_cpu();
    lt_stream *own;
    LT_CHECK_OK(lt_stream_create(dev, &own));
    lt_stream *stream[] = { lt_device_stream(dev), own };
    for (int i = 0; i < 2; i++) {
        int64_t x = 5, y = 3, copy = 0;
        LT_CHECK_OK(lt_stream_fill(stream[i], &x, 0, sizeof x));
        for (int k = 0; k < 1000; k++) { /* more than the queue holds */
            void *arg[] = { &x, &y };
            LT_CHECK_OK(lt_stream_launch(stream[i], &(lt_launch){ &add, arg }));
            arg[0] = arg[1] = NULL; /* arguments were copied */
        }
        LT_CHECK_OK(lt_stream_copy(stream[i], &copy, &x, sizeof x, LT_TRANSFER_D2H, false));
        LT_CHECK_OK(lt_stream_sync(stream[i]));
        LT_CHECK_EQ_INT(copy, 3000);
    }
    lt_stream_destroy(own);
    lt_stream_destroy(NULL);
    lt_device_close(dev);
}

LT_TEST(events_order_streams)
{
    lt_device *dev = open_cpu();
    lt_stream *a, *b;
    lt_event *ab, *ba;
    LT_CHECK_OK(lt_stream_create(dev, &a));
    LT_CHECK_OK(lt_stream_create(dev, &b));
    LT_CHECK_OK(lt_event_create(dev, &ab));
    LT_CHECK_OK(lt_event_create(dev, &ba));
    LT_CHECK_FAILS(lt_event_wait(a, ab), LT_ERR_ARGUMENT, "never recorded");
    bool done;
    LT_CHECK_FAILS(lt_event_query(ab, &done), LT_ERR_ARGUMENT, "never recorded");
    int64_t x = 0, one = 1;
    for (int i = 0; i < 500; i++) { /* unsynchronised, the two streams would lose increments */
        LT_CHECK_OK(lt_stream_launch(a, &(lt_launch){ i < 2 ? &slow : &add, (void *[]){ &x, &one } }));
        LT_CHECK_OK(lt_event_record(ab, a));
        LT_CHECK_OK(lt_event_wait(b, ab));
        LT_CHECK_OK(lt_stream_launch(b, &(lt_launch){ &add, (void *[]){ &x, &one } }));
        LT_CHECK_OK(lt_event_record(ba, b));
        LT_CHECK_OK(lt_event_wait(a, ba));
    }
    LT_CHECK_OK(lt_event_sync(ba));
    LT_CHECK_EQ_INT(x, 1000);
    LT_CHECK_OK(lt_event_query(ba, &done));
    LT_CHECK(done);
    lt_event_destroy(ab); /* queued waits keep it alive */
    lt_event_destroy(ba);
    lt_stream_destroy(a);
    lt_stream_destroy(b);
    lt_device_close(dev);
}

LT_TEST(elapsed_measures_the_work_between)
{
    lt_device *dev = open_cpu();
    lt_stream *st;
    lt_event *from, *to;
    double ns = -1;
    int64_t x = 0, one = 1;
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_event_create(dev, &from));
    LT_CHECK_OK(lt_event_create(dev, &to));
    LT_CHECK_FAILS(lt_event_elapsed(from, to, &ns), LT_ERR_ARGUMENT, "never recorded");
    LT_CHECK_OK(lt_event_record(from, st));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &slow, (void *[]){ &x, &one } }));
    LT_CHECK_OK(lt_event_record(to, st));
    bool done = true;
    LT_CHECK_OK(lt_event_query(to, &done));
    if (!done) LT_CHECK(lt_event_elapsed(from, to, &ns) == LT_ERR_ARGUMENT || ns >= 3e6);
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK_OK(lt_event_elapsed(from, to, &ns));
    LT_CHECK(ns >= 3e6 && ns < 1e10);
    lt_event_destroy(from);
    lt_event_destroy(to);
    lt_stream_destroy(st);
    lt_device_close(dev);
}

LT_TEST(a_late_failure_surfaces_at_sync_once)
{
    lt_device *dev = open_cpu();
    lt_stream *st;
    int64_t x = 0, one = 1;
    lt_launch good = { &add, (void *[]){ &x, &one } }, bad = { &fails, (void *[]){ &x, &one } };
    LT_CHECK_FAILS(lt_stream_launch(lt_device_stream(dev), &bad), LT_ERR_NUMERIC, "'fails' failed on purpose");
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_stream_launch(st, &good));
    LT_CHECK_OK(lt_stream_launch(st, &bad));
    LT_CHECK_OK(lt_stream_launch(st, &good)); /* skipped: its input is not to be trusted */
    LT_CHECK_FAILS(lt_stream_sync(st), LT_ERR_NUMERIC, "'fails' failed on purpose");
    LT_CHECK_EQ_INT(x, 1);
    LT_CHECK_OK(lt_stream_launch(st, &good));
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK_EQ_INT(x, 2);
    lt_stream_destroy(st);
    lt_device_close(dev);
}

LT_TEST(captured_work_replays_without_allocating)
{
    lt_device *dev = open_cpu();
    lt_stream *own;
    lt_capture *c;
    LT_CHECK_OK(lt_stream_create(dev, &own));
    lt_stream *stream[] = { lt_device_stream(dev), own };
    for (int i = 0; i < 2; i++) {
        lt_stream *st = stream[i];
        int64_t x = 1, one = 1, ten = 10, out = -1;
        LT_CHECK_FAILS(lt_capture_end(st, &c), LT_ERR_ARGUMENT, "not capturing");
        LT_CHECK_OK(lt_capture_begin(st));
        LT_CHECK_FAILS(lt_capture_begin(st), LT_ERR_ARGUMENT, "while the stream captures");
        LT_CHECK_FAILS(lt_stream_sync(st), LT_ERR_ARGUMENT, "while the stream captures");
        LT_CHECK_OK(lt_stream_fill(st, &x, 0, sizeof x));
        for (int k = 0; k < 40; k++) LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &add, (void *[]){ &x, &one } }));
        LT_CHECK_OK(lt_stream_copy(st, &out, &x, sizeof x, LT_TRANSFER_D2D, false));
        LT_CHECK_OK(lt_capture_end(st, &c));
        LT_CHECK_EQ_INT(c->n_launches, 40);
        LT_CHECK(x == 1 && out == -1); /* nothing ran yet */
        int64_t before = lt_alloc_count();
        for (int k = 0; k < 5; k++) LT_CHECK_OK(lt_capture_replay(st, c));
        LT_CHECK_OK(lt_stream_sync(st));
        LT_CHECK_EQ_INT(lt_alloc_count(), before);
        LT_CHECK_EQ_INT(out, 40);
        LT_CHECK_OK(lt_capture_rebind(c, 39, (void *[]){ &x, &ten }));
        LT_CHECK_FAILS(lt_capture_rebind(c, 40, (void *[]){ &x, &ten }), LT_ERR_ARGUMENT, "40 were captured");
        LT_CHECK_OK(lt_capture_replay(st, c));
        LT_CHECK_OK(lt_stream_sync(st));
        LT_CHECK_EQ_INT(out, 49);
        lt_capture_destroy(c);
    }
    LT_CHECK_OK(lt_capture_begin(own));
    lt_stream_destroy(own); /* an unfinished capture goes with its stream */
    lt_device_close(dev);
}

LT_TEST(captures_hold_events_of_their_own_only)
{
    lt_device *dev = open_cpu();
    lt_stream *st = lt_device_stream(dev);
    lt_event *ev;
    lt_capture *c;
    LT_CHECK_OK(lt_event_create(dev, &ev));
    LT_CHECK_OK(lt_event_record(ev, st));
    LT_CHECK_OK(lt_capture_begin(st));
    LT_CHECK_FAILS(lt_event_wait(st, ev), LT_ERR_ARGUMENT, "not recorded inside this capture");
    LT_CHECK_OK(lt_event_record(ev, st));
    LT_CHECK_OK(lt_event_wait(st, ev));
    LT_CHECK_OK(lt_capture_end(st, &c));
    lt_event_destroy(ev);
    LT_CHECK_OK(lt_capture_replay(st, c));
    LT_CHECK_OK(lt_capture_replay(st, c));
    lt_capture_destroy(c);
    lt_capture_destroy(NULL);
    lt_device_close(dev);
}

/* total = 2 (x + 1) by two streams, which both need x and are both waited for. */
static void add_side_by_side(lt_stream *st, lt_stream *branch, int64_t *number)
{
    int64_t *one = &number[0], *x = &number[1], *near = &number[2], *beside = &number[3], *total = &number[4];
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &slow, (void *[]){ x, one } }));
    LT_CHECK_OK(lt_stream_branch(st, branch));
    LT_CHECK_OK(lt_stream_launch(branch, &(lt_launch){ &slow, (void *[]){ beside, x } }));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &add, (void *[]){ near, x } }));
    LT_CHECK_OK(lt_stream_join(st, branch));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &add, (void *[]){ total, near } }));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &add, (void *[]){ total, beside } }));
}

LT_TEST(lanes_leave_a_stream_and_rejoin)
{
    lt_device *dev = open_cpu();
    lt_stream *st, *branch;
    lt_capture *c;
    int64_t number[5] = { 1 };
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_stream_create(dev, &branch));
    add_side_by_side(st, branch, number);
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK_EQ_INT(number[4], 2);
    LT_CHECK_OK(lt_capture_begin(st));
    add_side_by_side(st, branch, number);
    LT_CHECK_OK(lt_capture_end(st, &c));
    LT_CHECK_OK(lt_stream_sync(branch));
    LT_CHECK(number[1] == 1 && number[4] == 2); /* nothing ran: the branch recorded, too */
    for (int i = 0; i < 2; i++) LT_CHECK_OK(lt_capture_replay(st, c));
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK(number[1] == 3 && number[2] == 1 + 2 + 3 && number[3] == 6 && number[4] == 2 + 6 + 12);
    LT_CHECK_FAILS(lt_capture_rebind(c, 0, (void *[]){ number, number }), LT_ERR_UNSUPPORTED, "several streams");
    lt_capture_destroy(c);
    lt_stream_destroy(branch);
    lt_stream_destroy(st);
    lt_device_close(dev);
}

LT_TEST(lanes_that_do_not_rejoin_are_free_again)
{
    lt_device *dev = open_cpu();
    lt_stream *st, *branch, *other;
    lt_capture *c;
    int64_t x = 0, one = 1;
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_stream_create(dev, &branch));
    LT_CHECK_OK(lt_stream_create(dev, &other));
    LT_CHECK_FAILS(lt_stream_join(st, branch), LT_ERR_ARGUMENT, "did not leave");
    LT_CHECK_FAILS(lt_stream_branch(st, st), LT_ERR_ARGUMENT, "two streams");
    for (int aborted = 0; aborted < 2; aborted++) {
        LT_CHECK_OK(lt_capture_begin(st));
        LT_CHECK_OK(lt_stream_branch(st, branch));
        LT_CHECK_FAILS(lt_stream_branch(other, branch), LT_ERR_ARGUMENT, "while the stream captures");
        LT_CHECK_FAILS(lt_capture_end(branch, &c), LT_ERR_ARGUMENT, "not capturing");
        LT_CHECK_FAILS(lt_stream_join(other, branch), LT_ERR_ARGUMENT, "did not leave");
        LT_CHECK_OK(lt_stream_launch(branch, &(lt_launch){ &add, (void *[]){ &x, &one } }));
        if (aborted) lt_capture_abort(st);
        else {
            LT_CHECK_OK(lt_capture_end(st, &c));
            lt_capture_destroy(c);
        }
        LT_CHECK_OK(lt_stream_sync(branch));
        LT_CHECK_EQ_INT(x, 0);
    }
    LT_CHECK_OK(lt_stream_branch(st, branch));
    LT_CHECK_FAILS(lt_stream_branch(other, branch), LT_ERR_ARGUMENT, "the second free");
    LT_CHECK_OK(lt_stream_launch(branch, &(lt_launch){ &add, (void *[]){ &x, &one } }));
    lt_stream_destroy(branch); /* as it is */
    LT_CHECK_EQ_INT(x, 1);
    LT_CHECK_OK(lt_stream_create(dev, &branch));
    LT_CHECK_OK(lt_stream_branch(other, branch));
    lt_stream_destroy(other); /* with the branch out */
    LT_CHECK_OK(lt_stream_branch(st, branch));
    LT_CHECK_OK(lt_stream_join(st, branch));
    other = branch;
    LT_CHECK_OK(lt_capture_begin(st));
    LT_CHECK_OK(lt_stream_branch(st, other));
    lt_stream_destroy(st); /* while it captures, with a branch out */
    LT_CHECK_OK(lt_stream_sync(other));
    lt_stream_destroy(other);
    lt_device_close(dev);
}

LT_TEST(replays_and_launches_show_in_the_trace)
{
    lt_device *dev = open_cpu();
    lt_stream *st = lt_device_stream(dev);
    int64_t x = 0, one = 1;
    lt_launch seq[3] = { { &add, (void *[]){ &x, &one } }, { &add, (void *[]){ &x, &one } }, { &add, (void *[]){ &x, &one } } };
    lt_capture *c;
    LT_CHECK_OK(lt_capture_begin(st));
    LT_CHECK_OK(lt_stream_launch_all(st, seq, 3));
    LT_CHECK_OK(lt_capture_end(st, &c));
    LT_CHECK_OK(lt_stream_launch_all(st, seq, 3));
    LT_CHECK_EQ_INT(x, 3);
    LT_CHECK_OK(lt_trace_start(NULL));
    LT_CHECK_OK(lt_stream_launch_all(st, seq, 3));
    LT_CHECK_OK(lt_capture_replay(st, c));
    LT_CHECK_OK(lt_stream_copy(st, &x, &one, sizeof x, LT_TRANSFER_H2D, true));
    lt_trace_stop();
    lt_trace_row r;
    LT_CHECK_EQ_INT(lt_trace_rows(LT_TRACE_CALLS, &r, 1), 1);
    LT_CHECK(strcmp(r.name, "add_i64") == 0 && r.calls == 6 && r.bytes == 6 * 24);
    LT_CHECK_EQ_INT(lt_trace_transfers(LT_TRANSFER_H2D, true).bytes, 8);
    lt_trace_clear();
    lt_capture_destroy(c);
    lt_device_close(dev);
}

LT_TEST(bad_arguments_are_refused)
{
    lt_device *dev = open_cpu(), *other = open_cpu();
    lt_stream *st = lt_device_stream(dev), *st2;
    lt_event *ev;
    void *p;
    lt_kernel *k;
    LT_CHECK_OK(lt_event_create(dev, &ev));
    LT_CHECK_FAILS(lt_stream_create(NULL, &st2), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_stream_sync(NULL), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_stream_copy(st, NULL, &p, 8, LT_TRANSFER_D2D, false), LT_ERR_ARGUMENT, "destination is NULL");
    LT_CHECK_FAILS(lt_stream_copy(st, &p, NULL, 8, LT_TRANSFER_D2D, false), LT_ERR_ARGUMENT, "source is NULL");
    LT_CHECK_FAILS(lt_stream_copy(st, &p, &p, 8, (lt_transfer)7, false), LT_ERR_ARGUMENT, "direction number 7");
    LT_CHECK_OK(lt_stream_copy(st, NULL, NULL, 0, LT_TRANSFER_D2D, false));
    LT_CHECK_FAILS(lt_stream_fill(st, NULL, 0, 8), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_stream_launch(st, &(lt_launch){ NULL, NULL }), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_event_record(ev, lt_device_stream(other)), LT_ERR_ARGUMENT, "event of cpu");
    LT_CHECK_FAILS(lt_device_alloc(dev, lt_device_stream(other), 8, "x", &p), LT_ERR_ARGUMENT, "belongs to");
    LT_CHECK_FAILS(lt_capture_replay(st, NULL), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_device_build(dev, &(lt_kernel_key){ .name = "k" }, &k), LT_ERR_ARGUMENT, "either a host kernel or source");
    LT_CHECK_FAILS(lt_device_build(dev, &(lt_kernel_key){ .name = "k", .source = "…" }, &k), LT_ERR_ARGUMENT, "no entry name");
    LT_CHECK_FAILS(lt_device_build(dev, &(lt_kernel_key){ .name = "k", .source = "…", .entry = "k" }, &k), LT_ERR_UNSUPPORTED, "another device");
    LT_CHECK_OK(lt_device_build(dev, &(lt_kernel_key){ .name = "k", .host = &add }, &k));
    LT_CHECK(k == &add);
    lt_kernel huge = add;
    huge.n_args = LT_KERNEL_MAX_ARGS + 1;
    LT_CHECK_FAILS(lt_device_build(dev, &(lt_kernel_key){ .name = "k", .host = &huge }, &k), LT_ERR_ARGUMENT, "arguments, at most");
    lt_event_destroy(ev);
    lt_device_close(dev);
    lt_device_close(other);
}

/* Everything above once more, with each allocation failing in turn. */
static lt_status small_run(lt_device *dev)
{
    lt_stream *st = NULL;
    lt_event *ev = NULL;
    lt_capture *c = NULL;
    int64_t x = 0, one = 1;
    lt_status s = lt_stream_create(dev, &st);
    if (!s) s = lt_event_create(dev, &ev);
    if (!s) s = lt_capture_begin(st);
    for (int i = 0; i < 20 && !s; i++) s = lt_stream_launch(st, &(lt_launch){ &add, (void *[]){ &x, &one } });
    if (!s) s = lt_capture_end(st, &c);
    if (!s) s = lt_capture_replay(st, c);
    if (!s) s = lt_event_record(ev, st);
    if (!s) s = lt_stream_sync(st);
    lt_stream_destroy(st);
    lt_capture_destroy(c);
    lt_event_destroy(ev);
    return s;
}

LT_TEST(every_failing_allocation_is_survived)
{
    lt_device *dev = open_cpu();
    int64_t live = lt_alloc_live();
    bool passed = false;
    for (int64_t at = 1; at < 40 && !passed; at++) {
        lt_alloc_fail_at(at);
        lt_status s = small_run(dev);
        lt_alloc_fail_at(0);
        passed = s == LT_OK;
        LT_CHECK(passed || s == LT_ERR_MEMORY);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(passed);
    lt_device_close(dev);
}

LT_TEST_MAIN()
