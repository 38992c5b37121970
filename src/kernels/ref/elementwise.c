/* The elementwise ops in plain C over libm: the bodies of ops.def in double. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/elementwise.h"

#include <math.h>

#define R double
#define LIBM(name) name
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, body, ...) static R one_##name(R x) body
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, body, ...) static R one_##name(R a, R b) body
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, body, ...) static R one_##name(R x, R y, R z) body
#include "kernels/ops.def"

double lt_ref_elementwise(lt_op op, double a, double b, double c)
{
    switch (op) {
#define LT_UNARY(ID, name, ...) case LT_OP_##ID: return one_##name(a);
#define LT_BINARY(ID, name, ...) case LT_OP_##ID: return one_##name(a, b);
#define LT_TERNARY(ID, name, ...) case LT_OP_##ID: return one_##name(a, b, c);
#include "kernels/ops.def"
    default: return NAN;
    }
}

double lt_ref_fold(lt_op op, double acc, double x)
{
    return op == LT_OP_SUM ? acc + x : op == LT_OP_RMAX ? one_maximum(acc, x) : one_minimum(acc, x);
}
