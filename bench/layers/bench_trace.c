/* What tracing costs: a span when off and when on, beside an empty loop and the clock itself.
   One line per case: name, ns per call, target. SPDX-License-Identifier: BSD-3-Clause */
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdio.h>

typedef void (*bench_fn)(int64_t n);

/* Keeps the compiler from merging or removing iterations. */
#define FENCE() __asm__ volatile("" ::: "memory")

static void empty(int64_t n) { for (int64_t i = 0; i < n; i++) FENCE(); }
static void ticks(int64_t n) { for (int64_t i = 0; i < n; i++) { (void)lt_clock_ticks(); FENCE(); } }
static void clock_ns(int64_t n) { for (int64_t i = 0; i < n; i++) { (void)lt_clock_ns(); FENCE(); } }
static void span(int64_t n) { for (int64_t i = 0; i < n; i++) { lt_span s = lt_span_begin("bench"); FENCE(); lt_span_end(s); } }
static void counter(int64_t n) { for (int64_t i = 0; i < n; i++) { if (lt_trace_is_on()) lt_trace_counter("bench", (double)i); FENCE(); } }

static double best_ns(bench_fn fn, int64_t n)
{
    double best = 1e300;
    fn(n / 10);
    for (int r = 0; r < 9; r++) {
        int64_t t0 = lt_clock_ns();
        fn(n);
        double each = (double)(lt_clock_ns() - t0) / (double)n;
        if (each < best) best = each;
    }
    return best;
}

static void on(int64_t max_events) { lt_trace_start(&(lt_trace_options){ .size = sizeof(lt_trace_options), .max_events = max_events }); }

int main(void)
{
    lt_clock_prepare();
    double loop = best_ns(empty, 10000000);
    printf("trace empty_loop ns=%.3f\n", loop);
    printf("trace ticks ns=%.3f\n", best_ns(ticks, 1000000));
    printf("trace clock_ns ns=%.3f\n", best_ns(clock_ns, 1000000));
    printf("trace span_off ns=%.3f target=1\n", best_ns(span, 10000000) - loop);
    on(lt_trace_defaults().max_events); /* the timeline is kept in a buffer that is ready … */
    printf("trace span_on ns=%.3f target=60\n", best_ns(span, lt_trace_defaults().max_events / 10));
    lt_trace_stop();
    on(1000000);                        /* … or grows, a fresh page for every 85 spans … */
    printf("trace span_on_growing ns=%.3f target=60\n", best_ns(span, 80000));
    lt_trace_stop();
    on(1000);                           /* … and when it is full, totals go on */
    printf("trace span_on_full ns=%.3f target=60\n", best_ns(span, 1000000));
    lt_trace_stop();
    on(1000000);
    printf("trace counter_on ns=%.3f\n", best_ns(counter, 80000));
    lt_trace_stop();
    lt_trace_clear();
    return 0;
}
