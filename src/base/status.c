/* The status names, this thread's error text, and the version.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_text[LT_ERROR_TEXT_BYTES];

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

static bool steers_terminal(const unsigned char *s, size_t n)
{
    if (n == 1) return (s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f;
    if (n == 2) return s[0] == 0xc2 && s[1] < 0xa0;                                      /* U+0080 to U+009F */
    if (n == 3 && s[0] == 0xe2 && s[1] == 0x80) return s[2] >= 0xaa && s[2] <= 0xae;     /* U+202A to U+202E */
    return n == 3 && s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;       /* U+2066 to U+2069 */
}

void lt_text_disarm(char *text)
{
    for (unsigned char *s = (unsigned char *)text; *s;) {
        size_t n = character_bytes(s);
        if (!n ? *s >= 0x80 && *s < 0xa0 : steers_terminal(s, n)) memset(s, '?', n ? n : 1);
        s += n ? n : 1;
    }
}

void lt_error_set(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text);
    lt_text_disarm(error_text);
}

lt_status lt_fail(lt_status s, const char *text)
{
    lt_error_set(text);
    return s;
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
    const char *place = strrchr(text, '('), *colon = place ? strrchr(place, ':') : NULL;
    if (colon && place > text && place[-1] == ' ' && end[-1] == ')' && colon + 1 + strspn(colon + 1, "0123456789") == end - 1) end = place - 1;
    snprintf(out, bytes, "%.*s", (int)(end - text), text);
}

lt_status lt_fail_at(lt_status s, const char *file, int line, const char *format, ...)
{
    /* Built aside first: an argument may be the previous error text itself. The place comes
       last and is kept whole when a long message has to be cut. */
    char text[LT_ERROR_TEXT_BYTES], place[160];
    int place_length = snprintf(place, sizeof place, " (%s:%d)", file, line);
    if (place_length >= (int)sizeof place) place_length = (int)sizeof place - 1;
    size_t room = sizeof text - (size_t)place_length;
    int head = snprintf(text, room, "%s: ", lt_status_name(s));
    va_list args;
    va_start(args, format);
    vsnprintf(text + head, room - (size_t)head, format, args);
    va_end(args);
    strcat(text, place);
    lt_text_disarm(text);
    memcpy(error_text, text, strlen(text) + 1);
    return s;
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *lt_version(void)
{
    return VERSION_TEXT(LT_VERSION_MAJOR, LT_VERSION_MINOR, LT_VERSION_PATCH);
}
