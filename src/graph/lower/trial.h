/* Timing ways to compute a problem on a device with memory of its own. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_LOWER_TRIAL_H
#define LT_GRAPH_LOWER_TRIAL_H

#include "device/stream.h"
#include "lathe/tune.h"

typedef struct lt_trial {
    lt_device   *dev;
    const char  *problem;             /* the tuner's text for it */
    int          n_ways;              /* best guess first */
    const char *const *name;          /* one per way */
    lt_status  (*prepare)(void *ctx, int way, lt_kernel **out);
    void        *ctx;
    int          n_args;              /* of the kernels, without scratch */
    const size_t *arg_bytes;
} lt_trial;

/* The kernel of the way the tuner has stored, else of the fastest by its clock; only what is asked for is prepared.
   Kernels are timed in captured batches, so that the device's time counts and not the host's. */
lt_status lt_trial_choose(lt_tuner *tuner, const lt_trial *t, lt_kernel **out);

#endif
