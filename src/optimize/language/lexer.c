/* Cuts problem text into words. SPDX-License-Identifier: BSD-3-Clause */
#include "base/options.h"
#include "base/status.h"
#include "optimize/language/token.h"

#include <stdio.h>
#include <string.h>

const char *const lt_keywords[] = { "var", "data", "let", "fn", "rng", "option", "minimize", "maximize", "subject",
                                    "to", "for", "in", "inf", "nan", "pi", "true", "false" };
const int lt_n_keywords = (int)LT_LEN(lt_keywords);
_Static_assert(LT_LEN(lt_keywords) == LT_TOKEN_FALSE - LT_TOKEN_VAR + 1, "one word for each keyword");

lt_token_kind lt_keyword_kind(const char *name)
{
    for (int i = 0; i < lt_n_keywords; i++)
        if (!strcmp(lt_keywords[i], name)) return (lt_token_kind)(LT_TOKEN_VAR + i);
    return LT_TOKEN_NAME;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char peek(const lt_lexer *l, uint32_t ahead)
{
    return l->at + ahead < l->text->n_bytes ? l->text->bytes[l->at + ahead] : 0;
}

static lt_token token(const lt_lexer *l, lt_token_kind kind, uint32_t from)
{
    return (lt_token){ .kind = kind, .where = { from, l->at }, .line = l->line };
}

/* A terminated copy of bytes from..at-1. */
static const char *copy_from(lt_lexer *l, uint32_t from)
{
    size_t n = l->at - from;
    char *copy = lt_arena_alloc(l->arena, n + 1);
    if (!copy) { l->text->no_memory = true; return ""; }
    memcpy(copy, l->text->bytes + from, n);
    return copy;
}

static lt_token read_name(lt_lexer *l)
{
    uint32_t from = l->at;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0))) l->at++;
    const char *name = copy_from(l, from);
    lt_token t = token(l, lt_keyword_kind(name), from);
    t.text = name;
    return t;
}

static lt_token read_number(lt_lexer *l)
{
    uint32_t from = l->at;
    while (is_digit(peek(l, 0))) l->at++;
    if (peek(l, 0) == '.') l->at++;
    while (is_digit(peek(l, 0))) l->at++;
    if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
        uint32_t digits = peek(l, 1) == '+' || peek(l, 1) == '-' ? 2 : 1;
        if (is_digit(peek(l, digits))) l->at += digits;
        while (is_digit(peek(l, 0))) l->at++;
    }
    lt_token t = token(l, LT_TOKEN_NUMBER, from);
    const char *digits = copy_from(l, from);
    if (is_letter(peek(l, 0)) || peek(l, 0) == '.') {
        while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) || peek(l, 0) == '.') l->at++;
        t.kind = LT_TOKEN_BAD;
        t.where.end = l->at;
        lt_text_error(l->text, t.where, "'%.40s' is not a number; a product needs '*', as in 2*x", copy_from(l, from));
    } else if (!l->text->no_memory && !lt_text_real(digits, &t.number)) {
        t.kind = LT_TOKEN_BAD;
        lt_text_error(l->text, t.where, "the number %.40s is too large; the largest is 1.797e308", digits);
    }
    return t;
}

/* Moves over one character of a string or elsewhere; false after reporting bytes that are no text. */
static bool step_character(lt_lexer *l)
{
    int n = lt_utf8_length(l->text->bytes + l->at, l->text->n_bytes - l->at);
    if (n) { l->at += (uint32_t)n; return true; }
    uint8_t byte = (uint8_t)l->text->bytes[l->at];
    lt_text_error(l->text, (lt_text_span){ l->at, l->at + 1 }, "byte 0x%02x is not %s", byte, byte ? "UTF-8 text" : "allowed here");
    l->at++;
    return false;
}

static lt_token read_string(lt_lexer *l)
{
    uint32_t from = l->at++;
    bool bad = false;
    while (l->at < l->text->n_bytes && peek(l, 0) != '"' && peek(l, 0) != '\n') {
        if (peek(l, 0) == '\\') {
            if (peek(l, 1) != '"' && peek(l, 1) != '\\') {
                lt_text_error(l->text, (lt_text_span){ l->at, l->at + 2 }, "a string knows \\\" and \\\\ only");
                bad = true;
            } else l->at++;
        }
        if (l->at < l->text->n_bytes && peek(l, 0) != '\n' && !step_character(l)) bad = true;
    }
    if (peek(l, 0) != '"') {
        lt_text_error(l->text, (lt_text_span){ from, l->at }, "this string is not closed\nexpected '\"' before the end of the line");
        return token(l, LT_TOKEN_BAD, from);
    }
    char *text = (char *)(uintptr_t)copy_from(l, from + 1), *to = text;
    if (!l->text->no_memory) {
        for (const char *s = text; *s; s++) *to++ = *s == '\\' ? *++s : *s;
        *to = 0;
    }
    l->at++;
    lt_token t = token(l, bad ? LT_TOKEN_BAD : LT_TOKEN_STRING, from);
    t.text = text;
    return t;
}

/* Characters from formulas that have a plain spelling here. */
static const char *plain_spelling(const char *character)
{
    static const char *const table[][2] = {
        { "\xe2\x89\xa4", "<=" }, { "\xe2\x89\xa5", ">=" }, { "\xe2\x88\x92", "-" }, { "\xe2\x80\x93", "-" },
        { "\xc3\x97", "*" }, { "\xc2\xb7", "*" }, { "\xc3\xb7", "/" }, { "\xc2\xb2", "^2" }, { "\xe2\x80\x99", "'" },
        { "\xe2\x80\x9c", "\"" }, { "\xe2\x80\x9d", "\"" }, { "\xcf\x80", "pi" }, { "\xe2\x88\x9e", "inf" },
        { ";", "a new line" }, { "{", "(" }, { "}", ")" }, { "%", "mod(a, b)" },
    };
    for (size_t i = 0; i < LT_LEN(table); i++)
        if (!strcmp(table[i][0], character)) return table[i][1];
    return NULL;
}

static lt_token read_unknown(lt_lexer *l)
{
    uint32_t from = l->at;
    if (!step_character(l)) return token(l, LT_TOKEN_BAD, from);
    const char *character = copy_from(l, from), *plain = plain_spelling(character);
    lt_text_span where = { from, l->at };
    if ((uint8_t)character[0] < ' ') lt_text_error(l->text, where, "byte 0x%02x is not allowed here", (uint8_t)character[0]);
    else if (plain) lt_text_error(l->text, where, "'%s' is not a sign of the language; use %s", character, plain);
    else if ((uint8_t)character[0] >= 0x80)
        lt_text_error(l->text, where, "'%s' cannot stand here; names are made of a-z, A-Z, digits and _", character);
    else lt_text_error(l->text, where, "'%s' is not a sign of the language", character);
    return token(l, LT_TOKEN_BAD, from);
}

static lt_token read_sign(lt_lexer *l)
{
    uint32_t from = l->at;
    char c = peek(l, 0);
    if (!c || !strchr("+-*/@^'()[],:=<>!", c)) return read_unknown(l);
    bool equals = peek(l, 1) == '=';
    int sign = !equals ? c : c == '<' ? LT_SIGN_LE : c == '>' ? LT_SIGN_GE : c == '=' ? LT_SIGN_EQ : c == '!' ? LT_SIGN_NE : c;
    if (sign == '!') return read_unknown(l);
    l->at += sign >= LT_SIGN_LE ? 2 : 1;
    lt_token t = token(l, LT_TOKEN_SIGN, from);
    t.sign = sign;
    if (c == '*' && peek(l, 0) == '*') {
        l->at++;
        t.kind = LT_TOKEN_BAD;
        t.where.end = l->at;
        lt_text_error(l->text, t.where, "'**' is not a sign of the language; use ^");
    }
    return t;
}

static void skip_blanks(lt_lexer *l)
{
    while (l->at < l->text->n_bytes) {
        char c = l->text->bytes[l->at];
        if (c == '#') while (l->at < l->text->n_bytes && l->text->bytes[l->at] != '\n') l->at++;
        else if (c == ' ' || c == '\t' || c == '\r') l->at++;
        else return;
    }
}

lt_token lt_lexer_next(lt_lexer *l)
{
    skip_blanks(l);
    uint32_t from = l->at;
    if (l->at >= l->text->n_bytes || l->text->no_memory) return token(l, LT_TOKEN_END, l->at);
    char c = l->text->bytes[l->at];
    if (c == '\n') {
        l->at++;
        lt_token t = token(l, LT_TOKEN_NEWLINE, from);
        l->line++;
        return t;
    }
    if (is_letter(c)) return read_name(l);
    if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) return read_number(l);
    if (c == '"') return read_string(l);
    return read_sign(l);
}

const char *lt_token_describe(const lt_token *t, char *buffer, size_t size)
{
    static const char *const two[] = { "<=", ">=", "==", "!=" };
    switch (t->kind) {
    case LT_TOKEN_END: return "the end of the file";
    case LT_TOKEN_NEWLINE: return "the end of the line";
    case LT_TOKEN_NUMBER: return "a number";
    case LT_TOKEN_STRING: return "a string";
    case LT_TOKEN_BAD: return "this";
    case LT_TOKEN_SIGN:
        if (t->sign >= LT_SIGN_LE) snprintf(buffer, size, "'%s'", two[t->sign - LT_SIGN_LE]);
        else snprintf(buffer, size, "'%c'", t->sign);
        return buffer;
    default: snprintf(buffer, size, "'%.60s'", t->text ? t->text : ""); return buffer;
    }
}
