/* Expressions: from words to trees. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/syntax.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static const char an_operand[] = "a number, a name, '(' or '['";

static const lt_expr error_expr = { .kind = LT_EXPR_ERROR };

static lt_expr *new_expr(lt_parser *p, lt_expr_kind kind, lt_text_span where)
{
    lt_expr *e = lt_parser_alloc(p, sizeof *e);
    if (!e) return NULL;
    e->kind = kind;
    e->where = e->point = where;
    return e;
}

/* Every level of nesting passes here; false after saying that there are too many. */
static bool enter(lt_parser *p)
{
    if (p->broken) return false;
    if (++p->depth <= LT_MAX_NESTING) return true;
    lt_text_error(p->lexer.text, p->token.where, "more than %d levels of nesting", LT_MAX_NESTING);
    p->broken = true;
    return false;
}

/* A line that ends in an operator or a comma goes on. */
static void skip_newlines_after_operator(lt_parser *p)
{
    static const int open_ended[] = { '+', '-', '*', '/', '@', '^', ',', '=', LT_SIGN_LE, LT_SIGN_GE, LT_SIGN_EQ };
    if (p->last != LT_TOKEN_SIGN) return;
    for (size_t i = 0; i < LT_LEN(open_ended); i++)
        if (p->last_sign == open_ended[i])
            while (p->token.kind == LT_TOKEN_NEWLINE) {
                if (lt_parser_statement_follows(p)) return; /* the operand was forgotten */
                lt_parser_advance(p);
            }
}

static const lt_expr *parse_unary(lt_parser *p);

/* ---- parts of an index, loops ---- */

static bool ends_part(const lt_parser *p) { return lt_parser_at_sign(p, ':') || lt_parser_at_sign(p, ',') || lt_parser_at_sign(p, ']'); }

static lt_index_part parse_part(lt_parser *p)
{
    lt_index_part part = { .where = p->token.where };
    if (!lt_parser_at_sign(p, ':')) part.at = lt_parse_expression(p);
    if (lt_parser_at_sign(p, ':')) {
        part.is_range = true;
        lt_parser_advance(p);
        if (!ends_part(p)) part.to = lt_parse_expression(p);
        if (lt_parser_at_sign(p, ':')) {
            lt_parser_advance(p);
            if (!ends_part(p)) part.step = lt_parse_expression(p);
        }
    }
    if (!p->broken) part.where.end = p->token.where.at;
    return part;
}

static lt_loop parse_loop(lt_parser *p)
{
    lt_loop loop = { .name = "" };
    lt_parser_advance(p); /* for */
    if (p->token.kind != LT_TOKEN_NAME) { lt_parser_expected(p, "a name for the index"); return loop; }
    loop.name = p->token.text;
    loop.where = p->token.where;
    lt_parser_advance(p);
    if (p->token.kind != LT_TOKEN_IN) { lt_parser_expected(p, "'in' and a range, as in 'for i in 0:10'"); return loop; }
    lt_parser_advance(p);
    loop.from = lt_parse_expression(p);
    if (!lt_parser_take(p, ':', "':' and the end of the range, as in 'for i in 0:10'")) return loop;
    loop.to = lt_parse_expression(p);
    if (lt_parser_at_sign(p, ':')) {
        lt_parser_advance(p);
        loop.step = lt_parse_expression(p);
    }
    return loop;
}

/* ---- brackets ---- */

static void close_bracket(lt_parser *p, int sign, lt_text_span open)
{
    if (p->broken) return; /* brackets stay open: recovery looks for their ends */
    if (lt_parser_at_sign(p, sign)) {
        p->brackets--;
        lt_parser_advance(p);
        return;
    }
    if (p->token.kind == LT_TOKEN_NEWLINE || p->token.kind == LT_TOKEN_END) {
        lt_text_error(p->lexer.text, open, "this bracket is not closed\nexpected '%c'", sign);
        p->broken = true;
    } else lt_parser_expected(p, sign == ')' ? "an operator, ',' or ')'" : "an operator, ',' or ']'");
}

static const lt_expr *parse_comprehension(lt_parser *p, const lt_expr *body, lt_text_span open)
{
    lt_loop *loops = NULL;
    int n = 0;
    while (p->token.kind == LT_TOKEN_FOR && !p->broken) {
        lt_loop one = parse_loop(p);
        if (!(loops = lt_parser_grow(p, loops, n, sizeof *loops))) return &error_expr;
        loops[n++] = one;
    }
    close_bracket(p, ']', open);
    lt_expr *e = new_expr(p, LT_EXPR_COMPREHENSION, open);
    if (!e || p->broken) return &error_expr;
    e->a = body, e->n = n, e->loop = loops;
    e->where.end = p->token.where.at;
    return e;
}

static const lt_expr *parse_list(lt_parser *p)
{
    lt_text_span open = p->token.where;
    p->brackets++;
    lt_parser_advance(p);
    const lt_expr **items = NULL;
    int n = 0;
    while (!lt_parser_at_sign(p, ']') && !p->broken) {
        const lt_expr *item = lt_parse_expression(p);
        if (p->token.kind == LT_TOKEN_FOR && n == 0) return parse_comprehension(p, item, open);
        if (!(items = lt_parser_grow(p, (void *)items, n, sizeof *items))) return &error_expr;
        items[n++] = item;
        if (!lt_parser_at_sign(p, ',')) break;
        lt_parser_advance(p);
    }
    close_bracket(p, ']', open);
    lt_expr *e = new_expr(p, LT_EXPR_LIST, open);
    if (!e || p->broken) return &error_expr;
    e->n = n, e->item = items;
    e->where.end = p->token.where.at;
    return e;
}

static const lt_expr *parse_group(lt_parser *p)
{
    lt_text_span open = p->token.where;
    p->brackets++;
    lt_parser_advance(p);
    const lt_expr *e = lt_parse_expression(p);
    close_bracket(p, ')', open);
    return p->broken ? &error_expr : e;
}

/* A named argument differs from a value by the '=' after the name. */
static lt_argument parse_argument(lt_parser *p)
{
    lt_argument a = { .name = NULL };
    if (p->token.kind == LT_TOKEN_NAME || p->token.kind >= LT_TOKEN_VAR) { /* keywords too: rng=g */
        lt_lexer ahead = p->lexer;
        lt_token name = p->token, next = lt_lexer_next(&ahead);
        if (next.kind == LT_TOKEN_SIGN && next.sign == '=') {
            lt_parser_advance(p), lt_parser_advance(p);
            a.name = name.text;
            a.name_at = name.where;
        }
    }
    a.value = lt_parse_expression(p);
    return a;
}

static const lt_expr *parse_call(lt_parser *p, lt_token name)
{
    lt_text_span open = p->token.where;
    p->brackets++;
    lt_parser_advance(p);
    lt_argument *arguments = NULL;
    int n = 0;
    while (!lt_parser_at_sign(p, ')') && !p->broken) {
        lt_argument one = parse_argument(p);
        if (!(arguments = lt_parser_grow(p, arguments, n, sizeof *arguments))) return &error_expr;
        arguments[n++] = one;
        if (!lt_parser_at_sign(p, ',')) break;
        lt_parser_advance(p);
    }
    close_bracket(p, ')', open);
    lt_expr *e = new_expr(p, LT_EXPR_CALL, name.where);
    if (!e || p->broken) return &error_expr;
    e->text = name.text, e->n = n, e->argument = arguments;
    e->where.end = p->token.where.at;
    return e;
}

static const lt_expr *parse_index(lt_parser *p, const lt_expr *base)
{
    lt_text_span open = p->token.where;
    p->brackets++;
    lt_parser_advance(p);
    lt_index_part *parts = NULL;
    int n = 0;
    do {
        if (n) lt_parser_advance(p);
        lt_index_part one = parse_part(p);
        if (!(parts = lt_parser_grow(p, parts, n, sizeof *parts))) return &error_expr;
        parts[n++] = one;
    } while (lt_parser_at_sign(p, ',') && !p->broken);
    close_bracket(p, ']', open);
    lt_expr *e = new_expr(p, LT_EXPR_INDEX, base->where);
    if (!e || p->broken) return &error_expr;
    e->a = base, e->n = n, e->part = parts;
    e->where.end = p->token.where.at;
    e->point = (lt_text_span){ open.at, e->where.end };
    return e;
}

/* ---- operands ---- */

static const lt_expr *constant(lt_parser *p, double value)
{
    lt_expr *e = new_expr(p, LT_EXPR_NUMBER, p->token.where);
    if (!e) return &error_expr;
    e->number = value;
    lt_parser_advance(p);
    return e;
}

static const lt_expr *parse_name(lt_parser *p)
{
    lt_token name = p->token;
    lt_parser_advance(p);
    if (lt_parser_at_sign(p, '(')) return parse_call(p, name);
    lt_expr *e = new_expr(p, LT_EXPR_NAME, name.where);
    if (!e) return &error_expr;
    e->text = name.text;
    return e;
}

static const lt_expr *parse_primary(lt_parser *p)
{
    skip_newlines_after_operator(p);
    switch (p->token.kind) {
    case LT_TOKEN_NUMBER: return constant(p, p->token.number);
    case LT_TOKEN_INF: return constant(p, (double)INFINITY);
    case LT_TOKEN_NAN: return constant(p, (double)NAN);
    case LT_TOKEN_PI: return constant(p, 3.14159265358979323846);
    case LT_TOKEN_TRUE: return constant(p, 1);
    case LT_TOKEN_FALSE: return constant(p, 0);
    case LT_TOKEN_NAME: return parse_name(p);
    case LT_TOKEN_STRING: {
        lt_expr *e = new_expr(p, LT_EXPR_STRING, p->token.where);
        if (!e) return &error_expr;
        e->text = p->token.text;
        lt_parser_advance(p);
        return e;
    }
    case LT_TOKEN_SIGN:
        if (p->token.sign == '(') return parse_group(p);
        if (p->token.sign == '[') return parse_list(p);
        break;
    default: break;
    }
    lt_parser_expected(p, an_operand);
    return &error_expr;
}

static const lt_expr *parse_postfix(lt_parser *p)
{
    const lt_expr *e = parse_primary(p);
    int depth = p->depth; /* x''' and x[0][0][0] nest too */
    while (!p->broken && (lt_parser_at_sign(p, '\'') || lt_parser_at_sign(p, '['))) {
        if (!enter(p)) break;
        if (lt_parser_at_sign(p, '[')) { e = parse_index(p, e); continue; }
        lt_expr *t = new_expr(p, LT_EXPR_TRANSPOSE, e->where);
        if (!t) break;
        t->a = e;
        t->where.end = p->token.where.end;
        t->point = p->token.where;
        lt_parser_advance(p);
        e = t;
    }
    p->depth = depth;
    return p->broken ? &error_expr : e;
}

static const lt_expr *parse_power(lt_parser *p)
{
    const lt_expr *base = parse_postfix(p);
    if (!lt_parser_at_sign(p, '^') || p->broken) return base;
    lt_text_span sign = p->token.where;
    lt_parser_advance(p);
    const lt_expr *exponent = parse_unary(p);
    lt_expr *e = new_expr(p, LT_EXPR_POWER, sign);
    if (!e || p->broken) return &error_expr;
    e->where = (lt_text_span){ base->where.at, exponent->where.end };
    e->a = base, e->b = exponent;
    return e;
}

static const lt_expr *parse_unary(lt_parser *p)
{
    if (!enter(p)) return &error_expr;
    const lt_expr *result;
    skip_newlines_after_operator(p);
    if (lt_parser_at_sign(p, '-') || lt_parser_at_sign(p, '+')) {
        lt_token sign = p->token;
        lt_parser_advance(p);
        const lt_expr *a = parse_unary(p);
        lt_expr *e = sign.sign == '-' && !p->broken ? new_expr(p, LT_EXPR_NEGATE, sign.where) : NULL;
        if (e) e->a = a, e->where.end = a->where.end;
        result = e ? e : a;
    } else result = parse_power(p);
    p->depth--;
    return p->broken ? &error_expr : result;
}

/* One level of precedence: operands joined by any of the signs, as one flat chain, so that a sum
   of a million terms needs no deeper stack than one of two. */
static const lt_expr *parse_chain(lt_parser *p, const char *signs, const lt_expr *(*operand)(lt_parser *))
{
    const lt_expr *first = operand(p);
    lt_link *links = NULL;
    int n = 0;
    while (!p->broken && p->token.kind == LT_TOKEN_SIGN && p->token.sign < 256 && strchr(signs, p->token.sign)) {
        lt_link one = { p->token.sign, p->token.where, NULL };
        lt_parser_advance(p);
        one.operand = operand(p);
        if (!(links = lt_parser_grow(p, links, n, sizeof *links))) return &error_expr;
        links[n++] = one;
    }
    if (p->broken) return &error_expr;
    if (!n) return first;
    lt_expr *e = new_expr(p, LT_EXPR_CHAIN, links[0].where);
    if (!e) return &error_expr;
    e->where = (lt_text_span){ first->where.at, links[n - 1].operand->where.end };
    e->a = first, e->n = n, e->link = links;
    return e;
}

static const lt_expr *parse_product(lt_parser *p) { return parse_chain(p, "*/@", parse_unary); }

const lt_expr *lt_parse_expression(lt_parser *p)
{
    if (!enter(p)) return &error_expr;
    const lt_expr *e = parse_chain(p, "+-", parse_product);
    p->depth--;
    return p->broken ? &error_expr : e;
}
