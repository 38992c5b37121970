/* What the kernels around the step of a rollout work on: C writes it, texts read it. SPDX-License-Identifier: BSD-3-Clause
   This header is also the beginning of those texts: plain types only, no includes. */
#ifndef LT_OPERATORS_ROLLOUT_DEVICE_ROLLOUT_JOB_H
#define LT_OPERATORS_ROLLOUT_DEVICE_ROLLOUT_JOB_H

typedef struct lt_rollout_job {
    unsigned int noise_key[2], sign_key[2], weight_key[2], index, index_high;
    float policy[2], mix[9], clamp_lo, clamp_hi; /* policy: keep, gain; mix: by rows */
    int   post, clamp, whole_batch, laplace, shift; /* shift: 1 is added to noise that multiplies */
    long long realizations, field, pixels, channels, noise_count, steps_per_launch, n_tensors;
    long long noise_step, noise_steps;              /* numbers from one step's noise to the next's; steps drawn together in a sequence */
} lt_rollout_job;

/* A tensor of the weights: its numbers are drawn four at a time. */
typedef struct lt_drawn_tensor { long long first_quad, offset; float scale; int init; } lt_drawn_tensor;

#endif
