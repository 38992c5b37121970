/* Numbers as text for people and files. SPDX-License-Identifier: BSD-3-Clause */
#include "base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lt_double_text(double value, char *buffer)
{
    if (isnan(value)) return snprintf(buffer, 32, "nan");
    if (isinf(value)) return snprintf(buffer, 32, value < 0 ? "-inf" : "inf");
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, 32, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    lt_number_point(buffer);
    return (int)strlen(buffer);
}

void lt_number_point(char *text)
{
    const char *sign = localeconv()->decimal_point;
    char *at = *sign && strcmp(sign, ".") ? strstr(text, sign) : NULL;
    if (!at) return;
    *at = '.'; /* a sign of several bytes becomes one */
    memmove(at + 1, at + strlen(sign), strlen(at + strlen(sign)) + 1);
}

lt_bytes_text lt_bytes_text_of(double bytes)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    lt_bytes_text t;
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++) bytes /= 1024;
    snprintf(t.s, sizeof t.s, u ? "%.2f %s" : "%.0f %s", bytes, unit[u]);
    return t;
}
