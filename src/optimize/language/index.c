/* Indexing: single elements and ranges of an axis, also at every value of a comprehension's indices.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/language/reader.h"

#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

int64_t lt_range_length(int64_t from, int64_t to, int64_t step)
{
    if (step > 0) return to > from ? (to - from + step - 1) / step : 0;
    return from > to ? (from - to - step - 1) / -step : 0;
}

/* What one part of an index asks of its axis: elements start, start + step, … (length of them). */
typedef struct selection {
    bool     keeps;        /* a range: the axis stays */
    int64_t  step, length;
    lt_value start;        /* a constant, one number or (lifted) one for each turn of the loops */
} selection;

typedef struct lookup {
    lt_reader *r;
    const lt_expr *e;
    const lt_value *base;
    lt_shape  element;     /* of the base */
    selection axis[LT_MAX_RANK];
    int       lead;        /* of the result */
    lt_shape  shape;       /* of the result: lead axes, then the ranges' */
} lookup;

/* ---- reading the parts ---- */

static bool check_starts(lookup *l, const lt_index_part *part, selection *s, int axis)
{
    int64_t n = l->element.dim[axis], count = lt_value_count(&s->start);
    double *at = lt_arena_alloc(&l->r->temporary, LT_MAX((size_t)count, 1) * sizeof *at);
    if (!at) { lt_reader_no_memory(l->r); return false; }
    for (int64_t i = 0; i < count; i++) {
        double x = s->start.data[i];
        if (x != floor(x)) {
            lt_reader_error(l->r, part->where, "an index is %.10g; an integer is needed", lt_plain(x));
            return false;
        }
        if (x < (double)-n || x >= (double)n) {
            lt_reader_error(l->r, part->where, "index %.0f is outside 0..%lld: axis %d of %s has length %lld", x, (long long)n - 1,
                            axis, lt_shape_str(&l->element).s, (long long)n);
            return false;
        }
        at[i] = x < 0 ? x + (double)n : x;
    }
    s->start.data = at;
    s->start.symbol = NULL;
    return true;
}

static bool read_single(lookup *l, const lt_index_part *part, selection *s, int axis)
{
    lt_value v = lt_expr_evaluate(l->r, part->at);
    int64_t one;
    s->step = s->length = 1;
    if (v.kind == LT_VALUE_CONSTANT && v.lead && v.shape.rank == v.lead) s->start = v;
    else {
        if (!lt_value_integer(l->r, part->where, &v, "an index", &one)) return false;
        s->start = v;
        s->start.shape = lt_shape0();
    }
    return check_starts(l, part, s, axis);
}

static int64_t clip(int64_t x, int64_t n, int64_t low, int64_t high)
{
    if (x < 0) x += n;
    return LT_MIN(LT_MAX(x, low), high);
}

static bool read_range(lookup *l, const lt_index_part *part, selection *s, int axis)
{
    int64_t n = l->element.dim[axis], from, to;
    s->keeps = true;
    s->step = 1;
    bool good = !part->step || lt_expr_integer(l->r, part->step, "the step of a range", &s->step); /* each mistake is found */
    if (good && s->step == 0) { lt_reader_error(l->r, part->where, "the step of a range is 0"); good = false; }
    int64_t low = s->step > 0 ? 0 : -1, high = s->step > 0 ? n : n - 1;
    from = s->step > 0 ? 0 : n - 1;
    to = s->step > 0 ? n : -1;
    if (part->at) {
        good &= lt_expr_integer(l->r, part->at, "the start of a range", &from);
        from = clip(from, n, low, high);
    }
    if (part->to) {
        good &= lt_expr_integer(l->r, part->to, "the end of a range", &to);
        to = clip(to, n, low, high);
    }
    if (!good) return false;
    s->length = lt_range_length(from, to, LT_MIN(LT_MAX(s->step, -n - 1), n + 1));
    s->start = lt_value_number(l->r, (double)from);
    return s->start.kind != LT_VALUE_NONE;
}

/* Parts that select nothing may have mistakes of their own. */
static void look_through(lt_reader *r, const lt_expr *e)
{
    for (int i = 0; i < e->n; i++) {
        const lt_expr *const all[] = { e->part[i].at, e->part[i].to, e->part[i].step };
        for (size_t k = 0; k < LT_LEN(all); k++)
            if (all[k]) lt_expr_evaluate(r, all[k]);
    }
}

static bool read_parts(lookup *l)
{
    if (l->e->n > l->element.rank) {
        look_through(l->r, l->e);
        lt_reader_error(l->r, l->e->point, "%d indices for a tensor %s of %d axes", l->e->n, lt_shape_str(&l->element).s, l->element.rank);
        return false;
    }
    l->lead = l->base->lead;
    static const lt_index_part all = { .is_range = true };
    bool good = true;
    for (int i = 0; i < l->element.rank; i++) {
        const lt_index_part *part = i < l->e->n ? &l->e->part[i] : &all;
        good &= part->is_range ? read_range(l, part, &l->axis[i], i) : read_single(l, part, &l->axis[i], i);
        l->lead = LT_MAX(l->lead, l->axis[i].start.lead);
    }
    if (!good) return false;
    l->shape = (lt_shape){ .rank = l->lead };
    for (int k = 0; k < l->lead; k++) {
        l->shape.dim[k] = k < l->base->lead ? l->base->shape.dim[k] : 1;
        for (int i = 0; i < l->element.rank; i++)
            if (k < l->axis[i].start.lead && l->shape.dim[k] == 1) l->shape.dim[k] = l->axis[i].start.shape.dim[k];
    }
    for (int i = 0; i < l->element.rank; i++)
        if (l->axis[i].keeps) {
            if (l->shape.rank == LT_MAX_RANK) { lt_cannot_lift(l->r, "the number of its axes"); return false; }
            l->shape.dim[l->shape.rank++] = l->axis[i].length;
        }
    return true;
}

/* ---- positions in the base, element by element ---- */

/* The number a lifted constant has at this turn of the loops. */
static int64_t start_at(const lt_value *start, const int64_t *turn)
{
    int64_t at = 0;
    for (int k = 0; k < start->lead; k++) at = at * start->shape.dim[k] + (start->shape.dim[k] == 1 ? 0 : turn[k]);
    return (int64_t)start->data[at];
}

static int64_t position(const lookup *l, const int64_t *at)
{
    int64_t where = 0;
    const int64_t *ranged = at + l->lead;
    for (int k = 0; k < l->base->lead; k++) where = where * l->base->shape.dim[k] + (l->base->shape.dim[k] == 1 ? 0 : at[k]);
    for (int i = 0; i < l->element.rank; i++) {
        const selection *s = &l->axis[i];
        where = where * l->element.dim[i] + start_at(&s->start, at) + (s->keeps ? s->step * *ranged++ : 0);
    }
    return where;
}

static void step_through(const lt_shape *shape, int64_t *at)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (++at[i] < shape->dim[i]) return;
        at[i] = 0;
    }
}

static lt_value pick_constants(lookup *l)
{
    double *data = lt_value_alloc(l->r, l->e->where, &l->shape);
    if (!data) return lt_value_none();
    int64_t at[LT_MAX_RANK] = { 0 }, n = lt_shape_count(&l->shape);
    for (int64_t i = 0; i < n; i++, step_through(&l->shape, at)) data[i] = l->base->data[position(l, at)];
    lt_value v = lt_value_constant(&l->shape, data);
    v.lead = l->lead;
    return v;
}

typedef struct gathering { lt_shape shape; const int64_t *index; } gathering;

static lt_node build_gather(void *ctx, lt_graph *g, const lt_node *in)
{
    const gathering *c = ctx;
    lt_node index = lt_constant(g, LT_I64, lt_shape1(lt_shape_count(&c->shape)), c->index);
    return lt_reshape(g, lt_gather(g, lt_flatten(g, in[0]), index, 0), c->shape);
}

/* Any pattern at all: one gather from the flat base. */
static lt_value gather(lookup *l)
{
    int64_t at[LT_MAX_RANK] = { 0 }, n = lt_shape_count(&l->shape);
    int64_t *index = (int64_t *)lt_value_alloc(l->r, l->e->where, &l->shape); /* checks the limits; same size */
    if (!index) return lt_value_none();
    for (int64_t i = 0; i < n; i++, step_through(&l->shape, at)) index[i] = position(l, at);
    return lt_value_build(l->r, l->e->point, l->base, 1, l->lead, build_gather, &(gathering){ l->shape, index });
}

/* ---- slices: the patterns that need no index at all ---- */

/* start + step * turn[loop], the turn of one loop only: an axis of the base becomes the loop's. */
static bool is_affine(const lt_value *start, int *loop, int64_t *step)
{
    *loop = -1;
    *step = 0;
    for (int k = 0; k < start->lead; k++)
        if (start->shape.dim[k] != 1) {
            if (*loop >= 0) return false;
            *loop = k;
        }
    if (*loop < 0) return true;
    *step = 1;
    if (lt_value_count(start) == 0) return true;
    *step = (int64_t)(start->data[1] - start->data[0]);
    for (int64_t i = 1; i < lt_value_count(start); i++)
        if (start->data[i] != start->data[0] + (double)(*step * i)) return false;
    return *step != 0;
}

/* Slices along every axis, then the axes in the order of the result. */
static lt_node build_slices(void *ctx, lt_graph *g, const lt_node *in)
{
    const lookup *l = ctx;
    lt_node x = in[0];
    int order[LT_MAX_RANK], n = 0, loop_axis[LT_MAX_RANK];
    for (int k = 0; k < LT_MAX_RANK; k++) loop_axis[k] = -1;
    for (int i = 0; i < l->element.rank; i++) {
        const selection *s = &l->axis[i];
        int loop;
        int64_t step, start = (int64_t)s->start.data[0], length = s->keeps ? s->length : 1;
        is_affine(&s->start, &loop, &step);
        if (loop >= 0) length = s->start.shape.dim[loop], loop_axis[loop] = i;
        else step = s->step;
        int64_t stop = start + step * length;
        if (length == 0) start = stop = 0, step = 1;
        x = lt_slice(g, x, i, start, stop < 0 ? LT_END : stop, step);
    }
    for (int k = 0; k < l->lead; k++) if (loop_axis[k] >= 0) order[n++] = loop_axis[k];
    for (int i = 0; i < l->element.rank; i++) if (l->axis[i].keeps) order[n++] = i;
    for (int i = 0; i < l->element.rank; i++) { /* single elements: axes of length 1, dropped by the reshape */
        bool placed = false;
        for (int j = 0; j < n; j++) placed |= order[j] == i;
        if (!placed) order[n++] = i;
    }
    bool sorted = true;
    for (int i = 1; i < n; i++) sorted &= order[i] > order[i - 1];
    return lt_reshape(g, sorted ? x : lt_permute(g, x, order), l->shape);
}

static bool can_slice(const lookup *l)
{
    unsigned used = 0;
    if (l->base->lead) return false;
    for (int i = 0; i < l->element.rank; i++) {
        int loop;
        int64_t step;
        if (l->axis[i].start.lead == 0) continue;
        if (l->axis[i].keeps || !is_affine(&l->axis[i].start, &loop, &step)) return false;
        if (loop >= 0 && used >> loop & 1) return false;
        if (loop >= 0) used |= 1u << loop;
    }
    return true;
}

lt_value lt_expr_index(lt_reader *r, const lt_expr *e, const lt_value *base)
{
    if (base->kind == LT_VALUE_NONE) {
        look_through(r, e);
        return lt_value_none();
    }
    if (!lt_expect_tensor(r, e->a->where, base)) return lt_value_none();
    lookup l = { .r = r, .e = e, .base = base, .element = lt_value_element(base) };
    if (!read_parts(&l)) return lt_value_none();
    if (base->kind == LT_VALUE_CONSTANT) return pick_constants(&l);
    return can_slice(&l) ? lt_value_build(r, e->point, base, 1, l.lead, build_slices, &l) : gather(&l);
}
