/* Which operators of a dataset to show. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/visualize.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const *lt_pick_names(void)
{
    static const char *const names[] = { "sobol", "random", "sequential", "diverse", NULL };
    return names;
}

enum { TIERS = 5, SCORE_BINS = 20, MAX_SCORED = 20000 };

static int compare_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_taken(const int64_t *rows, int n, int64_t row)
{
    for (int i = 0; i < n; i++)
        if (rows[i] == row) return true;
    return false;
}

/* The digits of i in base two behind the point: the one-dimensional Sobol sequence. */
static double van_der_corput(uint32_t i)
{
    double v = 0, place = 0.5;
    for (; i; i >>= 1, place /= 2) v += (double)(i & 1) * place;
    return v;
}

static void pick_sobol(uint64_t seed, int64_t total, int n, int64_t *rows)
{
    lt_rng rng = lt_rng_seed(seed);
    double shift = lt_rng_uniform(&rng);
    int found = 0;
    for (uint32_t i = 0; found < n; i++) {
        int64_t row = (int64_t)(fmod(van_der_corput(i) + shift, 1) * (double)total);
        if (!is_taken(rows, found, row)) rows[found++] = row;
    }
}

static void pick_random(lt_rng *rng, int64_t total, int n, int64_t *rows)
{
    for (int found = 0; found < n;) {
        int64_t row = (int64_t)lt_rng_below(rng, (uint64_t)total);
        if (!is_taken(rows, found, row)) rows[found++] = row;
    }
}

/* ---- Feature vectors ------------------------------------------------------------------------------- */

/* Aggregated SUMMARY features, else architecture, else parameters; standardised by column. */
static lt_status read_vectors(lt_dataset *d, int64_t n, float **out, int64_t *columns)
{
    static const char *const paths[] = { "/features/summary/aggregated/features", "/features/architecture/aggregated/features", "/parameters/params" };
    const char *path = NULL;
    for (size_t i = 0; i < LT_LEN(paths) && !path; i++) {
        lt_shape shape = lt_dataset_shape(d, paths[i]);
        if (shape.rank == 2 && shape.dim[1] > 0) path = paths[i], *columns = shape.dim[1];
    }
    if (!path) return LT_FAIL(LT_ERR_ARGUMENT, "the dataset has neither features nor parameters to tell its operators apart");
    float *x = *out = lt_malloc((size_t)(n * *columns) * sizeof *x);
    if (!x) return LT_ERR_MEMORY;
    LT_TRY(lt_dataset_read(d, path, 0, n, x, n * *columns));
    for (int64_t c = 0; c < *columns; c++) {
        double sum = 0, square = 0;
        for (int64_t r = 0; r < n; r++) {
            if (!isfinite(x[r * *columns + c])) x[r * *columns + c] = 0;
            sum += x[r * *columns + c];
        }
        double mean = sum / (double)n;
        for (int64_t r = 0; r < n; r++) square += pow(x[r * *columns + c] - mean, 2);
        double spread = sqrt(square / (double)LT_MAX(n - 1, (int64_t)1)) + 1e-12;
        for (int64_t r = 0; r < n; r++) x[r * *columns + c] = (float)((x[r * *columns + c] - mean) / spread);
    }
    return LT_OK;
}

static double histogram_entropy(const float *x, int64_t n)
{
    double count[SCORE_BINS] = { 0 }, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        float place = (x[i] + 3) / 6 * SCORE_BINS;
        count[!(place > 0) ? 0 : place >= SCORE_BINS ? SCORE_BINS - 1 : (int)place]++;
    }
    for (int b = 0; b < SCORE_BINS; b++)
        if (count[b] > 0) sum -= count[b] / (double)n * log(count[b] / (double)n);
    return sum;
}

typedef struct scored { double score; int64_t row; } scored;

static int compare_scores(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : x->row < y->row ? -1 : x->row > y->row;
}

/* 0.3 entropy + 0.4 distance to the centroid + 0.3 variance, each scaled to its largest. */
static void score_rows(const float *x, int64_t n, int64_t columns, double *work, scored *out)
{
    double most[3] = { 1e-12, 1e-12, 1e-12 };
    for (int64_t r = 0; r < n; r++) {
        const float *v = x + r * columns;
        double square = 0, mean = 0, variance = 0;
        for (int64_t c = 0; c < columns; c++) square += (double)v[c] * v[c], mean += v[c] / (double)columns; /* the centroid is 0 */
        for (int64_t c = 0; c < columns; c++) variance += pow(v[c] - mean, 2) / (double)columns;
        work[3 * r] = histogram_entropy(v, columns);
        work[3 * r + 1] = sqrt(square);
        work[3 * r + 2] = variance;
        for (int k = 0; k < 3; k++) most[k] = fmax(most[k], work[3 * r + k]);
    }
    for (int64_t r = 0; r < n; r++)
        out[r] = (scored){ 0.3 * work[3 * r] / most[0] + 0.4 * work[3 * r + 1] / most[1] + 0.3 * work[3 * r + 2] / most[2], r };
}

/* Ranked, cut into tiers, the same number drawn from each. */
static void draw_from_tiers(lt_rng *rng, const scored *ranked, int64_t total, int n, int64_t *rows)
{
    int tiers = LT_MIN(TIERS, n), found = 0;
    for (int t = 0; t < tiers; t++) {
        int64_t from = t * total / tiers, to = (t + 1) * total / tiers;
        int want = n * (t + 1) / tiers;
        for (int tries = 0; found < want && tries < 1000; tries++) {
            int64_t row = ranked[from + (int64_t)lt_rng_below(rng, (uint64_t)(to - from))].row;
            if (!is_taken(rows, found, row)) rows[found++] = row;
        }
    }
    for (int64_t i = 0; found < n; i++)
        if (!is_taken(rows, found, ranked[i].row)) rows[found++] = ranked[i].row;
}

static lt_status pick_diverse(lt_dataset *d, lt_rng *rng, int64_t total, int n, int64_t *rows)
{
    float *x = NULL;
    int64_t columns = 0, read = LT_MIN(total, (int64_t)MAX_SCORED);
    lt_status s = read_vectors(d, read, &x, &columns);
    double *work = lt_malloc((size_t)(3 * read) * sizeof *work);
    scored *list = lt_malloc((size_t)read * sizeof *list);
    if (!s && (!work || !list)) s = LT_ERR_MEMORY;
    if (!s) {
        score_rows(x, read, columns, work, list);
        qsort(list, (size_t)read, sizeof *list, compare_scores);
        draw_from_tiers(rng, list, read, n, rows);
    }
    lt_free(x);
    lt_free(work);
    lt_free(list);
    return s;
}

static lt_status check_count(lt_dataset *d, int n, int64_t *total)
{
    *total = lt_dataset_get_info(d).rows;
    return n >= 1 && n <= *total ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "%d operators of a dataset that has %lld", n, (long long)*total);
}

lt_status lt_pick_rows(lt_dataset *d, lt_pick how, uint64_t seed, int n, int64_t *rows)
{
    int64_t total;
    lt_rng rng = lt_rng_seed(seed);
    LT_TRY(check_count(d, n, &total));
    switch (how) {
    case LT_PICK_SOBOL:   pick_sobol(seed, total, n, rows); break;
    case LT_PICK_RANDOM:  pick_random(&rng, total, n, rows); break;
    case LT_PICK_DIVERSE: LT_TRY(pick_diverse(d, &rng, LT_MAX(total, (int64_t)n), n, rows)); break;
    default:
        for (int i = 0; i < n; i++) rows[i] = i;
    }
    qsort(rows, (size_t)n, sizeof *rows, compare_rows);
    return LT_OK;
}

/* ---- Far apart, or typical -------------------------------------------------------------------------- */

static double distance(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += pow((double)a[i] - (b ? b[i] : 0), 2);
    return sqrt(sum);
}

/* Greedy: the next row has a large distance to those taken (weight alpha) and a small one to the centre (1 - alpha). */
static void take_spread(const float *x, int64_t total, int64_t columns, double alpha, lt_rng *rng, int n, int64_t *rows)
{
    rows[0] = (int64_t)lt_rng_below(rng, (uint64_t)total);
    for (int found = 1; found < n; found++) {
        double best = -INFINITY;
        for (int64_t r = 0; r < total; r++) {
            double nearest = INFINITY;
            if (is_taken(rows, found, r)) continue;
            for (int k = 0; k < found; k++) nearest = fmin(nearest, distance(x + r * columns, x + rows[k] * columns, columns));
            double score = alpha * nearest - (1 - alpha) * distance(x + r * columns, NULL, columns);
            if (score > best) best = score, rows[found] = r;
        }
    }
}

lt_status lt_pick_spread(lt_dataset *d, double alpha, uint64_t seed, int n, int64_t *rows)
{
    int64_t total, columns = 0;
    float *x = NULL;
    lt_rng rng = lt_rng_seed(seed);
    LT_TRY(check_count(d, n, &total));
    total = LT_MIN(total, (int64_t)MAX_SCORED);
    lt_status s = read_vectors(d, total, &x, &columns);
    if (!s) take_spread(x, total, columns, alpha, &rng, n, rows);
    lt_free(x);
    return s;
}
