/* Shape and type rules: sources, elementwise, movement, reductions, indexing.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"
#include "base/status.h"
#include "graph/infer.h"

#include <stdio.h>

static const lt_ir_node *operand(const lt_infer *x, int i) { return &x->ir->node[x->in[i]]; }

lt_node_text lt_node_label(const lt_ir *ir, int32_t id)
{
    lt_node_text t;
    const char *name = ir->node[id].name;
    if (name) snprintf(t.s, sizeof t.s, "'%.58s'", name);
    else snprintf(t.s, sizeof t.s, "%%%d", id);
    return t;
}

#define LABEL(i) lt_node_label(x->ir, x->in[i]).s
#define SHAPE(i) lt_shape_str(&operand(x, i)->shape).s
#define NAME lt_op_name(x->op)

lt_status lt_infer_source(lt_infer *x)
{
    if (lt_shape_count(&x->shape) < 0)
        return LT_FAIL(LT_ERR_SHAPE, "%s %s: extents must be >= 0 and their product below 2^63", NAME,
                       lt_shape_str(&x->shape).s);
    return LT_OK;
}

lt_status lt_infer_elementwise(lt_infer *x)
{
    const lt_ir_node *a = operand(x, 0);
    lt_dtype t = (lt_dtype)a->dtype;
    if (lt_dtype_is_complex(t) || (lt_dtype_is_integer(t) && lt_op_kind_of(x->op) == LT_KIND_REAL))
        return LT_FAIL(LT_ERR_TYPE, "%s of %s %s: needs a real floating type", NAME, LABEL(0), lt_dtype_name(t));
    for (int i = 1; i < x->n_in; i++) {
        if (operand(x, i)->dtype != a->dtype)
            return LT_FAIL(LT_ERR_TYPE, "%s of %s %s and %s %s: types differ", NAME, LABEL(0), lt_dtype_name(t),
                           LABEL(i), lt_dtype_name((lt_dtype)operand(x, i)->dtype));
        if (!lt_shape_equal(&a->shape, &operand(x, i)->shape))
            return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s and %s %s: shapes differ", NAME, LABEL(0), SHAPE(0), LABEL(i), SHAPE(i));
    }
    x->dtype = t;
    x->shape = a->shape;
    return LT_OK;
}

lt_status lt_infer_cast(lt_infer *x)
{
    const lt_ir_node *a = operand(x, 0);
    if (x->dtype >= LT_DTYPE_COUNT) return LT_FAIL(LT_ERR_TYPE, "cast of %s: unknown element type %d", LABEL(0), (int)x->dtype);
    if (lt_dtype_is_complex((lt_dtype)a->dtype) != lt_dtype_is_complex(x->dtype))
        return LT_FAIL(LT_ERR_TYPE, "cast of %s from %s to %s: cannot go between real and complex", LABEL(0),
                       lt_dtype_name((lt_dtype)a->dtype), lt_dtype_name(x->dtype));
    x->shape = a->shape;
    return LT_OK;
}

lt_status lt_infer_reshape(lt_infer *x)
{
    const lt_ir_node *a = operand(x, 0);
    if (lt_shape_count(&x->shape) != lt_shape_count(&a->shape))
        return LT_FAIL(LT_ERR_SHAPE, "reshape of %s %s to %s: %lld elements into %lld", LABEL(0), SHAPE(0),
                       lt_shape_str(&x->shape).s, (long long)lt_shape_count(&a->shape), (long long)lt_shape_count(&x->shape));
    x->dtype = (lt_dtype)a->dtype;
    return LT_OK;
}

lt_status lt_infer_view(lt_infer *x)
{
    const lt_ir_node *a = operand(x, 0);
    int64_t lo, hi, count = lt_shape_count(&a->shape);
    if (lt_shape_count(&x->shape) < 0)
        return LT_FAIL(LT_ERR_SHAPE, "view of %s %s as %s: too many elements", LABEL(0), SHAPE(0), lt_shape_str(&x->shape).s);
    if (lt_affine_range(&x->attr->u.view, &x->shape, &lo, &hi) && (lo < 0 || hi >= count))
        return LT_FAIL(LT_ERR_SHAPE, "view of %s %s reaches elements %lld..%lld of %lld", LABEL(0), SHAPE(0),
                       (long long)lo, (long long)hi, (long long)count);
    x->dtype = (lt_dtype)a->dtype;
    return LT_OK;
}

lt_status lt_infer_place(lt_infer *x)
{
    int64_t count = lt_shape_count(&x->shape);
    if (x->n_in < 1 || x->n_in > LT_OP_MAX_INPUTS)
        return LT_FAIL(LT_ERR_ARGUMENT, "place of %d parts: need 1 to %d", x->n_in, LT_OP_MAX_INPUTS);
    if (count < 0) return LT_FAIL(LT_ERR_SHAPE, "place into %s: too many elements", lt_shape_str(&x->shape).s);
    for (int i = 0; i < x->n_in; i++) {
        int64_t lo, hi;
        if (operand(x, i)->dtype != operand(x, 0)->dtype)
            return LT_FAIL(LT_ERR_TYPE, "place of %s %s beside %s %s: types differ", LABEL(i),
                           lt_dtype_name((lt_dtype)operand(x, i)->dtype), LABEL(0), lt_dtype_name((lt_dtype)operand(x, 0)->dtype));
        if (lt_affine_range(&x->attr->u.place[i], &operand(x, i)->shape, &lo, &hi) && (lo < 0 || hi >= count))
            return LT_FAIL(LT_ERR_SHAPE, "place of %s %s reaches elements %lld..%lld of %lld", LABEL(i), SHAPE(i),
                           (long long)lo, (long long)hi, (long long)count);
    }
    x->dtype = (lt_dtype)operand(x, 0)->dtype;
    return LT_OK;
}

lt_status lt_infer_reduce(lt_infer *x)
{
    const lt_ir_node *a = operand(x, 0);
    uint32_t axes = x->attr->u.reduce.axes;
    if (axes >> a->shape.rank)
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: axes 0x%x are outside its rank", NAME, LABEL(0), SHAPE(0), axes);
    if (lt_dtype_is_complex((lt_dtype)a->dtype))
        return LT_FAIL(LT_ERR_TYPE, "%s of %s %s: needs a real type", NAME, LABEL(0), lt_dtype_name((lt_dtype)a->dtype));
    x->dtype = (lt_dtype)a->dtype;
    x->shape = (lt_shape){ .rank = 0 };
    for (int i = 0; i < a->shape.rank; i++) {
        if (!(axes >> i & 1)) x->shape.dim[x->shape.rank++] = a->shape.dim[i];
        else if (a->shape.dim[i] == 0 && x->op != LT_OP_SUM)
            return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s over an axis of length 0 has no value", NAME, LABEL(0), SHAPE(0));
    }
    return LT_OK;
}

lt_status lt_infer_norm(lt_infer *x)
{
    const lt_ir_node *s = operand(x, 0), *a = operand(x, 1);
    lt_shape kept = { .rank = 0 };
    uint32_t axes = x->attr->u.reduce.axes;
    for (int i = 0; i < a->shape.rank; i++)
        if (!(axes >> i & 1)) kept.dim[kept.rank++] = a->shape.dim[i];
    if (axes >> a->shape.rank || s->dtype != a->dtype || !lt_dtype_is_float((lt_dtype)a->dtype) || !lt_shape_equal(&s->shape, &kept))
        return LT_FAIL(LT_ERR_SHAPE, "norm of %s %s from %s %s: needs the sums of its squares over axes 0x%x", LABEL(1), SHAPE(1), LABEL(0), SHAPE(0), axes);
    x->dtype = (lt_dtype)s->dtype;
    x->shape = s->shape;
    return LT_OK;
}

static lt_status check_axis(const lt_infer *x)
{
    int axis = x->attr->u.index.axis, rank = operand(x, 0)->shape.rank;
    if (axis < 0 || axis >= rank)
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: axis %d is outside 0..%d", NAME, LABEL(0), SHAPE(0), axis, rank - 1);
    return LT_OK;
}

lt_status lt_infer_arg(lt_infer *x)
{
    LT_TRY(check_axis(x));
    const lt_shape *s = &operand(x, 0)->shape;
    int axis = x->attr->u.index.axis;
    if (s->dim[axis] == 0)
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s along an axis of length 0 has no value", NAME, LABEL(0), SHAPE(0));
    x->dtype = LT_I64;
    x->shape = (lt_shape){ .rank = 0 };
    for (int i = 0; i < s->rank; i++)
        if (i != axis) x->shape.dim[x->shape.rank++] = s->dim[i];
    return LT_OK;
}

lt_status lt_infer_cumsum(lt_infer *x)
{
    LT_TRY(check_axis(x));
    x->dtype = (lt_dtype)operand(x, 0)->dtype;
    x->shape = operand(x, 0)->shape;
    return LT_OK;
}

lt_status lt_infer_topk(lt_infer *x)
{
    const lt_shape *s = &operand(x, 0)->shape;
    int64_t k = x->attr->u.index.k;
    if (s->rank < 1 || k < 1 || k > s->dim[s->rank - 1])
        return LT_FAIL(LT_ERR_SHAPE, "topk of %s %s: k = %lld, need 1..%lld", LABEL(0), SHAPE(0), (long long)k,
                       (long long)(s->rank ? s->dim[s->rank - 1] : 0));
    x->dtype = LT_I64;
    x->shape = *s;
    x->shape.dim[s->rank - 1] = k;
    return LT_OK;
}

static lt_status check_index_type(const lt_infer *x)
{
    if (operand(x, 1)->dtype != LT_I64)
        return LT_FAIL(LT_ERR_TYPE, "%s of %s: index %s is %s, need i64", NAME, LABEL(0), LABEL(1),
                       lt_dtype_name((lt_dtype)operand(x, 1)->dtype));
    return LT_OK;
}

/* x's shape with `axis` replaced by the index's axes. */
lt_status lt_infer_take(lt_infer *x)
{
    LT_TRY(check_index_type(x));
    LT_TRY(check_axis(x));
    const lt_shape *s = &operand(x, 0)->shape, *si = &operand(x, 1)->shape;
    if (s->rank - 1 + si->rank > LT_MAX_RANK)
        return LT_FAIL(LT_ERR_SHAPE, "take of %s %s by %s %s: more than %d axes", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1), LT_MAX_RANK);
    lt_shape out = { .rank = 0 };
    for (int i = 0; i < s->rank; i++) {
        if (i != x->attr->u.index.axis) { out.dim[out.rank++] = s->dim[i]; continue; }
        for (int j = 0; j < si->rank; j++) out.dim[out.rank++] = si->dim[j];
    }
    x->dtype = (lt_dtype)operand(x, 0)->dtype;
    x->shape = out;
    return LT_OK;
}

/* g has the index's axes at `axis`; the result has attr.extent there. */
lt_status lt_infer_put(lt_infer *x)
{
    LT_TRY(check_index_type(x));
    const lt_shape *s = &operand(x, 0)->shape, *si = &operand(x, 1)->shape;
    int axis = x->attr->u.index.axis;
    if (axis < 0 || axis + si->rank > s->rank)
        return LT_FAIL(LT_ERR_SHAPE, "put of %s %s by %s %s at axis %d: does not fit", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1), axis);
    lt_shape out = { .rank = 0 };
    for (int i = 0; i < axis; i++) out.dim[out.rank++] = s->dim[i];
    for (int j = 0; j < si->rank; j++)
        if (s->dim[axis + j] != si->dim[j])
            return LT_FAIL(LT_ERR_SHAPE, "put of %s %s by %s %s at axis %d: extents differ", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1), axis);
    if (s->rank - si->rank + 1 > LT_MAX_RANK)
        return LT_FAIL(LT_ERR_SHAPE, "put of %s %s: more than %d axes", LABEL(0), SHAPE(0), LT_MAX_RANK);
    out.dim[out.rank++] = x->attr->u.index.extent;
    for (int i = axis + si->rank; i < s->rank; i++) out.dim[out.rank++] = s->dim[i];
    x->dtype = (lt_dtype)operand(x, 0)->dtype;
    x->shape = out;
    return LT_OK;
}

/* The index's leading axes must equal the trailing ones of s's leading axes. */
static lt_status check_along(const lt_infer *x)
{
    LT_TRY(check_index_type(x));
    const lt_shape *s = &operand(x, 0)->shape, *si = &operand(x, 1)->shape;
    bool fits = si->rank >= 1 && si->rank <= s->rank;
    for (int j = 2; fits && j <= si->rank; j++) fits = si->dim[si->rank - j] == s->dim[s->rank - j];
    if (!fits)
        return LT_FAIL(LT_ERR_SHAPE, "%s of %s %s by %s %s: leading axes differ", NAME, LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    return LT_OK;
}

lt_status lt_infer_take_along(lt_infer *x)
{
    LT_TRY(check_along(x));
    const lt_shape *si = &operand(x, 1)->shape;
    x->dtype = (lt_dtype)operand(x, 0)->dtype;
    x->shape = operand(x, 0)->shape;
    x->shape.dim[x->shape.rank - 1] = si->dim[si->rank - 1];
    return LT_OK;
}

lt_status lt_infer_put_along(lt_infer *x)
{
    LT_TRY(check_along(x));
    const lt_shape *s = &operand(x, 0)->shape, *si = &operand(x, 1)->shape;
    if (s->dim[s->rank - 1] != si->dim[si->rank - 1])
        return LT_FAIL(LT_ERR_SHAPE, "put_along of %s %s by %s %s: last axes differ", LABEL(0), SHAPE(0), LABEL(1), SHAPE(1));
    x->dtype = (lt_dtype)operand(x, 0)->dtype;
    x->shape = *s;
    x->shape.dim[s->rank - 1] = x->attr->u.index.extent;
    return LT_OK;
}
