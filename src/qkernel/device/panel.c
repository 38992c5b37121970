/* Panels of K: lists of tiles, launches in turns on one or more streams, copies to the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/fill.h"

#include "base/status.h"

#include <string.h>

enum { BAND_ROWS = 1536 }; /* of K: tiles of one band share columns while they are in the cache */

/* ---- tiles ---- */

/* Tiles of a panel that hold wanted entries, in bands; counted when list is NULL. */
static int64_t list_tiles(const lt_call *f, const lt_panel *p, lt_tile_at *list)
{
    int64_t tr = f->d->kernels.tile_rows, tc = f->d->kernels.tile_columns, n = 0, band = LT_MAX(tr, BAND_ROWS / tr * tr);
    for (int64_t first = 0; first < p->n_rows; first += band)
        for (int64_t c = 0; c < p->n_columns; c += tc)
            for (int64_t row = first; row < LT_MIN(first + band, p->n_rows); row += tr) {
                if (f->d->plan.half && p->column + c + tc - 1 < p->row + row) continue;
                if (list) list[n] = (lt_tile_at){ (int32_t)row, (int32_t)c };
                n++;
            }
    return n;
}

int64_t lt_panel_tiles(const lt_call *f, const lt_panel *p) { return list_tiles(f, p, NULL); }

int64_t lt_panel_pairs(const lt_call *f, const lt_panel *p)
{
    bool diagonal = f->d->plan.half && p->column == p->row; /* panels begin on the diagonal or lie above it */
    return p->n_rows * p->n_columns - (diagonal ? p->n_rows * (p->n_rows - 1) / 2 : 0);
}

/* ---- turns and streams ---- */

/* The host waits until the launch of this turn has ended; what it did is booked. */
static lt_status free_turn(lt_call *f, lt_panel_turn *t)
{
    double ns;
    if (!t->under_way) return LT_OK;
    t->under_way = false;
    LT_TRY(lt_event_sync(t->done));
    f->d->panel_stream[t->on].outstanding -= t->tiles;
    if (!f->d->opt->profile_memory) return LT_OK;
    LT_TRY(lt_event_elapsed(t->begun, t->done, &ns));
    f->d->panel_stream[t->on].busy_ns += ns;
    return LT_OK;
}

/* The stream with the least work ahead of it. Launches whose blocks meet go one after the other. */
static int choose_stream(const lt_device_gram *d)
{
    int best = 0;
    for (int i = 1; i < d->n_panel_streams && !d->kernels.meets; i++)
        if (d->panel_stream[i].outstanding < d->panel_stream[best].outstanding) best = i;
    return best;
}

lt_status lt_panels_join(lt_call *f)
{
    lt_device_gram *d = f->d;
    for (int i = 0; i < d->n_turns; i++)
        if (d->turn[i].under_way && d->turn[i].on > 0) LT_TRY(lt_event_wait(d->stream, d->turn[i].done));
    return LT_OK;
}

/* ---- launching ---- */

/* The list and the job of a launch. */
static lt_status upload_work(lt_call *f, lt_panel *p, lt_tile_job *job)
{
    lt_device_gram *d = f->d;
    lt_panel_turn *t = &d->turn[p->turn];
    p->tiles = t->tiles = job->n_tiles = lt_panel_tiles(f, p);
    size_t bytes = sizeof *job + (size_t)t->tiles * sizeof(lt_tile_at);
    LT_TRY(lt_host_memory_reserve(d->dev, &t->host_jobs, bytes));
    LT_TRY(lt_device_block_reserve(d->dev, &t->jobs, bytes, "gram jobs"));
    memcpy(t->host_jobs.at, job, sizeof *job);
    list_tiles(f, p, (lt_tile_at *)((char *)t->host_jobs.at + sizeof *job));
    f->tiles += t->tiles;
    return lt_stream_copy(d->panel_stream[t->on].stream, t->jobs.at, t->host_jobs.at, bytes, LT_TRANSFER_H2D, t->host_jobs.pinned);
}

/* Where a panel's entries go, and their mirror images. */
static void choose_places(const lt_call *f, const lt_panel *p, lt_tile_job *job, char **k, char **mirrored)
{
    const lt_device_gram *d = f->d;
    const lt_gram_device_plan *plan = &d->plan;
    job->mirror = plan->half && !f->out.packed;
    if (plan->whole_k) {
        job->pitch = job->mirror_pitch = plan->m;
        *k = (char *)d->k.at + (size_t)(p->row * plan->m + p->column) * f->element;
        *mirrored = (char *)d->k.at + (size_t)(p->column * plan->m + p->row) * f->element;
        return;
    }
    job->pitch = p->n_columns;
    job->mirror_pitch = p->n_rows;
    *k = d->turn[p->turn].slot.at;
    *mirrored = *k + (size_t)(p->n_rows * p->n_columns) * f->element;
}

static lt_tile_job describe_panel(const lt_call *f, const lt_panel *p)
{
    const lt_device_gram *d = f->d;
    lt_tile_job job = { .n_rows = p->n_rows, .n_columns = p->n_columns, .first_row = p->row, .first_column = p->column, .half = d->plan.half,
                        .a_rows = f->a_padded, .b_rows = p->b_padded, .unit_diagonal = !d->plan.cross, .faults = d->faults.at };
    if (d->opt->normalize) {
        job.left = (const double *)d->roots[0].at + p->a_row;
        job.right = (const double *)d->roots[p->b == &d->b].at + p->b_row;
    }
    return job;
}

static lt_status queue_panel(lt_call *f, lt_panel *p)
{
    lt_device_gram *d = f->d;
    lt_tile_job job = describe_panel(f, p);
    char *k, *mirrored;
    choose_places(f, p, &job, &k, &mirrored);
    LT_TRY(upload_work(f, p, &job));
    size_t step = d->method == LT_GRAM_STATES ? d->plan.row_bytes : sizeof(double);
    char *a = (char *)d->a.at + (size_t)p->a_row * step, *b = (char *)p->b->at + (size_t)p->b_row * step, *jobs = d->turn[p->turn].jobs.at;
    return lt_stream_launch(d->panel_stream[d->turn[p->turn].on].stream,
                            &(lt_launch){ d->kernels.tiles, (void *[]){ jobs, jobs + sizeof job, a, b, k, mirrored } });
}

lt_status lt_panel_compute(lt_call *f, lt_panel *p)
{
    lt_device_gram *d = f->d;
    p->number = f->launches++;
    p->turn = (int)(p->number % d->n_turns);
    lt_panel_turn *t = &d->turn[p->turn];
    if (f->capturing) {
        t->on = 0;
        return queue_panel(f, p);
    }
    LT_TRY(free_turn(f, t));
    t->on = choose_stream(d);
    t->number = p->number;
    lt_panel_stream *s = &d->panel_stream[t->on];
    if (t->on > 0) LT_TRY(lt_event_wait(s->stream, d->rows_ready));
    if (d->opt->profile_memory) LT_TRY(lt_event_record(t->begun, s->stream));
    LT_TRY(queue_panel(f, p));
    LT_TRY(lt_event_record(t->done, s->stream));
    t->under_way = true;
    s->launches++;
    s->outstanding += t->tiles;
    if (d->opt->sync_interval == 0 || f->launches % d->opt->sync_interval) return LT_OK;
    f->syncs++;
    return lt_stream_sync(s->stream);
}

/* ---- to the host ---- */

/* Copies wait for this launch and for all before it: their mirror images may lie in the same rows. */
static lt_status wait_for_panel(lt_call *f, const lt_panel *p)
{
    lt_device_gram *d = f->d;
    for (int i = 0; i < d->n_turns; i++)
        if (d->turn[i].under_way && d->turn[i].number <= p->number) LT_TRY(lt_event_wait(d->fetch.stream, d->turn[i].done));
    return LT_OK;
}

lt_status lt_panel_fetch(lt_call *f, const lt_panel *p)
{
    lt_device_gram *d = f->d;
    const char *k = d->plan.whole_k ? (const char *)d->k.at + (size_t)(p->row * d->plan.m) * f->element : d->turn[p->turn].slot.at;
    lt_fetch_job j = { .from = k, .row = p->row, .n_rows = p->n_rows, .column = p->column, .n_columns = p->n_columns };
    if (d->plan.whole_k) j.column = 0, j.n_columns = d->plan.m; /* rows are whole by now: what lies below the diagonal came before */
    j.part = f->out.packed || (d->plan.half && !d->plan.whole_k) ? LT_FETCH_UPPER : LT_FETCH_ALL;
    LT_TRY(wait_for_panel(f, p));
    LT_TRY(lt_fetch_run(&d->fetch, &j, &f->out, f->element));
    if (d->plan.whole_k || !d->plan.half || f->out.packed) return LT_OK;
    lt_fetch_job m = { .from = k + (size_t)(p->n_rows * p->n_columns) * f->element, .row = p->column, .n_rows = p->n_columns, .column = p->row,
                       .n_columns = p->n_rows, .part = LT_FETCH_MIRROR };
    return lt_fetch_run(&d->fetch, &m, &f->out, f->element);
}
