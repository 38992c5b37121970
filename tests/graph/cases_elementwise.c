/* Cases: sources and elementwise ops, with broadcasting. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"

#include <math.h>

/* ---- unary ---- */

/* The oracle works in long double; size is the result, or what was subtracted to get it. */
#define UNARY(name, lo, hi, n, flags, expression, magnitude)                     \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0]); } \
    static void oracle_##name(case_run *c)                                       \
    {                                                                            \
        for (int64_t i = 0; i < c->n_out; i++) {                                 \
            long double x = c->x[0][i], y = (expression);                        \
            c->want[i] = (double)y;                                              \
            c->size[i] = (double)(magnitude);                                    \
        }                                                                        \
    }

static long double phi(long double x) { return erfcl(-x / sqrtl(2)) / 2; }
static long double sigmoid(long double x) { return x >= 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x)); }
static long double softplus(long double x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }

/* X(name, from, to, roundings, flags, expression of x, magnitude): the arguments lie between from and to. */
#define ALL (CASE_SMALL | CASE_GRAD | CASE_GRAD2)
#define UNARY_CASES(X) \
    X(neg, -3, 3, 0.5, ALL, -x, fabsl(y)) \
    X(abs, -3, 3, 0.5, ALL, fabsl(x), fabsl(y)) \
    X(sign, -3, 3, 0, CASE_SMALL, (x > 0) - (x < 0), 1) \
    X(square, -3, 3, 1, ALL, x * x, y) \
    X(sqrt, 0.2, 5, 2, ALL, sqrtl(x), y) \
    X(cbrt, 0.3, 3, 8, ALL, cbrtl(x), fabsl(y)) \
    X(exp, -4, 4, 9, ALL, expl(x), y) \
    X(expm1, -2, 2, 9, ALL, expm1l(x), fabsl(y)) \
    X(log, 0.2, 9, 9, ALL, logl(x), fabsl(y)) \
    X(log1p, -0.6, 4, 9, ALL, log1pl(x), fabsl(y)) \
    X(sin, -7, 7, 9, ALL, sinl(x), fabsl(y)) \
    X(cos, -7, 7, 9, ALL, cosl(x), fabsl(y)) \
    X(tan, -1.2, 1.2, 9, ALL, tanl(x), fabsl(y)) \
    X(asin, -0.9, 0.9, 9, ALL, asinl(x), fabsl(y)) \
    X(acos, -0.9, 0.9, 9, ALL, acosl(x), fabsl(y)) \
    X(atan, -5, 5, 9, ALL, atanl(x), fabsl(y)) \
    X(sinh, -3, 3, 9, ALL, sinhl(x), fabsl(y)) \
    X(cosh, -3, 3, 9, ALL, coshl(x), y) \
    X(tanh, -3, 3, 9, ALL, tanhl(x), fabsl(y)) \
    X(sigmoid, -6, 6, 12, ALL, sigmoid(x), y) \
    X(softplus, -6, 6, 16, ALL, softplus(x), y) \
    X(relu, -3, 3, 0.5, CASE_SMALL | CASE_GRAD, x > 0 ? x : 0, y) \
    X(gelu, -4, 4, 12, ALL, x * phi(x), fabsl(x)) \
    X(erf, -3, 3, 9, ALL, erfl(x), fabsl(y)) \
    X(floor, -3, 3, 0, CASE_SMALL, floorl(x), fabsl(y)) \
    X(recip, 0.3, 3, 2, ALL, 1 / x, fabsl(y))
UNARY_CASES(UNARY)

/* ---- binary and ternary, broadcast ---- */

#define AT(k) c->x[k][case_broadcast_at(&c->out_shape, i, &c->in_shape[k])]
#define BINARY(name, lo, hi, n, flags, expression, magnitude)                    \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0], x[1]); } \
    static void oracle_##name(case_run *c)                                       \
    {                                                                            \
        for (int64_t i = 0; i < c->n_out; i++) {                                 \
            long double a = AT(0), b = AT(1), y = (expression);                  \
            c->want[i] = (double)y;                                              \
            c->size[i] = (double)(magnitude);                                    \
        }                                                                        \
    }

#define BINARY_CASES(X) /* the same, of a and b */ \
    X(add, -3, 3, 1, ALL, a + b, fabsl(y)) \
    X(sub, -3, 3, 1, ALL, a - b, fabsl(y)) \
    X(mul, -3, 3, 1, ALL, a * b, fabsl(y)) \
    X(div, 0.5, 3, 1, ALL, a / b, fabsl(y)) \
    X(pow, 0.4, 2.5, 18, ALL, powl(a, b), fabsl(y)) \
    X(atan2, 0.3, 3, 9, ALL, atan2l(a, b), fabsl(y)) \
    X(hypot, 0.3, 3, 4, ALL, hypotl(a, b), y) \
    X(mod, 0.5, 7, 4, 0, a - b * floorl(a / b), fabsl(a) + fabsl(b)) \
    X(minimum, -3, 3, 0.5, CASE_SMALL | CASE_GRAD, a < b ? a : b, fabsl(y)) \
    X(maximum, -3, 3, 0.5, CASE_SMALL | CASE_GRAD, a > b ? a : b, fabsl(y)) \
    X(lt, -3, 3, 0, CASE_SMALL, a < b, 0) \
    X(le, -3, 3, 0, CASE_SMALL, a <= b, 0) \
    X(gt, -3, 3, 0, CASE_SMALL, a > b, 0) \
    X(ge, -3, 3, 0, CASE_SMALL, a >= b, 0) \
    X(eq, -3, 3, 0, CASE_SMALL, a == b, 0)
BINARY_CASES(BINARY)

#define TERNARY(name, expression)                                                \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0], x[1], x[2]); } \
    static void oracle_##name(case_run *c)                                       \
    {                                                                            \
        for (int64_t i = 0; i < c->n_out; i++) {                                 \
            double p = AT(0), q = AT(1), r = AT(2);                              \
            c->want[i] = (expression);                                           \
            c->size[i] = fabs(c->want[i]);                                       \
        }                                                                        \
    }

TERNARY(where, p != 0 ? q : r) TERNARY(clamp, fmin(fmax(p, q), r))

/* Integral values, so that comparisons meet ties and masks are sometimes 0. */
static lt_node whole(lt_graph *g, lt_node x) { return lt_floor(g, x); }
static lt_node build_where_floor(lt_graph *g, const lt_node *x) { return lt_where(g, whole(g, x[0]), x[1], x[2]); }
static void oracle_where_floor(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) c->size[i] = fabs(c->want[i] = floor(AT(0)) != 0 ? AT(1) : AT(2));
}
static lt_node build_eq_floor(lt_graph *g, const lt_node *x) { return lt_eq(g, whole(g, x[0]), whole(g, x[1])); }
static void oracle_eq_floor(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) c->want[i] = floor(AT(0)) == floor(AT(1));
}
static lt_node build_le_floor(lt_graph *g, const lt_node *x) { return lt_le(g, whole(g, x[0]), whole(g, x[1])); }
static void oracle_le_floor(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) c->want[i] = floor(AT(0)) <= floor(AT(1));
}
static lt_node build_gt_floor(lt_graph *g, const lt_node *x) { return lt_gt(g, whole(g, x[0]), whole(g, x[1])); }
static void oracle_gt_floor(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) c->want[i] = floor(AT(0)) > floor(AT(1));
}

/* ---- with plain numbers ---- */

#define WITH_NUMBER(name, call, expression, magnitude)                           \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return call; }  \
    static void oracle_##name(case_run *c)                                       \
    {                                                                            \
        for (int64_t i = 0; i < c->n_out; i++) {                                 \
            long double x = c->x[0][i], y = (expression);                        \
            c->want[i] = (double)y;                                              \
            c->size[i] = (double)(magnitude);                                    \
        }                                                                        \
    }

WITH_NUMBER(scale, lt_scale(g, x[0], 2.5), 2.5L * x, fabsl(y))
WITH_NUMBER(shift, lt_shift(g, x[0], -1.25), x - 1.25L, fabsl(x) + 1.25L)
WITH_NUMBER(rsub, lt_rsub(g, 0.75, x[0]), 0.75L - x, fabsl(x) + 0.75L)
WITH_NUMBER(rdiv, lt_rdiv(g, 3, x[0]), 3 / x, fabsl(y))
WITH_NUMBER(pow_0, lt_pow_scalar(g, x[0], 0), 1 + 0 * x, fabsl(y))
WITH_NUMBER(pow_1, lt_pow_scalar(g, x[0], 1), x, fabsl(y))
WITH_NUMBER(pow_3, lt_pow_scalar(g, x[0], 3), x * x * x, fabsl(y))
WITH_NUMBER(pow_7, lt_pow_scalar(g, x[0], 7), x * x * x * x * x * x * x, fabsl(y))
WITH_NUMBER(pow_m2, lt_pow_scalar(g, x[0], -2), 1 / (x * x), fabsl(y))
WITH_NUMBER(pow_half, lt_pow_scalar(g, x[0], 0.5), sqrtl(x), fabsl(y))
WITH_NUMBER(pow_real, lt_pow_scalar(g, x[0], 1.7), powl(x, 1.7L), fabsl(y))
WITH_NUMBER(pow_constant, lt_pow(g, x[0], lt_scalar(g, lt_node_dtype(g, x[0]), 3)), x * x * x, fabsl(y))
WITH_NUMBER(clamp_scalar, lt_clamp_scalar(g, x[0], -0.5, 1), fminl(fmaxl(x, -0.5L), 1), fabsl(y))
WITH_NUMBER(cast_up, lt_cast(g, x[0], LT_F64), x, fabsl(y))
/* To the 11 bits of f16 and back: a cast is a rounding, also where it is fused with its neighbours. */
static long double round_11_bits(long double x)
{
    int exponent;
    long double fraction = frexpl(x, &exponent);
    return ldexpl(rintl(ldexpl(fraction, 11)), exponent - 11);
}
WITH_NUMBER(cast_down, lt_shift(g, lt_cast(g, lt_cast(g, lt_scale(g, x[0], 2), LT_F16), lt_node_dtype(g, x[0])), 1), round_11_bits(2 * x) + 1, fabsl(y))
WITH_NUMBER(cast_integer, lt_cast(g, x[0], LT_I64), truncl(x), 0)
WITH_NUMBER(detach, lt_detach(g, x[0]), x, fabsl(y))
WITH_NUMBER(name, lt_name(g, lt_neg(g, x[0]), "minus x"), -x, fabsl(y))

/* ---- sources, added to nothing ---- */

#define SOURCE(name, call, expression)                                           \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { lt_dtype t = lt_node_dtype(g, x[0]); return call; } \
    static void oracle_##name(case_run *c)                                       \
    {                                                                            \
        for (int64_t i = 0; i < c->n_out; i++) c->size[i] = 4 * fabs(c->want[i] = (expression)) + 4; \
    }

static const double eight[] = { 1, -2, 3, -4, 5, -6, 7, -8 };
SOURCE(zeros, lt_zeros(g, t, lt_shape2(2, 3)), 0)
SOURCE(ones, lt_ones(g, t, lt_shape2(2, 3)), 1)
SOURCE(full, lt_full(g, t, lt_shape3(2, 1, 3), 0.5), 0.5)
SOURCE(scalar, lt_scalar(g, t, -3), -3)
SOURCE(eye, lt_eye(g, t, 4), i / 4 == i % 4)
SOURCE(arange, lt_arange(g, t, 2, -0.5, 9), 2 - 0.5 * (double)i)
SOURCE(linspace, lt_linspace(g, t, -1, 2, 7), -1 + 0.5 * (double)i)
SOURCE(linspace_1, lt_linspace(g, t, -1, 2, 1), -1)
SOURCE(constant, lt_cast(g, lt_constant(g, LT_F64, lt_shape2(2, 4), eight), t), eight[i])
SOURCE(constant_folded, lt_exp(g, lt_log(g, lt_abs(g, lt_cast(g, lt_constant(g, LT_F64, lt_shape2(2, 4), eight), t)))), fabs(eight[i]))

#define U(name, lo, hi, n, flags)                                                  \
    { #name, build_##name, oracle_##name, 1, { S2(3, 7) }, lo, hi, n, flags, 0 },    \
    { #name " of a scalar", build_##name, oracle_##name, 1, { S0 }, lo, hi, n, flags, 0 }, \
    { #name " of many", build_##name, oracle_##name, 1, { S3(13, 1, 191) }, lo, hi, n, (flags) & CASE_SMALL, 0 }, \
    { #name " of none", build_##name, oracle_##name, 1, { S2(3, 0) }, lo, hi, n, (flags) & CASE_SMALL, 0 }
#define B(name, lo, hi, n, flags)                                                  \
    { #name, build_##name, oracle_##name, 2, { S2(3, 5), S2(3, 5) }, lo, hi, n, flags, 0 }, \
    { #name " broadcast", build_##name, oracle_##name, 2, { S3(2, 1, 5), S2(3, 1) }, lo, hi, n, flags, 0 }, \
    { #name " by a scalar", build_##name, oracle_##name, 2, { S0, S5(2, 1, 3, 1, 2) }, lo, hi, n, (flags) & CASE_SMALL, 0 }, \
    { #name " of rows", build_##name, oracle_##name, 2, { S2(67, 131), S1(131) }, lo, hi, n, (flags) & CASE_SMALL, 0 }

/* Elementary functions: 4 ulp = 8 roundings is what libmvec promises; ours add a few operations. */
const op_case cases_elementwise[] = {
#define U_ROW(name, lo, hi, n, flags, ...) U(name, lo, hi, n, flags),
#define B_ROW(name, lo, hi, n, flags, ...) B(name, lo, hi, n, flags),
    UNARY_CASES(U_ROW) BINARY_CASES(B_ROW)
    { "cbrt of negative", build_cbrt, oracle_cbrt, 1, { S1(33) }, -9, -0.1, 8, CASE_SMALL, 0 },
    { "atan2 all round", build_atan2, oracle_atan2, 2, { S1(61), S1(61) }, -3, 3, 9, CASE_SMALL, 0 },
    B(eq_floor, -2, 2, 0, CASE_SMALL), B(le_floor, -2, 2, 0, CASE_SMALL), B(gt_floor, -2, 2, 0, CASE_SMALL),
    { "where", build_where, oracle_where, 3, { S2(3, 5), S2(3, 5), S2(3, 5) }, -2, 2, 0.5, CASE_SMALL, 0 },
    { "where floor", build_where_floor, oracle_where_floor, 3, { S2(4, 1), S3(2, 4, 3), S1(3) }, -2, 2, 0.5, CASE_SMALL | CASE_GRAD, 0 },
    { "clamp", build_clamp, oracle_clamp, 3, { S3(2, 3, 4), S2(3, 1), S0 }, -2, 2, 0.5, CASE_SMALL, 0 },
    U(scale, -3, 3, 1, ALL), U(shift, -3, 3, 1, ALL), U(rsub, -3, 3, 1, ALL), U(rdiv, 0.4, 3, 1, ALL), U(pow_0, -3, 3, 1, CASE_SMALL),
    U(pow_1, -3, 3, 0.5, ALL), U(pow_3, -3, 3, 3, ALL), U(pow_7, -2, 2, 7, ALL), U(pow_m2, 0.4, 3, 4, ALL), U(pow_half, 0.3, 3, 2, ALL),
    U(pow_real, 0.4, 3, 18, ALL), U(pow_constant, -3, 3, 3, ALL), U(clamp_scalar, -3, 3, 0.5, CASE_SMALL | CASE_GRAD),
    U(cast_up, -3, 3, 0.5, CASE_GRAD), { "cast down", build_cast_down, oracle_cast_down, 1, { S2(3, 7) }, -3, 3, 1, 0, 0 },
    { "cast to i64", build_cast_integer, oracle_cast_integer, 1, { S2(3, 7) }, -9, 9, 0, CASE_I64, 0 },
    U(detach, -3, 3, 0.5, CASE_SMALL), U(name, -3, 3, 0.5, ALL),
#define SRC(name) { #name, build_##name, oracle_##name, 1, { S0 }, 0, 1, 9, CASE_SMALL, 0 }
    SRC(zeros), SRC(ones), SRC(full), SRC(scalar), SRC(eye), SRC(arange), SRC(linspace), SRC(linspace_1), SRC(constant), SRC(constant_folded),
    { 0 },
};
