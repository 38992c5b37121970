/* Numbers and letters of a .nl file, written as text or in binary. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/nl.h"

#include "base/options.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lt_status lt_nl_fail(const lt_nl_cursor *c, const char *format, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (c->binary) return LT_FAIL(LT_ERR_FORMAT, "%s: byte %zu: %s", c->name, (size_t)(c->at - c->begin), text);
    return LT_FAIL(LT_ERR_FORMAT, "%s:%d: %s", c->name, c->line, text);
}

void lt_nl_end_line(lt_nl_cursor *c)
{
    if (c->binary) return;
    while (c->at < c->end && *c->at != '\n') c->at++;
}

/* Spaces, ends of lines and comments. */
static void skip_blank(lt_nl_cursor *c)
{
    for (; c->at < c->end; c->at++) {
        if (*c->at == '#') lt_nl_end_line(c);
        if (c->at == c->end) return;
        if (*c->at == '\n') c->line++;
        else if (*c->at != ' ' && *c->at != '\t' && *c->at != '\r') return;
    }
}

static lt_status take_bytes(lt_nl_cursor *c, const char *what, void *out, size_t bytes)
{
    if ((size_t)(c->end - c->at) < bytes) return lt_nl_fail(c, "the file ends where %s is expected", what);
    memcpy(out, c->at, bytes);
    c->at += bytes;
    return LT_OK;
}

lt_status lt_nl_letter(lt_nl_cursor *c, char *out)
{
    if (!c->binary) skip_blank(c);
    *out = c->at < c->end ? *c->at++ : 0;
    return LT_OK;
}

/* The word at this place, in text. */
static lt_status take_word(lt_nl_cursor *c, const char *what, char *word, size_t bytes)
{
    size_t n = 0;
    skip_blank(c);
    while (c->at < c->end && n + 1 < bytes && !strchr(" \t\r\n#", *c->at)) word[n++] = *c->at++;
    word[n] = 0;
    if (!n) return lt_nl_fail(c, "the file ends where %s is expected", what);
    return LT_OK;
}

lt_status lt_nl_number(lt_nl_cursor *c, const char *what, double *out)
{
    if (c->binary) {
        LT_TRY(take_bytes(c, what, out, sizeof *out));
    } else {
        char word[64];
        LT_TRY(take_word(c, what, word, sizeof word));
        if (!lt_text_real(word, out)) return lt_nl_fail(c, "'%s' where %s is expected", word, what);
    }
    return isnan(*out) ? lt_nl_fail(c, "%s is not a number", what) : LT_OK;
}

lt_status lt_nl_int(lt_nl_cursor *c, const char *what, int64_t least, int64_t most, int64_t *out)
{
    if (c->binary) {
        int32_t v = 0;
        LT_TRY(take_bytes(c, what, &v, sizeof v));
        *out = v;
    } else {
        double v;
        LT_TRY(lt_nl_number(c, what, &v));
        if (!(fabs(v) < 1e15) || v != floor(v)) return lt_nl_fail(c, "%g where %s, a whole number, is expected", v, what);
        *out = (int64_t)v;
    }
    if (*out >= least && *out <= most) return LT_OK;
    return lt_nl_fail(c, "%s is %" PRId64 ", expected %" PRId64 " to %" PRId64, what, *out, least, most);
}

lt_status lt_nl_short(lt_nl_cursor *c, const char *what, double *out)
{
    if (!c->binary) return lt_nl_number(c, what, out);
    int16_t v = 0;
    LT_TRY(take_bytes(c, what, &v, sizeof v));
    *out = v;
    return LT_OK;
}

lt_status lt_nl_text(lt_nl_cursor *c, const char *what, const char **out, int64_t *length)
{
    if (c->binary) {
        LT_TRY(lt_nl_int(c, what, 0, c->end - c->at, length));
        *out = c->at;
        if (*length > c->end - c->at) return lt_nl_fail(c, "the file ends inside %s", what);
        c->at += *length;
        return LT_OK;
    }
    skip_blank(c);
    *out = c->at;
    while (c->at < c->end && !strchr(" \t\r\n#", *c->at)) c->at++;
    *length = c->at - *out;
    return LT_OK;
}
