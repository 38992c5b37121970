/* Choosing between the kernels that can compute an op. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_CHOOSE_H
#define LT_GRAPH_CHOOSE_H

#include "graph/ops.h"

/* The first applicable row of the device of the options (NULL: the CPU); on the CPU the fastest one by
   timing in mode max-autotune. */
lt_status lt_choose_kernel(const lt_problem_key *key, const lt_compile_options *opt, lt_kernel **out);

/* A fused program for the device of the options (NULL: the CPU). */
lt_status lt_choose_fused(const lt_fused *f, const lt_compile_options *opt, lt_kernel **out);

/* Keeps what was measured, when it was measured for the cache folder. */
void lt_choose_finish(const lt_compile_options *opt);

#endif
