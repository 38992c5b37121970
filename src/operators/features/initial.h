/* The older set of 38 statistics of an initial field. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FEATURES_INITIAL_H
#define LT_OPERATORS_FEATURES_INITIAL_H

#include "lathe/base.h"

enum { LT_INITIAL_BASIC_COUNT = 38 };
const char *lt_initial_basic_name(int column);
lt_status   lt_initial_basic(const float *field, int grid, float *out);

#endif
