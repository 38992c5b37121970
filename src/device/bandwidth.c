/* How fast a device copies its own memory. SPDX-License-Identifier: BSD-3-Clause */
#include "device/stream.h"

#include "base/status.h"

#include <stdlib.h>

enum { ROUNDS = 15, WARM_UP = 3 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static lt_status time_copies(lt_stream *st, void *to, const void *from, size_t bytes, lt_event *start, lt_event *end, double *ns)
{
    for (int i = -WARM_UP; i < ROUNDS; i++) {
        double once;
        LT_TRY(lt_event_record(start, st));
        LT_TRY(lt_stream_copy(st, to, from, bytes, LT_TRANSFER_D2D, false));
        LT_TRY(lt_event_record(end, st));
        LT_TRY(lt_event_sync(end));
        LT_TRY(lt_event_elapsed(start, end, &once));
        if (i >= 0) ns[i] = once;
    }
    return LT_OK;
}

static lt_status measure(lt_device *dev, size_t bytes, void **memory, lt_event **event, double *ns)
{
    lt_stream *st = lt_device_stream(dev);
    for (int i = 0; i < 2; i++) {
        LT_TRY(lt_device_alloc(dev, st, bytes, "bandwidth", &memory[i]));
        LT_TRY(lt_stream_fill(st, memory[i], i, bytes)); /* pages that were never written may not be there */
        LT_TRY(lt_event_create(dev, &event[i]));
    }
    return time_copies(st, memory[1], memory[0], bytes, event[0], event[1], ns);
}

lt_status lt_device_bandwidth(lt_device *dev, int64_t bytes, double *bytes_per_second)
{
    if (!bytes_per_second) return LT_FAIL(LT_ERR_ARGUMENT, "bandwidth: bytes_per_second is NULL");
    void *memory[2] = { NULL };
    lt_event *event[2] = { NULL };
    double ns[ROUNDS];
    *bytes_per_second = 0;
    if (!dev || bytes < 1) return LT_FAIL(LT_ERR_ARGUMENT, "bandwidth: %s", dev ? "expected at least one byte" : "the device is NULL");
    lt_status s = measure(dev, (size_t)bytes, memory, event, ns);
    for (int i = 0; i < 2; i++) {
        lt_event_destroy(event[i]);
        (void)lt_device_free(dev, NULL, memory[i]);
    }
    if (s) return s;
    qsort(ns, ROUNDS, sizeof ns[0], ascending);
    *bytes_per_second = 2e9 * (double)bytes / LT_MAX(ns[ROUNDS / 2], 1);
    return LT_OK;
}
