/* Public builders: elementwise ops with broadcasting and type promotion.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "base/status.h"
#include "graph/build/build.h"

#include <math.h>

/* ---- promotion and broadcasting ---- */

static lt_dtype promote(lt_dtype a, lt_dtype b)
{
    if (a == b) return a;
    if (lt_dtype_is_complex(a) || lt_dtype_is_complex(b)) return a; /* the op's own rule refuses it */
    if (lt_dtype_is_float(a) != lt_dtype_is_float(b)) return lt_dtype_is_float(a) ? a : b;
    if (lt_dtype_is_float(a)) return a <= LT_BF16 && b <= LT_BF16 ? LT_F32 : LT_MAX(a, b);
    return a == LT_U8 ? b : b == LT_U8 ? a : LT_I64;
}

/* Widens *common by x's shape; `first` names the other side in the message. */
static bool broadcast_with(lt_graph *g, const char *op, lt_node first, lt_node x, lt_shape *common)
{
    const lt_shape *s = lt_shape_at(g, x);
    lt_shape out = { .rank = LT_MAX(s->rank, common->rank) };
    for (int i = 1; i <= out.rank; i++) {
        int64_t da = i <= common->rank ? common->dim[common->rank - i] : 1, db = i <= s->rank ? s->dim[s->rank - i] : 1;
        if (da != db && da != 1 && db != 1) {
            lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%s of %s %s and %s %s: extents %lld and %lld do not broadcast", op,
                                     lt_node_label(&g->ir, first.id).s, lt_shape_str(common).s,
                                     lt_node_label(&g->ir, x.id).s, lt_shape_str(s).s, (long long)da, (long long)db));
            return false;
        }
        out.dim[out.rank - i] = da == 1 ? db : da;
    }
    *common = out;
    return true;
}

/* Brings the operands to one type and shape, then applies op. */
static lt_node broadcasting(lt_graph *g, lt_op op, int n, const lt_node *in)
{
    lt_node x[3];
    if (!lt_operands_ok(g, lt_op_name(op), n, in)) return LT_NONE;
    lt_dtype t = lt_dtype_at(g, in[0]);
    lt_shape s = *lt_shape_at(g, in[0]);
    for (int i = 1; i < n; i++) {
        t = promote(t, lt_dtype_at(g, in[i]));
        if (!broadcast_with(g, lt_op_name(op), in[0], in[i], &s)) return LT_NONE;
    }
    for (int i = 0; i < n; i++) x[i] = lt_broadcast_to(g, lt_cast(g, in[i], t), s);
    return lt_emit_simple(g, op, n, x, NULL);
}

/* ---- the builders ---- */

static lt_node unary(lt_graph *g, lt_op op, lt_node x) { return lt_emit_simple(g, op, 1, &x, NULL); }
static lt_node binary(lt_graph *g, lt_op op, lt_node a, lt_node b) { return broadcasting(g, op, 2, (lt_node[]){ a, b }); }

/* PLAIN ones, by their rows; OWN ones follow. */
#define UNARY_PLAIN(ID, name, x) lt_node lt_##name(lt_graph *g, lt_node x) { return unary(g, LT_OP_##ID, x); }
#define UNARY_OWN(ID, name, x)
#define BINARY_PLAIN(ID, name, a, b) lt_node lt_##name(lt_graph *g, lt_node a, lt_node b) { return binary(g, LT_OP_##ID, a, b); }
#define BINARY_OWN(ID, name, a, b)
#define TERNARY_PLAIN(ID, name, x, y, z) \
    lt_node lt_##name(lt_graph *g, lt_node x, lt_node y, lt_node z) { return broadcasting(g, LT_OP_##ID, 3, (lt_node[]){ x, y, z }); }
#define TERNARY_OWN(ID, name, x, y, z)
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, ...) UNARY_##builder(ID, name, x)
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, ...) BINARY_##builder(ID, name, a, b)
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, ...) TERNARY_##builder(ID, name, x, y, z)
#include "kernels/ops.def"

/* If x is exp(t), or 1 + exp(t) with plus_one, t; none otherwise. log(1 + exp(t)) must be made
   stable here and not in a pass, because its derivative is taken before any pass runs. */
static lt_node exponent_of(lt_graph *g, lt_node x, bool plus_one)
{
    double v;
    if (!plus_one) return lt_get(g, x)->op == LT_OP_EXP ? lt_input_of(g, x, 0) : LT_NONE;
    if (lt_get(g, x)->op != LT_OP_ADD) return LT_NONE;
    for (int i = 0; i < 2; i++)
        if (lt_is_full(g, lt_input_of(g, x, i), &v) && v == 1) return exponent_of(g, lt_input_of(g, x, 1 - i), false);
    return LT_NONE;
}

lt_node lt_log(lt_graph *g, lt_node x)
{
    if (!lt_operand_ok(g, "log", x)) return LT_NONE;
    lt_node t = exponent_of(g, x, true);
    return lt_is_none(t) ? unary(g, LT_OP_LOG, x) : lt_softplus(g, t);
}

lt_node lt_log1p(lt_graph *g, lt_node x)
{
    if (!lt_operand_ok(g, "log1p", x)) return LT_NONE;
    lt_node t = exponent_of(g, x, false);
    return lt_is_none(t) ? unary(g, LT_OP_LOG1P, x) : lt_softplus(g, t);
}

lt_node lt_pow(lt_graph *g, lt_node a, lt_node b)
{
    double c;
    if (!lt_operands_ok(g, "pow", 2, (lt_node[]){ a, b })) return LT_NONE;
    if (lt_is_full(g, b, &c) && lt_shape_count(lt_shape_at(g, b)) == 1 && lt_shape_at(g, b)->rank <= lt_shape_at(g, a)->rank)
        return lt_pow_scalar(g, a, c);
    return binary(g, LT_OP_POW, a, b);
}

lt_node lt_mod(lt_graph *g, lt_node a, lt_node b)
{
    return lt_sub(g, a, lt_mul(g, b, lt_floor(g, lt_div(g, a, b))));
}

lt_node lt_where(lt_graph *g, lt_node mask, lt_node a, lt_node b)
{
    if (!lt_operands_ok(g, "where", 3, (lt_node[]){ mask, a, b })) return LT_NONE;
    lt_dtype t = promote(lt_dtype_at(g, a), lt_dtype_at(g, b)), tm = lt_dtype_at(g, mask);
    if (tm == t) return broadcasting(g, LT_OP_WHERE, 3, (lt_node[]){ mask, a, b });
    /* A mask of another type is compared in its own: a cast could make a small number zero. */
    lt_node is_zero = lt_eq(g, mask, lt_scalar(g, tm, 0));
    return broadcasting(g, LT_OP_WHERE, 3, (lt_node[]){ lt_cast(g, is_zero, t), b, a });
}

/* ---- with a plain number ---- */

static lt_node like(lt_graph *g, lt_node a, double c)
{
    if (!lt_operand_ok(g, "constant", a)) return LT_NONE;
    return lt_full(g, lt_dtype_at(g, a), *lt_shape_at(g, a), c);
}

lt_node lt_scale(lt_graph *g, lt_node a, double c) { return lt_mul(g, a, like(g, a, c)); }
lt_node lt_shift(lt_graph *g, lt_node a, double c) { return lt_add(g, a, like(g, a, c)); }
lt_node lt_rsub(lt_graph *g, double c, lt_node a) { return lt_sub(g, like(g, a, c), a); }
lt_node lt_rdiv(lt_graph *g, double c, lt_node a) { return lt_div(g, like(g, a, c), a); }

/* Small integral powers by multiplication: exact signs, and derivatives without logarithms. */
lt_node lt_pow_scalar(lt_graph *g, lt_node a, double c)
{
    if (!lt_operand_ok(g, "pow", a)) return LT_NONE;
    if (c == 0) return like(g, a, 1);
    if (c == 1) return a;
    if (c == 2) return lt_square(g, a);
    if (c == 0.5) return lt_sqrt(g, a);
    if (c < 0 && c >= -16 && c == floor(c)) return lt_recip(g, lt_pow_scalar(g, a, -c));
    if (c > 0 && c <= 16 && c == floor(c)) {
        lt_node half = lt_square(g, lt_pow_scalar(g, a, floor(c / 2)));
        return fmod(c, 2) == 0 ? half : lt_mul(g, half, a);
    }
    return binary(g, LT_OP_POW, a, like(g, a, c));
}

lt_node lt_clamp_scalar(lt_graph *g, lt_node x, double lo, double hi)
{
    return lt_emit_simple(g, LT_OP_CLAMP, 3, (lt_node[]){ x, like(g, x, lo), like(g, x, hi) }, NULL);
}

lt_node lt_cast(lt_graph *g, lt_node x, lt_dtype t)
{
    double v;
    if (!lt_operand_ok(g, "cast", x)) return LT_NONE;
    if (lt_dtype_at(g, x) == t) return x;
    if (lt_is_full(g, x, &v) && lt_dtype_is_float(lt_dtype_at(g, x)) && t <= LT_F64) {
        double rounded; /* through the source type, as an element would be */
        lt_store_double(lt_dtype_at(g, x), &rounded, 0, v);
        return lt_full(g, t, *lt_shape_at(g, x), lt_load_double(lt_dtype_at(g, x), &rounded, 0));
    }
    return lt_emit(g, LT_OP_CAST, t, NULL, 1, &x, NULL);
}

lt_node lt_detach(lt_graph *g, lt_node x)
{
    if (!lt_operand_ok(g, "detach", x)) return LT_NONE;
    lt_node n = lt_emit(g, LT_OP_RESHAPE, LT_F64, lt_shape_at(g, x), 1, &x, NULL);
    if (!lt_is_none(n)) g->ir.node[n.id].detached = true;
    return n;
}
