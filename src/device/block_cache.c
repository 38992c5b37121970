/* The caching allocator: segments cut into blocks, free blocks in bins by size.
   SPDX-License-Identifier: BSD-3-Clause

   Sizes are rounded to a grain. Small requests share segments of 2 MiB, so that a long-lived
   scalar never pins a large segment; large ones get segments of their own size, cut when a
   smaller request reuses them and joined again when the pieces are free. */
#include "device/block_cache.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define GRAIN         ((size_t)512)
#define SMALL_LIMIT   ((size_t)1 << 20)
#define SMALL_SEGMENT ((size_t)2 << 20)
#define LARGE_ROUND   ((size_t)2 << 20)
enum { BINS = 64, BUCKETS = 1024, MAX_OWNERS = 64 };

typedef struct block {
    struct block *before, *after;      /* neighbours by address, in the same segment */
    struct block *bin_prev, *bin_next; /* free blocks of one size class */
    struct block *hash_next;           /* used blocks, by address */
    struct block *segment_next;        /* first blocks of segments */
    char      *address;
    size_t     bytes;
    lt_stream *stream;                 /* of its last use; NULL: no work pending */
    int        owner;
    bool       used, small, in_bin;
} block;

struct lt_block_cache {
    lt_device      *dev;
    pthread_mutex_t lock;
    lt_event       *event;             /* made when memory first moves between streams */
    block          *bin[2][BINS];      /* large, small */
    block          *bucket[BUCKETS];
    block          *segments;
    lt_memory_stats stats;
    int             n_owners;
    lt_block_cache_owner  owner[MAX_OWNERS]; /* the last one takes all that do not fit */
};

/* ---- Bins and the table of used blocks ---------------------------------------------- */
static int bin_of(size_t bytes) { return 63 - __builtin_clzll((unsigned long long)bytes); }

static void bin_add(lt_block_cache *c, block *b)
{
    block **head = &c->bin[b->small][bin_of(b->bytes)];
    b->bin_prev = NULL;
    b->bin_next = *head;
    if (*head) (*head)->bin_prev = b;
    *head = b;
    b->in_bin = true;
}

static void bin_remove(lt_block_cache *c, block *b)
{
    if (b->bin_prev) b->bin_prev->bin_next = b->bin_next;
    else c->bin[b->small][bin_of(b->bytes)] = b->bin_next;
    if (b->bin_next) b->bin_next->bin_prev = b->bin_prev;
    b->in_bin = false;
}

static block **bucket_of(lt_block_cache *c, const void *address)
{
    return &c->bucket[((uintptr_t)address / GRAIN * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static block *table_remove(lt_block_cache *c, const void *address)
{
    for (block **at = bucket_of(c, address); *at; at = &(*at)->hash_next)
        if ((*at)->address == address) {
            block *b = *at;
            *at = b->hash_next;
            return b;
        }
    return NULL;
}

/* ---- Owners --------------------------------------------------------------------------- */
static int find_owner(lt_block_cache *c, const char *name)
{
    if (!name || !*name) name = "(unnamed)";
    for (int i = 0; i < c->n_owners; i++)
        if (strncmp(c->owner[i].name, name, sizeof c->owner[i].name - 1) == 0) return i;
    if (c->n_owners == MAX_OWNERS) return MAX_OWNERS - 1;
    lt_block_cache_owner *o = &c->owner[c->n_owners++];
    snprintf(o->name, sizeof o->name, "%s", c->n_owners == MAX_OWNERS ? "(others)" : name);
    return c->n_owners - 1;
}

static int owners_by_use(const lt_block_cache *c, lt_block_cache_owner *out, int max)
{
    int n = 0;
    for (int i = 0; i < c->n_owners; i++) {
        int at = LT_MIN(n, max);
        while (at > 0 && out[at - 1].in_use_bytes < c->owner[i].in_use_bytes) {
            if (at < max) out[at] = out[at - 1];
            at--;
        }
        if (at < max) out[at] = c->owner[i];
        n++;
    }
    return n;
}

/* ---- Cutting and joining ---------------------------------------------------------------- */
/* Keeps the first `bytes` of b and puts the rest into the bins. Without memory for the rest's
   record b simply stays larger than asked. */
static void cut(lt_block_cache *c, block *b, size_t bytes)
{
    size_t least = b->small ? GRAIN : SMALL_LIMIT;
    if (b->bytes - bytes < least) return;
    block *rest = lt_calloc(1, sizeof *rest);
    if (!rest) return;
    rest->address = b->address + bytes;
    rest->bytes = b->bytes - bytes;
    rest->small = b->small;
    rest->stream = b->stream;
    rest->before = b;
    rest->after = b->after;
    if (b->after) b->after->before = rest;
    b->after = rest;
    b->bytes = bytes;
    bin_add(c, rest);
    c->stats.splits++;
}

static bool may_join(const block *a, const block *b)
{
    return a && b && !a->used && !b->used && (!a->stream || !b->stream || a->stream == b->stream);
}

/* Joins b, which is in no bin, with its free neighbours, which are; returns the whole, in none. */
static block *join(lt_block_cache *c, block *b)
{
    if (may_join(b->before, b)) {
        b = b->before;
        bin_remove(c, b);
    }
    while (may_join(b, b->after)) {
        block *gone = b->after;
        if (gone->in_bin) bin_remove(c, gone);
        b->bytes += gone->bytes;
        if (!b->stream) b->stream = gone->stream;
        b->after = gone->after;
        if (gone->after) gone->after->before = b;
        lt_free(gone);
        c->stats.merges++;
    }
    return b;
}

/* ---- Finding memory ----------------------------------------------------------------------- */
/* The smallest free block that fits, of st's own or unclaimed memory, or of other streams'. */
static block *find_block(lt_block_cache *c, const lt_stream *st, size_t bytes, bool small, bool others)
{
    for (int i = bin_of(bytes); i < BINS; i++) {
        block *best = NULL;
        for (block *b = c->bin[small][i]; b; b = b->bin_next) {
            bool own = !b->stream || b->stream == st;
            if (b->bytes >= bytes && own != others && (!best || b->bytes < best->bytes)) best = b;
        }
        if (best) return best;
    }
    return NULL;
}

/* Lets st use memory whose last work is on another stream. */
static lt_status wait_for_stream(lt_block_cache *c, lt_stream *from, lt_stream *st)
{
    const lt_backend *be = c->dev->backend;
    if (!c->event) LT_TRY(be->event_create(c->dev, &c->event));
    LT_TRY(be->event_record(c->event, from));
    LT_TRY(be->event_wait(st, c->event));
    c->stats.stream_waits++;
    return LT_OK;
}

size_t lt_block_cache_segment_bytes(size_t bytes)
{
    return bytes <= SMALL_LIMIT ? SMALL_SEGMENT : (bytes + LARGE_ROUND - 1) / LARGE_ROUND * LARGE_ROUND;
}

static lt_status add_segment(lt_block_cache *c, size_t bytes, bool small, block **out)
{
    size_t take = lt_block_cache_segment_bytes(bytes);
    lt_memory_stats *s = &c->stats;
    *out = NULL;
    if (s->limit_bytes && (take > (size_t)s->limit_bytes || s->reserved_bytes > s->limit_bytes - (int64_t)take)) {
        take = bytes;                      /* near the limit, no more than is needed */
        if (take > (size_t)s->limit_bytes || s->reserved_bytes > s->limit_bytes - (int64_t)take)
            return LT_FAIL(LT_ERR_MEMORY, "the limit of %lld bytes is reached", (long long)s->limit_bytes);
    }
    block *b = lt_calloc(1, sizeof *b);
    if (!b) return LT_FAIL(LT_ERR_MEMORY, "%zu bytes for a record of memory", sizeof *b);
    void *address;
    lt_status st = c->dev->backend->alloc(c->dev, take, &address);
    if (st) { lt_free(b); return st; }
    b->address = address;
    b->bytes = take;
    b->small = small;
    b->segment_next = c->segments;
    c->segments = b;
    s->reserved_bytes += (int64_t)take;
    s->peak_reserved_bytes = LT_MAX(s->peak_reserved_bytes, s->reserved_bytes);
    s->misses++;
    *out = b;
    return LT_OK;
}

/* Under the lock. Gives back the segments that are one free block. */
static lt_status trim(lt_block_cache *c)
{
    lt_status first = LT_OK;
    for (block **at = &c->segments; *at;) {
        block *b = *at;
        if (b->used || b->after || (b->stream && b->stream->capturing)) { at = &b->segment_next; continue; }
        lt_status s = b->stream ? c->dev->backend->sync(b->stream) : LT_OK;
        if (!first) first = s;
        *at = b->segment_next;
        bin_remove(c, b);
        s = c->dev->backend->release(c->dev, b->address);
        if (!first) first = s;
        c->stats.reserved_bytes -= (int64_t)b->bytes;
        lt_free(b);
    }
    return first;
}

typedef struct size_text { char s[24]; } size_text;
static size_text in_mib(int64_t bytes)
{
    size_text t;
    snprintf(t.s, sizeof t.s, bytes < 10485760 ? "%.3f MiB" : "%.0f MiB", (double)bytes / 1048576);
    return t;
}

static lt_status out_of_memory(lt_block_cache *c, size_t bytes, const char *owner)
{
    const lt_memory_stats *s = &c->stats;
    lt_block_cache_owner top[3];
    int n = LT_MIN(owners_by_use(c, top, 3), 3);
    char holders[200] = "", limit[64] = "no limit set";
    size_t used = 0;
    for (int i = 0; i < n && top[i].in_use_bytes > 0; i++)
        used += (size_t)snprintf(holders + used, sizeof holders - used, "%s%s %s", i ? ", " : "; largest: ",
                                 top[i].name, in_mib(top[i].in_use_bytes).s);
    if (s->limit_bytes) snprintf(limit, sizeof limit, "limit %s", in_mib(s->limit_bytes).s);
    char why[240];
    lt_error_reason(why, sizeof why);
    return LT_FAIL(LT_ERR_MEMORY, "'%s' asks %s for %s (%zu bytes): %s in use, %s reserved, %s%s; use smaller tiles or "
                   "batches, close other users of the device, or raise the limit (%s)", owner && *owner ? owner : "(unnamed)",
                   c->dev->id, in_mib((int64_t)LT_MIN(bytes, (size_t)INT64_MAX)).s, bytes, in_mib(s->in_use_bytes).s,
                   in_mib(s->reserved_bytes).s, limit, holders, why);
}

/* Own free memory, then the device, then other streams' free memory, then what trimming frees. */
static lt_status obtain(lt_block_cache *c, lt_stream *st, size_t bytes, bool small, const char *owner, block **out)
{
    block *b = find_block(c, st, bytes, small, false);
    if (b) {
        c->stats.hits++;
        bin_remove(c, b);
        *out = b;
        return LT_OK;
    }
    lt_status first = add_segment(c, bytes, small, out);
    if (first != LT_ERR_MEMORY) return first; /* done, or a fault that no memory of ours mends */
    b = find_block(c, st, bytes, small, true);
    if (b && !st->capturing && !b->stream->capturing) {
        LT_TRY(wait_for_stream(c, b->stream, st));
        c->stats.hits++;
        bin_remove(c, b);
        *out = b;
        return LT_OK;
    }
    LT_TRY(trim(c));
    lt_status again = add_segment(c, bytes, small, out);
    return again == LT_ERR_MEMORY ? out_of_memory(c, bytes, owner) : again;
}

/* ---- What others call --------------------------------------------------------------------- */
lt_status lt_block_cache_alloc(lt_block_cache *c, lt_stream *st, size_t bytes, const char *owner, void **out)
{
    *out = NULL;
    size_t round = bytes > SIZE_MAX / 4 ? 0 : LT_MAX((bytes + GRAIN - 1) / GRAIN * GRAIN, GRAIN);
    pthread_mutex_lock(&c->lock);
    block *b = NULL;
    bool small = round <= SMALL_LIMIT;
    lt_status s = round ? obtain(c, st, round, small, owner, &b) : out_of_memory(c, bytes, owner);
    if (!s) {
        cut(c, b, round);
        b->stream = st;
        b->used = true;
        b->owner = find_owner(c, owner);
        block **bucket = bucket_of(c, b->address);
        b->hash_next = *bucket;
        *bucket = b;
        lt_block_cache_owner *o = &c->owner[b->owner];
        o->in_use_bytes += (int64_t)b->bytes;
        o->peak_bytes = LT_MAX(o->peak_bytes, o->in_use_bytes);
        c->stats.allocs++;
        c->stats.in_use_bytes += (int64_t)b->bytes;
        c->stats.peak_in_use_bytes = LT_MAX(c->stats.peak_in_use_bytes, c->stats.in_use_bytes);
        lt_trace_memory(o->name, (int64_t)b->bytes);
        *out = b->address;
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

lt_status lt_block_cache_free(lt_block_cache *c, lt_stream *st, void *address)
{
    if (!address) return LT_OK;
    pthread_mutex_lock(&c->lock);
    block *b = table_remove(c, address);
    if (b) {
        lt_block_cache_owner *o = &c->owner[b->owner];
        o->in_use_bytes -= (int64_t)b->bytes;
        c->stats.frees++;
        c->stats.in_use_bytes -= (int64_t)b->bytes;
        lt_trace_memory(o->name, -(int64_t)b->bytes);
        b->used = false;
        b->stream = st;
        bin_add(c, join(c, b));
    }
    pthread_mutex_unlock(&c->lock);
    return b ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "free of %p: not memory in use on %s (freed twice?)", address, c->dev->id);
}

/* A block that lost its stream may now join neighbours it could not join before. */
void lt_block_cache_forget_stream(lt_block_cache *c, const lt_stream *st)
{
    pthread_mutex_lock(&c->lock);
    for (block *first = c->segments; first; first = first->segment_next)
        for (block *b = first; b; b = b->after)
            if (b->stream == st) b->stream = NULL;
    for (block *first = c->segments; first; first = first->segment_next)
        for (block *b = first; b; b = b->after)
            if (may_join(b, b->after)) {
                bin_remove(c, b);
                bin_add(c, b = join(c, b));
            }
    pthread_mutex_unlock(&c->lock);
}

lt_status lt_block_cache_trim(lt_block_cache *c)
{
    pthread_mutex_lock(&c->lock);
    lt_status s = trim(c);
    pthread_mutex_unlock(&c->lock);
    return s;
}

void lt_block_cache_limit(lt_block_cache *c, int64_t limit_bytes)
{
    pthread_mutex_lock(&c->lock);
    c->stats.limit_bytes = limit_bytes;
    pthread_mutex_unlock(&c->lock);
}

void lt_block_cache_stats(lt_block_cache *c, lt_memory_stats *out)
{
    pthread_mutex_lock(&c->lock);
    *out = c->stats;
    pthread_mutex_unlock(&c->lock);
}

int lt_block_cache_owners(lt_block_cache *c, lt_block_cache_owner *out, int max)
{
    pthread_mutex_lock(&c->lock);
    int n = owners_by_use(c, out, max);
    pthread_mutex_unlock(&c->lock);
    return n;
}

lt_status lt_block_cache_create(lt_device *dev, lt_block_cache **out)
{
    *out = NULL;
    lt_block_cache *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_FAIL(LT_ERR_MEMORY, "cache: %zu bytes for the handle", sizeof *c);
    c->dev = dev;
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return LT_OK;
}

void lt_block_cache_destroy(lt_block_cache *c)
{
    if (!c) return;
    while (c->segments) {
        block *first = c->segments;
        c->segments = first->segment_next;
        c->dev->backend->release(c->dev, first->address);
        for (block *b = first, *after; b; b = after) {
            after = b->after;
            lt_free(b);
        }
    }
    if (c->event) c->dev->backend->event_destroy(c->event);
    pthread_mutex_destroy(&c->lock);
    lt_free(c);
}
