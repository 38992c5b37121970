/* Random numbers in bulk, with AVX512. SPDX-License-Identifier: BSD-3-Clause */
#define NAME(x) x##_avx512
#include "operators/noise_loops_body.h"
