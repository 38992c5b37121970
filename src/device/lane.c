/* Lanes: device memory with direct or staged copies, behind a public handle.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/lane.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/staging.h"

struct lt_lane {
    lt_device  *dev;
    void       *memory;
    size_t      bytes;
    lt_staging *ring; /* NULL: direct */
};

lt_status lt_lane_create(lt_device *dev, size_t bytes, lt_lane_way way, lt_lane **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lane: out is NULL");
    *out = NULL;
    if (!dev || !bytes) return LT_FAIL(LT_ERR_ARGUMENT, "lane: %s", dev ? "0 bytes, expected at least 1" : "the device is NULL");
    lt_lane *l = lt_calloc(1, sizeof *l);
    if (!l) return LT_ERR_MEMORY;
    l->dev = dev;
    l->bytes = bytes;
    lt_status s = lt_device_alloc(dev, NULL, bytes, "lane", &l->memory);
    if (!s && way == LT_LANE_STAGED) {
        lt_staging_options opt = lt_staging_defaults();
        s = lt_staging_create(dev, &opt, &l->ring);
    }
    if (s) {
        lt_lane_destroy(l);
        return s;
    }
    *out = l;
    return LT_OK;
}

void lt_lane_destroy(lt_lane *l)
{
    if (!l) return;
    lt_staging_destroy(l->ring);
    if (l->memory) lt_device_free(l->dev, NULL, l->memory);
    lt_free(l);
}

static lt_status check(const lt_lane *l, const void *host, size_t n_bytes)
{
    if (!l || (!host && n_bytes)) return LT_FAIL(LT_ERR_ARGUMENT, "lane: %s is NULL", l ? "the host memory" : "the lane");
    if (n_bytes > l->bytes) return LT_FAIL(LT_ERR_ARGUMENT, "lane: %zu bytes, but it holds %zu", n_bytes, l->bytes);
    return LT_OK;
}

lt_status lt_lane_upload(lt_lane *l, const void *from, size_t n_bytes)
{
    LT_TRY(check(l, from, n_bytes));
    lt_stream *st = lt_device_stream(l->dev);
    if (l->ring) LT_TRY(lt_staging_upload(l->ring, st, l->memory, from, n_bytes));
    else LT_TRY(lt_stream_copy(st, l->memory, from, n_bytes, LT_TRANSFER_H2D, false));
    return lt_stream_sync(st);
}

lt_status lt_lane_download(lt_lane *l, void *to, size_t n_bytes)
{
    LT_TRY(check(l, to, n_bytes));
    lt_stream *st = lt_device_stream(l->dev);
    if (l->ring) return lt_staging_download(l->ring, st, to, l->memory, n_bytes);
    LT_TRY(lt_stream_copy(st, to, l->memory, n_bytes, LT_TRANSFER_D2H, false));
    return lt_stream_sync(st);
}

bool lt_lane_pinned(const lt_lane *l) { return l && l->ring && lt_staging_read(l->ring).pinned; }
