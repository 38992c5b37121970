/* What the option files share among themselves, and number parsing for other readers of text.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_OPTIONS_H
#define LT_BASE_OPTIONS_H

#include "lathe/options.h"

#include <limits.h>

/* The whole text as a number, with a decimal point in any locale; false when it is not one, is
   NaN, or overflows. "inf" is accepted. */
bool lt_text_real(const char *text, double *out);
bool lt_text_int(const char *text, int64_t *out); /* decimal only */

bool lt_range_holds(const lt_range *r, double v); /* without limits: any finite number */

lt_status lt_option_set_field(const lt_option *row, const char *value, void *field);
/* The failure for a name the table does not hold, with the nearest one it does. */
lt_status lt_option_unknown(const lt_option_table *t, const char *name);

#endif
