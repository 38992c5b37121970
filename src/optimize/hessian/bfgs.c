/* Full-memory BFGS: one packed triangle of H, updated in place by a symmetric rank-2 pass.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/vectors/dense.h"
#include "optimize/device/hessian.h"
#include "optimize/vectors/vector.h"

#include "base/pool.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* ---- Products, in parts for large n ------------------------------------------------------------------------- */
/* The parts depend on n alone, so that the sums are the same for any number of threads. */
static int64_t part_end(int64_t n, int64_t part) /* rows before which (part + 1) / PARTS of the entries lie */
{
    return part + 1 == LT_PACKED_PARTS ? n : (int64_t)((double)n * sqrt((double)(part + 1) / LT_PACKED_PARTS));
}

typedef struct product {
    int64_t n, k;
    const double *lower;
    const double *const *b;
    double *partial; /* LT_PACKED_PARTS times k times n */
} product;

static lt_status multiply_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const product *m = ctx;
    int64_t first = part ? part_end(m->n, part - 1) : 0, last = part_end(m->n, part);
    double *out[LT_DENSE_BLOCK];
    for (int64_t j = 0; j < m->k; j++) {
        out[j] = m->partial + (part * m->k + j) * m->n;
        memset(out[j], 0, (size_t)last * sizeof(double));
    }
    lt_dense_best()->symmetric_rows(m->lower, first, last, m->k, m->b, out);
    return LT_OK;
}

static void multiply_in_parts(int64_t n, const double *lower, int64_t k, const double *const *b, double *const *out,
                              double *partial)
{
    product m = { n, k, lower, b, partial };
    lt_pool *pool = lt_pool_shared();
    if (!pool || lt_pool_run(pool, LT_PACKED_PARTS, multiply_part, &m))
        for (int64_t part = 0; part < LT_PACKED_PARTS; part++) multiply_part(&m, part, 0);
    for (int64_t part = 0; part < LT_PACKED_PARTS; part++)
        for (int64_t j = 0; j < k; j++) lt_vec_axpy(part_end(n, part), 1, partial + (part * k + j) * n, out[j]);
}

void lt_packed_apply_rows(int64_t n, const double *lower, int64_t k, const double *const *b, double *const *out,
                          double *partial)
{
    const lt_dense *dense = lt_dense_best();
    for (int64_t j = 0; j < k; j++) memset(out[j], 0, (size_t)n * sizeof(double));
    for (int64_t j = 0; j < k; j += LT_DENSE_BLOCK) {
        int64_t some = k - j < LT_DENSE_BLOCK ? k - j : LT_DENSE_BLOCK;
        if (partial) multiply_in_parts(n, lower, some, b + j, out + j, partial);
        else dense->symmetric_rows(lower, 0, n, some, b + j, out + j);
    }
}

void lt_packed_identity(int64_t first, int64_t last, double scale, double *lower)
{
    memset(lower + lt_packed_row(first), 0, (size_t)(lt_packed_row(last) - lt_packed_row(first)) * sizeof *lower);
    for (int64_t i = first; i < last; i++) lower[lt_packed_row(i) + i] = scale;
}

void lt_hessian_fill(lt_hessian *h)
{
    if (h->diagonal) lt_packed_identity(0, h->n, h->scale, h->lower);
    h->diagonal = false;
}

typedef struct rank2_job { int64_t n; const double *s, *w; double *lower; bool diagonal; double scale; } rank2_job;

/* A multiple of the identity is written a few rows before they are updated, while they are in cache. */
static void rank2_rows(const rank2_job *m, int64_t first, int64_t last)
{
    enum { BAND = 16 };
    if (!m->diagonal) {
        lt_dense_best()->rank2_rows(m->s, m->w, first, last, m->lower);
        return;
    }
    for (int64_t i = first; i < last; i += BAND) {
        lt_packed_identity(i, LT_MIN(i + BAND, last), m->scale, m->lower);
        lt_dense_best()->rank2_rows(m->s, m->w, i, LT_MIN(i + BAND, last), m->lower);
    }
}

static lt_status rank2_part(void *ctx, int64_t part, int worker)
{
    (void)worker;
    const rank2_job *m = ctx;
    rank2_rows(m, part ? part_end(m->n, part - 1) : 0, part_end(m->n, part));
    return LT_OK;
}

static void rank2(lt_hessian *h, const double *s, const double *w)
{
    if (h->device) {
        lt_device_hessian_rank2(h, s, w);
        return;
    }
    rank2_job m = { h->n, s, w, h->lower, h->diagonal, h->scale };
    lt_pool *pool = h->partial ? lt_pool_shared() : NULL;
    if (!pool) rank2_rows(&m, 0, h->n);
    else lt_pool_run(pool, LT_PACKED_PARTS, rank2_part, &m); /* its tasks cannot fail */
    h->diagonal = false;
}

/* ---- Matrix ---------------------------------------------------------------------------------------------------- */
bool lt_packed_is_definite(int64_t n, const double *lower, double *work)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = work + lt_packed_row(i);
        for (int64_t j = 0; j <= i; j++) {
            const double *other = work + lt_packed_row(j);
            double v = lower[lt_packed_row(i) + j] - lt_vec_dot(j, row, other);
            if (j < i) row[j] = v / other[j];
            else if (!(v > 0) || isinf(v)) return false;
            else row[j] = sqrt(v);
        }
    }
    return true;
}

/* The same in a copy, which takes H's place if it is finite. */
static bool rank2_in_copy(lt_hessian *h, const double *s, const double *w)
{
    int64_t count = lt_packed_row(h->n);
    double *old = h->lower;
    lt_hessian_fill(h);
    memcpy(h->spare, old, (size_t)count * sizeof *old);
    h->lower = h->spare;
    rank2(h, s, w);
    bool finite = lt_vec_finite(count, h->lower);
    if (finite) h->spare = old;
    else h->lower = old;
    return finite;
}

static void scale_first(lt_hessian *h, double gamma)
{
    if (h->device) lt_device_hessian_scale(h, gamma);
    else if (h->diagonal) h->scale *= gamma;
    else lt_vec_scale(lt_packed_row(h->n), gamma, h->lower);
    h->trace *= gamma;
    h->last.gamma = gamma;
}

/* Numbers about h are expected again: those known before are of the vector before it was scaled. */
static void expect_again(const lt_hessian *h, const double *s, const double *y)
{
    lt_vectors_expect(&h->vectors, LT_MEASURE_DOT, y, h->h);
    lt_vectors_expect(&h->vectors, LT_MEASURE_DOT, s, h->h);
    lt_vectors_expect(&h->vectors, LT_MEASURE_BAD, h->h, h->h);
}

/* Check first, write second: rho, b and every entry of h and s are looked at before H is touched,
   so that a bad update can be left out without a copy of H. */
lt_update_code lt_bfgs_update(lt_hessian *h, const double *s, const double *y, double sty, const double *Hy)
{
    const lt_vectors *v = &h->vectors;
    lt_update_code code = LT_UPDATE_DONE;
    h->last.done = false;
    h->last.gamma = 1;
    if (!(sty > 0)) return LT_UPDATE_NO_CURVATURE;
    if (!Hy) lt_hessian_apply(h, y, h->h);
    else if (Hy != h->h) lt_vectors_copy(v, 1, Hy, h->h);
    if (h->scale_pending) {
        double gamma = sty / (h->metric ? lt_vectors_dot(v, y, h->h) : lt_vectors_dot(v, y, y));
        h->scale_pending = false;
        if (isfinite(gamma)) {
            scale_first(h, gamma);
            lt_vectors_scale(v, gamma, h->h);
            expect_again(h, s, y);
        } else {
            code = LT_UPDATE_NOT_SCALED;
        }
    }
    double rho = 1 / sty, b = rho * rho * lt_vectors_dot(v, y, h->h) + rho;
    if (b < 0) b = 0;
    if (!isfinite(rho) || !isfinite(b) || !lt_vectors_finite(v, h->h) || !lt_vectors_finite(v, s)) return LT_UPDATE_NOT_FINITE;
    /* H - rho (h s' + s h') + b s s' = H + s w' + w s' with w = (b/2) s - rho h. */
    double *w = h->Hs; /* where a damped y may stand, which is no longer needed */
    const lt_combination sum = { 2, (const double[]){ 0.5 * b, -rho }, (const double *const[]){ s, h->h }, w };
    lt_vectors_combine(v, sum.m, sum.c, sum.a, w);
    if (!h->spare) rank2(h, s, w);
    else if (!rank2_in_copy(h, s, w)) return LT_UPDATE_NOT_FINITE;
    if (h->single) lt_vec_round_f32(lt_packed_row(h->n), h->lower);
    h->trace += 2 * lt_vectors_dot_sum(v, s, &sum);
    h->last.done = true;
    h->last.rho = rho;
    h->last.b = b;
    h->last.h = h->h;
    h->last.s = s;
    return code;
}
