/* Normalising and centring. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/post.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>

static const double smallest = 1e-12; /* a diagonal below counts as this */

double lt_post_root(double k) { return sqrt(fmax(k, smallest)); }

typedef struct work {
    const lt_gram_out *out;
    const double *left, *right; /* square roots */
    bool unit_diagonal;
} work;

/* Where entry (r, 0) would be; with packed rows only columns from r on exist. */
static int64_t row_start(const lt_gram_out *o, int64_t r)
{
    return o->packed ? r * o->n_columns - r * (r - 1) / 2 - r : r * o->n_columns;
}

static lt_status divide_row(void *ctx, int64_t r, int worker)
{
    const work *w = ctx;
    (void)worker;
    int64_t at = row_start(w->out, r);
    for (int64_t j = w->out->packed ? r : 0; j < w->out->n_columns; j++)
        lt_gram_put(w->out, at + j, lt_gram_entry(w->out, at + j) / (w->left[r] * w->right[j]));
    if (w->unit_diagonal) lt_gram_put(w->out, at + r, 1);
    return LT_OK;
}

lt_status lt_post_normalize(const lt_gram_out *out, lt_pool *pool, double jitter, double *roots)
{
    for (int64_t r = 0; r < out->n_columns; r++) {
        double d = lt_gram_entry(out, row_start(out, r) + r);
        roots[r] = lt_post_root(jitter > 0 ? d + jitter : d);
    }
    work w = { out, roots, roots, true };
    return lt_pool_run(pool, out->n_columns, divide_row, &w);
}

lt_status lt_post_normalize_cross(const lt_gram_out *out, lt_pool *pool, int64_t n, double *left, double *right)
{
    for (int64_t i = 0; i < n; i++) left[i] = lt_post_root(left[i]);
    for (int64_t j = 0; j < out->n_columns; j++) right[j] = lt_post_root(right[j]);
    work w = { out, left, right, false };
    return lt_pool_run(pool, n, divide_row, &w);
}

/* ---- for matrices of the caller ---- */

static lt_status check_matrix(const char *what, const void *K, int64_t n, int64_t m)
{
    if (!K) return LT_FAIL(LT_ERR_ARGUMENT, "%s: K is NULL", what);
    if (n < 1 || m < 1) return LT_FAIL(LT_ERR_ARGUMENT, "%s: K is %lld x %lld, expected at least 1 x 1", what, (long long)n, (long long)m);
    return LT_OK;
}

static double *two_vectors(int64_t n, int64_t m) { return lt_malloc((size_t)(n + m) * sizeof(double)); }

lt_status lt_gram_normalize(double *K, int64_t n, double jitter)
{
    LT_TRY(check_matrix("gram_normalize", K, n, n));
    if (!(jitter >= 0 && isfinite(jitter))) return LT_FAIL(LT_ERR_ARGUMENT, "gram_normalize: jitter is %g, expected at least 0", jitter);
    lt_pool *pool = lt_pool_shared();
    double *roots = two_vectors(n, 0);
    if (!pool || !roots) {
        lt_free(roots);
        return LT_ERR_MEMORY;
    }
    lt_gram_out out = { .K = K, .n_columns = n };
    lt_status s = lt_post_normalize(&out, pool, jitter, roots);
    lt_free(roots);
    return s;
}

lt_status lt_gram_normalize_cross(double *K, int64_t n, int64_t m, const double *left, const double *right)
{
    LT_TRY(check_matrix("gram_normalize_cross", K, n, m));
    if (!left || !right) return LT_FAIL(LT_ERR_ARGUMENT, "gram_normalize_cross: the diagonals are NULL");
    lt_pool *pool = lt_pool_shared();
    double *roots = two_vectors(n, m);
    if (!pool || !roots) {
        lt_free(roots);
        return LT_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) roots[i] = left[i];
    for (int64_t j = 0; j < m; j++) roots[n + j] = right[j];
    lt_gram_out out = { .K = K, .n_columns = m };
    lt_status s = lt_post_normalize_cross(&out, pool, n, roots, roots + n);
    lt_free(roots);
    return s;
}

lt_status lt_gram_center(double *K, int64_t n, double *column_means, double *mean)
{
    LT_TRY(check_matrix("gram_center", K, n, n));
    if (!column_means || !mean) return LT_FAIL(LT_ERR_ARGUMENT, "gram_center: the means are NULL");
    double total = 0;
    for (int64_t j = 0; j < n; j++) column_means[j] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) column_means[j] += K[i * n + j];
    for (int64_t j = 0; j < n; j++) {
        column_means[j] /= (double)n;
        total += column_means[j];
    }
    *mean = total / (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) K[i * n + j] += *mean - (column_means[i] + column_means[j]);
    return LT_OK;
}

lt_status lt_gram_center_cross(double *K, int64_t n_test, int64_t n_train, const double *column_means, double mean)
{
    LT_TRY(check_matrix("gram_center_cross", K, n_test, n_train));
    if (!column_means) return LT_FAIL(LT_ERR_ARGUMENT, "gram_center_cross: the means are NULL");
    for (int64_t i = 0; i < n_test; i++) {
        double row = 0;
        for (int64_t j = 0; j < n_train; j++) row += K[i * n_train + j];
        row /= (double)n_train;
        for (int64_t j = 0; j < n_train; j++) K[i * n_train + j] += mean - (row + column_means[j]);
    }
    return LT_OK;
}
