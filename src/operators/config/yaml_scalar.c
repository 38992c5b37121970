/* What an unquoted scalar of YAML means. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/yaml_scalar.h"

#include "base/options.h"
#include "base/status.h"

#include <ctype.h>
#include <string.h>

static bool is_one_of(const char *text, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(text, names[i])) return true;
    return false;
}

#define THREE_CASES(lower, title, upper) lower, title, upper
static const char *const nulls[] = { "", "~", THREE_CASES("null", "Null", "NULL") };
static const char *const trues[] = { THREE_CASES("yes", "Yes", "YES"), THREE_CASES("true", "True", "TRUE"), THREE_CASES("on", "On", "ON") };
static const char *const falses[] = { THREE_CASES("no", "No", "NO"), THREE_CASES("false", "False", "FALSE"), THREE_CASES("off", "Off", "OFF") };

/* The digits without underscores, which YAML 1.1 allows between them; false when it is too long. */
static bool strip(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text; text++) {
        if (*text == '_') continue;
        if (n + 1 >= size) return false;
        out[n++] = *text;
    }
    out[n] = 0;
    return true;
}

/* Digits of 0b, 0x and leading-zero octal numbers. */
static bool based_integer(const char *digits, int base, int64_t *out)
{
    uint64_t value = 0;
    if (!*digits) return false;
    for (; *digits; digits++) {
        int d = isdigit((unsigned char)*digits) ? *digits - '0' : isxdigit((unsigned char)*digits) ? tolower(*digits) - 'a' + 10 : 99;
        if (d >= base || value > ((uint64_t)INT64_MAX - (uint64_t)d) / (uint64_t)base) return false;
        value = value * (uint64_t)base + (uint64_t)d;
    }
    *out = (int64_t)value;
    return true;
}

static bool as_integer(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    const char *digits = text + (negative || *text == '+');
    if (!isdigit((unsigned char)*digits)) return false;
    bool ok;
    if (digits[0] == '0' && digits[1] == 'b') ok = based_integer(digits + 2, 2, out);
    else if (digits[0] == '0' && digits[1] == 'x') ok = based_integer(digits + 2, 16, out);
    else if (digits[0] == '0' && digits[1]) ok = based_integer(digits + 1, 8, out);
    else return lt_text_int(text, out);
    if (ok && negative) *out = -*out;
    return ok;
}

static bool as_real(const char *text, double *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (is_one_of(digits, (const char *const[]){ ".inf", ".Inf", ".INF" }, 3)) {
        *out = *text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (is_one_of(text, (const char *const[]){ ".nan", ".NaN", ".NAN" }, 3)) {
        *out = NAN;
        return true;
    }
    /* Decimal digits only: C would also read "0x1p3", "infinity" and "nan". */
    bool any = false;
    for (const char *c = digits; *c; c++) {
        if (!strchr("0123456789.eE+-", *c)) return false;
        any |= isdigit((unsigned char)*c) != 0;
    }
    return any && (isdigit((unsigned char)*digits) || *digits == '.') && lt_text_real(text, out);
}

void lt_yaml_resolve(lt_yaml_node *n, const char *text)
{
    char digits[64];
    n->text = text;
    n->kind = LT_YAML_TEXT;
    if (is_one_of(text, nulls, LT_LEN(nulls))) n->kind = LT_YAML_NULL;
    else if (is_one_of(text, trues, LT_LEN(trues)) || is_one_of(text, falses, LT_LEN(falses))) {
        n->kind = LT_YAML_BOOL;
        n->integer = is_one_of(text, trues, LT_LEN(trues));
    } else if (*text != '_' && strip(text, digits, sizeof digits)) {
        if (as_integer(digits, &n->integer)) {
            n->kind = LT_YAML_INT;
            n->real = (double)n->integer;
        } else if (as_real(digits, &n->real)) n->kind = LT_YAML_REAL;
    }
}

lt_status lt_yaml_scalar(lt_arena *arena, const char *text, bool plain, const char *source, lt_yaml_node **out)
{
    lt_yaml_node *n = *out = lt_arena_alloc(arena, sizeof *n);
    char *copy = lt_arena_strdup(arena, text), *from = lt_arena_strdup(arena, source);
    if (!n || !copy || !from) return LT_ERR_MEMORY;
    n->source = from;
    n->kind = LT_YAML_TEXT;
    n->text = copy;
    if (plain) lt_yaml_resolve(n, copy);
    return LT_OK;
}
