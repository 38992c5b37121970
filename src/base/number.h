/* Numbers as people read them; lt_double_text is in lathe/base.h. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_NUMBER_H
#define LT_BASE_NUMBER_H

#include "lathe/base.h"

#include <math.h>

/* NaN without a sign, which C libraries print. */
static inline double lt_plain(double v) { return isnan(v) ? (double)NAN : v; }

int lt_ascending(const void *a, const void *b); /* doubles, for qsort */

/* "1.50 GiB" */
typedef struct lt_bytes_text { char s[24]; } lt_bytes_text;
lt_bytes_text lt_bytes_str(double bytes);

/* In what printf wrote of one number: the decimal sign of the host program's locale becomes a point. */
void lt_number_point(char *text);

#endif
