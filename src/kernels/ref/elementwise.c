/* The elementwise ops in plain C over libm. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/elementwise.h"

#include <math.h>

static double smaller(double a, double b) { return isnan(a) || a < b ? a : b; }
static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static double unary(lt_op op, double x)
{
    switch (op) {
    case LT_OP_NEG: return -x;
    case LT_OP_ABS: return fabs(x);
    case LT_OP_SIGN: return isnan(x) ? x : (x > 0) - (x < 0);
    case LT_OP_SQUARE: return x * x;
    case LT_OP_SQRT: return sqrt(x);
    case LT_OP_CBRT: return cbrt(x);
    case LT_OP_EXP: return exp(x);
    case LT_OP_EXPM1: return expm1(x);
    case LT_OP_LOG: return log(x);
    case LT_OP_LOG1P: return log1p(x);
    case LT_OP_SIN: return sin(x);
    case LT_OP_COS: return cos(x);
    case LT_OP_TAN: return tan(x);
    case LT_OP_ASIN: return asin(x);
    case LT_OP_ACOS: return acos(x);
    case LT_OP_ATAN: return atan(x);
    case LT_OP_SINH: return sinh(x);
    case LT_OP_COSH: return cosh(x);
    case LT_OP_TANH: return tanh(x);
    case LT_OP_SIGMOID: return sigmoid(x);
    case LT_OP_SOFTPLUS: return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
    case LT_OP_RELU: return x < 0 ? 0 : x;
    case LT_OP_GELU: return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case LT_OP_ERF: return erf(x);
    case LT_OP_FLOOR: return floor(x);
    case LT_OP_RECIP: return 1 / x;
    default: return NAN;
    }
}

static double binary(lt_op op, double a, double b)
{
    switch (op) {
    case LT_OP_ADD: return a + b;
    case LT_OP_SUB: return a - b;
    case LT_OP_MUL: return a * b;
    case LT_OP_DIV: return a / b;
    case LT_OP_POW: return pow(a, b);
    case LT_OP_ATAN2: return atan2(a, b);
    case LT_OP_HYPOT: return hypot(a, b);
    case LT_OP_MIN: return smaller(a, b);
    case LT_OP_MAX: return larger(a, b);
    case LT_OP_LT: return a < b;
    case LT_OP_LE: return a <= b;
    case LT_OP_GT: return a > b;
    case LT_OP_GE: return a >= b;
    case LT_OP_EQ: return a == b;
    default: return NAN;
    }
}

double lt_ref_elementwise(lt_op op, double a, double b, double c)
{
    if (lt_op_is_unary(op)) return unary(op, a);
    if (lt_op_is_binary(op)) return binary(op, a, b);
    if (op == LT_OP_WHERE) return a != 0 ? b : c;
    if (op == LT_OP_CLAMP) return smaller(larger(a, b), c);
    return NAN;
}

double lt_ref_fold(lt_op op, double acc, double x)
{
    return op == LT_OP_SUM ? acc + x : op == LT_OP_RMAX ? larger(acc, x) : smaller(acc, x);
}
