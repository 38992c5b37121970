/* The text of a problem and what is said about it: places, errors, warnings, carets.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_LANGUAGE_TEXT_H
#define LT_OPTIMIZE_LANGUAGE_TEXT_H

#include "base/arena.h"

#include <stdarg.h>

#define LT_TEXT_MAX_BYTES  (16u << 20)
#define LT_TEXT_MAX_ERRORS 20
#define LT_TEXT_MAX_WARNINGS 20

typedef struct lt_text_span { /* bytes at..end-1 of the text */
    uint32_t at, end;
} lt_text_span;

typedef struct lt_notice {
    lt_text_span     where;
    bool        is_error;
    const char *message, *expected; /* expected: a line after the caret, or NULL */
} lt_notice;

typedef struct lt_problem_text {
    const char *name;         /* of the file, for messages */
    const char *bytes;        /* without a byte-order mark; not terminated */
    uint32_t    n_bytes;
    lt_notice   notice[LT_TEXT_MAX_ERRORS + LT_TEXT_MAX_WARNINGS];
    int         n_notices, n_errors, n_warnings;
    bool        more_errors;  /* than LT_TEXT_MAX_ERRORS */
    bool        no_memory;    /* an allocation failed; nothing else counts then */
    lt_arena    arena;        /* messages */
} lt_problem_text;

/* Notes an error once: a second one at the same place is taken for a consequence of the first.
   A '\n' in the message separates what is wrong from what was expected. */
void lt_text_error(lt_problem_text *t, lt_text_span where, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lt_text_warn(lt_problem_text *t, lt_text_span where, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool lt_text_noted(const lt_problem_text *t, lt_text_span where); /* whether an error is noted there */
int  lt_text_column(const lt_problem_text *t, uint32_t at);
/* Line and column (in characters), both from 1. */
void lt_text_locate(const lt_problem_text *t, uint32_t at, int *line, int *column);
lt_status lt_text_place(lt_status s, const lt_problem_text *t); /* gives the failure just recorded the place of the first error */
/* Everything noted, in the order of the text: "file:line:column: error: …", the line, the caret.
   Released with lt_free; NULL when memory is out. */
char *lt_text_render(lt_problem_text *t);
/* Bytes of the UTF-8 character at s (n bytes are left); 0 when it is not one. */
int lt_utf8_length(const char *s, size_t n);

#endif
