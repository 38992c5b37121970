/* Feature loops, avx2. SPDX-License-Identifier: BSD-3-Clause */
#define LT_LOOPS lt_feature_loops_avx2
#include "operators/feature_loops_body.h"
