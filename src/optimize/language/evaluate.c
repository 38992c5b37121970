/* Expressions to values. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 1000 }; /* of evaluation: functions times their nesting; the stack bears this */

bool lt_expect_tensor(lt_reader *r, lt_text_span where, const lt_value *v)
{
    if (v->kind == LT_VALUE_STRING) lt_reader_error(r, where, "a string cannot be computed with");
    else if (v->kind == LT_VALUE_STREAM)
        lt_reader_error(r, where, "'%.60s' is a stream of random numbers; draw from it with normal(…, rng=%.60s)",
                        v->symbol->name, v->symbol->name);
    return lt_value_is_tensor(v);
}

/* ---- integers ---- */

bool lt_value_integer(lt_reader *r, lt_text_span where, const lt_value *v, const char *what, int64_t *out)
{
    *out = 0;
    if (v->kind == LT_VALUE_NONE || !lt_expect_tensor(r, where, v)) return false;
    if (v->lead) { lt_cannot_lift(r, what); return false; }
    if (v->kind == LT_VALUE_NODE) {
        lt_reader_error(r, where, "%s depends on a variable; it must be known when the file is read", what);
        return false;
    }
    double x = lt_value_count(v) == 1 ? v->data[0] : NAN;
    if (lt_value_count(v) != 1) {
        lt_reader_error(r, where, "%s is a tensor %s; one integer is needed", what, lt_value_shape_text(v).s);
        return false;
    }
    if (x != floor(x) || fabs(x) > 0x1p53) {
        lt_reader_error(r, where, "%s is %.10g; an integer is needed", what, lt_plain(x));
        return false;
    }
    *out = (int64_t)x;
    return true;
}

bool lt_expr_integer(lt_reader *r, const lt_expr *e, const char *what, int64_t *out)
{
    lt_value v = lt_expr_evaluate(r, e);
    return lt_value_integer(r, e->where, &v, what, out);
}

/* ---- lists ---- */

typedef struct stacking { lt_reader *r; int n, axis; } stacking;

static lt_node build_stack(void *ctx, lt_graph *g, const lt_node *in)
{
    const stacking *s = ctx;
    lt_node *raised = lt_arena_alloc(&s->r->temporary, (size_t)s->n * sizeof *raised);
    if (!raised) { lt_reader_no_memory(s->r); return LT_NONE; }
    for (int i = 0; i < s->n; i++) raised[i] = lt_unsqueeze(g, in[i], s->axis);
    return lt_concat_many(s->r, g, raised, s->n, s->axis);
}

/* Constants side by side need no graph. */
static lt_value stack_constants(lt_reader *r, lt_text_span where, const lt_value *items, int n)
{
    lt_shape s = { .rank = items[0].shape.rank + 1, .dim = { n } };
    int64_t count = lt_value_count(&items[0]);
    for (int i = 1; i < s.rank; i++) s.dim[i] = items[0].shape.dim[i - 1];
    double *data = lt_value_alloc(r, where, &s);
    if (!data) return lt_value_none();
    for (int i = 0; i < n; i++) memcpy(data + i * count, items[i].data, (size_t)count * sizeof *data);
    return lt_value_constant(&s, data);
}

static bool same_elements(lt_reader *r, lt_text_span where, const lt_value *items, int n)
{
    lt_shape first = lt_value_element(&items[0]);
    for (int i = 1; i < n; i++) {
        lt_shape s = lt_value_element(&items[i]);
        if (lt_shape_equal(&first, &s)) continue;
        lt_reader_error(r, where, "a list of %s and %s (element %d): all elements need one shape", lt_shape_str(&first).s,
                        lt_shape_str(&s).s, i);
        return false;
    }
    if (first.rank < LT_MAX_RANK) return true;
    lt_reader_error(r, where, "a list of tensors %s: %d axes are the most", lt_shape_str(&first).s, LT_MAX_RANK);
    return false;
}

lt_value lt_value_stack(lt_reader *r, lt_text_span where, lt_value *items, int n, int lead)
{
    bool constants = true;
    if (!same_elements(r, where, items, n)) return lt_value_none();
    for (int i = 0; i < n; i++) constants &= items[i].kind == LT_VALUE_CONSTANT;
    if (constants && !lead) return stack_constants(r, where, items, n);
    if (items[0].shape.rank - items[0].lead + lead + 1 > LT_MAX_RANK) return lt_cannot_lift(r, "the number of its axes");
    lt_shape common = { .rank = 0 };
    for (int i = 0; i < n && lead; i++) { /* all to the same lead axes */
        lt_shape s = lt_value_aligned(&items[i], lead, items[i].shape.rank - items[i].lead);
        if (i == 0) common = s;
        for (int k = 0; k < lead; k++) if (common.dim[k] == 1) common.dim[k] = s.dim[k];
    }
    for (int i = 0; i < n && lead; i++) {
        lt_shape s = lt_value_aligned(&items[i], lead, items[i].shape.rank - items[i].lead);
        items[i] = lt_value_reshape(r, where, &items[i], &s, lead);
        if (items[i].kind != LT_VALUE_NONE) items[i] = lt_value_broadcast(r, where, &items[i], &common, lead);
        if (items[i].kind == LT_VALUE_NONE) return lt_value_none();
    }
    return lt_value_build(r, where, items, n, lead, build_stack, &(stacking){ r, n, lead });
}

static lt_value evaluate_list(lt_reader *r, const lt_expr *e)
{
    static const double nothing[1];
    if (!e->n) return lt_value_constant(&(lt_shape){ .rank = 1 }, nothing);
    lt_value *items = lt_arena_alloc(&r->temporary, (size_t)e->n * sizeof *items);
    if (!items) { lt_reader_no_memory(r); return lt_value_none(); }
    bool good = true;
    int lead = 0;
    for (int i = 0; i < e->n; i++) {
        items[i] = lt_expr_evaluate(r, e->item[i]);
        good &= items[i].kind != LT_VALUE_NONE && lt_expect_tensor(r, e->item[i]->where, &items[i]);
        lead = LT_MAX(lead, items[i].lead);
    }
    return good ? lt_value_stack(r, e->where, items, e->n, lead) : lt_value_none();
}

/* ---- operators ---- */

/* A tensor, or none after the error has been pointed out. */
static lt_value evaluate_operand(lt_reader *r, const lt_expr *e)
{
    lt_value v = lt_expr_evaluate(r, e);
    return v.kind == LT_VALUE_NONE || lt_expect_tensor(r, e->where, &v) ? v : lt_value_none();
}

static lt_value evaluate_chain(lt_reader *r, const lt_expr *e)
{
    lt_value v = evaluate_operand(r, e->a);
    for (int i = 0; i < e->n; i++) { /* all operands are looked at, so that each mistake is found */
        lt_value next = evaluate_operand(r, e->link[i].operand);
        v = lt_value_binary(r, e->link[i].where, e->link[i].sign, &v, &next);
        if (r->text.no_memory || r->text.more_errors) return lt_value_none();
    }
    return v;
}

static lt_node build_negate(void *ctx, lt_graph *g, const lt_node *in) { (void)ctx; return lt_neg(g, in[0]); }

static lt_value evaluate_negate(lt_reader *r, const lt_expr *e)
{
    lt_value v = evaluate_operand(r, e->a);
    if (v.kind == LT_VALUE_NONE) return v;
    if (v.kind == LT_VALUE_NODE) return lt_value_build(r, e->where, &v, 1, v.lead, build_negate, NULL);
    double *data = lt_value_alloc(r, e->where, &v.shape);
    if (!data) return lt_value_none();
    for (int64_t i = 0; i < lt_value_count(&v); i++) data[i] = -v.data[i];
    lt_value negated = lt_value_constant(&v.shape, data);
    negated.lead = v.lead;
    return negated;
}

static lt_node build_transpose(void *ctx, lt_graph *g, const lt_node *in) { (void)ctx; return lt_transpose(g, in[0]); }

static lt_value evaluate_transpose(lt_reader *r, const lt_expr *e)
{
    lt_value v = evaluate_operand(r, e->a);
    if (v.kind == LT_VALUE_NONE) return v;
    if (v.shape.rank - v.lead < 2) return v;
    return lt_value_build(r, e->point, &v, 1, v.lead, build_transpose, NULL);
}

static lt_value evaluate_power(lt_reader *r, const lt_expr *e)
{
    lt_value a = evaluate_operand(r, e->a), b = evaluate_operand(r, e->b);
    return lt_value_binary(r, e->point, '^', &a, &b);
}

static lt_value evaluate_kind(lt_reader *r, const lt_expr *e)
{
    switch (e->kind) {
    case LT_EXPR_NUMBER: return lt_value_number(r, e->number);
    case LT_EXPR_STRING: return (lt_value){ .kind = LT_VALUE_STRING, .text = e->text, .node = LT_NONE };
    case LT_EXPR_NAME: return lt_reader_lookup(r, e);
    case LT_EXPR_CALL: return lt_expr_call(r, e);
    case LT_EXPR_LIST: return evaluate_list(r, e);
    case LT_EXPR_COMPREHENSION: return lt_expr_comprehension(r, e);
    case LT_EXPR_CHAIN: return evaluate_chain(r, e);
    case LT_EXPR_POWER: return evaluate_power(r, e);
    case LT_EXPR_NEGATE: return evaluate_negate(r, e);
    case LT_EXPR_TRANSPOSE: return evaluate_transpose(r, e);
    case LT_EXPR_INDEX: {
        lt_value base = lt_expr_evaluate(r, e->a);
        return lt_expr_index(r, e, &base);
    }
    default: return lt_value_none();
    }
}

lt_value lt_expr_evaluate(lt_reader *r, const lt_expr *e)
{
    if (r->text.no_memory || r->text.more_errors || r->unliftable) return lt_value_none();
    if (++r->steps > r->limits.steps) {
        if (r->steps == r->limits.steps + 1)
            lt_reader_error(r, e->where, "this statement takes more than %lld steps to expand", (long long)r->limits.steps);
        return lt_value_none();
    }
    if (r->depth >= MOST_LEVELS) {
        lt_reader_error(r, e->where, "functions nest too deeply here");
        return lt_value_none();
    }
    r->depth++;
    lt_value v = evaluate_kind(r, e);
    r->depth--;
    return v;
}
