/* About how long a method takes, to choose between two exact ones. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_COST_H
#define LT_QKERNEL_COST_H

#include "qkernel/plan.h"

/* Nanoseconds on two cores with AVX-512, scaled to the vectors of r->isa: states and transfer matrices of two re-embedded layers on the
   CPU. What matters is the ratio (decision 274). */
double lt_cost_of(const lt_plan_request *r, lt_gram_method method);

#endif
