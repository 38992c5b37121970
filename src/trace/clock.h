/* The clocks. Nothing else in the library measures time, but for base/pool.c, which stands below. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TRACE_CLOCK_H
#define LT_TRACE_CLOCK_H

#include "lathe/base.h"

#include <stdatomic.h>

int64_t lt_clock_ns(void);        /* monotonic; the zero is arbitrary */
int64_t lt_clock_thread_ns(void); /* CPU time of the calling thread */
static inline double lt_seconds_since(int64_t start_ns) { return 1e-9 * (double)(lt_clock_ns() - start_ns); }

/* A cheaper counter for spans: the processor's own where it runs evenly, else lt_clock_ns. */
typedef struct lt_tick_scale { uint64_t tick0; int64_t ns0; double ns_per_tick; } lt_tick_scale;
extern _Atomic bool lt_clock_has_tsc; /* set once by lt_clock_prepare */
void          lt_clock_prepare(void);
lt_tick_scale lt_clock_calibrate(void); /* measured since lt_clock_prepare; better the later */

static inline uint64_t lt_clock_ticks(void)
{
#if defined(__x86_64__)
    if (atomic_load_explicit(&lt_clock_has_tsc, memory_order_relaxed)) return __builtin_ia32_rdtsc();
#endif
    return (uint64_t)lt_clock_ns();
}

#endif
