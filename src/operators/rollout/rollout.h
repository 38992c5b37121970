/* A rollout in memory: compiled steps, states, noise. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_ROLLOUT_ROLLOUT_H
#define LT_OPERATORS_ROLLOUT_ROLLOUT_H

#include "operators/rollout/noise.h"

/* Below this many operations a realization does not keep several threads busy: each gets its own. */
#define LT_SMALL_STEP_FLOPS 4e9

/* One compiled step and the arguments it runs with. */
typedef struct lt_step_lane {
    lt_program  *program;
    const void **input;           /* LT_STEP_TENSORS + n_tensors */
} lt_step_lane;

struct lt_rollout {
    struct lt_device_rollout *on_device; /* the rollout on a device with memory of its own; NULL on the CPU, which uses the rest */
    lt_operator_spec   spec;      /* of the creation: its architecture is what runs */
    lt_rollout_options opt;
    lt_rollout_info    info;
    lt_network         network;   /* without its graph */
    lt_pool           *pool;
    int                n_lanes;   /* realizations in flight: each on one thread unless abreast; 1: all threads on one */
    int                lane_capacity;
    bool               abreast;   /* lanes go through a step together, kernel by kernel */
    bool               limited;   /* fewer threads than the pool has: no step uses the pool inside */
    lt_step_lane      *lane;
    lt_noise_maker     noise;
    int64_t            field;     /* elements of one state */
    float             *state[2];  /* [M, 3, G, G] each: the last step and the next */
    float             *noise_block; /* [micro_batch or M, noise.count] */
    int64_t           *failed;    /* [M] */
    const lt_operator_weights *weights; /* NULL: no operator is set */
    float              policy[2]; /* keep, gain */
    /* of a run between start and wait */
    const float       *run_field;
    int64_t            run_realization;
    lt_rollout_sink    run_sink;
    void              *run_ctx;
};

/* Which arithmetic a precision runs in on this device (NULL: the CPU); fills precision, precision_reason and
   arithmetic. */
lt_status lt_rollout_choose_precision(lt_device *dev, lt_precision wanted, lt_rollout_info *info, lt_compile_options *out);
bool lt_state_is_finite(const float *x, int64_t n);

#endif
