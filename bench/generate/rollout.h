/* Rollouts timed on a device with memory of its own. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BENCH_GENERATE_ROLLOUT_H
#define LATHE_BENCH_GENERATE_ROLLOUT_H

#include "bench/peer/peers.h"

typedef struct bench_rollout_request {
    cli_context                *c;
    lt_operator_spec            spec;      /* the standard operator, or a small one */
    const lt_operator_weights  *weights;
    const float                *field;
    const peer_file            *peer;      /* NULL: none */
    int64_t                     realizations, steps, samples;
    bool                        quick, ablate, datasets_only;
} bench_rollout_request;

/* Whole rollouts in every precision, the number of realizations, small operators side by side, ablations. */
lt_status bench_rollout(const bench_rollout_request *q);
/* Whole datasets: what features add, and how long the device waits. (generation.c) */
lt_status bench_generation(const bench_rollout_request *q);

#endif
