/* Running rollouts on a device: sequences queued ahead, states shown on the host as they arrive.
   SPDX-License-Identifier: BSD-3-Clause

   Chunk 0 is X_0; chunk c > 0 holds the states of t = 1 + (c - 1) k and the k - 1 behind it, in one half of the
   ring. While the device fills one half, the other is copied to the host on a stream of its own (decision 75). */
#include "operators/rollout/device/parts.h"

#include "base/callback.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

typedef struct chunk { int64_t t, n, half, first; } chunk; /* first step and number of them; the first of them in the ring */

static chunk chunk_at(const lt_device_rollout *e, int64_t c)
{
    int64_t half = (c - 1) & 1;
    if (e->opt.steps == 1) return (chunk){ 0, 1, 0, 0 }; /* snapshot: the operator on the field */
    if (c == 0) return (chunk){ 0, 1, 1, 2 * e->k - 1 };
    int64_t t = 1 + (c - 1) * e->k;
    return (chunk){ t, LT_MIN(e->k, e->opt.steps - t), half, half * e->k };
}

static lt_host_ring *ring_of(lt_device_rollout *e) { return e->stay ? &e->stays : &e->states; }
static lt_ring_slot *slot_of(lt_device_rollout *e, int64_t c) { return lt_host_ring_slot(ring_of(e), c); }
/* The end of a slot of states. */
static int64_t *failed_of(const lt_device_rollout *e, const lt_ring_slot *s) { return (int64_t *)(void *)((char *)s->at + e->states.slot_bytes) - e->job.realizations; }

/* ---- On the device ---- */

static lt_status begin(lt_device_rollout *e, const float *field)
{
    size_t bytes = (size_t)e->job.field * sizeof *field;
    const int64_t *zero = e->steps + e->k;
    float *first = lt_ring_state(e, 2 * e->k - 1);
    memcpy(e->host_field, field, bytes);
    LT_TRY(lt_stream_copy(e->stream, e->field, e->host_field, bytes, LT_TRANSFER_H2D, e->host.pinned));
    LT_TRY(lt_stream_launch(e->stream, &(lt_launch){ e->kernels.begin, (void *[]){ e->device_job, e->field, first, e->failed, e->steps } }));
    if (e->has_reader && e->reader.begin) LT_TRY(e->reader.begin(e->reader.ctx, e->stream));
    if (e->opt.steps == 1) {
        LT_TRY(lt_device_rollout_step(e, first, lt_ring_state(e, 0), zero));
        return lt_device_rollout_show(e, 0, 1, zero);
    }
    LT_TRY(lt_stream_launch(e->stream, &(lt_launch){ e->kernels.settle, (void *[]){ e->device_job, (void *)(uintptr_t)zero, first, e->failed } }));
    return lt_device_rollout_show(e, 2 * e->k - 1, 1, zero);
}

static lt_status compute(lt_device_rollout *e, const chunk *c)
{
    if (c->n == e->k && lt_recording_is_made(&e->sequence[c->half])) return lt_recording_replay(&e->sequence[c->half], e->stream);
    for (int64_t i = 0; i < c->n; i++)
        LT_TRY(lt_device_rollout_step(e, lt_ring_state(e, (c->first + i + 2 * e->k - 1) % (2 * e->k)), lt_ring_state(e, c->first + i), e->steps + i));
    LT_TRY(lt_device_rollout_show(e, c->first, c->n, e->steps));
    return lt_stream_launch(e->stream, &(lt_launch){ e->kernels.advance, (void *[]){ e->device_job, e->steps } });
}

/* States of a chunk to its slot, and what the reader has of them. One realization: only that one travels. */
static lt_status copy_to_host(lt_device_rollout *e, const chunk *c, const lt_ring_slot *s)
{
    bool reader_copies = e->has_reader && e->reader.copy;
    if (e->stay && !reader_copies) return lt_event_record(s->ended, e->stream);
    size_t one = (size_t)e->job.field * sizeof(float), bytes = (size_t)e->n * one;
    LT_TRY(lt_event_record(e->computed, e->stream));
    LT_TRY(lt_event_wait(e->copies, e->computed));
    if (reader_copies) LT_TRY(e->reader.copy(e->reader.ctx, e->copies, c->t, c->n));
    if (e->stay) return lt_event_record(s->ended, e->copies);
    for (int64_t i = 0; i < c->n; i++)
        LT_TRY(lt_stream_copy(e->copies, (char *)s->at + (size_t)i * bytes, (char *)lt_ring_state(e, c->first + i) + (size_t)e->first * one, bytes,
                              LT_TRANSFER_D2H, e->states.memory.pinned));
    LT_TRY(lt_stream_copy(e->copies, failed_of(e, s), e->failed, (size_t)e->job.realizations * sizeof *e->failed, LT_TRANSFER_D2H, e->states.memory.pinned));
    return lt_event_record(s->ended, e->copies);
}

static lt_status queue_chunk(lt_device_rollout *e)
{
    int64_t number = e->queued;
    chunk c = chunk_at(e, number);
    /* The half is free once the chunk before the last one has left it. */
    if (e->sink && !e->stay && number >= 2) LT_TRY(lt_event_wait(e->stream, slot_of(e, number - 2)->ended));
    if (number > 0) LT_TRY(compute(e, &c));
    if (e->sink) LT_TRY(copy_to_host(e, &c, slot_of(e, number)));
    e->queued++;
    return LT_OK;
}

static lt_status end(lt_device_rollout *e)
{
    if (e->has_reader && e->reader.end) LT_TRY(e->reader.end(e->reader.ctx, e->stream));
    LT_TRY(lt_stream_copy(e->stream, e->host_failed, e->failed, (size_t)e->job.realizations * sizeof *e->failed, LT_TRANSFER_D2H, e->host.pinned));
    return lt_event_record(e->done, e->stream);
}

/* As far as slots are free; without a sink all of it. */
static lt_status queue_ahead(lt_device_rollout *e)
{
    while (e->queued < e->n_chunks && (!e->sink || e->queued - e->shown_chunks < ring_of(e)->n_slots)) {
        LT_TRY(queue_chunk(e));
        if (e->queued == e->n_chunks) LT_TRY(end(e));
    }
    return LT_OK;
}

/* ---- On the host ---- */

/* The device is ahead: failures of later steps are not shown yet. */
static lt_status show(lt_device_rollout *e, int64_t t, const lt_ring_slot *s, int64_t number)
{
    if (e->stay) return lt_callback_status("rollout: the sink", e->sink(e->sink_ctx, t, NULL, NULL));
    const int64_t *failed = failed_of(e, s);
    for (int64_t i = 0; i < e->n; i++) e->shown[i] = failed[e->first + i] <= t ? failed[e->first + i] : -1;
    return lt_callback_status("rollout: the sink", e->sink(e->sink_ctx, t, (const float *)s->at + number * e->n * e->job.field, e->shown));
}

static lt_status show_chunk(lt_device_rollout *e)
{
    chunk c = chunk_at(e, e->shown_chunks);
    const lt_ring_slot *s = slot_of(e, e->shown_chunks);
    lt_span span = lt_span_begin("rollout steps");
    lt_status status = lt_event_sync(s->ended);
    for (int64_t i = 0; i < c.n && !status; i++) status = show(e, c.t + i, s, i);
    lt_span_end(span);
    e->shown_chunks++;
    return status;
}

/* After a failure: what is queued still writes to memory of this run. Its text stays. */
static void let_settle(lt_device_rollout *e)
{
    char text[LT_ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "%s", lt_error_text());
    (void)lt_stream_sync(e->stream);
    (void)lt_stream_sync(e->copies);
    lt_error_set(text);
}

lt_status lt_device_rollout_start(lt_device_rollout *e, const float *field, int64_t realization, lt_rollout_sink sink, void *ctx)
{
    int64_t steps = e->opt.steps;
    e->sink = sink;
    e->sink_ctx = ctx;
    e->first = LT_MAX(realization, 0);
    e->n = realization < 0 ? e->opt.realizations : 1;
    e->queued = e->shown_chunks = 0;
    e->n_chunks = 1 + (steps > 1 ? (steps - 1 + e->k - 1) / e->k : 0);
    e->begin_ns = lt_clock_ns();
    lt_status s = lt_event_record(e->begun, e->stream);
    if (!s) s = begin(e, field);
    if (!s) s = queue_ahead(e);
    if (s) let_settle(e);
    return s;
}

static lt_status finish(lt_device_rollout *e)
{
    while (e->sink && e->shown_chunks < e->n_chunks) {
        LT_TRY(show_chunk(e));
        LT_TRY(queue_ahead(e));
    }
    return lt_event_sync(e->done);
}

lt_status lt_device_rollout_wait(lt_device_rollout *e, lt_rollout_result *out)
{
    lt_status s = finish(e);
    if (s) {
        let_settle(e);
        return s;
    }
    double ns = 0;
    LT_TRY(lt_event_elapsed(e->begun, e->done, &ns));
    *out = (lt_rollout_result){ sizeof *out, LT_RUN_DONE, e->opt.steps - 1, lt_seconds_since(e->begin_ns), 1e-9 * ns };
    for (int64_t i = e->first; i < e->first + e->n; i++) {
        if (e->host_failed[i] < 0) continue;
        out->status = LT_RUN_NON_FINITE;
        out->step = LT_MIN(out->step, e->host_failed[i]);
    }
    return LT_OK;
}
