/* Options with some fields set, as an expression: SOLVE_OPTIONS(o.seed = 7, o.max_iterations = 10).
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_SOLVE_OPTIONS_H
#define LT_SOLVE_OPTIONS_H

#include "lathe/solve.h"

#define SOLVE_OPTIONS(...) __extension__({ lt_solve_options o = lt_solve_defaults(); (void)(__VA_ARGS__); o; })

/* The method as it was published, which tables of others follow: further fields for SOLVE_OPTIONS. */
#define AS_PUBLISHED o.patience = 0, o.lagrangian_updates = false, o.steering_halvings = 0, o.honor_bounds = LT_HONOR_NONE, o.scale_functions = o.scale_variables = false, o.bfgs_damping = 1e-4

#endif
