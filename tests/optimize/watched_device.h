/* A device that computes, counts what is asked of it, and fails on demand: the CPU's function table with some
   slots put in front. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_WATCHED_DEVICE_H
#define LT_TEST_WATCHED_DEVICE_H

#include "device/stream.h"

#include "base/status.h"
#include "lt_test.h"

#include <stdatomic.h>

typedef struct watch {
    lt_backend table;
    _Atomic int64_t syncs, replays, copies[LT_TRANSFER_COUNT], bytes[LT_TRANSFER_COUNT];
    _Atomic int64_t syncs_left; /* before the device is lost; negative: it never is */
} watch;

static watch watched;

static inline lt_status watched_sync(lt_stream *st)
{
    watched.syncs++;
    LT_TRY(lt_backend_cpu()->sync(st)); /* a device that is lost does not touch memory any more */
    if (watched.syncs_left == 0) return LT_FAIL(LT_ERR_DEVICE, "the test's device is lost");
    if (watched.syncs_left > 0) watched.syncs_left--;
    return LT_OK;
}

static inline lt_status watched_copy(lt_stream *st, void *dst, const void *src, size_t bytes, lt_transfer dir)
{
    watched.copies[dir]++;
    watched.bytes[dir] += (int64_t)bytes;
    return lt_backend_cpu()->copy(st, dst, src, bytes, dir);
}

static inline lt_status watched_replay(lt_stream *st, lt_capture *c)
{
    watched.replays++;
    return lt_backend_cpu()->replay(st, c);
}

static inline void watch_reset(void)
{
    watched.syncs = watched.replays = 0;
    for (int i = 0; i < LT_TRANSFER_COUNT; i++) watched.copies[i] = watched.bytes[i] = 0;
    watched.syncs_left = -1;
}

static inline lt_device *watched_open(void)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("cpu", &dev));
    watched.table = *dev->backend;
    watched.table.sync = watched_sync;
    watched.table.copy = watched_copy;
    watched.table.replay = watched_replay;
    dev->backend = &watched.table;
    watch_reset();
    return dev;
}

#endif
