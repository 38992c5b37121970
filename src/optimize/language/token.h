/* Words of the problem language. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_LANGUAGE_TOKEN_H
#define LT_OPTIMIZE_LANGUAGE_TOKEN_H

#include "optimize/language/text.h"

typedef enum lt_token_kind {
    LT_TOKEN_END, LT_TOKEN_NEWLINE, LT_TOKEN_NAME, LT_TOKEN_NUMBER, LT_TOKEN_STRING,
    LT_TOKEN_SIGN,
    LT_TOKEN_BAD,        /* reported already */
    LT_TOKEN_VAR, LT_TOKEN_DATA, LT_TOKEN_LET, LT_TOKEN_FN, LT_TOKEN_RNG, LT_TOKEN_OPTION, LT_TOKEN_MINIMIZE,
    LT_TOKEN_MAXIMIZE, LT_TOKEN_SUBJECT, /* these start statements */
    LT_TOKEN_TO, LT_TOKEN_FOR, LT_TOKEN_IN, LT_TOKEN_INF, LT_TOKEN_NAN, LT_TOKEN_PI, LT_TOKEN_TRUE, LT_TOKEN_FALSE
} lt_token_kind;

/* Signs of one character are that character; the others: */
enum { LT_SIGN_LE = 256, LT_SIGN_GE, LT_SIGN_EQ, LT_SIGN_NE };

typedef struct lt_token {
    lt_token_kind kind;
    int         sign;     /* SIGN */
    lt_text_span     where;
    int         line;     /* from 1 */
    double      number;   /* NUMBER */
    const char *text;     /* NAME, STRING: terminated, escapes undone */
} lt_token;

typedef struct lt_lexer {
    lt_problem_text  *text;
    lt_arena *arena;      /* where names and strings go */
    uint32_t  at;
    int       line;
} lt_lexer;

lt_token lt_lexer_next(lt_lexer *l);
static inline bool lt_token_starts_statement(lt_token_kind k) { return k >= LT_TOKEN_VAR && k <= LT_TOKEN_SUBJECT; }
/* The kind of a keyword, or NAME. */
lt_token_kind lt_keyword_kind(const char *name);
extern const char *const lt_keywords[];
extern const int lt_n_keywords;
/* "'<='", "a name", "the end of the line": what a token is called in messages. */
const char *lt_token_describe(const lt_token *t, char *buffer, size_t size);

#endif
