/* Runs of programs while a trace is recorded: a span for each kernel, and on a device that works by itself another
   for the time it took on the device. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/program/program.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <string.h>

/* Launches with marks in between: mark[i] is reached before the i-th kernel begins, mark[n] when the last has ended. */
static lt_status launch_marked(lt_program *p, int first, int n, lt_event *const *mark)
{
    LT_TRY(lt_event_record(mark[0], p->stream));
    for (int i = 0; i < n; i++) {
        const lt_kernel *k = p->launch[first + i].kernel;
        lt_span launch = lt_span_begin(lt_trace_intern(k->name));
        lt_status s = lt_stream_launch(p->stream, &p->launch[first + i]);
        lt_span_note(launch, (int64_t)k->bytes, NULL);
        lt_span_end(launch);
        if (s) return s;
        LT_TRY(lt_event_record(mark[i + 1], p->stream));
    }
    return lt_event_sync(mark[n]);
}

/* The device's clock is set by the last mark, which has just been reached. */
static lt_status give_device_spans(const lt_program *p, int first, int n, lt_event *const *mark)
{
    const char *track = lt_trace_intern(lt_device_id(p->device));
    int64_t end_ns = lt_clock_ns();
    for (int i = 0; i < n; i++) {
        double to_end_ns, took_ns;
        LT_TRY(lt_event_elapsed(mark[i], mark[n], &to_end_ns));
        LT_TRY(lt_event_elapsed(mark[i], mark[i + 1], &took_ns));
        lt_trace_device_span(track, lt_trace_intern(p->launch[first + i].kernel->name), end_ns - (int64_t)to_end_ns, (int64_t)took_ns);
    }
    return LT_OK;
}

static lt_status launch_on_device(lt_program *p, int first, int n)
{
    lt_event **mark = lt_calloc((size_t)n + 1, sizeof *mark);
    if (!mark) return LT_ERR_MEMORY;
    lt_status s = LT_OK;
    for (int i = 0; i <= n && !s; i++) s = lt_event_create(p->device, &mark[i]);
    if (!s) s = launch_marked(p, first, n, mark);
    if (!s) s = give_device_spans(p, first, n, mark);
    for (int i = 0; i <= n; i++) lt_event_destroy(mark[i]);
    lt_free(mark);
    return s;
}

lt_status lt_program_launch_traced(lt_program *p, int first, int last)
{
    lt_span all = lt_span_begin("program");
    bool marks_itself = strcmp(p->device->backend->name, "cpu") == 0; /* each kernel as it runs */
    lt_status s = marks_itself || first == last ? lt_stream_launch_all(p->stream, p->launch + first, last - first)
                                                : launch_on_device(p, first, last - first);
    lt_span_end(all);
    return s;
}
