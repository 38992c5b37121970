/* Cuts circuit texts into words. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/script.h"

#include "base/options.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char ahead(const lt_script *s, size_t n) { return s->at + n < s->n_bytes ? s->text[s->at + n] : 0; }

static void step(lt_script *s)
{
    if (s->text[s->at++] == '\n') s->line++, s->column = 1;
    else s->column++;
}

/* Blanks and comments. False when a comment does not end. */
static bool skip_blanks(lt_script *s)
{
    while (s->at < s->n_bytes) {
        char c = s->text[s->at];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') step(s);
        else if (c == '/' && ahead(s, 1) == '/') while (s->at < s->n_bytes && s->text[s->at] != '\n') step(s);
        else if (c == '/' && ahead(s, 1) == '*') {
            step(s), step(s);
            while (s->at < s->n_bytes && !(s->text[s->at] == '*' && ahead(s, 1) == '/')) step(s);
            if (s->at >= s->n_bytes) return false;
            step(s), step(s);
        } else return true;
    }
    return true;
}

static void read_number(lt_script *s, lt_script_word *w)
{
    char copy[64];
    w->kind = LT_SCRIPT_NUMBER;
    w->whole = true;
    while (is_digit(ahead(s, 0)) || ahead(s, 0) == '_') step(s);
    if (ahead(s, 0) == '.' && ahead(s, 1) != '.') {
        w->whole = false;
        do step(s);
        while (is_digit(ahead(s, 0)));
    }
    if ((ahead(s, 0) == 'e' || ahead(s, 0) == 'E') && (is_digit(ahead(s, 1)) || ((ahead(s, 1) == '+' || ahead(s, 1) == '-') && is_digit(ahead(s, 2))))) {
        w->whole = false;
        step(s), step(s);
        while (is_digit(ahead(s, 0))) step(s);
    }
    w->length = (int)(s->text + s->at - w->text);
    int n = 0;
    for (int i = 0; i < w->length && n < (int)sizeof copy - 1; i++)
        if (w->text[i] != '_') copy[n++] = w->text[i];
    copy[n] = 0;
    if (n == (int)sizeof copy - 1 || !lt_text_real(copy, &w->value)) w->kind = LT_SCRIPT_BAD;
}

static void read_string(lt_script *s, lt_script_word *w)
{
    char quote = s->text[s->at];
    step(s);
    w->text = s->text + s->at;
    while (s->at < s->n_bytes && s->text[s->at] != quote && s->text[s->at] != '\n') step(s);
    w->length = (int)(s->text + s->at - w->text);
    w->kind = ahead(s, 0) == quote ? LT_SCRIPT_STRING : LT_SCRIPT_BAD;
    if (w->kind == LT_SCRIPT_STRING) step(s);
}

static void read_sign(lt_script *s, lt_script_word *w)
{
    static const struct { char text[3]; int sign; } two[] = { { "**", LT_SIGN_POWER }, { "->", LT_SIGN_ARROW }, { "==", LT_SIGN_EQUAL } };
    w->kind = LT_SCRIPT_SIGN;
    w->sign = (unsigned char)s->text[s->at];
    for (size_t i = 0; i < LT_LEN(two); i++)
        if (s->text[s->at] == two[i].text[0] && ahead(s, 1) == two[i].text[1]) {
            w->sign = two[i].sign;
            step(s);
            break;
        }
    step(s);
    w->length = (int)(s->text + s->at - w->text);
    if (w->sign < 32 || w->sign == 127) w->kind = LT_SCRIPT_BAD;
}

void lt_script_next(lt_script *s)
{
    bool ended = skip_blanks(s);
    lt_script_word w = { .kind = LT_SCRIPT_END, .text = s->text + s->at, .line = s->line, .column = s->column };
    if (!ended) w.kind = LT_SCRIPT_BAD;
    else if (s->at >= s->n_bytes) w.kind = LT_SCRIPT_END;
    else if (is_letter(s->text[s->at])) {
        w.kind = LT_SCRIPT_NAME;
        while (is_letter(ahead(s, 0)) || is_digit(ahead(s, 0))) step(s);
        w.length = (int)(s->text + s->at - w.text);
    } else if (is_digit(s->text[s->at]) || (s->text[s->at] == '.' && is_digit(ahead(s, 1)))) read_number(s, &w);
    else if (s->text[s->at] == '"' || s->text[s->at] == '\'') read_string(s, &w);
    else read_sign(s, &w);
    s->word = w;
}

void lt_script_skip_line(lt_script *s)
{
    while (s->at < s->n_bytes && s->text[s->at] != '\n') step(s);
    lt_script_next(s);
}

void lt_script_open(lt_script *s, const char *name, const char *text, size_t n_bytes)
{
    *s = (lt_script){ .name = name, .text = text, .n_bytes = n_bytes, .line = 1, .column = 1 };
    lt_script_next(s);
}

bool lt_script_word_is(const lt_script_word *w, const char *name)
{
    return w->kind == LT_SCRIPT_NAME && strlen(name) == (size_t)w->length && !memcmp(w->text, name, (size_t)w->length);
}

bool lt_script_sees(const lt_script *s, int sign) { return s->word.kind == LT_SCRIPT_SIGN && s->word.sign == sign; }

bool lt_script_takes(lt_script *s, int sign)
{
    if (!lt_script_sees(s, sign)) return false;
    lt_script_next(s);
    return true;
}

lt_status lt_script_expect(lt_script *s, int sign, const char *where)
{
    if (lt_script_takes(s, sign)) return LT_OK;
    return lt_script_fail(s, &s->word, "%s, expected '%c' %s", lt_script_word_str(&s->word).s, sign, where);
}

lt_status lt_script_deeper(lt_script *s)
{
    if (++s->depth <= LT_SCRIPT_MAX_DEPTH) return LT_OK;
    return lt_script_fail(s, &s->word, "more than %d levels inside each other", LT_SCRIPT_MAX_DEPTH);
}

lt_status lt_script_fail(const lt_script *s, const lt_script_word *at, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return LT_FAIL(LT_ERR_FORMAT, "%s, line %d, column %d: %s", s->name, at->line, at->column, text);
}

lt_script_word_text lt_script_word_str(const lt_script_word *w)
{
    lt_script_word_text t;
    int n = LT_MIN(w->length, 32);
    for (int i = 0; i < n; i++)
        if ((unsigned char)w->text[i] < 32 || w->text[i] == 127) n = i;
    if (w->kind == LT_SCRIPT_END) snprintf(t.s, sizeof t.s, "the end of the text");
    else if (w->kind == LT_SCRIPT_BAD && n == 0) snprintf(t.s, sizeof t.s, "unreadable text");
    else snprintf(t.s, sizeof t.s, "'%.*s%s'", n, w->text, n < w->length ? "..." : "");
    return t;
}
