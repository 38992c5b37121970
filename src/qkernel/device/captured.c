/* Calls of small size as one captured sequence: rows up, rows made, tiles, K home. SPDX-License-Identifier: BSD-3-Clause

   The first call of a size runs step by step, which brings all memory it needs; the second is recorded and
   replayed, later ones of the same size are replayed. What differs between them, the numbers of X and Y, passes
   through the same page-locked memory. */
#include "qkernel/device/fill.h"

#include "base/status.h"

static int64_t columns_of(const lt_call *f) { return f->q->y ? f->q->y->n : 0; }

bool lt_captured_fits(const lt_call *f)
{
    const lt_remote *r = f->r;
    const lt_remote_plan *p = &r->plan;
    if (!r->opt->cuda_graphs || r->plan_is_new || f->q->share || !p->bulk || !p->whole_k || p->panel_rows < p->n) return false;
    size_t k = (size_t)(p->n * p->m) * f->element, x = (size_t)((f->q->x->n + columns_of(f)) * r->circuit->q) * sizeof(double);
    return x <= r->maker.pinned_bytes && (!f->out.K || lt_fetch_holds(r->fetch, k));
}

void lt_captured_drop(lt_remote *r)
{
    lt_capture_destroy(r->captured.sequence);
    r->captured.sequence = NULL;
}

/* All of K: one panel is the whole matrix. */
static lt_panel whole(const lt_call *f)
{
    lt_remote *r = f->r;
    int64_t unit = LT_MAX(r->kernels.tile_rows, r->kernels.tile_columns);
    return (lt_panel){ .n_rows = r->plan.n, .n_columns = r->plan.m, .b = f->q->y ? &r->b : &r->a, .b_padded = (r->plan.m + unit - 1) / unit * unit };
}

static lt_fetch_job job_of(const lt_call *f)
{
    const lt_remote *r = f->r;
    return (lt_fetch_job){ .from = r->k.p, .n_rows = r->plan.n, .n_columns = r->plan.m, .part = f->out.packed ? LT_FETCH_UPPER : LT_FETCH_ALL };
}

/* The same steps as those of a call that runs, but for events and waits. */
static lt_status queue_all(lt_call *f)
{
    lt_remote *r = f->r;
    lt_panel p = whole(f);
    lt_fetch_job j = job_of(f);
    int64_t unit = LT_MAX(r->kernels.tile_rows, r->kernels.tile_columns);
    f->a_padded = (r->plan.n + unit - 1) / unit * unit;
    LT_TRY(lt_call_begin_faults(f));
    LT_TRY(lt_call_rows(f, f->q->x, 0, r->plan.n, false, f->a_padded));
    if (f->q->y) LT_TRY(lt_call_rows(f, f->q->y, 0, r->plan.m, true, p.b_padded));
    LT_TRY(lt_panel_compute(f, &p));
    LT_TRY(lt_call_end_faults(f));
    return f->out.K ? lt_fetch_queue(r->fetch, r->stream, &j, f->element) : LT_OK;
}

static lt_status capture(lt_call *f)
{
    lt_remote *r = f->r;
    r->maker.jobs_used = 0; /* the work before has been waited for; what is written now must stay as long as the sequence */
    r->maker.staged = f->capturing = true;
    r->maker.staged_at = 0;
    lt_status s = lt_capture_begin(r->stream);
    if (!s) {
        s = queue_all(f);
        if (s) lt_capture_abort(r->stream);
        else s = lt_capture_end(r->stream, &r->captured.sequence);
    }
    r->maker.staged = f->capturing = false;
    r->captured.captures += s == LT_OK;
    return s;
}

static bool matches(const lt_call *f)
{
    const lt_remote_captured *c = &f->r->captured;
    return c->sequence && c->n == f->r->plan.n && c->m == f->r->plan.m && c->cross == f->r->plan.cross && c->keep == !f->out.K;
}

/* What a replay does, for the report: as many steps as were recorded. */
static void count_replay(lt_call *f)
{
    lt_panel p = whole(f);
    f->replayed = true;
    f->rows_made = f->r->plan.n + columns_of(f);
    f->launches = 1;
    f->tiles = lt_panel_tiles(f, &p);
    f->r->captured.replays++;
    f->q->meter->tiles_done = f->tiles;
    f->q->meter->pairs_done = f->q->meter->pairs_total;
}

lt_status lt_captured_run(lt_call *f)
{
    lt_remote *r = f->r;
    lt_fetch_job j = job_of(f);
    LT_TRY(lt_stream_sync(r->stream)); /* page-locked memory is free again */
    size_t used = lt_row_maker_stage(&r->maker, f->q->x, 0, r->plan.n, 0);
    if (f->q->y) (void)lt_row_maker_stage(&r->maker, f->q->y, 0, r->plan.m, used);
    if (!matches(f)) {
        lt_captured_drop(r);
        LT_TRY(capture(f));
        r->captured.n = r->plan.n, r->captured.m = r->plan.m, r->captured.cross = r->plan.cross, r->captured.keep = !f->out.K;
    }
    LT_TRY(lt_event_record(r->mark[0], r->stream));
    LT_TRY(lt_capture_replay(r->stream, r->captured.sequence));
    LT_TRY(lt_event_record(r->mark[1], r->stream));
    LT_TRY(lt_stream_sync(r->stream));
    count_replay(f);
    return f->out.K ? lt_fetch_spread(r->fetch, &j, &f->out, f->element) : LT_OK;
}
