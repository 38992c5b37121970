/* Folding blocks into sums and extremes. The order of operations follows from the domain and
   the reduced axes alone: never from threads, block size or the kernel's other outputs.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/fused/plan.h"

#include "base/status.h"

#include <string.h>

static const lt_op fold_op[] = { [LT_VEC_SUM] = LT_OP_ADD, [LT_VEC_MAX] = LT_OP_MAX, [LT_VEC_MIN] = LT_OP_MIN };

static fused_fold_state *state_of(const fused_task *t, const fused_fold *fold)
{
    return (fused_fold_state *)(void *)(t->mem + fold->state_bytes);
}

static size_t real_size(const fused_pass *p) { return p->type == LT_F64 ? sizeof(double) : sizeof(float); }

void lt_fused_fold_begin(const fused_task *t)
{
    for (int i = 0; i < t->pass->n_folds; i++) {
        fused_fold_state *s = state_of(t, &t->pass->folds[i]);
        s->n_rows = s->n_groups = s->n_segments = 0;
    }
}

/* stack[0] = stack[0] op stack[1], for the two values on top. */
static void fold_top(const fused_pass *p, const fused_fold *fold, double *lower)
{
    p->set->op[fold_op[fold->op]][0](lower, lower, lower + 1, lower, 1);
}

/* Pairwise: a value joins the one below it once both stand for as many segments. */
static void push_segment(const fused_pass *p, const fused_fold *fold, fused_fold_state *s, const void *value)
{
    int depth = __builtin_popcountll((unsigned long long)s->n_segments);
    memcpy(&s->stack[depth], value, real_size(p));
    s->n_segments++;
    for (int64_t n = s->n_segments; n % 2 == 0; n /= 2, depth--) fold_top(p, fold, &s->stack[depth - 1]);
}

static void fold_long_run(const fused_task *t, const fused_fold *fold, const char *x, int64_t n)
{
    const fused_pass *p = t->pass;
    fused_fold_state *s = state_of(t, fold);
    const int64_t size = (int64_t)real_size(p);
    for (int64_t i = 0; i < n; i += FUSED_SEGMENT) {
        double value;
        p->set->rows[fold->op](&value, x + i * size, LT_MIN(FUSED_SEGMENT, n - i), 1);
        push_segment(p, fold, s, &value);
    }
}

static char *result_at(const fused_task *t, const fused_fold *fold, int64_t index)
{
    return t->arg[fold->arg] + fold->arg_bytes + index * fold->size;
}

/* Whole short rows: their results go straight out. */
static void fold_short_rows(const fused_task *t, const fused_fold *fold, const char *x, int64_t n)
{
    const fused_pass *p = t->pass;
    int64_t n_rows = n / p->reduced;
    char *values = t->mem + fold->acc_bytes[0];
    p->set->rows[fold->op](values, x, p->reduced, n_rows);
    fold->store(result_at(t, fold, t->row), values, NULL, NULL, n_rows);
}

static void fold_columns(const fused_task *t, const fused_fold *fold, const char *x)
{
    const fused_pass *p = t->pass;
    fused_fold_state *s = state_of(t, fold);
    char *group = t->mem + fold->acc_bytes[0], *total = t->mem + fold->acc_bytes[1];
    const int64_t w = t->width, row_bytes = w * (int64_t)real_size(p);
    for (int64_t left = t->n_rows; left > 0;) {
        int64_t take = LT_MIN(left, FUSED_ROW_GROUP - s->n_rows), skip = s->n_rows == 0;
        if (skip) memcpy(group, x, (size_t)row_bytes);
        p->set->columns[fold->op](group, x + skip * row_bytes, w, take - skip);
        x += take * row_bytes;
        left -= take;
        s->n_rows += take;
        if (s->n_rows < FUSED_ROW_GROUP) continue;
        if (s->n_groups++ == 0) memcpy(total, group, (size_t)row_bytes);
        else p->set->columns[fold->op](total, group, w, 1);
        s->n_rows = 0;
    }
}

/* The rows left over when `lanes` rows at a time are folded: narrower, so they join last. */
static void fold_remainder(const fused_task *t, const fused_fold *fold, const char *x)
{
    char *total = t->mem + fold->acc_bytes[1];
    t->pass->set->columns[fold->op](total, x, t->width, 1);
}

static void close_group(const fused_task *t, const fused_fold *fold, int64_t w)
{
    fused_fold_state *s = state_of(t, fold);
    char *group = t->mem + fold->acc_bytes[0], *total = t->mem + fold->acc_bytes[1];
    if (s->n_rows == 0) return;
    if (s->n_groups++ == 0) memcpy(total, group, (size_t)w * real_size(t->pass));
    else t->pass->set->columns[fold->op](total, group, w, 1);
    s->n_rows = 0;
}

void lt_fused_fold_block(const fused_task *t, const fused_fold *fold, const void *x, int64_t n)
{
    if (t->pass->mode == FUSED_ROWS) {
        if (t->row >= 0) fold_short_rows(t, fold, x, n);
        else fold_long_run(t, fold, x, n);
    } else if (t->n_rows > 0) {
        fold_columns(t, fold, x);
    } else {
        close_group(t, fold, t->pass->lanes * t->pass->inner);
        fold_remainder(t, fold, x);
    }
}

/* Results of one chunk: final when there is one chunk, else kept for lt_fused_fold_partials. */
static void write_results(const fused_task *t, const fused_fold *fold, int64_t chunk, int64_t index,
                          const void *values, int64_t n)
{
    const fused_pass *p = t->pass;
    if (p->n_chunks == 1) {
        fold->store(result_at(t, fold, index), values, NULL, NULL, n);
        return;
    }
    char *partial = t->arg[p->scratch_arg] + fold->partial_bytes;
    int64_t at = chunk * p->outer * p->inner + index;
    memcpy(partial + at * (int64_t)real_size(p), values, (size_t)n * real_size(p));
}

void lt_fused_fold_end_run(const fused_task *t, int64_t row, int64_t chunk)
{
    const fused_pass *p = t->pass;
    for (int i = 0; i < p->n_folds; i++) {
        fused_fold_state *s = state_of(t, &p->folds[i]);
        int top = __builtin_popcountll((unsigned long long)s->n_segments) - 1;
        for (; top > 0; top--) fold_top(p, &p->folds[i], &s->stack[top - 1]);
        write_results(t, &p->folds[i], chunk, row, s->stack, 1);
    }
}

void lt_fused_fold_end_columns(const fused_task *t, int64_t outer, int64_t chunk, int64_t first, int64_t n)
{
    const fused_pass *p = t->pass;
    for (int i = 0; i < p->n_folds; i++) {
        const fused_fold *fold = &p->folds[i];
        char *total = t->mem + fold->acc_bytes[1];
        close_group(t, fold, p->lanes * n);
        if (p->lanes > 1)
            p->set->columns[fold->op](total, total + n * (int64_t)real_size(p), n, p->lanes - 1);
        write_results(t, fold, chunk, outer * p->inner + first, total, n);
    }
}

/* In halves: the upper chunks join the lower ones until one is left. */
void lt_fused_fold_partials(const fused_pass *p, char *const *arg)
{
    const int64_t n = p->outer * p->inner;
    for (int i = 0; i < p->n_folds; i++) {
        const fused_fold *fold = &p->folds[i];
        char *partial = arg[p->scratch_arg] + fold->partial_bytes;
        for (int64_t left = p->n_chunks, half; left > 1; left = half) {
            half = (left + 1) / 2;
            p->set->columns[fold->op](partial, partial + half * n * (int64_t)real_size(p), (left - half) * n, 1);
        }
        fold->store(arg[fold->arg] + fold->arg_bytes, partial, NULL, NULL, n);
    }
}
