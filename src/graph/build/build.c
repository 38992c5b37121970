/* Graph handles, error recording and the sources. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/build/build.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

lt_status lt_graph_create(lt_graph **out)
{
    static atomic_uint serial;
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "lt_graph_create: out is NULL");
    *out = NULL;
    lt_graph *g = lt_calloc(1, sizeof *g);
    if (!g) return LT_ERR_MEMORY;
    g->serial = atomic_fetch_add(&serial, 1) + 1;
    g->ir.arena = &g->arena;
    *out = g;
    return LT_OK;
}

void lt_graph_destroy(lt_graph *g)
{
    if (!g) return;
    lt_ir_free(&g->ir);
    lt_arena_release(&g->arena);
    lt_free(g);
}

lt_status lt_graph_status(const lt_graph *g)
{
    if (!g) return LT_FAIL(LT_ERR_ARGUMENT, "graph is NULL");
    if (g->status) lt_error_set(g->error);
    return g->status;
}

int lt_graph_node_count(const lt_graph *g) { return g ? g->ir.n_nodes : 0; }

static bool belongs(const lt_graph *g, lt_node n) { return g && n.id >= 0 && n.id < g->ir.n_nodes && n.graph == g->serial; }

lt_shape lt_node_shape(const lt_graph *g, lt_node n) { return belongs(g, n) ? *lt_shape_at(g, n) : lt_shape0(); }
lt_dtype lt_node_dtype(const lt_graph *g, lt_node n) { return belongs(g, n) ? lt_dtype_at(g, n) : LT_F64; }

lt_node lt_graph_fail(lt_graph *g, lt_status s)
{
    if (g && !g->status) {
        g->status = s;
        snprintf(g->error, sizeof g->error, "%s", lt_error_text());
    }
    return LT_NONE;
}

void lt_graph_forgive(lt_graph *g) { g->status = LT_OK; }

bool lt_operands_ok(lt_graph *g, const char *op, int n, const lt_node *x)
{
    if (!g) { LT_FAIL(LT_ERR_ARGUMENT, "%s: graph is NULL", op); return false; }
    if (g->status) return false;
    for (int i = 0; i < n; i++) {
        if (lt_is_none(x[i])) {
            lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "%s: operand %d is none", op, i));
            return false;
        }
        if (!belongs(g, x[i])) {
            lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "%s: operand %d belongs to another graph", op, i));
            return false;
        }
    }
    return true;
}

lt_node lt_emit(lt_graph *g, lt_op op, lt_dtype dtype, const lt_shape *shape,
                int n_in, const lt_node *in, const lt_attr *attr)
{
    int32_t id[LT_OP_MAX_INPUTS];
    if (!lt_operands_ok(g, lt_op_name(op), n_in, in)) return LT_NONE;
    if (n_in > LT_OP_MAX_INPUTS)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "%s of %d operands: at most %d", lt_op_name(op), n_in, LT_OP_MAX_INPUTS));
    for (int i = 0; i < n_in; i++) id[i] = in[i].id;
    static const lt_attr none;
    lt_infer x = { &g->ir, op, n_in, id, attr ? attr : &none, dtype, shape ? *shape : lt_shape0() };
    lt_status s = lt_op_infer(&x);
    if (s) return lt_graph_fail(g, s);
    int32_t made = lt_ir_push(&g->ir, op, x.dtype, &x.shape, n_in, id, attr);
    return made < 0 ? lt_graph_fail(g, LT_ERR_MEMORY) : lt_of(g, made);
}

lt_node lt_emit_simple(lt_graph *g, lt_op op, int n_in, const lt_node *in, const lt_attr *attr)
{
    return lt_emit(g, op, LT_F64, NULL, n_in, in, attr);
}

lt_node lt_name(lt_graph *g, lt_node n, const char *name)
{
    if (!lt_operand_ok(g, "lt_name", n)) return LT_NONE;
    char *copy = name ? lt_arena_strdup(&g->arena, name) : NULL;
    if (name && !copy) return lt_graph_fail(g, LT_ERR_MEMORY);
    g->ir.node[n.id].name = copy;
    return n;
}

lt_status lt_graph_dump(const lt_graph *g, FILE *to)
{
    if (!g || !to) return LT_FAIL(LT_ERR_ARGUMENT, "lt_graph_dump: %s is NULL", g ? "file" : "graph");
    char line[1024];
    for (int32_t i = 0; i < g->ir.n_nodes; i++) {
        lt_ir_print_node(&g->ir, i, line, sizeof line);
        if (fprintf(to, "%s\n", line) < 0) return LT_FAIL(LT_ERR_IO, "lt_graph_dump: write failed");
    }
    return LT_OK;
}

bool lt_axis_ok(lt_graph *g, const char *op, lt_node x, int *axis)
{
    if (!lt_operand_ok(g, op, x)) return false;
    int rank = lt_shape_at(g, x)->rank, wanted = *axis;
    if (wanted < 0) *axis += rank;
    if (*axis >= 0 && *axis < rank) return true;
    lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: axis %d is outside %d..%d", op, lt_node_label(&g->ir, x.id).s,
                             lt_shape_str(lt_shape_at(g, x)).s, wanted, -rank, rank - 1));
    return false;
}

/* ---- sources ---- */

static bool source_ok(lt_graph *g, const char *op, lt_dtype t, const lt_shape *s)
{
    if (!lt_operands_ok(g, op, 0, NULL)) return false;
    if ((unsigned)t >= LT_DTYPE_COUNT)
        lt_graph_fail(g, LT_FAIL(LT_ERR_TYPE, "%s: unknown element type %d", op, (int)t));
    else if (s->rank < 0 || s->rank > LT_MAX_RANK)
        lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%s: rank %d is outside 0..%d", op, s->rank, LT_MAX_RANK));
    else if (lt_shape_count(s) > INT64_MAX / 16)
        lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%s %s: too many elements", op, lt_shape_str(s).s));
    return !g->status;
}

lt_node lt_input(lt_graph *g, const char *name, lt_dtype t, lt_shape s)
{
    if (!source_ok(g, "input", t, &s)) return LT_NONE;
    lt_attr attr = { .u.input.input = g->ir.n_inputs };
    lt_node n = lt_emit(g, LT_OP_INPUT, t, &s, 0, NULL, &attr);
    return lt_is_none(n) || !name ? n : lt_name(g, n, name);
}

lt_status lt_input_cut(lt_graph *g, lt_node x, int64_t n)
{
    if (!belongs(g, x) || lt_get(g, x)->op != LT_OP_INPUT || lt_shape_at(g, x)->rank != 1 || n > lt_shape_at(g, x)->dim[0])
        return LT_FAIL(LT_ERR_INTERNAL, "only an input vector can be cut, to no more than its length");
    g->ir.node[x.id].shape.dim[0] = n;
    return LT_OK;
}

lt_node lt_constant(lt_graph *g, lt_dtype t, lt_shape s, const void *data)
{
    if (!source_ok(g, "constant", t, &s)) return LT_NONE;
    int64_t count = lt_shape_count(&s);
    if (count < 0 || (!data && count > 0))
        return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "constant %s: %s", lt_shape_str(&s).s,
                                        data ? "extents must be >= 0" : "data is NULL"));
    size_t bytes = (size_t)count * lt_dtype_size(t);
    void *copy = lt_arena_alloc(&g->arena, LT_MAX(bytes, 1));
    if (!copy) return lt_graph_fail(g, LT_ERR_MEMORY);
    if (bytes) memcpy(copy, data, bytes);
    return lt_emit(g, LT_OP_CONST, t, &s, 0, NULL, &(lt_attr){ .u.data = copy });
}

lt_node lt_full(lt_graph *g, lt_dtype t, lt_shape s, double value)
{
    if (!source_ok(g, "full", t, &s)) return LT_NONE;
    if (lt_dtype_is_complex(t)) return lt_graph_fail(g, LT_FAIL(LT_ERR_TYPE, "full: complex constants need lt_constant"));
    return lt_emit(g, LT_OP_FULL, t, &s, 0, NULL, &(lt_attr){ .u.value = value });
}

lt_node lt_scalar(lt_graph *g, lt_dtype t, double value) { return lt_full(g, t, lt_shape0(), value); }
lt_node lt_zeros(lt_graph *g, lt_dtype t, lt_shape s) { return lt_full(g, t, s, 0); }
lt_node lt_ones(lt_graph *g, lt_dtype t, lt_shape s) { return lt_full(g, t, s, 1); }

lt_node lt_eye(lt_graph *g, lt_dtype t, int64_t n)
{
    lt_node ones = lt_full(g, t, lt_shape1(n), 1);
    return lt_diag(g, ones);
}

static lt_node ramp(lt_graph *g, lt_dtype t, double start, double step, double last, int64_t n)
{
    lt_shape s = lt_shape1(n);
    if (!source_ok(g, "arange", t, &s)) return LT_NONE;
    if (n < 0) return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "arange of %lld elements", (long long)n));
    void *data = lt_arena_alloc(&g->arena, LT_MAX((size_t)n, 1) * lt_dtype_size(t));
    if (!data) return lt_graph_fail(g, LT_ERR_MEMORY);
    for (int64_t i = 0; i < n; i++)
        lt_store_double(t, data, i, i == n - 1 && !isnan(last) ? last : start + step * (double)i);
    return lt_emit(g, LT_OP_CONST, t, &s, 0, NULL, &(lt_attr){ .u.data = data });
}

lt_node lt_arange(lt_graph *g, lt_dtype t, double start, double step, int64_t n) { return ramp(g, t, start, step, NAN, n); }

lt_node lt_linspace(lt_graph *g, lt_dtype t, double first, double last, int64_t n)
{
    return ramp(g, t, first, n > 1 ? (last - first) / (double)(n - 1) : 0, n > 1 ? last : NAN, n);
}

bool lt_is_full(const lt_graph *g, lt_node n, double *value)
{
    if (!belongs(g, n) || lt_get(g, n)->op != LT_OP_FULL) return false;
    *value = lt_get(g, n)->attr.u.value;
    return true;
}
