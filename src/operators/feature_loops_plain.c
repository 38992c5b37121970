/* Feature loops, plain. SPDX-License-Identifier: BSD-3-Clause */
#define LT_LOOPS lt_feature_loops_plain
#include "operators/feature_loops_body.h"
