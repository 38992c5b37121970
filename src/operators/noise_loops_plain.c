/* Random numbers in bulk, for any processor. SPDX-License-Identifier: BSD-3-Clause */
#define NAME(x) x##_plain
#include "operators/noise_loops_body.h"
