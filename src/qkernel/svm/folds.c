/* Stratified folds, each prepared from its own training rows. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/svm/machine.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/rng.h"

#include <string.h>

/* fold_of[i] for every row: each class is shuffled and dealt round, the next going on where the last stopped,
   so that both sizes and shares differ by at most one. Without classes all rows are dealt alike. */
static void deal(const lt_targets *t, int64_t n, int64_t n_folds, uint64_t seed, int64_t *order, int64_t *fold_of)
{
    lt_rng r = { lt_draws_make(seed, "qsvm folds", 0, 0, 0), 0 };
    int64_t next = 0;
    for (int64_t c = 0; c < LT_MAX(1, t->n_classes); c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (!t->label || t->label[i] == c) order[count++] = i;
        for (int64_t i = count - 1; i > 0; i--) {
            int64_t k = (int64_t)lt_rng_below(&r, (uint64_t)i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        for (int64_t i = 0; i < count; i++, next++) fold_of[order[i]] = next % n_folds;
    }
}

/* Prepared features of all rows in the fold's order, as learnt from its training rows. */
static lt_status prepare(const double *x, int64_t n, const lt_prepare *like, lt_fold *f)
{
    const int64_t d = like->n_features;
    double *rows = lt_malloc((size_t)(n * d) * sizeof *rows);
    f->z = lt_malloc((size_t)(n * like->n_outputs) * sizeof *f->z);
    lt_prepare p = { 0 };
    lt_status s = rows && f->z ? LT_OK : LT_ERR_MEMORY;
    for (int64_t k = 0; !s && k < n; k++) memcpy(rows + k * d, x + f->row[k] * d, (size_t)d * sizeof *rows);
    if (!s) s = lt_prepare_fit(rows, f->n_train, d, like->n_outputs, like->scales, &p);
    if (!s) lt_prepare_apply(&p, rows, n, f->z);
    lt_prepare_release(&p);
    lt_free(rows);
    return s;
}

/* Rows in rising order: training ones, then held-out ones. */
static lt_status gather(const double *x, const lt_targets *t, int64_t n, const lt_prepare *like, const int64_t *fold_of, int64_t number, lt_fold *f)
{
    int64_t at[2] = { 0, 0 };
    for (int64_t i = 0; i < n; i++) at[1] += fold_of[i] != number;
    f->n_train = at[1];
    f->n_test = n - at[1];
    f->row = lt_malloc((size_t)n * sizeof *f->row);
    f->y = lt_calloc((size_t)n, 1);
    f->label = lt_malloc((size_t)n * sizeof *f->label);
    f->value = lt_malloc(2 * (size_t)n * sizeof *f->value);
    if (!f->row || !f->y || !f->label || !f->value) return LT_ERR_MEMORY;
    f->weight = f->value + n;
    for (int64_t i = 0; i < n; i++) f->row[at[fold_of[i] == number]++] = i;
    f->targets = lt_targets_gather(t, f->row, n, f->label, f->value, f->weight);
    for (int64_t i = 0; t->label && i < n; i++) f->y[i] = f->label[i] == 1;
    return x ? prepare(x, n, like, f) : LT_OK;
}

lt_status lt_folds_make(const double *x, const lt_targets *t, int64_t n, const lt_prepare *like, int64_t n_folds, uint64_t seed, lt_folds *out)
{
    *out = (lt_folds){ .n = n, .n_folds = n_folds, .n_qubits = like->n_outputs };
    int64_t *order = lt_malloc(2 * (size_t)n * sizeof *order);
    out->fold = lt_calloc((size_t)n_folds, sizeof *out->fold);
    lt_status s = order && out->fold ? LT_OK : LT_ERR_MEMORY;
    if (!s) deal(t, n, n_folds, seed, order, order + n);
    for (int64_t f = 0; !s && f < n_folds; f++) s = gather(x, t, n, like, order + n, f, &out->fold[f]);
    lt_free(order);
    if (s) lt_folds_release(out);
    return s;
}

void lt_folds_release(lt_folds *f)
{
    for (int64_t i = 0; f->fold && i < f->n_folds; i++) {
        lt_free(f->fold[i].row);
        lt_free(f->fold[i].y);
        lt_free(f->fold[i].z);
        lt_free(f->fold[i].label);
        lt_free(f->fold[i].value);
    }
    lt_free(f->fold);
    *f = (lt_folds){ 0 };
}
