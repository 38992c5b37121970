/* What the kernels that make rows work on: C writes it, texts read it. SPDX-License-Identifier: BSD-3-Clause
   This header is also the beginning of those texts: plain types only, no includes. */
#ifndef LT_QKERNEL_DEVICE_ROWS_JOB_H
#define LT_QKERNEL_DEVICE_ROWS_JOB_H

/* The first column (alpha, beta) of [[alpha, -conj beta], [beta, conj alpha]]; every gate here is one. */
typedef struct lt_su2 { double ar, ai, br, bi; } lt_su2;

typedef struct lt_states_job {
    long long n_rows;
    long long n_stages, first_stage, last_stage; /* coefficients there are; stages to apply here */
    long long generate;                          /* begin with the product state of stage 0, not with what is in memory */
} lt_states_job;

typedef struct lt_closed_job { long long n_rows, padded_rows; } lt_closed_job;

#endif
