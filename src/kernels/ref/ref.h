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

/* LU with partial pivoting of a (n x n, row major) in place; pivot[i] is the row exchanged with
   row i. Returns the sign of the permutation, 0 when an exact zero pivot was met. */
int  lt_ref_lu(double *a, int64_t n, int64_t *pivot);
void lt_ref_lu_solve(const double *lu, int64_t n, const int64_t *pivot, bool transposed, double *b, int64_t m);

#endif
