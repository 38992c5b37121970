/* A few streams dealt out in turn. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_STREAM_POOL_H
#define LT_DEVICE_STREAM_POOL_H

#include "device/stream.h"

typedef struct lt_stream_pool lt_stream_pool;

/* Streams are made when first dealt. max_streams 1..32. */
lt_status lt_stream_pool_create(lt_device *dev, int max_streams, lt_stream_pool **out);
void      lt_stream_pool_destroy(lt_stream_pool *p);                 /* NULL is allowed; waits for their work */
lt_status lt_stream_pool_next(lt_stream_pool *p, lt_stream **out);   /* borrowed from the pool */
lt_status lt_stream_pool_sync(lt_stream_pool *p);                    /* all of them; the first failure */
int       lt_stream_pool_made(lt_stream_pool *p);

#endif
