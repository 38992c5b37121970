/* Numbers as people read them; lt_double_text is in lathe/base.h. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_NUMBER_H
#define LT_BASE_NUMBER_H

#include "lathe/base.h"

#include <math.h>

/* NaN without a sign, which C libraries print. */
static inline double lt_plain(double v) { return isnan(v) ? (double)NAN : v; }

/* "1.50 MiB", "640 B". */
typedef struct lt_bytes_text { char s[24]; } lt_bytes_text;
lt_bytes_text lt_bytes_text_of(double bytes);

/* In what printf wrote of one number: the decimal sign of the host program's locale becomes a point. */
void lt_number_point(char *text);

#endif
