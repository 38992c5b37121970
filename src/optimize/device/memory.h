/* Memory on both sides of an exchange. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_MEMORY_H
#define LT_OPTIMIZE_DEVICE_MEMORY_H

#include "device/stream.h"
#include "lathe/solve.h"

/* Host memory that a device copies to and from. */
typedef struct lt_host_block {
    double *at;
    bool    pinned;
} lt_host_block;

/* Page-locked where the options allow it and the device can; else ordinary memory, which works and is slower. */
lt_status lt_host_block_create(lt_device *dev, const lt_solve_options *opt, int64_t count, lt_host_block *out);
void      lt_host_block_release(lt_device *dev, lt_host_block *b);

/* `count` numbers of device memory; a full device is told with what would help. */
lt_status lt_device_numbers(lt_device *dev, lt_stream *st, int64_t count, const char *what, double **out);

/* How pieces of host memory cross: small page-locked ones by a kernel, others by copies. */
typedef struct lt_mover {
    lt_stream *stream;
    lt_kernel *kernel, *home; /* to the device, to the host; NULL: by copies only */
    double    *ended;         /* there: what `home` counts */
    lt_host_block told;       /* runs of `home` that have ended, as it says itself */
    int64_t    runs;          /* that were waited for */
    bool       tells;         /* the last piece that came home did so by a kernel, which says when it has ended */
} lt_mover;

lt_status lt_mover_create(lt_stream *st, const lt_solve_options *opt, lt_mover *out);
void      lt_mover_release(lt_mover *m);
/* One copy, queued and counted. */
lt_status lt_cross_up(lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n);
lt_status lt_cross_down(lt_mover *m, double *dst, const double *src, int64_t count, bool pinned, lt_solve_crossings *n);
void      lt_crossings_replayed(lt_solve_crossings *sum, const lt_solve_crossings *cost); /* `cost`, counted when it was captured, once more */
/* Waits for work that ended with one piece brought home, and perhaps was captured then; tells: as the mover had it then. */
lt_status lt_mover_wait(lt_mover *m, bool tells);

/* Rows begin at multiples of 64 bytes: vector loads then fit on every device. */
static inline int64_t lt_padded(int64_t count) { return (count + 7) / 8 * 8; }

#endif
