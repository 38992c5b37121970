/* The staging ring: each slot is guarded by an event before it is used again.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/staging.h"

#include "base/alloc.h"
#include "base/status.h"

#include <pthread.h>
#include <string.h>

enum { MAX_SLOTS = 64 };

typedef struct slot { char *memory; lt_event *event; bool busy; } slot;

struct lt_staging {
    lt_device         *dev;
    lt_staging_options opt;
    pthread_mutex_t    lock;
    char              *memory;
    slot               slot[MAX_SLOTS];
    int                next;
    lt_staging_stats   stats;
};

lt_staging_options lt_staging_defaults(void)
{
    return (lt_staging_options){ .slot_bytes = (size_t)4 << 20, .n_slots = 4, .pin_max_bytes = 100000000 };
}

/* Page-locked if it may be and can be; else ordinary memory, which works and is slower. */
static lt_status take_memory(lt_staging *r, size_t bytes)
{
    void *p = NULL;
    if ((int64_t)bytes <= r->opt.pin_max_bytes && r->dev->backend->host_alloc(r->dev, bytes, &p) == LT_OK) {
        r->stats.pinned = true;
        r->memory = p;
        return LT_OK;
    }
    r->stats.pageable_fallbacks++;
    r->memory = lt_malloc_aligned(bytes);
    return r->memory ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "staging: %zu bytes for the ring", bytes);
}

lt_status lt_staging_create(lt_device *dev, const lt_staging_options *opt, lt_staging **out)
{
    *out = NULL;
    lt_staging_options o = opt ? *opt : lt_staging_defaults();
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "staging: the device is NULL");
    if (o.n_slots < 1 || o.n_slots > MAX_SLOTS)
        return LT_FAIL(LT_ERR_ARGUMENT, "staging: n_slots is %d, expected 1 to %d", o.n_slots, MAX_SLOTS);
    if (o.slot_bytes < 64 || o.slot_bytes > (size_t)1 << 40 || o.pin_max_bytes < 0)
        return LT_FAIL(LT_ERR_ARGUMENT, "staging: slot_bytes %zu, pin_max_bytes %lld; expected 64 to 2^40, and 0 or more",
                       o.slot_bytes, (long long)o.pin_max_bytes);
    lt_staging *r = lt_calloc(1, sizeof *r);
    if (!r) return LT_FAIL(LT_ERR_MEMORY, "staging: %zu bytes for the handle", sizeof *r);
    r->dev = dev;
    r->opt = o;
    pthread_mutex_init(&r->lock, NULL);
    lt_status s = take_memory(r, o.slot_bytes * (size_t)o.n_slots);
    for (int i = 0; i < o.n_slots && !s; i++) {
        r->slot[i].memory = r->memory + (size_t)i * o.slot_bytes;
        s = lt_event_create(dev, &r->slot[i].event);
    }
    if (s) { lt_staging_destroy(r); return s; }
    *out = r;
    return LT_OK;
}

void lt_staging_destroy(lt_staging *r)
{
    if (!r) return;
    for (int i = 0; i < r->opt.n_slots; i++) {
        if (r->slot[i].busy) (void)lt_event_sync(r->slot[i].event);
        lt_event_destroy(r->slot[i].event);
    }
    if (r->stats.pinned) (void)r->dev->backend->host_release(r->dev, r->memory);
    else lt_free_aligned(r->memory);
    pthread_mutex_destroy(&r->lock);
    lt_free(r);
}

/* The next slot in turn, its last transfer done. */
static lt_status take_slot(lt_staging *r, slot **out)
{
    slot *s = &r->slot[r->next];
    if (s->busy) {
        bool done = false;
        LT_TRY(lt_event_query(s->event, &done));
        if (!done) {
            r->stats.waits++;
            LT_TRY(lt_event_sync(s->event));
        }
        s->busy = false;
    }
    r->next = (r->next + 1) % r->opt.n_slots;
    *out = s;
    return LT_OK;
}

static lt_status send(lt_staging *r, lt_stream *st, slot *s, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    LT_TRY(lt_stream_copy(st, dst, src, bytes, dir, r->stats.pinned));
    LT_TRY(lt_event_record(s->event, st));
    s->busy = true;
    r->stats.transfers++;
    return LT_OK;
}

static lt_status upload(lt_staging *r, lt_stream *st, char *dst, const char *src, size_t bytes)
{
    while (bytes) {
        slot *s;
        size_t part = LT_MIN(bytes, r->opt.slot_bytes);
        LT_TRY(take_slot(r, &s));
        memcpy(s->memory, src, part);
        LT_TRY(send(r, st, s, dst, s->memory, part, LT_TRANSFER_H2D));
        r->stats.bytes_up += (int64_t)part;
        dst += part;
        src += part;
        bytes -= part;
    }
    return LT_OK;
}

/* As many parts in flight as there are slots; the oldest is copied out while the rest travel. */
static lt_status download(lt_staging *r, lt_stream *st, char *dst, const char *src, size_t bytes)
{
    size_t asked = 0, got = 0;
    slot *flying[MAX_SLOTS] = { NULL };
    int64_t first = 0, last = 0;
    while (got < bytes) {
        while (asked < bytes && last - first < r->opt.n_slots) {
            slot *s = NULL;
            size_t part = LT_MIN(bytes - asked, r->opt.slot_bytes);
            LT_TRY(take_slot(r, &s));
            LT_TRY(send(r, st, s, s->memory, src + asked, part, LT_TRANSFER_D2H));
            flying[last++ % r->opt.n_slots] = s;
            asked += part;
        }
        slot *s = flying[first++ % r->opt.n_slots];
        size_t part = LT_MIN(bytes - got, r->opt.slot_bytes);
        LT_TRY(lt_event_sync(s->event));
        s->busy = false;
        memcpy(dst + got, s->memory, part);
        r->stats.bytes_down += (int64_t)part;
        got += part;
    }
    return LT_OK;
}

static lt_status check(const lt_staging *r, const lt_stream *st, const void *dst, const void *src, size_t bytes)
{
    if (!r || !st || (bytes && (!dst || !src))) return LT_FAIL(LT_ERR_ARGUMENT, "staging: ring, stream or address is NULL");
    if (st->dev != r->dev) return LT_FAIL(LT_ERR_ARGUMENT, "staging: ring of %s, stream of %s", r->dev->id, st->dev->id);
    if (st->capturing) return LT_FAIL(LT_ERR_ARGUMENT, "staging: not allowed while the stream captures");
    return LT_OK;
}

lt_status lt_staging_upload(lt_staging *r, lt_stream *st, void *dst, const void *src, size_t bytes)
{
    LT_TRY(check(r, st, dst, src, bytes));
    pthread_mutex_lock(&r->lock);
    lt_status s = upload(r, st, dst, src, bytes);
    pthread_mutex_unlock(&r->lock);
    return s;
}

lt_status lt_staging_download(lt_staging *r, lt_stream *st, void *dst, const void *src, size_t bytes)
{
    LT_TRY(check(r, st, dst, src, bytes));
    pthread_mutex_lock(&r->lock);
    lt_status s = download(r, st, dst, src, bytes);
    pthread_mutex_unlock(&r->lock);
    return s;
}

lt_staging_stats lt_staging_read(lt_staging *r)
{
    pthread_mutex_lock(&r->lock);
    lt_staging_stats s = r->stats;
    pthread_mutex_unlock(&r->lock);
    return s;
}
