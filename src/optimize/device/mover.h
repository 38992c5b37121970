/* Memory on both sides, and what crosses between them. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_MOVER_H
#define LT_OPTIMIZE_DEVICE_MOVER_H

#include "device/memory.h"
#include "device/recording.h"
#include "lathe/solve.h"

/* `count` numbers of host memory, zeros, page-locked where the options allow it. */
lt_status lt_host_numbers(lt_device *dev, const lt_solve_options *opt, int64_t count, lt_host_memory *out);
/* `count` numbers of device memory; when the device is full, the message says what would help. */
lt_status lt_device_numbers(lt_device *dev, lt_stream *st, int64_t count, const char *what, double **out);

/* Moves pieces of host memory: small page-locked ones by a kernel, others by copies. */
typedef struct lt_mover {
    lt_stream *stream;
    lt_kernel *to_device, *to_host; /* NULL: by copies only */
    double    *ended;         /* on the device: what to_host counts */
    lt_host_memory reported;  /* runs of to_host that have ended, as it says itself */
    int64_t    runs;          /* that were waited for */
    bool       reports;       /* the last piece came by to_host, which says when it has ended */
    lt_solve_crossings *counts; /* of what crossed and was waited for */
} lt_mover;

lt_status lt_mover_create(lt_stream *st, const lt_solve_options *opt, lt_solve_crossings *counts, lt_mover *out);
void      lt_mover_release(lt_mover *m);
/* One piece of `count` numbers, queued and counted. */
lt_status lt_mover_send(lt_mover *m, double *to, const double *from, int64_t count, bool pinned);
lt_status lt_mover_bring(lt_mover *m, double *to, const double *from, int64_t count, bool pinned);
lt_status lt_mover_wait(lt_mover *m);       /* for everything */
lt_status lt_mover_await_last(lt_mover *m); /* for work that ended with lt_mover_bring: sooner */

/* Work with a mover's pieces in it, recorded once. Zero-initialised is empty. */
typedef struct lt_sequence { lt_recording recording; bool reports; } lt_sequence;
lt_status lt_sequence_make(lt_sequence *s, lt_mover *m, lt_record_fn fn, void *ctx);
lt_status lt_sequence_run(const lt_sequence *s, lt_mover *m, lt_record_fn fn, void *ctx); /* replays it; an empty one: queues what fn does */
static inline bool lt_sequence_is_made(const lt_sequence *s) { return lt_recording_is_made(&s->recording); }
static inline void lt_sequence_drop(lt_sequence *s) { lt_recording_drop(&s->recording); }

/* Rows begin at multiples of 64 bytes: vector loads then fit on every device. */
static inline int64_t lt_padded(int64_t count) { return (count + 7) / 8 * 8; }

#endif
