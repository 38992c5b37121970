/* Page-locked memory of the CUDA device. SPDX-License-Identifier: BSD-3-Clause

   Locking pages takes half a millisecond a megabyte, and unlocking them waits for everything the device has been
   given: what is released is kept for the next who asks. */
#include "device/cuda/cuda.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>

#define MOST_KEPT_BYTES ((size_t)512 << 20)

typedef struct lt_cuda_pinned {
    struct lt_cuda_pinned *next;
    void  *address;
    size_t bytes;
    bool   used;
} pinned;

/* Sizes that are nearly alike become one, so that they serve each other: an eighth at most is not used. */
static size_t rounded(size_t bytes)
{
    size_t grain = 4096;
    while (grain * 16 <= bytes) grain *= 2;
    return (LT_MAX(bytes, 1) + grain - 1) / grain * grain;
}

/* The rest with the lock held. */
static pinned *find_kept(lt_cuda *c, size_t bytes)
{
    pinned *best = NULL;
    for (pinned *p = c->pinned; p; p = p->next)
        if (!p->used && p->bytes >= bytes && p->bytes <= 2 * bytes && (!best || p->bytes < best->bytes)) best = p;
    return best;
}

static size_t kept_bytes(const lt_cuda *c)
{
    size_t bytes = 0;
    for (const pinned *p = c->pinned; p; p = p->next) bytes += p->used ? 0 : p->bytes;
    return bytes;
}

static pinned *take_out(lt_cuda *c, const void *address)
{
    pinned **at = &c->pinned;
    while (*at && (*at)->address != address) at = &(*at)->next;
    pinned *p = *at;
    if (p) *at = p->next;
    return p;
}

static void put_in(lt_cuda *c, pinned *p)
{
    p->next = c->pinned;
    c->pinned = p;
}

static pinned *take_out_unused(lt_cuda *c)
{
    pinned *p = c->pinned;
    while (p && p->used) p = p->next;
    return p ? take_out(c, p->address) : NULL;
}

/* ---- Asking and releasing ---- */
static lt_status lock_pages(lt_cuda *c, size_t bytes, pinned **out)
{
    char what[64];
    pinned *p = lt_calloc(1, sizeof *p);
    if (!p) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory", c->dev->id);
    *p = (pinned){ .bytes = bytes, .used = true };
    unsigned r = c->cu->cuMemHostAlloc(&p->address, bytes, LT_CU_HOST_ALLOC_PORTABLE);
    if (r) {
        lt_free(p);
        snprintf(what, sizeof what, "page-locking %zu bytes", bytes);
        return lt_cuda_fail(c, r, what, __FILE__, __LINE__);
    }
    *out = p;
    return LT_OK;
}

static void give_kept_back(lt_cuda *c)
{
    for (pinned *p;; lt_free(p)) {
        pthread_mutex_lock(&c->lock);
        p = take_out_unused(c);
        pthread_mutex_unlock(&c->lock);
        if (!p) return;
        (void)c->cu->cuMemFreeHost(p->address);
    }
}

lt_status lt_cuda_host_alloc(lt_device *dev, size_t bytes, void **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    LT_TRY(lt_cuda_enter(c));
    bytes = rounded(bytes);
    pthread_mutex_lock(&c->lock);
    pinned *p = find_kept(c, bytes);
    if (p) p->used = true;
    pthread_mutex_unlock(&c->lock);
    if (!p) {
        if (lock_pages(c, bytes, &p)) { /* perhaps there is room without what is kept */
            give_kept_back(c);
            LT_TRY(lock_pages(c, bytes, &p));
        }
        pthread_mutex_lock(&c->lock);
        put_in(c, p);
        pthread_mutex_unlock(&c->lock);
    }
    *out = p->address;
    return LT_OK;
}

/* Page-locked memory outlives a lost device. */
lt_status lt_cuda_host_release(lt_device *dev, void *address)
{
    lt_cuda *c = lt_cuda_of(dev);
    if (!address) return LT_OK;
    pthread_mutex_lock(&c->lock);
    pinned *p = take_out(c, address);
    bool keep = p && kept_bytes(c) + p->bytes <= MOST_KEPT_BYTES;
    if (keep) p->used = false, put_in(c, p);
    pthread_mutex_unlock(&c->lock);
    if (!p) return LT_FAIL(LT_ERR_ARGUMENT, "%s: %p is no page-locked memory of this device", dev->id, address);
    if (keep) return LT_OK;
    lt_free(p);
    (void)c->cu->cuCtxSetCurrent(c->context);
    unsigned r = c->cu->cuMemFreeHost(address);
    return r && !c->lost ? lt_cuda_fail(c, r, "releasing page-locked memory", __FILE__, __LINE__) : LT_OK;
}

void lt_cuda_host_release_all(lt_cuda *c)
{
    for (pinned *p = c->pinned, *next; p; p = next) {
        next = p->next;
        (void)c->cu->cuMemFreeHost(p->address);
        lt_free(p);
    }
    c->pinned = NULL;
}
