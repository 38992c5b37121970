/* A device whose memory only its own work can touch: the CPU's function table over pages that are closed to the host
   whenever nothing is queued. A host that follows an address of the device then stops with a fault, as with a GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_GUARDED_DEVICE_H
#define LT_TEST_GUARDED_DEVICE_H

#include "watched_device.h"

#include <sys/mman.h>

enum { GUARDED_BYTES = 1 << 28, GUARDED_STREAMS = 32 };

typedef struct guard { char *pages; size_t used; lt_stream *busy[GUARDED_STREAMS]; int n_busy; } guard;

static guard guarded;

static inline void guarded_open_pages(bool open)
{
    LT_CHECK(!mprotect(guarded.pages, GUARDED_BYTES, open ? PROT_READ | PROT_WRITE : PROT_NONE));
}

static inline lt_status guarded_alloc(lt_device *dev, size_t bytes, void **out)
{
    (void)dev;
    const size_t size = (bytes + 4095) / 4096 * 4096;
    if (guarded.used + size > GUARDED_BYTES) return LT_FAIL(LT_ERR_MEMORY, "the test's device is full");
    *out = guarded.pages + guarded.used;
    guarded.used += size;
    return LT_OK;
}

static inline lt_status guarded_release(lt_device *dev, void *address)
{
    (void)dev;
    (void)address; /* all at once, when the test ends */
    return LT_OK;
}

static inline void guarded_work(lt_stream *st)
{
    int i = 0;
    guarded_open_pages(true);
    if (st->capturing) return;
    while (i < guarded.n_busy && guarded.busy[i] != st) i++;
    if (i == GUARDED_STREAMS) LT_TEST_FAIL("more than %d streams", i);
    else guarded.busy[i] = st, guarded.n_busy += i == guarded.n_busy;
}

static inline lt_status guarded_launch(lt_stream *st, const lt_launch *at)
{
    guarded_work(st);
    return lt_backend_cpu()->launch(st, at);
}

static inline lt_status guarded_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    guarded_work(st);
    return watched_copy(st, dst, src, bytes, dir);
}

static inline lt_status guarded_fill(lt_stream *st, void *dst, int byte, size_t bytes)
{
    guarded_work(st);
    return lt_backend_cpu()->fill(st, dst, byte, bytes);
}

static inline lt_status guarded_replay(lt_stream *st, lt_capture *c)
{
    guarded_work(st);
    return watched_replay(st, c);
}

static inline lt_status guarded_sync(lt_stream *st)
{
    lt_status s = watched_sync(st);
    for (int i = 0; i < guarded.n_busy; i++)
        if (guarded.busy[i] == st) guarded.busy[i--] = guarded.busy[--guarded.n_busy];
    if (!guarded.n_busy) guarded_open_pages(false);
    return s;
}

/* Close it with guarded_close. Work that is queued and not waited for leaves the pages open. */
static inline lt_device *guarded_open(void)
{
    lt_device *dev = watched_open();
    guarded.pages = mmap(NULL, GUARDED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    guarded.used = 0;
    guarded.n_busy = 0;
    LT_CHECK(guarded.pages != MAP_FAILED);
    watched.table.alloc = guarded_alloc;
    watched.table.release = guarded_release;
    watched.table.launch = guarded_launch;
    watched.table.launch_all = NULL;
    watched.table.copy = guarded_copy;
    watched.table.fill = guarded_fill;
    watched.table.replay = guarded_replay;
    watched.table.sync = guarded_sync;
    return dev;
}

static inline void guarded_close(lt_device *dev)
{
    guarded_open_pages(true);
    lt_device_close(dev);
    munmap(guarded.pages, GUARDED_BYTES);
}

#endif
