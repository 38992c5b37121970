/* Options with some fields set, as an expression: SOLVE_OPTIONS(o.seed = 7, o.max_iterations = 10).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_SOLVE_OPTIONS_H
#define LT_SOLVE_OPTIONS_H

#include "lathe/solve.h"

#define SOLVE_OPTIONS(...) __extension__({ lt_solve_options o = lt_solve_defaults(); (void)(__VA_ARGS__); o; })

#endif
