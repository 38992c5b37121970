/* How well a set of rows fills the unit cube: discrepancy and correlations.
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

static lt_kernel_adder *best_adder(void)
{
#if LT_VEC_X86
    lt_isa isa = lt_isa_best();
    if (isa == LT_ISA_AVX512) return lt_add_kernels_avx512;
    if (isa == LT_ISA_AVX2) return lt_add_kernels_avx2;
#endif
    return lt_add_kernels_plain;
}

/* ---- Discrepancy: work over pairs of rows, tile against tile --------------------------------- */
typedef struct pair_job {
    lt_kernel_adder *add_kernels;
    int64_t n, n_tiles;
    int     p;
    double *tile;             /* (n_tiles, 2 p, LT_TILE_ROWS) */
    double *part;             /* one result per tile */
} pair_job;

static double *tile_at(const pair_job *j, int64_t t) { return j->tile + t * 2 * j->p * LT_TILE_ROWS; }
static double *number_at(const pair_job *j, int64_t row, int which)
{
    return tile_at(j, row / LT_TILE_ROWS) + which * LT_TILE_ROWS + row % LT_TILE_ROWS;
}

static lt_status check_rows(int64_t n, int p)
{
    if (n >= 1 && p >= 1 && p <= LT_SOBOL_MAX_COLUMNS) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "sampling metrics of %lld rows of %d: expected at least 1 row of 1..%d", (long long)n, p, LT_SOBOL_MAX_COLUMNS);
}

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
        for (int i = 0; i < n_rows; i++) j->add_kernels(bound[i], offset[i], tile_at(j, t), j->p, t == index ? once : twice);
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
    if (!pool) pool = lt_pool_shared();
    if (!pool) return LT_ERR_MEMORY;
    int64_t n_tiles = (n + LT_TILE_ROWS - 1) / LT_TILE_ROWS;
    pair_job j = { best_adder(), n, n_tiles, p, lt_calloc((size_t)n_tiles * 2 * (size_t)p * LT_TILE_ROWS, sizeof *j.tile),
                   lt_malloc((size_t)n_tiles * sizeof *j.part) };
    lt_status s = j.tile && j.part ? LT_OK : LT_ERR_MEMORY;
    double single = s ? 0 : fill_sides(&j, x), pairs = 0;
    if (!s) s = lt_pool_run(pool, n_tiles, kernel_task, &j);
    for (int64_t t = 0; !s && t < n_tiles; t++) pairs += j.part[t];
    lt_free(j.part);
    lt_free(j.tile);
    if (!s) *out = pow(13.0 / 12, p) - 2 * single / (double)n + pairs / ((double)n * (double)n);
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
