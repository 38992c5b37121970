/* Statements: one after another, each error confined to its own. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/syntax.h"

#include "base/status.h"
#include "lathe/options.h"

#include <string.h>

static const lt_expr error_expr = { .kind = LT_EXPR_ERROR };

/* ---- tokens ---- */

bool lt_parser_statement_follows(const lt_parser *p)
{
    lt_lexer ahead = p->lexer;
    if (!lt_token_starts_statement(lt_lexer_next(&ahead).kind)) return false;
    lt_token second = lt_lexer_next(&ahead);
    return second.kind != LT_TOKEN_SIGN || second.sign != '='; /* "rng=g" is an argument */
}

/* Newlines do not count inside brackets, unless a statement follows: then the bracket was forgotten. */
static lt_token next_token(lt_parser *p)
{
    for (;;) {
        lt_token t = lt_lexer_next(&p->lexer);
        if (t.kind != LT_TOKEN_NEWLINE || !p->brackets) return t;
        if (lt_parser_statement_follows(p)) return t;
    }
}

void lt_parser_advance(lt_parser *p)
{
    p->last = p->token.kind;
    p->last_sign = p->token.sign;
    p->token = next_token(p);
    if (p->token.kind == LT_TOKEN_BAD) p->broken = true; /* the lexer has said why */
}

void lt_parser_start(lt_parser *p, lt_problem_text *text, lt_arena *passing, lt_arena *lasting)
{
    *p = (lt_parser){ .lexer = { text, passing, 0, 1 }, .passing = passing, .lasting = lasting };
}

bool lt_parser_at_sign(const lt_parser *p, int sign) { return p->token.kind == LT_TOKEN_SIGN && p->token.sign == sign; }

void lt_parser_expected(lt_parser *p, const char *what)
{
    char found[80];
    if (!p->broken)
        lt_text_error(p->lexer.text, p->token.where, "%s is not expected here\nexpected %s",
                      lt_token_describe(&p->token, found, sizeof found), what);
    p->broken = true;
}

bool lt_parser_take(lt_parser *p, int sign, const char *what)
{
    if (p->broken) return false;
    if (!lt_parser_at_sign(p, sign)) { lt_parser_expected(p, what); return false; }
    lt_parser_advance(p);
    return !p->broken;
}

void *lt_parser_alloc(lt_parser *p, size_t bytes)
{
    void *memory = lt_arena_alloc(p->arena, bytes);
    if (!memory) p->lexer.text->no_memory = p->broken = true;
    return memory;
}

void *lt_parser_grow(lt_parser *p, void *items, int n, size_t size)
{
    if (n && (n & (n - 1))) return items; /* arrays double at powers of two */
    void *larger = lt_parser_alloc(p, LT_MAX((size_t)n * 2, 1) * size);
    if (larger && n) memcpy(larger, items, (size_t)n * size);
    return larger;
}

/* ---- pieces ---- */

static void parse_new_name(lt_parser *p, lt_parsed_statement *s, const char *what)
{
    if (p->token.kind != LT_TOKEN_NAME) {
        if (p->token.kind >= LT_TOKEN_VAR && !p->broken) {
            lt_text_error(p->lexer.text, p->token.where, "'%s' is a keyword and cannot be a name", p->token.text);
            p->broken = true;
        } else lt_parser_expected(p, what);
        return;
    }
    s->name = p->token.text;
    s->name_at = p->token.where;
    lt_parser_advance(p);
}

static const lt_expr *parse_value(lt_parser *p)
{
    const lt_expr *e = p->broken ? &error_expr : lt_parse_expression(p);
    return p->broken ? &error_expr : e;
}

static void parse_definition(lt_parser *p, lt_parsed_statement *s, const char *what)
{
    parse_new_name(p, s, what);
    s->value = &error_expr;
    if (lt_parser_take(p, '=', "'=' and an expression")) s->value = parse_value(p);
}

/* in [a, b] */
static void parse_interval(lt_parser *p, lt_parsed_statement *s)
{
    s->interval = true;
    s->relation = LT_RELATION_LE;
    lt_parser_advance(p);
    if (!lt_parser_at_sign(p, '[')) {
        lt_parser_expected(p, "'[' and two bounds, as in x in [0, 1]");
        return;
    }
    p->brackets++;
    lt_parser_advance(p);
    s->side[0] = parse_value(p);
    (void)lt_parser_take(p, ',', "',' and the upper bound");
    s->side[2] = parse_value(p);
    if (p->broken) return;
    p->brackets--;
    s->where.end = p->token.where.end;
    (void)lt_parser_take(p, ']', "']'");
}

static void parse_var(lt_parser *p, lt_parsed_statement *s)
{
    parse_new_name(p, s, "the name of the variable");
    if (p->broken) { s->value = &error_expr; return; }
    if (lt_parser_at_sign(p, '[')) {
        lt_text_span open = p->token.where;
        const lt_expr **extents = NULL;
        s->has_extents = true;
        p->brackets++;
        do {
            lt_parser_advance(p);
            const lt_expr *e = parse_value(p);
            if (!(extents = lt_parser_grow(p, (void *)extents, s->n_extents, sizeof *extents))) break;
            extents[s->n_extents++] = e;
        } while (lt_parser_at_sign(p, ',') && !p->broken);
        s->extent = extents;
        if (!p->broken) p->brackets--;
        if (!p->broken && (p->token.kind == LT_TOKEN_NEWLINE || p->token.kind == LT_TOKEN_END)) {
            lt_text_error(p->lexer.text, open, "this bracket is not closed\nexpected ']'");
            p->broken = true;
        } else lt_parser_take(p, ']', "',' or ']'");
    }
    if (p->token.kind == LT_TOKEN_IN && !p->broken) parse_interval(p, s);
    if (lt_parser_at_sign(p, '=') && !p->broken) {
        lt_parser_advance(p);
        s->value = parse_value(p);
    }
    if (p->broken) s->value = &error_expr;
}

static void parse_fn(lt_parser *p, lt_parsed_statement *s)
{
    parse_new_name(p, s, "the name of the function");
    s->value = &error_expr;
    if (!lt_parser_take(p, '(', "'(' and the names of the parameters")) return;
    lt_token *parameters = NULL;
    while (!lt_parser_at_sign(p, ')') && !p->broken) {
        if (p->token.kind != LT_TOKEN_NAME) { lt_parser_expected(p, "the name of a parameter"); return; }
        if (!(parameters = lt_parser_grow(p, parameters, s->n_extents, sizeof *parameters))) return;
        for (int i = 0; i < s->n_extents && !p->broken; i++)
            if (!strcmp(parameters[i].text, p->token.text)) {
                lt_text_error(p->lexer.text, p->token.where, "a second parameter '%s'", p->token.text);
                p->broken = true;
            }
        parameters[s->n_extents++] = p->token;
        lt_parser_advance(p);
        if (!lt_parser_at_sign(p, ',')) break;
        lt_parser_advance(p);
    }
    s->parameter = parameters;
    if (!lt_parser_take(p, ')', "',' or ')'") || !lt_parser_take(p, '=', "'=' and an expression")) return;
    s->value = parse_value(p);
}

/* ---- constraints ---- */

static bool at_comparison(const lt_parser *p)
{
    return p->token.kind == LT_TOKEN_SIGN && (p->token.sign >= LT_SIGN_LE || strchr("<>=", p->token.sign));
}

/* Reads the sign between two sides; signs that are not constraints are explained. */
static lt_relation parse_relation(lt_parser *p, lt_text_span constraint)
{
    lt_relation relation = LT_RELATION_EQ;
    lt_text_span where = { constraint.at, p->token.where.end };
    switch (p->token.sign) {
    case LT_SIGN_LE: relation = LT_RELATION_LE; break;
    case LT_SIGN_GE: relation = LT_RELATION_GE; break;
    case LT_SIGN_EQ: break;
    case '<': lt_text_error(p->lexer.text, where, "'<' is not a constraint; use '<='"); p->broken = true; break;
    case '>': lt_text_error(p->lexer.text, where, "'>' is not a constraint; use '>='"); p->broken = true; break;
    case '=': lt_text_error(p->lexer.text, where, "'=' is not a constraint; use '=='"); p->broken = true; break;
    default:
        lt_text_error(p->lexer.text, where, "'!=' is not a constraint; use '<=' or '>=' with a margin on the side you mean");
        p->broken = true;
    }
    if (!p->broken) lt_parser_advance(p);
    return relation;
}

static void parse_constraint(lt_parser *p, lt_parsed_statement *s)
{
    s->kind = LT_TOKEN_NAME;
    s->where = p->token.where;
    if (p->token.kind == LT_TOKEN_NAME) {
        lt_lexer ahead = p->lexer;
        lt_token name = p->token, next = lt_lexer_next(&ahead);
        if (next.kind == LT_TOKEN_SIGN && next.sign == ':') {
            lt_parser_advance(p), lt_parser_advance(p);
            s->name = name.text;
            s->name_at = name.where;
            s->where = p->token.where;
        }
    }
    s->side[s->n_sides++] = parse_value(p);
    if (!p->broken && p->token.kind == LT_TOKEN_IN) {
        s->side[1] = s->side[0];
        s->n_sides = 3;
        parse_interval(p, s);
        return;
    }
    if (!p->broken && !at_comparison(p)) lt_parser_expected(p, "'<=', '>=', '==' or 'in'");
    while (!p->broken && at_comparison(p)) {
        lt_text_span sign = p->token.where;
        lt_relation relation = parse_relation(p, s->where);
        if (p->broken) break;
        if (s->n_sides == 3) { lt_text_error(p->lexer.text, sign, "a chain has three sides at most"); p->broken = true; break; }
        if (s->n_sides == 2 && (relation == LT_RELATION_EQ || relation != s->relation)) {
            lt_text_error(p->lexer.text, sign, "a chain is a <= b <= c or a >= b >= c; write two constraints");
            p->broken = true;
            break;
        }
        s->relation = relation;
        s->side[s->n_sides++] = parse_value(p);
    }
    s->where.end = LT_MAX(s->where.end, p->broken ? s->where.end : s->side[s->n_sides - 1]->where.end);
}

/* ---- statements ---- */

static void skip_to_next_line(lt_parser *p)
{
    p->brackets = p->depth = 0;
    while (p->token.kind != LT_TOKEN_NEWLINE && p->token.kind != LT_TOKEN_END) p->token = lt_lexer_next(&p->lexer);
    p->broken = false;
}

/* Where the brackets that were open at the error end: true with the parser at the end of that line,
   false when a statement or the end of the file comes first. */
static bool find_closing(lt_parser *p, int open)
{
    for (;; p->token = lt_lexer_next(&p->lexer)) {
        if (p->token.kind == LT_TOKEN_END) return false;
        if (p->token.kind == LT_TOKEN_SIGN && p->token.sign < 256) {
            if (strchr("([", p->token.sign)) open++;
            if (strchr(")]", p->token.sign) && open) open--;
        }
        if (p->token.kind == LT_TOKEN_NEWLINE) {
            if (!open) return true;
            if (lt_parser_statement_follows(p)) return false;
        }
    }
}

/* After an error the rest of the line is skipped, and the lines of a bracket up to its end. */
static void recover(lt_parser *p)
{
    lt_lexer lexer = p->lexer;
    lt_token token = p->token;
    int open = p->brackets;
    p->brackets = 0;
    if (!open || !find_closing(p, open)) {
        p->lexer = lexer;
        p->token = token;
    }
    skip_to_next_line(p);
}

/* After "vr x[2]" the name x exists, with nothing more to be said about it, and after "subjct to" constraints follow. */
static void take_as_meant(lt_parser *p, lt_parsed_statement *s, const char *keyword)
{
    lt_token_kind kind = lt_keyword_kind(keyword);
    if (kind == LT_TOKEN_SUBJECT) p->in_constraints = true;
    if (kind != LT_TOKEN_VAR && kind != LT_TOKEN_DATA && kind != LT_TOKEN_LET && kind != LT_TOKEN_FN && kind != LT_TOKEN_RNG) return;
    lt_parser_advance(p);
    if (p->token.kind != LT_TOKEN_NAME) return;
    *s = (lt_parsed_statement){ .kind = LT_TOKEN_LET, .where = s->where, .line = s->line, .name = p->token.text, .name_at = p->token.where, .value = &error_expr };
}

static void parse_other(lt_parser *p, lt_parsed_statement *s)
{
    if (p->in_constraints) { parse_constraint(p, s); return; }
    const char *word = p->token.kind == LT_TOKEN_NAME ? p->token.text : NULL;
    const char *near = word ? lt_text_nearest(word, lt_keywords, 9) : NULL;
    if (near) lt_text_error(p->lexer.text, p->token.where, "unknown statement '%.60s'; did you mean '%s'?", word, near);
    else lt_text_error(p->lexer.text, p->token.where,
                       "this is not a statement\nexpected var, data, let, fn, rng, option, minimize, maximize or subject to");
    p->broken = true;
    s->kind = LT_TOKEN_BAD;
    if (near) take_as_meant(p, s, near);
}

static void parse_body(lt_parser *p, lt_parsed_statement *s)
{
    if (!lt_token_starts_statement(s->kind)) { parse_other(p, s); return; }
    p->in_constraints = s->kind == LT_TOKEN_SUBJECT;
    lt_parser_advance(p);
    switch (s->kind) {
    case LT_TOKEN_VAR: parse_var(p, s); break;
    case LT_TOKEN_FN: parse_fn(p, s); break;
    case LT_TOKEN_DATA: parse_definition(p, s, "the name of the constant"); break;
    case LT_TOKEN_LET: parse_definition(p, s, "the name of the expression"); break;
    case LT_TOKEN_RNG: parse_definition(p, s, "the name of the stream"); break;
    case LT_TOKEN_OPTION: parse_definition(p, s, "the name of an option"); break;
    case LT_TOKEN_SUBJECT:
        if (p->token.kind != LT_TOKEN_TO) { lt_parser_expected(p, "'to', as in 'subject to'"); break; }
        lt_parser_advance(p);
        break;
    default: s->value = parse_value(p);
    }
}

lt_parsed_statement lt_parser_statement(lt_parser *p)
{
    p->depth = p->brackets = 0;
    p->broken = false;
    p->arena = p->lexer.arena = p->passing;
    do lt_parser_advance(p); while (p->token.kind == LT_TOKEN_NEWLINE);
    if (p->token.kind == LT_TOKEN_FN) p->arena = p->lexer.arena = p->lasting; /* bodies are read again at every call */
    lt_parsed_statement s = { .kind = p->token.kind, .where = p->token.where, .line = p->token.line };
    if (s.kind == LT_TOKEN_END) return s;
    parse_body(p, &s);
    if (s.kind == LT_TOKEN_SUBJECT && !p->broken && p->token.kind != LT_TOKEN_NEWLINE && p->token.kind != LT_TOKEN_END) {
        s = (lt_parsed_statement){ .line = p->token.line }; /* "subject to x <= 1" on one line */
        parse_constraint(p, &s);
    }
    if (!p->broken && p->token.kind != LT_TOKEN_NEWLINE && p->token.kind != LT_TOKEN_END) {
        if (at_comparison(p))
            lt_text_error(p->lexer.text, p->token.where,
                          "a comparison is a constraint and stands after 'subject to'; masks are lt, le, gt, ge, eq");
        else lt_parser_expected(p, "an operator or the end of the line");
        p->broken = true;
    }
    if (p->broken) {
        if (s.value) s.value = &error_expr;
        for (int i = 0; i < 3; i++) s.side[i] = &error_expr;
        recover(p);
    }
    return s;
}
