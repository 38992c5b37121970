/* Tiles of K over packed rows: computed in scratch, written once or mirrored.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/tiles.h"

#include "base/status.h"
#include "trace/clock.h"

#include <float.h>

/* Inside its block. The first rows and columns of a block may lie before those of K: that many of the tile are skipped. */
typedef struct tile { int64_t row, n_rows, column, n_columns, skip_rows, skip_columns; } tile;

/* Bands of band_tiles rows of tiles, one after the other; inside a band column by column. False when the
   tile lies below the diagonal. */
static bool tile_at(const lt_gram_plan *p, const lt_gram_block *b, int64_t index, tile *t)
{
    int64_t across = (b->n_columns - 1) / p->tile_columns + 1, down = (b->n_rows - 1) / p->tile_rows + 1;
    int64_t band = index / (across * p->band_tiles), first = band * p->band_tiles, in_band = index - first * across;
    int64_t height = LT_MIN(p->band_tiles, down - first);
    t->row = (first + in_band % height) * p->tile_rows;
    t->column = in_band / height * p->tile_columns;
    t->n_rows = LT_MIN(p->tile_rows, b->n_rows - t->row);
    t->n_columns = LT_MIN(p->tile_columns, b->n_columns - t->column);
    t->skip_rows = LT_MAX(0, -(b->first_row + t->row));
    t->skip_columns = LT_MAX(0, -(b->first_column + t->column));
    return !p->half || b->first_column + t->column + t->n_columns > b->first_row + t->row;
}

static int64_t tiles_of(const lt_gram_plan *p, const lt_gram_block *b)
{
    return ((b->n_rows - 1) / p->tile_rows + 1) * ((b->n_columns - 1) / p->tile_columns + 1);
}

/* 1 + 2 + ... + (n - 1), and nothing below. */
static int64_t triangle(int64_t n) { return n > 1 ? n * (n - 1) / 2 : 0; }

/* Pairs of a tile at or above the diagonal. */
static int64_t pairs_of(const lt_gram_plan *p, const lt_gram_block *b, const tile *t)
{
    int64_t n_rows = t->n_rows - t->skip_rows, n_columns = t->n_columns - t->skip_columns;
    if (!p->half) return n_rows * n_columns;
    /* Row i lacks i - ahead of its columns, at least none and at most all of them. */
    int64_t ahead = b->first_column + t->column + t->skip_columns - b->first_row - t->row - t->skip_rows, behind = ahead + n_columns;
    return n_rows * n_columns - (triangle(n_rows - ahead) - triangle(-ahead)) + (triangle(n_rows - behind) - triangle(-behind));
}

int64_t lt_tiles_count(const lt_gram_plan *p, const lt_gram_block *b, int64_t *pairs)
{
    int64_t n = 0, all = tiles_of(p, b);
    tile t;
    for (int64_t i = 0; i < all; i++)
        if (tile_at(p, b, i, &t)) {
            n++;
            *pairs += pairs_of(p, b, &t);
        }
    return n * p->n_slices; /* each tile takes its time in every slice */
}

/* ---- writing ---- */

enum { ROWS_AT_ONCE = 8, COLUMNS_AT_ONCE = 256, PART_STEP = COLUMNS_AT_ONCE + 8 }; /* rows of a part fall into different cache sets */

/* n entries of one row of K. */
static void emit(const lt_gram_out *o, int64_t at, const double *v, int64_t n)
{
    if (!o->f32) {
        o->copy((double *)o->K + at, v, NULL, NULL, n);
        return;
    }
    float part[COLUMNS_AT_ONCE];
    for (int64_t i = 0; i < n; i += COLUMNS_AT_ONCE) {
        int64_t m = LT_MIN(n - i, COLUMNS_AT_ONCE);
        o->narrow(part, v + i, NULL, NULL, m);
        o->copy((float *)o->K + at + i, part, NULL, NULL, m);
    }
}

/* Up to ROWS_AT_ONCE rows of the tile beside each other, and their sum. v is (column, row), columns `step` apart;
   n_rows of them are wanted, n_readable are there. */
static double turn_part(const lt_gram_isa *isa, const double *v, int64_t step, int64_t n_rows, int64_t n_readable, int64_t n_columns,
                        double part[ROWS_AT_ONCE][PART_STEP])
{
    double sum = 0;
    int64_t i = 0;
    for (; i < n_rows && i + isa->lanes <= n_readable; i += isa->lanes) sum += isa->turn(part[i], PART_STEP, v + i, step, n_columns);
    for (; i < n_rows; i++)
        for (int64_t j = 0; j < n_columns; j++) sum += part[i][j] = v[j * step + i];
    return sum;
}

/* Rows of the tile as rows of K; v is (column, row), columns `step` apart, of which n_readable rows are there. Returns their sum,
   and that of what lies beside them below the diagonal. */
static double write_rows(const lt_gram_isa *isa, const lt_gram_out *o, int64_t row, int64_t n_rows, int64_t column, int64_t n_columns,
                         const double *v, int64_t step, int64_t n_readable)
{
    double part[ROWS_AT_ONCE][PART_STEP], sum = 0;
    for (int64_t i0 = 0; i0 < n_rows; i0 += ROWS_AT_ONCE)
        for (int64_t j0 = 0; j0 < n_columns; j0 += COLUMNS_AT_ONCE) {
            int64_t m = LT_MIN(n_rows - i0, ROWS_AT_ONCE), n = LT_MIN(n_columns - j0, COLUMNS_AT_ONCE);
            sum += turn_part(isa, v + j0 * step + i0, step, m, LT_MIN(n_readable - i0, ROWS_AT_ONCE), n, part);
            for (int64_t i = 0; i < m; i++) {
                int64_t r = row + i0 + i, begin = o->half ? LT_MIN(n, LT_MAX(0, r - column - j0)) : 0;
                int64_t at = o->packed ? r * o->n_columns - r * (r - 1) / 2 + (column - r) : r * o->n_columns + column;
                emit(o, at + j0 + begin, part[i] + begin, n - begin);
            }
        }
    return sum;
}

/* The mirror image, strictly below the diagonal: columns of the tile become rows of K. */
static void write_mirror(const lt_gram_out *o, int64_t row, int64_t n_rows, int64_t column, int64_t n_columns, const double *v, int64_t step)
{
    for (int64_t j = 0; j < n_columns; j++) {
        int64_t r = column + j, end = LT_MAX(0, LT_MIN(n_rows, r - row));
        emit(o, r * o->n_columns + row, v + j * step, end);
    }
}

/* Rows of column j of a tile that are stored: all, or those down to the diagonal. What lies below it was perhaps never computed. */
static int64_t stored_rows(const lt_gram_plan *p, const lt_gram_block *b, const tile *t, int64_t j)
{
    int64_t ahead = b->first_column + t->column - b->first_row - t->row;
    return p->half ? LT_MAX(0, LT_MIN(t->n_rows, j + ahead + 1)) : t->n_rows;
}

/* Entries to be stored that are not finite; finite ones are squares, never negative. */
static int64_t count_bad(const lt_gram_plan *p, const lt_gram_block *b, const tile *t, const double *v, int64_t step)
{
    int64_t bad = 0;
    for (int64_t j = 0; j < t->n_columns; j++) {
        int64_t end = stored_rows(p, b, t, j);
        for (int64_t i = 0; i < end; i++) bad += !(v[j * step + i] <= DBL_MAX);
    }
    return bad;
}

/* What the quantum pipeline did without a word: NaN to 0, infinity to 1. Squares are never -Inf. */
static void repair_bad(const lt_gram_plan *p, const lt_gram_block *b, const tile *t, double *v, int64_t step)
{
    for (int64_t j = 0; j < t->n_columns; j++) {
        int64_t end = stored_rows(p, b, t, j);
        for (int64_t i = 0; i < end; i++)
            if (!(v[j * step + i] <= DBL_MAX)) v[j * step + i] = isnan(v[j * step + i]) ? 0 : 1;
    }
}

/* ---- computing ---- */

/* ---- circuits of any gates ---- */

static void multiply(double *re, double *im, const double *by_re, const double *by_im, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double r = re[i] * by_re[i] - im[i] * by_im[i];
        im[i] = re[i] * by_im[i] + im[i] * by_re[i];
        re[i] = r;
    }
}

static void multiply_real(double *re, const double *by, int64_t n)
{
    for (int64_t i = 0; i < n; i++) re[i] *= by[i];
}

/* The overlap is the product of those of factors, which lie one after the other in a panel; its square or real part ends up in k. */
static void overlap_factors(const lt_gram_plan *p, lt_overlap_job *job, size_t tile_bytes)
{
    const bool complex_planes = p->planes == LT_PLANES_COMPLEX;
    const int64_t columns = p->loops->columns, n = job->n_a * p->panel * ((job->n_columns + columns - 1) / columns * columns);
    double *re = job->k, *im = job->im, *next = (double *)((char *)job->k + (complex_planes ? 2 : 1) * tile_bytes);
    const char *a = job->a, *b = job->b;
    job->unfinished = true;
    for (int i = 0; i < p->program->n_factors; i++) {
        job->amplitudes = INT64_C(1) << p->program->factor[i].q;
        job->k = i ? next : re;
        job->im = (double *)((char *)job->k + (complex_planes ? tile_bytes : 0));
        p->loops->overlap(job);
        if (i && complex_planes) multiply(re, im, job->k, job->im, n);
        if (i && !complex_planes) multiply_real(re, job->k, n);
        size_t bytes = (size_t)lt_panel_elements(p->loops, job->amplitudes, p->planes) * p->element;
        job->a = a += bytes;
        job->b = b += bytes;
    }
    for (int64_t i = 0; !p->real_part && i < n; i++) re[i] = re[i] * re[i] + (complex_planes ? im[i] * im[i] : 0);
    job->k = re;
    job->im = im;
    job->unfinished = false;
}

/* Returns a number that is finite where all entries are, if they went straight to K. */
static double compute(const lt_gram_plan *p, const lt_layers *c, lt_overlap_job *job, char *scratch)
{
    size_t tile_bytes = (size_t)(p->tile_rows * p->tile_columns) * sizeof(double);
    job->k = (double *)scratch;
    job->im = (double *)(scratch + (p->planes == LT_PLANES_COMPLEX ? tile_bytes : 0));
    job->planes = p->planes;
    job->a_step = job->b_step = (int64_t)(p->panel_bytes / p->element);
    if (p->method == LT_GRAM_STATES && p->program && (p->program->n_factors > 1 || p->real_part)) {
        overlap_factors(p, job, tile_bytes);
        return NAN;
    }
    if (p->method == LT_GRAM_STATES) {
        job->amplitudes = p->slice;
        p->loops->overlap(job);
        return NAN;
    }
    job->amplitudes = c->q;
    if (p->method == LT_GRAM_PRODUCT) return p->closed->product(job, p->components);
    p->closed->transfer(job, c->parity_ring, scratch + (tile_bytes + 63) / 64 * 64);
    return NAN;
}

typedef struct work {
    const lt_gram_plan *p;
    const lt_layers *c;
    const lt_gram_block *b;
    const lt_gram_out *out;
    char *scratch;
    lt_gram_meter *meter;
} work;

static void report_progress(lt_gram_meter *m)
{
    lt_gram_progress now = { .size = sizeof now, .tiles_done = atomic_load(&m->tiles_done), .tiles_total = m->tiles_total,
                             .pairs_done = atomic_load(&m->pairs_done), .pairs_total = m->pairs_total,
                             .seconds = lt_seconds_since(m->start_ns) };
    if (!m->fn(m->ctx, &now)) atomic_store(&m->stop, true);
}

/* A tile that is not finite is an error of ours, unless the caller wants to see past it. *changed: it must be written again. */
static lt_status check_tile(work *w, const tile *t, const lt_gram_block *b, double *v, int64_t step, bool *changed)
{
    int64_t bad = count_bad(w->p, b, t, v, step);
    *changed = bad > 0;
    if (!bad) return LT_OK;
    if (!w->meter->repair)
        return LT_FAIL(LT_ERR_INTERNAL, "gram: %lld numbers are not finite in the tile at row %lld, column %lld (%lld x %lld)",
                       (long long)bad, (long long)(b->first_row + t->row), (long long)(b->first_column + t->column),
                       (long long)t->n_rows, (long long)t->n_columns);
    repair_bad(w->p, b, t, v, step);
    atomic_fetch_add(&w->meter->repaired, bad);
    return LT_OK;
}

/* What of the tile lies in K. */
static tile trimmed(const tile *t, double **v, int64_t step)
{
    *v += t->skip_columns * step + t->skip_rows;
    return (tile){ .row = t->row + t->skip_rows, .n_rows = t->n_rows - t->skip_rows, .column = t->column + t->skip_columns,
                   .n_columns = t->n_columns - t->skip_columns };
}

/* Its mirror image alone: the tile itself was written, and counted where it was repaired, with another band of rows. */
static void write_mirror_only(work *w, const tile *t, double *v, int64_t step)
{
    const lt_gram_block *b = w->b;
    if (w->meter->repair && count_bad(w->p, b, t, v, step)) repair_bad(w->p, b, t, v, step);
    write_mirror(w->out, b->first_row + t->row, t->n_rows, b->first_column + t->column, t->n_columns, v, step);
}

/* What was computed to where it belongs. Its sum shows at no cost whether anything may be wrong, but not where the diagonal
   leaves entries out: memory that was never written would decide, so those tiles are counted. */
static lt_status write_tile(work *w, const tile *all, double *v, int64_t step)
{
    const lt_gram_block *b = w->b;
    const lt_gram_isa *isa = w->p->isa;
    const int64_t readable = step - all->skip_rows;
    tile t = trimmed(all, &v, step);
    int64_t row = b->first_row + t.row, column = b->first_column + t.column;
    bool again = false;
    if (b->written == LT_BLOCK_MIRROR_ONLY) {
        write_mirror_only(w, &t, v, step);
        return LT_OK;
    }
    double sum = write_rows(isa, w->out, row, t.n_rows, column, t.n_columns, v, step, readable);
    const bool whole = stored_rows(w->p, b, &t, 0) == t.n_rows;
    if (!whole || !isfinite(sum)) LT_TRY(check_tile(w, &t, b, v, step, &again));
    if (again) (void)write_rows(isa, w->out, row, t.n_rows, column, t.n_columns, v, step, readable);
    if (w->p->half && !w->out->packed && b->written == LT_BLOCK_MIRRORED) write_mirror(w->out, row, t.n_rows, column, t.n_columns, v, step);
    return LT_OK;
}

/* Where the tile's sums stay from slice to slice. */
static char *sums_at(const lt_gram_plan *p, const lt_gram_block *b, const tile *t)
{
    int64_t tile_row = t->row / p->tile_rows;
    int64_t index = lt_plan_tiles_before(p, tile_row) + t->column / p->tile_columns - lt_plan_tiles_skipped(p, tile_row);
    return b->sums + (size_t)index * p->scratch_bytes;
}

/* The kernel of products puts entries where they belong, line by line while it computes: where K consists of whole lines, and
   the diagonal, if it meets the tile, cuts none of its squares. What is not finite is left to the other way. */
static bool put_tile(const work *w, const tile *t, lt_overlap_job *job, char *scratch)
{
    const lt_gram_plan *p = w->p;
    const lt_gram_out *o = w->out;
    if (p->method != LT_GRAM_PRODUCT || !o->lines) return false;
    int64_t row = w->b->first_row + t->row, column = w->b->first_column + t->column;
    double *K = o->K, *rows = K + (row * o->n_columns + column);
    if ((uintptr_t)rows % LT_LINE_BYTES || (p->half && job->diagonal % LT_SQUARE)) return false;
    if (!p->bulk && t->n_columns % LT_LINE_DOUBLES) return false; /* columns that fill up a line are packed with all rows only */
    job->rows = rows;
    job->mirror = p->half ? K + (column * o->n_columns + row) : NULL;
    job->pitch = o->n_columns;
    job->first_row = t->skip_rows;
    job->end_row = t->n_rows;
    job->first_column = t->skip_columns;
    job->end_column = t->n_columns;
    job->streaming = o->streaming;
    double sum = compute(p, w->c, job, scratch);
    job->rows = job->mirror = NULL;
    return isfinite(sum);
}

static lt_status compute_tile(work *w, const tile *t, char *scratch)
{
    const lt_gram_plan *p = w->p;
    const lt_gram_block *b = w->b;
    lt_overlap_job job = {
        .a = (const char *)b->a + (size_t)(t->row / p->panel) * p->panel_bytes, .n_a = (t->n_rows - 1) / p->panel + 1,
        .b = (const char *)b->b + (size_t)(t->column / p->panel) * p->panel_bytes, .n_columns = t->n_columns,
        .diagonal = p->half ? b->first_column + t->column - b->first_row - t->row : INT64_MAX / 4,
        .resume = b->slice > 0, .unfinished = b->slice + 1 < p->n_slices,
    };
    if (put_tile(w, t, &job, scratch)) return LT_OK;
    (void)compute(p, w->c, &job, b->sums ? sums_at(p, b, t) : scratch);
    return job.unfinished ? LT_OK : write_tile(w, t, job.k, job.n_a * p->panel);
}

static lt_status run_tile(work *w, int64_t index, int worker)
{
    const lt_gram_plan *p = w->p;
    const lt_gram_block *b = w->b;
    lt_gram_meter *m = w->meter;
    tile t;
    if (atomic_load(&m->stop))
        return LT_FAIL(LT_ERR_CANCELLED, "gram: stopped by the progress function after %lld of %lld tiles",
                       (long long)atomic_load(&m->tiles_done), (long long)m->tiles_total);
    if (!tile_at(p, b, index, &t)) return LT_OK;
    int64_t start = m->profile ? lt_clock_ns() : 0;
    LT_TRY(compute_tile(w, &t, w->scratch + (size_t)worker * p->scratch_bytes));
    if (m->profile) atomic_fetch_add(&m->tile_ns, lt_clock_ns() - start);
    atomic_fetch_add(&m->tiles_done, 1);
    int64_t pairs = pairs_of(p, b, &t); /* counted as slices pass */
    atomic_fetch_add(&m->pairs_done, pairs * (b->slice + 1) / p->n_slices - pairs * b->slice / p->n_slices);
    if (worker == 0 && m->fn) report_progress(m); /* worker 0 is the calling thread */
    return LT_OK;
}

static lt_status run_task(void *ctx, int64_t index, int worker)
{
    work *w = ctx;
    int64_t end = LT_MIN((index + 1) * w->p->task_tiles, tiles_of(w->p, w->b));
    for (int64_t i = index * w->p->task_tiles; i < end; i++) LT_TRY(run_tile(w, i, worker));
    w->out->fence();
    return LT_OK;
}

lt_status lt_tiles_run(const lt_gram_plan *p, const lt_layers *c, lt_pool *pool, const lt_gram_block *b,
                       const lt_gram_out *out, void *scratch, lt_gram_meter *meter)
{
    work w = { p, c, b, out, scratch, meter };
    lt_status s = lt_pool_run(pool, (tiles_of(p, b) - 1) / p->task_tiles + 1, run_task, &w);
    if (!s && meter->fn) report_progress(meter); /* the other threads may have taken every tile; and the last call says all is done */
    return s;
}

lt_status lt_tiles_diagonal(const lt_gram_plan *p, const lt_layers *c, const void *panels, int64_t n, void *scratch, double *out)
{
    int64_t columns = LT_MIN(p->panel, p->tile_columns);
    for (int64_t first = 0; first < n; first += p->panel) {
        const void *panel = (const char *)panels + (size_t)(first / p->panel) * p->panel_bytes;
        lt_overlap_job job = { .a = panel, .b = panel, .n_a = 1, .n_columns = columns, .diagonal = INT64_MAX / 4 };
        (void)compute(p, c, &job, scratch);
        for (int64_t r = 0; r < LT_MIN(p->panel, n - first); r++) out[first + r] = job.k[r * p->panel + r];
    }
    return LT_OK;
}
