/* Arithmetic on affine views: composing and reshaping them. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "graph/ir.h"

#include <string.h>

bool lt_affine_is_dense(const lt_affine *v, const lt_shape *s)
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (s->dim[i] != 1 && v->stride[i] != step) return false;
        step *= s->dim[i];
    }
    return true;
}

bool lt_affine_range(const lt_affine *v, const lt_shape *s, int64_t *lo, int64_t *hi)
{
    *lo = *hi = v->offset;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] == 0) return false;
        int64_t reach = v->stride[i] * (s->dim[i] - 1);
        if (reach < 0) *lo += reach; else *hi += reach;
    }
    return true;
}

/* Writes a signed element count as steps along the axes of a dense tensor. */
static void decompose(int64_t elements, const lt_shape *s, const int64_t *dense, int64_t *step)
{
    int64_t left = elements < 0 ? -elements : elements, sign = elements < 0 ? -1 : 1;
    for (int i = 0; i < s->rank; i++) {
        step[i] = s->dim[i] > 1 ? sign * (left / dense[i]) : 0;
        if (s->dim[i] > 1) left %= dense[i];
    }
}

bool lt_affine_compose(const lt_affine *inner, const lt_shape *mid,
                       const lt_affine *outer, const lt_shape *shape, lt_affine *out)
{
    int64_t dense[LT_MAX_RANK], start[LT_MAX_RANK], lo[LT_MAX_RANK], hi[LT_MAX_RANK];
    if (lt_shape_count(mid) == 0) return false; /* no elements to step over */
    lt_dense_strides(mid, dense);
    decompose(outer->offset, mid, dense, start);
    *out = (lt_affine){ .offset = inner->offset };
    for (int k = 0; k < mid->rank; k++) {
        lo[k] = hi[k] = start[k];
        out->offset += start[k] * inner->stride[k];
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] <= 1) continue;
        int64_t step[LT_MAX_RANK];
        decompose(outer->stride[i], mid, dense, step);
        for (int k = 0; k < mid->rank; k++) {
            int64_t reach = step[k] * (shape->dim[i] - 1);
            if (reach < 0) lo[k] += reach; else hi[k] += reach;
            out->stride[i] += step[k] * inner->stride[k];
        }
    }
    /* No index may leave its axis: a carry into the next axis would not be affine in inner's strides. */
    for (int k = 0; k < mid->rank; k++)
        if (lo[k] < 0 || hi[k] >= LT_MAX(mid->dim[k], 1)) return false;
    return true;
}

bool lt_affine_reshape(const lt_affine *v, const lt_shape *from, const lt_shape *to, lt_affine *out)
{
    lt_affine dense = { .offset = 0 };
    lt_dense_strides(to, dense.stride);
    if (lt_shape_count(from) == 0) return false;
    /* A dense walk over `to` crosses the axes of `from` unless runs of axes line up: merge
       the axes of `from` whose strides continue each other first. */
    lt_shape merged = { .rank = 0 };
    lt_affine m = { .offset = v->offset };
    for (int i = 0; i < from->rank; i++) {
        if (from->dim[i] == 1) continue;
        int last = merged.rank - 1;
        if (last >= 0 && m.stride[last] == v->stride[i] * from->dim[i]) {
            merged.dim[last] *= from->dim[i];
            m.stride[last] = v->stride[i];
        } else {
            merged.dim[merged.rank] = from->dim[i];
            m.stride[merged.rank++] = v->stride[i];
        }
    }
    return lt_affine_compose(&m, &merged, &dense, to, out);
}
