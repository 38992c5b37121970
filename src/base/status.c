/* The status names, this thread's last failure, and the version.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"

#include "base/sized.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NO_PLACE { .size = sizeof(lt_error_place), .index = -1 }
static _Thread_local char error_text[LT_ERROR_TEXT_BYTES];
static _Thread_local lt_error_place error_place = NO_PLACE;

static const char *const status_names[] = {
    [LT_OK] = "ok",
    [LT_ERR_ARGUMENT] = "argument",
    [LT_ERR_SHAPE] = "shape",
    [LT_ERR_TYPE] = "type",
    [LT_ERR_MEMORY] = "memory",
    [LT_ERR_IO] = "io",
    [LT_ERR_FORMAT] = "format",
    [LT_ERR_UNSUPPORTED] = "unsupported",
    [LT_ERR_DEVICE] = "device",
    [LT_ERR_NUMERIC] = "numeric",
    [LT_ERR_MISMATCH] = "mismatch",
    [LT_ERR_CANCELLED] = "cancelled",
    [LT_ERR_INTERNAL] = "internal",
};
_Static_assert(LT_LEN(status_names) == LT_STATUS_COUNT, "one name per status");

const char *lt_status_name(lt_status s)
{
    return (unsigned)s < LT_STATUS_COUNT ? status_names[s] : "?";
}

const char *lt_error_text(void)
{
    return error_text;
}

/* Bytes of the UTF-8 character at `s`; 0 where none begins. */
static size_t character_bytes(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return n;
}

bool lt_text_steers(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 1) return (s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f;
    if (n == 2) return s[0] == 0xc2 && s[1] < 0xa0;                                      /* U+0080 to U+009F */
    if (n == 3 && s[0] == 0xe2 && s[1] == 0x80) return s[2] >= 0xaa && s[2] <= 0xae;     /* U+202A to U+202E */
    return n == 3 && s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;       /* U+2066 to U+2069 */
}

void lt_text_disarm(char *text)
{
    for (unsigned char *s = (unsigned char *)text; *s;) {
        size_t n = character_bytes(s);
        if (!n ? *s >= 0x80 && *s < 0xa0 : lt_text_steers((const char *)s, n)) memset(s, '?', n ? n : 1);
        s += n ? n : 1;
    }
}

void lt_error_set(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text);
    lt_text_disarm(error_text);
    error_place = (lt_error_place)NO_PLACE;
}

lt_status lt_fail(lt_status s, const char *text)
{
    lt_error_set(text);
    return s;
}

void lt_error_keep(lt_error *out)
{
    memcpy(out->text, error_text, strlen(error_text) + 1);
    out->place = error_place;
}

void lt_error_restore(const lt_error *e)
{
    lt_error_set(e->text);
    error_place = e->place;
}

void lt_error_reason(char *out, size_t bytes)
{
    const char *text = error_text, *end = text + strlen(text);
    for (int s = 0; s < LT_STATUS_COUNT; s++) {
        size_t n = strlen(status_names[s]);
        if (strncmp(text, status_names[s], n) || strncmp(text + n, ": ", 2)) continue;
        text += n + 2;
        break;
    }
    const char *source = strrchr(text, '('), *colon = source ? strrchr(source, ':') : NULL;
    if (colon && source > text && source[-1] == ' ' && end[-1] == ')' && colon + 1 + strspn(colon + 1, "0123456789") == end - 1) end = source - 1;
    snprintf(out, bytes, "%.*s", (int)(end - text), text);
}

lt_status lt_fail_at(lt_status s, const char *file, int line, const char *format, ...)
{
    /* Built aside first: an argument may be the previous error text itself. The source line comes
       last and is kept whole when a long message has to be cut. */
    char text[LT_ERROR_TEXT_BYTES], source[160];
    int source_length = snprintf(source, sizeof source, " (%s:%d)", file, line);
    if (source_length >= (int)sizeof source) source_length = (int)sizeof source - 1;
    size_t room = sizeof text - (size_t)source_length;
    int head = snprintf(text, room, "%s: ", lt_status_name(s));
    va_list args;
    va_start(args, format);
    vsnprintf(text + head, room - (size_t)head, format, args);
    va_end(args);
    strcat(text, source);
    lt_error_set(text);
    return s;
}

/* ---- Places ----------------------------------------------------------------- */
static const char *const place_names[] = {
    [LT_PLACE_NONE] = "none",
    [LT_PLACE_ARGUMENT] = "argument",
    [LT_PLACE_OPTION] = "option",
    [LT_PLACE_FILE] = "file",
    [LT_PLACE_LINE] = "line",
    [LT_PLACE_ROW] = "row",
    [LT_PLACE_OBJECTIVE] = "objective",
    [LT_PLACE_INEQUALITY] = "inequality",
    [LT_PLACE_EQUALITY] = "equality",
};
_Static_assert(LT_LEN(place_names) == LT_PLACE_KIND_COUNT, "one name per kind of place");

const char *lt_place_kind_name(lt_place_kind k)
{
    return (unsigned)k < LT_PLACE_KIND_COUNT ? place_names[k] : "?";
}

void lt_error_get_place_into(lt_error_place *out)
{
    LT_GIVE(out, &error_place);
}

/* The place of the last failure, to be filled in. */
static lt_error_place *begin_place(lt_place_kind kind, const char *name)
{
    error_place = (lt_error_place)NO_PLACE;
    error_place.kind = kind;
    snprintf(error_place.name, sizeof error_place.name, "%s", name ? name : "");
    return &error_place;
}

lt_status lt_place_argument(lt_status s, const char *name) { return begin_place(LT_PLACE_ARGUMENT, name), s; }
lt_status lt_place_option(lt_status s, const char *name) { return begin_place(LT_PLACE_OPTION, name), s; }
lt_status lt_place_file(lt_status s, const char *path) { return begin_place(LT_PLACE_FILE, path), s; }
lt_status lt_place_objective(lt_status s) { return begin_place(LT_PLACE_OBJECTIVE, ""), s; }

lt_status lt_place_line(lt_status s, const char *name, int64_t line, int64_t column)
{
    lt_error_place *p = begin_place(LT_PLACE_LINE, name);
    p->line = line;
    p->column = column;
    return s;
}

lt_status lt_place_row(lt_status s, const char *array, int64_t row, int64_t column)
{
    lt_error_place *p = begin_place(LT_PLACE_ROW, array);
    p->index = row;
    p->column = column;
    return s;
}

lt_status lt_place_constraint(lt_status s, bool equality, int64_t index)
{
    begin_place(equality ? LT_PLACE_EQUALITY : LT_PLACE_INEQUALITY, "")->index = index;
    return s;
}

lt_status lt_place_again(lt_status s, const lt_error_place *p) { return error_place = *p, s; }

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *lt_version(void)
{
    return VERSION_TEXT(LT_VERSION_MAJOR, LT_VERSION_MINOR, LT_VERSION_PATCH);
}
