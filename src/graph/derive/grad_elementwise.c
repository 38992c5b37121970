/* Local derivatives of the elementwise ops, with the subgradient conventions at kinks: abs and
   relu 0 at 0, ties of minimum and maximum shared, clamp passes inside its closed interval.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/build/build.h"

static lt_node constant_like(lt_graph *g, lt_node y, double v) { return lt_full(g, lt_dtype_at(g, y), *lt_shape_at(g, y), v); }
static lt_node one_plus_square(lt_graph *g, lt_node x) { return lt_shift(g, lt_square(g, x), 1); }

/* 1 / sqrt(1 - x^2) */
static lt_node arc_slope(lt_graph *g, lt_node x) { return lt_recip(g, lt_sqrt(g, lt_rsub(g, 1, lt_square(g, x)))); }

/* Phi(x) + x phi(x) */
static lt_node gelu_slope(lt_graph *g, lt_node x)
{
    const double half_sqrt = 0.70710678118654752440, density = 0.39894228040143267794;
    lt_node cdf = lt_scale(g, lt_shift(g, lt_erf(g, lt_scale(g, x, half_sqrt)), 1), 0.5);
    lt_node pdf = lt_scale(g, lt_exp(g, lt_scale(g, lt_square(g, x), -0.5)), density);
    return lt_add(g, cdf, lt_mul(g, x, pdf));
}

lt_node lt_deriv_unary(lt_graph *g, lt_node y, int i)
{
    (void)i;
    lt_node x = lt_input_of(g, y, 0);
    switch ((lt_op)lt_get(g, y)->op) {
    case LT_OP_NEG: return constant_like(g, y, -1);
    case LT_OP_ABS: return lt_sign(g, x);
    case LT_OP_SQUARE: return lt_scale(g, x, 2);
    case LT_OP_SQRT: return lt_rdiv(g, 0.5, y);
    case LT_OP_CBRT: return lt_rdiv(g, 1.0 / 3, lt_square(g, y));
    case LT_OP_EXP: return y;
    case LT_OP_EXPM1: return lt_shift(g, y, 1);
    case LT_OP_LOG: return lt_recip(g, x);
    case LT_OP_LOG1P: return lt_recip(g, lt_shift(g, x, 1));
    case LT_OP_SIN: return lt_cos(g, x);
    case LT_OP_COS: return lt_neg(g, lt_sin(g, x));
    case LT_OP_TAN: return one_plus_square(g, y);
    case LT_OP_ASIN: return arc_slope(g, x);
    case LT_OP_ACOS: return lt_neg(g, arc_slope(g, x));
    case LT_OP_ATAN: return lt_recip(g, one_plus_square(g, x));
    case LT_OP_SINH: return lt_cosh(g, x);
    case LT_OP_COSH: return lt_sinh(g, x);
    case LT_OP_TANH: return lt_rsub(g, 1, lt_square(g, y));
    case LT_OP_SIGMOID: return lt_mul(g, y, lt_rsub(g, 1, y));
    case LT_OP_SOFTPLUS: return lt_sigmoid(g, x);
    case LT_OP_RELU: return lt_gt(g, y, constant_like(g, y, 0)); /* y is kept anyway */
    case LT_OP_GELU: return gelu_slope(g, x);
    case LT_OP_ERF: return lt_scale(g, lt_exp(g, lt_neg(g, lt_square(g, x))), 1.12837916709551257390);
    case LT_OP_RECIP: return lt_neg(g, lt_square(g, y));
    default: return LT_NONE;
    }
}

/* a^b log(a); 0 where a <= 0, as the power is defined there for isolated b only. */
static lt_node pow_by_exponent(lt_graph *g, lt_node y, lt_node a)
{
    lt_node zero = constant_like(g, a, 0), positive = lt_gt(g, a, zero);
    return lt_where(g, positive, lt_mul(g, y, lt_log(g, lt_where(g, positive, a, constant_like(g, a, 1)))), zero);
}

/* 1 where p holds strictly, 1/2 at ties. */
static lt_node shared(lt_graph *g, lt_node strict, lt_node weak) { return lt_scale(g, lt_add(g, strict, weak), 0.5); }

lt_node lt_deriv_binary(lt_graph *g, lt_node y, int i)
{
    lt_node a = lt_input_of(g, y, 0), b = lt_input_of(g, y, 1), self = i ? b : a, other = i ? a : b;
    switch ((lt_op)lt_get(g, y)->op) {
    case LT_OP_ADD: return constant_like(g, y, 1);
    case LT_OP_SUB: return constant_like(g, y, i ? -1 : 1);
    case LT_OP_MUL: return other;
    case LT_OP_DIV: return i ? lt_neg(g, lt_div(g, y, b)) : lt_recip(g, b);
    case LT_OP_POW:
        if (i) return pow_by_exponent(g, y, a);
        return lt_mul(g, b, lt_pow(g, a, lt_shift(g, b, -1)));
    case LT_OP_ATAN2: {
        lt_node r2 = lt_add(g, lt_square(g, a), lt_square(g, b));
        return i ? lt_neg(g, lt_div(g, a, r2)) : lt_div(g, b, r2);
    }
    case LT_OP_HYPOT: return lt_div(g, self, lt_add(g, y, lt_eq(g, y, constant_like(g, y, 0)))); /* 0 at the origin */
    case LT_OP_MIN: return shared(g, lt_lt(g, self, other), lt_le(g, self, other));
    case LT_OP_MAX: return shared(g, lt_gt(g, self, other), lt_ge(g, self, other));
    default: return LT_NONE;
    }
}

static lt_node clamp_slope(lt_graph *g, lt_node y, int i)
{
    lt_node x = lt_input_of(g, y, 0), lo = lt_input_of(g, y, 1), hi = lt_input_of(g, y, 2);
    lt_node below = lt_lt(g, x, lo);
    if (i == 0) return lt_mul(g, lt_ge(g, x, lo), lt_le(g, x, hi));
    if (i == 1) return lt_mul(g, below, lt_le(g, lo, hi));
    return lt_gt(g, lt_maximum(g, x, lo), hi);
}

lt_node lt_deriv_ternary(lt_graph *g, lt_node y, int i)
{
    if (lt_get(g, y)->op == LT_OP_CLAMP) return clamp_slope(g, y, i);
    if (i == 0) return LT_NONE; /* the mask of where */
    lt_node one = constant_like(g, y, 1), zero = constant_like(g, y, 0);
    return lt_where(g, lt_input_of(g, y, 0), i == 1 ? one : zero, i == 1 ? zero : one);
}
