/* Public builders: shapes, slices, concatenation, gathering. Every movement of elements is an
   affine view or its transpose, so passes and fusion know only two ops (decision 20).
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"
#include "graph/build/build.h"

#define LABEL(x) lt_node_label(&g->ir, (x).id).s
#define SHAPE(x) lt_shape_str(lt_shape_at(g, x)).s

lt_node lt_view(lt_graph *g, lt_node x, const lt_shape *shape, const lt_affine *view)
{
    double v;
    if (!lt_operand_ok(g, "view", x)) return LT_NONE;
    if (lt_is_full(g, x, &v)) return lt_full(g, lt_dtype_at(g, x), *shape, v);
    return lt_emit(g, LT_OP_VIEW, LT_F64, shape, 1, &x, &(lt_attr){ .u.view = *view });
}

/* At most LT_OP_MAX_INPUTS parts a node; more are added up in groups. */
lt_node lt_place(lt_graph *g, const lt_shape *shape, int n, const lt_node *parts, const lt_affine *at)
{
    if (n <= LT_OP_MAX_INPUTS) return lt_emit(g, LT_OP_PLACE, LT_F64, shape, n, parts, &(lt_attr){ .u.place = at });
    int half = n / 2;
    return lt_add(g, lt_place(g, shape, half, parts, at), lt_place(g, shape, n - half, parts + half, at + half));
}

/* The dense view of x, for rules that then change strides. */
static lt_affine dense_view(const lt_graph *g, lt_node x)
{
    lt_affine v = { .offset = 0 };
    lt_dense_strides(lt_shape_at(g, x), v.stride);
    return v;
}

lt_node lt_reshape(lt_graph *g, lt_node x, lt_shape s)
{
    double v;
    if (!lt_operand_ok(g, "reshape", x)) return LT_NONE;
    int unknown = -1;
    int64_t known = 1, count = lt_shape_count(lt_shape_at(g, x));
    if (s.rank < 0 || s.rank > LT_MAX_RANK)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "reshape of %s %s: rank %d is outside 0..%d", LABEL(x), SHAPE(x), s.rank, LT_MAX_RANK));
    for (int i = 0; i < s.rank; i++) {
        if (s.dim[i] == -1 && unknown < 0) unknown = i;
        else if (s.dim[i] < 0 || __builtin_mul_overflow(known, s.dim[i], &known))
            return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "reshape of %s %s to %s: extents must be >= 0, one may be -1",
                                            LABEL(x), SHAPE(x), lt_shape_str(&s).s));
    }
    if (unknown >= 0) s.dim[unknown] = known > 0 ? count / known : 0;
    for (int i = s.rank; i < LT_MAX_RANK; i++) s.dim[i] = 0;
    if (lt_shape_equal(&s, lt_shape_at(g, x))) return x;
    if (lt_is_full(g, x, &v) && lt_shape_count(&s) == count) return lt_full(g, lt_dtype_at(g, x), s, v);
    return lt_emit(g, LT_OP_RESHAPE, LT_F64, &s, 1, &x, NULL);
}

lt_node lt_flatten(lt_graph *g, lt_node x) { return lt_reshape(g, x, lt_shape1(-1)); }

lt_node lt_squeeze(lt_graph *g, lt_node x, int axis)
{
    if (!lt_axis_ok(g, "squeeze", x, &axis)) return LT_NONE;
    lt_shape s = *lt_shape_at(g, x);
    if (s.dim[axis] != 1)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "squeeze of %s %s: axis %d has extent %lld, not 1", LABEL(x), SHAPE(x), axis, (long long)s.dim[axis]));
    for (int i = axis; i + 1 < s.rank; i++) s.dim[i] = s.dim[i + 1];
    s.dim[--s.rank] = 0;
    return lt_reshape(g, x, s);
}

lt_node lt_unsqueeze(lt_graph *g, lt_node x, int axis)
{
    if (!lt_operand_ok(g, "unsqueeze", x)) return LT_NONE;
    lt_shape s = *lt_shape_at(g, x);
    if (axis < 0) axis += s.rank + 1;
    if (axis < 0 || axis > s.rank || s.rank == LT_MAX_RANK)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "unsqueeze of %s %s: no room for an axis at %d", LABEL(x), SHAPE(x), axis));
    for (int i = s.rank; i > axis; i--) s.dim[i] = s.dim[i - 1];
    s.dim[axis] = 1;
    s.rank++;
    return lt_reshape(g, x, s);
}

lt_node lt_broadcast_to(lt_graph *g, lt_node x, lt_shape s)
{
    if (!lt_operand_ok(g, "broadcast_to", x)) return LT_NONE;
    const lt_shape from = *lt_shape_at(g, x);
    if (lt_shape_equal(&from, &s)) return x;
    int64_t dense[LT_MAX_RANK];
    lt_affine view = { .offset = 0 };
    lt_dense_strides(&from, dense);
    bool fits = s.rank >= from.rank && s.rank <= LT_MAX_RANK;
    for (int i = 1; fits && i <= from.rank; i++) {
        int64_t have = from.dim[from.rank - i], want = s.dim[s.rank - i];
        fits = have == want || have == 1;
        view.stride[s.rank - i] = have == want && have != 1 ? dense[from.rank - i] : 0;
    }
    if (!fits)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "broadcast of %s %s to %s: does not fit", LABEL(x), SHAPE(x), lt_shape_str(&s).s));
    if (lt_shape_count(&from) == lt_shape_count(&s)) return lt_reshape(g, x, s);
    return lt_view(g, x, &s, &view);
}

lt_node lt_select(lt_graph *g, lt_node x, int axis, int64_t i)
{
    if (!lt_axis_ok(g, "index", x, &axis)) return LT_NONE;
    lt_shape from = *lt_shape_at(g, x), s = { .rank = 0 };
    int64_t extent = from.dim[axis], at = i < 0 ? i + extent : i;
    if (at < 0 || at >= extent)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "index %lld of %s %s is outside axis %d of extent %lld", (long long)i,
                                        LABEL(x), SHAPE(x), axis, (long long)extent));
    lt_affine dense = dense_view(g, x), view = { .offset = at * dense.stride[axis] };
    for (int k = 0; k < from.rank; k++) {
        if (k == axis) continue;
        view.stride[s.rank] = dense.stride[k];
        s.dim[s.rank++] = from.dim[k];
    }
    return lt_view(g, x, &s, &view);
}

lt_node lt_at(lt_graph *g, lt_node x, int64_t i) { return lt_select(g, x, 0, i); }

lt_node lt_slice(lt_graph *g, lt_node x, int axis, int64_t start, int64_t stop, int64_t step)
{
    if (!lt_axis_ok(g, "slice", x, &axis)) return LT_NONE;
    if (step == 0) return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "slice of %s %s: step is 0", LABEL(x), SHAPE(x)));
    lt_shape s = *lt_shape_at(g, x);
    int64_t n = s.dim[axis], low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    /* Steps beyond the extent take one element: the same, and nothing below overflows. */
    step = LT_MIN(LT_MAX(step, -n - 1), n + 1);
    if (start < 0) start += n;
    start = LT_MIN(LT_MAX(start, low), high);
    if (stop == LT_END) stop = step > 0 ? n : -1;
    else {
        if (stop < 0) stop += n;
        stop = LT_MIN(LT_MAX(stop, low), high);
    }
    int64_t span = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
    int64_t count = span > 0 ? (span + stride - 1) / stride : 0;
    if (start == 0 && step == 1 && count == n) return x;
    lt_affine view = dense_view(g, x);
    view.offset = count ? start * view.stride[axis] : 0;
    view.stride[axis] *= count > 1 ? step : 0;
    s.dim[axis] = count;
    return lt_view(g, x, &s, &view);
}

lt_node lt_flip(lt_graph *g, lt_node x, int axis) { return lt_slice(g, x, axis, -1, LT_END, -1); }

lt_node lt_permute(lt_graph *g, lt_node x, const int *axes)
{
    if (!lt_operand_ok(g, "permute", x)) return LT_NONE;
    if (!axes && lt_shape_at(g, x)->rank) return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "permute of %s %s: axes is NULL", LABEL(x), SHAPE(x)));
    const lt_shape from = *lt_shape_at(g, x);
    lt_affine dense = dense_view(g, x), view = { .offset = 0 };
    lt_shape s = from;
    unsigned seen = 0;
    for (int i = 0; i < from.rank; i++) {
        int a = axes[i] < 0 ? axes[i] + from.rank : axes[i];
        if (a < 0 || a >= from.rank || seen >> a & 1)
            return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "permute of %s %s: axis %d is outside its rank or named twice", LABEL(x), SHAPE(x), axes[i]));
        seen |= 1u << a;
        s.dim[i] = from.dim[a];
        view.stride[i] = dense.stride[a];
    }
    return lt_view(g, x, &s, &view);
}

lt_node lt_transpose(lt_graph *g, lt_node x)
{
    if (!lt_operand_ok(g, "transpose", x)) return LT_NONE;
    int rank = lt_shape_at(g, x)->rank, axes[LT_MAX_RANK];
    if (rank < 2) return x;
    for (int i = 0; i < rank; i++) axes[i] = i;
    axes[rank - 1] = rank - 2;
    axes[rank - 2] = rank - 1;
    return lt_permute(g, x, axes);
}

/* ---- putting parts together ---- */

static lt_node join(lt_graph *g, const lt_node *parts, int n, int axis, int64_t extent)
{
    lt_shape s = *lt_shape_at(g, parts[0]);
    s.dim[axis] = extent;
    int64_t dense[LT_MAX_RANK], at = 0;
    if (lt_shape_count(&s) < 0) return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%d parts make %s: too many elements", n, lt_shape_str(&s).s));
    lt_dense_strides(&s, dense);
    lt_affine *where = lt_arena_alloc(&g->arena, (size_t)n * sizeof *where);
    if (!where) return lt_graph_fail(g, LT_ERR_MEMORY);
    for (int i = 0; i < n; i++) {
        where[i].offset = at * dense[axis];
        for (int k = 0; k < s.rank; k++) where[i].stride[k] = dense[k];
        at += lt_shape_at(g, parts[i])->dim[axis];
    }
    return lt_place(g, &s, n, parts, where);
}

lt_node lt_concat(lt_graph *g, const lt_node *parts, int n, int axis)
{
    if (n < 1 || !parts) return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "concat of %d parts: need at least 1", n));
    if (!lt_operands_ok(g, "concat", n, parts) || !lt_axis_ok(g, "concat", parts[0], &axis)) return LT_NONE;
    int64_t extent = 0;
    for (int i = 0; i < n; i++) {
        const lt_shape *a = lt_shape_at(g, parts[0]), *b = lt_shape_at(g, parts[i]);
        bool same = a->rank == b->rank;
        for (int k = 0; same && k < a->rank; k++) same = k == axis || a->dim[k] == b->dim[k];
        if (!same)
            return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "concat of %s %s and %s %s along axis %d: other extents differ",
                                            LABEL(parts[0]), SHAPE(parts[0]), LABEL(parts[i]), SHAPE(parts[i]), axis));
        if (__builtin_add_overflow(extent, b->dim[axis], &extent))
            return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "concat of %d parts along axis %d: too many elements", n, axis));
    }
    return n == 1 ? parts[0] : join(g, parts, n, axis, extent);
}

lt_node lt_stack(lt_graph *g, const lt_node *parts, int n, int axis)
{
    if (n < 1 || !parts) return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "stack of %d parts: need at least 1", n));
    if (!lt_operands_ok(g, "stack", n, parts)) return LT_NONE;
    lt_node *raised = lt_arena_alloc(&g->arena, (size_t)n * sizeof *raised);
    if (!raised) return lt_graph_fail(g, LT_ERR_MEMORY);
    if (axis < 0) axis += lt_shape_at(g, parts[0])->rank + 1;
    for (int i = 0; i < n; i++) {
        if (!lt_shape_equal(lt_shape_at(g, parts[i]), lt_shape_at(g, parts[0])))
            return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "stack of %s %s and %s %s: shapes differ", LABEL(parts[0]),
                                            SHAPE(parts[0]), LABEL(parts[i]), SHAPE(parts[i])));
        raised[i] = lt_unsqueeze(g, parts[i], axis);
        if (lt_is_none(raised[i])) return LT_NONE;
    }
    return n == 1 ? raised[0] : join(g, raised, n, axis, n);
}

lt_status lt_split(lt_graph *g, lt_node x, int n, int axis, lt_node *parts)
{
    if (!lt_axis_ok(g, "split", x, &axis)) return lt_graph_status(g);
    int64_t extent = lt_shape_at(g, x)->dim[axis];
    if (!parts) lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "split of %s %s: parts is NULL", LABEL(x), SHAPE(x)));
    else if (n < 1 || extent % n)
        lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "split of %s %s: axis %d of extent %lld into %d equal parts", LABEL(x), SHAPE(x),
                                 axis, (long long)extent, n));
    for (int i = 0; i < n && !g->status; i++) parts[i] = lt_slice(g, x, axis, i * (extent / n), (i + 1) * (extent / n), 1);
    return lt_graph_status(g);
}

lt_node lt_pad(lt_graph *g, lt_node x, int axis, int64_t before, int64_t after)
{
    if (!lt_axis_ok(g, "pad", x, &axis)) return LT_NONE;
    if (before < 0 || after < 0)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "pad of %s %s by %lld and %lld: must be >= 0", LABEL(x), SHAPE(x), (long long)before, (long long)after));
    lt_shape s = *lt_shape_at(g, x);
    bool fits = !__builtin_add_overflow(s.dim[axis], before, &s.dim[axis]) && !__builtin_add_overflow(s.dim[axis], after, &s.dim[axis]);
    if (!fits || lt_shape_count(&s) < 0) return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "pad of %s %s to %s: too many elements", LABEL(x), SHAPE(x), lt_shape_str(&s).s));
    lt_affine at = { .offset = 0 };
    lt_dense_strides(&s, at.stride);
    at.offset = before * at.stride[axis];
    return before + after == 0 ? x : lt_place(g, &s, 1, &x, &at);
}

lt_node lt_roll(lt_graph *g, lt_node x, int64_t shift, int axis)
{
    if (!lt_axis_ok(g, "roll", x, &axis)) return LT_NONE;
    int64_t n = lt_shape_at(g, x)->dim[axis], k = n ? ((shift % n) + n) % n : 0;
    if (k == 0) return x;
    return lt_concat(g, (lt_node[]){ lt_slice(g, x, axis, n - k, LT_END, 1), lt_slice(g, x, axis, 0, n - k, 1) }, 2, axis);
}

/* ---- diagonals and triangles ---- */

lt_node lt_diag(lt_graph *g, lt_node x)
{
    if (!lt_operand_ok(g, "diag", x)) return LT_NONE;
    const lt_shape s = *lt_shape_at(g, x);
    if (s.rank == 2) {
        lt_shape d = lt_shape1(LT_MIN(s.dim[0], s.dim[1]));
        return lt_view(g, x, &d, &(lt_affine){ 0, { s.dim[1] + 1 } });
    }
    if (s.rank != 1) return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "diag of %s %s: needs a vector or a matrix", LABEL(x), SHAPE(x)));
    lt_shape m = lt_shape2(s.dim[0], s.dim[0]);
    return lt_place(g, &m, 1, &x, &(lt_affine){ 0, { s.dim[0] + 1 } });
}

lt_node lt_trace(lt_graph *g, lt_node m)
{
    if (!lt_operand_ok(g, "trace", m)) return LT_NONE;
    if (lt_shape_at(g, m)->rank != 2)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "trace of %s %s: needs a matrix", LABEL(m), SHAPE(m)));
    return lt_sum(g, lt_diag(g, m));
}

lt_node lt_lower(lt_graph *g, lt_node m)
{
    if (!lt_operand_ok(g, "lower", m)) return LT_NONE;
    const lt_shape s = *lt_shape_at(g, m);
    if (s.rank != 2 || s.dim[0] != s.dim[1])
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "lower of %s %s: needs a square matrix", LABEL(m), SHAPE(m)));
    int64_t n = s.dim[0], at = 0;
    int64_t *index = lt_arena_alloc(&g->arena, LT_MAX((size_t)(n * (n + 1) / 2), 1) * sizeof *index);
    if (!index) return lt_graph_fail(g, LT_ERR_MEMORY);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) index[at++] = i * n + j;
    return lt_gather(g, lt_flatten(g, m), lt_constant(g, LT_I64, lt_shape1(at), index), 0);
}

/* ---- gathering by index ---- */

lt_node lt_take_along(lt_graph *g, lt_node x, lt_node index)
{
    return lt_emit_simple(g, LT_OP_TAKE_ALONG, 2, (lt_node[]){ x, index }, NULL);
}

/* Moves `axis` to the end; its own inverse is move_back. */
static lt_node move_last(lt_graph *g, lt_node x, int axis)
{
    int rank = lt_shape_at(g, x)->rank, axes[LT_MAX_RANK], n = 0;
    if (axis == rank - 1) return x;
    for (int i = 0; i < rank; i++) if (i != axis) axes[n++] = i;
    axes[n] = axis;
    return lt_permute(g, x, axes);
}

static lt_node move_back(lt_graph *g, lt_node x, int axis)
{
    if (!lt_operand_ok(g, "gather", x)) return LT_NONE;
    int rank = lt_shape_at(g, x)->rank, axes[LT_MAX_RANK];
    if (axis == rank - 1) return x;
    for (int i = 0; i < rank; i++) axes[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
    return lt_permute(g, x, axes);
}

lt_node lt_gather(lt_graph *g, lt_node x, lt_node index, int axis)
{
    if (!lt_operand_ok(g, "gather", index) || !lt_axis_ok(g, "gather", x, &axis)) return LT_NONE;
    if (!lt_dtype_is_integer(lt_dtype_at(g, index)))
        return lt_graph_fail(g, LT_FAIL(LT_ERR_TYPE, "gather of %s by %s: the index is %s, need i64 or i32", LABEL(x), LABEL(index),
                                        lt_dtype_name(lt_dtype_at(g, index))));
    index = lt_cast(g, index, LT_I64);
    int rank = lt_shape_at(g, x)->rank, index_rank = lt_shape_at(g, index)->rank;
    if (index_rank <= 1 && !(rank == 1 && index_rank == 1))
        return lt_emit_simple(g, LT_OP_TAKE, 2, (lt_node[]){ x, index }, &(lt_attr){ .u.index.axis = axis });
    if (index_rank != rank)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "gather of %s %s by %s %s: the index has rank 0, 1 or that of the tensor",
                                        LABEL(x), SHAPE(x), LABEL(index), SHAPE(index)));
    return move_back(g, lt_take_along(g, move_last(g, x, axis), move_last(g, index, axis)), axis);
}
