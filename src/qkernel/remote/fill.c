/* K block by block: rows made on the device, panels of tiles, and the way home. SPDX-License-Identifier: BSD-3-Clause

   A block of rows stays while blocks of columns pass. Each pair of blocks is computed in panels of
   rows, one launch each; while a panel is computed the one before it is brought home. */
#include "qkernel/remote/fill.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/closed.h"
#include "trace/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAND_ROWS = 1536 }; /* of K: tiles of one band share columns while they are in the cache */

/* One launch: a panel of rows against a block of columns. */
typedef struct panel {
    int64_t row, n_rows;              /* of K */
    int64_t column, n_columns;
    int64_t a_row, b_row;             /* in the blocks held */
    const void *b;
    int64_t b_padded;
    int     slot;
} panel;

typedef struct fill {
    lt_remote *r;
    const lt_remote_request *q;
    lt_gram_out out;
    size_t  element;
    int64_t a_padded;
    int64_t rows_made, launches, tiles;
    bool    waiting;                  /* the panel before is computed, or being, and not yet home */
    panel   last;
} fill;

static int64_t round_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }

/* ---- rows ---- */

static lt_status make_rows(fill *f, const lt_rows *x, int64_t first, int64_t n, void *to, int64_t padded)
{
    lt_remote *r = f->r;
    f->rows_made += n;
    if (r->method == LT_GRAM_STATES) return lt_row_maker_states(&r->maker, x, first, n, to, true);
    return lt_row_maker_wires(&r->maker, x, first, n, padded, to);
}

/* ---- tiles ---- */

/* Tiles of a panel that hold wanted entries, in bands; counted when list is NULL. */
static int64_t list_tiles(const fill *f, const panel *p, lt_tile_at *list)
{
    int64_t tr = f->r->kernels.tile_rows, tc = f->r->kernels.tile_columns, n = 0, band = LT_MAX(tr, BAND_ROWS / tr * tr);
    for (int64_t first = 0; first < p->n_rows; first += band)
        for (int64_t c = 0; c < p->n_columns; c += tc)
            for (int64_t row = first; row < LT_MIN(first + band, p->n_rows); row += tr) {
                if (f->r->plan.half && p->column + c + tc - 1 < p->row + row) continue;
                if (list) list[n] = (lt_tile_at){ (int32_t)row, (int32_t)c };
                n++;
            }
    return n;
}

/* The list and the job of a launch, through page-locked memory. Two launches may be under way. */
static lt_status upload_work(fill *f, const panel *p, lt_tile_job *job)
{
    lt_remote *r = f->r;
    int turn = p->slot;
    int64_t n = list_tiles(f, p, NULL);
    size_t bytes = sizeof *job + (size_t)n * sizeof(lt_tile_at);
    if (r->under_way[turn]) LT_TRY(lt_event_sync(r->done[turn]));
    r->under_way[turn] = false;
    if (r->pinned_bytes[turn] < bytes) {
        if (r->pinned[turn]) LT_TRY(r->dev->backend->host_release(r->dev, r->pinned[turn]));
        r->pinned[turn] = NULL;
        r->pinned_bytes[turn] = 0;
        LT_TRY(r->dev->backend->host_alloc(r->dev, bytes, &r->pinned[turn]));
        r->pinned_bytes[turn] = bytes;
    }
    LT_TRY(lt_remote_reserve(r->dev, &r->jobs[turn], bytes, "gram jobs"));
    job->n_tiles = n;
    memcpy(r->pinned[turn], job, sizeof *job);
    list_tiles(f, p, (lt_tile_at *)((char *)r->pinned[turn] + sizeof *job));
    f->tiles += n;
    return lt_stream_copy(r->stream, r->jobs[turn].p, r->pinned[turn], bytes, LT_TRANSFER_H2D, true);
}

/* Where a panel's entries go, and their mirror images. */
static void choose_places(const fill *f, const panel *p, lt_tile_job *job, char **k, char **mirrored)
{
    const lt_remote *r = f->r;
    const lt_remote_plan *plan = &r->plan;
    job->mirror = plan->half && !f->out.packed;
    if (plan->whole_k) {
        job->pitch = job->mirror_pitch = plan->m;
        *k = (char *)r->k.p + (size_t)(p->row * plan->m + p->column) * f->element;
        *mirrored = (char *)r->k.p + (size_t)(p->column * plan->m + p->row) * f->element;
        return;
    }
    job->pitch = p->n_columns;
    job->mirror_pitch = p->n_rows;
    *k = r->slot[p->slot].p;
    *mirrored = *k + (size_t)(p->n_rows * p->n_columns) * f->element;
}

static lt_status compute_panel(fill *f, panel *p)
{
    lt_remote *r = f->r;
    bool states = r->method == LT_GRAM_STATES;
    lt_tile_job job = { .n_rows = p->n_rows, .n_columns = p->n_columns, .first_row = p->row, .first_column = p->column, .half = r->plan.half,
                        .a_rows = f->a_padded, .b_rows = p->b_padded };
    char *k, *mirrored;
    choose_places(f, p, &job, &k, &mirrored);
    LT_TRY(upload_work(f, p, &job));
    size_t step = states ? r->plan.row_bytes : sizeof(double);
    const char *a = (const char *)r->a.p + (size_t)p->a_row * step, *b = (const char *)p->b + (size_t)p->b_row * step;
    char *jobs = r->jobs[p->slot].p;
    f->launches++;
    LT_TRY(lt_stream_launch(r->stream, &(lt_launch){ r->kernels.tiles, (void *[]){ jobs, jobs + sizeof job, (void *)a, (void *)b, k, mirrored } }));
    LT_TRY(lt_event_record(r->done[p->slot], r->stream));
    r->under_way[p->slot] = true;
    return LT_OK;
}

/* ---- the way home ---- */

static lt_status fetch_panel(fill *f, const panel *p)
{
    lt_remote *r = f->r;
    lt_event *ready = r->done[p->slot];
    const char *k = r->plan.whole_k ? (const char *)r->k.p + (size_t)(p->row * r->plan.m) * f->element : r->slot[p->slot].p;
    lt_fetch_job j = { .from = k, .row = p->row, .n_rows = p->n_rows, .column = p->column, .n_columns = p->n_columns };
    if (r->plan.whole_k) j.column = 0, j.n_columns = r->plan.m; /* rows are whole by now: what lies below the diagonal came before */
    j.part = f->out.packed || (r->plan.half && !r->plan.whole_k) ? LT_FETCH_UPPER : LT_FETCH_ALL;
    LT_TRY(lt_fetch_run(r->fetch, ready, &j, &f->out, f->element));
    if (r->plan.whole_k || !r->plan.half || f->out.packed) return LT_OK;
    lt_fetch_job m = { .from = k + (size_t)(p->n_rows * p->n_columns) * f->element, .row = p->column, .n_rows = p->n_columns, .column = p->row,
                       .n_columns = p->n_rows, .part = LT_FETCH_MIRROR };
    return lt_fetch_run(r->fetch, ready, &m, &f->out, f->element);
}

static lt_status tell(fill *f)
{
    lt_gram_meter *m = f->q->meter;
    lt_gram_progress now = { .tiles_done = m->tiles_done, .tiles_total = m->tiles_total, .pairs_done = m->pairs_done, .pairs_total = m->pairs_total,
                             .seconds = 1e-9 * (double)(lt_clock_ns() - m->start_ns) };
    if (!m->fn || m->fn(m->ctx, &now)) return LT_OK;
    LT_TRY(lt_stream_sync(f->r->stream));
    return LT_FAIL(LT_ERR_CANCELLED, "gram: stopped by the progress function after %lld of %lld tiles", (long long)now.tiles_done, (long long)now.tiles_total);
}

/* The panel before this one, once the device has its next work. */
static lt_status finish_last(fill *f)
{
    if (!f->waiting) return LT_OK;
    f->waiting = false;
    if (f->out.K) LT_TRY(fetch_panel(f, &f->last));
    f->q->meter->pairs_done += f->last.n_rows * f->last.n_columns;
    f->q->meter->pairs_done = LT_MIN(f->q->meter->pairs_done, f->q->meter->pairs_total);
    f->q->meter->tiles_done = f->tiles;
    return tell(f);
}

/* All panels of a block of rows against a block of columns. home: their rows are whole afterwards. */
static lt_status run_block(fill *f, int64_t row, int64_t n_rows, int64_t column, int64_t n_columns, const lt_remote_memory *b, int64_t b_padded, bool home)
{
    bool same = b == &f->r->a; /* rows with themselves: columns left of a panel were done by panels before */
    for (int64_t at = 0; at < n_rows; at += f->r->plan.panel_rows) {
        int64_t skip = same && f->r->plan.half ? at : 0;
        panel p = { .row = row + at, .n_rows = LT_MIN(f->r->plan.panel_rows, n_rows - at), .a_row = at, .column = column + skip, .n_columns = n_columns - skip,
                    .b_row = skip, .b = b->p, .b_padded = b_padded, .slot = (int)(f->launches % 2) };
        LT_TRY(compute_panel(f, &p));
        LT_TRY(finish_last(f));
        f->last = p;
        f->waiting = home || !f->r->plan.whole_k;
    }
    return LT_OK;
}

/* ---- blocks ---- */

static lt_status run_rows(fill *f, int64_t row)
{
    lt_remote *r = f->r;
    const lt_remote_plan *p = &r->plan;
    int64_t n_rows = LT_MIN(p->block_rows, p->n - row), columns_from = 0, unit = LT_MAX(r->kernels.tile_rows, r->kernels.tile_columns);
    f->a_padded = round_up(n_rows, unit);
    LT_TRY(make_rows(f, f->q->x, row, n_rows, r->a.p, f->a_padded));
    if (row == 0) LT_TRY(lt_event_record(r->mark[2], r->stream));
    bool more = p->cross || n_rows < p->n;
    if (!p->cross) {
        bool last = p->half ? row + n_rows >= p->n : !more;
        LT_TRY(run_block(f, row, n_rows, row, n_rows, &r->a, f->a_padded, last));
        columns_from = p->half ? row + n_rows : 0;
    }
    for (int64_t column = columns_from, n; column < p->m; column += n) {
        n = LT_MIN(p->block_columns, p->m - column);
        if (!p->cross && column == row) { n = n_rows; continue; }
        if (!p->cross && column < row) n = LT_MIN(n, row - column);
        int64_t padded = round_up(n, unit);
        bool last = column + n >= p->m || (!p->cross && !p->half && column + n == row && row + n_rows >= p->n);
        LT_TRY(make_rows(f, p->cross ? f->q->y : f->q->x, column, n, r->b.p, padded));
        LT_TRY(run_block(f, row, n_rows, column, n, &r->b, padded, last));
    }
    return LT_OK;
}

static lt_status run_all(fill *f)
{
    const lt_remote_plan *p = &f->r->plan;
    lt_remote *r = f->r;
    r->maker.begin = r->mark[0];
    for (int64_t row = 0; row < p->n; row += p->block_rows) LT_TRY(run_rows(f, row));
    LT_TRY(lt_event_record(r->mark[1], r->stream));
    LT_TRY(finish_last(f));
    return lt_stream_sync(r->stream);
}

/* ---- before and after ---- */

static lt_status make_plan(fill *f)
{
    lt_remote *r = f->r;
    bool states = r->method == LT_GRAM_STATES;
    size_t single = r->opt->dtype == LT_GRAM_FLOAT32;
    lt_remote_sizes s = { .n = f->q->x->n, .m = f->q->y ? f->q->y->n : f->q->x->n, .cross = f->q->y != NULL, .keep = !f->out.K,
                          .half = !f->q->y && (r->opt->symmetric || r->opt->packed), .element = f->element, .opt = r->opt,
                          .tile_rows = r->kernels.tile_rows, .tile_columns = r->kernels.tile_columns,
                          .row_bytes = states ? (size_t)1 << (r->circuit->q + (single ? 3 : 4))
                                              : (size_t)(lt_closed_components(r->circuit, r->method) * r->circuit->q) * sizeof(double) };
    if (r->plan.n == s.n && r->plan.m == s.m && r->plan.cross == s.cross && r->plan.half == s.half && r->plan.row_bytes == s.row_bytes &&
        r->plan.whole_k >= s.keep && r->a.p) return LT_OK;
    LT_TRY(r->dev->backend->mem_info(r->dev, &s.free_bytes, &s.total_bytes));
    s.free_bytes += (int64_t)(r->a.bytes + r->b.bytes + r->k.bytes + r->slot[0].bytes + r->slot[1].bytes);
    LT_TRY(lt_remote_plan_make(&s, &r->plan));
    LT_TRY(lt_remote_reserve(r->dev, &r->a, r->plan.a_bytes, "gram rows"));
    LT_TRY(lt_remote_reserve(r->dev, &r->b, r->plan.b_bytes, "gram columns"));
    LT_TRY(lt_remote_reserve(r->dev, &r->k, r->plan.k_bytes, "gram K"));
    for (int i = 0; i < 2; i++) LT_TRY(lt_remote_reserve(r->dev, &r->slot[i], r->plan.slot_bytes, "gram panels"));
    return LT_OK;
}

static void count_work(fill *f)
{
    const lt_remote_plan *p = &f->r->plan;
    panel all = { .n_rows = p->n, .n_columns = p->m };
    f->q->meter->tiles_total = list_tiles(f, &all, NULL);
    f->q->meter->pairs_total = p->half ? p->n * (p->n + 1) / 2 : p->n * p->m;
}

static lt_status report(fill *f, lt_gram_info *info, lt_gram_profile *profile)
{
    lt_remote *r = f->r;
    double device_ns, first_rows_ns;
    LT_TRY(lt_event_elapsed(r->mark[0], r->mark[1], &device_ns));
    LT_TRY(lt_event_elapsed(r->mark[0], r->mark[2], &first_rows_ns));
    info->device_seconds = 1e-9 * device_ns;
    /* Rows of later blocks are made in turns with tiles: taken to cost what the first ones did. */
    info->states_seconds = 1e-9 * first_rows_ns * (double)f->rows_made / (double)LT_MIN(r->plan.block_rows, r->plan.n);
    info->product_seconds = info->device_seconds - info->states_seconds;
    info->tiles = f->tiles;
    info->states_built = f->rows_made;
    info->pairs = f->q->meter->pairs_total;
    info->transfer_seconds = lt_fetch_seconds(r->fetch);
    info->peak_bytes = (int64_t)(r->a.bytes + r->b.bytes + r->k.bytes + r->slot[0].bytes + r->slot[1].bytes + r->maker.coefficients.bytes + r->maker.x.bytes);
    snprintf(info->kernel, sizeof info->kernel, "%s", r->kernels.name);
    snprintf(info->plan, sizeof info->plan, "method: %s, %s\n%s\ntiles: %d x %d, %s", lt_gram_method_name(r->method), f->q->reason, r->plan.text,
             r->kernels.tile_rows, r->kernels.tile_columns, r->plan.half ? "upper half, mirrored" : "all of them");
    if (!profile) return LT_OK;
    *profile = (lt_gram_profile){ .peak_bytes = info->peak_bytes, .d2h_bytes = lt_fetch_bytes(r->fetch), .d2h_seconds = lt_fetch_seconds(r->fetch),
                                  .h2d_bytes = (int64_t)r->maker.x.bytes, .kernel_launches = f->launches, .kernel_seconds = 1e-9 * device_ns };
    const struct { const char *name; const lt_remote_memory *m; } all[] = { { "row states", &r->a }, { "column states", &r->b }, { "K", &r->k },
                                                                          { "panels", &r->slot[0] }, { "panels ", &r->slot[1] } };
    for (size_t i = 0; i < LT_LEN(all); i++) {
        if (!all[i].m->bytes) continue;
        profile->allocation[profile->n_allocations].name = all[i].name;
        profile->allocation[profile->n_allocations++].bytes = (int64_t)all[i].m->bytes;
    }
    int64_t free_bytes;
    return r->dev->backend->mem_info(r->dev, &free_bytes, &profile->total_bytes);
}

lt_status lt_remote_fill(lt_remote *r, const lt_remote_request *q, lt_gram_info *info, lt_gram_profile *profile)
{
    fill f = { .r = r, .q = q, .element = r->opt->return_dtype == LT_GRAM_FLOAT32 ? 4 : 8 };
    f.out = q->out;
    f.out.n_columns = q->y ? q->y->n : q->x->n;
    r->kept = false;
    LT_TRY(lt_remote_prepare(r, q->method, q->method == LT_GRAM_STATES ? r->circuit->overlap : NULL,
                             q->method == LT_GRAM_STATES ? r->circuit->n_overlap : 0));
    lt_fetch_reset(r->fetch);
    LT_TRY(make_plan(&f));
    count_work(&f);
    LT_TRY(run_all(&f));
    r->kept = !q->out.K;
    return report(&f, info, profile);
}
