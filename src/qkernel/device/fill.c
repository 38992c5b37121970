/* K block by block: rows made on the device, panels of tiles, copies to the host. SPDX-License-Identifier: BSD-3-Clause

   A block of rows stays while blocks of columns pass. Each pair of blocks is computed in panels of
   rows, one launch each; while a panel is computed those before it are copied to the host. */
#include "qkernel/device/fill.h"

#include "base/status.h"
#include "qkernel/rows/closed.h"
#include "trace/clock.h"

#include <string.h>

static int64_t round_up(int64_t v, int64_t unit) { return (v + unit - 1) / unit * unit; }

/* ---- rows ---- */

lt_status lt_call_rows(lt_call *f, const lt_rows *x, int64_t first, int64_t n, bool columns, int64_t padded)
{
    lt_device_gram *d = f->d;
    void *to = columns ? d->b.at : d->a.at;
    f->rows_made += n;
    if (d->method == LT_GRAM_STATES) LT_TRY(lt_row_maker_states(&d->maker, x, first, n, to));
    else LT_TRY(lt_row_maker_wires(&d->maker, x, first, n, padded, to));
    return d->opt->normalize ? lt_row_maker_roots(&d->maker, n, padded, to, !d->plan.cross, d->roots[columns].at) : LT_OK;
}

/* New rows wait for the panels that read the old ones, and the panels to come wait for the new ones. */
static lt_status replace_rows(lt_call *f, const lt_rows *x, int64_t first, int64_t n, bool columns, int64_t padded)
{
    LT_TRY(lt_panels_join(f));
    LT_TRY(lt_call_rows(f, x, first, n, columns, padded));
    return f->d->n_panel_streams > 1 ? lt_event_record(f->d->rows_ready, f->d->stream) : LT_OK;
}

/* ---- entries that are not finite ---- */

lt_status lt_call_begin_faults(lt_call *f)
{
    lt_tile_faults *at = f->d->faults.at;
    LT_TRY(lt_stream_fill(f->d->stream, &at->count, 0, sizeof at->count));
    return lt_stream_fill(f->d->stream, &at->first, 0xff, sizeof at->first);
}

lt_status lt_call_end_faults(lt_call *f)
{
    return lt_stream_copy(f->d->stream, f->d->host_faults.at, f->d->faults.at, sizeof f->faults, LT_TRANSFER_D2H, f->d->host_faults.pinned);
}

static lt_status judge_faults(lt_call *f)
{
    f->faults = *(const lt_tile_faults *)f->d->host_faults.at;
    if (!f->faults.count || f->d->opt->repair) return LT_OK;
    return LT_FAIL(LT_ERR_INTERNAL, "gram: %llu numbers are not finite, the first at row %llu, column %llu", (unsigned long long)f->faults.count,
                   (unsigned long long)(f->faults.first >> 32), (unsigned long long)(f->faults.first & UINT32_MAX));
}

/* ---- progress ---- */

static lt_status report_progress(lt_call *f)
{
    lt_gram_meter *m = f->q->meter;
    if (m->fn && f->q->leads) {
        lt_gram_progress now = { .size = sizeof now, .tiles_done = m->tiles_done, .tiles_total = m->tiles_total, .pairs_done = m->pairs_done,
                                 .pairs_total = m->pairs_total, .seconds = lt_seconds_since(m->start_ns) };
        if (!m->fn(m->ctx, &now)) m->stop = true;
    }
    if (!m->stop) return LT_OK;
    LT_TRY(lt_panels_join(f));
    LT_TRY(lt_stream_sync(f->d->stream));
    if (!f->q->leads) return LT_FAIL(LT_ERR_CANCELLED, "gram: stopped with the other devices");
    return LT_FAIL(LT_ERR_CANCELLED, "gram: stopped by the progress function after %lld of %lld tiles", (long long)m->tiles_done,
                   (long long)m->tiles_total);
}

static void count_panel(lt_call *f, const lt_panel *p)
{
    f->q->meter->tiles_done += p->tiles;
    f->q->meter->pairs_done += lt_panel_pairs(f, p);
}

/* The oldest panel that is not on the host. */
static lt_status finish_panel(lt_call *f)
{
    lt_panel p = f->waiting[0];
    memmove(f->waiting, f->waiting + 1, (size_t)--f->n_waiting * sizeof p);
    if (f->out.K) LT_TRY(lt_panel_fetch(f, &p));
    count_panel(f, &p);
    return report_progress(f);
}

/* ---- panels ---- */

static lt_status run_panel(lt_call *f, lt_panel *p, bool whole)
{
    LT_TRY(lt_panel_compute(f, p));
    if (whole || !f->d->plan.whole_k) f->waiting[f->n_waiting++] = *p;
    else count_panel(f, p);
    return f->n_waiting > f->d->n_panel_streams ? finish_panel(f) : LT_OK;
}

/* The next `step` of rows: the one after the last, or with other devices at work the first nobody has taken. */
static int64_t take_rows(lt_call *f, int64_t after, int64_t step, bool shared)
{
    return f->q->share && shared ? atomic_fetch_add(&f->q->share->next_row, step) : after;
}

typedef struct block { int64_t row, n_rows, column, n_columns, b_padded; bool same; } block; /* same: rows with themselves */

/* All panels of a block of rows against a block of columns. whole: their rows are, afterwards. */
static lt_status run_block(lt_call *f, const block *b, bool whole)
{
    const lt_gram_device_plan *plan = &f->d->plan;
    bool dealt = plan->bulk && f->q->share; /* where all rows are held, devices share panels; else blocks of rows */
    int64_t step = plan->panel_rows;
    for (int64_t at = take_rows(f, 0, step, dealt); at < b->n_rows; at = take_rows(f, at + step, step, dealt)) {
        int64_t skip = b->same && plan->half ? at : 0; /* columns left of a panel were done by panels before */
        lt_panel p = { .row = b->row + at, .n_rows = LT_MIN(step, b->n_rows - at), .a_row = at, .column = b->column + skip,
                       .n_columns = b->n_columns - skip, .b_row = skip, .b = b->same ? &f->d->a : &f->d->b, .b_padded = b->b_padded };
        LT_TRY(run_panel(f, &p, whole));
    }
    return LT_OK;
}

/* ---- blocks ---- */

/* A block of rows against all its columns. */
static lt_status run_rows(lt_call *f, int64_t row, int64_t n_rows)
{
    lt_device_gram *d = f->d;
    const lt_gram_device_plan *p = &d->plan;
    int64_t columns_from = 0, unit = LT_MAX(d->kernels.tile_rows, d->kernels.tile_columns);
    f->a_padded = round_up(n_rows, unit);
    LT_TRY(replace_rows(f, f->q->x, row, n_rows, false, f->a_padded));
    if (f->rows_made == n_rows) LT_TRY(lt_event_record(d->mark[2], d->stream));
    if (!p->cross) {
        bool last = p->half ? row + n_rows >= p->n : n_rows == p->n;
        LT_TRY(run_block(f, &(block){ row, n_rows, row, n_rows, f->a_padded, true }, last));
        columns_from = p->half ? row + n_rows : 0;
    }
    for (int64_t column = columns_from, n; column < p->m; column += n) {
        n = LT_MIN(p->block_columns, p->m - column);
        if (!p->cross && column == row) { n = n_rows; continue; }
        if (!p->cross && column < row) n = LT_MIN(n, row - column);
        int64_t padded = round_up(n, unit);
        bool last = column + n >= p->m || (!p->cross && !p->half && column + n == row && row + n_rows >= p->n);
        LT_TRY(replace_rows(f, p->cross ? f->q->y : f->q->x, column, n, true, padded));
        LT_TRY(run_block(f, &(block){ row, n_rows, column, n, padded, false }, last));
    }
    return LT_OK;
}

/* Another number of rows from the next block on, as memory and times per pair say. */
static lt_status resize_batch(lt_call *f)
{
    lt_device_gram *d = f->d;
    int64_t free_bytes, total_bytes, unit = LT_MAX(d->kernels.tile_rows, d->kernels.tile_columns);
    LT_TRY(lt_panels_join(f));
    LT_TRY(lt_stream_sync(d->stream));
    LT_TRY(lt_device_free_memory(d->dev, &free_bytes, &total_bytes));
    int64_t now = lt_clock_ns(), pairs = f->q->meter->pairs_done;
    int64_t batch = lt_batch_step(&f->batch, 1 - (double)free_bytes / (double)LT_MAX(1, total_bytes),
                                  (double)(now - f->block_ns) / (double)LT_MAX(1, pairs - f->block_pairs));
    f->block_ns = now;
    f->block_pairs = pairs;
    f->rows = LT_MIN(LT_MAX(unit, batch / unit * unit), d->plan.batch.max);
    f->least_rows = LT_MIN(f->least_rows, f->rows);
    f->most_rows = LT_MAX(f->most_rows, f->rows);
    return LT_OK;
}

static lt_status run_all(lt_call *f)
{
    lt_device_gram *d = f->d;
    const lt_gram_device_plan *p = &d->plan;
    bool dealt = !p->bulk, dynamic = p->batch.max > p->batch.min;
    for (int i = 0; i < LT_GRAM_MARKS; i++) LT_TRY(lt_event_record(d->mark[i], d->stream)); /* other devices may leave no rows to this one */
    d->maker.begin = d->mark[0];
    f->rows = f->least_rows = f->most_rows = p->block_rows;
    f->batch = lt_batch_start(f->rows, p->batch, d->opt->vram_fraction);
    f->block_ns = lt_clock_ns();
    LT_TRY(lt_call_begin_faults(f));
    if (d->n_panel_streams > 1) LT_TRY(lt_event_record(d->rows_ready, d->stream));
    int64_t n_rows;
    for (int64_t row = take_rows(f, 0, f->rows, dealt); row < p->n; row = take_rows(f, row + n_rows, f->rows, dealt)) {
        n_rows = LT_MIN(f->rows, p->n - row);
        LT_TRY(run_rows(f, row, n_rows));
        if (dynamic) LT_TRY(resize_batch(f));
    }
    LT_TRY(lt_panels_join(f));
    LT_TRY(lt_event_record(d->mark[1], d->stream));
    LT_TRY(lt_call_end_faults(f));
    while (f->n_waiting) LT_TRY(finish_panel(f));
    return lt_stream_sync(d->stream);
}

/* ---- before and after ---- */

static lt_gram_device_sizes sizes_of(const lt_call *f)
{
    const lt_device_gram *d = f->d;
    bool single = d->opt->dtype != LT_GRAM_FLOAT64;
    return (lt_gram_device_sizes){
        .n = f->q->x->n, .m = f->q->y ? f->q->y->n : f->q->x->n, .cross = f->q->y != NULL, .keep = !f->out.K, .shared = f->q->share != NULL,
        .half = !f->q->y && (d->opt->symmetric || d->opt->packed), .element = f->element, .opt = d->opt, .n_slots = d->n_turns,
        .tile_rows = d->kernels.tile_rows, .tile_columns = d->kernels.tile_columns,
        .row_bytes = d->method == LT_GRAM_STATES ? (size_t)1 << (lt_layers_widest(d->circuit) + (single ? 3 : 4))
                                                 : (size_t)(lt_closed_components(d->circuit, d->method) * d->circuit->q) * sizeof(double),
    };
}

static lt_status reserve_all(lt_device_gram *d)
{
    const lt_gram_device_plan *p = &d->plan;
    size_t roots = d->opt->normalize ? sizeof(double) : 0;
    LT_TRY(lt_device_block_reserve(d->dev, &d->a, p->a_bytes, "gram rows"));
    LT_TRY(lt_device_block_reserve(d->dev, &d->b, p->b_bytes, "gram columns"));
    LT_TRY(lt_device_block_reserve(d->dev, &d->k, p->k_bytes, "gram K"));
    LT_TRY(lt_device_block_reserve(d->dev, &d->roots[0], roots * (size_t)p->batch.max, "gram norms"));
    LT_TRY(lt_device_block_reserve(d->dev, &d->roots[1], roots * (size_t)p->block_columns, "gram norms"));
    for (int i = 0; i < d->n_turns; i++) LT_TRY(lt_device_block_reserve(d->dev, &d->turn[i].slot, p->slot_bytes, "gram panels"));
    return LT_OK;
}

static lt_status plan_with_free_memory(lt_device_gram *d, lt_gram_device_sizes *s)
{
    LT_TRY(lt_device_free_memory(d->dev, &s->free_bytes, &s->total_bytes));
    s->free_bytes += (int64_t)(d->a.bytes + d->b.bytes + d->k.bytes);
    for (int i = 0; i < d->n_turns; i++) s->free_bytes += (int64_t)d->turn[i].slot.bytes;
    return lt_gram_device_plan_make(s, &d->plan);
}

/* Memory the device keeps for later is as good as free, but giving it back takes time: only where it is missing. */
static lt_status make_plan(lt_call *f)
{
    lt_device_gram *d = f->d;
    lt_gram_device_sizes s = sizes_of(f);
    d->plan_is_new = !(d->plan.n == s.n && d->plan.m == s.m && d->plan.cross == s.cross && d->plan.half == s.half &&
                       d->plan.row_bytes == s.row_bytes && d->plan.shared == s.shared && d->plan.keep == s.keep && d->a.at);
    if (!d->plan_is_new) return LT_OK;
    lt_status status = plan_with_free_memory(d, &s);
    if (status == LT_ERR_MEMORY || (!status && !(d->plan.whole_k && d->plan.bulk))) {
        LT_TRY(lt_device_memory_trim(d->dev));
        status = plan_with_free_memory(d, &s);
    }
    return status ? status : reserve_all(d);
}

static void count_work(lt_call *f)
{
    const lt_gram_device_plan *p = &f->d->plan;
    lt_panel all = { .n_rows = p->n, .n_columns = p->m };
    if (!f->q->leads) return;
    f->q->meter->tiles_total = lt_panel_tiles(f, &all);
    f->q->meter->pairs_total = lt_panel_pairs(f, &all);
}

/* What a call before may have left behind when it failed. */
static void begin_counts(lt_device_gram *d)
{
    lt_fetch_reset(&d->fetch);
    lt_row_maker_reset(&d->maker);
    for (int i = 0; i < d->n_turns; i++) d->turn[i].under_way = false;
    for (int i = 0; i < d->n_panel_streams; i++) d->panel_stream[i] = (lt_panel_stream){ .stream = d->panel_stream[i].stream };
}

lt_status lt_device_gram_fill(lt_device_gram *d, const lt_device_gram_request *q, lt_gram_info *info, lt_gram_profile *profile)
{
    lt_call f = { .d = d, .q = q, .element = d->opt->return_dtype == LT_GRAM_FLOAT32 ? 4 : 8 };
    bool states = q->method == LT_GRAM_STATES;
    f.out = q->out;
    f.out.n_columns = q->y ? q->y->n : q->x->n;
    d->kept = false;
    LT_TRY(lt_device_gram_prepare(d, q->method, states ? d->circuit->overlap : NULL, states ? d->circuit->n_overlap : 0));
    LT_TRY(make_plan(&f));
    begin_counts(d);
    count_work(&f);
    if (lt_captured_fits(&f)) {
        LT_TRY(lt_captured_run(&f));
    } else {
        lt_captured_drop(d);
        LT_TRY(run_all(&f));
    }
    LT_TRY(judge_faults(&f));
    d->kept = !q->out.K;
    return lt_device_gram_report(&f, info, profile);
}
