/* Numbers of successes in n draws. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_SIMILARITY_BINOMIAL_H
#define LT_QKERNEL_SIMILARITY_BINOMIAL_H

#include "lathe/rng.h"

/* Exact for every n >= 0 and p in 0..1: by inversion where few are expected, else by rejection. */
int64_t lt_binomial(lt_rng *r, int64_t n, double p);

#endif
