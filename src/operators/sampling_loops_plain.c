/* Loops over a row and a tile of rows, in plain C. SPDX-License-Identifier: BSD-3-Clause */
#define NAME(x) x##_plain
#define VECTOR double
#define SPREAD(x) (x)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#include "operators/sampling_loops_body.h"
