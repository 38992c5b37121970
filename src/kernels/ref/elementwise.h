/* What each elementwise op means, one double at a time with libm: the yardstick of the fast
   kernels. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_REF_ELEMENTWISE_H
#define LT_KERNELS_REF_ELEMENTWISE_H

#include "kernels/op.h"

/* op(a), op(a, b) or op(a, b, c); operands the op does not take are ignored. NaN when op is not
   an elementwise op. */
double lt_ref_elementwise(lt_op op, double a, double b, double c);
/* acc folded with x by LT_OP_SUM, LT_OP_RMAX or LT_OP_RMIN; extremes pass NaN on. */
double lt_ref_fold(lt_op op, double acc, double x);

#endif
