/* Where every number costs a wait, waits are saved by saying beforehand which numbers will be asked for: those that are expected come
   together, with the next wait whatever that is for. Nothing here changes an answer, and on the host nothing here is done.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/products.h"

#include "base/status.h"

static void expect(const lt_run *r, const double *a, const double *b) { lt_vectors_expect(&r->vectors, LT_MEASURE_DOT, a, b); }

/* ---- Trials ----------------------------------------------------------------------------------------------------------------- */
/* The next step is likely not much longer than the last one. Sums over this many numbers cost next to nothing. */
static void expect_distances(const lt_cache *c, const double *x)
{
    const int64_t numbers = 1 << 19;
    int64_t left = LT_MAX(numbers / c->n, 4);
    if (!c->count) return;
    lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, x, c->x + c->newest * c->n);
    for (int64_t i = 0; i < c->count && left; i++)
        if (i != c->newest && c->least[i] <= c->radius + 2 * c->moved && c->bound[i] + 2 * c->moved > c->radius) {
            lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, x, c->x + i * c->n);
            left--;
        }
}

void lt_foresee_trial(const lt_run *r, const lt_point *p)
{
    if (!r->vectors.on->queues) return;
    expect(r, p->x, p->x);
    lt_vectors_written(&r->vectors, p->grads, r->k * r->n);
    for (int64_t j = 0; j < r->k; j++) expect(r, p->grads + j * r->n, r->d);
    if (!r->constrained) expect(r, p->grads, p->grads);
    expect_distances(&r->cache, p->x);
}

void lt_foresee_direction(const lt_run *r)
{
    for (int64_t j = 0; j < r->k; j++) expect(r, r->cur->grads + j * r->n, r->d);
    expect(r, r->d, r->d);
    expect(r, r->cur->x, r->cur->x);
}

void lt_foresee_distances(const lt_cache *c, const double *x)
{
    for (int64_t i = 0; c->vectors->on->queues && i < c->count; i++)
        if (lt_cache_doubts(c, i)) lt_vectors_expect(c->vectors, LT_MEASURE_SQUARES, c->x + i * c->n, x);
}

/* ---- Quadratic programs --------------------------------------------------------------------------------------------------------- */
void lt_foresee_steering(const lt_run *r, const double *WG)
{
    if (!r->vectors.on->queues || lt_products_carried(r, r->k, 0, NULL, NULL)) return;
    for (int64_t j = 1; j < r->k; j++)
        for (int64_t i = 0; i < r->k; i++) expect(r, r->cur->grads + j * r->n, WG + i * r->n);
}

void lt_foresee_rows(const lt_run *r, int64_t skip, int64_t first, int64_t m, const double *const *x)
{
    for (int64_t b = 0; r->vectors.on->queues && b < m; b++)
        for (int64_t j = skip + LT_MAX(b - first, 0); j < r->k; j++) expect(r, r->cur->grads + j * r->n, x[b]);
}

void lt_foresee_gram(const lt_run *r, int64_t m, const double *const *G)
{
    for (int64_t a = 0; r->vectors.on->queues && a < m; a++)
        for (int64_t b = 0; b <= a; b++) expect(r, G[a], G[b]);
}

/* ---- Products --------------------------------------------------------------------------------------------------------------------- */
/* Gradients of one slot times products of another. No gradient is shared here. */
static void expect_slots(const lt_run *r, int64_t gradients, int64_t products)
{
    for (int64_t i = 0; i < r->k; i++)
        for (int64_t j = 0; j < r->k; j++) expect(r, lt_column_G(r, gradients * r->k + i), lt_column_HG(r, products * r->k + j));
}

/* What Q and its check are about to ask for. */
static void expect_Q(const lt_run *r)
{
    const lt_cache *c = &r->cache;
    const lt_products *p = &r->products;
    for (int64_t a = 0; a < c->n_near; a++) {
        expect(r, lt_column_G(r, c->newest * r->k), lt_column_HG(r, c->near_[a] * r->k)); /* the check */
        for (int64_t b = 0; b < c->n_near; b++)
            if (lt_products_carries_Q(p) ? !p->valid[c->near_[b]] : b <= a) expect_slots(r, c->near_[a], c->near_[b]);
    }
}

/* What the lengths of combinations of few columns are made of: see lt_stationarity_measure. */
static void expect_lengths(const lt_run *r)
{
    const lt_columns *c = &r->products.columns;
    const int64_t m = r->cache.n_near * r->k;
    for (int64_t i = 0; m <= LT_PRODUCTS_FEW && i < m; i++)
        for (int64_t j = 0; j <= i; j++) {
            const int64_t a = lt_columns_pick(c, r->cache.near_, i), b = lt_columns_pick(c, r->cache.near_, j);
            expect(r, lt_column_G(r, a), lt_column_G(r, b));
            expect(r, lt_column_HG(r, a), lt_column_HG(r, b));
        }
}

/* What the update of H asks for. */
static void expect_update(const lt_run *r)
{
    const lt_products *p = &r->products;
    const double *const pair[][2] = { { r->last.s, r->last.y }, { r->last.s, r->last.s }, { r->last.y, r->last.y }, { r->last.y, p->Hy },
                                      { r->last.s, p->Hy }, { r->last.s, p->Hs } };
    const double *last = p->has_Hy ? p->Hy : r->last.y;
    for (size_t i = 0; i < LT_LEN(pair); i++)
        if (i < 3 || (i < 5 ? p->has_Hy : p->has_Hs)) expect(r, pair[i][0], pair[i][1]);
    lt_vectors_expect(&r->vectors, LT_MEASURE_BAD, r->last.s, r->last.s);
    lt_vectors_expect(&r->vectors, LT_MEASURE_BAD, last, last);
    for (int64_t i = 0; p->incremental && p->has_Hy && i < r->cache.n_near * r->k; i++) {
        const double *g = lt_column_G(r, lt_columns_pick(&p->columns, r->cache.near_, i));
        expect(r, g, r->last.s);
        expect(r, g, p->Hy);
    }
}

void lt_foresee_products(const lt_run *r, bool with_update)
{
    if (!r->vectors.on->queues) return;
    expect_Q(r);
    if (!r->opt.iterate_fn && r->opt.stationarity_l2) expect_lengths(r);
    if (with_update && r->iter) expect_update(r);
}
