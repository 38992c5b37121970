/* The caching allocator: keeps memory taken from a device and hands it out again.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_BLOCK_CACHE_H
#define LT_DEVICE_BLOCK_CACHE_H

#include "device/backend.h"

/* Memory freed on a stream is free for that stream at once, since its work runs in order. For
   another stream it is used only when the device gives no more: then an event makes the new
   stream wait for the old one. Safe to call from any thread. */
lt_status lt_block_cache_create(lt_device *dev, lt_block_cache **out);
void      lt_block_cache_destroy(lt_block_cache *c);   /* NULL is allowed; takes back everything */
lt_status lt_block_cache_alloc(lt_block_cache *c, lt_stream *st, size_t bytes, const char *owner, void **out);
lt_status lt_block_cache_free(lt_block_cache *c, lt_stream *st, void *address);
/* The stream has ended its work and goes away: its memory may serve any other. */
void      lt_block_cache_forget_stream(lt_block_cache *c, const lt_stream *st);
lt_status lt_block_cache_trim(lt_block_cache *c);      /* gives whole unused segments back; waits for their streams */
/* How much is taken from the device for a request of this size that no kept block serves. */
size_t    lt_block_cache_segment_bytes(size_t bytes);
void      lt_block_cache_limit(lt_block_cache *c, int64_t limit_bytes);
void      lt_block_cache_stats(lt_block_cache *c, lt_memory_stats *out);

typedef struct lt_block_cache_owner { char name[40]; int64_t in_use_bytes, peak_bytes; } lt_block_cache_owner;
/* Owners by bytes in use, largest first; returns how many there are. */
int       lt_block_cache_owners(lt_block_cache *c, lt_block_cache_owner *out, int max);

#endif
