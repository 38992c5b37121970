/* Functions: reductions, norms, folds. Builders see tensors
   with call->lead axes of a comprehension in front. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

enum { X, AXIS, KEEPDIMS }; /* parameters of reductions */

lt_value lt_fn_pow(lt_builtin_call *c) { return lt_value_binary(c->r, c->e->point, '^', &c->value[0], &c->value[1]); }

/* ---- reductions ---- */

typedef struct reduction {
    const char *name;
    lt_node (*all)(lt_graph *g, lt_node x);
    lt_node (*along)(lt_graph *g, lt_node x, int axis, bool keepdims);
    bool needs_elements;
} reduction;

/* The element in one axis behind the lead axes. */
static lt_node flat_element(lt_builtin_call *c, lt_graph *g, lt_node x, const lt_value *v)
{
    lt_shape s = { .rank = v->lead + 1 }, element = lt_value_element(v);
    (void)c;
    for (int i = 0; i < v->lead; i++) s.dim[i] = v->shape.dim[i];
    s.dim[v->lead] = lt_shape_count(&element);
    return lt_reshape(g, x, s);
}

static lt_node reduce(lt_builtin_call *c, lt_graph *g, lt_node x, const lt_value *v, const reduction *how, int axis_parameter)
{
    bool has_axis = c->given[axis_parameter], keep = c->given[axis_parameter + 1] && c->integer[axis_parameter + 1][0];
    lt_shape element = lt_value_element(v);
    int axis = 0;
    if (has_axis && !lt_call_axis(c, axis_parameter, v, 0, 0, &axis)) return LT_NONE;
    bool empty = has_axis ? v->shape.dim[axis] == 0 : lt_shape_count(&element) == 0;
    if (empty && how->needs_elements) return lt_call_fail(c, "%s of %s: there is nothing to choose from", how->name, lt_shape_str(&element).s);
    if (has_axis) return how->along(g, x, axis, keep);
    lt_node y = v->lead ? how->along(g, flat_element(c, g, x, v), v->lead, false) : how->all(g, x);
    if (!keep) return y;
    lt_shape kept = v->shape;
    for (int i = v->lead; i < kept.rank; i++) kept.dim[i] = 1;
    return lt_reshape(g, y, kept);
}

#define REDUCTION(name_, all_, along_, needs_)                                    \
    lt_node lt_fn_##name_(lt_builtin_call *c, lt_graph *g, const lt_node *in)             \
    {                                                                             \
        static const reduction how = { #name_, all_, along_, needs_ };            \
        return reduce(c, g, in[X], &c->value[X], &how, AXIS);                     \
    }
REDUCTION(sum, lt_sum, lt_sum_axis, false)
REDUCTION(mean, lt_mean, lt_mean_axis, true)
REDUCTION(prod, lt_prod, lt_prod_axis, false)
REDUCTION(logsumexp, lt_logsumexp, lt_logsumexp_axis, true)
REDUCTION(amax_abs, lt_amax_abs, lt_amax_abs_axis, true)

/* One argument is reduced, several are compared element by element. fold_max has its one argument
   as a parameter, max as the rest. */
static lt_node extreme(lt_builtin_call *c, lt_graph *g, const lt_node *in, const reduction *how, lt_node (*pick)(lt_graph *, lt_node, lt_node))
{
    const lt_node *rest = in + c->n_parameters;
    if (!c->parameter[0].rest) return reduce(c, g, in[X], &c->value[X], how, AXIS);
    if (c->n_rest == 0) return lt_call_fail(c, "'%s' needs an argument", how->name);
    if (c->n_rest == 1) return reduce(c, g, rest[0], &c->rest[0], how, AXIS);
    if (c->given[AXIS] || c->given[KEEPDIMS]) return lt_call_fail(c, "'%s' of several arguments acts element by element and has no axis", how->name);
    lt_node y = rest[0];
    for (int i = 1; i < c->n_rest; i++) y = pick(g, y, rest[i]);
    return y;
}

lt_node lt_fn_max(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    static const reduction how = { "max", lt_max, lt_max_axis, true };
    return extreme(c, g, in, &how, lt_maximum);
}

lt_node lt_fn_min(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    static const reduction how = { "min", lt_min, lt_min_axis, true };
    return extreme(c, g, in, &how, lt_minimum);
}

/* ---- along an axis, or over the flat element ---- */

static bool flat_or_axis(lt_builtin_call *c, lt_graph *g, lt_node *x, int *axis, bool needs_elements)
{
    const lt_value *v = &c->value[X];
    lt_shape element = lt_value_element(v);
    if (needs_elements && lt_shape_count(&element) == 0) {
        lt_call_fail(c, "%s of %s: there is nothing to choose from", c->fn->name, lt_shape_str(&element).s);
        return false;
    }
    if (c->given[AXIS]) return lt_call_axis(c, AXIS, v, 0, 0, axis);
    *x = flat_element(c, g, *x, v);
    *axis = v->lead;
    return true;
}

lt_node lt_fn_argmax(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_node x = in[X];
    int axis;
    return flat_or_axis(c, g, &x, &axis, true) ? lt_argmax(g, x, axis) : LT_NONE;
}

lt_node lt_fn_argmin(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_node x = in[X];
    int axis;
    return flat_or_axis(c, g, &x, &axis, true) ? lt_argmin(g, x, axis) : LT_NONE;
}

lt_node lt_fn_cumsum(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_node x = in[X];
    int axis;
    return flat_or_axis(c, g, &x, &axis, false) ? lt_cumsum(g, x, axis) : LT_NONE;
}

lt_node lt_fn_topk(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    const lt_value *v = &c->value[X];
    int64_t k = c->integer[1][0], n = v->shape.rank ? v->shape.dim[v->shape.rank - 1] : 0;
    if (k < 1 || k > n) return lt_call_fail(c, "topk of %s: k is %lld; 1..%lld are possible", lt_value_shape_text(v).s, (long long)k, (long long)n);
    return lt_topk(g, in[X], k);
}

/* ---- norms and folds ---- */

static lt_node norm_spec_along(lt_builtin_call *c, lt_graph *g, lt_node x, const char *kind)
{
    if (c->given[2]) return lt_call_fail(c, "norm(…, \"%s\") is of a whole matrix and has no axis", kind);
    if (c->lead) { lt_cannot_lift(c->r, "norm of matrices"); return LT_NONE; }
    if (c->value[X].shape.rank != 2) return lt_call_fail(c, "norm(…, \"%s\") of %s: needs a matrix", kind, lt_value_shape_text(&c->value[X]).s);
    return !strcmp(kind, "nuc") ? lt_norm_nuc(g, x) : lt_norm_spec(g, x);
}

static lt_node norm1_axis(lt_graph *g, lt_node x, int axis, bool keep) { return lt_norm_axis(g, x, 1, axis, keep); }
static lt_node norm2_axis(lt_graph *g, lt_node x, int axis, bool keep) { return lt_norm_axis(g, x, 2, axis, keep); }
static lt_node norm_inf_axis(lt_graph *g, lt_node x, int axis, bool keep) { return lt_norm_axis(g, x, (double)INFINITY, axis, keep); }

static const reduction norm_1 = { "norm", lt_norm1, norm1_axis, false };
static const reduction norm_2 = { "norm", lt_norm, norm2_axis, false };
static const reduction norm_inf = { "norm", lt_norm_inf, norm_inf_axis, true };

lt_node lt_fn_norm(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    enum { ORDER = 1, NORM_AXIS = 2 };
    const lt_value *order = &c->value[ORDER];
    const reduction *how = c->given[ORDER] ? NULL : &norm_2;
    if (c->given[ORDER] && order->kind == LT_VALUE_STRING) {
        if (!strcmp(order->text, "nuc") || !strcmp(order->text, "spec")) return norm_spec_along(c, g, in[X], order->text);
        if (!strcmp(order->text, "fro")) how = &norm_2;
    } else if (c->given[ORDER] && order->kind == LT_VALUE_CONSTANT && lt_value_count(order) == 1) {
        double p = order->data[0];
        how = p == 1 ? &norm_1 : p == 2 ? &norm_2 : p == (double)INFINITY ? &norm_inf : NULL;
    }
    if (!how) return lt_call_fail(c, "the order of a norm is 1, 2, inf, \"fro\", \"nuc\" or \"spec\"");
    return reduce(c, g, in[X], &c->value[X], how, NORM_AXIS);
}

/* Folds have no axis of their own: an absent parameter is looked up at its place. */
lt_node lt_fn_fold_l1(lt_builtin_call *c, lt_graph *g, const lt_node *in) { return reduce(c, g, in[X], &c->value[X], &norm_1, AXIS); }
lt_node lt_fn_fold_l2(lt_builtin_call *c, lt_graph *g, const lt_node *in) { return reduce(c, g, in[X], &c->value[X], &norm_2, AXIS); }

lt_node lt_fn_dot(lt_builtin_call *c, lt_graph *g, const lt_node *in)
{
    lt_shape a = lt_value_element(&c->value[0]), b = lt_value_element(&c->value[1]);
    if (a.rank != 1 || b.rank != 1 || a.dim[0] != b.dim[0])
        return lt_call_fail(c, "dot of %s and %s: need two vectors of one length", lt_shape_str(&a).s, lt_shape_str(&b).s);
    return c->lead ? lt_sum_axis(g, lt_mul(g, in[0], in[1]), -1, false) : lt_dot(g, in[0], in[1]);
}
