/* Products with sparse constraint gradients. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/sparse.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "base/status.h"
#include "optimize/vectors/dense.h"

#include <string.h>

#define COLUMNS_MIN 16  /* fewer gradients, or shorter ones, are not worth looking at */
#define ENTRIES_MIN 128
#define PARTS 8         /* for threads */
#define BLOCK LT_DENSE_ROW /* rows of H, or vectors, taken together */

lt_status lt_sparse_create(int64_t k, int64_t n, lt_sparse *s)
{
    *s = (lt_sparse){ .iter = -1 };
    if (k < COLUMNS_MIN || n < ENTRIES_MIN || n > INT32_MAX) return LT_OK;
    size_t most = (size_t)(k * (n / LT_SPARSE_SHARE + 1));
    s->start = lt_malloc((size_t)(k + 1) * sizeof *s->start);
    s->is_sparse = lt_malloc((size_t)k * sizeof *s->is_sparse);
    s->index = lt_malloc(2 * most * sizeof *s->index);
    s->row = s->index ? s->index + most : NULL;
    s->value = lt_malloc(most * sizeof *s->value);
    s->used = lt_malloc((size_t)n * sizeof *s->used);
    s->number = lt_malloc((size_t)n * sizeof *s->number);
    s->block = lt_malloc_aligned((size_t)(PARTS * BLOCK * n) * sizeof *s->block);
    if (!s->start || !s->is_sparse || !s->index || !s->value || !s->used || !s->number || !s->block) {
        lt_sparse_release(s);
        return LT_ERR_MEMORY;
    }
    s->k = k;
    s->n = n;
    return LT_OK;
}

void lt_sparse_release(lt_sparse *s)
{
    lt_free(s->start);
    lt_free(s->is_sparse);
    lt_free(s->index);
    lt_free(s->value);
    lt_free(s->used);
    lt_free(s->number);
    lt_free_aligned(s->block);
    *s = (lt_sparse){ .iter = -1 };
}

static void number_used(lt_sparse *s)
{
    for (int64_t i = 0; i < s->n; i++) s->number[i] = -1;
    for (int64_t e = 0; e < s->start[s->k]; e++) s->number[s->index[e]] = 0;
    s->n_used = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (!s->number[i]) {
            s->number[i] = (int32_t)s->n_used;
            s->used[s->n_used++] = (int32_t)i;
        }
    for (int64_t e = 0; e < s->start[s->k]; e++) s->row[e] = s->number[s->index[e]];
}

/* NaN is an entry like any other, so that it reaches the QP, which refuses it. */
void lt_sparse_describe(lt_sparse *s, const double *grads)
{
    int64_t at = 0;
    s->n_sparse = 0;
    for (int64_t j = 0; j < s->k; j++) {
        const double *g = grads + j * s->n;
        int64_t limit = at + s->n / LT_SPARSE_SHARE, end = at, i = 0;
        s->start[j] = at;
        for (; i < s->n && end <= limit; i++)
            if (g[i] != 0) {
                s->index[end] = (int32_t)i;
                s->value[end++] = g[i];
            }
        s->is_sparse[j] = end <= limit;
        s->n_sparse += s->is_sparse[j];
        if (s->is_sparse[j]) at = end;
    }
    s->start[s->k] = at;
    number_used(s);
}

static double sparse_dot(const lt_sparse *s, int64_t j, const double *x)
{
    double a = 0, b = 0;
    int64_t e = s->start[j], end = s->start[j + 1];
    for (; e + 2 <= end; e += 2) {
        a += s->value[e] * x[s->index[e]];
        b += s->value[e + 1] * x[s->index[e + 1]];
    }
    if (e < end) a += s->value[e] * x[s->index[e]];
    return a + b;
}

void lt_sparse_dots(const lt_sparse *s, int64_t first, const double *x, double *out)
{
    for (int64_t j = first; j < s->k; j++)
        if (s->is_sparse[j]) out[j] = sparse_dot(s, j, x);
}

/* sum = gradient j over a block that has one row of BLOCK numbers for each variable that occurs. */
static void combine(const lt_sparse *s, int64_t j, const double *block, double *sum)
{
    int64_t e = s->start[j];
    lt_dense_best()->combine(s->start[j + 1] - e, s->value + e, s->row + e, block, sum);
}

void lt_sparse_dots_block(const lt_sparse *s, int64_t first, int64_t count, const double *const *x, double *out,
                          int64_t stride)
{
    double sum[BLOCK];
    if (count < BLOCK) memset(s->block, 0, (size_t)(s->n_used * BLOCK) * sizeof *s->block);
    for (int64_t b = 0; b < count; b++)
        for (int64_t u = 0; u < s->n_used; u++) s->block[u * BLOCK + b] = x[b][s->used[u]];
    for (int64_t j = first; j < s->k; j++) {
        if (!s->is_sparse[j]) continue;
        combine(s, j, s->block, sum);
        memcpy(out + j * stride, sum, (size_t)count * sizeof *sum);
    }
}

typedef struct product { const lt_sparse *s; const double *lower; double *const *out; } product;

/* Rows i0..i1-1 of the columns of H that occur, one column after the other; a few columns at a time, so
   that what is being written stays in cache. */
static void gather_block(const lt_sparse *s, const double *lower, int64_t i0, int64_t i1, double *block)
{
    enum { TILE = 8 };
    for (int64_t u0 = 0; u0 < s->n_used; u0 += TILE) {
        int64_t u1 = LT_MIN(u0 + TILE, s->n_used);
        for (int64_t i = i0; i < i1; i++)
            for (int64_t u = u0; u < u1; u++) {
                int64_t c = s->used[u], high = LT_MAX(i, c), low = LT_MIN(i, c);
                block[u * BLOCK + i - i0] = lower[high * (high + 1) / 2 + low];
            }
    }
}

static void multiply_block(const product *m, int64_t i0, int64_t i1, const double *block)
{
    const lt_sparse *s = m->s;
    double sum[BLOCK];
    for (int64_t j = 0; j < s->k; j++) {
        if (!s->is_sparse[j] || !m->out[j]) continue;
        combine(s, j, block, sum);
        memcpy(m->out[j] + i0, sum, (size_t)(i1 - i0) * sizeof *sum);
    }
}

static lt_status apply_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const product *m = ctx;
    int64_t n = m->s->n;
    double *block = m->s->block + part * BLOCK * n;
    for (int64_t i0 = part * BLOCK; i0 < n; i0 += PARTS * BLOCK) {
        int64_t i1 = LT_MIN(i0 + BLOCK, n);
        if (i1 - i0 < BLOCK) memset(block, 0, (size_t)(m->s->n_used * BLOCK) * sizeof *block);
        gather_block(m->s, m->lower, i0, i1, block);
        multiply_block(m, i0, i1, block);
    }
    return LT_OK;
}

void lt_sparse_apply(const lt_sparse *s, const double *lower, double *const *out)
{
    product m = { s, lower, out };
    lt_pool *pool = lt_pool_shared();
    if (!pool || lt_pool_run(pool, PARTS, apply_part, &m))
        for (int64_t part = 0; part < PARTS; part++) apply_part(&m, part, 0);
}
