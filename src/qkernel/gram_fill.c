/* Filling K on the CPU: plans, packs rows, runs tiles. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/gram_inside.h"

#include "base/status.h"
#include "device/memory.h"
#include "qkernel/rows/closed.h"
#include "qkernel/post.h"
#include "trace/clock.h"

#include <sys/mman.h>

/* ---- planning ---- */

static lt_status reserve_all(lt_gram *g)
{
    const lt_gram_plan *p = &g->plan;
    LT_TRY(lt_gram_reserve(g, &g->a, p->a_bytes, "gram rows"));
    LT_TRY(lt_gram_reserve(g, &g->b, p->b_bytes, "gram columns"));
    LT_TRY(lt_gram_reserve(g, &g->work, p->work_bytes, "gram workspace"));
    LT_TRY(lt_gram_reserve(g, &g->scratch, p->scratch_bytes * (size_t)lt_pool_threads(g->pool), "gram tiles"));
    LT_TRY(lt_gram_reserve(g, &g->tables, p->tables_bytes, "gram tables"));
    LT_TRY(lt_gram_reserve(g, &g->sums, p->sums_bytes, "gram sums"));
    if (g->opt.normalize) LT_TRY(lt_gram_reserve(g, &g->norms, (size_t)(p->n + p->m) * sizeof(double), "gram diagonals"));
    return LT_OK;
}

/* The plan of the last call serves again when the sizes are the same: its memory is held. */
static lt_status make_plan(lt_gram *g, const lt_rows *x, const lt_rows *y)
{
    if (g->planned && g->plan.n == x->n && g->plan.m == (y ? y->n : x->n) && g->plan.cross == (y != NULL)) return LT_OK;
    g->planned = false;
    g->kept_rows = NULL;
    int64_t free_bytes, total_bytes;
    LT_TRY(lt_device_free_memory(g->dev, &free_bytes, &total_bytes));
    free_bytes += lt_gram_held_bytes(g);
    if (g->memory_limit) free_bytes = LT_MIN(free_bytes, g->memory_limit);
    g->used = g->opt;
    lt_plan_request r = {
        .opt = &g->used, .circuit = &g->circuit, .isa = g->isa, .threads = lt_pool_threads(g->pool), .n = x->n, .m = y ? y->n : x->n,
        .cross = y != NULL, .free_bytes = free_bytes + lt_gram_held_bytes(g), .total_bytes = g->memory_limit ? LT_MIN(total_bytes, g->memory_limit) : total_bytes,
        .transfer_from = g->transfer_from, .transfer_reason = g->transfer_reason, .stored = g->stored, .large = g->large,
        .real_part = g->similarity.kind == LT_SIMILARITY_REAL,
    };
    lt_gram_method method;
    char reason[160];
    LT_TRY(lt_plan_method(&r, &method, reason, sizeof reason));
    r.learned = lt_gram_learned_tiles(g, method, x->n, total_bytes, &g->used);
    LT_TRY(lt_gram_plan_make(&r, &g->plan));
    LT_TRY(reserve_all(g));
    g->planned = true;
    return LT_OK;
}

/* ---- blocks ---- */

static bool report_states(void *ctx, int64_t rows_done, int64_t rows)
{
    const lt_gram_meter *m = ctx;
    lt_gram_progress now = { .size = sizeof now, .tiles_done = atomic_load(&m->tiles_done), .tiles_total = m->tiles_total, .pairs_done = atomic_load(&m->pairs_done),
                             .pairs_total = m->pairs_total, .seconds = lt_seconds_since(m->start_ns), .states_done = rows_done, .states_total = rows };
    return m->fn(m->ctx, &now);
}

/* States of rows first..first+n-1, or a slice of them. Slices stay in the caches; whole states would not. */
static lt_status pack_states(lt_gram_filling *f, const lt_rows *x, int64_t first, int64_t n, lt_gram_buffer *to, double *diagonal, int64_t slice)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    lt_state_job job = { .x = x, .first = first, .n = n, .planes = p->planes, .n_slots = p->n_slots, .workspace = g->work.p, .panels = to->p,
                         .norms = diagonal, .streaming = p->n_slices == 1 && (double)p->a_bytes > LT_STREAM_FROM_BYTES,
                         .begin = slice * p->slice, .amplitudes = p->slice };
    if (p->n_slices > 1)
        job.tables = (char *)g->tables.p + (to == &g->b ? (size_t)lt_state_groups(p->loops, p->n) * p->maker.table_bytes : 0);
    if (f->meter.fn) job.report = report_states, job.report_ctx = &f->meter;
    LT_TRY(lt_states_pack(&p->maker, g->pool, &job));
    if (slice + 1 < p->n_slices) return LT_OK;
    for (int64_t i = 0; diagonal && !p->real_part && i < n; i++) diagonal[i] *= diagonal[i];
    f->states_built += n;
    return LT_OK;
}

/* Rows first..first+n-1 into panels, with their k(x,x) where asked for. */
static lt_status pack(lt_gram_filling *f, const lt_rows *x, int64_t first, int64_t n, lt_gram_buffer *to, double *diagonal, int64_t slice)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("gram states");
    lt_status s;
    if (!diagonal && lt_shared_states_read(g->shared, p, x, first, n, to->p)) s = LT_OK;
    else if (p->method == LT_GRAM_STATES) {
        s = pack_states(f, x, first, n, to, diagonal, slice);
        if (!s && !diagonal) lt_shared_states_write(g->shared, p, x, first, n, to->p, lt_clock_ns() - start);
    } else {
        int64_t whole = p->bulk && p->method == LT_GRAM_PRODUCT ? (n + LT_SQUARE - 1) / LT_SQUARE * LT_SQUARE : n;
        s = g->program ? lt_simulate_closed(&p->maker.simulator, g->pool, p->closed, x, first, whole, g->work.p, to->p)
                       : lt_closed_pack(&g->circuit, p->closed, p->method, g->pool, x, first, whole, to->p);
        if (!s && diagonal) s = lt_tiles_diagonal(p, &g->circuit, to->p, n, g->scratch.p, diagonal);
    }
    lt_trace_span_end(span);
    f->states_ns += lt_clock_ns() - start;
    f->n_packs++;
    return s;
}

static lt_status run_block(lt_gram_filling *f, const lt_gram_buffer *a, const lt_gram_buffer *b, lt_gram_block block)
{
    lt_gram *g = f->g;
    int64_t start = lt_clock_ns();
    lt_span span = lt_trace_span_begin("gram tiles");
    block.a = a->p;
    block.b = b->p;
    block.sums = g->plan.n_slices > 1 ? g->sums.p : NULL;
    lt_status s = lt_tiles_run(&g->plan, &g->circuit, g->pool, &block, &f->out, g->scratch.p, &f->meter);
    lt_trace_span_end(span);
    f->product_ns += lt_clock_ns() - start;
    return s;
}

/* The blocks in the order they are computed, counted or run. A block of rows stays while blocks of
   columns pass; above the diagonal only, when half of the matrix is enough. */
typedef lt_status (*block_fn)(lt_gram_filling *f, const lt_gram_block *b, bool first_of_row);

/* One block of rows with all its columns. */
static lt_status row_blocks(lt_gram_filling *f, int64_t row, int64_t n_rows, block_fn visit)
{
    const lt_gram_plan *p = &f->g->plan;
    lt_gram_block b = { .first_row = row, .n_rows = n_rows };
    bool first = true;
    int64_t column = 0;
    if (!p->cross) { /* the rows with themselves need no second packing */
        b.first_column = row;
        b.n_columns = n_rows;
        LT_TRY(visit(f, &b, first));
        first = false;
        column = p->half ? row + n_rows : 0;
    }
    for (; column < p->m; column += b.n_columns) {
        b.n_columns = n_rows;
        if (!p->cross && column == row) continue; /* done above */
        b.first_column = column;
        b.n_columns = LT_MIN(p->block_columns, p->m - column);
        if (!p->cross && column < row) b.n_columns = LT_MIN(b.n_columns, row - column);
        LT_TRY(visit(f, &b, first));
        first = false;
    }
    return LT_OK;
}

/* From a row on; done (may be NULL) hears after each block of rows where the next one begins. */
static lt_status each_block(lt_gram_filling *f, int64_t row, block_fn visit, lt_status (*done)(lt_gram_filling *f, int64_t next_row))
{
    while (row < f->g->plan.n) {
        int64_t n_rows = LT_MIN(f->rows, f->g->plan.n - row);
        LT_TRY(row_blocks(f, row, n_rows, visit));
        row += n_rows;
        if (done) LT_TRY(done(f, row));
    }
    return LT_OK;
}

/* The block with what is packed before it. */
static lt_gram_block led(const lt_gram_filling *f, const lt_gram_block *b)
{
    lt_gram_block l = *b;
    int64_t row_lead = f->g->plan.cross ? 0 : f->lead; /* lines of K are parts of its rows: only their mirror images need rows to be led */
    l.first_row -= row_lead;
    l.n_rows += row_lead;
    l.first_column -= f->lead;
    l.n_columns += f->lead;
    return l;
}

static lt_status count_block(lt_gram_filling *f, const lt_gram_block *b, bool first)
{
    (void)first;
    lt_gram_block all = led(f, b);
    f->meter.tiles_total += lt_tiles_count(&f->g->plan, &all, &f->meter.pairs_total);
    return LT_OK;
}

/* Another number of rows from the next block on: what is still to come is counted anew. */
static lt_status resize_batch(lt_gram_filling *f, int64_t next_row)
{
    const lt_gram_plan *p = &f->g->plan;
    int64_t free_bytes, total_bytes, now = lt_clock_ns(), pairs = atomic_load(&f->meter.pairs_done);
    LT_TRY(lt_device_free_memory(f->g->dev, &free_bytes, &total_bytes));
    double used = 1 - (double)free_bytes / (double)LT_MAX(1, total_bytes);
    /* Times per pair, since blocks below the diagonal grow shorter. */
    int64_t batch = lt_batch_step(&f->batch, used, (double)(now - f->block_ns) / (double)LT_MAX(1, pairs - f->block_pairs));
    f->block_ns = now;
    f->block_pairs = pairs;
    f->rows = LT_MAX(p->panel, batch / p->panel * p->panel);
    f->least_rows = LT_MIN(f->least_rows, f->rows);
    f->most_rows = LT_MAX(f->most_rows, f->rows);
    f->meter.tiles_total = atomic_load(&f->meter.tiles_done);
    f->meter.pairs_total = pairs;
    return each_block(f, next_row, count_block, NULL);
}

/* The rows of a block, unless they are those of the call before. */
static lt_status pack_rows(lt_gram_filling *f, const lt_gram_block *b)
{
    lt_gram *g = f->g;
    const bool whole = g->keeps_rows && g->plan.bulk && g->plan.n_slices == 1 && !f->left && !f->lead;
    if (whole && g->kept_rows == f->x->data) return LT_OK;
    g->kept_rows = NULL;
    LT_TRY(pack(f, f->x, b->first_row, b->n_rows, &g->a, f->left ? f->left + b->first_row : NULL, b->slice));
    if (whole) g->kept_rows = f->x->data;
    return LT_OK;
}

static lt_status compute_slice(lt_gram_filling *f, const lt_gram_block *b, bool first)
{
    lt_gram *g = f->g;
    const lt_gram_plan *p = &g->plan;
    if (first) LT_TRY(pack_rows(f, b));
    if (!p->cross && b->first_row == b->first_column) return run_block(f, &g->a, &g->a, *b);
    LT_TRY(pack(f, p->cross ? f->y : f->x, b->first_column, b->n_columns, &g->b, f->right ? f->right + b->first_column : NULL, b->slice));
    return run_block(f, &g->a, &g->b, *b);
}

static lt_status compute_block(lt_gram_filling *f, const lt_gram_block *b, bool first)
{
    lt_gram_block part = led(f, b);
    for (; part.slice < f->g->plan.n_slices; part.slice++) LT_TRY(compute_slice(f, &part, first));
    return LT_OK;
}

/* ---- bands ---- */

/* Bands of rows of K, one after the other, each written whole: what lies left of the diagonal is the mirror image of tiles above it, which
   were computed before and are computed again (decision 149). Bits are those of a matrix that is mirrored. */
static lt_status each_band(lt_gram_filling *f, block_fn visit)
{
    const int64_t n = f->g->plan.n;
    for (int64_t row = 0, n_rows; row < n; row += n_rows) {
        n_rows = LT_MIN(f->g->plan.band_rows, n - row);
        const int64_t end = row + n_rows;
        const lt_gram_block part[] = {
            { .written = LT_BLOCK_MIRROR_ONLY, .first_row = 0, .n_rows = row, .first_column = row, .n_columns = n_rows },
            { .written = LT_BLOCK_MIRRORED, .first_row = row, .n_rows = n_rows, .first_column = row, .n_columns = n_rows },
            { .written = LT_BLOCK_AS_IT_IS, .first_row = row, .n_rows = n_rows, .first_column = end, .n_columns = n - end },
        };
        for (size_t i = 0; i < LT_LEN(part); i++)
            if (part[i].n_rows && part[i].n_columns) LT_TRY(visit(f, &part[i], false));
    }
    return LT_OK;
}

static lt_status compute_in_band(lt_gram_filling *f, const lt_gram_block *b, bool first)
{
    const lt_gram *g = f->g;
    (void)first;
    lt_gram_buffer a = g->a, columns = g->a;
    a.p = (char *)a.p + (size_t)(b->first_row / g->plan.panel) * g->plan.panel_bytes;
    columns.p = (char *)columns.p + (size_t)(b->first_column / g->plan.panel) * g->plan.panel_bytes;
    return run_block(f, &a, &columns, *b);
}

static lt_status compute_bands(lt_gram_filling *f)
{
    LT_TRY(each_band(f, count_block));
    LT_TRY(pack(f, f->x, 0, f->g->plan.n, &f->g->a, NULL, 0));
    return each_band(f, compute_in_band);
}

static lt_status compute_blocks(lt_gram_filling *f)
{
    const lt_gram_plan *p = &f->g->plan;
    LT_TRY(each_block(f, 0, count_block, NULL));
    return each_block(f, 0, compute_block, p->batch.max > p->batch.min ? resize_batch : NULL);
}

/* ---- the call ---- */

static lt_status normalize(lt_gram_filling *f)
{
    lt_gram *g = f->g;
    if (f->y) return lt_post_normalize_cross(&f->out, g->pool, g->plan.n, f->left, f->right);
    return lt_post_normalize(&f->out, g->pool, g->opt.jitter, g->norms.p);
}

/* Whole lines written past the caches need not be read first. */
void lt_gram_choose_copy(lt_gram_filling *f, double entries)
{
    const lt_vec_set *vec = lt_vec_set_of(lt_isa_best(), f->out.f32 ? LT_F32 : LT_F64);
    f->out.streaming = entries * (f->out.f32 ? 4 : 8) > LT_STREAM_FROM_BYTES;
    f->out.copy = f->out.streaming ? vec->copy_streaming : vec->copy;
    f->out.lines = !f->out.f32 && !f->out.packed && (uintptr_t)f->out.K % sizeof(double) == 0 && f->out.n_columns % LT_LINE_DOUBLES == 0;
    f->out.narrow = lt_vec_set_of(lt_isa_best(), LT_F64)->store[LT_F32];
    f->out.fence = vec->fence;
}

/* What the caller has not touched of a large K then comes in large pages (decision 113): a first call of q = 6 spends half of its time in faults
   otherwise. Only advice, so a refusal, as for a file, does not matter. */
static void prefer_large_pages(const lt_gram_out *o, double entries)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t large = 2 << 20;
    double bytes = entries * (o->f32 ? 4 : 8);
    if (bytes < LT_STREAM_FROM_BYTES) return;
    uintptr_t first = ((uintptr_t)o->K + large - 1) / large * large, end = ((uintptr_t)o->K + (uintptr_t)bytes) / large * large;
    if (end > first) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)o, (void)entries;
#endif
}

lt_status lt_gram_run(lt_gram_filling *f)
{
    lt_gram *g = f->g;
    int64_t start = lt_clock_ns();
    f->meter.start_ns = start;
    LT_TRY(make_plan(g, f->x, f->y));
    f->out.half = g->plan.half;
    f->out.n_columns = g->plan.m;
    double entries = g->opt.packed ? 0.5 * (double)g->plan.n * (double)(g->plan.n + 1) : (double)g->plan.n * (double)g->plan.m;
    lt_gram_choose_copy(f, entries);
    f->out.lines &= !g->plan.by_bands;
    prefer_large_pages(&f->out, entries);
    if (g->opt.normalize && f->y) {
        f->left = g->norms.p;
        f->right = f->left + g->plan.n;
    }
    if (g->plan.method == LT_GRAM_PRODUCT && g->plan.bulk && f->out.lines && !f->left)
        f->lead = (int64_t)((uintptr_t)f->out.K % LT_LINE_BYTES / sizeof(double));
    f->rows = f->least_rows = f->most_rows = g->plan.block_rows;
    f->batch = lt_batch_start(f->rows, g->plan.batch, g->opt.vram_fraction);
    f->block_ns = lt_clock_ns();
    LT_TRY(g->plan.by_bands ? compute_bands(f) : compute_blocks(f));
    int64_t post = lt_clock_ns();
    LT_TRY(lt_similarity_disturb(f));
    if (g->opt.normalize) LT_TRY(normalize(f));
    int64_t end = lt_clock_ns();
    lt_gram_report(f, end - post, end - start);
    if (g->opt.profile_memory) LT_TRY(lt_gram_report_memory(f));
    lt_gram_note_run(g);
    return LT_OK;
}
