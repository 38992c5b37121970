/* Growing text. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/text.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

static bool grow(lt_text *t, size_t needed)
{
    size_t capacity = t->capacity ? t->capacity : 4096;
    while (capacity < needed) capacity *= 2;
    if (capacity == t->capacity) return true;
    char *s = lt_realloc(t->s, capacity);
    if (!s) return false;
    t->s = s;
    t->capacity = capacity;
    return true;
}

void lt_text_add(lt_text *t, const char *format, ...)
{
    va_list list, again;
    if (t->failed) return;
    va_start(list, format);
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, list);
    t->failed = n < 0 || !grow(t, t->length + (size_t)n + 1);
    if (!t->failed) t->length += (size_t)vsnprintf(t->s + t->length, (size_t)n + 1, format, again);
    va_end(again);
    va_end(list);
}

void lt_text_free(lt_text *t)
{
    lt_free(t->s);
    *t = (lt_text){ 0 };
}
