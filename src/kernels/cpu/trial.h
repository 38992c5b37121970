/* Trying what may kill the process. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_TRIAL_H
#define LT_KERNELS_CPU_TRIAL_H

#include "lathe/base.h"

/* Runs work in a child process; true when it returned within `seconds`. What it prints or breaks is lost. */
bool lt_trial_survives(void (*work)(void), unsigned seconds);

#endif
