/* Comprehensions: built once for all values of their indices where the body allows it, else written
   out. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/functions.h"

#include "base/status.h"

#include <string.h>

typedef struct loop_range { int64_t from, step, length; } loop_range;

/* An index hides outer values of its name; a function it would hide could no longer be called, or would be called by mistake. */
static bool check_name(lt_reader *r, const lt_loop *loop)
{
    const lt_symbol *s = lt_reader_find(r, loop->name);
    if (lt_builtin_find(loop->name)) lt_reader_error(r, loop->where, "'%.60s' is a function of the language and cannot be the name of an index", loop->name);
    else if (s && s->kind == LT_SYMBOL_FN) lt_reader_error(r, loop->where, "'%.60s' is a function of this file and cannot be the name of an index", loop->name);
    else return true;
    return false;
}

static bool read_range(lt_reader *r, const lt_loop *loop, loop_range *out)
{
    int64_t to;
    out->step = 1;
    bool good = lt_expr_integer(r, loop->from, "the start of a range", &out->from);
    good &= lt_expr_integer(r, loop->to, "the end of a range", &to);
    if (loop->step) good &= lt_expr_integer(r, loop->step, "the step of a range", &out->step);
    if (!good) return false;
    if (!out->step) { lt_reader_error(r, loop->step->where, "the step of a range is 0"); return false; }
    out->length = lt_range_length(out->from, to, out->step);
    if (out->length <= r->limits.elements) return true;
    lt_reader_error(r, loop->where, "a range of %lld values is too long; %lld are the most", (long long)out->length, (long long)r->limits.elements);
    return false;
}

/* The ranges are the same for all elements: they are read before any index has its name. */
static bool read_ranges(lt_reader *r, const lt_expr *e, loop_range *ranges)
{
    bool good = true;
    for (int i = 0; i < e->n; i++) {
        good &= check_name(r, &e->loop[i]);
        good &= read_range(r, &e->loop[i], &ranges[i]);
    }
    return good;
}

/* Without ranges there are no values, but the body may have mistakes of its own: its indices have no value, which is reported once only. */
static lt_value look_through(lt_reader *r, const lt_expr *e)
{
    const lt_local *outer = r->locals;
    lt_local locals[LT_MAX_RANK];
    for (int i = 0; i < e->n; i++) {
        locals[i] = (lt_local){ e->loop[i].name, lt_value_none(), r->locals };
        r->locals = &locals[i];
    }
    lt_expr_evaluate(r, e->a);
    r->locals = outer;
    return lt_value_none();
}

/* ---- lifted ---- */

/* The values of loop number `axis` as a constant with that many axes. */
static lt_value index_values(lt_reader *r, lt_text_span where, const loop_range *of, int axis)
{
    lt_shape s = { .rank = axis + 1 };
    for (int i = 0; i < axis; i++) s.dim[i] = 1;
    s.dim[axis] = of->length;
    double *data = lt_value_alloc(r, where, &s);
    if (!data) return lt_value_none();
    for (int64_t i = 0; i < of->length; i++) data[i] = (double)(of->from + i * of->step);
    lt_value v = lt_value_constant(&s, data);
    v.lead = axis + 1;
    return v;
}

/* The loops' axes, to their full length, become the first axes of the element. */
static lt_value gather_axes(lt_reader *r, const lt_expr *e, const lt_value *body, int outer, const loop_range *ranges)
{
    int lead = outer + e->n, rank = body->shape.rank - body->lead;
    if (lead + rank > LT_MAX_RANK) return lt_cannot_lift(r, "the number of its axes");
    int own = LT_MIN(body->lead, outer); /* lead axes of the result: none when nothing depends on outer loops */
    lt_shape aligned = lt_value_aligned(body, lead, rank), full = aligned;
    for (int i = 0; i < e->n; i++) full.dim[outer + i] = ranges[i].length;
    lt_value v = lt_value_reshape(r, e->where, body, &aligned, lead);
    if (v.kind != LT_VALUE_NONE) v = lt_value_broadcast(r, e->where, &v, &full, lead);
    if (v.kind == LT_VALUE_NONE) return v;
    if (own == 0 && outer) {
        lt_shape s = lt_shape_of(full.rank - outer, full.dim + outer);
        return lt_value_reshape(r, e->where, &v, &s, 0);
    }
    v.lead = outer;
    return v;
}

static lt_value evaluate_lifted(lt_reader *r, const lt_expr *e, const loop_range *ranges)
{
    const lt_local *outer_locals = r->locals;
    lt_local *locals = lt_arena_alloc(&r->temporary, (size_t)e->n * sizeof *locals);
    int outer = r->loops;
    if (!locals) { lt_reader_no_memory(r); return lt_value_none(); }
    if (outer + e->n > LT_MAX_RANK) return lt_cannot_lift(r, "the number of its axes");
    for (int i = 0; i < e->n; i++) {
        locals[i] = (lt_local){ e->loop[i].name, index_values(r, e->loop[i].where, &ranges[i], outer + i), r->locals };
        if (locals[i].value.kind == LT_VALUE_NONE) { r->locals = outer_locals; return lt_value_none(); }
        r->locals = &locals[i];
    }
    r->loops = outer + e->n;
    lt_value body = lt_expr_evaluate(r, e->a);
    r->loops = outer;
    r->locals = outer_locals;
    if (body.kind == LT_VALUE_NONE || !lt_expect_tensor(r, e->a->where, &body)) return lt_value_none();
    return gather_axes(r, e, &body, outer, ranges);
}

/* ---- written out ---- */

typedef struct writing { lt_reader *r; const lt_expr *e; const loop_range *ranges; const char *why; } writing;

/* The values of loops i… with those before fixed, as one value with an axis for each. */
static lt_value write_loop(writing *w, int i)
{
    lt_reader *r = w->r;
    if (i == w->e->n) return lt_expr_evaluate(r, w->e->a);
    int64_t n = w->ranges[i].length;
    lt_value *items = lt_arena_alloc(&r->temporary, LT_MAX((size_t)n, 1) * sizeof *items);
    if (!items) { lt_reader_no_memory(r); return lt_value_none(); }
    const lt_local *outer = r->locals;
    int lead = 0;
    bool good = true;
    for (int64_t k = 0; k < n && good; k++) {
        lt_local local = { w->e->loop[i].name, lt_value_number(r, (double)(w->ranges[i].from + k * w->ranges[i].step)), outer };
        r->locals = &local;
        items[k] = write_loop(w, i + 1);
        good = items[k].kind != LT_VALUE_NONE && lt_expect_tensor(r, w->e->a->where, &items[k]);
        lead = LT_MAX(lead, items[k].lead);
        r->locals = outer;
    }
    return good ? lt_value_stack(r, w->e->where, items, (int)n, lead) : lt_value_none();
}

static lt_value write_out(lt_reader *r, const lt_expr *e, const loop_range *ranges, const char *why)
{
    int64_t copies = 1;
    for (int i = 0; i < e->n; i++)
        if (ranges[i].length && copies <= r->limits.copies) copies *= ranges[i].length;
    for (int i = 0; i < e->n; i++)
        if (!ranges[i].length) {
            lt_reader_error(r, e->where, "an empty range over an expression with %s, whose shape is then unknown", why);
            return lt_value_none();
        }
    if (copies > r->limits.copies) {
        lt_reader_error(r, e->where, "%lld or more copies of an expression with %s, which cannot be built as a whole; %d are the most",
                        (long long)copies, why, r->limits.copies);
        return lt_value_none();
    }
    return write_loop(&(writing){ r, e, ranges, why }, 0);
}

lt_value lt_expr_comprehension(lt_reader *r, const lt_expr *e)
{
    loop_range ranges[LT_MAX_RANK];
    if (e->n > LT_MAX_RANK) {
        lt_reader_error(r, e->where, "%d loops; %d are the most", e->n, LT_MAX_RANK);
        return lt_value_none();
    }
    if (!read_ranges(r, e, ranges)) return r->unliftable ? lt_value_none() : look_through(r, e);
    lt_value v = evaluate_lifted(r, e, ranges);
    if (!r->unliftable) return v;
    const char *why = r->unliftable;
    r->unliftable = NULL;
    return write_out(r, e, ranges, why);
}
