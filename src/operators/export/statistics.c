/* Mean and deviation, median and quartiles of columns, in blocks of rows. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/export/statistics.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 24, MOST_VALUES = 1 << 25 }; /* of a block; kept for quartiles: of larger arrays evenly spaced rows are kept */

typedef struct sums {                    /* of the rows so far, by column */
    int64_t columns, every, kept_rows;   /* kept_rows: how many values of a column there is room for */
    int64_t inner;                       /* values of a column in one row of the array */
    double *mean, *square, *low, *high;  /* square: about the mean */
    double *block_sum;
    int64_t *count, *block_count, *n_kept;
    float  *kept;                        /* [columns, kept_rows * inner] */
} sums;

/* ---- Sums --------------------------------------------------------------------------------------------------- */

static void add_block_means(sums *s, const float *x, int64_t n)
{
    memset(s->block_count, 0, (size_t)s->columns * sizeof *s->block_count);
    memset(s->block_sum, 0, (size_t)s->columns * sizeof *s->block_sum);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < s->columns; c++) {
            double v = (double)x[r * s->columns + c];
            if (!isfinite(v)) continue;
            s->block_count[c]++;
            s->block_sum[c] += v;
            s->low[c] = fmin(s->low[c], v);
            s->high[c] = fmax(s->high[c], v);
        }
}

/* Two sets of values become one (Chan, Golub and LeVeque). */
static void merge_block(sums *s, const float *x, int64_t n)
{
    add_block_means(s, x, n);
    for (int64_t c = 0; c < s->columns; c++) {
        int64_t more = s->block_count[c], total = s->count[c] + more;
        if (!more) continue;
        double mean = s->block_sum[c] / (double)more, square = 0, delta = mean - s->mean[c], share = (double)more / (double)total;
        for (int64_t r = 0; r < n; r++) {
            double off = (double)x[r * s->columns + c] - mean;
            if (isfinite(off)) square += off * off;
        }
        s->square[c] += square + delta * delta * (double)s->count[c] * share;
        s->mean[c] += delta * share;
        s->count[c] = total;
    }
}

static void keep_row(sums *s, const float *x)
{
    for (int64_t k = 0; k < s->inner; k++)
        for (int64_t c = 0; c < s->columns; c++)
            if (isfinite(x[k * s->columns + c])) s->kept[c * s->kept_rows * s->inner + s->n_kept[c]++] = x[k * s->columns + c];
}

/* The rows that are taken lie together at the start of the block afterwards. */
static int64_t pick_rows(sums *s, float *x, int64_t first, int64_t n, const uint8_t *take)
{
    int64_t values = s->inner * s->columns, taken = 0;
    for (int64_t r = 0; r < n; r++) {
        if (take && !take[first + r]) continue;
        if ((first + r) % s->every == 0) keep_row(s, x + r * values);
        if (taken != r) memmove(x + taken * values, x + r * values, (size_t)values * sizeof *x);
        taken++;
    }
    return taken;
}

/* ---- Quartiles ------------------------------------------------------------------------------------------------ */

static int compare_float(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Of sorted values; between two of them in proportion. */
static double quantile(const float *x, int64_t n, double q)
{
    double at = q * (double)(n - 1), whole = floor(at);
    int64_t i = (int64_t)whole, next = LT_MIN(i + 1, n - 1);
    return (double)x[i] + ((double)x[next] - (double)x[i]) * (at - whole);
}

static void finish_column(sums *s, int64_t c, lt_column_statistics *out)
{
    float *kept = s->kept + c * s->kept_rows * s->inner;
    int64_t n = s->n_kept[c];
    *out = (lt_column_statistics){ s->count[c], NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    if (!out->count) return;
    out->mean = s->mean[c];
    out->std = sqrt(s->square[c] / (double)LT_MAX(out->count - 1, (int64_t)1));
    out->min = s->low[c];
    out->max = s->high[c];
    if (!n) return;
    qsort(kept, (size_t)n, sizeof *kept, compare_float);
    out->q25 = quantile(kept, n, 0.25);
    out->median = quantile(kept, n, 0.5);
    out->q75 = quantile(kept, n, 0.75);
}

/* ---- The whole -------------------------------------------------------------------------------------------------- */

static lt_status allocate(sums *s, const lt_file_item *item, lt_arena *arena)
{
    s->columns = item->dim[item->rank - 1];
    s->inner = 1;
    for (int k = 1; k + 1 < item->rank; k++) s->inner *= item->dim[k];
    double values = (double)item->dim[0] * (double)s->inner * (double)s->columns;
    s->every = LT_MAX((int64_t)ceil(values / MOST_VALUES), (int64_t)1);
    s->kept_rows = (item->dim[0] + s->every - 1) / s->every;
    double **reals[] = { &s->mean, &s->square, &s->low, &s->high, &s->block_sum };
    int64_t **whole[] = { &s->count, &s->block_count, &s->n_kept };
    for (size_t i = 0; i < LT_LEN(reals); i++)
        if (!(*reals[i] = lt_arena_alloc(arena, (size_t)s->columns * sizeof **reals[i]))) return LT_ERR_MEMORY;
    for (size_t i = 0; i < LT_LEN(whole); i++) {
        if (!(*whole[i] = lt_arena_alloc(arena, (size_t)s->columns * sizeof **whole[i]))) return LT_ERR_MEMORY;
        memset(*whole[i], 0, (size_t)s->columns * sizeof **whole[i]);
    }
    for (int64_t c = 0; c < s->columns; c++) s->mean[c] = s->square[c] = 0, s->low[c] = INFINITY, s->high[c] = -INFINITY;
    s->kept = lt_malloc((size_t)(s->columns * s->kept_rows * s->inner) * sizeof *s->kept);
    return s->kept ? LT_OK : LT_ERR_MEMORY;
}

static lt_status read_all(lt_dataset *d, const lt_file_item *item, const uint8_t *take, sums *s)
{
    int64_t values = s->inner * s->columns, rows = LT_MIN(LT_MAX(BLOCK_BYTES / (values * (int64_t)sizeof(float)), (int64_t)1), item->dim[0]);
    float *x = lt_malloc((size_t)(rows * values) * sizeof *x);
    lt_status st = x ? LT_OK : LT_ERR_MEMORY;
    for (int64_t first = 0; first < item->dim[0] && !st; first += rows) {
        int64_t n = LT_MIN(rows, item->dim[0] - first);
        st = lt_dataset_read(d, item->path, first, n, x, n * values);
        if (!st) merge_block(s, x, pick_rows(s, x, first, n, take) * s->inner);
    }
    lt_free(x);
    return st;
}

lt_status lt_array_statistics(lt_dataset *d, const lt_file_item *item, const uint8_t *take, lt_column_statistics *out)
{
    lt_arena arena = { 0 };
    sums s = { 0 };
    lt_status st = allocate(&s, item, &arena);
    if (!st) st = read_all(d, item, take, &s);
    for (int64_t c = 0; c < s.columns && !st; c++) finish_column(&s, c, &out[c]);
    lt_free(s.kept);
    lt_arena_release(&arena);
    return st;
}

/* ---- Names -------------------------------------------------------------------------------------------------------- */

bool lt_is_family(const lt_dataset *d, const lt_file_item *item)
{
    size_t n = strlen(item->path);
    return !item->group && item->rank >= 2 && item->dim[0] == d->info.rows && !strncmp(item->path, "/features/", 10) && n > 19
           && !strcmp(item->path + n - 9, "/features") && item->element >= LT_ELEMENT_F16;
}

void lt_family_of(const char *path, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = path + strlen("/features/"); *at;) {
        size_t n = strcspn(at, "/");
        if (!at[n]) break; /* the last part is "features" */
        if (n != strlen("aggregated") || memcmp(at, "aggregated", n))
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "." : "", (int)LT_MIN(n, (size_t)200), at);
        if (used >= size) return; /* cut short */
        at += n + 1;
    }
}
