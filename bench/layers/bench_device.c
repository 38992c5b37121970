/* What the device layer costs on the CPU: a launch replayed, launched, queued; memory taken and
   given back. One line per case: name, ns per call, target. SPDX-License-Identifier: BSD-3-Clause */
#include "device/stream.h"
#include "trace/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { LAUNCHES = 100, ROUNDS = 9 };

static lt_status do_nothing(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    (void)k; (void)pool;
    __asm__ volatile("" :: "r"(arg) : "memory");
    return LT_OK;
}
static void keep(lt_kernel *k) { (void)k; }
static lt_kernel nothing = { .name = "nothing", .run = do_nothing, .destroy = keep, .n_args = 3 };

static lt_device *dev;
static lt_stream *inline_stream, *queued_stream;
static lt_capture *captured;
static lt_launch seq[LAUNCHES];

static void check(lt_status s)
{
    if (!s) return;
    fprintf(stderr, "%s\n", lt_error_text());
    exit(1);
}

static void bare_calls(void) { for (int i = 0; i < LAUNCHES; i++) check(seq[i].kernel->run(seq[i].kernel, NULL, seq[i].arg)); }
static void replay(void) { check(lt_capture_replay(inline_stream, captured)); }
static void launch_all(void) { check(lt_stream_launch_all(inline_stream, seq, LAUNCHES)); }
static void launch_each(void) { for (int i = 0; i < LAUNCHES; i++) check(lt_stream_launch(inline_stream, &seq[i])); }
static void launch_queued(void)
{
    for (int i = 0; i < LAUNCHES; i++) check(lt_stream_launch(queued_stream, &seq[i]));
    check(lt_stream_sync(queued_stream));
}
static void take_and_give(void)
{
    for (int i = 0; i < LAUNCHES; i++) {
        void *p;
        check(lt_device_alloc(dev, NULL, 4096, "bench", &p));
        check(lt_device_free(dev, NULL, p));
    }
}

static void time_it(const char *name, void (*fn)(void), int calls, const char *target)
{
    double best = 1e300;
    fn();
    for (int r = 0; r < ROUNDS; r++) {
        int64_t t0 = lt_clock_ns();
        for (int i = 0; i < calls; i++) fn();
        double each = (double)(lt_clock_ns() - t0) / ((double)calls * LAUNCHES);
        if (each < best) best = each;
    }
    printf("device %s ns=%.3f%s\n", name, best, target);
}

int main(void)
{
    static void *arg[3];
    check(lt_device_open("cpu", &dev));
    inline_stream = lt_device_stream(dev);
    check(lt_stream_create(dev, &queued_stream));
    for (int i = 0; i < LAUNCHES; i++) seq[i] = (lt_launch){ &nothing, arg };
    check(lt_capture_begin(inline_stream));
    check(lt_stream_launch_all(inline_stream, seq, LAUNCHES));
    check(lt_capture_end(inline_stream, &captured));
    time_it("bare_call", bare_calls, 20000, "");
    time_it("replayed_launch", replay, 20000, " target=5");
    time_it("launch_all", launch_all, 20000, " target=5");
    time_it("launch", launch_each, 5000, "");
    time_it("queued_launch", launch_queued, 100, "");
    time_it("alloc_free", take_and_give, 2000, "");
    lt_capture_destroy(captured);
    lt_stream_destroy(queued_stream);
    lt_device_close(dev);
    return 0;
}
