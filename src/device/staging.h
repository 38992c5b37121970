/* A ring of page-locked host memory between ordinary memory and the device.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_STAGING_H
#define LT_DEVICE_STAGING_H

#include "device/stream.h"

typedef struct lt_staging lt_staging;

typedef struct lt_staging_options { /* start from lt_staging_defaults() */
    size_t  slot_bytes;             /* one transfer at most; longer ones are cut */
    int     n_slots;                /* transfers in flight: 1..64 */
    int64_t pin_max_bytes;          /* page-lock no more than this; a larger ring stays pageable */
} lt_staging_options;

typedef struct lt_staging_stats {
    bool    pinned;
    int64_t pageable_fallbacks;     /* 1 when the ring is too large or pinning failed */
    int64_t transfers, bytes_up, bytes_down;
    int64_t waits;                  /* a slot was still in flight when it was needed */
} lt_staging_stats;

lt_staging_options lt_staging_defaults(void);   /* 4 slots of 4 MiB, 100 MB */
lt_status lt_staging_create(lt_device *dev, const lt_staging_options *opt, lt_staging **out);
void      lt_staging_destroy(lt_staging *r);    /* NULL is allowed; waits for transfers in flight */

/* Returns when src may be changed; the device has the bytes once st reaches that point. */
lt_status lt_staging_upload(lt_staging *r, lt_stream *st, void *dst, const void *src, size_t bytes);
/* Returns when dst holds the bytes. */
lt_status lt_staging_download(lt_staging *r, lt_stream *st, void *dst, const void *src, size_t bytes);
lt_staging_stats lt_staging_read(lt_staging *r);

#endif
