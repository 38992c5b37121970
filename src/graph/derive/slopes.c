/* Slopes of the elementwise ops, out of their rows in kernels/ops.def, which say what holds at kinks.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/build/build.h"

static lt_node like(lt_graph *g, lt_node n, double c) { return lt_full(g, lt_dtype_at(g, n), *lt_shape_at(g, n), c); }

#define OPERAND(x, i) lt_node x = lt_input_of(g, out, i); (void)x;
#define SLOPE(name, i, operands, body) static lt_node slope_##name##_##i(lt_graph *g, lt_node out) { (void)g; operands body }
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, domain, body, slope) SLOPE(name, 0, OPERAND(x, 0), slope)
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, domain, body, slope_a, slope_b) \
    SLOPE(name, 0, OPERAND(a, 0) OPERAND(b, 1), slope_a) SLOPE(name, 1, OPERAND(a, 0) OPERAND(b, 1), slope_b)
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, domain, body, slope_x, slope_y, slope_z) \
    SLOPE(name, 0, OPERAND(x, 0) OPERAND(y, 1) OPERAND(z, 2), slope_x)                       \
    SLOPE(name, 1, OPERAND(x, 0) OPERAND(y, 1) OPERAND(z, 2), slope_y)                       \
    SLOPE(name, 2, OPERAND(x, 0) OPERAND(y, 1) OPERAND(z, 2), slope_z)
#include "kernels/ops.def"

static lt_node (*const slope[LT_N_ELEMENTWISE][3])(lt_graph *g, lt_node out) = {
#define LT_UNARY(ID, name, ...) [LT_OP_##ID] = { slope_##name##_0 },
#define LT_BINARY(ID, name, ...) [LT_OP_##ID] = { slope_##name##_0, slope_##name##_1 },
#define LT_TERNARY(ID, name, ...) [LT_OP_##ID] = { slope_##name##_0, slope_##name##_1, slope_##name##_2 },
#include "kernels/ops.def"
};

lt_node lt_op_slope(lt_graph *g, lt_node y, int i) { return slope[lt_get(g, y)->op][i](g, y); }
