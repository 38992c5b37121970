/* Reading JSON: one walk that checks, the same walk that looks up. SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/json_read.h"

#include "base/options.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 64, NUMBER_BYTES = 64 };

static const char *skip_blank(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
    return at;
}

/* ---- Values: each returns where it ends; NULL: *wrong is where it is none -------------------------------------------------------- */
static const char *skip_string(const char *at, const char **wrong)
{
    const char *begin = at;
    for (at++; *at != '"'; at++) {
        if (*at == '\\') at++;
        if (!*at || (unsigned char)*at < ' ') {
            *wrong = begin;
            return NULL;
        }
    }
    return at + 1;
}

static bool read_number(const char *at, size_t n, double *out)
{
    char text[NUMBER_BYTES];
    if (!n || n >= sizeof text || !strchr("-0123456789", *at) || strspn(at, "0123456789+-.eE") < n) return false;
    memcpy(text, at, n);
    text[n] = 0;
    return lt_text_real(text, out);
}

static const char *skip_plain(const char *at, const char **wrong)
{
    const size_t n = strcspn(at, ",]} \t\r\n");
    double v;
    for (int i = 0; i < 3; i++) {
        static const char *const words[] = { "true", "false", "null" };
        if (n == strlen(words[i]) && !memcmp(at, words[i], n)) return at + n;
    }
    if (read_number(at, n, &v)) return at + n;
    *wrong = at;
    return NULL;
}

static const char *skip_value(const char *at, int depth, const char **wrong);

/* "key": up to its value. */
static const char *skip_key(const char *at, const char **wrong)
{
    *wrong = at;
    if (*at != '"' || !(at = skip_string(at, wrong))) return NULL;
    at = skip_blank(at);
    *wrong = at;
    return *at == ':' ? skip_blank(at + 1) : NULL;
}

static const char *skip_list(const char *at, int depth, const char **wrong)
{
    const bool keys = *at == '{';
    const char end = keys ? '}' : ']';
    at = skip_blank(at + 1);
    if (*at == end) return at + 1;
    for (;;) {
        if (keys && !(at = skip_key(at, wrong))) return NULL;
        if (!(at = skip_value(at, depth + 1, wrong))) return NULL;
        at = skip_blank(at);
        if (*at == end) return at + 1;
        *wrong = at;
        if (*at != ',') return NULL;
        at = skip_blank(at + 1);
    }
}

static const char *skip_value(const char *at, int depth, const char **wrong)
{
    *wrong = at;
    if (depth > DEEPEST) return NULL;
    if (*at == '{' || *at == '[') return skip_list(at, depth, wrong);
    return *at == '"' ? skip_string(at, wrong) : skip_plain(at, wrong);
}

static const char *end_of(const char *value)
{
    const char *wrong;
    return skip_value(value, 0, &wrong);
}

lt_status lt_json_check(const char *name, const char *text, size_t n_bytes)
{
    const char *wrong = text, *end = skip_value(skip_blank(text), 0, &wrong);
    if (end) {
        wrong = skip_blank(end);
        if (wrong == text + n_bytes) return LT_OK;
    }
    int line = 1;
    for (const char *at = text; at < wrong; at++) line += *at == '\n';
    return LT_FAIL(LT_ERR_FORMAT, wrong >= text + n_bytes ? "%s:%d: no JSON: the file ends early" : "%s:%d: no JSON: '%.20s' is not expected here", name, line, wrong);
}

/* ---- Looking up ------------------------------------------------------------------------------------------------------------------- */
/* The next value of an object or array, from behind its bracket or behind a value; NULL: there is none. */
static const char *next_value(const char *at, const char **key)
{
    const char *wrong;
    at = skip_blank(at);
    if (*at == ',') at = skip_blank(at + 1);
    if (*at == ']' || *at == '}') return NULL;
    if (!key) return at;
    *key = at;
    return skip_key(at, &wrong);
}

bool lt_json_key_at(lt_json_at object, int64_t k, const char **key, size_t *key_bytes, lt_json_at *value)
{
    if (!object || *object != '{') return false;
    for (const char *at = object + 1, *begin, *wrong, *v; (v = next_value(at, &begin)); at = end_of(v)) {
        if (k-- > 0) continue;
        *key = begin + 1;
        *key_bytes = (size_t)(skip_string(begin, &wrong) - begin) - 2;
        *value = v;
        return true;
    }
    return false;
}

static lt_json_at member_of(lt_json_at object, const char *key, size_t key_bytes)
{
    if (!object || *object != '{') return NULL;
    for (const char *at = object + 1, *begin, *v; (v = next_value(at, &begin)); at = end_of(v))
        if (!strncmp(begin + 1, key, key_bytes) && begin[1 + key_bytes] == '"') return v;
    return NULL;
}

lt_json_at lt_json_member(lt_json_at object, const char *key) { return member_of(object, key, strlen(key)); }

/* ---- Numbers ---------------------------------------------------------------------------------------------------------------------- */
static bool named_number(const char *at, double *out)
{
    static const struct { const char *name; double value; } names[] = { { "\"NaN\"", NAN }, { "\"Infinity\"", INFINITY }, { "\"-Infinity\"", -INFINITY } };
    for (size_t i = 0; i < LT_LEN(names); i++)
        if (!strncmp(at, names[i].name, strlen(names[i].name))) {
            *out = names[i].value;
            return true;
        }
    return false;
}

/* Numbers in order, into *out where that is wanted; false: something else is among them. */
static bool walk_numbers(const char *value, int64_t *n, double *out)
{
    double v;
    if (*value == '[') {
        for (const char *at = value + 1, *item; (item = next_value(at, NULL)); at = end_of(item))
            if (!walk_numbers(item, n, out)) return false;
        return true;
    }
    if (!named_number(value, &v) && !read_number(value, strcspn(value, ",]} \t\r\n"), &v)) return false;
    if (out) out[*n] = v;
    ++*n;
    return true;
}

int64_t lt_json_count(lt_json_at value)
{
    int64_t n = 0;
    return value && walk_numbers(value, &n, NULL) ? n : -1;
}

void lt_json_numbers(lt_json_at value, double *out)
{
    int64_t n = 0;
    (void)walk_numbers(value, &n, out);
}
