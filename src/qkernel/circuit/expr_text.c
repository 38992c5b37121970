/* Expressions read from text and written as text. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/expr.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* The first name of each function is the one it is written by. */
static const struct { const char *name; lt_expr_op op; } functions[] = {
    { "sin", LT_EXPR_SIN }, { "cos", LT_EXPR_COS }, { "tan", LT_EXPR_TAN }, { "exp", LT_EXPR_EXP }, { "ln", LT_EXPR_LN }, { "log", LT_EXPR_LN },
    { "sqrt", LT_EXPR_SQRT }, { "arcsin", LT_EXPR_ARCSIN }, { "arccos", LT_EXPR_ARCCOS }, { "arctan", LT_EXPR_ARCTAN },
    { "asin", LT_EXPR_ARCSIN }, { "acos", LT_EXPR_ARCCOS }, { "atan", LT_EXPR_ARCTAN }, { "pow", LT_EXPR_POW },
};

typedef struct reader { lt_script *s; lt_exprs *e; const lt_expr_names *names; } reader;

static lt_status read_sum(reader *r, int32_t *node);

/* A node that memory was there for, marked with where its text is. */
static lt_status made(reader *r, int32_t made_node, const lt_script_word *at, int32_t *node)
{
    if (made_node < 0) return LT_ERR_MEMORY;
    if (r->e->node[made_node].line == 0) r->e->node[made_node].line = at->line, r->e->node[made_node].column = at->column;
    *node = made_node;
    return LT_OK;
}

static lt_status read_call(reader *r, lt_expr_op op, const lt_script_word *at, int32_t *node)
{
    int32_t a, b = -1;
    LT_TRY(lt_script_expect(r->s, '(', "after the function"));
    LT_TRY(read_sum(r, &a));
    if (op == LT_EXPR_POW) {
        LT_TRY(lt_script_expect(r->s, ',', "between base and exponent"));
        LT_TRY(read_sum(r, &b));
    }
    LT_TRY(lt_script_expect(r->s, ')', "after the argument"));
    return made(r, op == LT_EXPR_POW ? lt_expr_binary(r->e, op, a, b) : lt_expr_unary(r->e, op, a), at, node);
}

static lt_status read_name(reader *r, int32_t *node)
{
    lt_script_word name = r->s->word;
    lt_script_next(r->s);
    if (lt_script_word_is(&name, "pi") || lt_script_word_is(&name, "\xcf\x80")) return made(r, lt_expr_leaf(r->e, LT_EXPR_PI, 0), &name, node);
    if (lt_script_sees(r->s, '('))
        for (size_t i = 0; i < LT_LEN(functions); i++)
            if (lt_script_word_is(&name, functions[i].name)) return read_call(r, functions[i].op, &name, node);
    *node = -1;
    LT_TRY(r->names->look_up(r->names->ctx, r->s, &name, r->e, node));
    if (*node >= 0) return LT_OK;
    if (lt_script_sees(r->s, '('))
        return lt_script_fail(r->s, &name, "unknown function %s; there are sin cos tan exp ln sqrt arcsin arccos arctan", lt_script_word_str(&name).s);
    return lt_script_fail(r->s, &name, "unknown name %s", lt_script_word_str(&name).s);
}

static lt_status read_atom(reader *r, int32_t *node)
{
    lt_script *s = r->s;
    lt_script_word at = s->word;
    if (at.kind == LT_SCRIPT_NUMBER) {
        lt_script_next(s);
        return made(r, lt_expr_number(r->e, at.value), &at, node);
    }
    if (at.kind == LT_SCRIPT_NAME) return read_name(r, node);
    if (!lt_script_takes(s, '(')) return lt_script_fail(s, &at, "%s, expected a number, a name or '('", lt_script_word_str(&at).s);
    LT_TRY(read_sum(r, node));
    return lt_script_expect(s, ')', "to close a bracket");
}

static bool sees_power(const reader *r) { return lt_script_sees(r->s, LT_SIGN_POWER) || (r->names->caret_is_power && lt_script_sees(r->s, '^')); }

/* -a^b is -(a^b), a^-b is allowed, a^b^c is a^(b^c). */
static lt_status read_power(reader *r, int32_t *node)
{
    lt_script_word at = r->s->word;
    LT_TRY(lt_script_deeper(r->s));
    if (lt_script_takes(r->s, '+')) LT_TRY(read_power(r, node));
    else if (lt_script_takes(r->s, '-')) {
        LT_TRY(read_power(r, node));
        LT_TRY(made(r, lt_expr_unary(r->e, LT_EXPR_NEG, *node), &at, node));
    } else {
        LT_TRY(read_atom(r, node));
        at = r->s->word;
        if (sees_power(r)) {
            int32_t exponent;
            lt_script_next(r->s);
            LT_TRY(read_power(r, &exponent));
            LT_TRY(made(r, lt_expr_binary(r->e, LT_EXPR_POW, *node, exponent), &at, node));
        }
    }
    r->s->depth--;
    return LT_OK;
}

/* a % b, with the sign of a: of whole numbers, as indices are. */
static lt_status remainder_of(reader *r, const lt_script_word *at, int32_t b, int32_t *node)
{
    double x = 0, y = 0;
    if (!lt_expr_constant(r->e, *node, &x) || !lt_expr_constant(r->e, b, &y)) return lt_script_fail(r->s, at, "%% of what is not a constant");
    if (x != floor(x) || y != floor(y) || y == 0) return lt_script_fail(r->s, at, "%.17g %% %.17g, expected whole numbers and no division by 0", x, y);
    return made(r, lt_expr_number(r->e, fmod(x, y)), at, node);
}

static lt_status read_product(reader *r, int32_t *node)
{
    LT_TRY(read_power(r, node));
    while (lt_script_sees(r->s, '*') || lt_script_sees(r->s, '/') || lt_script_sees(r->s, '%')) {
        lt_script_word at = r->s->word;
        int32_t b;
        lt_script_next(r->s);
        LT_TRY(read_power(r, &b));
        if (at.sign == '%') {
            LT_TRY(remainder_of(r, &at, b, node));
            continue;
        }
        LT_TRY(made(r, lt_expr_binary(r->e, at.sign == '*' ? LT_EXPR_MUL : LT_EXPR_DIV, *node, b), &at, node));
    }
    return LT_OK;
}

static lt_status read_sum(reader *r, int32_t *node)
{
    LT_TRY(lt_script_deeper(r->s));
    LT_TRY(read_product(r, node));
    while (lt_script_sees(r->s, '+') || lt_script_sees(r->s, '-')) {
        lt_script_word at = r->s->word;
        int32_t b;
        lt_script_next(r->s);
        LT_TRY(read_product(r, &b));
        LT_TRY(made(r, lt_expr_binary(r->e, at.sign == '+' ? LT_EXPR_ADD : LT_EXPR_SUB, *node, b), &at, node));
    }
    r->s->depth--;
    return LT_OK;
}

lt_status lt_expr_read(lt_script *s, lt_exprs *e, const lt_expr_names *names, int32_t *node)
{
    reader r = { s, e, names };
    return read_sum(&r, node);
}

typedef struct widths { int64_t x, w; } widths;

static lt_status look_up_leaf(void *ctx, lt_script *s, const lt_script_word *name, lt_exprs *e, int32_t *node)
{
    const widths *n = ctx;
    bool is_x = lt_script_word_is(name, "x");
    if (!is_x && !lt_script_word_is(name, "w")) return LT_OK;
    LT_TRY(lt_script_expect(s, '[', is_x ? "after x, as in x[0]" : "after w, as in w[0]"));
    lt_script_word index = s->word;
    int64_t count = is_x ? n->x : n->w;
    if (index.kind != LT_SCRIPT_NUMBER || !index.whole || !(index.value < (double)count))
        return lt_script_fail(s, &index, "%.*s[%s]: expected a number below %lld, the number of %s", name->length, name->text, lt_script_word_str(&index).s,
                              (long long)count, is_x ? "features" : "weights");
    lt_script_next(s);
    LT_TRY(lt_script_expect(s, ']', "after the index"));
    *node = lt_expr_leaf(e, is_x ? LT_EXPR_X : LT_EXPR_W, (int32_t)index.value);
    return *node < 0 ? LT_ERR_MEMORY : LT_OK;
}

lt_status lt_expr_parse(const char *text, lt_exprs *e, int64_t n_features, int64_t n_weights, int32_t *node)
{
    lt_script s;
    widths n = { n_features, n_weights };
    char name[64];
    snprintf(name, sizeof name, "angle '%.40s'", text);
    lt_script_open(&s, name, text, strlen(text));
    LT_TRY(lt_expr_read(&s, e, &(lt_expr_names){ look_up_leaf, &n, true }, node));
    if (s.word.kind != LT_SCRIPT_END) return lt_script_fail(&s, &s.word, "%s after the expression", lt_script_word_str(&s.word).s);
    return LT_OK;
}

/* ---- writing ---- */

typedef struct writer { const lt_exprs *e; lt_expr_leaf_text leaf; void *ctx; char *to; size_t bytes, used; int depth; } writer;

static void put(writer *w, const char *text)
{
    size_t n = strlen(text);
    if (w->used < w->bytes) memcpy(w->to + w->used, text, LT_MIN(n, w->bytes - w->used));
    w->used += n;
}

/* How tightly an operation holds its operands together: sums, products, signs, powers, what needs no brackets. */
static int grip(const lt_expr_node *n)
{
    switch (n->op) {
    case LT_EXPR_ADD: case LT_EXPR_SUB: return 1;
    case LT_EXPR_MUL: case LT_EXPR_DIV: return 2;
    case LT_EXPR_NEG: return 3;
    case LT_EXPR_POW: return 4;
    case LT_EXPR_NUMBER: return n->value < 0 ? 3 : 5;
    default: return 5;
    }
}

static void write_node(writer *w, int32_t at, int least_grip);

static void write_leaf(writer *w, const lt_expr_node *n)
{
    char text[96];
    if (n->op == LT_EXPR_PI) snprintf(text, sizeof text, "pi");
    else if (n->op == LT_EXPR_NUMBER) lt_double_text(n->value, text);
    else if (w->leaf) (void)w->leaf(w->ctx, n->op, n->a, text, sizeof text);
    else snprintf(text, sizeof text, "%c[%d]", n->op == LT_EXPR_X ? 'x' : 'w', (int)n->a);
    put(w, text);
}

static void write_call(writer *w, const lt_expr_node *n)
{
    const char *name = n->op == LT_EXPR_LN && w->leaf ? "log" : NULL; /* OpenQASM has no ln */
    for (size_t i = 0; !name && i < LT_LEN(functions); i++)
        if (functions[i].op == n->op) name = functions[i].name;
    put(w, name ? name : "?");
    put(w, "(");
    write_node(w, n->a, 0);
    put(w, ")");
}

static void write_inside(writer *w, const lt_expr_node *n, int grip_here)
{
    static const char *const signs[] = { [LT_EXPR_ADD] = " + ", [LT_EXPR_SUB] = " - ", [LT_EXPR_MUL] = "*", [LT_EXPR_DIV] = "/", [LT_EXPR_POW] = "**" };
    if (n->op <= LT_EXPR_W) write_leaf(w, n);
    else if (n->op == LT_EXPR_NEG) put(w, "-"), write_node(w, n->a, grip_here);
    else if (n->op > LT_EXPR_NEG) write_call(w, n);
    else { /* sums and products lean to the left, powers to the right */
        write_node(w, n->a, grip_here + (n->op == LT_EXPR_POW));
        put(w, signs[n->op]);
        write_node(w, n->b, n->op == LT_EXPR_POW ? 3 : grip_here + 1);
    }
}

/* Long sums are deep to the left: the text ends where recursion would go too far, which counts as cut. */
static void write_node(writer *w, int32_t at, int least_grip)
{
    const lt_expr_node *n = &w->e->node[at];
    int grip_here = grip(n);
    if (w->used > w->bytes || w->depth > 5000) {
        w->used = w->bytes + 1;
        return;
    }
    w->depth++;
    if (grip_here < least_grip) put(w, "(");
    write_inside(w, n, grip_here);
    if (grip_here < least_grip) put(w, ")");
    w->depth--;
}

bool lt_expr_text(const lt_exprs *e, int32_t node, lt_expr_leaf_text leaf, void *ctx, char *to, size_t bytes)
{
    writer w = { e, leaf, ctx, to, bytes - 1, 0, 0 };
    write_node(&w, node, 0);
    to[LT_MIN(w.used, bytes - 1)] = 0;
    return w.used < bytes;
}
