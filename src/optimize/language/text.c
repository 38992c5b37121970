/* Errors and warnings about a text, with line, column and caret. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/text.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 110 }; /* bytes of a source line that are shown */

int lt_utf8_length(const char *s, size_t n)
{
    const uint8_t *b = (const uint8_t *)s;
    if (n < 1 || b[0] == 0) return 0;
    if (b[0] < 0x80) return 1;
    int length = b[0] >= 0xc2 && b[0] < 0xe0 ? 2 : b[0] >= 0xe0 && b[0] < 0xf0 ? 3 : b[0] >= 0xf0 && b[0] < 0xf5 ? 4 : 0;
    if (!length || n < (size_t)length) return 0;
    for (int i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80) return 0;
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) || (b[0] == 0xf0 && b[1] < 0x90) ||
        (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return length;
}

/* ---- noting ---- */

static bool noted_here(const lt_problem_text *t, lt_text_span where, bool is_error)
{
    for (int i = 0; i < t->n_notices; i++)
        if (t->notice[i].where.at == where.at && t->notice[i].is_error == is_error) return true;
    return false;
}

bool lt_text_noted(const lt_problem_text *t, lt_text_span where) { return noted_here(t, where, true); }

static void note(lt_problem_text *t, lt_text_span where, bool is_error, const char *format, va_list args)
{
    char message[600];
    vsnprintf(message, sizeof message, format, args);
    lt_text_disarm(message);
    if (where.at > t->n_bytes) where.at = t->n_bytes;
    if (where.end <= where.at) where.end = where.at + 1;
    if (noted_here(t, where, is_error)) return;
    if (is_error && t->n_errors == LT_TEXT_MAX_ERRORS) { t->more_errors = true; return; }
    if (!is_error && t->n_warnings == LT_TEXT_MAX_WARNINGS) return;
    char *copy = lt_arena_strdup(&t->arena, message);
    if (!copy) { t->no_memory = true; return; }
    char *expected = strchr(copy, '\n');
    if (expected) *expected++ = 0;
    t->notice[t->n_notices++] = (lt_notice){ where, is_error, copy, expected };
    is_error ? t->n_errors++ : t->n_warnings++;
}

void lt_text_error(lt_problem_text *t, lt_text_span where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(t, where, true, format, args);
    va_end(args);
}

void lt_text_warn(lt_problem_text *t, lt_text_span where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(t, where, false, format, args);
    va_end(args);
}

/* ---- rendering ---- */

static bool starts_character(char c) { return ((uint8_t)c & 0xc0) != 0x80; }

static uint32_t line_start(const lt_problem_text *t, uint32_t at)
{
    while (at > 0 && t->bytes[at - 1] != '\n') at--;
    return at;
}

static uint32_t line_end(const lt_problem_text *t, uint32_t at)
{
    while (at < t->n_bytes && t->bytes[at] != '\n') at++;
    return at > 0 && at <= t->n_bytes && t->bytes[at - 1] == '\r' ? at - 1 : at;
}

int lt_text_column(const lt_problem_text *t, uint32_t at)
{
    int column = 1;
    for (uint32_t i = line_start(t, at); i < at; i++) column += starts_character(t->bytes[i]);
    return column;
}

void lt_text_locate(const lt_problem_text *t, uint32_t at, int *line, int *column)
{
    *line = 1;
    for (uint32_t i = 0; i < at; i++) *line += t->bytes[i] == '\n';
    *column = lt_text_column(t, at);
}

lt_status lt_text_place(lt_status s, const lt_problem_text *t)
{
    int line, column;
    for (int i = 0; i < t->n_notices; i++)
        if (t->notice[i].is_error) {
            lt_text_locate(t, t->notice[i].where.at, &line, &column);
            return lt_place_line(s, t->name, line, column);
        }
    return s;
}

/* The source line, cut around the place when it is long, and the caret under it. Bytes that are
   not text and characters that steer a terminal are shown as '?'; tabs stay, so that the caret stays below its place. */
static void render_line(const lt_problem_text *t, lt_text_span where, FILE *to)
{
    uint32_t from = line_start(t, where.at), end = LT_MAX(line_end(t, where.at), where.at), start = from;
    if (end - from > LONGEST_LINE) {
        if (where.at - from > LONGEST_LINE / 2) start = where.at - LONGEST_LINE / 2;
        while (start > from && !starts_character(t->bytes[start])) start--;
        if (end - start > LONGEST_LINE) end = start + LONGEST_LINE;
        while (end > where.at && end < t->n_bytes && !starts_character(t->bytes[end])) end--;
    }
    const char *cut_left = start > from ? "..." : "", *cut_right = end < line_end(t, where.at) ? "..." : "";
    fputs(cut_left, to);
    for (uint32_t i = start; i < end;) {
        int n = lt_utf8_length(t->bytes + i, end - i);
        if (n == 0 || lt_text_steers(t->bytes + i, (size_t)n)) fputc('?', to), i += (uint32_t)LT_MAX(n, 1);
        else fwrite(t->bytes + i, 1, (size_t)n, to), i += (uint32_t)n;
    }
    fprintf(to, "%s\n%*s", cut_right, (int)strlen(cut_left), "");
    for (uint32_t i = start; i < where.at; i++)
        if (t->bytes[i] == '\t') fputc('\t', to);
        else if (starts_character(t->bytes[i])) fputc(' ', to);
    fputc('^', to);
    for (uint32_t i = where.at + 1; i < where.end && i < end; i++)
        if (starts_character(t->bytes[i])) fputc('~', to);
    fputc('\n', to);
}

static int by_place(const void *a, const void *b)
{
    const lt_notice *x = a, *y = b;
    if (x->where.at != y->where.at) return x->where.at < y->where.at ? -1 : 1;
    return (int)y->is_error - (int)x->is_error;
}

static void render(lt_problem_text *t, FILE *to)
{
    qsort(t->notice, (size_t)t->n_notices, sizeof *t->notice, by_place);
    for (int i = 0; i < t->n_notices; i++) {
        const lt_notice *n = &t->notice[i];
        int line, column;
        lt_text_locate(t, n->where.at, &line, &column);
        fprintf(to, "%s:%d:%d: %s: %s\n", t->name, line, column, n->is_error ? "error" : "warning", n->message);
        render_line(t, n->where, to);
        if (n->expected) fprintf(to, "%s\n", n->expected);
    }
    if (t->more_errors) fprintf(to, "%s: note: there are more errors; the first %d are shown\n", t->name, LT_TEXT_MAX_ERRORS);
}

char *lt_text_render(lt_problem_text *t)
{
    char *stream_text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&stream_text, &n);
    if (!to) { LT_FAIL(LT_ERR_MEMORY, "messages of %s", t->name); return NULL; }
    render(t, to);
    bool failed = ferror(to) != 0;
    failed |= fclose(to) != 0;
    char *copy = failed ? NULL : lt_strdup(stream_text); /* the library's own memory, so that tests can count it */
    free(stream_text); /* libc's: open_memstream */
    if (failed) LT_FAIL(LT_ERR_MEMORY, "messages of %s", t->name);
    return copy;
}
