/* How ops map terms of a Jacobian to terms: elementwise, views, places, sums, matrix products.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/derive/jacobian.h"

#include "base/dtype.h"
#include "base/status.h"

/* ---- the core as a tensor ---- */

static int seeds(const lt_jacobian_term *t) { return t->seed.rank; }
static int64_t core_extent(const lt_graph *g, const lt_jacobian_term *t, int axis) { return lt_shape_at(g, t->core)->dim[axis]; }

/* Repeats the core along one of its axes up to the extent it stands for. */
static void widen(lt_graph *g, lt_jacobian_term *t, int axis, int64_t extent)
{
    if (lt_is_none(t->core) || core_extent(g, t, axis) == extent) return;
    lt_shape s = *lt_shape_at(g, t->core);
    s.dim[axis] = extent;
    t->core = lt_broadcast_to(g, t->core, s);
}

/* A tensor over the node's axes as a tensor that multiplies the core: read where the term is not
   zero. axis_of[b] is the node axis that axis b of x stands for, or -1 for a new one at `fresh`. */
static lt_node aligned(lt_graph *g, const lt_jacobian_term *t, lt_node x, const int *axis_of)
{
    const lt_shape s = *lt_shape_at(g, x);
    lt_shape view_shape = { .rank = t->seed.rank + t->shape.rank };
    lt_affine v = { .offset = 0 };
    int64_t dense[LT_MAX_RANK];
    lt_dense_strides(&s, dense);
    for (int i = 0; i < view_shape.rank; i++) view_shape.dim[i] = 1;
    for (int k = 0; k < s.rank; k++) {
        int b = axis_of[k], a = t->follows[b];
        if (s.dim[k] == 1) continue;
        if (a == LT_AXIS_FREE) {
            v.stride[seeds(t) + b] = dense[k];
            view_shape.dim[seeds(t) + b] = s.dim[k];
            continue;
        }
        v.offset += t->offset[b] * dense[k];
        if (a < 0) continue;
        v.offset += t->low[a] * t->stride[b] * dense[k];
        v.stride[a] += t->stride[b] * dense[k];
        view_shape.dim[a] = t->window[a];
    }
    return lt_view(g, x, &view_shape, &v);
}

/* ---- elementwise ---- */

static void pull_elementwise(lt_graph *g, lt_node y, int i, lt_jacobian_term *t)
{
    static const int identity[LT_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    lt_node slope = lt_get(g, y)->op != LT_OP_NORM ? lt_op_slope(g, y, i) : i == 0 ? lt_norm_slope(g, y) : LT_NONE;
    double c;
    if (lt_is_none(slope) || lt_is_full(g, slope, &c)) t->core = lt_grad_scale(g, t->core, lt_is_none(slope) ? slope : lt_scalar(g, lt_dtype_at(g, slope), c));
    else t->core = lt_mul(g, t->core, aligned(g, t, slope, identity));
}

/* ---- axes: a term with some node axes replaced ---- */

typedef struct axis { int8_t follows; int64_t extent, offset, stride; } axis;

static axis axis_at(const lt_jacobian_term *t, int b) { return (axis){ t->follows[b], t->shape.dim[b], t->offset[b], t->stride[b] }; }

static void set_axis(lt_jacobian_term *t, int b, axis x)
{
    t->follows[b] = x.follows;
    t->shape.dim[b] = x.extent;
    t->offset[b] = x.offset;
    t->stride[b] = x.stride;
}

/* Sums the core over node axis b and leaves extent 1 there: the transpose of broadcasting. */
static void sum_axis(lt_graph *g, lt_jacobian_term *t, int b)
{
    int k = seeds(t) + b;
    if (t->follows[b] == LT_AXIS_FREE) {
        if (core_extent(g, t, k) != 1) t->core = lt_sum_axis(g, t->core, k, true);
        else if (t->shape.dim[b] != 1) t->core = lt_scale(g, t->core, (double)t->shape.dim[b]);
    }
    set_axis(t, b, (axis){ LT_AXIS_FREE, 1, 0, 0 });
}

/* Reorders, drops (extent 1) and inserts node axes: new axis j is old axis from[j], or a new one of
   the given extent along which the block repeats where from[j] is -1. */
static void rearrange(lt_graph *g, lt_jacobian_term *t, int rank, const int *from, const int64_t *extent)
{
    if (lt_is_none(t->core)) return;
    lt_jacobian_term old = *t;
    const lt_shape core = *lt_shape_at(g, old.core);
    lt_shape s = { .rank = seeds(t) + rank };
    lt_affine v = { .offset = 0 };
    int64_t dense[LT_MAX_RANK];
    lt_dense_strides(&core, dense);
    for (int a = 0; a < seeds(t); a++) { s.dim[a] = core.dim[a]; v.stride[a] = dense[a]; }
    t->shape = (lt_shape){ .rank = rank };
    for (int j = 0; j < rank; j++) {
        int k = seeds(t) + j;
        s.dim[k] = from[j] >= 0 ? core.dim[seeds(t) + from[j]] : 1;
        v.stride[k] = from[j] >= 0 ? dense[seeds(t) + from[j]] : 0;
        set_axis(t, j, from[j] >= 0 ? axis_at(&old, from[j]) : (axis){ LT_AXIS_FREE, extent[j], 0, 0 });
    }
    for (int j = rank; j < LT_MAX_RANK; j++) set_axis(t, j, (axis){ LT_AXIS_FREE, 0, 0, 0 });
    t->core = lt_view(g, old.core, &s, &v);
}

/* ---- views ---- */

/* Writes a step of the base, in elements, as a step along one of its axes. */
static bool single_axis_step(const lt_shape *base, int64_t elements, int *axis_out, int64_t *step)
{
    int64_t dense[LT_MAX_RANK];
    lt_dense_strides(base, dense);
    for (int k = base->rank - 1; k >= 0; k--) { /* the innermost axis it is a multiple of, within reach */
        if (base->dim[k] == 1 || elements % dense[k]) continue;
        int64_t c = elements / dense[k];
        if (c > -base->dim[k] && c < base->dim[k]) { *axis_out = k; *step = c; return true; }
    }
    return false;
}

/* Which base axis every moving axis of the view walks along, from where and in which steps. */
typedef struct axis_walk { int axis[LT_MAX_RANK]; int64_t step[LT_MAX_RANK], start[LT_MAX_RANK]; } axis_walk;

static bool walk_of(const lt_affine *v, const lt_shape *shape, const lt_shape *base, axis_walk *w)
{
    int64_t dense[LT_MAX_RANK], left = v->offset;
    unsigned used = 0;
    lt_dense_strides(base, dense);
    if (lt_shape_count(base) == 0 || lt_shape_count(shape) == 0) return false;
    for (int k = 0; k < base->rank; k++) { w->start[k] = left / dense[k]; left %= dense[k]; }
    for (int i = 0; i < shape->rank; i++) {
        w->axis[i] = -1;
        if (shape->dim[i] == 1 || v->stride[i] == 0) continue;
        if (!single_axis_step(base, v->stride[i], &w->axis[i], &w->step[i]) || used >> w->axis[i] & 1) return false;
        int64_t end = w->start[w->axis[i]] + w->step[i] * (shape->dim[i] - 1);
        if (end < 0 || end >= base->dim[w->axis[i]]) return false;
        used |= 1u << w->axis[i];
    }
    return true;
}

/* Free axis b of the node becomes an axis of another extent, its elements at start + step * index. */
static void scatter_axis(lt_graph *g, lt_jacobian_term *t, int b, int64_t start, int64_t step, int64_t extent)
{
    int k = seeds(t) + b;
    if (start == 0 && step == 1 && extent == t->shape.dim[b]) return;
    widen(g, t, k, t->shape.dim[b]);
    lt_shape s = *lt_shape_at(g, t->core);
    s.dim[k] = extent;
    lt_affine at = { .offset = 0 };
    lt_dense_strides(&s, at.stride);
    at.offset = start * at.stride[k];
    at.stride[k] *= step;
    t->core = lt_place(g, &s, 1, &t->core, &at);
    t->shape.dim[b] = extent;
}

static bool pull_view(lt_graph *g, lt_node y, lt_jacobian_term *t)
{
    const lt_shape shape = *lt_shape_at(g, y), base = *lt_shape_at(g, lt_input_of(g, y, 0));
    axis_walk w;
    int from[LT_MAX_RANK];
    int64_t extent[LT_MAX_RANK];
    if (seeds(t) + base.rank > LT_MAX_RANK || !walk_of(&lt_get(g, y)->attr.u.view, &shape, &base, &w)) return false;
    for (int i = 0; i < shape.rank; i++)
        if (w.axis[i] < 0) sum_axis(g, t, i);
    for (int k = 0; k < base.rank; k++) { from[k] = -1; extent[k] = base.dim[k]; }
    for (int i = 0; i < shape.rank; i++) if (w.axis[i] >= 0) from[w.axis[i]] = i;
    for (int k = 0; k < base.rank; k++) {
        int i = from[k];
        if (i < 0) continue;
        if (t->follows[i] == LT_AXIS_FREE) { scatter_axis(g, t, i, w.start[k], w.step[i], base.dim[k]); continue; }
        t->offset[i] = w.start[k] + w.step[i] * t->offset[i];
        t->stride[i] *= w.step[i];
        t->shape.dim[i] = base.dim[k];
    }
    rearrange(g, t, base.rank, from, extent);
    for (int k = 0; k < base.rank; k++) /* base axes the view does not move along */
        if (from[k] < 0 && base.dim[k] != 1) set_axis(t, k, (axis){ LT_AXIS_FIXED, base.dim[k], w.start[k], 0 });
    return true;
}

/* ---- places ---- */

static void slice_core(lt_graph *g, lt_jacobian_term *t, int k, int64_t start, int64_t step, int64_t count)
{
    if (core_extent(g, t, k) == 1) return;
    int64_t last = start + step * (count - 1);
    t->core = lt_slice(g, t->core, k, start, step > 0 ? last + 1 : last == 0 ? LT_END : last - 1, step);
}

/* Keeps only the rows whose followed index falls on start + [0, count) * step of axis b, and counts
   that index from there. False when none is left, or the rows left are not a window. */
static bool restrict_follower(lt_graph *g, lt_jacobian_term *t, int b, int64_t start, int64_t step, int64_t count, bool *empty)
{
    int a = t->follows[b];
    if (t->stride[b] != 1 || step != 1) return false;
    int64_t low = LT_MAX(t->low[a], start - t->offset[b]), high = LT_MIN(t->low[a] + t->window[a], start + count - t->offset[b]);
    *empty = low >= high;
    if (*empty) return true;
    slice_core(g, t, a, low - t->low[a], 1, high - low);
    t->low[a] = low;
    t->window[a] = high - low;
    t->offset[b] -= start;
    t->shape.dim[b] = count;
    return true;
}

/* Axis b of the node as seen by one part of a place, which lies at start + [0, count) * step. */
static bool gather_axis(lt_graph *g, lt_jacobian_term *t, int b, int64_t start, int64_t step, int64_t count, bool *empty)
{
    if (t->follows[b] >= 0) return restrict_follower(g, t, b, start, step, count, empty);
    if (t->follows[b] == LT_AXIS_FIXED) {
        int64_t at = t->offset[b] - start;
        *empty = step == 0 || at % step || at / step < 0 || at / step >= count;
        t->offset[b] = step ? at / step : 0;
    } else {
        slice_core(g, t, seeds(t) + b, start, step, count);
    }
    t->shape.dim[b] = count;
    return true;
}

static bool pull_place(lt_graph *g, lt_node y, int i, lt_jacobian_term *t)
{
    const lt_shape out = *lt_shape_at(g, y), part = *lt_shape_at(g, lt_input_of(g, y, i));
    axis_walk w;
    int axis_of[LT_MAX_RANK], from[LT_MAX_RANK];
    int64_t extent[LT_MAX_RANK];
    bool empty = false;
    if (seeds(t) + part.rank > LT_MAX_RANK || !walk_of(&lt_get(g, y)->attr.u.place[i], &part, &out, &w)) return false;
    for (int k = 0; k < out.rank; k++) axis_of[k] = -1;
    for (int j = 0; j < part.rank; j++) if (w.axis[j] >= 0) axis_of[w.axis[j]] = j;
    lt_jacobian_term before = *t;
    for (int k = 0; k < out.rank; k++) {
        int j = axis_of[k];
        bool ok = j >= 0 ? gather_axis(g, t, k, w.start[k], w.step[j], part.dim[j], &empty)
                         : out.dim[k] == 1 || gather_axis(g, t, k, w.start[k], 1, 1, &empty);
        if (!ok) { *t = before; return false; }
        if (empty) { t->core = LT_NONE; return true; }
        if (j < 0 && t->follows[k] != LT_AXIS_FREE) set_axis(t, k, (axis){ LT_AXIS_FREE, 1, 0, 0 });
    }
    for (int j = 0; j < part.rank; j++) { from[j] = w.axis[j]; extent[j] = part.dim[j]; }
    rearrange(g, t, part.rank, from, extent);
    return true;
}

/* ---- sums ---- */

static bool pull_sum(lt_graph *g, lt_node y, lt_jacobian_term *t)
{
    const lt_shape in = *lt_shape_at(g, lt_input_of(g, y, 0));
    const uint32_t axes = lt_get(g, y)->attr.u.reduce.axes;
    int from[LT_MAX_RANK], kept = 0;
    int64_t extent[LT_MAX_RANK];
    if (seeds(t) + in.rank > LT_MAX_RANK) return false;
    for (int k = 0; k < in.rank; k++) {
        from[k] = axes >> k & 1 ? -1 : kept++;
        extent[k] = in.dim[k];
    }
    rearrange(g, t, in.rank, from, extent);
    return true;
}

/* ---- matrix products ---- */

/* y = a b, all of rank 2. With the contracted axis c of y (1 for a's adjoint, 0 for b's) and `other`
   the operand that stays, arranged as [c, k]: core'[.., k at axis c] = sum over c of core * other. */
static bool pull_matmul(lt_graph *g, lt_node y, int i, lt_jacobian_term *t)
{
    lt_node a = lt_input_of(g, y, 0), b = lt_input_of(g, y, 1), other = i ? a : lt_transpose(g, b);
    if (lt_is_none(other) || lt_shape_at(g, a)->rank != 2 || lt_shape_at(g, b)->rank != 2) return false;
    const int c = i ? 0 : 1, at = seeds(t) + c;
    const int64_t k = lt_shape_at(g, other)->dim[1], n = t->shape.dim[c];
    if (t->follows[c] != LT_AXIS_FREE) {
        /* One element of the axis for each row: the sum is that row of `other`. */
        lt_jacobian_term probe = *t;
        lt_node row = lt_transpose(g, other); /* [k, c]: a fresh free axis, then the followed one */
        int slot = 1 - c;                     /* borrow the other node axis for k while aligning */
        axis saved = axis_at(t, slot);
        set_axis(&probe, slot, (axis){ LT_AXIS_FREE, k, 0, 0 });
        lt_node m = aligned(g, &probe, row, (int[]){ slot, c });
        if (lt_is_none(m)) return false;
        lt_shape s = *lt_shape_at(g, m); /* [seeds, .., k at slot, .., 1 at c]: move k to c */
        s.dim[seeds(t) + slot] = 1;
        s.dim[at] = k;
        t->core = lt_mul(g, t->core, lt_reshape(g, m, s));
        set_axis(t, slot, saved);
    } else if (core_extent(g, t, at) == 1 && n != 1) {
        lt_node total = lt_sum_axis(g, other, 0, false);
        lt_shape s = { .rank = seeds(t) + 2 };
        for (int d = 0; d < s.rank; d++) s.dim[d] = 1;
        s.dim[at] = k;
        t->core = lt_mul(g, t->core, lt_reshape(g, total, s));
    } else if (i == 0) {
        t->core = lt_matmul(g, t->core, other); /* [.., m, c] [c, k] */
    } else {
        t->core = lt_matmul(g, lt_transpose(g, other), t->core); /* [k, c] [.., c, n] */
    }
    set_axis(t, c, (axis){ LT_AXIS_FREE, k, 0, 0 });
    return true;
}

bool lt_term_pull(lt_graph *g, lt_node y, int i, const lt_jacobian_term *from, lt_jacobian_term *out)
{
    const lt_ir_node *n = lt_get(g, y);
    const lt_op op = (lt_op)n->op;
    *out = *from;
    if (op == LT_OP_RESHAPE) {
        if (n->detached) out->core = LT_NONE;
        return true; /* the same elements in the same order: fitted when it matters */
    }
    const bool elementwise = lt_op_is_elementwise(op) || op == LT_OP_NORM;
    bool known = elementwise || op == LT_OP_CAST || op == LT_OP_VIEW || op == LT_OP_PLACE || op == LT_OP_SUM || op == LT_OP_MATMUL;
    if (!known || lt_shape_count(&n->shape) == 0) return false;
    const lt_shape shape = n->shape;
    if (seeds(out) + shape.rank > LT_MAX_RANK) return false;
    lt_term_fit(g, out, &shape);
    if (lt_is_none(out->core) || seeds(out) + shape.rank > LT_MAX_RANK) return false;
    if (elementwise) { pull_elementwise(g, y, i, out); return true; }
    switch (op) {
    case LT_OP_CAST: {
        lt_dtype to = lt_dtype_at(g, lt_input_of(g, y, 0));
        out->core = lt_dtype_is_float(to) ? lt_cast(g, out->core, to) : LT_NONE;
        return true;
    }
    case LT_OP_VIEW: return pull_view(g, y, out);
    case LT_OP_PLACE: return pull_place(g, y, i, out);
    case LT_OP_SUM: return pull_sum(g, y, out);
    default: return pull_matmul(g, y, i, out);
    }
}
