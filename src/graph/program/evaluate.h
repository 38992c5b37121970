/* Running one op by itself on host memory. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_PROGRAM_EVALUATE_H
#define LT_GRAPH_PROGRAM_EVALUATE_H

#include "kernels/kernel_table.h"

/* The best kernel for the problem, prepared; LT_ERR_UNSUPPORTED names the op when none applies. */
lt_status lt_kernel_best(const lt_problem_key *p, lt_kernel **out);
lt_status lt_evaluate(lt_op op, int n_in, const lt_tensor_type *type, const void *const *in,
                      const lt_tensor_type *out_type, const lt_attr *attr, void *out);
/* An elementwise op of plain numbers, rounded as elements of type t would be. */
lt_status lt_evaluate_scalar(lt_op op, lt_dtype t, int n_in, const double *in, double *out);

#endif
