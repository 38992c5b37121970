/* Calls of small size as one recording: rows to the device, rows made, tiles, K to the host. SPDX-License-Identifier: BSD-3-Clause

   The first call of a size runs step by step, which brings all memory it needs; the second is recorded and
   replayed, later ones of the same size are replayed. What differs between them, the numbers of X and Y, passes
   through the same page-locked memory. Only calls of one launch of tiles are recorded, whole (decision 77). */
#include "qkernel/device/fill.h"

#include "base/status.h"

static int64_t columns_of(const lt_call *f) { return f->q->y ? f->q->y->n : 0; }

bool lt_captured_fits(const lt_call *f)
{
    const lt_device_gram *d = f->d;
    const lt_gram_device_plan *p = &d->plan;
    if (!d->opt->cuda_graphs || d->circuit->program /* values are evaluated part by part */ || d->plan_is_new || f->q->share || !p->bulk || !p->whole_k || p->panel_rows < p->n) return false;
    size_t k = (size_t)(p->n * p->m) * f->element, x = (size_t)((f->q->x->n + columns_of(f)) * d->circuit->q) * sizeof(double);
    return x <= d->maker.upload.slot_bytes && (!f->out.K || lt_fetch_holds(&d->fetch, k));
}

void lt_captured_drop(lt_device_gram *d) { lt_recording_drop(&d->captured.recording); }

/* All of K: one panel is the whole matrix. */
static lt_panel whole(const lt_call *f)
{
    lt_device_gram *d = f->d;
    int64_t unit = LT_MAX(d->kernels.tile_rows, d->kernels.tile_columns);
    return (lt_panel){ .n_rows = d->plan.n, .n_columns = d->plan.m, .b = f->q->y ? &d->b : &d->a, .b_padded = (d->plan.m + unit - 1) / unit * unit };
}

static lt_fetch_job job_of(const lt_call *f)
{
    const lt_device_gram *d = f->d;
    return (lt_fetch_job){ .from = d->k.at, .n_rows = d->plan.n, .n_columns = d->plan.m, .part = f->out.packed ? LT_FETCH_UPPER : LT_FETCH_ALL };
}

/* The same steps as those of a call that runs, but for events and waits. */
static lt_status queue_all(void *ctx, lt_stream *st)
{
    lt_call *f = ctx;
    lt_device_gram *d = f->d;
    lt_panel p = whole(f);
    lt_fetch_job j = job_of(f);
    int64_t unit = LT_MAX(d->kernels.tile_rows, d->kernels.tile_columns);
    f->a_padded = (d->plan.n + unit - 1) / unit * unit;
    LT_TRY(lt_call_begin_faults(f));
    LT_TRY(lt_call_rows(f, f->q->x, 0, d->plan.n, false, f->a_padded));
    if (f->q->y) LT_TRY(lt_call_rows(f, f->q->y, 0, d->plan.m, true, p.b_padded));
    LT_TRY(lt_panel_compute(f, &p));
    LT_TRY(lt_call_end_faults(f));
    return f->out.K ? lt_fetch_queue(&d->fetch, st, &j, f->element) : LT_OK;
}

static lt_status capture(lt_call *f)
{
    lt_device_gram *d = f->d;
    d->maker.jobs_used = 0; /* the work before has been waited for; what is written now must stay as long as the sequence */
    d->maker.staged = f->capturing = true;
    d->maker.staged_at = 0;
    lt_status s = lt_recording_make(&d->captured.recording, d->stream, queue_all, f);
    d->maker.staged = f->capturing = false;
    d->captured.captures += s == LT_OK;
    return s;
}

static bool matches(const lt_call *f)
{
    const lt_captured_call *c = &f->d->captured;
    return lt_recording_is_made(&c->recording) && c->n == f->d->plan.n && c->m == f->d->plan.m && c->cross == f->d->plan.cross && c->keep == !f->out.K;
}

/* What a replay does, for the report: as many steps as were recorded. */
static void count_replay(lt_call *f)
{
    lt_panel p = whole(f);
    f->replayed = true;
    f->rows_made = f->d->plan.n + columns_of(f);
    f->launches = 1;
    f->tiles = lt_panel_tiles(f, &p);
    f->d->captured.replays++;
    f->q->meter->tiles_done = f->tiles;
    f->q->meter->pairs_done = f->q->meter->pairs_total;
}

lt_status lt_captured_run(lt_call *f)
{
    lt_device_gram *d = f->d;
    lt_fetch_job j = job_of(f);
    LT_TRY(lt_stream_sync(d->stream)); /* page-locked memory is free again */
    size_t used = lt_row_maker_stage(&d->maker, f->q->x, 0, d->plan.n, 0);
    if (f->q->y) (void)lt_row_maker_stage(&d->maker, f->q->y, 0, d->plan.m, used);
    if (!matches(f)) {
        LT_TRY(capture(f));
        d->captured.n = d->plan.n, d->captured.m = d->plan.m, d->captured.cross = d->plan.cross, d->captured.keep = !f->out.K;
    }
    LT_TRY(lt_event_record(d->mark[0], d->stream));
    LT_TRY(lt_recording_replay(&d->captured.recording, d->stream));
    LT_TRY(lt_event_record(d->mark[1], d->stream));
    LT_TRY(lt_stream_sync(d->stream));
    count_replay(f);
    return f->out.K ? lt_fetch_spread(&d->fetch, &j, &f->out, f->element) : LT_OK;
}
