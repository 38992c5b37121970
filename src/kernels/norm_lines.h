/* Lines of a tensor over which a norm is taken, for NORM where the sum of squares over- or underflowed.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_NORM_LINES_H
#define LT_KERNELS_NORM_LINES_H

#include "kernels/kernel_table.h"

/* Element type, and the axes that stay and that are summed away, with their strides. */
typedef struct lt_norm_lines {
    lt_dtype type;
    int      n_kept, n_gone;
    int64_t  kept[LT_MAX_RANK], kept_stride[LT_MAX_RANK], gone[LT_MAX_RANK], gone_stride[LT_MAX_RANK];
} lt_norm_lines;

lt_norm_lines lt_norm_lines_of(const lt_problem_key *p);
/* The smallest sum of squares in a type that squares lost to underflow cannot have changed. */
double        lt_norm_least_ordinary(lt_dtype type);
/* Whether s, a sum of squares in the given type, lost nothing to overflow or underflow. 0 is not: it may be either. */
bool          lt_norm_is_ordinary(lt_dtype type, double s);
/* The 2-norm of a line whose elements are x[at(i)], scaled by their largest. */
double        lt_norm_of_line(const lt_norm_lines *v, lt_dtype stored, const void *x, int64_t line);

#endif
