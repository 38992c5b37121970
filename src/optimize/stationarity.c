/* The stationarity measure: the smallest W-weighted combination of nearby gradients (decision 44).
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/vectors/products.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* Beyond it the oldest samples are left out: the QP takes 8 bytes per square of its columns and work as their cube (decision 381). */
enum { COLUMNS_MAX = 2048, COLUMNS_MAX_PUBLISHED = 8192 };

typedef struct measure {
    lt_run *r;
    const lt_columns *c;
    int64_t l, m;        /* samples; variables of the QP, one per column */
    const int64_t *slot; /* the l samples */
} measure;

static const double *gradient_of(const measure *q, int64_t i) { return lt_column_G(q->r, lt_columns_pick(q->c, q->slot, i)); }

/* A gradient that is the same in all samples stands once, for the sum of l variables. The objective's values add a constant and
   are left out. */
static void describe(const measure *q)
{
    const lt_run *r = q->r;
    lt_subproblem *sub = &q->r->stat.sub;
    sub->members = true;
    sub->n = lt_vectors_reads(&r->vectors) ? r->n : 0;
    for (int64_t i = 0; i < q->m; i++) {
        const int64_t j = lt_columns_gradient(q->c, i);
        const double copies = i < q->c->n_shared ? (double)q->l : 1;
        sub->member[i] = j == 0;
        sub->linear[i] = j == 0 ? 0 : -r->cur->c[j - 1];
        sub->lower[i] = j >= 1 && j <= r->q ? -copies : 0;
        sub->upper[i] = j == 0 ? r->penalty.mu : copies;
        sub->gradient[i] = gradient_of(q, i);
    }
}

/* Answers are kept by slot, since samples come and go. */
static double *answer_of(const measure *q, int64_t sample, int64_t gradient)
{
    return q->r->stat.y_of_slot + q->slot[sample] * q->r->k + gradient;
}

static const double *start_of(const measure *q)
{
    const lt_columns *c = q->c;
    double *start = q->r->stat.sub.start;
    if (!lt_debug_of(&q->r->opt)->qp_warm_start) return NULL;
    memset(start, 0, (size_t)c->n_shared * sizeof *start);
    for (int64_t a = 0; a < q->l; a++) {
        for (int64_t i = 0; i < c->n_shared; i++) start[i] += *answer_of(q, a, c->shared[i]);
        for (int64_t i = 0; i < c->n_own; i++) start[c->n_shared + a * c->n_own + i] = *answer_of(q, a, c->own[i]);
    }
    return start;
}

static void keep_answer(const measure *q, const double *y)
{
    const lt_columns *c = q->c;
    for (int64_t a = 0; a < q->l; a++) {
        for (int64_t i = 0; i < c->n_shared; i++) *answer_of(q, a, c->shared[i]) = y[i] / (double)q->l;
        for (int64_t i = 0; i < c->n_own; i++) *answer_of(q, a, c->own[i]) = y[c->n_shared + a * c->n_own + i];
    }
}

static void unweighted_gram(const measure *q, double *Q)
{
    const lt_run *r = q->r;
    const double *const *G = r->stat.sub.gradient;
    lt_foresee_gram(r, q->m, G);
    for (int64_t a = 0; a < q->m; a++)
        for (int64_t b = 0; b <= a; b++) {
            double v = lt_vectors_dot(&r->vectors, G[a], G[b]);
            Q[a * q->m + b] = Q[b * q->m + a] = v;
        }
}

/* The Gram matrix with its negative eigenvalues set to zero. Only after two failures, so it may
   allocate. */
static bool clip_negative(const measure *q, lt_gram_view gram, double *Q)
{
    int64_t m = q->m;
    double *work = lt_malloc((size_t)(2 * m * m + 5 * m) * sizeof *work);
    if (!work) return false;
    double *copy = work, *vectors = work + m * m, *values = vectors + m * m, *rest = values + m;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++) copy[i * m + j] = copy[j * m + i] = gram.Q[i * gram.stride + j];
    bool ok = lt_eigen_symmetric(m, copy, values, vectors, rest);
    if (ok) {
        memset(Q, 0, (size_t)(m * m) * sizeof *Q);
        for (int64_t e = 0; e < m; e++)
            for (int64_t i = 0; values[e] > 0 && i < m; i++)
                lt_vec_axpy(m, values[e] * vectors[e * m + i], vectors + e * m, Q + i * m);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < i; j++) Q[i * m + j] = Q[j * m + i];
    }
    lt_free(work);
    return ok;
}

/* The QP as it is; with Q = G'G; with Q clipped. 1, 2 or 4 attempts are reported. */
static bool solve_ladder(const measure *q)
{
    lt_run *r = q->r;
    lt_subproblem *sub = &r->stat.sub;
    r->stat.attempts = 1;
    lt_gram_view gram = lt_products_gram(r, q->l, q->slot, sub->Q);
    lt_subproblem_set(sub, q->m, gram.Q, gram.stride, sub->linear);
    if (lt_subproblem_solve(sub, r->penalty.mu, start_of(q))) return true;
    lt_console_note(r, 3, "Stationarity: QP 1 failed in iteration %lld.", (long long)r->iter);
    r->stat.attempts = 2;
    unweighted_gram(q, sub->Q);
    lt_subproblem_set(sub, q->m, sub->Q, q->m, sub->linear);
    if (lt_subproblem_solve(sub, r->penalty.mu, NULL)) return true;
    lt_console_note(r, 3, "Stationarity: QP 2 failed in iteration %lld.", (long long)r->iter);
    r->stat.attempts = 4;
    gram = lt_products_gram(r, q->l, q->slot, sub->Q);
    return clip_negative(q, gram, sub->Q) && lt_subproblem_set(sub, q->m, sub->Q, q->m, sub->linear)
           && lt_subproblem_solve(sub, r->penalty.mu, NULL);
}

static double *vector_of(const lt_run *r) { return r->stat.vector ? r->stat.vector : lt_run_work(r); }

static void add_columns(const measure *q, const double *y, double *out)
{
    const lt_run *r = q->r;
    lt_vectors_sum(&r->vectors, out);
    for (int64_t i = 0; i < q->m; i++)
        if (y[i] != 0) lt_vectors_add(&r->vectors, y[i], gradient_of(q, i), out);
    lt_vectors_sum_end(&r->vectors);
}

static const double *product_of(const measure *q, int64_t i) { return lt_column_HG(q->r, lt_columns_pick(q->c, q->slot, i)); }

/* The length of a combination of columns, from their inner products where these came with the last wait: good to six digits at
   least, or not at all. */
static bool length_known(const measure *q, const double *y, const double *(*column)(const measure *q, int64_t i), double *out)
{
    double sum = 0, size = 0, dot;
    for (int64_t i = 0; i < q->m; i++)
        for (int64_t j = 0; j < q->m; j++) {
            if (!lt_vectors_known(&q->r->vectors, LT_MEASURE_DOT, column(q, i), column(q, j), &dot)) return false;
            sum += y[i] * y[j] * dot;
            size += fabs(y[i] * y[j] * dot);
        }
    *out = sqrt(sum);
    return sum > 1e-10 * size && size < 1e280 && sum > 1e-280;
}

/* Both lengths without a wait of their own, and without the vector, for which a callback would ask. Where the run may end, a combination of
   its own is measured. */
static bool lengths_known(const measure *q, const double *y)
{
    lt_run *r = q->r;
    const double *first = gradient_of(q, 0);
    if (r->opt.iterate_fn || !r->opt.stationarity_l2 || q->m > LT_PRODUCTS_FEW) return false;
    if (lt_vectors_awaited(&r->vectors, LT_MEASURE_DOT, first, first)) (void)lt_vectors_norm2(&r->vectors, first); /* all come with it */
    return length_known(q, y, gradient_of, &r->stat.unweighted) && length_known(q, y, product_of, &r->stat.value) && r->stat.value > 2 * r->opt.stationarity_tol;
}

/* d = -W G y, and the length of G y without the weight. In memory of its own the vector is measured with it, in one wait. */
static void combine(const measure *q, const double *y)
{
    lt_run *r = q->r;
    lt_stationarity *st = &r->stat;
    const lt_vectors *v = &r->vectors;
    if (lengths_known(q, y)) return;
    double *vector = vector_of(r), *plain = lt_run_work(r);
    add_columns(q, y, plain);
    const double pulled = r->bounds.free ? lt_bounds_mask(r, plain) : 0;
    if (plain == vector) st->unweighted = lt_vectors_norm2(v, plain);
    lt_products_combine(r, q->m, q->slot, y, plain, vector);
    lt_vectors_expect(v, LT_MEASURE_DOT, plain, plain);
    lt_vectors_expect(v, r->opt.stationarity_l2 ? LT_MEASURE_DOT : LT_MEASURE_LARGEST, vector, vector);
    if (plain != vector) st->unweighted = lt_vectors_norm2(v, plain);
    st->value = r->opt.stationarity_l2 ? lt_vectors_norm2(v, vector) : lt_vectors_max_abs(v, vector);
    if (pulled > 0) st->value = hypot(st->value, pulled), st->unweighted = hypot(st->unweighted, pulled);
}

/* ---- With bounds as rows ---- */
static bool solve_boxed(const measure *q)
{
    lt_run *r = q->r;
    const lt_gram_view gram = lt_products_gram(r, q->l, q->slot, r->bounds.base);
    const double **HG = r->products.from;
    for (int64_t i = 0; i < q->m; i++) HG[i] = product_of(q, i);
    const lt_boxed p = { .m = q->m, .Q = gram.Q, .stride = gram.stride, .weighted = true, .HG = HG };
    r->stat.attempts = 1;
    return lt_boxed_solve(r, &r->stat.sub, &p, r->penalty.mu, r->bounds.d, r->stat.bounds);
}

static void combine_boxed(const measure *q)
{
    lt_run *r = q->r;
    const lt_vectors *v = &r->vectors;
    double *plain = lt_run_work(r);
    add_columns(q, r->stat.sub.y, plain);
    lt_vectors_difference(v, plain, r->stat.bounds, plain);
    r->stat.unweighted = lt_vectors_norm2(v, plain);
    r->stat.value = r->opt.stationarity_l2 ? lt_vectors_norm2(v, r->bounds.d) : lt_vectors_max_abs(v, r->bounds.d);
    lt_vectors_copy(v, 1, r->bounds.d, vector_of(r));
}

static void no_answer(lt_run *r)
{
    lt_vectors_fill(&r->vectors, INFINITY, vector_of(r));
    r->stat.value = r->stat.unweighted = INFINITY;
}

static lt_status measure_samples(lt_run *r)
{
    const lt_columns *c = &r->products.columns;
    measure q = { .r = r, .c = c, .l = r->cache.n_near, .slot = r->cache.near_ };
    const int64_t columns_max = r->opt.compat ? COLUMNS_MAX_PUBLISHED : COLUMNS_MAX;
    const int64_t most = LT_MAX((columns_max - c->n_shared) / c->n_own, 1);
    if (q.l > most) q.slot += q.l - most, q.l = most;
    q.m = c->n_shared + q.l * c->n_own;
    r->stat.n_samples = r->cache.n_near;
    if (r->bounds.rows) {
        LT_TRY(lt_boxed_reserve(r, &r->stat.sub, q.m));
        describe(&q);
        if (!solve_boxed(&q)) {
            no_answer(r);
            return LT_OK;
        }
        keep_answer(&q, r->stat.sub.y);
        combine_boxed(&q);
        return LT_OK;
    }
    if (q.m == 1) { /* unconstrained, one sample: the sum constraint leaves no choice */
        r->stat.attempts = 1;
        combine(&q, &r->penalty.mu);
        return LT_OK;
    }
    LT_TRY(lt_subproblem_reserve(&r->stat.sub, q.m, &r->opt));
    describe(&q);
    if (!solve_ladder(&q)) {
        no_answer(r);
        return LT_OK;
    }
    keep_answer(&q, r->stat.sub.y);
    combine(&q, r->stat.sub.y);
    return LT_OK;
}

void lt_sample_retire(lt_run *r)
{
    const int64_t slot = lt_cache_retire(&r->cache);
    if (slot >= 0) lt_products_leave(r, slot);
}

/* Where a number costs a wait, a lower bound suffices if it shows that the gradient is not small. */
static double gradient_norm(lt_run *r)
{
    const double known = r->vectors.on->queues ? r->last.gradient_at_least : 0;
    r->last.gradient_at_least = 0;
    return known > r->opt.stationarity_tol && isfinite(known) ? known : lt_vectors_norm2(&r->vectors, r->penalty.grad_phi);
}

lt_status lt_stationarity_measure(lt_run *r)
{
    lt_span span = lt_span_begin("stationarity");
    lt_stationarity *st = &r->stat;
    double norm = gradient_norm(r);
    lt_status s = LT_OK;
    if (norm <= r->opt.stationarity_tol) { /* smooth and stationary: no sample is kept */
        lt_vectors_copy(&r->vectors, 1, r->penalty.grad_phi, vector_of(r));
        st->value = st->unweighted = norm;
        st->n_samples = 1;
        st->attempts = 0;
        r->products.slot = -1;
    } else if (r->rows.on) {
        lt_rows_measure(r);
    } else {
        lt_cache_insert(&r->cache, r->cur, r->last.left);
        memset(st->y_of_slot + r->cache.newest * r->k, 0, (size_t)r->k * sizeof(double));
        lt_products_sample(r);
        s = measure_samples(r);
    }
    st->normalised = r->penalty.mu > 0 ? st->value / r->penalty.mu : st->value;
    lt_span_end(span);
    return s;
}
