/* What the recorder keeps, for the writers of reports. SPDX-License-Identifier: BSD-3-Clause

   Each thread owns a buffer and is the only one to write to it; readers hold the registry's
   lock. An entry of the timeline does not change once the count that covers it is published;
   totals are relaxed atomics, so a report taken while spans end is at worst one span old.
   A buffer belongs to one recording (epoch); buffers of older recordings are ignored. */
#ifndef LT_TRACE_RECORDER_H
#define LT_TRACE_RECORDER_H

#include "trace/clock.h"
#include "trace/trace.h"

enum { LT_TRACE_CHUNK = 4096, LT_TRACE_NAMES = 256, LT_TRACE_DEPTH = 64, LT_TRACE_LABEL = 40 };

typedef enum lt_trace_kind { LT_TRACE_SPAN, LT_TRACE_DEVICE_SPAN, LT_TRACE_VALUE, LT_TRACE_MEMORY_VALUE } lt_trace_kind;

typedef struct lt_trace_event {
    const char   *name;
    const char   *detail;    /* span: shapes and the like, may be NULL; device span: its track */
    uint64_t      start;     /* ticks; nanoseconds for a device span */
    union { uint64_t duration; double value; } u;
    int64_t       bytes;
    lt_trace_kind kind;
} lt_trace_event;

typedef struct lt_trace_total { /* one span name on one thread; times in ticks but cpu_ns */
    _Atomic(const char *) name;  /* NULL: the place is free */
    _Atomic(const char *) detail;
    _Atomic int64_t calls, bytes, cpu_ns, peak_bytes;
    _Atomic uint64_t total, self, min, max;
} lt_trace_total;

typedef struct lt_trace_frame { /* an open span */
    const char *name, *detail;
    uint64_t    start, inside;  /* inside: time spent in nested spans */
    int64_t     bytes, cpu0_ns, peak_bytes;
} lt_trace_frame;

typedef struct lt_trace_thread {
    struct lt_trace_thread *next;
    int              id;
    bool             retired;   /* its thread has ended; under the lock */
    char             label[LT_TRACE_LABEL]; /* under the lock */
    _Atomic uint32_t epoch;
    lt_trace_event **chunk;     /* places for n_chunks; filled as needed by the owner */
    int64_t          n_chunks, max_events;
    bool             cpu_time;
    _Atomic int64_t  n_events, dropped;
    int              depth;
    lt_trace_frame   frame[LT_TRACE_DEPTH];
    lt_trace_total   total[LT_TRACE_NAMES];
} lt_trace_thread;

/* The threads of the current recording, in order of id. Hold the lock while reading. */
void             lt_trace_lock(void);
void             lt_trace_unlock(void);
lt_trace_thread *lt_trace_next_thread(lt_trace_thread *t); /* NULL starts */
int64_t          lt_trace_start_ns(void);

/* Appends to the calling thread's timeline; the time is now when e->start is 0. */
void lt_trace_append(lt_trace_event *e);
/* The calling thread's innermost span saw this much memory in use. */
void lt_trace_saw_memory(int64_t bytes);

extern _Atomic int64_t lt_trace_memory_now; /* in use, all owners */
void lt_trace_forget_memory(void);          /* memory and transfers: back to nothing */

#endif
