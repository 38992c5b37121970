/* Work that is recorded once and replayed: capture, what a replay costs, replay. SPDX-License-Identifier: BSD-3-Clause

   lt_capture of stream.h is the device's part; a recording adds what every user of it needs: an end of the capture
   whatever happens, and the copies of a replay in the trace and in the user's own counts. */
#ifndef LT_DEVICE_RECORDING_H
#define LT_DEVICE_RECORDING_H

#include "device/stream.h"

/* Zero-initialised is empty. Whoever holds the struct owns the capture. */
typedef struct lt_recording {
    lt_capture   *capture;        /* NULL: nothing is recorded */
    lt_copy_count cost;           /* copies of one replay */
} lt_recording;

typedef lt_status (*lt_record_fn)(void *ctx, lt_stream *st);

/* Records what fn queues on st, and on streams that branch from it; nothing of it runs. fn may queue, and neither wait
   nor allocate. The kernels and the memory must stay while the recording is replayed. What was recorded before is
   dropped; on failure the recording is empty and the stream free. */
lt_status lt_recording_make(lt_recording *r, lt_stream *st, lt_record_fn fn, void *ctx);
/* Queues it once more on st, and reports its copies to the trace. */
lt_status lt_recording_replay(const lt_recording *r, lt_stream *st);
void      lt_recording_drop(lt_recording *r);
static inline bool lt_recording_is_made(const lt_recording *r) { return r->capture != NULL; }

#endif
