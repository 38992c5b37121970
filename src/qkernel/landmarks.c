/* Nystrom features (decision 225): Z with K ~ Z Z', from the columns of K that belong to a few rows. SPDX-License-Identifier: BSD-3-Clause

   With landmarks L, C = K(X, L) and W = K(L, L), K ~ C W^-1 C'. W = R R' by Cholesky with pivots, so Z = C R^-T. Landmarks that add nothing but rounding are
   left out: their columns of Z are zero. */
#include "base/alloc.h"
#include "base/pool.h"
#include "base/sized.h"
#include "base/status.h"
#include "lathe/rng.h"
#include "qkernel/gram_inside.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>

#if LT_HAVE_OPENBLAS
#include "kernels/cpu/openblas.h"

static bool have_library(void) { return !lt_openblas_open(); }
/* z = c M, (rows, m) by (m, m) */
static void library_product(int rows, int m, const double *c, const double *M, double *z)
{
    LT_OPENBLAS_CALL(cblas_dgemm, LT_BLAS_ROWS, LT_BLAS_PLAIN, LT_BLAS_PLAIN, rows, m, m, 1.0, c, m, M, m, 0.0, z, m);
}
#else
static bool have_library(void) { return false; }
static void library_product(int rows, int m, const double *c, const double *M, double *z) { (void)rows, (void)m, (void)c, (void)M, (void)z; }
#endif

enum { BLOCK = 16384, PART = 512, SAMPLED = 512 }; /* rows of C at a time; rows of a task; rows and columns of the sampled entries */

typedef struct job {
    lt_gram       *g;
    const lt_rows *x;
    lt_rows        l;            /* the landmarks */
    int64_t        m, n_block;
    double        *R, *M;        /* (m, m): Z = C M */
    int64_t       *pivot;
    void          *C;            /* (BLOCK, m), return_dtype */
    char          *Z;            /* of the block */
    double        *wide;         /* (threads, 2, PART, m) */
    size_t         each;         /* bytes of a number of C and Z */
    bool           library;
    lt_gram_progress_fn progress; /* the caller's */
    void          *progress_ctx;
    int64_t        pairs_done, pairs_total;
} job;

static size_t row_bytes(const lt_rows *r) { return (size_t)(r->step ? r->step : r->columns) * lt_dtype_size(r->dtype); }

/* ---- Rows by lot -------------------------------------------------------------------------------------------------------------- */

static int64_t *draw_rows(uint64_t seed, int64_t n, int64_t m)
{
    int64_t *all = lt_malloc((size_t)n * sizeof *all);
    lt_rng r = lt_rng_seed(seed);
    for (int64_t i = 0; all && i < n; i++) all[i] = i;
    for (int64_t i = 0; all && i < m; i++) {
        int64_t k = i + (int64_t)lt_rng_below(&r, (uint64_t)(n - i)), t = all[i];
        all[i] = all[k];
        all[k] = t;
    }
    return all;
}

/* A copy of some rows, each behind the other. */
static lt_status copy_rows(const lt_rows *x, const int64_t *row, int64_t m, lt_rows *out)
{
    size_t bytes = (size_t)x->columns * lt_dtype_size(x->dtype);
    char *data = lt_malloc((size_t)m * bytes);
    if (!data) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < m; i++) memcpy(data + (size_t)i * bytes, (const char *)x->data + (size_t)row[i] * row_bytes(x), bytes);
    *out = (lt_rows){ .data = data, .dtype = x->dtype, .n = m, .columns = x->columns };
    return LT_OK;
}

static double number(const job *j, const void *from, int64_t at) { return j->each == 8 ? ((const double *)from)[at] : (double)((const float *)from)[at]; }

/* ---- W = R R' ------------------------------------------------------------------------------------------------------------------- */

static void swap_pivot(job *j, double *W, int64_t k, int64_t p)
{
    int64_t m = j->m, t = j->pivot[k];
    j->pivot[k] = j->pivot[p];
    j->pivot[p] = t;
    for (int64_t i = 0; i < m; i++) { double v = W[k * m + i]; W[k * m + i] = W[p * m + i]; W[p * m + i] = v; }
    for (int64_t i = 0; i < m; i++) { double v = W[i * m + k]; W[i * m + k] = W[i * m + p]; W[i * m + p] = v; }
}

/* In place, the lower half; returns the rank. A pivot below the error of entries would amplify it into Z. */
static int64_t factor(job *j, double *W)
{
    int64_t m = j->m;
    double least = fmax(1e-10, 10 * lt_gram_float_bound(j->g->opt.dtype)), top = 0;
    for (int64_t k = 0; k < m; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < m; i++) p = W[i * m + i] > W[p * m + p] ? i : p;
        if (k == 0) top = W[p * m + p];
        if (!(W[p * m + p] > least * top)) return k;
        if (p != k) swap_pivot(j, W, k, p);
        double root = W[k * m + k] = sqrt(W[k * m + k]);
        for (int64_t i = k + 1; i < m; i++) W[i * m + k] /= root;
        for (int64_t i = k + 1; i < m; i++)
            for (int64_t c = k + 1; c <= i; c++) W[i * m + c] -= W[i * m + k] * W[c * m + k];
        for (int64_t i = k + 1; i < m; i++)
            for (int64_t c = i + 1; c < m; c++) W[i * m + c] = W[c * m + i]; /* whole, so that pivots can be swapped */
    }
    return m;
}

/* M[pivot[k], c] = (R^-1)[c, k]: column c of R^-T, by substitution. */
static void invert(job *j, int64_t rank)
{
    int64_t m = j->m;
    memset(j->M, 0, (size_t)(m * m) * sizeof *j->M);
    for (int64_t k = 0; k < rank; k++)
        for (int64_t c = k; c < rank; c++) {
            double sum = c == k;
            for (int64_t i = k; i < c; i++) sum -= j->R[c * m + i] * j->M[j->pivot[k] * m + i];
            j->M[j->pivot[k] * m + c] = sum / j->R[c * m + c];
        }
}

static lt_status prepare(job *j, lt_landmark_info *info)
{
    int64_t m = j->m;
    LT_TRY(lt_gram_fill(j->g, &j->l, &j->l, j->C));
    for (int64_t i = 0; i < m * m; i++) j->R[i] = number(j, j->C, i);
    for (int64_t i = 0; i < m; i++) j->pivot[i] = i;
    info->rank = factor(j, j->R);
    if (info->rank == 0) return LT_FAIL(LT_ERR_NUMERIC, "landmarks: their kernel matrix is zero");
    invert(j, info->rank);
    return LT_OK;
}

/* ---- Z = C M ---------------------------------------------------------------------------------------------------------------------- */

static void multiply(const job *j, const double *c, int64_t rows, double *z)
{
    int m = (int)j->m;
    if (j->library) {
        library_product((int)rows, m, c, j->M, z);
        return;
    }
    memset(z, 0, (size_t)(rows * m) * sizeof *z);
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < m; k++)
            for (int i = 0; i < m; i++) z[r * m + i] += c[r * m + k] * j->M[(int64_t)k * m + i];
}

static lt_status do_part(void *ctx, int64_t index, int worker)
{
    job *j = ctx;
    int64_t first = index * PART, rows = LT_MIN((int64_t)PART, j->n_block - first), n = rows * j->m, at = first * j->m;
    double *c = j->wide + (int64_t)worker * 2 * PART * j->m, *z = c + PART * j->m;
    for (int64_t i = 0; i < n; i++) c[i] = number(j, j->C, at + i);
    multiply(j, c, rows, z);
    for (int64_t i = 0; i < n; i++)
        if (j->each == 8) ((double *)j->Z)[at + i] = z[i];
        else ((float *)j->Z)[at + i] = (float)z[i];
    return LT_OK;
}

static bool pass_progress(void *ctx, const lt_gram_progress *p)
{
    job *j = ctx;
    lt_gram_progress all = *p;
    all.pairs_done = j->pairs_done + p->pairs_done;
    all.pairs_total = j->pairs_total;
    all.states_done = all.states_total = 0;
    return j->progress ? j->progress(j->progress_ctx, &all) : true;
}

static lt_status make_rows(job *j, char *Z)
{
    for (int64_t first = 0; first < j->x->n; first += BLOCK) {
        j->n_block = LT_MIN((int64_t)BLOCK, j->x->n - first);
        lt_rows part = *j->x;
        part.data = (const char *)j->x->data + (size_t)first * row_bytes(j->x);
        part.n = j->n_block;
        j->Z = Z + (size_t)(first * j->m) * j->each;
        LT_TRY(lt_gram_fill(j->g, &part, &j->l, j->C));
        LT_TRY(lt_pool_run(j->g->pool, (j->n_block + PART - 1) / PART, do_part, j));
        j->pairs_done += j->n_block * j->m;
    }
    return LT_OK;
}

/* ---- How good it is ------------------------------------------------------------------------------------------------------------------ */

static double dot(const job *j, const char *Z, int64_t a, int64_t b)
{
    double sum = 0;
    for (int64_t i = 0; i < j->m; i++) sum += number(j, Z, a * j->m + i) * number(j, Z, b * j->m + i);
    return sum;
}

/* Entries of K in rows and columns drawn by lot, computed and compared. */
static lt_status estimate(job *j, const char *Z, uint64_t seed, lt_landmark_info *info)
{
    int64_t n = LT_MIN((int64_t)SAMPLED, j->x->n), *a = draw_rows(seed + 1, j->x->n, n), *b = draw_rows(seed + 2, j->x->n, n);
    lt_rows ra = { 0 }, rb = { 0 };
    void *K = lt_malloc((size_t)(n * n) * j->each);
    double squares = 0;
    lt_status s = a && b && K ? copy_rows(j->x, a, n, &ra) : LT_ERR_MEMORY;
    if (!s) s = copy_rows(j->x, b, n, &rb);
    if (!s) s = lt_gram_fill(j->g, &ra, &rb, K);
    for (int64_t i = 0; i < n && !s; i++)
        for (int64_t k = 0; k < n; k++) {
            double e = fabs(number(j, K, i * n + k) - dot(j, Z, a[i], b[k]));
            squares += e * e;
            info->max_error = fmax(info->max_error, e);
        }
    info->entries = n * n;
    info->rms_error = sqrt(squares / (double)(n * n));
    lt_free(a);
    lt_free(b);
    lt_free((void *)ra.data);
    lt_free((void *)rb.data);
    lt_free(K);
    return s;
}

/* ---- The whole ----------------------------------------------------------------------------------------------------------------------- */

static lt_status allocate(job *j, const int64_t *row)
{
    size_t mm = (size_t)(j->m * j->m);
    j->R = lt_malloc(mm * sizeof *j->R);
    j->M = lt_malloc(mm * sizeof *j->M);
    j->pivot = lt_malloc((size_t)j->m * sizeof *j->pivot);
    j->C = lt_malloc((size_t)(LT_MAX(LT_MIN((int64_t)BLOCK, j->x->n), j->m) * j->m) * j->each);
    j->wide = lt_malloc((size_t)lt_pool_threads(j->g->pool) * 2 * PART * (size_t)j->m * sizeof *j->wide);
    return row && j->R && j->M && j->pivot && j->C && j->wide ? copy_rows(j->x, row, j->m, &j->l) : LT_ERR_MEMORY;
}

static void release(job *j)
{
    lt_free(j->R);
    lt_free(j->M);
    lt_free(j->pivot);
    lt_free(j->C);
    lt_free(j->wide);
    lt_free((void *)j->l.data);
}

lt_status lt_gram_landmarks(lt_gram *g, const lt_rows *x, int64_t m, uint64_t seed, void *Z, lt_landmark_info *out)
{
    lt_landmark_info info = { .size = sizeof info, .landmarks = m };
    if (!g || !x || !Z) return LT_FAIL(LT_ERR_ARGUMENT, "landmarks: %s is NULL", !g ? "the handle" : !x ? "x" : "Z");
    LT_TRY(LT_CHECK_SIZE(lt_landmark_info, out));
    if (m < 1 || m > x->n || m > 20000)
        return LT_FAIL(LT_ERR_ARGUMENT, "%lld landmarks of %lld rows: expected 1 to %lld", (long long)m, (long long)x->n,
                       (long long)LT_MIN(x->n, (int64_t)20000));
    if (g->opt.packed) return LT_FAIL(LT_ERR_ARGUMENT, "landmarks: K is not made, so it cannot be packed");
    int64_t start = lt_clock_ns();
    job j = { .g = g, .x = x, .m = m, .each = g->opt.return_dtype == LT_GRAM_FLOAT32 ? 4 : 8, .library = have_library(), .progress = g->opt.progress,
              .progress_ctx = g->opt.progress_ctx, .pairs_total = x->n * m };
    int64_t *row = draw_rows(seed, x->n, m);
    lt_status s = allocate(&j, row);
    g->opt.progress = NULL;
    if (!s) s = prepare(&j, &info);
    g->opt.progress = pass_progress;
    g->opt.progress_ctx = &j;
    if (!s) s = make_rows(&j, Z);
    g->opt.progress = NULL;
    if (!s) s = estimate(&j, Z, seed, &info);
    g->opt.progress = j.progress;
    g->opt.progress_ctx = j.progress_ctx;
    info.seconds = lt_seconds_since(start);
    release(&j);
    lt_free(row);
    LT_GIVE(out, &info);
    return s;
}
