/* Numbers as text for people and files. SPDX-License-Identifier: BSD-3-Clause */
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lt_double_text(double value, char *buffer)
{
    if (isnan(value)) return snprintf(buffer, 32, "nan");
    if (isinf(value)) return snprintf(buffer, 32, value < 0 ? "-inf" : "inf");
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(buffer, 32, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    for (char *p = buffer; *p; p++) /* the locale's decimal sign */
        if (!strchr("0123456789+-e", *p)) *p = '.';
    return n;
}
