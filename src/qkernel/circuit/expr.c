/* Expressions: the list of nodes, and what each operation computes. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/expr.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NODES = 1 << 26 };

void lt_exprs_destroy(lt_exprs *e)
{
    lt_free(e->node);
    *e = (lt_exprs){ 0 };
}

lt_status lt_exprs_copy(const lt_exprs *e, lt_exprs *out)
{
    *out = (lt_exprs){ .n = e->n, .capacity = e->n };
    if (!e->n) return LT_OK;
    out->node = lt_malloc((size_t)e->n * sizeof *e->node);
    if (!out->node) return LT_ERR_MEMORY;
    memcpy(out->node, e->node, (size_t)e->n * sizeof *e->node);
    return LT_OK;
}

static int32_t add(lt_exprs *e, lt_expr_node node)
{
    if (e->n == e->capacity) {
        if (e->n >= MAX_NODES) {
            (void)LT_FAIL(LT_ERR_MEMORY, "circuit: more than %d numbers and operations in its angles", MAX_NODES);
            return -1;
        }
        int32_t capacity = e->capacity ? 2 * e->capacity : 64;
        lt_expr_node *more = lt_realloc(e->node, (size_t)capacity * sizeof *more);
        if (!more) return -1;
        e->node = more;
        e->capacity = capacity;
    }
    e->node[e->n] = node;
    return e->n++;
}

int32_t lt_expr_number(lt_exprs *e, double value) { return add(e, (lt_expr_node){ .op = LT_EXPR_NUMBER, .value = value }); }

int32_t lt_expr_leaf(lt_exprs *e, lt_expr_op op, int32_t index)
{
    uint8_t needs = op == LT_EXPR_X ? LT_EXPR_NEEDS_X : op == LT_EXPR_W ? LT_EXPR_NEEDS_W : 0;
    /* The same leaf a few nodes back serves again. */
    for (int32_t i = e->n - 1; i >= 0 && i >= e->n - 8; i--)
        if (e->node[i].op == op && e->node[i].a == index) return i;
    return add(e, (lt_expr_node){ .op = (uint8_t)op, .needs = needs, .a = index });
}

int32_t lt_expr_unary(lt_exprs *e, lt_expr_op op, int32_t a)
{
    if (a < 0) return -1;
    return add(e, (lt_expr_node){ .op = (uint8_t)op, .needs = e->node[a].needs, .a = a });
}

int32_t lt_expr_binary(lt_exprs *e, lt_expr_op op, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) return -1;
    return add(e, (lt_expr_node){ .op = (uint8_t)op, .needs = (uint8_t)(e->node[a].needs | e->node[b].needs), .a = a, .b = b });
}

/* ---- operations ---- */

double lt_expr_apply(lt_expr_op op, double a, double b)
{
    switch (op) {
    case LT_EXPR_PI: return M_PI;
    case LT_EXPR_ADD: return a + b;
    case LT_EXPR_SUB: return a - b;
    case LT_EXPR_MUL: return a * b;
    case LT_EXPR_DIV: return a / b;
    case LT_EXPR_POW: return pow(a, b);
    case LT_EXPR_NEG: return -a;
    case LT_EXPR_SIN: return sin(a);
    case LT_EXPR_COS: return cos(a);
    case LT_EXPR_TAN: return tan(a);
    case LT_EXPR_EXP: return exp(a);
    case LT_EXPR_LN: return log(a);
    case LT_EXPR_SQRT: return sqrt(a);
    case LT_EXPR_ARCSIN: return asin(a);
    case LT_EXPR_ARCCOS: return acos(a);
    case LT_EXPR_ARCTAN: return atan(a);
    default: return a;
    }
}

enum { CONSTANT_DEPTH = 500 };

static bool constant(const lt_exprs *e, int32_t node, int depth, double *value)
{
    const lt_expr_node *n = &e->node[node];
    double a = 0, b = 0;
    if (n->needs || depth > CONSTANT_DEPTH) return false;
    if (n->op == LT_EXPR_NUMBER) a = n->value;
    if (n->op >= LT_EXPR_ADD && !constant(e, n->a, depth + 1, &a)) return false;
    if (n->op >= LT_EXPR_ADD && n->op <= LT_EXPR_POW && !constant(e, n->b, depth + 1, &b)) return false;
    *value = lt_expr_apply(n->op, a, b);
    return true;
}

bool lt_expr_constant(const lt_exprs *e, int32_t node, double *value) { return constant(e, node, 0, value); }

/* By the base where the exponent is 0 or the base is 0, and by the exponent where the base is not positive, limits are taken:
   x^2 at 0 has slope 0, and an exponent that is a number has none. */
static void power_slopes(double a, double b, double v, double *da, double *db)
{
    *da = b == 0 ? 0 : b * pow(a, b - 1);
    *db = a > 0 ? v * log(a) : 0;
}

void lt_expr_slopes(lt_expr_op op, double a, double b, double v, double *da, double *db)
{
    *da = *db = 0;
    switch (op) {
    case LT_EXPR_ADD: *da = *db = 1; break;
    case LT_EXPR_SUB: *da = 1; *db = -1; break;
    case LT_EXPR_MUL: *da = b; *db = a; break;
    case LT_EXPR_DIV: *da = 1 / b; *db = -v / b; break;
    case LT_EXPR_POW: power_slopes(a, b, v, da, db); break;
    case LT_EXPR_NEG: *da = -1; break;
    case LT_EXPR_SIN: *da = cos(a); break;
    case LT_EXPR_COS: *da = -sin(a); break;
    case LT_EXPR_TAN: *da = 1 + v * v; break;
    case LT_EXPR_EXP: *da = v; break;
    case LT_EXPR_LN: *da = 1 / a; break;
    case LT_EXPR_SQRT: *da = 0.5 / v; break;
    case LT_EXPR_ARCSIN: *da = 1 / sqrt(1 - a * a); break;
    case LT_EXPR_ARCCOS: *da = -1 / sqrt(1 - a * a); break;
    case LT_EXPR_ARCTAN: *da = 1 / (1 + a * a); break;
    default: break;
    }
}
