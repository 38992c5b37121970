/* How well a set of rows fills the unit cube: discrepancy, correlations, coverage, distances.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/sample/quality.h"

#include "base/alloc.h"
#include "base/status.h"
#include "kernels/fused.h"
#include "lathe/json.h"
#include "operators/sample/quality_loops.h"
#include "operators/sample/sobol.h"

#include <math.h>
#include <string.h>

static const lt_pair_loops *loops(void)
{
#if LT_VEC_X86
    lt_isa isa = lt_isa_best();
    if (isa == LT_ISA_AVX512) return &lt_pair_loops_avx512;
    if (isa == LT_ISA_AVX2) return &lt_pair_loops_avx2;
#endif
    return &lt_pair_loops_plain;
}

/* ---- Work over pairs of rows: tile against tile ------------------------------------------ */
typedef struct pair_job {
    const lt_pair_loops *loops;
    int64_t n, n_tiles;
    int     p, per_row;       /* numbers kept per row */
    double *tile;             /* (n_tiles, per_row, LT_TILE_ROWS) */
    double *part;             /* one result per tile */
} pair_job;

static lt_status job_open(pair_job *j, int64_t n, int p, int per_row)
{
    *j = (pair_job){ .loops = loops(), .n = n, .n_tiles = (n + LT_TILE_ROWS - 1) / LT_TILE_ROWS, .p = p, .per_row = per_row };
    j->part = lt_malloc((size_t)j->n_tiles * sizeof *j->part);
    j->tile = lt_malloc((size_t)j->n_tiles * (size_t)per_row * LT_TILE_ROWS * sizeof *j->tile);
    return j->part && j->tile ? LT_OK : LT_ERR_MEMORY;
}

static void job_close(pair_job *j)
{
    lt_free(j->part);
    lt_free(j->tile);
}

static double *tile_at(const pair_job *j, int64_t t) { return j->tile + t * j->per_row * LT_TILE_ROWS; }
static double *number_at(const pair_job *j, int64_t row, int which)
{
    return tile_at(j, row / LT_TILE_ROWS) + which * LT_TILE_ROWS + row % LT_TILE_ROWS;
}

static lt_status run_tiles(pair_job *j, lt_pool *pool, lt_task task)
{
    if (!pool) pool = lt_pool_shared();
    return pool ? lt_pool_run(pool, j->n_tiles, task, j) : LT_ERR_MEMORY;
}

static lt_status check_rows(int64_t n, int p)
{
    if (n >= 1 && p >= 1 && p <= LT_SOBOL_MAX_COLUMNS) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "sampling metrics of %lld rows of %d: expected at least 1 row of 1..%d", (long long)n, p, LT_SOBOL_MAX_COLUMNS);
}

/* ---- Discrepancy ---------------------------------------------------------------------------- */
/* With b = x - 1/2 the pair term 1 + |bi|/2 + |bj|/2 - |bi - bj|/2 is 1 + min(|bi|, |bj|) on the same
   side of the middle and 1 on opposite sides: min(1 + |bi|, 1 + max(0, +-bj)), the sign that of bi.
   So both 1 + max(0, bj) and 1 + max(0, -bj) are kept. Tiles above the diagonal count twice. */
static lt_status kernel_task(void *ctx, int64_t index, int worker)
{
    (void)worker;
    pair_job *j = ctx;
    double once[LT_TILE_ROWS] = { 0 }, twice[LT_TILE_ROWS] = { 0 };
    double bound[LT_TILE_ROWS][LT_SOBOL_MAX_COLUMNS];
    int offset[LT_TILE_ROWS][LT_SOBOL_MAX_COLUMNS], n_rows = (int)LT_MIN(LT_TILE_ROWS, j->n - index * LT_TILE_ROWS);
    for (int i = 0; i < n_rows; i++)
        for (int d = 0; d < j->p; d++) {
            const double *up = number_at(j, index * LT_TILE_ROWS + i, 2 * d), *down = up + LT_TILE_ROWS;
            bound[i][d] = fmax(*up, *down);
            offset[i][d] = (2 * d + (*down > *up)) * LT_TILE_ROWS;
        }
    for (int64_t t = index; t < j->n_tiles; t++)
        for (int i = 0; i < n_rows; i++) j->loops->add_kernels(bound[i], offset[i], tile_at(j, t), j->p, t == index ? once : twice);
    double sum = 0;
    for (int k = 0; k < LT_TILE_ROWS; k++) sum += once[k] + 2 * twice[k];
    j->part[index] = sum;
    return LT_OK;
}

/* Fills the tiles and returns the sum of single-row terms. Rows past the end are zero: their products
   vanish. */
static double fill_sides(pair_job *j, const float *x)
{
    double sum = 0;
    memset(j->tile, 0, (size_t)j->n_tiles * (size_t)j->per_row * LT_TILE_ROWS * sizeof *j->tile);
    for (int64_t i = 0; i < j->n; i++) {
        double product = 1;
        for (int d = 0; d < j->p; d++) {
            double b = (double)x[i * j->p + d] - 0.5, a = fabs(b);
            *number_at(j, i, 2 * d) = 1 + fmax(b, 0);
            *number_at(j, i, 2 * d + 1) = 1 + fmax(-b, 0);
            product *= 1 + a / 2 - a * a / 2;
        }
        sum += product;
    }
    return sum;
}

lt_status lt_sampling_discrepancy(const float *x, int64_t n, int p, lt_pool *pool, double *out)
{
    LT_TRY(check_rows(n, p));
    pair_job j;
    lt_status s = job_open(&j, n, p, 2 * p);
    double single = s ? 0 : fill_sides(&j, x), pairs = 0;
    if (!s) s = run_tiles(&j, pool, kernel_task);
    for (int64_t t = 0; !s && t < j.n_tiles; t++) pairs += j.part[t];
    job_close(&j);
    if (!s) *out = pow(13.0 / 12, p) - 2 * single / (double)n + pairs / ((double)n * (double)n);
    return s;
}

/* ---- Distances --------------------------------------------------------------------------------- */
static lt_status distance_task(void *ctx, int64_t index, int worker)
{
    (void)worker;
    pair_job *j = ctx;
    int offset[LT_SOBOL_MAX_COLUMNS];
    double least = INFINITY;
    for (int d = 0; d < j->p; d++) offset[d] = d * LT_TILE_ROWS;
    for (int64_t t = index; t < j->n_tiles; t++)
        for (int64_t i = index * LT_TILE_ROWS; i < LT_MIN((index + 1) * LT_TILE_ROWS, j->n); i++) {
            double point[LT_SOBOL_MAX_COLUMNS], square[LT_TILE_ROWS];
            for (int d = 0; d < j->p; d++) point[d] = *number_at(j, i, d);
            j->loops->squares(point, offset, tile_at(j, t), j->p, square);
            if (t == index) square[i % LT_TILE_ROWS] = INFINITY; /* itself */
            for (int k = 0; k < LT_TILE_ROWS; k++) least = square[k] < least ? square[k] : least;
        }
    j->part[index] = least;
    return LT_OK;
}

lt_status lt_sampling_min_distance(const float *x, int64_t n, int p, lt_pool *pool, double *out)
{
    LT_TRY(check_rows(n, p));
    pair_job j;
    lt_status s = job_open(&j, n, p, p);
    for (int64_t i = 0; !s && i < j.n_tiles * LT_TILE_ROWS; i++)
        for (int d = 0; d < p; d++) *number_at(&j, i, d) = i < n ? (double)x[i * p + d] : 1e150; /* past the end: at a great distance */
    if (!s) s = run_tiles(&j, pool, distance_task);
    double least = INFINITY;
    for (int64_t t = 0; !s && t < j.n_tiles; t++) least = fmin(least, j.part[t]);
    job_close(&j);
    if (!s) *out = n > 1 ? sqrt(least) : INFINITY;
    return s;
}

/* ---- Columns ------------------------------------------------------------------------------------- */
lt_status lt_sampling_correlations(const float *x, int64_t n, int p, double *most, double *least, double *mean)
{
    *most = *least = *mean = NAN;
    LT_TRY(check_rows(n, p));
    if (n == 1 || p == 1) return LT_OK;
    double centre[LT_SOBOL_MAX_COLUMNS] = { 0 };
    double *cross = lt_calloc((size_t)p * (size_t)p, sizeof *cross);
    if (!cross) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < p; d++) centre[d] += x[i * p + d];
    for (int64_t i = 0; i < n; i++)
        for (int a = 0; a < p; a++) {
            double u = (double)x[i * p + a] - centre[a] / (double)n;
            for (int b = 0; b <= a; b++) cross[a * p + b] += u * ((double)x[i * p + b] - centre[b] / (double)n);
        }
    *most = 0;
    *least = INFINITY;
    double sum = 0;
    for (int a = 0; a < p; a++)
        for (int b = 0; b < a; b++) {
            double scale = sqrt(cross[a * p + a] * cross[b * p + b]), r = scale > 0 ? fabs(cross[a * p + b]) / scale : 0;
            *most = fmax(*most, r);
            *least = fmin(*least, r);
            sum += r;
        }
    *mean = sum / (p * (p - 1) / 2);
    lt_free(cross);
    return LT_OK;
}

lt_status lt_sampling_coverage(const float *x, int64_t n, int p, int bins, double *chi2)
{
    LT_TRY(check_rows(n, p));
    int64_t count[256];
    if (bins < 2 || bins > 256) return LT_FAIL(LT_ERR_ARGUMENT, "coverage in %d bins: expected 2..256", bins);
    double expected = (double)n / bins;
    for (int d = 0; d < p; d++) {
        memset(count, 0, sizeof count);
        for (int64_t i = 0; i < n; i++) count[LT_MAX(0, LT_MIN((int)(x[i * p + d] * (float)bins), bins - 1))]++;
        chi2[d] = 0;
        for (int b = 0; b < bins; b++) chi2[d] += ((double)count[b] - expected) * ((double)count[b] - expected) / expected;
    }
    return LT_OK;
}

/* ---- A configuration's rows --------------------------------------------------------------------------- */
lt_status lt_sampling_measure(const lt_dataset_config *c, lt_pool *pool, lt_sampling_metrics *out)
{
    int64_t n = c->total_samples;
    int p = c->space.n;
    *out = (lt_sampling_metrics){ .n = n, .p = p, .scramble = c->scramble };
    float *x = lt_malloc((size_t)n * (size_t)p * sizeof *x);
    lt_status s = x ? LT_OK : LT_ERR_MEMORY;
    for (int64_t i = 0; !s && i < n; i++) s = lt_dataset_unit_row(c, i, x + i * p);
    if (!s) s = lt_sampling_discrepancy(x, n, p, pool, &out->discrepancy);
    if (!s) s = lt_sampling_correlations(x, n, p, &out->max_correlation, &out->min_correlation, &out->mean_correlation);
    lt_free(x);
    out->discrepancy_pass = out->discrepancy < c->max_discrepancy;
    out->correlation_pass = isnan(out->max_correlation) || out->max_correlation < c->max_correlation;
    return s;
}

lt_status lt_sampling_json(const lt_sampling_metrics *m, char **out)
{
    *out = NULL;
    lt_json *j;
    LT_TRY(lt_json_create(LT_JSON_COMPACT, &j));
    lt_json_object_begin(j);
    lt_json_field_double(j, "discrepancy", m->discrepancy);
    lt_json_field_double(j, "max_correlation", m->max_correlation);
    lt_json_field_double(j, "min_correlation", m->min_correlation);
    lt_json_field_double(j, "mean_correlation", m->mean_correlation);
    lt_json_field_bool(j, "discrepancy_pass", m->discrepancy_pass);
    lt_json_field_bool(j, "correlation_pass", m->correlation_pass);
    lt_json_field_string(j, "sampler_type", "StratifiedSobol");
    lt_json_field_int(j, "dimensionality", m->p);
    lt_json_field_int(j, "n_samples", m->n);
    lt_json_field_bool(j, "scramble_enabled", m->scramble);
    lt_json_object_end(j);
    lt_status s = lt_json_finish(j);
    if (!s && !(*out = lt_strdup(lt_json_text(j)))) s = LT_ERR_MEMORY;
    lt_json_destroy(j);
    return s;
}
