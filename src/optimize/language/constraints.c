/* Constraints: both sides to vectors that are <= 0 or == 0. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static const char *const sign_of[] = { [LT_RELATION_LE] = "<=", [LT_RELATION_GE] = ">=", [LT_RELATION_EQ] = "==" };

static bool holds(lt_relation relation, double a, double b)
{
    return relation == LT_RELATION_LE ? a <= b : relation == LT_RELATION_GE ? a >= b : a == b;
}

/* ---- constraints without variables ---- */

static void check_constants(lt_reader *r, const lt_parsed_statement *s, const lt_value *a, const lt_value *b, lt_relation relation)
{
    lt_value difference = lt_value_binary(r, s->where, '-', a, b); /* for its shape, and the message when there is none */
    if (difference.kind == LT_VALUE_NONE) return;
    lt_value wide_a = lt_value_broadcast(r, s->where, a, &difference.shape, 0);
    lt_value wide_b = lt_value_broadcast(r, s->where, b, &difference.shape, 0);
    if (wide_a.kind == LT_VALUE_NONE || wide_b.kind == LT_VALUE_NONE) return;
    for (int64_t i = 0; i < lt_value_count(&difference); i++)
        if (!holds(relation, wide_a.data[i], wide_b.data[i])) {
            lt_text_error(&r->text, s->where, "a constraint without variables that does not hold: %.10g %s %.10g", lt_plain(wide_a.data[i]),
                          sign_of[relation], lt_plain(wide_b.data[i]));
            return;
        }
    lt_text_warn(&r->text, s->where, "a constraint without variables always holds; it is left out");
}

/* ---- infinite bounds ---- */

/* Elements whose bound is infinite never bind; what can never hold is an error. On return `wanted`
   lists the elements that stay (all of them: NULL). */
static bool drop_infinite(lt_reader *r, const lt_parsed_statement *s, const lt_value *bound, lt_relation relation, bool bound_is_right,
                          const lt_shape *shape, int64_t **wanted, int64_t *n_wanted)
{
    *wanted = NULL;
    *n_wanted = lt_shape_count(shape);
    bool finite = true;
    if (bound->kind != LT_VALUE_CONSTANT) return true;
    for (int64_t i = 0; i < lt_value_count(bound); i++) finite &= isfinite(bound->data[i]) != 0;
    if (finite) return true;
    lt_value wide = lt_value_broadcast(r, s->where, bound, shape, 0);
    int64_t *keep = wide.kind == LT_VALUE_NONE ? NULL : lt_arena_alloc(&r->temporary, LT_MAX((size_t)*n_wanted, 1) * sizeof *keep);
    if (!keep) return false;
    double vacuous = relation == LT_RELATION_EQ ? NAN : (relation == LT_RELATION_LE) == bound_is_right ? (double)INFINITY : (double)-INFINITY;
    int64_t n = 0, total = *n_wanted;
    for (int64_t i = 0; i < total; i++) {
        double x = wide.data[i];
        if (isfinite(x)) keep[n++] = i;
        else if (x != vacuous) {
            lt_text_error(&r->text, s->where, "a constraint that cannot hold: one side is %g", lt_plain(x));
            return false;
        }
    }
    if (!s->interval) lt_text_warn(&r->text, s->where, "%lld of %lld constraints have an infinite bound and are left out", (long long)(total - n), (long long)total);
    *wanted = keep;
    *n_wanted = n;
    return true;
}

/* ---- one inequality or equality ---- */

typedef struct flattening { const int64_t *wanted; int64_t n; } flattening; /* wanted NULL: all */

static lt_node build_flat(void *ctx, lt_graph *g, const lt_node *in)
{
    const flattening *f = ctx;
    lt_node flat = lt_flatten(g, in[0]);
    return f->wanted ? lt_gather(g, flat, lt_constant(g, LT_I64, lt_shape1(f->n), f->wanted), 0) : flat;
}

static void add_line(lt_reader *r, const lt_parsed_statement *s, lt_relation relation, lt_node node, int64_t count, int side)
{
    int n = r->n_lines;
    if (!(n & (n - 1))) {
        lt_read_constraint *larger = lt_realloc(r->lines, LT_MAX((size_t)n * 2, 1) * sizeof *larger);
        if (!larger) { lt_reader_no_memory(r); return; }
        r->lines = larger;
    }
    char *name = s->name ? lt_arena_strdup(&r->kept, s->name) : NULL;
    if (s->name && !name) { lt_reader_no_memory(r); return; }
    r->lines[r->n_lines++] = (lt_read_constraint){ name, s->line, relation == LT_RELATION_EQ, node, count, side, s->interval };
}

static void add_constraint(lt_reader *r, const lt_parsed_statement *s, const lt_value *a, const lt_value *b, lt_relation relation)
{
    if (a->kind == LT_VALUE_CONSTANT && b->kind == LT_VALUE_CONSTANT) { check_constants(r, s, a, b, relation); return; }
    bool swap = relation == LT_RELATION_GE;
    lt_value c = lt_value_binary(r, s->where, '-', swap ? b : a, swap ? a : b);
    if (c.kind == LT_VALUE_NONE) return;
    flattening f = { .wanted = NULL };
    const lt_value *bound = b->kind == LT_VALUE_CONSTANT ? b : a;
    const bool bound_is_left = a->kind == LT_VALUE_CONSTANT && b->kind != LT_VALUE_CONSTANT;
    int64_t *wanted;
    if (!drop_infinite(r, s, bound, relation, bound == b, &c.shape, &wanted, &f.n)) return;
    f.wanted = wanted;
    if (f.n == 0) return;
    lt_value flat = lt_value_build(r, s->where, &c, 1, 0, build_flat, &f);
    if (flat.kind == LT_VALUE_NODE) add_line(r, s, relation, flat.node, f.n, (bound_is_left ? 1 : -1) * (swap ? -1 : 1));
}

static bool name_is_free(lt_reader *r, const lt_parsed_statement *s)
{
    int line = s->name ? lt_reader_claim(r, ':', s->name, s->name_at, s->line) : 0;
    if (line) lt_text_error(&r->text, s->name_at, "a constraint '%.60s' exists already, on line %d", s->name, line);
    return !line;
}

/* Both bounds are constants, and leave room. */
static bool check_interval(lt_reader *r, const lt_parsed_statement *s, const lt_value *low, const lt_value *high)
{
    for (int k = 0; k < 3; k += 2)
        if ((k ? high : low)->kind != LT_VALUE_CONSTANT) {
            lt_text_error(&r->text, s->side[k]->where, "the bounds of 'in' are constants; write a constraint with '<='");
            return false;
        }
    lt_value room = lt_value_binary(r, s->where, '-', high, low);
    if (room.kind == LT_VALUE_NONE) return false;
    for (int64_t i = 0; i < lt_value_count(&room); i++)
        if (!(room.data[i] >= 0)) { /* also inf - inf */
            lt_value a = lt_value_broadcast(r, s->where, low, &room.shape, 0), b = lt_value_broadcast(r, s->where, high, &room.shape, 0);
            if (a.kind == LT_VALUE_NONE || b.kind == LT_VALUE_NONE) return false;
            if (a.data[i] <= b.data[i] && a.data[i] < INFINITY && b.data[i] > -INFINITY) continue;
            lt_text_error(&r->text, s->where, "%s%sno number lies in [%.10g, %.10g] (element %lld)", s->name ? s->name : "", s->name ? ": " : "",
                          lt_plain(a.data[i]), lt_plain(b.data[i]), (long long)i);
            return false;
        }
    return true;
}

static bool is_tensor(lt_reader *r, const lt_parsed_statement *s, int k, const lt_value *v)
{
    bool good = v->kind != LT_VALUE_NONE && lt_expect_tensor(r, s->side[k]->where, v);
    for (int64_t i = 0; good && v->kind == LT_VALUE_CONSTANT && i < lt_value_count(v); i++)
        if (isnan(v->data[i])) {
            lt_text_error(&r->text, s->side[k]->where, "a bound is not a number (element %lld)", (long long)i);
            good = false;
        }
    return good;
}

void lt_reader_interval(lt_reader *r, const lt_parsed_statement *s, const lt_value *x)
{
    const lt_value low = lt_expr_evaluate(r, s->side[0]), high = lt_expr_evaluate(r, s->side[2]);
    const bool good = is_tensor(r, s, 0, &low) & is_tensor(r, s, 2, &high);
    if (!good || !check_interval(r, s, &low, &high)) return;
    add_constraint(r, s, &low, x, LT_RELATION_LE);
    add_constraint(r, s, x, &high, LT_RELATION_LE);
}

void lt_reader_constraint(lt_reader *r, const lt_parsed_statement *s)
{
    lt_value side[3] = { lt_value_none(), lt_value_none(), lt_value_none() };
    bool good = name_is_free(r, s);
    if (s->interval) {
        const lt_value x = lt_expr_evaluate(r, s->side[1]);
        if (x.kind != LT_VALUE_NONE && lt_expect_tensor(r, s->side[1]->where, &x) && good) lt_reader_interval(r, s, &x);
        return;
    }
    for (int i = 0; i < s->n_sides; i++) {
        side[i] = lt_expr_evaluate(r, s->side[i]);
        good &= side[i].kind != LT_VALUE_NONE && lt_expect_tensor(r, s->side[i]->where, &side[i]);
        for (int64_t k = 0; good && side[i].kind == LT_VALUE_CONSTANT && k < lt_value_count(&side[i]); k++)
            if (isnan(side[i].data[k])) {
                lt_text_error(&r->text, s->side[i]->where, "a side of a constraint is not a number (element %lld)", (long long)k);
                good = false;
            }
    }
    for (int i = 0; good && i + 1 < s->n_sides; i++) add_constraint(r, s, &side[i], &side[i + 1], s->relation);
}
