/* Random numbers in bulk, with AVX2. SPDX-License-Identifier: BSD-3-Clause */
#define NAME(x) x##_avx2
#include "operators/noise_loops_body.h"
