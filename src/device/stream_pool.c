/* The stream pool. SPDX-License-Identifier: BSD-3-Clause */
#include "device/stream_pool.h"

#include "base/alloc.h"
#include "base/status.h"

#include <pthread.h>
#include <stdio.h>

enum { MAX_STREAMS = 32 };

struct lt_stream_pool {
    lt_device      *dev;
    pthread_mutex_t lock;
    int             max, made;
    unsigned        next;
    lt_stream      *stream[MAX_STREAMS];
};

lt_status lt_stream_pool_create(lt_device *dev, int max_streams, lt_stream_pool **out)
{
    *out = NULL;
    if (!dev) return LT_FAIL(LT_ERR_ARGUMENT, "stream pool: the device is NULL");
    if (max_streams < 1 || max_streams > MAX_STREAMS)
        return LT_FAIL(LT_ERR_ARGUMENT, "stream pool: %d streams asked, 1 to %d are possible", max_streams, MAX_STREAMS);
    lt_stream_pool *p = lt_calloc(1, sizeof *p);
    if (!p) return LT_FAIL(LT_ERR_MEMORY, "stream pool: %zu bytes for the handle", sizeof *p);
    p->dev = dev;
    p->max = max_streams;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return LT_OK;
}

void lt_stream_pool_destroy(lt_stream_pool *p)
{
    if (!p) return;
    for (int i = 0; i < p->made; i++) lt_stream_destroy(p->stream[i]);
    pthread_mutex_destroy(&p->lock);
    lt_free(p);
}

lt_status lt_stream_pool_next(lt_stream_pool *p, lt_stream **out)
{
    *out = NULL;
    pthread_mutex_lock(&p->lock);
    unsigned at = p->next % (unsigned)p->max;
    lt_status s = (int)at < p->made ? LT_OK : lt_stream_create(p->dev, &p->stream[at]);
    if (!s) {
        if ((int)at == p->made) p->made++;
        p->next++;
        *out = p->stream[at];
    }
    pthread_mutex_unlock(&p->lock);
    return s;
}

lt_status lt_stream_pool_sync(lt_stream_pool *p)
{
    lt_status first = LT_OK;
    char text[512] = "";
    int made = lt_stream_pool_made(p);
    for (int i = 0; i < made; i++) {
        lt_status s = lt_stream_sync(p->stream[i]);
        if (!s || first) continue;
        first = s;
        snprintf(text, sizeof text, "%s", lt_error_text());
    }
    if (first) lt_error_set(text);
    return first;
}

int lt_stream_pool_made(lt_stream_pool *p)
{
    pthread_mutex_lock(&p->lock);
    int n = p->made;
    pthread_mutex_unlock(&p->lock);
    return n;
}
