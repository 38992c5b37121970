/* The timeline as Chrome trace-event JSON. SPDX-License-Identifier: BSD-3-Clause */
#include "trace/recorder.h"

#include "base/files/file.h"
#include "base/status.h"
#include "lathe/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TRACKS = 64, FIRST_TRACK = 1000000 }; /* device tracks, numbered apart from threads */

typedef struct chrome {
    lt_json      *json;
    lt_tick_scale scale;
    int64_t       start_ns;
    const char   *track[MAX_TRACKS];
    int           n_tracks;
} chrome;

/* Microseconds with the nanoseconds as decimals, and no digits beyond them. */
static double in_us(double ns) { return floor(ns + 0.5) / 1e3; }

static double tick_us(const chrome *c, uint64_t tick)
{
    double ns = (double)(int64_t)(tick - c->scale.tick0) * c->scale.ns_per_tick + (double)(c->scale.ns0 - c->start_ns);
    return in_us(ns);
}

static void write_label(chrome *c, int tid, const char *what, const char *label)
{
    lt_json *j = c->json;
    lt_json_object_begin(j);
    lt_json_field_string(j, "ph", "M");
    lt_json_field_string(j, "name", what);
    lt_json_field_int(j, "pid", 1);
    lt_json_field_int(j, "tid", tid);
    lt_json_key(j, "args");
    lt_json_object_begin(j);
    lt_json_field_string(j, "name", label);
    lt_json_object_end(j);
    lt_json_object_end(j);
}

static int track_id(chrome *c, const char *track)
{
    for (int i = 0; i < c->n_tracks; i++)
        if (strcmp(c->track[i], track) == 0) return FIRST_TRACK + i;
    if (c->n_tracks == MAX_TRACKS) return FIRST_TRACK + MAX_TRACKS - 1;
    c->track[c->n_tracks] = track;
    write_label(c, FIRST_TRACK + c->n_tracks, "thread_name", track);
    return FIRST_TRACK + c->n_tracks++;
}

static void begin_event(lt_json *j, const char *ph, const char *name, int tid, double us)
{
    lt_json_object_begin(j);
    lt_json_field_string(j, "ph", ph);
    lt_json_field_string(j, "name", name);
    lt_json_field_string(j, "cat", "lathe");
    lt_json_field_int(j, "pid", 1);
    lt_json_field_int(j, "tid", tid);
    lt_json_field_double(j, "ts", us);
}

static void write_span(chrome *c, const lt_trace_event *e, int tid)
{
    lt_json *j = c->json;
    begin_event(j, "X", e->name, tid, tick_us(c, e->start));
    lt_json_field_double(j, "dur", in_us((double)e->u.duration * c->scale.ns_per_tick));
    if (e->bytes || e->detail) {
        lt_json_key(j, "args");
        lt_json_object_begin(j);
        if (e->bytes) lt_json_field_int(j, "bytes", e->bytes);
        if (e->detail) lt_json_field_string(j, "detail", e->detail);
        lt_json_object_end(j);
    }
    lt_json_object_end(j);
}

static void write_device_span(chrome *c, const lt_trace_event *e)
{
    int tid = track_id(c, e->detail ? e->detail : "device");
    begin_event(c->json, "X", e->name, tid, in_us((double)((int64_t)e->start - c->start_ns)));
    lt_json_field_double(c->json, "dur", in_us((double)e->u.duration));
    lt_json_object_end(c->json);
}

/* Values of memory share a name per owner: "memory: arena". */
static void write_value(chrome *c, const lt_trace_event *e, int tid)
{
    char name[64];
    bool memory = e->kind == LT_TRACE_MEMORY_VALUE;
    if (memory) snprintf(name, sizeof name, "memory: %s", e->name);
    begin_event(c->json, "C", memory ? name : e->name, tid, tick_us(c, e->start));
    lt_json_key(c->json, "args");
    lt_json_object_begin(c->json);
    lt_json_field_double(c->json, memory ? "bytes" : "value", e->u.value);
    lt_json_object_end(c->json);
    lt_json_object_end(c->json);
}

static void write_thread(chrome *c, lt_trace_thread *t)
{
    char label[LT_TRACE_LABEL];
    snprintf(label, sizeof label, "%s", t->label);
    if (!*label) snprintf(label, sizeof label, "thread %d", t->id);
    write_label(c, t->id, "thread_name", label);
    int64_t n = atomic_load_explicit(&t->n_events, memory_order_acquire);
    for (int64_t i = 0; i < n; i++) {
        const lt_trace_event *e = &t->chunk[i / LT_TRACE_CHUNK][i % LT_TRACE_CHUNK];
        if (e->kind == LT_TRACE_SPAN) write_span(c, e, t->id);
        else if (e->kind == LT_TRACE_DEVICE_SPAN) write_device_span(c, e);
        else write_value(c, e, t->id);
    }
}

/* A mark at time zero, so that a viewer shows what the file lacks. */
static void write_dropped(lt_json *j, int64_t dropped)
{
    char text[80];
    snprintf(text, sizeof text, "%lld entries dropped: the buffers were full", (long long)dropped);
    begin_event(j, "i", text, 1, 0);
    lt_json_field_string(j, "s", "g");
    lt_json_object_end(j);
}

static lt_status write_document(FILE *to)
{
    chrome c = { .scale = lt_clock_calibrate() };
    LT_TRY(lt_json_create_file(to, LT_JSON_COMPACT, &c.json));
    int64_t dropped = lt_trace_dropped();
    lt_json_object_begin(c.json);
    lt_json_key(c.json, "traceEvents");
    lt_json_array_begin(c.json);
    write_label(&c, 0, "process_name", "lathe");
    lt_trace_lock();
    c.start_ns = lt_trace_start_ns();
    for (lt_trace_thread *t = NULL; (t = lt_trace_next_thread(t));) write_thread(&c, t);
    lt_trace_unlock();
    if (dropped) write_dropped(c.json, dropped);
    lt_json_array_end(c.json);
    lt_json_field_string(c.json, "displayTimeUnit", "ns");
    lt_json_key(c.json, "otherData");
    lt_json_object_begin(c.json);
    lt_json_field_string(c.json, "lathe", lt_version());
    lt_json_field_int(c.json, "dropped", dropped);
    lt_json_object_end(c.json);
    lt_json_object_end(c.json);
    lt_status s = lt_json_finish(c.json);
    lt_json_destroy(c.json);
    return s;
}

/* The writer of JSON does not know the file. */
static lt_status name_file(lt_status s, const char *path)
{
    char why[LT_ERROR_TEXT_BYTES];
    if (!s) return LT_OK;
    lt_error_reason(why, sizeof why);
    return lt_place_file(LT_FAIL(s, "%s: %s", path, why), path);
}

/* Written beside the target and renamed, as a stream: a timeline may not fit in memory twice. */
lt_status lt_trace_write_chrome(const char *path)
{
    if (!path || !*path) return LT_FAIL(LT_ERR_ARGUMENT, "trace: no path for the Chrome trace");
    lt_atomic_file beside = { .fd = -1 };
    LT_TRY(lt_atomic_open(path, &beside));
    int fd = dup(beside.fd);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    lt_status s = f ? name_file(write_document(f), path) : LT_FAIL(LT_ERR_IO, "trace: cannot write '%s': %s", path, strerror(errno));
    if (f && fclose(f) && !s) s = LT_FAIL(LT_ERR_IO, "trace: writing '%s' failed: %s", path, strerror(errno));
    if (!f && fd >= 0) close(fd);
    if (!s) return lt_atomic_commit(&beside);
    lt_atomic_cancel(&beside);
    return s;
}
