/* What the last bits of results depend on beside the kind of device: processes that make one thing together compare it (decision 400).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_ARITHMETIC_H
#define LT_KERNELS_ARITHMETIC_H

#include "lathe/device.h"

/* "version of oneDNN", "2.7.3 avx512_core": `what` completes "rank 1 has not the same ...". */
typedef struct lt_arithmetic_trait { const char *what; char text[400]; } lt_arithmetic_trait;

enum { LT_ARITHMETIC_TRAITS = 12 };
typedef struct lt_arithmetic { int n; lt_arithmetic_trait trait[LT_ARITHMETIC_TRAITS]; } lt_arithmetic;

/* This process's. dev: NULL or the CPU, or a GPU, whose traits follow those of the CPU beside it. libraries: also of those that kernels of graphs
   call, and of what these look at; it opens them. */
lt_status lt_arithmetic_describe(lt_device *dev, bool libraries, lt_arithmetic *out);

#endif
