/* Tables of names, each ended by NULL, in the order of the enumerations.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_CONFIG_NAMES_H
#define LT_OPERATORS_CONFIG_NAMES_H

#include "lathe/operator.h"

extern const char *const lt_operator_kind_names[], *const lt_activation_names[], *const lt_normalization_names[],
    *const lt_noise_names[], *const lt_noise_schedule_names[], *const lt_policy_names[], *const lt_precision_names[];

#endif
