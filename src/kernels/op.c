/* Names, arities and costs of the ops. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/op.h"

typedef struct op_facts { const char *name; int arity; lt_op_kind kind; double flops; } op_facts;

static const op_facts facts[LT_OP_COUNT] = {
#define LT_UNARY(ID, name, x, flops, kind, ...) [LT_OP_##ID] = { #name, 1, LT_KIND_##kind, flops },
#define LT_BINARY(ID, name, a, b, flops, kind, ...) [LT_OP_##ID] = { #name, 2, LT_KIND_##kind, flops },
#define LT_TERNARY(ID, name, x, y, z, flops, kind, ...) [LT_OP_##ID] = { #name, 3, LT_KIND_##kind, flops },
#define LT_SOURCE(ID, name, doc) [LT_OP_##ID] = { #name, 0, LT_KIND_REAL, 0 },
#define LT_OTHER(ID, name, n, ...) [LT_OP_##ID] = { #name, n, LT_KIND_REAL, 0 },
#include "kernels/ops.def"
};

static const op_facts *facts_of(lt_op op)
{
    static const op_facts unknown = { "?", 0, LT_KIND_REAL, 0 };
    return (unsigned)op < LT_OP_COUNT ? &facts[op] : &unknown;
}

const char *lt_op_name(lt_op op) { return facts_of(op)->name; }
int lt_op_arity(lt_op op) { return facts_of(op)->arity; }
lt_op_kind lt_op_kind_of(lt_op op) { return facts_of(op)->kind; }
double lt_op_flops(lt_op op) { return facts_of(op)->flops; }
