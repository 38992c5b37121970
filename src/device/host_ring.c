/* Rings of host memory: each slot is guarded by an event before it is used again.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_ring.h"

#include "base/status.h"

#include <string.h>

static lt_status check_options(const lt_device *dev, const lt_ring_options *o)
{
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "ring: the device is NULL");
    if (o->n_slots < 1 || o->n_slots > LT_RING_MAX_SLOTS)
        return LT_FAIL(LT_ERR_ARGUMENT, "ring: %d slots, expected 1 to %d", o->n_slots, LT_RING_MAX_SLOTS);
    if (o->slot_bytes > (size_t)1 << 40) return LT_FAIL(LT_ERR_ARGUMENT, "ring: slots of %zu bytes, expected at most 2^40", o->slot_bytes);
    return LT_OK;
}

static lt_status make(lt_host_ring *r, const lt_ring_options *o)
{
    if (r->slot_bytes) LT_TRY(lt_host_memory_create(r->dev, r->slot_bytes * (size_t)r->n_slots, o->pin_limit, &r->memory));
    for (int i = 0; i < r->n_slots; i++) {
        lt_ring_slot *s = &r->slot[i];
        if (r->slot_bytes) s->at = (char *)r->memory.at + (size_t)i * r->slot_bytes;
        if (o->timed) LT_TRY(lt_event_create(r->dev, &s->begun));
        LT_TRY(lt_event_create(r->dev, &s->ended));
    }
    return LT_OK;
}

lt_status lt_host_ring_open(lt_device *dev, const lt_ring_options *opt, lt_host_ring *out)
{
    *out = (lt_host_ring){ 0 };
    LT_TRY(check_options(dev, opt));
    out->dev = dev;
    out->slot_bytes = opt->slot_bytes;
    out->n_slots = opt->n_slots;
    lt_status s = make(out, opt);
    if (s) lt_host_ring_close(out);
    return s;
}

void lt_host_ring_close(lt_host_ring *r)
{
    for (int i = 0; i < r->n_slots; i++) {
        if (r->slot[i].busy) (void)lt_event_sync(r->slot[i].ended);
        lt_event_destroy(r->slot[i].begun);
        lt_event_destroy(r->slot[i].ended);
    }
    lt_host_memory_release(&r->memory);
    *r = (lt_host_ring){ 0 };
}

/* ---- Slot by slot ------------------------------------------------------------------------------- */
lt_status lt_host_ring_wait(lt_host_ring *r, lt_ring_slot *s)
{
    double ns;
    if (!s->busy) return LT_OK;
    s->busy = false;
    LT_TRY(lt_event_sync(s->ended));
    if (!s->begun) return LT_OK;
    LT_TRY(lt_event_elapsed(s->begun, s->ended, &ns));
    r->copy_ns += ns;
    return LT_OK;
}

lt_status lt_host_ring_take(lt_host_ring *r, lt_ring_slot **out)
{
    lt_ring_slot *s = lt_host_ring_slot(r, r->next++);
    *out = s;
    return lt_host_ring_wait(r, s);
}

static lt_status copy(lt_host_ring *r, lt_ring_slot *s, lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    if (bytes > r->slot_bytes) return LT_FAIL(LT_ERR_INTERNAL, "ring: %zu bytes, a slot has %zu", bytes, r->slot_bytes);
    if (s->begun) LT_TRY(lt_event_record(s->begun, st));
    LT_TRY(lt_stream_copy(st, dst, src, bytes, dir, r->memory.pinned));
    LT_TRY(lt_event_record(s->ended, st));
    s->busy = true;
    return LT_OK;
}

lt_status lt_host_ring_send(lt_host_ring *r, lt_ring_slot *s, lt_stream *st, void *dst, size_t bytes)
{
    return copy(r, s, st, dst, s->at, bytes, LT_TRANSFER_H2D);
}

lt_status lt_host_ring_fetch(lt_host_ring *r, lt_ring_slot *s, lt_stream *st, const void *src, size_t bytes)
{
    return copy(r, s, st, s->at, src, bytes, LT_TRANSFER_D2H);
}

/* ---- Whole arrays ------------------------------------------------------------------------------- */
static lt_status check_array(const lt_host_ring *r, const lt_stream *st, const void *dst, const void *src, size_t bytes)
{
    if (!st || (bytes && (!dst || !src || !r->slot_bytes))) return LT_FAIL(LT_ERR_ARGUMENT, "ring: stream, address or memory is NULL");
    if (st->dev != r->dev) return LT_FAIL(LT_ERR_ARGUMENT, "ring: of %s, stream of %s", r->dev ? r->dev->id : "no device", st->dev->id);
    if (st->capturing) return LT_FAIL(LT_ERR_ARGUMENT, "ring: not allowed while the stream captures");
    return LT_OK;
}

lt_status lt_host_ring_upload(lt_host_ring *r, lt_stream *st, void *dst, const void *src, size_t bytes)
{
    LT_TRY(check_array(r, st, dst, src, bytes));
    for (size_t done = 0, part; done < bytes; done += part) {
        lt_ring_slot *s;
        part = LT_MIN(bytes - done, r->slot_bytes);
        LT_TRY(lt_host_ring_take(r, &s));
        memcpy(s->at, (const char *)src + done, part);
        LT_TRY(lt_host_ring_send(r, s, st, (char *)dst + done, part));
    }
    return LT_OK;
}

/* As many parts are under way as there are slots; the oldest is copied out while the others travel. */
lt_status lt_host_ring_download(lt_host_ring *r, lt_stream *st, void *dst, const void *src, size_t bytes)
{
    LT_TRY(check_array(r, st, dst, src, bytes));
    size_t asked = 0;
    int64_t oldest = r->next;
    for (size_t got = 0, part; got < bytes; got += part) {
        for (lt_ring_slot *s; asked < bytes && r->next - oldest < r->n_slots; asked += part) {
            part = LT_MIN(bytes - asked, r->slot_bytes);
            LT_TRY(lt_host_ring_take(r, &s));
            LT_TRY(lt_host_ring_fetch(r, s, st, (const char *)src + asked, part));
        }
        lt_ring_slot *s = lt_host_ring_slot(r, oldest++);
        part = LT_MIN(bytes - got, r->slot_bytes);
        LT_TRY(lt_host_ring_wait(r, s));
        memcpy((char *)dst + got, s->at, part);
    }
    return LT_OK;
}
