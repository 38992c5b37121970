/* The ops of .nl files: one row each, with what it becomes in a graph. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/nl.h"

#include "base/status.h"

/* ---- What they become ---------------------------------------------------------------------------- */

#define UNARY(name, call) static lt_node name(lt_graph *g, const lt_node *x, int n) { (void)n; return call(g, x[0]); }
#define BINARY(name, call) static lt_node name(lt_graph *g, const lt_node *x, int n) { (void)n; return call(g, x[0], x[1]); }
UNARY(neg, lt_neg) UNARY(absolute, lt_abs) UNARY(down, lt_floor) UNARY(hyperbolic_tangent, lt_tanh) UNARY(tangent, lt_tan)
UNARY(root, lt_sqrt) UNARY(hyperbolic_sine, lt_sinh) UNARY(sine, lt_sin) UNARY(logarithm, lt_log) UNARY(exponential, lt_exp)
UNARY(hyperbolic_cosine, lt_cosh) UNARY(cosine, lt_cos) UNARY(arc_tangent, lt_atan) UNARY(arc_sine, lt_asin) UNARY(arc_cosine, lt_acos)
UNARY(square, lt_square)
BINARY(plus, lt_add) BINARY(minus, lt_sub) BINARY(times, lt_mul) BINARY(over, lt_div) BINARY(power, lt_pow) BINARY(arc_tangent2, lt_atan2)
BINARY(below, lt_lt) BINARY(at_most, lt_le) BINARY(equal, lt_eq) BINARY(at_least, lt_ge) BINARY(above, lt_gt)

static lt_node up(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_neg(g, lt_floor(g, lt_neg(g, x[0]))); }
static lt_node log_10(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_scale(g, lt_log(g, x[0]), 0.43429448190325182765); }
static lt_node less(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_relu(g, lt_sub(g, x[0], x[1])); } /* max(a - b, 0) */
static lt_node inverse_tanh(lt_graph *g, const lt_node *x, int n)
{
    (void)n;
    return lt_scale(g, lt_sub(g, lt_log1p(g, x[0]), lt_log1p(g, lt_neg(g, x[0]))), 0.5);
}
static lt_node inverse_sinh(lt_graph *g, const lt_node *x, int n) /* odd, without cancellation */
{
    (void)n;
    lt_node a = lt_abs(g, x[0]), s = lt_square(g, a);
    lt_node v = lt_log1p(g, lt_add(g, a, lt_div(g, s, lt_shift(g, lt_sqrt(g, lt_shift(g, s, 1)), 1))));
    return lt_where(g, lt_lt(g, x[0], lt_scalar(g, LT_F64, 0)), lt_neg(g, v), v);
}
static lt_node inverse_cosh(lt_graph *g, const lt_node *x, int n)
{
    (void)n;
    return lt_log(g, lt_add(g, x[0], lt_sqrt(g, lt_mul(g, lt_shift(g, x[0], -1), lt_shift(g, x[0], 1)))));
}
static lt_node truncated(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_mul(g, lt_sign(g, x[0]), lt_floor(g, lt_abs(g, x[0]))); }
static lt_node whole_quotient(lt_graph *g, const lt_node *x, int n)
{
    (void)n;
    lt_node v = lt_div(g, x[0], x[1]);
    return truncated(g, &v, 1);
}
static lt_node remainder_of(lt_graph *g, const lt_node *x, int n) { return lt_sub(g, x[0], lt_mul(g, x[1], whole_quotient(g, x, n))); } /* C's fmod */
static lt_node choice(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_where(g, x[0], x[1], x[2]); }
static lt_node is_not(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_eq(g, x[0], lt_scalar(g, LT_F64, 0)); }
static lt_node truth(lt_graph *g, lt_node x) { return lt_rsub(g, 1, lt_eq(g, x, lt_scalar(g, LT_F64, 0))); }
static lt_node differs(lt_graph *g, const lt_node *x, int n) { (void)n; return lt_rsub(g, 1, lt_eq(g, x[0], x[1])); }

#define FOLDED(name, call) \
    static lt_node name(lt_graph *g, const lt_node *x, int n) \
    { \
        lt_node v = x[0]; \
        for (int i = 1; i < n; i++) v = call(g, v, x[i]); \
        return v; \
    }
FOLDED(sum, lt_add) FOLDED(smallest, lt_minimum) FOLDED(largest, lt_maximum)

static lt_node both(lt_graph *g, const lt_node *x, int n)
{
    lt_node v = truth(g, x[0]);
    for (int i = 1; i < n; i++) v = lt_mul(g, v, truth(g, x[i]));
    return v;
}
static lt_node either(lt_graph *g, const lt_node *x, int n)
{
    lt_node v = truth(g, x[0]);
    for (int i = 1; i < n; i++) v = lt_maximum(g, v, truth(g, x[i]));
    return v;
}

/* ---- The table --------------------------------------------------------------------------------------- */

enum { ROW_SUM_TWO, ROW_MINUS };
static const lt_nl_op rows[] = {
    [ROW_SUM_TWO] = { 0, "+", 2, plus }, [ROW_MINUS] = { 1, "-", 2, minus }, { 2, "*", 2, times }, { 3, "/", 2, over }, { 4, "mod", 2, remainder_of },
    { LT_NL_OP_POWER_CODE, "^", 2, power }, { 6, "less", 2, less }, { 11, "min", -1, smallest }, { 12, "max", -1, largest },
    { 13, "floor", 1, down }, { 14, "ceil", 1, up }, { 15, "abs", 1, absolute }, { 16, "unary -", 1, neg }, { 20, "or", 2, either },
    { 21, "and", 2, both }, { 22, "<", 2, below }, { 23, "<=", 2, at_most }, { 24, "=", 2, equal }, { 28, ">=", 2, at_least }, { 29, ">", 2, above },
    { 30, "!=", 2, differs }, { 34, "not", 1, is_not }, { 35, "if", 3, choice }, { 37, "tanh", 1, hyperbolic_tangent }, { 38, "tan", 1, tangent },
    { 39, "sqrt", 1, root }, { 40, "sinh", 1, hyperbolic_sine }, { 41, "sin", 1, sine }, { 42, "log10", 1, log_10 }, { 43, "log", 1, logarithm },
    { 44, "exp", 1, exponential }, { 45, "cosh", 1, hyperbolic_cosine }, { 46, "cos", 1, cosine }, { 47, "atanh", 1, inverse_tanh },
    { 48, "atan2", 2, arc_tangent2 }, { 49, "atan", 1, arc_tangent }, { 50, "asinh", 1, inverse_sinh }, { 51, "asin", 1, arc_sine },
    { 52, "acosh", 1, inverse_cosh }, { 53, "acos", 1, arc_cosine }, { 54, "sum", -1, sum }, { 55, "div", 2, whole_quotient },
    { 56, "precision", 2, NULL }, { 57, "round", 2, NULL }, { 58, "trunc", 2, NULL }, { 59, "count", -1, NULL }, { 60, "numberof", -1, NULL },
    { 61, "numberof of texts", -1, NULL }, { 62, "atleast", 2, NULL }, { 63, "atmost", 2, NULL }, { LT_NL_OP_PIECES_CODE, "piecewise-linear", 1, neg },
    { 65, "if of texts", 3, NULL }, { 66, "exactly", 2, NULL }, { 67, "not atleast", 2, NULL }, { 68, "not atmost", 2, NULL }, { 69, "not exactly", 2, NULL },
    { 70, "forall", -1, both }, { 71, "exists", -1, either }, { 72, "==>", 3, NULL }, { 73, "<==>", 2, NULL }, { 74, "alldiff", -1, NULL },
    { 75, "^ number", 2, power }, { 76, "square", 1, square }, { 77, "number ^", 2, power },
};

const lt_nl_op *lt_nl_op_row(int row) { return &rows[row]; }

int lt_nl_op_find(int code)
{
    for (size_t i = 0; i < LT_LEN(rows); i++)
        if (rows[i].code == code) return (int)i;
    return -1;
}

bool lt_nl_op_adds(int row, double *sign_of_second)
{
    *sign_of_second = row == ROW_MINUS ? -1 : 1;
    return row == ROW_SUM_TWO || row == ROW_MINUS || rows[row].build == sum;
}
