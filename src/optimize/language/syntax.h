/* Syntax trees of the problem language, and the parser that makes them.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_LANGUAGE_SYNTAX_H
#define LT_OPTIMIZE_LANGUAGE_SYNTAX_H

#include "optimize/language/token.h"

#define LT_MAX_NESTING 200

typedef enum lt_expr_kind {
    LT_EXPR_ERROR,          /* reported already */
    LT_EXPR_NUMBER, LT_EXPR_STRING, LT_EXPR_NAME, LT_EXPR_CALL, LT_EXPR_INDEX, LT_EXPR_LIST, LT_EXPR_COMPREHENSION,
    LT_EXPR_CHAIN,          /* a + b - c …, or a * b / c @ d …: from left to right */
    LT_EXPR_POWER, LT_EXPR_NEGATE, LT_EXPR_TRANSPOSE
} lt_expr_kind;

typedef struct lt_expr lt_expr;

typedef struct lt_argument { const char *name; lt_text_span name_at; const lt_expr *value; } lt_argument; /* name NULL: by position */
typedef struct lt_index_part { /* of an index: a, or from:to:step with parts that may be NULL */
    bool is_range;
    lt_text_span where;
    const lt_expr *at, *to, *step;
} lt_index_part;
typedef struct lt_loop { const char *name; lt_text_span where; const lt_expr *from, *to, *step; } lt_loop;
typedef struct lt_link { int sign; lt_text_span where; const lt_expr *operand; } lt_link;

struct lt_expr {
    lt_expr_kind kind;
    int     n;              /* of items */
    lt_text_span where;          /* all of it */
    lt_text_span point;          /* the operator or name: where messages point */
    union {
        double number;
        const char *text;   /* STRING, NAME; CALL: the function */
        const lt_expr *a;   /* INDEX, CHAIN (first operand), POWER, NEGATE, TRANSPOSE, COMPREHENSION (body) */
    };
    union {
        const lt_argument    *argument;
        const lt_index_part        *part;
        const lt_expr *const *item;
        const lt_loop        *loop;
        const lt_link        *link;
        const lt_expr        *b; /* POWER: the exponent */
    };
};

typedef enum lt_relation { LT_RELATION_LE, LT_RELATION_GE, LT_RELATION_EQ } lt_relation;

typedef struct lt_parsed_statement {
    lt_token_kind kind;     /* VAR … SUBJECT; NAME for a constraint; END */
    lt_text_span     where;      /* of the keyword, or of the constraint */
    int         line;
    const char *name;       /* what it defines; of a constraint NULL when it has none */
    lt_text_span     name_at;
    bool        has_extents; /* VAR x[…] */
    int         n_extents;   /* also FN: parameters */
    const lt_expr *const *extent;
    const lt_token *parameter;
    const lt_expr *value;   /* NULL: none given */
    int         n_sides;    /* constraint: 2, or 3 for a chain */
    lt_relation relation;
    const lt_expr *side[3];
    bool        interval;   /* `in [a, b]`: of a constraint, a <= e <= b; of VAR, with side[0] and side[2] */
} lt_parsed_statement;

typedef struct lt_parser {
    lt_lexer  lexer;
    lt_token  token;        /* the next one */
    lt_token_kind last;     /* the kind of the one before, with its sign */
    int       last_sign;
    int       brackets;     /* open ones: newlines do not count inside */
    int       depth;
    bool      broken;       /* the statement has an error; nothing more is said about it */
    bool      in_constraints;
    lt_arena *arena;        /* of the statement being read: one of */
    lt_arena *passing, *lasting;
} lt_parser;

/* Statements are made in `passing`, which may be released after each; those of fn in `lasting`. */
void lt_parser_start(lt_parser *p, lt_problem_text *text, lt_arena *passing, lt_arena *lasting);
/* The next statement. With errors in it, what could be read (a name that is defined, for one) is
   there, and what could not is LT_EXPR_ERROR. kind END after the last. */
lt_parsed_statement lt_parser_statement(lt_parser *p);

/* Used between the parser's files. */
const lt_expr *lt_parse_expression(lt_parser *p);
void lt_parser_advance(lt_parser *p);
/* Whether the words after the next token start a statement. */
bool lt_parser_statement_follows(const lt_parser *p);
bool lt_parser_at_sign(const lt_parser *p, int sign);
/* Reports what was expected instead of the next token, once for each statement. */
void lt_parser_expected(lt_parser *p, const char *what);
bool lt_parser_take(lt_parser *p, int sign, const char *what);
/* A growing array in the arena: room for one more item of this size; NULL when memory is out. */
void *lt_parser_grow(lt_parser *p, void *items, int n, size_t size);
void *lt_parser_alloc(lt_parser *p, size_t bytes);

#endif
