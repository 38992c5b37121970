/* Functions: shapes, gathering, networks. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static const char *shape_of(const lt_value *v, lt_shape_text *t) { *t = lt_value_shape_text(v); return t->s; }
#define SHAPE(i) shape_of(&c->value[i], &(lt_shape_text){ { 0 } })

/* ---- shape ---- */

lt_node lt_fn_reshape(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_shape wanted, element = lt_value_element(&c->value[0]), full = { .rank = 0 };
    if (!lt_call_extents(c, c->n_rest, &wanted)) return LT_NONE;
    int64_t known = 1, count = lt_shape_count(&element);
    int unknown = -1;
    for (int i = 0; i < wanted.rank; i++) {
        if (wanted.dim[i] == -1 && unknown < 0) { unknown = i; continue; }
        if (wanted.dim[i] < 0 || __builtin_mul_overflow(known, wanted.dim[i], &known))
            return lt_call_fail(c, "reshape of %s to %s: sizes must be >= 0, one may be -1", SHAPE(0), lt_shape_str(&wanted).s);
    }
    if (unknown >= 0 && known) wanted.dim[unknown] = count / known;
    if (lt_shape_count(&wanted) != count)
        return lt_call_fail(c, "reshape of %s to %s: %lld elements cannot become %lld", SHAPE(0), lt_shape_str(&wanted).s,
                            (long long)count, (long long)lt_shape_count(&wanted));
    if (c->lead + wanted.rank > LT_MAX_RANK) { lt_cannot_lift(c->r, "the number of its axes"); return LT_NONE; }
    for (int i = 0; i < c->lead; i++) full.dim[full.rank++] = c->value[0].shape.dim[i];
    for (int i = 0; i < wanted.rank; i++) full.dim[full.rank++] = wanted.dim[i];
    return lt_reshape(g, in[0], full);
}

lt_node lt_fn_flatten(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    const lt_value *v = &c->value[0];
    lt_shape s = { .rank = v->lead + 1 }, element = lt_value_element(v);
    for (int i = 0; i < v->lead; i++) s.dim[i] = v->shape.dim[i];
    s.dim[v->lead] = lt_shape_count(&element);
    return lt_reshape(g, in[0], s);
}

lt_node lt_fn_transpose(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    return c->value[0].shape.rank - c->value[0].lead < 2 ? in[0] : lt_transpose(g, in[0]);
}

lt_node lt_fn_concat(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    if (c->n_rest == 0) return lt_call_fail(c, "'concat' needs an argument");
    for (int i = 0; i < c->n_rest; i++)
        if (c->rest[i].shape.rank == 0) return lt_call_fail(c, "concat of a number: put it in a list, as in [x]");
    if (!lt_call_axis(c, 1, &c->rest[0], 0, 0, &axis)) return LT_NONE;
    return lt_concat(g, in + c->n_parameters, c->n_rest, axis);
}

lt_node lt_fn_stack(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    if (c->n_rest == 0) return lt_call_fail(c, "'stack' needs an argument");
    if (!lt_call_axis(c, 1, &c->rest[0], 1, 0, &axis)) return LT_NONE;
    return lt_stack(g, in + c->n_parameters, c->n_rest, axis);
}

/* The parts on a new first axis: split(x, 2)[0] is the first half. */
lt_node lt_fn_split(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    int64_t n = c->integer[1][0];
    if (!lt_call_axis(c, 2, &c->value[0], 0, 0, &axis)) return LT_NONE;
    int64_t length = c->value[0].shape.dim[axis];
    if (n < 1 || n > 100000 || length % n)
        return lt_call_fail(c, "split of %s: axis %d of length %lld has no %lld equal parts", SHAPE(0), axis, (long long)length, (long long)n);
    lt_node *parts = lt_arena_alloc(&c->r->temporary, (size_t)n * sizeof *parts);
    if (!parts) { lt_reader_no_memory(c->r); return LT_NONE; }
    return lt_split(g, in[0], (int)n, axis, parts) ? LT_NONE : lt_stack(g, parts, (int)n, 0);
}

lt_node lt_fn_squeeze(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_shape s = { .rank = 0 };
    int axis = -1;
    if (c->given[1] && !lt_call_axis(c, 1, &c->value[0], 0, 0, &axis)) return LT_NONE;
    if (axis >= 0) {
        if (c->value[0].shape.dim[axis] != 1)
            return lt_call_fail(c, "squeeze of %s: axis %d has length %lld, not 1", SHAPE(0), axis, (long long)c->value[0].shape.dim[axis]);
        return lt_squeeze(g, in[0], axis);
    }
    for (int i = 0; i < c->value[0].shape.rank; i++)
        if (c->value[0].shape.dim[i] != 1) s.dim[s.rank++] = c->value[0].shape.dim[i];
    return lt_reshape(g, in[0], s);
}

lt_node lt_fn_unsqueeze(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    return lt_call_axis(c, 1, &c->value[0], 1, 0, &axis) ? lt_unsqueeze(g, in[0], axis) : LT_NONE;
}

/* Indices known now are checked now; -1 counts from the end. */
static bool check_indices(lt_builtin_call *c, int parameter, int64_t n, bool negative)
{
    const lt_value *v = &c->value[parameter];
    for (int64_t i = 0; v->kind == LT_VALUE_CONSTANT && i < lt_value_count(v); i++) {
        double x = v->data[i];
        if (x == floor(x) && x >= (negative ? (double)-n : 0) && x < (double)n) continue;
        lt_reader_error(c->r, c->where[parameter], "index %.10g (element %lld) is outside 0..%lld", x, (long long)i, (long long)n - 1);
        return false;
    }
    return true;
}

lt_node lt_fn_gather(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    if (!lt_call_axis(c, 2, &c->value[0], 0, 0, &axis) || !check_indices(c, 1, c->value[0].shape.dim[axis], false)) return LT_NONE;
    return lt_gather(g, in[0], lt_cast(g, in[1], LT_I64), axis);
}

lt_node lt_fn_flip(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    if (c->given[1]) return lt_call_axis(c, 1, &c->value[0], 0, 0, &axis) ? lt_flip(g, in[0], axis) : LT_NONE;
    lt_node x = in[0];
    for (int i = 0; i < c->value[0].shape.rank; i++) x = lt_flip(g, x, i);
    return x;
}

lt_node lt_fn_roll(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    int64_t shift = c->integer[1][0];
    if (c->given[2]) return lt_call_axis(c, 2, &c->value[0], 0, 0, &axis) ? lt_roll(g, in[0], shift, axis) : LT_NONE;
    return lt_reshape(g, lt_roll(g, lt_flatten(g, in[0]), shift, 0), c->value[0].shape);
}

lt_node lt_fn_pad(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int64_t before = c->integer[1][0], after = c->given[2] ? c->integer[2][0] : before;
    int first = 0, last = c->value[0].shape.rank;
    if (before < 0 || after < 0 || before > c->r->limits.elements || after > c->r->limits.elements)
        return lt_call_fail(c, "pad of %s by %lld and %lld: must be >= 0 and not too large", SHAPE(0), (long long)before, (long long)after);
    if (c->given[3]) {
        if (!lt_call_axis(c, 3, &c->value[0], 0, 0, &first)) return LT_NONE;
        last = first + 1;
    }
    lt_node x = in[0];
    for (int i = first; i < last; i++) x = lt_pad(g, x, i, before, after);
    return x;
}

/* Values are doubles everywhere: a cast rounds to what the type can hold. */
lt_node lt_fn_cast(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_dtype t;
    if (!lt_dtype_parse(c->value[1].text, &t) || t == LT_C64 || t == LT_C128)
        return lt_call_fail(c, "cast to \"%.40s\": the types are f16, bf16, f32, f64, i32, i64, u8", c->value[1].text);
    return lt_cast(g, lt_cast(g, in[0], t), LT_F64);
}

/* ---- networks ---- */

lt_node lt_fn_conv2d(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    enum { STRIDE = 3, PADDING, DILATION, GROUPS };
    lt_conv_options o = lt_conv_defaults();
    for (int k = 0; k < 2; k++) {
        if (c->given[STRIDE]) o.stride[k] = c->integer[STRIDE][k];
        if (c->given[PADDING]) o.padding[k] = c->integer[PADDING][k];
        if (c->given[DILATION]) o.dilation[k] = c->integer[DILATION][k];
    }
    if (c->given[GROUPS]) o.groups = c->integer[GROUPS][0];
    return lt_conv2d(g, in[0], in[1], in[2], &o);
}

static lt_node pool(lt_builtin_call *c, lt_graph *g, lt_node x, lt_node (*builder)(lt_graph *, lt_node, int64_t, int64_t, int64_t))
{
    int64_t kernel = c->integer[1][0];
    return builder(g, x, kernel, c->given[2] ? c->integer[2][0] : kernel, c->given[3] ? c->integer[3][0] : 0);
}

lt_node lt_fn_maxpool2d(lt_builtin_call *c, lt_graph *g, const lt_node *in) { return pool(c, g, in[0], lt_maxpool2d); }
lt_node lt_fn_avgpool2d(lt_builtin_call *c, lt_graph *g, const lt_node *in) { return pool(c, g, in[0], lt_avgpool2d); }

lt_node lt_fn_batchnorm(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    return lt_batchnorm(g, in[0], in[1], in[2], in[3], in[4], c->given[5] ? c->real[5] : 1e-5);
}

lt_node lt_fn_linear(lt_builtin_call *c, lt_graph *g, const lt_node *in) { (void)c; return lt_linear(g, in[0], in[1], in[2]); }
lt_node lt_fn_rnn_tanh(lt_builtin_call *c, lt_graph *g, const lt_node *in) { (void)c; return lt_rnn_tanh(g, in[0], in[1], in[2], in[3], in[4]); }

lt_node lt_fn_softmax(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    return lt_call_axis(c, 1, &c->value[0], 0, -1, &axis) ? lt_softmax(g, in[0], axis) : LT_NONE;
}

lt_node lt_fn_log_softmax(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    int axis;
    return lt_call_axis(c, 1, &c->value[0], 0, -1, &axis) ? lt_log_softmax(g, in[0], axis) : LT_NONE;
}

lt_node lt_fn_cross_entropy(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    if (c->value[0].shape.rank == 2 && !check_indices(c, 1, c->value[0].shape.dim[1], false)) return LT_NONE;
    return lt_cross_entropy(g, in[0], lt_cast(g, in[1], LT_I64));
}
