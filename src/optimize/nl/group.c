/* Expressions of one shape, computed together: ten thousand constraints x_i^2 + y_i^2 <= 1 become three operations on vectors.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/group.h"

#include "base/hash.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

void *lt_nl_take(const lt_nl_scope *s, int64_t n, size_t bytes)
{
    void *list = lt_arena_alloc(s->arena, (size_t)LT_MAX(n, 1) * bytes);
    if (!list) *s->no_memory = true;
    return list;
}

static lt_node scaled(lt_graph *g, lt_node x, double factor) { return factor == 1 ? x : factor == -1 ? lt_neg(g, x) : lt_scale(g, x, factor); }

/* ---- Shapes ------------------------------------------------------------------------------------------ */

/* What of a node is its shape: everything but variables, and numbers that are no exponents. */
typedef struct shape { uint8_t kind, op; int32_t count; double exponent; int64_t pieces; } shape;

static shape shape_of(const lt_nl_node *node)
{
    bool pieces = node->kind == LT_NL_OP && lt_nl_op_row(node->op)->code == LT_NL_OP_PIECES_CODE;
    shape s;
    memset(&s, 0, sizeof s); /* hashed as bytes, gaps included */
    s.kind = node->kind;
    s.op = node->op;
    s.count = node->count;
    s.exponent = node->exponent ? node->number : 0;
    s.pieces = pieces ? node->variable : -1; /* each such term has numbers of its own */
    return s;
}

/* Rows of up to twice the length share a group: the shorter are filled up with zeros. */
static int64_t padded(const lt_nl_linear *l)
{
    int64_t w = 1;
    if (!l || !l->n) return 0;
    while (w < l->n) w *= 2;
    return w;
}

static uint64_t hash_item(const lt_nl *nl, const lt_nl_item *item)
{
    int64_t width = padded(item->linear);
    uint64_t h = lt_hash64(&width, sizeof width, 0);
    for (int64_t i = 0; item->first >= 0 && i < nl->node[item->first].size; i++) {
        shape s = shape_of(&nl->node[item->first + i]);
        h = lt_hash64(&s, sizeof s, h);
    }
    return h;
}

static bool same_shape(const lt_nl *nl, const lt_nl_item *a, const lt_nl_item *b)
{
    if (a->kind != b->kind || a->hash != b->hash || padded(a->linear) != padded(b->linear) || (a->first < 0) != (b->first < 0)) return false;
    if (a->first < 0) return true;
    int64_t n = nl->node[a->first].size;
    if (n != nl->node[b->first].size) return false;
    for (int64_t i = 0; i < n; i++) {
        shape u = shape_of(&nl->node[a->first + i]), v = shape_of(&nl->node[b->first + i]);
        if (memcmp(&u, &v, sizeof u)) return false;
    }
    return true;
}

static int compare_items(const void *a, const void *b)
{
    const lt_nl_item *u = a, *v = b;
    if (u->kind != v->kind) return u->kind < v->kind ? -1 : 1;
    if (u->hash != v->hash) return u->hash < v->hash ? -1 : 1;
    return u->id < v->id ? -1 : u->id > v->id;
}

void lt_nl_sort(const lt_nl *nl, lt_nl_item *items, int64_t n)
{
    for (int64_t i = 0; i < n; i++) items[i].hash = hash_item(nl, &items[i]);
    qsort(items, (size_t)n, sizeof *items, compare_items);
}

int64_t lt_nl_group_size(const lt_nl *nl, const lt_nl_item *items, int64_t n)
{
    int64_t k = 1;
    while (k < n && same_shape(nl, &items[0], &items[k])) k++;
    return k;
}

/* ---- Leaves ------------------------------------------------------------------------------------------ */

lt_node lt_nl_vector(lt_graph *g, const double *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (v[i] != v[0]) return lt_constant(g, LT_F64, lt_shape1(n), v);
    return lt_scalar(g, LT_F64, v[0]);
}

lt_node lt_nl_pick(const lt_nl_scope *s, const int64_t *position, int64_t n)
{
    if (n == 1) return lt_at(s->g, s->values, position[0]);
    int64_t step = position[1] - position[0];
    for (int64_t i = 2; i < n && step; i++)
        if (position[i] - position[i - 1] != step) step = 0;
    if (step > 0) return lt_slice(s->g, s->values, 0, position[0], position[n - 1] + 1, step);
    return lt_gather(s->g, s->values, lt_constant(s->g, LT_I64, lt_shape1(n), position), 0);
}

/* ---- One group ---------------------------------------------------------------------------------------- */

/* Slopes and breakpoints: the function is 0 at 0. */
static lt_node build_pieces(const lt_nl_scope *s, const lt_nl_node *node, lt_node y)
{
    const double *v = s->nl->breakpoints + node->variable;
    lt_node sum = lt_scale(s->g, y, v[0]);
    double at_zero = 0;
    for (int k = 0; k + 1 < node->count; k++) {
        double bend = v[2 * k + 2] - v[2 * k], at = v[2 * k + 1];
        sum = lt_add(s->g, sum, lt_scale(s->g, lt_relu(s->g, lt_shift(s->g, y, -at)), bend));
        at_zero += bend * LT_MAX(-at, 0.0);
    }
    return at_zero != 0 ? lt_shift(s->g, sum, -at_zero) : sum;
}

static lt_node build_op(const lt_nl_scope *s, const lt_nl_node *node, const lt_node *value)
{
    const lt_nl_op *op = lt_nl_op_row(node->op);
    if (op->code == LT_NL_OP_PIECES_CODE) return build_pieces(s, node, value[1]);
    if (lt_nl_is_power(node)) {
        const lt_nl_node *second = node + 1 + node[1].size;
        if (second->exponent) return lt_pow_scalar(s->g, value[1], second->number);
    }
    lt_node *operand = lt_nl_take(s, node->count, sizeof *operand);
    if (!operand) return LT_NONE;
    int64_t at = 1;
    for (int k = 0; k < node->count; k++) {
        operand[k] = value[at];
        at += node[at].size;
    }
    return op->build(s->g, operand, node->count);
}

/* Leaf i of every item's expression. */
static lt_node build_leaf(const lt_nl_scope *s, const lt_nl_item *items, int64_t n, int64_t i)
{
    const lt_nl_node *node = s->nl->node;
    if (node[items[0].first + i].kind == LT_NL_NUMBER) {
        double *v = lt_nl_take(s, n, sizeof *v);
        for (int64_t k = 0; v && k < n; k++) v[k] = node[items[k].first + i].number;
        return v ? lt_nl_vector(s->g, v, n) : LT_NONE;
    }
    int64_t *position = lt_nl_take(s, n, sizeof *position);
    for (int64_t k = 0; position && k < n; k++) position[k] = s->position[node[items[k].first + i].variable];
    return position ? lt_nl_pick(s, position, n) : LT_NONE;
}

static lt_node build_expression(const lt_nl_scope *s, const lt_nl_item *items, int64_t n)
{
    const lt_nl_node *node = s->nl->node + items[0].first;
    lt_node *value = lt_nl_take(s, node->size, sizeof *value);
    if (!value) return LT_NONE;
    for (int64_t i = node->size - 1; i >= 0; i--) value[i] = node[i].kind == LT_NL_OP ? build_op(s, node + i, value + i) : build_leaf(s, items, n, i);
    return value[0];
}

/* Row k of a matrix of coefficients times the values it names. */
static lt_node build_linear(const lt_nl_scope *s, const lt_nl_item *items, int64_t n)
{
    int64_t width = n == 1 ? items[0].linear->n : padded(items[0].linear);
    int64_t *position = lt_nl_take(s, n * width, sizeof *position);
    double *coefficient = lt_nl_take(s, n * width, sizeof *coefficient);
    if (!position || !coefficient) return LT_NONE;
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < width; j++) {
            const lt_nl_linear *l = items[k].linear;
            bool there = j < l->n;
            position[k * width + j] = s->position[l->variable[there ? j : 0]];
            coefficient[k * width + j] = there ? l->coefficient[j] : 0;
        }
    lt_node terms = lt_mul(s->g, lt_nl_pick(s, position, n * width), lt_nl_vector(s->g, coefficient, n * width));
    if (n == 1) return width == 1 ? terms : lt_sum(s->g, terms);
    return width == 1 ? terms : lt_sum_axis(s->g, lt_reshape(s->g, terms, lt_shape2(n, width)), 1, false);
}

static lt_node add_parts(lt_graph *g, lt_node a, lt_node b) { return lt_is_none(a) ? b : lt_is_none(b) ? a : lt_add(g, a, b); }

static bool all_one(const double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] != 1) return false;
    return true;
}

lt_node lt_nl_group_build(const lt_nl_scope *s, const lt_nl_item *items, int64_t n)
{
    lt_node expression = LT_NONE, linear = LT_NONE;
    if (n == 1) return lt_reshape(s->g, scaled(s->g, lt_nl_total(s, items[0].first, items[0].linear), items[0].factor), lt_shape1(1));
    if (items[0].first >= 0) {
        double *factor = lt_nl_take(s, n, sizeof *factor);
        if (!factor) return LT_NONE;
        for (int64_t k = 0; k < n; k++) factor[k] = items[k].factor;
        expression = build_expression(s, items, n);
        if (!all_one(factor, n)) expression = lt_mul(s->g, expression, lt_nl_vector(s->g, factor, n));
    }
    if (items[0].linear && items[0].linear->n) linear = build_linear(s, items, n);
    lt_node sum = add_parts(s->g, expression, linear);
    if (lt_is_none(sum)) sum = lt_scalar(s->g, LT_F64, 0);
    return lt_broadcast_to(s->g, sum, lt_shape1(n));
}

/* ---- Sums -------------------------------------------------------------------------------------------- */

/* The terms of a sum of sums, each with its sign; a stack of open nodes, not recursion. */
static int64_t list_terms(const lt_nl_scope *s, int64_t first, lt_nl_item *items)
{
    const lt_nl_node *node = s->nl->node;
    int64_t n_open = 1, n = 0;
    lt_nl_item *open = lt_nl_take(s, node[first].size, sizeof *open);
    if (!open) return -1;
    open[0] = (lt_nl_item){ .first = first, .factor = 1 };
    while (n_open) {
        lt_nl_item at = open[--n_open];
        double second;
        if (node[at.first].kind != LT_NL_OP || !lt_nl_op_adds(node[at.first].op, &second)) {
            at.id = n;
            items[n++] = at;
            continue;
        }
        int64_t child = at.first + 1;
        for (int k = 0; k < node[at.first].count; k++, child += node[child].size) {
            open[n_open] = at;
            open[n_open].first = child;
            open[n_open++].factor = at.factor * (k == 1 ? second : 1);
        }
    }
    return n;
}

lt_node lt_nl_total(const lt_nl_scope *s, int64_t first, const lt_nl_linear *linear)
{
    lt_nl_item whole = { .first = first, .linear = linear, .factor = 1 };
    lt_node sum = linear && linear->n ? build_linear(s, &whole, 1) : LT_NONE;
    if (first < 0) return lt_is_none(sum) ? lt_scalar(s->g, LT_F64, 0) : sum;
    lt_nl_item *terms = lt_nl_take(s, s->nl->node[first].size, sizeof *terms);
    int64_t n = terms ? list_terms(s, first, terms) : -1;
    if (n < 0) return LT_NONE;
    lt_nl_sort(s->nl, terms, n);
    for (int64_t at = 0, k; at < n; at += k) {
        k = lt_nl_group_size(s->nl, terms + at, n - at);
        lt_node part = k > 1 ? lt_sum(s->g, lt_nl_group_build(s, terms + at, k)) : scaled(s->g, build_expression(s, terms + at, 1), terms[at].factor);
        sum = add_parts(s->g, sum, part);
    }
    return sum;
}
