/* Growing, escaped HTML text. SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void lt_markup_release(lt_markup *m)
{
    lt_free(m->text);
    *m = (lt_markup){ 0 };
}

static bool reserve(lt_markup *m, size_t more)
{
    if (m->status) return false;
    if (m->length + more < m->capacity) return true;
    size_t capacity = LT_MAX(m->capacity * 2, m->length + more + 1);
    capacity = LT_MAX(capacity, (size_t)4096);
    char *grown = lt_realloc(m->text, capacity);
    if (!grown) {
        m->status = LT_ERR_MEMORY;
        return false;
    }
    m->text = grown;
    m->capacity = capacity;
    return true;
}

void lt_markup_bytes(lt_markup *m, const char *bytes, size_t n)
{
    if (!reserve(m, n)) return;
    memcpy(m->text + m->length, bytes, n);
    m->length += n;
    m->text[m->length] = '\0';
}

void lt_markup_raw(lt_markup *m, const char *html) { lt_markup_bytes(m, html, strlen(html)); }

/* How `c` is written inside text and quoted attributes; NULL = as it is. Control characters other
   than tab and newline are not allowed in HTML at all. */
static const char *escape(unsigned char c)
{
    switch (c) {
    case '&':  return "&amp;";
    case '<':  return "&lt;";
    case '>':  return "&gt;";
    case '"':  return "&quot;";
    case '\'': return "&#39;";
    default:   return (c < 32 && c != '\t' && c != '\n') || c == 127 ? "\xef\xbf\xbd" : NULL;
    }
}

/* Length of the UTF-8 sequence at s, 0 when it is not one. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    if (s[0] >= 0xf5) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return n;
}

void lt_markup_text(lt_markup *m, const char *text)
{
    if (!text) return;
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        size_t n = utf8_length(s);
        const char *special = n == 1 ? escape(*s) : n == 0 ? "\xef\xbf\xbd" : NULL;
        if (special) lt_markup_raw(m, special);
        else lt_markup_bytes(m, (const char *)s, n);
        s += n ? n : 1;
    }
}

void lt_markup_format(lt_markup *m, const char *format, ...)
{
    char small[512];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(small, sizeof small, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof small) {
        if (!m->status) m->status = LT_FAIL(LT_ERR_INTERNAL, "report: %d bytes of markup in one piece", n);
        return;
    }
    lt_markup_bytes(m, small, (size_t)n);
}

void lt_markup_coord(lt_markup *m, double value)
{
    long long hundredths = llround(LT_MIN(LT_MAX(value, -1e9), 1e9) * 100);
    long long whole = hundredths / 100, rest = llabs(hundredths % 100);
    lt_markup_format(m, hundredths < 0 && whole == 0 ? "-%lld" : "%lld", whole);
    if (rest) lt_markup_format(m, rest % 10 ? ".%02lld" : ".%lld", rest % 10 ? rest : rest / 10);
}

void lt_markup_attribute(lt_markup *m, const char *name, double value)
{
    lt_markup_format(m, " %s=\"", name);
    lt_markup_coord(m, value);
    lt_markup_raw(m, "\"");
}

lt_number_text lt_number_str(double value, int digits)
{
    lt_number_text t;
    snprintf(t.s, sizeof t.s, "%.*g", digits, value);
    lt_number_point(t.s);
    return t;
}
