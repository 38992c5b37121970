/* Tracing as the library's own code uses it: one predictable branch when off.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TRACE_TRACE_H
#define LT_TRACE_TRACE_H

#include "lathe/trace.h"

#include <stdatomic.h>

/* 0 = off; else the number of the running recording. Written by start and stop only. */
extern _Atomic uint32_t lt_trace_on;

static inline bool lt_trace_is_on(void)
{
    return __builtin_expect(atomic_load_explicit(&lt_trace_on, memory_order_relaxed) != 0, 0);
}

/* lt_span s = lt_span_begin("compile"); …; lt_span_end(s);   name: a literal or interned. */
static inline lt_span lt_span_begin(const char *name)
{
    return lt_trace_is_on() ? lt_trace_span_begin(name) : 0;
}
static inline void lt_span_end(lt_span s)
{
    if (__builtin_expect(s != 0, 0)) lt_trace_span_end(s);
}
static inline void lt_span_note(lt_span s, int64_t bytes, const char *detail)
{
    if (__builtin_expect(s != 0, 0)) lt_trace_span_note(s, bytes, detail);
}

/* A span measured elsewhere, on a device: track is a name such as "cuda:0 stream 1" (literal
   or interned), times are lt_clock_ns(). */
void lt_trace_device_span(const char *track, const char *name, int64_t start_ns, int64_t duration_ns);

/* Memory: every taking and giving back, with its owner (copied). Transfers: by direction. */
void lt_trace_memory_event(const char *owner, int64_t delta_bytes);
void lt_trace_transfer_event(lt_transfer dir, bool pinned, int64_t bytes);
static inline void lt_trace_memory(const char *owner, int64_t delta_bytes)
{
    if (lt_trace_is_on()) lt_trace_memory_event(owner, delta_bytes);
}
static inline void lt_trace_transfer(lt_transfer dir, bool pinned, int64_t bytes)
{
    if (lt_trace_is_on()) lt_trace_transfer_event(dir, pinned, bytes);
}

#endif
