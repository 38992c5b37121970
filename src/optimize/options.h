/* The options of a run as the optimizer reads them: complete, whatever version of the library the program was compiled with.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_OPTIONS_H
#define LT_OPTIMIZE_OPTIONS_H

#include "lathe/solve.h"

typedef struct lt_settings {
    lt_solve_options opt;   /* opt.debug points at debug: a copy must set it again (lt_settings_copy) */
    lt_solve_debug   debug;
} lt_settings;

/* The caller's options over the defaults, checked; from NULL: the defaults. Pointers in them are borrowed. */
lt_status lt_settings_take(const lt_solve_options *from, lt_settings *to);
/* For what outlives the options it was made with. */
void      lt_settings_copy(const lt_solve_options *from, lt_settings *to);
/* Never NULL. */
const lt_solve_debug *lt_debug_of(const lt_solve_options *opt);

#endif
