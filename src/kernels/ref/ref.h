/* The frame of reference kernels: tensors widened to double, plain loops, one rounding.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_REF_REF_H
#define LT_KERNELS_REF_REF_H

#include "kernels/host_kernel.h"

/* Computes p: in[i] and out are dense arrays of double; work has the doubles asked for. */
typedef lt_status (*lt_ref_body)(const lt_problem_key *p, const double *const *in, double *out, double *work);

/* A kernel that widens the inputs, runs body on the calling thread and rounds the result once. */
lt_status lt_ref_prepare(const lt_problem_key *p, const char *name, lt_ref_body body,
                         int64_t work_doubles, double flops, lt_kernel **out);


#endif
