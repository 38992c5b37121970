/* Where the time, the memory and the transfers went: spans, counters and their reports.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_TRACE_H
#define LATHE_TRACE_H

#include "lathe/base.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Recording ------------------------------------------------------------ */
/* Tracing is process-wide. Each thread writes into a buffer of its own; totals per span name
   are kept apart from the timeline, so the table stays exact when the timeline is full. */
typedef struct lt_trace_options { /* plain data; start from lt_trace_defaults() */
    size_t  size;
    int64_t max_events;           /* timeline entries kept per thread; later ones are counted as dropped */
    bool    cpu_time;             /* also measure each thread's CPU time: about 300 ns more per span */
} lt_trace_options;

LT_API void lt_trace_defaults_into(lt_trace_options *out);
static inline lt_trace_options lt_trace_defaults(void) { lt_trace_options sized; sized.size = sizeof sized; lt_trace_defaults_into(&sized); return sized; }
/* Clears what was recorded and starts. NULL means the defaults. Fails when already running. */
LT_API lt_status lt_trace_start(const lt_trace_options *opt);
LT_API void      lt_trace_stop(void);    /* what was recorded stays readable */
LT_API bool      lt_trace_running(void);
LT_API void      lt_trace_clear(void);   /* forgets everything recorded; running or not */

typedef uint64_t lt_span;                /* an open span; 0 = not recorded */

/* Spans nest per thread. name must stay valid until the next lt_trace_clear or start: a
   literal, or text from lt_trace_intern. Ending a span also ends those opened inside it. */
LT_API lt_span lt_trace_span_begin(const char *name);
LT_API void    lt_trace_span_end(lt_span span);
/* Adds bytes moved and, unless NULL, a detail such as shapes (valid as long as a name). */
LT_API void    lt_trace_span_note(lt_span span, int64_t bytes, const char *detail);
LT_API void    lt_trace_counter(const char *name, double value);
LT_API void    lt_trace_thread_name(const char *name); /* copied; works while tracing is off too */
/* A copy of text that lives as long as the process; NULL when memory is out. */
LT_API const char *lt_trace_intern(const char *text);

/* ---- Reports --------------------------------------------------------------- */
typedef enum lt_trace_column {
    LT_TRACE_NAME, LT_TRACE_CALLS, LT_TRACE_TOTAL, LT_TRACE_SELF, LT_TRACE_MEAN, LT_TRACE_MIN,
    LT_TRACE_MAX, LT_TRACE_CPU, LT_TRACE_BYTES, LT_TRACE_PEAK,
    LT_TRACE_COLUMN_COUNT
} lt_trace_column;

LT_API const char *lt_trace_column_name(lt_trace_column c);      /* "total"; "?" when out of range */
LT_API bool        lt_trace_column_parse(const char *name, lt_trace_column *out);

typedef struct lt_trace_row {
    const char *name, *detail;            /* detail: the last one noted, or NULL */
    int64_t calls, bytes;
    int64_t total_ns, self_ns, min_ns, max_ns; /* self: without the spans inside */
    int64_t cpu_ns;                       /* 0 unless options.cpu_time */
    int64_t peak_bytes;                   /* most memory seen in use during a call */
} lt_trace_row;

/* Copies at most max rows, sorted (largest first; names ascending), and returns how many span
   names there are. rows may be NULL when max is 0. Negative when memory is out. */
LT_API int64_t   lt_trace_rows(lt_trace_column sort, lt_trace_row *rows, int64_t max);
/* The top_n names as a text table; top_n 0 means 20, negative all. */
LT_API lt_status lt_trace_print_table(FILE *to, lt_trace_column sort, int top_n);

typedef struct lt_trace_memory_row {
    char    owner[40];
    int64_t current_bytes, peak_bytes, allocs, frees;
} lt_trace_memory_row;

/* Owners by peak, largest first; returns how many there are. Row "(all)" is the whole. */
LT_API int64_t   lt_trace_memory_rows(lt_trace_memory_row *rows, int64_t max);
LT_API lt_status lt_trace_print_memory(FILE *to);

typedef enum lt_transfer { LT_TRANSFER_H2D, LT_TRANSFER_D2H, LT_TRANSFER_D2D, LT_TRANSFER_COUNT } lt_transfer;
typedef struct lt_transfer_row { int64_t count, bytes; } lt_transfer_row;

LT_API const char     *lt_transfer_name(lt_transfer t); /* "h2d", …; "?" when out of range */
LT_API lt_transfer_row lt_trace_transfers(lt_transfer t, bool pinned);
LT_API lt_status       lt_trace_print_transfers(FILE *to);

/* Timeline entries that found their thread's buffer full, and spans of names that found the
   table of names full; reports that lack something say so. */
LT_API int64_t lt_trace_dropped(void);

/* Chrome trace-event JSON, for ui.perfetto.dev or chrome://tracing; the file is replaced whole. */
LT_API lt_status lt_trace_write_chrome(const char *path);

#ifdef __cplusplus
}
#endif
#endif
