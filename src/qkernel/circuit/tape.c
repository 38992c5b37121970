/* Tapes: the nodes that some angles need, in order, for many rows at once. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/expr.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void lt_tape_destroy(lt_tape *t)
{
    lt_free(t->step);
    lt_free(t->at);
    *t = (lt_tape){ 0 };
}

static bool has_operands(lt_expr_op op) { return op >= LT_EXPR_ADD; }
static bool has_two(lt_expr_op op) { return op >= LT_EXPR_ADD && op <= LT_EXPR_POW; }

static void mark_needed(const lt_exprs *e, const int32_t *wanted, int32_t n_wanted, int32_t *at)
{
    int32_t last = -1;
    for (int32_t i = 0; i < e->n; i++) at[i] = -1;
    for (int32_t i = 0; i < n_wanted; i++) at[wanted[i]] = 0, last = LT_MAX(last, wanted[i]);
    for (int32_t i = last; i >= 0; i--) {
        if (at[i] < 0 || !has_operands(e->node[i].op)) continue;
        at[e->node[i].a] = 0;
        if (has_two(e->node[i].op)) at[e->node[i].b] = 0;
    }
}

static lt_status refuse_constant(const lt_exprs *e, int32_t node, double value)
{
    char text[160], place[64] = "";
    const lt_expr_node *n = &e->node[node];
    (void)lt_expr_text(e, node, NULL, NULL, text, sizeof text);
    if (n->line) snprintf(place, sizeof place, "line %d, column %d: ", (int)n->line, (int)n->column);
    return LT_FAIL(LT_ERR_FORMAT, "circuit: %s%s is %s: every angle must be finite", place, text, isnan(value) ? "not a number" : "infinite");
}

/* Steps of nodes that vary; the others are numbers. */
static lt_status fill_steps(const lt_exprs *e, const double *w, bool keep_weights, lt_tape *t)
{
    const int varies = LT_EXPR_NEEDS_X | (keep_weights ? LT_EXPR_NEEDS_W : 0);
    for (int32_t i = 0; i < e->n; i++) {
        if (t->at[i] < 0) continue;
        const lt_expr_node *n = &e->node[i];
        lt_tape_step s = { .op = n->op, .a = n->a, .value = n->value, .node = i };
        if (has_operands(n->op)) s.a = t->at[n->a], s.b = has_two(n->op) ? t->at[n->b] : s.a;
        if (!(n->needs & varies)) {
            double a = has_operands(n->op) ? t->step[s.a].value : n->value, b = has_operands(n->op) ? t->step[s.b].value : 0;
            s.value = n->op == LT_EXPR_W ? w[n->a] : lt_expr_apply(n->op, a, b);
            s.op = LT_EXPR_NUMBER;
            if (!isfinite(s.value)) return refuse_constant(e, i, s.value);
        }
        t->at[i] = t->n;
        t->step[t->n++] = s;
    }
    return LT_OK;
}

lt_status lt_tape_make(const lt_exprs *e, const int32_t *wanted, int32_t n_wanted, const double *w, bool keep_weights, lt_tape *t)
{
    *t = (lt_tape){ .at = lt_malloc((size_t)LT_MAX(1, e->n) * sizeof *t->at) };
    if (!t->at) return LT_ERR_MEMORY;
    mark_needed(e, wanted, n_wanted, t->at);
    int32_t n = 0;
    for (int32_t i = 0; i < e->n; i++) n += t->at[i] >= 0;
    t->step = lt_malloc((size_t)LT_MAX(1, n) * sizeof *t->step);
    lt_status s = t->step ? fill_steps(e, w, keep_weights, t) : LT_ERR_MEMORY;
    if (s) lt_tape_destroy(t);
    return s;
}

/* The cheap operations are written out, so that loops over lanes stay vectors. */
static void run_step(const lt_tape_step *s, const double *a, const double *b, int lanes, double *to)
{
    switch (s->op) {
    case LT_EXPR_ADD: for (int r = 0; r < lanes; r++) to[r] = a[r] + b[r]; return;
    case LT_EXPR_SUB: for (int r = 0; r < lanes; r++) to[r] = a[r] - b[r]; return;
    case LT_EXPR_MUL: for (int r = 0; r < lanes; r++) to[r] = a[r] * b[r]; return;
    case LT_EXPR_NEG: for (int r = 0; r < lanes; r++) to[r] = -a[r]; return;
    default: for (int r = 0; r < lanes; r++) to[r] = lt_expr_apply(s->op, a[r], b[r]);
    }
}

void lt_tape_run(const lt_tape *t, const double *x, const double *w, int lanes, double *value)
{
    for (int32_t i = 0; i < t->n; i++) {
        const lt_tape_step *s = &t->step[i];
        double *to = value + (int64_t)i * lanes;
        if (s->op == LT_EXPR_X) memcpy(to, x + (int64_t)s->a * lanes, (size_t)lanes * sizeof *to);
        else if (s->op == LT_EXPR_NUMBER || s->op == LT_EXPR_W)
            for (int r = 0; r < lanes; r++) to[r] = s->op == LT_EXPR_W ? w[s->a] : s->value;
        else run_step(s, value + (int64_t)s->a * lanes, value + (int64_t)s->b * lanes, lanes, to);
    }
}

void lt_tape_slopes(const lt_tape *t, int lanes, const double *value, double *slope, double *dx, double *dw)
{
    for (int32_t i = t->n - 1; i >= 0; i--) {
        const lt_tape_step *s = &t->step[i];
        const double *here = slope + (int64_t)i * lanes;
        if (s->op == LT_EXPR_X && dx)
            for (int r = 0; r < lanes; r++) dx[(int64_t)s->a * lanes + r] += here[r];
        if (s->op == LT_EXPR_W && dw)
            for (int r = 0; r < lanes; r++) dw[s->a] += here[r];
        if (!has_operands(s->op)) continue;
        double *to_a = slope + (int64_t)s->a * lanes, *to_b = slope + (int64_t)s->b * lanes;
        const double *a = value + (int64_t)s->a * lanes, *b = value + (int64_t)s->b * lanes, *v = value + (int64_t)i * lanes;
        for (int r = 0; r < lanes; r++) {
            double da, db;
            if (here[r] == 0) continue; /* slopes of an expression that does not matter may be infinite */
            lt_expr_slopes(s->op, a[r], b[r], v[r], &da, &db);
            to_a[r] += here[r] * da;
            if (has_two(s->op)) to_b[r] += here[r] * db;
        }
    }
}

/* The first feature below a step: what a message should name. */
static int32_t feature_of(const lt_tape *t, int32_t step)
{
    for (int hops = 0; hops < 1000 && has_operands(t->step[step].op); hops++) {
        const lt_tape_step *s = &t->step[step];
        int32_t next = t->step[s->a].op == LT_EXPR_NUMBER ? s->b : s->a;
        if (next == step) break;
        step = next;
    }
    return t->step[step].op == LT_EXPR_X ? t->step[step].a : -1;
}

lt_status lt_tape_check(const lt_tape *t, const lt_exprs *e, const char *rows, int64_t row, const double *x, const double *value)
{
    for (int32_t i = 0; i < t->n; i++) {
        if (isfinite(value[i])) continue;
        char text[120], place[48] = "", feature[80] = "";
        const lt_expr_node *n = &e->node[t->step[i].node];
        int32_t column = feature_of(t, i);
        (void)lt_expr_text(e, t->step[i].node, NULL, NULL, text, sizeof text);
        if (n->line) snprintf(place, sizeof place, "line %d, column %d: ", (int)n->line, (int)n->column);
        if (column >= 0) snprintf(feature, sizeof feature, ", where x[%d] is %.10g", (int)column, x[column]);
        return LT_FAIL(LT_ERR_ARGUMENT, "circuit: %s%s is %s for row %lld of %s%s", place, text, isnan(value[i]) ? "not a number" : "infinite",
                       (long long)row, rows, feature);
    }
    return LT_OK;
}
