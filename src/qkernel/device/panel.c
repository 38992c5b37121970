/* Panels of K: lists of tiles, launches in turns on one or more streams, and the way home.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/fill.h"

#include "base/status.h"

#include <string.h>

enum { BAND_ROWS = 1536 }; /* of K: tiles of one band share columns while they are in the cache */

/* ---- tiles ---- */

/* Tiles of a panel that hold wanted entries, in bands; counted when list is NULL. */
static int64_t list_tiles(const lt_call *f, const lt_panel *p, lt_tile_at *list)
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

int64_t lt_panel_tiles(const lt_call *f, const lt_panel *p) { return list_tiles(f, p, NULL); }

int64_t lt_panel_pairs(const lt_call *f, const lt_panel *p)
{
    bool diagonal = f->r->plan.half && p->column == p->row; /* panels begin on the diagonal or lie above it */
    return p->n_rows * p->n_columns - (diagonal ? p->n_rows * (p->n_rows - 1) / 2 : 0);
}

/* ---- turns and lanes ---- */

/* The host waits until the launch of this turn has ended; what it did is booked. */
static lt_status free_turn(lt_call *f, lt_remote_turn *t)
{
    double ns;
    if (!t->under_way) return LT_OK;
    t->under_way = false;
    LT_TRY(lt_event_sync(t->done));
    f->r->lane[t->lane].outstanding -= t->tiles;
    if (!f->r->opt->profile_memory) return LT_OK;
    LT_TRY(lt_event_elapsed(t->begun, t->done, &ns));
    f->r->lane[t->lane].busy_ns += ns;
    return LT_OK;
}

/* The lane with the least work ahead of it. Launches whose blocks meet go one after the other. */
static int choose_lane(const lt_remote *r)
{
    int best = 0;
    for (int i = 1; i < r->n_lanes && !r->kernels.meets; i++)
        if (r->lane[i].outstanding < r->lane[best].outstanding) best = i;
    return best;
}

lt_status lt_panels_join(lt_call *f)
{
    lt_remote *r = f->r;
    for (int i = 0; i < r->n_turns; i++)
        if (r->turn[i].under_way && r->turn[i].lane > 0) LT_TRY(lt_event_wait(r->stream, r->turn[i].done));
    return LT_OK;
}

/* ---- launching ---- */

static lt_status reserve_pinned(lt_remote *r, lt_remote_turn *t, size_t bytes)
{
    if (t->pinned_bytes >= bytes) return LT_OK;
    if (t->pinned) LT_TRY(r->dev->backend->host_release(r->dev, t->pinned));
    t->pinned = NULL;
    t->pinned_bytes = 0;
    LT_TRY(r->dev->backend->host_alloc(r->dev, bytes, &t->pinned));
    t->pinned_bytes = bytes;
    return LT_OK;
}

/* The list and the job of a launch, through page-locked memory. */
static lt_status upload_work(lt_call *f, lt_panel *p, lt_tile_job *job)
{
    lt_remote *r = f->r;
    lt_remote_turn *t = &r->turn[p->turn];
    p->tiles = t->tiles = job->n_tiles = lt_panel_tiles(f, p);
    size_t bytes = sizeof *job + (size_t)t->tiles * sizeof(lt_tile_at);
    LT_TRY(reserve_pinned(r, t, bytes));
    LT_TRY(lt_remote_reserve(r->dev, &t->jobs, bytes, "gram jobs"));
    memcpy(t->pinned, job, sizeof *job);
    list_tiles(f, p, (lt_tile_at *)((char *)t->pinned + sizeof *job));
    f->tiles += t->tiles;
    return lt_stream_copy(r->lane[t->lane].stream, t->jobs.p, t->pinned, bytes, LT_TRANSFER_H2D, true);
}

/* Where a panel's entries go, and their mirror images. */
static void choose_places(const lt_call *f, const lt_panel *p, lt_tile_job *job, char **k, char **mirrored)
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
    *k = r->turn[p->turn].slot.p;
    *mirrored = *k + (size_t)(p->n_rows * p->n_columns) * f->element;
}

static lt_tile_job describe_panel(const lt_call *f, const lt_panel *p)
{
    const lt_remote *r = f->r;
    lt_tile_job job = { .n_rows = p->n_rows, .n_columns = p->n_columns, .first_row = p->row, .first_column = p->column, .half = r->plan.half,
                        .a_rows = f->a_padded, .b_rows = p->b_padded, .unit_diagonal = !r->plan.cross, .faults = r->faults.p };
    if (r->opt->normalize) {
        job.left = (const double *)r->roots[0].p + p->a_row;
        job.right = (const double *)r->roots[p->b == &r->b].p + p->b_row;
    }
    return job;
}

static lt_status queue_panel(lt_call *f, lt_panel *p)
{
    lt_remote *r = f->r;
    lt_tile_job job = describe_panel(f, p);
    char *k, *mirrored;
    choose_places(f, p, &job, &k, &mirrored);
    LT_TRY(upload_work(f, p, &job));
    size_t step = r->method == LT_GRAM_STATES ? r->plan.row_bytes : sizeof(double);
    char *a = (char *)r->a.p + (size_t)p->a_row * step, *b = (char *)p->b->p + (size_t)p->b_row * step, *jobs = r->turn[p->turn].jobs.p;
    return lt_stream_launch(r->lane[r->turn[p->turn].lane].stream,
                            &(lt_launch){ r->kernels.tiles, (void *[]){ jobs, jobs + sizeof job, a, b, k, mirrored } });
}

lt_status lt_panel_compute(lt_call *f, lt_panel *p)
{
    lt_remote *r = f->r;
    p->number = f->launches++;
    p->turn = (int)(p->number % r->n_turns);
    lt_remote_turn *t = &r->turn[p->turn];
    if (f->capturing) {
        t->lane = 0;
        return queue_panel(f, p);
    }
    LT_TRY(free_turn(f, t));
    t->lane = choose_lane(r);
    t->number = p->number;
    lt_remote_lane *lane = &r->lane[t->lane];
    if (t->lane > 0) LT_TRY(lt_event_wait(lane->stream, r->rows_ready));
    if (r->opt->profile_memory) LT_TRY(lt_event_record(t->begun, lane->stream));
    LT_TRY(queue_panel(f, p));
    LT_TRY(lt_event_record(t->done, lane->stream));
    t->under_way = true;
    lane->launches++;
    lane->outstanding += t->tiles;
    if (r->opt->sync_interval == 0 || f->launches % r->opt->sync_interval) return LT_OK;
    f->syncs++;
    return lt_stream_sync(lane->stream);
}

/* ---- the way home ---- */

/* Copies wait for this launch and for all before it: their mirror images may lie in the same rows. */
static lt_status wait_for_panel(lt_call *f, const lt_panel *p)
{
    lt_remote *r = f->r;
    for (int i = 0; i < r->n_turns; i++)
        if (r->turn[i].under_way && r->turn[i].number <= p->number) LT_TRY(lt_fetch_after(r->fetch, r->turn[i].done));
    return LT_OK;
}

lt_status lt_panel_fetch(lt_call *f, const lt_panel *p)
{
    lt_remote *r = f->r;
    const char *k = r->plan.whole_k ? (const char *)r->k.p + (size_t)(p->row * r->plan.m) * f->element : r->turn[p->turn].slot.p;
    lt_fetch_job j = { .from = k, .row = p->row, .n_rows = p->n_rows, .column = p->column, .n_columns = p->n_columns };
    if (r->plan.whole_k) j.column = 0, j.n_columns = r->plan.m; /* rows are whole by now: what lies below the diagonal came before */
    j.part = f->out.packed || (r->plan.half && !r->plan.whole_k) ? LT_FETCH_UPPER : LT_FETCH_ALL;
    LT_TRY(wait_for_panel(f, p));
    LT_TRY(lt_fetch_run(r->fetch, &j, &f->out, f->element));
    if (r->plan.whole_k || !r->plan.half || f->out.packed) return LT_OK;
    lt_fetch_job m = { .from = k + (size_t)(p->n_rows * p->n_columns) * f->element, .row = p->column, .n_rows = p->n_columns, .column = p->row,
                       .n_columns = p->n_rows, .part = LT_FETCH_MIRROR };
    return lt_fetch_run(r->fetch, &m, &f->out, f->element);
}
