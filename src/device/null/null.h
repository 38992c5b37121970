/* The null device: plans and counts everything, checks that it is legal, computes nothing.
   It takes the same path as a device with memory of its own, on a machine without one.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DEVICE_NULL_NULL_H
#define LT_DEVICE_NULL_NULL_H

#include "device/backend.h"

typedef struct lt_null_counts {
    int64_t allocs, releases, live_bytes, peak_bytes, host_allocs;
    int64_t builds, launches, fills, records, waits, syncs;
    int64_t copies[LT_TRANSFER_COUNT], copy_bytes[LT_TRANSFER_COUNT];
    int64_t captures, replays, replayed_launches;
} lt_null_counts;

/* dev is an open null device. */
lt_null_counts lt_null_read(lt_device *dev);
void           lt_null_capacity(lt_device *dev, int64_t bytes);   /* how much memory it pretends to have */
void           lt_null_refuse_pinning(lt_device *dev, bool refuse); /* host_alloc fails from now on */

#endif
