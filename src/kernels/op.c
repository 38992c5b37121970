/* Names and arities of the ops. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/op.h"

typedef struct op_row { const char *name; int arity; } op_row;

static const op_row rows[] = {
#define X(id, name) [LT_OP_##id] = { name, 1 },
    LT_OPS_UNARY(X)
#undef X
#define X(id, name) [LT_OP_##id] = { name, 2 },
    LT_OPS_BINARY(X)
#undef X
#define X(id, name) [LT_OP_##id] = { name, 3 },
    LT_OPS_TERNARY(X)
#undef X
#define X(id, name, n) [LT_OP_##id] = { name, n },
    LT_OPS_SOURCE(X) LT_OPS_OTHER(X)
#undef X
};
_Static_assert(sizeof rows / sizeof rows[0] == LT_OP_COUNT, "one row per op");

static bool in_range(lt_op op) { return (unsigned)op < LT_OP_COUNT; }

const char *lt_op_name(lt_op op) { return in_range(op) ? rows[op].name : "?"; }

int lt_op_arity(lt_op op) { return in_range(op) ? rows[op].arity : 0; }
