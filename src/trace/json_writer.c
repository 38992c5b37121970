/* The JSON writer. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/json.h"

#include "base/alloc.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef enum where { AT_TOP, IN_ARRAY, IN_OBJECT } where; /* what the next value belongs to */

struct lt_json {
    FILE     *file;                /* NULL: text goes to memory */
    char     *text;
    size_t    len, cap;
    int       style, depth;
    unsigned char level[MAX_DEPTH + 1]; /* a `where` each */
    bool      started[MAX_DEPTH + 1];   /* something was written at this level */
    bool      after_key;
    lt_status status;              /* the first failure; its text is in `why` */
    char      why[160];
};

static void fail(lt_json *j, lt_status s, const char *why)
{
    if (j->status) return;
    j->status = s;
    snprintf(j->why, sizeof j->why, "%s", why);
}

static void fail_to_write(lt_json *j)
{
    char why[sizeof j->why];
    snprintf(why, sizeof why, "json: cannot write: %s", strerror(errno));
    fail(j, LT_ERR_IO, why);
}

static bool reserve(lt_json *j, size_t more)
{
    if (j->len + more + 1 <= j->cap) return true;
    size_t cap = (j->cap + more + 1) * 2;
    char *text = lt_realloc(j->text, cap);
    if (!text) { fail(j, LT_ERR_MEMORY, "json: no memory for the text"); return false; }
    j->text = text;
    j->cap = cap;
    return true;
}

static void put(lt_json *j, const char *s, size_t n)
{
    if (j->status) return;
    if (j->file) {
        if (fwrite(s, 1, n, j->file) != n) fail_to_write(j);
        return;
    }
    if (!reserve(j, n)) return;
    memcpy(j->text + j->len, s, n);
    j->len += n;
    j->text[j->len] = 0;
}

static void put_text(lt_json *j, const char *s) { put(j, s, strlen(s)); }

static void new_line(lt_json *j)
{
    if (!(j->style & LT_JSON_INDENT)) return;
    put(j, "\n", 1);
    for (int i = 0; i < j->depth; i++) put(j, "  ", 2);
}

/* Comma, line break and legality before a value. */
static bool before_value(lt_json *j)
{
    if (j->status) return false;
    where w = j->level[j->depth];
    if (w == IN_OBJECT && !j->after_key) { fail(j, LT_ERR_INTERNAL, "json: a value in an object without a key"); return false; }
    if (w == AT_TOP && j->started[0]) { fail(j, LT_ERR_INTERNAL, "json: a second value after the document"); return false; }
    if (w == IN_ARRAY) {
        if (j->started[j->depth]) put(j, ",", 1);
        new_line(j);
    }
    j->started[j->depth] = true;
    j->after_key = false;
    return true;
}

static void open_level(lt_json *j, where w, const char *bracket)
{
    if (!before_value(j)) return;
    if (j->depth == MAX_DEPTH) { fail(j, LT_ERR_INTERNAL, "json: nested deeper than 64"); return; }
    put_text(j, bracket);
    j->depth++;
    j->level[j->depth] = (unsigned char)w;
    j->started[j->depth] = false;
}

static void close_level(lt_json *j, where w, const char *bracket)
{
    if (j->status) return;
    if (j->level[j->depth] != w || j->after_key) { fail(j, LT_ERR_INTERNAL, "json: an end that matches no begin"); return; }
    bool had = j->started[j->depth];
    j->depth--;
    if (had) new_line(j);
    put_text(j, bracket);
}

void lt_json_object_begin(lt_json *j) { open_level(j, IN_OBJECT, "{"); }
void lt_json_object_end(lt_json *j) { close_level(j, IN_OBJECT, "}"); }
void lt_json_array_begin(lt_json *j) { open_level(j, IN_ARRAY, "["); }
void lt_json_array_end(lt_json *j) { close_level(j, IN_ARRAY, "]"); }

/* Bytes of the UTF-8 sequence at s, 0 when it is not one (overlong, surrogate, beyond U+10FFFF). */
static int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return n;
}

static void put_quoted(lt_json *j, const char *text)
{
    static const char short_form[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    put(j, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s && !j->status;) {
        const char *at = strchr(short_form, *s);
        int n = utf8_length(s);
        if (at) {
            put(j, (char[]){ '\\', letter[at - short_form] }, 2);
            s++;
        } else if (*s < 0x20) {
            char escape[8];
            put(j, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *s));
            s++;
        } else if (!n) {
            put_text(j, "\xef\xbf\xbd");
            s++;
        } else {
            put(j, (const char *)s, (size_t)n);
            s += n;
        }
    }
    put(j, "\"", 1);
}

void lt_json_key(lt_json *j, const char *key)
{
    if (j->status) return;
    if (j->level[j->depth] != IN_OBJECT || j->after_key) { fail(j, LT_ERR_INTERNAL, "json: a key where none belongs"); return; }
    if (j->started[j->depth]) put(j, ",", 1);
    j->started[j->depth] = true;
    new_line(j);
    put_quoted(j, key);
    put_text(j, j->style & LT_JSON_INDENT ? ": " : ":");
    j->after_key = true;
}

void lt_json_string(lt_json *j, const char *text)
{
    if (!text) { lt_json_null(j); return; }
    if (before_value(j)) put_quoted(j, text);
}

void lt_json_double(lt_json *j, double value)
{
    if (!isfinite(value)) {
        if (j->style & LT_JSON_NONFINITE_TEXT)
            lt_json_string(j, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        else
            lt_json_null(j);
        return;
    }
    char digits[32];
    int n = lt_double_text(value, digits);
    if (before_value(j)) put(j, digits, (size_t)n);
}

void lt_json_int(lt_json *j, int64_t value)
{
    char digits[32];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)value);
    if (before_value(j)) put(j, digits, (size_t)n);
}

void lt_json_bool(lt_json *j, bool value) { if (before_value(j)) put_text(j, value ? "true" : "false"); }
void lt_json_null(lt_json *j) { if (before_value(j)) put_text(j, "null"); }

void lt_json_field_string(lt_json *j, const char *key, const char *text) { lt_json_key(j, key); lt_json_string(j, text); }
void lt_json_field_double(lt_json *j, const char *key, double value) { lt_json_key(j, key); lt_json_double(j, value); }
void lt_json_field_int(lt_json *j, const char *key, int64_t value) { lt_json_key(j, key); lt_json_int(j, value); }
void lt_json_field_bool(lt_json *j, const char *key, bool value) { lt_json_key(j, key); lt_json_bool(j, value); }

lt_status lt_json_create_file(FILE *file, int style, lt_json **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "json: out is NULL");
    *out = NULL;
    lt_json *j = lt_calloc(1, sizeof *j);
    if (!j) return LT_FAIL(LT_ERR_MEMORY, "json: %zu bytes for the writer", sizeof *j);
    j->file = file;
    j->style = style;
    *out = j;
    return LT_OK;
}

lt_status lt_json_create(int style, lt_json **out) { return lt_json_create_file(NULL, style, out); }

void lt_json_destroy(lt_json *j)
{
    if (!j) return;
    lt_free(j->text);
    lt_free(j);
}

lt_status lt_json_finish(lt_json *j)
{
    LT_NEED(j);
    if (j->depth || !j->started[0]) fail(j, LT_ERR_INTERNAL, "json: the document is not complete");
    if (j->file && !j->status) {
        put(j, "\n", 1);
        if (fflush(j->file)) fail_to_write(j);
    }
    return j->status ? LT_FAIL(j->status, "%s", j->why) : LT_OK;
}

const char *lt_json_text(const lt_json *j) { return j->text ? j->text : ""; }
