/* How fast a device copies: its own memory, and to and from the host. SPDX-License-Identifier: BSD-3-Clause */
#include "device/host_ring.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"
#include "trace/clock.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15, WARM_UP = 3 };

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
        LT_TRY(lt_stream_fill(st, memory[i], i, bytes)); /* pages that were never written may not exist */
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
    qsort(ns, ROUNDS, sizeof ns[0], lt_ascending);
    *bytes_per_second = 2e9 * (double)bytes / LT_MAX(ns[ROUNDS / 2], 1);
    return LT_OK;
}

/* ---- Between host and device ------------------------------------------------------------------------ */
enum { SLOT_BYTES = 4 << 20, SLOTS = 4, MAX_ROUNDS = 1000 };

typedef struct trip {
    lt_stream   *stream;
    lt_host_ring ring;   /* where staged */
    bool         staged;
    char        *host;
    void        *device;
    size_t       bytes;
} trip;

/* Both return when the copy has ended. */
static lt_status copy_to_device(trip *t)
{
    if (t->staged) LT_TRY(lt_host_ring_upload(&t->ring, t->stream, t->device, t->host, t->bytes));
    else LT_TRY(lt_stream_copy(t->stream, t->device, t->host, t->bytes, LT_TRANSFER_H2D, false));
    return lt_stream_sync(t->stream);
}

static lt_status copy_to_host(trip *t)
{
    if (t->staged) return lt_host_ring_download(&t->ring, t->stream, t->host, t->device, t->bytes);
    LT_TRY(lt_stream_copy(t->stream, t->host, t->device, t->bytes, LT_TRANSFER_D2H, false));
    return lt_stream_sync(t->stream);
}

static lt_status time_trips(trip *t, int rounds, lt_status (*copy)(trip *), double *seconds)
{
    double ns[MAX_ROUNDS];
    for (int i = -1; i < rounds; i++) { /* the first one warms up */
        int64_t start = lt_clock_ns();
        LT_TRY(copy(t));
        if (i >= 0) ns[i] = (double)LT_MAX(lt_clock_ns() - start, 1);
    }
    qsort(ns, (size_t)rounds, sizeof ns[0], lt_ascending);
    *seconds = 1e-9 * ns[rounds / 2];
    return LT_OK;
}

static lt_status measure_trips(lt_device *dev, trip *t, int rounds, double *to_device, double *to_host)
{
    if (!t->host) return LT_FAIL(LT_ERR_MEMORY, "transfers: no %zu bytes of host memory", t->bytes);
    memset(t->host, 1, t->bytes);
    if (t->staged) LT_TRY(lt_host_ring_open(dev, &(lt_ring_options){ SLOT_BYTES, SLOTS, LT_PIN_ALWAYS, false }, &t->ring));
    LT_TRY(lt_device_alloc(dev, t->stream, t->bytes, "transfers", &t->device));
    LT_TRY(time_trips(t, rounds, copy_to_device, to_device));
    return time_trips(t, rounds, copy_to_host, to_host);
}

lt_status lt_device_transfer_seconds(lt_device *dev, int64_t bytes, bool staged, int rounds, double *to_device, double *to_host, bool *pinned)
{
    if (!dev || !to_device || !to_host || !pinned) return LT_FAIL(LT_ERR_ARGUMENT, "transfers: the device or a result is NULL");
    if (bytes < 1 || rounds < 1 || rounds > MAX_ROUNDS)
        return LT_FAIL(LT_ERR_ARGUMENT, "transfers: %lld bytes, %d rounds; expected at least 1, and 1 to %d", (long long)bytes, rounds, MAX_ROUNDS);
    trip t = { .stream = lt_device_stream(dev), .staged = staged, .host = lt_malloc((size_t)bytes), .bytes = (size_t)bytes };
    lt_status s = measure_trips(dev, &t, rounds, to_device, to_host);
    *pinned = t.ring.memory.pinned;
    lt_host_ring_close(&t.ring);
    (void)lt_device_free(dev, t.stream, t.device);
    lt_free(t.host);
    return s;
}
