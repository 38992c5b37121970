/* Fuzz target: any sequence of calls of the JSON writer, any bytes as its texts. What it accepts is one JSON value that a strict reader
   takes, and a mistake of its caller is a status. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "lathe/json.h"

#include <string.h>

/* ---- A strict reader: RFC 8259 and nothing else ---- */
static const char *skip_space(const char *s)
{
    while (*s == ' ' || *s == '\n') s++;
    return s;
}

static const char *read_string(const char *s)
{
    if (*s++ != '"') return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20) return NULL;
        if (*s != '\\') continue;
        if (*++s == 'u') {
            for (int i = 0; i < 4; i++)
                if (!strchr("0123456789abcdefABCDEF", *++s) || !*s) return NULL;
        } else if (!*s || !strchr("\"\\/bfnrt", *s)) return NULL;
    }
    return s + 1;
}

static const char *read_number(const char *s)
{
    s += *s == '-';
    size_t digits = strspn(s, "0123456789");
    if (!digits || (*s == '0' && digits > 1)) return NULL;
    s += digits;
    if (*s == '.') {
        if (!(digits = strspn(++s, "0123456789"))) return NULL;
        s += digits;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        if (!(digits = strspn(s, "0123456789"))) return NULL;
        s += digits;
    }
    return s;
}

static const char *read_value(const char *s);

static const char *read_members(const char *s, char end)
{
    for (s = skip_space(s + 1); *s != end;) {
        if (end == '}') {
            if (!(s = read_string(s)) || *(s = skip_space(s)) != ':') return NULL;
            s++;
        }
        if (!(s = read_value(s))) return NULL;
        s = skip_space(s);
        if (*s == ',') s = skip_space(s + 1);
        else if (*s != end) return NULL;
    }
    return s + 1;
}

static const char *read_value(const char *s)
{
    static const char *const words[] = { "true", "false", "null" };
    s = skip_space(s);
    for (int i = 0; i < 3; i++)
        if (!strncmp(s, words[i], strlen(words[i]))) return s + strlen(words[i]);
    return *s == '{' ? read_members(s, '}') : *s == '[' ? read_members(s, ']') : *s == '"' ? read_string(s) : read_number(s);
}

/* ---- Calls ---- */
static void call(lt_json *j, const uint8_t *d, const char *text)
{
    uint64_t bits;
    double real;
    memcpy(&bits, d + 1, sizeof bits);
    memcpy(&real, d + 1, sizeof real);
    switch (d[0] % 10) {
    case 0: lt_json_object_begin(j); break;
    case 1: lt_json_object_end(j); break;
    case 2: lt_json_array_begin(j); break;
    case 3: lt_json_array_end(j); break;
    case 4: lt_json_key(j, text); break;
    case 5: lt_json_string(j, text); break;
    case 6: lt_json_double(j, real); break;
    case 7: lt_json_int(j, (int64_t)bits); break;
    case 8: lt_json_bool(j, bits & 1); break;
    default: lt_json_null(j); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    enum { RECORD = 9 };
    if (n_bytes < 1) return 0;
    int64_t live = lt_alloc_live();
    lt_json *j;
    LT_FUZZ_REQUIRE(lt_json_create(data[0] % 4, &j) == LT_OK);
    for (size_t at = 1; at + RECORD <= n_bytes; at += RECORD) {
        char text[RECORD] = { 0 };
        memcpy(text, data + at + 1, RECORD - 1);
        call(j, data + at, text);
    }
    if (lt_json_finish(j) == LT_OK) {
        const char *end = read_value(lt_json_text(j));
        LT_FUZZ_REQUIRE(end && !*skip_space(end));
    } else LT_FUZZ_REQUIRE(lt_error_text()[0]);
    lt_json_destroy(j);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    /* {"key": [1, "text", 0.5, true, null], "k": {}} in each style; a string alone; what is not closed. */
    static const char calls[] = "\0........" "\4key\0....." "\2........" "\7\1\0\0\0\0\0\0\0" "\5te\n\"xt\0." "\6\0\0\0\0\0\0\xe0\x3f" "\x08\1......."
                                "\x09........" "\3........" "\4k\0......." "\0........" "\1........" "\1........";
    static const char text[] = "\5\xff\xc2\xed\xa0\x80\x1b\x7f\xf0";
    if (index > 5 || capacity < sizeof calls) return 0;
    out[0] = (uint8_t)index;
    size_t n = index == 4 ? sizeof text - 1 : sizeof calls - 1 - (index == 5 ? 9 : 0);
    memcpy(out + 1, index == 4 ? text : calls, n);
    return n + 1;
}
