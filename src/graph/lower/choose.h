/* Choosing between the kernels that can compute an op. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_LOWER_CHOOSE_H
#define LT_GRAPH_LOWER_CHOOSE_H

#include "graph/ops.h"
#include "lathe/tune.h"

/* The first applicable row of the device of the options (NULL: the CPU); in mode max-autotune the fastest by
   timing, or what the tuner has stored. */
lt_status lt_choose_kernel(const lt_problem_key *key, const lt_compile_options *opt, lt_kernel **out);

/* Fused programs for the device of the options (NULL: the CPU), side by side where their texts have to be compiled and nothing is
   timed. *out[i] must be NULL before; after a failure some of them are made. */
lt_status lt_choose_fused(const lt_fused *const f[], int n, const lt_compile_options *opt, lt_kernel **const out[]);

/* "conv2d f32[8, 3, 32, 32] f32[6, 3, 5, 5] -> f32[8, 6, 28, 28] kernel=5x5 …": the tuner's text for a problem. */
void lt_choose_describe(const lt_problem_key *key, char *text, size_t size);

/* choose_cuda.c: the same on a GPU, always by the tuner. */
lt_status lt_choose_cuda_kernel(const lt_problem_key *key, lt_device *dev, lt_tuner *tuner, lt_kernel **out);
lt_status lt_choose_cuda_fused(const lt_fused *f, lt_device *dev, lt_tuner *tuner, lt_kernel **out);

/* Keeps what was measured, when it was measured for the cache folder. */
void lt_choose_finish(const lt_compile_options *opt);

#endif
