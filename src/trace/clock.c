/* The clocks: monotonic and CPU time from the system, ticks from the processor.
   SPDX-License-Identifier: BSD-3-Clause */
#include "trace/clock.h"

#include <pthread.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

_Atomic bool lt_clock_has_tsc;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t first_tick;
static int64_t  first_ns;

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t lt_clock_ns(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t lt_clock_thread_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/* Invariant: the counter ticks at one rate in every power state and agrees between cores. */
static bool tsc_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
    return false;
#endif
}

/* Both clocks at the same instant: of several tries, the one the system interrupted least. */
static void read_both(uint64_t *ticks, int64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = lt_clock_ticks();
        int64_t  now = lt_clock_ns();
        uint64_t after = lt_clock_ticks();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

static void prepare(void)
{
    atomic_store_explicit(&lt_clock_has_tsc, tsc_is_invariant(), memory_order_relaxed);
    read_both(&first_tick, &first_ns);
}

void lt_clock_prepare(void) { pthread_once(&once, prepare); }

lt_tick_scale lt_clock_calibrate(void)
{
    lt_clock_prepare();
    lt_tick_scale s = { first_tick, first_ns, 1.0 };
    if (!atomic_load_explicit(&lt_clock_has_tsc, memory_order_relaxed)) return s;
    uint64_t tick;
    int64_t  ns;
    /* A millisecond apart, 20 ns of doubt in each reading is a rate known to 4e-5. */
    do { read_both(&tick, &ns); } while (ns - first_ns < 1000000);
    s.ns_per_tick = (double)(ns - first_ns) / (double)(tick - first_tick);
    return s;
}
