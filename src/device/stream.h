/* Streams, memory, events, capture: what the layers above call. Arguments are checked here,
   transfers are counted for the trace. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_STREAM_H
#define LT_DEVICE_STREAM_H

#include "device/backend.h"

/* ---- Memory (through the device's caching allocator) ------------------------ */
/* 64-byte aligned, contents unspecified, usable on st at once. owner names who holds it in
   reports ("arena", "gram states"); copied. st NULL means the default stream. */
lt_status lt_device_alloc(lt_device *dev, lt_stream *st, size_t bytes, const char *owner, void **out);
/* st: the stream of the last work that uses it (NULL = default). address may be NULL. */
lt_status lt_device_free(lt_device *dev, lt_stream *st, void *address);

/* ---- Streams ----------------------------------------------------------------- */
static inline lt_stream *lt_device_stream(lt_device *dev) { return dev->stream; }
static inline lt_pool   *lt_device_pool(lt_device *dev) { return dev->pool; }
lt_status lt_stream_create(lt_device *dev, lt_stream **out);
void      lt_stream_destroy(lt_stream *st);                   /* NULL is allowed; waits for its work */
lt_status lt_stream_sync(lt_stream *st);
/* The same for results that can be seen to have arrived in page-locked memory: `arrived` looks for them with acquiring loads, which
   is sooner than the driver reports them. Other work need not have ended. It may not be called at all. */
lt_status lt_stream_await(lt_stream *st, bool (*arrived)(void *ctx), void *ctx);
lt_status lt_stream_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir, bool pinned);
/* Counts a copy that a kernel does: in the trace, or while st captures in what lt_recording calls its cost. lt_stream_copy does it by itself. */
void      lt_stream_note_copy(lt_stream *st, lt_transfer dir, bool pinned, size_t bytes);
lt_status lt_stream_fill(lt_stream *st, void *dst, int byte, size_t bytes);

/* ---- Kernels ----------------------------------------------------------------- */
lt_status lt_device_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out);
/* What became of texts since the device was opened: compiled, or taken from the cache folder; seconds of all compilers, side by side they overlap. */
typedef struct lt_build_counts { int64_t compiled, loaded; double compile_seconds; } lt_build_counts;
lt_build_counts lt_device_build_counts(const lt_device *dev); /* NULL: the CPU, which compiles nothing */
lt_status lt_stream_launch(lt_stream *st, const lt_launch *at);
/* n launches in order. On the CPU's default stream this is a bare loop over kernel->run. */
lt_status lt_stream_launch_all(lt_stream *st, const lt_launch *seq, int n);

/* ---- Events ------------------------------------------------------------------ */
lt_status lt_event_create(lt_device *dev, lt_event **out);
void      lt_event_destroy(lt_event *ev);                     /* NULL is allowed */
lt_status lt_event_record(lt_event *ev, lt_stream *st);
lt_status lt_event_wait(lt_stream *st, lt_event *ev);         /* later work on st waits */
lt_status lt_event_sync(lt_event *ev);                        /* the host waits */
lt_status lt_event_query(lt_event *ev, bool *done);
lt_status lt_event_elapsed(lt_event *from, lt_event *to, double *ns);

/* ---- Side by side ------------------------------------------------------------ */
/* Work given to `branch` from here on begins when the work given to `st` so far has ended, and runs beside what st is given next. After
   `join`, work given to st waits for both. While st captures, the branch's work in between is part of the capture, which then takes no new arguments. */
lt_status lt_stream_branch(lt_stream *st, lt_stream *branch);
lt_status lt_stream_join(lt_stream *st, lt_stream *branch);

/* ---- Capture and replay ------------------------------------------------------- */
lt_status lt_capture_begin(lt_stream *st);
lt_status lt_capture_end(lt_stream *st, lt_capture **out); /* ends the capture even when it fails */
void      lt_capture_abort(lt_stream *st);
/* No allocation and no lock on the CPU's default stream. The kernels and the memory captured
   must still exist. */
lt_status lt_capture_replay(lt_stream *st, lt_capture *c);
/* Gives captured launch number `launch` new arguments (as many as its kernel has). */
lt_status lt_capture_rebind(lt_capture *c, int launch, void *const *arg);
void      lt_capture_destroy(lt_capture *c);            /* NULL is allowed */

#endif
