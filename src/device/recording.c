/* Recorded work. SPDX-License-Identifier: BSD-3-Clause */
#include "device/recording.h"

#include "base/status.h"
#include "trace/trace.h"

lt_status lt_recording_make(lt_recording *r, lt_stream *st, lt_record_fn fn, void *ctx)
{
    lt_recording_drop(r);
    LT_TRY(lt_capture_begin(st));
    lt_status s = fn(ctx, st);
    if (s) {
        lt_capture_abort(st);
        return s;
    }
    r->cost = st->captured_copies;
    s = lt_capture_end(st, &r->capture);
    if (s) lt_recording_drop(r);
    return s;
}

lt_status lt_recording_replay(const lt_recording *r, lt_stream *st)
{
    for (int dir = 0; dir < LT_TRANSFER_COUNT; dir++)
        for (int pinned = 0; pinned < 2; pinned++)
            if (r->cost.of[dir][pinned].count) lt_trace_transfer((lt_transfer)dir, pinned, r->cost.of[dir][pinned].bytes);
    return lt_capture_replay(st, r->capture);
}

void lt_recording_drop(lt_recording *r)
{
    lt_capture_destroy(r->capture);
    *r = (lt_recording){ 0 };
}
