/* A dataset file being written: rows handed over, the writer's thread, opening and closing.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/store_internal.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/temporary.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define SYNC_NS (30 * INT64_C(1000000000)) /* what a power failure may cost; as long as systems keep written data in memory anyway */

/* ---- Rows and records -------------------------------------------------------------------------- */

static void point_parts(const lt_store_plan *p, lt_store_row *r)
{
    size_t before = (size_t)p->n_steps * p->step_bytes;
    for (int i = 0; i < LT_PART_OUTPUT; i++)
        r->part[i] = p->part[i].rank ? (float *)((char *)r->record + p->part[i].offset - before) : NULL;
}

static lt_store_row *make_row(const lt_store_plan *p)
{
    lt_store_row *r = lt_calloc(1, sizeof *r);
    if (r) r->record = lt_malloc(LT_MAX(p->rest_bytes, p->step_bytes));
    if (r && !r->record) {
        lt_free(r);
        return NULL;
    }
    if (r) point_parts(p, r);
    return r;
}

static lt_status writer_failed(lt_store *s) /* under the lock */
{
    if (s->status) lt_error_set(s->text);
    return s->status;
}

lt_status lt_store_row_take(lt_store *s, int64_t row, lt_store_row **out)
{
    *out = NULL;
    int64_t start = lt_clock_ns();
    pthread_mutex_lock(&s->lock);
    while (!s->idle && !s->status) pthread_cond_wait(&s->room, &s->lock);
    lt_status st = writer_failed(s);
    lt_store_row *r = st ? NULL : s->idle;
    if (r) s->idle = r->next;
    s->wait_ns += lt_clock_ns() - start;
    pthread_mutex_unlock(&s->lock);
    if (st) return st;
    memset(r->record, 0, s->p.rest_bytes);
    r->row = row;
    r->code = 0;
    r->step = 0;
    r->seconds = 0;
    memset(r->device, 0, sizeof r->device);
    r->begun = false;
    r->next = NULL;
    *out = r;
    return LT_OK;
}

static lt_journal_row journal_row_of(const lt_store_row *r) { return (lt_journal_row){ r->slot, r->at, r->hash }; }

static lt_status add_to_journal(lt_store *s, lt_store_row *r, const void *data, size_t bytes)
{
    lt_journal_row j = journal_row_of(r);
    if (!r->begun) LT_TRY(lt_journal_begin(&s->journal, &j));
    r->begun = true;
    r->slot = j.slot; /* noted now, so that a row that fails gives its slot back */
    lt_status st = lt_journal_add(&s->journal, &j, data, bytes);
    r->at = j.at;
    r->hash = j.hash;
    return st;
}

static lt_status take_step(lt_store *s, lt_store_row *r, const float *states)
{
    return s->sink.put ? s->sink.step(s->sink.ctx, r, states) : add_to_journal(s, r, states, s->p.step_bytes);
}

lt_status lt_store_row_step(lt_store *s, lt_store_row *r, const float *states, int grid)
{
    if (grid == s->p.grid) return take_step(s, r, states);
    /* The record is free until the last step is in; features are filled afterwards. */
    lt_store_pad(states, (int)s->p.realizations * LT_FIELD_CHANNELS, grid, (int)s->p.grid, r->record);
    lt_status st = take_step(s, r, r->record);
    memset(r->record, 0, s->p.rest_bytes);
    return st;
}

static void give_back(lt_store *s, lt_store_row *r)
{
    pthread_mutex_lock(&s->lock);
    r->next = s->idle;
    s->idle = r;
    pthread_cond_broadcast(&s->room);
    pthread_mutex_unlock(&s->lock);
}

void lt_store_row_drop(lt_store *s, lt_store_row *r)
{
    if (!r) return;
    if (r->begun) lt_journal_release(&s->journal, r->slot);
    give_back(s, r);
}

lt_status lt_store_row_put(lt_store *s, lt_store_row *r)
{
    lt_record_head h = { .code = r->code, .step = r->step, .seconds = r->seconds };
    if (s->p.row_devices) memcpy(h.device, r->device, sizeof h.device);
    memcpy(r->record, &h, sizeof h);
    if (s->sink.put) {
        lt_status sent = s->sink.put(s->sink.ctx, r);
        give_back(s, r);
        return sent;
    }
    pthread_mutex_lock(&s->lock);
    lt_status st = writer_failed(s);
    if (!st) {
        r->next = NULL;
        *s->last = r;
        s->last = &r->next;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (st) lt_store_row_drop(s, r);
    return st;
}

/* ---- The writer ------------------------------------------------------------------------------------- */

static lt_status write_ready_slab(lt_store *s, int64_t slab)
{
    if (s->slab[slab].written || s->slab[slab].left) return LT_OK;
    LT_TRY(lt_store_write_slab(s, slab));
    s->n_ready--;
    return lt_store_commit_due(s, s->committed_end, s->end) ? lt_store_commit(s) : LT_OK;
}

/* Whether the journal has become so large that slabs are no longer written in order: a slow row holds up many others. The file is then put
   in order at the end of the run. */
static bool waits_too_long(const lt_store *s)
{
    const uint64_t most_bytes = (uint64_t)16 << 30, slab_bytes = (uint64_t)s->p.chunk_rows * s->journal.slot_bytes;
    int64_t most = s->p.waiting_slabs ? s->p.waiting_slabs : LT_MAX((int64_t)(most_bytes / slab_bytes), 32);
    return s->n_ready > most;
}

/* Writes slabs whose rows are all in the journal, in order: a complete slab waits for those before it. */
static lt_status write_ready_slabs(lt_store *s)
{
    for (; s->next < s->n_slabs && s->slab[s->next].left == 0; s->next++) LT_TRY(write_ready_slab(s, s->next));
    if (!waits_too_long(s)) return LT_OK;
    s->scattered = true;
    for (int64_t b = s->next; b < s->n_slabs; b++) LT_TRY(write_ready_slab(s, b));
    return LT_OK;
}

static lt_status sync_journal(lt_store *s)
{
    int64_t now = lt_clock_ns();
    if (now - s->synced_ns < SYNC_NS) return LT_OK;
    s->synced_ns = now;
    return lt_journal_sync(&s->journal);
}

static lt_status store_row(lt_store *s, lt_store_row *r)
{
    lt_record_head h;
    memcpy(&h, r->record, sizeof h);
    LT_TRY(add_to_journal(s, r, r->record, s->p.rest_bytes));
    lt_journal_row j = journal_row_of(r);
    LT_TRY(lt_journal_end(&s->journal, &j, r->row));
    lt_store_mark_row(s, r->row, r->slot, &h);
    pthread_mutex_lock(&s->lock);
    s->n_done += h.code != LT_RUN_LOST;
    pthread_mutex_unlock(&s->lock);
    LT_TRY(write_ready_slabs(s));
    return sync_journal(s);
}

static void note_failure(lt_store *s, lt_status st)
{
    pthread_mutex_lock(&s->lock);
    if (st && !s->status) {
        s->status = st;
        memcpy(s->text, lt_error_text(), sizeof s->text - 1);
        pthread_cond_broadcast(&s->room);
    }
    pthread_mutex_unlock(&s->lock);
}

/* The next row, or NULL when the store is closing and all are done. */
static lt_store_row *next_row(lt_store *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->closing) pthread_cond_wait(&s->work, &s->lock);
    lt_store_row *r = s->first;
    if (r && !(s->first = r->next)) s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    return r;
}

static void *write_rows(void *ctx)
{
    lt_store *s = ctx;
    lt_trace_thread_name("dataset writer");
    note_failure(s, write_ready_slabs(s)); /* slabs that rows in the journal of an earlier run complete */
    for (lt_store_row *r; (r = next_row(s));) {
        int64_t start = lt_clock_ns();
        if (s->status == LT_OK) note_failure(s, store_row(s, r)); /* only this thread changes it */
        s->stats.write_seconds += lt_seconds_since(start);
        give_back(s, r);
    }
    return NULL;
}

/* ---- Opening ------------------------------------------------------------------------------------------- */

static lt_status allocate(lt_store *s)
{
    int64_t n = s->p.rows;
    s->n_slabs = (n + s->p.chunk_rows - 1) / s->p.chunk_rows;
    s->code = lt_calloc((size_t)n, sizeof *s->code);
    s->step = lt_calloc((size_t)n, sizeof *s->step);
    s->seconds = lt_calloc((size_t)n, sizeof *s->seconds);
    if (s->p.row_devices && !(s->device = lt_calloc((size_t)n, sizeof *s->device))) return LT_ERR_MEMORY;
    s->slot = lt_malloc((size_t)n * sizeof *s->slot);
    s->done = lt_calloc((size_t)n, sizeof *s->done);
    s->slab = lt_calloc((size_t)s->n_slabs, sizeof *s->slab);
    if (!s->code || !s->step || !s->seconds || !s->slot || !s->done || !s->slab) return LT_ERR_MEMORY;
    for (int64_t r = 0; r < n; r++) s->slot[r] = -1;
    for (int i = 0; i < LT_PART_COUNT; i++) {
        const lt_part_plan *part = &s->p.part[i];
        if (!part->rank) continue;
        int64_t dims[LT_MAX_RANK] = { n }, chunk[LT_MAX_RANK] = { s->p.chunk_rows };
        memcpy(dims + 1, part->dim, (size_t)part->rank * sizeof *dims);
        memcpy(chunk + 1, part->chunk, (size_t)part->rank * sizeof *chunk);
        lt_chunk_index_shape(&s->index[i], part->rank + 1, dims, chunk);
        s->index[i].span = lt_malloc((size_t)s->index[i].n_chunks * sizeof *s->index[i].span);
        if (!s->index[i].span) return LT_ERR_MEMORY;
    }
    return LT_OK;
}

static lt_status make_rows(lt_store *s)
{
    for (int i = 0; i < s->p.rows_on_the_way; i++) {
        lt_store_row *r = make_row(&s->p);
        if (!r) return LT_ERR_MEMORY;
        r->next = s->idle;
        s->idle = r;
    }
    return LT_OK;
}

static lt_status open_parts(lt_store *s, const void *identity, size_t identity_bytes, bool resume)
{
    LT_TRY(lt_store_check_compression(s->p.compression));
    LT_TRY(lt_pool_create(0, &s->pool)); /* its own: the shared one belongs to the rollouts */
    LT_TRY(allocate(s));
    s->fd = open(s->path, O_RDWR | O_CLOEXEC);
    if (s->fd < 0) return LT_FAIL(lt_file_status(errno), "%s: cannot open for writing: %s", s->path, strerror(errno));
    LT_TRY(lt_store_attach(s));
    lt_journal_shape shape = { lt_sha256_of(identity, identity_bytes), s->p.rows, s->p.n_steps, s->p.step_bytes, s->p.rest_bytes };
    LT_TRY(lt_store_take_up(s, &shape, resume));
    return make_rows(s);
}

static void release(lt_store *s)
{
    for (lt_store_row *r = s->idle, *next; r; r = next) {
        next = r->next;
        lt_free(r->record);
        lt_free(r);
    }
    for (int i = 0; i < LT_PART_COUNT; i++) lt_free(s->index[i].span);
    if (s->fd >= 0) close(s->fd);
    lt_journal_close(&s->journal);
    lt_store_claim_release(s->replaces);
    for (int i = 0; i < (int)LT_LEN(s->place); i++) lt_temporary_unlist(s->place[i]);
    lt_pool_destroy(s->pool);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->room);
    lt_free(s->code);
    lt_free(s->step);
    lt_free(s->seconds);
    lt_free(s->device);
    lt_free(s->slot);
    lt_free(s->done);
    lt_free(s->slab);
    lt_free(s->path);
    lt_free(s);
}

static void remove_files(lt_store *s)
{
    unlink(s->path);
    lt_journal_remove(&s->journal);
}

/* Moves path and journal from the claim to the store; the claim is empty afterwards. */
static void take_over(lt_store *s, lt_store_claim *c)
{
    s->path = c->path;
    s->journal = c->journal;
    memcpy(s->place, c->place, sizeof s->place);
    memset(c->place, 0, sizeof c->place);
    c->path = NULL;
    c->journal = (lt_journal){ .fd = -1 };
    lt_store_claim_release(c);
}

lt_status lt_store_open(lt_store_claim *c, const lt_store_plan *p, const void *identity, size_t identity_bytes, bool resume, lt_store **out)
{
    *out = NULL;
    lt_store *s = lt_calloc(1, sizeof *s);
    if (!s) {
        if (!resume) unlink(c->path);
        lt_store_claim_release(c);
        return LT_ERR_MEMORY;
    }
    take_over(s, c);
    s->fd = -1;
    s->p = *p;
    s->last = &s->first;
    s->synced_ns = lt_clock_ns();
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->room, NULL);
    lt_status st = open_parts(s, identity, identity_bytes, resume);
    if (!st && pthread_create(&s->writer, NULL, write_rows, s)) st = LT_FAIL(LT_ERR_MEMORY, "%s: no thread for the writer", s->path);
    if (st) {
        if (!resume) remove_files(s); /* just made, and nothing in it */
        release(s);
        return st;
    }
    *out = s;
    return LT_OK;
}

lt_status lt_store_open_sink(const lt_store_plan *p, const lt_store_sink *sink, lt_store **out)
{
    *out = NULL;
    lt_store *s = lt_calloc(1, sizeof *s);
    if (!s) return LT_ERR_MEMORY;
    s->fd = s->journal.fd = -1;
    s->p = *p;
    s->sink = *sink;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->room, NULL);
    lt_status st = make_rows(s);
    if (st) release(s);
    else *out = s;
    return st;
}

void lt_store_close_sink(lt_store *s)
{
    if (s) release(s);
}

bool lt_store_row_done(const lt_store *s, int64_t row) { return s->done && s->done[row]; }

/* ---- Closing ----------------------------------------------------------------------------------------------- */

/* Writes what is only in the journal: slabs with missing rows get zeros for those. */
static lt_status write_rest(lt_store *s)
{
    for (int64_t b = 0; b < s->n_slabs; b++) {
        int64_t first = b * s->p.chunk_rows, last = LT_MIN(first + s->p.chunk_rows, s->p.rows), here = 0;
        for (int64_t r = first; r < last; r++) here += s->slot[r] >= 0;
        if (!s->slab[b].written && here) LT_TRY(lt_store_write_slab(s, b));
    }
    return LT_OK;
}

static void stop_writer(lt_store *s)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->writer, NULL);
}

void lt_store_discard(lt_store *s)
{
    stop_writer(s);
    remove_files(s);
    release(s);
}

void lt_store_replace(lt_store *s, lt_store_claim *old) { s->replaces = old; }

void lt_store_replace_anew(lt_store *s, lt_store_claim *old)
{
    s->replaces = old;
    s->anew = true;
}

/* The journal goes after the rename: a kill between the two leaves a complete copy that the next run recognises by it. */
static lt_status take_place(const lt_store *s)
{
    if (fsync(s->fd)) return LT_FAIL(LT_ERR_IO, "%s: cannot sync: %s", s->path, strerror(errno));
    if (s->anew) LT_TRY(lt_store_claim_clear(s->replaces));
    if (rename(s->path, s->replaces->path)) return LT_FAIL(LT_ERR_IO, "%s: cannot take the place of %s: %s", s->path, s->replaces->path, strerror(errno));
    lt_file_sync_folder(s->replaces->path);
    return LT_OK;
}

/* Puts a complete file in order if it is not, and removes its journal. */
static lt_status finish(lt_store *s)
{
    if (s->n_done < s->p.rows) return LT_OK;
    if (s->scattered && s->skeleton_bytes) LT_TRY(lt_store_write_in_order(s));
    if (s->replaces) LT_TRY(take_place(s));
    lt_journal_remove(&s->journal);
    return LT_OK;
}

static lt_status close_store(lt_store *s, bool only_whole, lt_store_stats *stats)
{
    int64_t start = lt_clock_ns();
    stop_writer(s);
    lt_status st = s->status;
    if (!st) st = write_rest(s);
    if (st && !s->status) note_failure(s, st);
    lt_status committed = lt_store_commit(s); /* also after a failure, so that slabs that were appended whole are part of the file */
    if (!st && committed) note_failure(s, st = committed);
    struct { char text[LT_ERROR_TEXT_BYTES]; } failure;
    memcpy(failure.text, s->text, sizeof failure.text);
    if (!committed && ftruncate(s->fd, (off_t)s->end) && !st) st = LT_FAIL(LT_ERR_IO, "%s: cannot set its size: %s", s->path, strerror(errno));
    if (!st) st = finish(s);
    s->stats.file_bytes = s->end;
    s->stats.wait_seconds = 1e-9 * (double)(s->wait_ns + lt_clock_ns() - start);
    if (stats) *stats = s->stats;
    if (st && only_whole) remove_files(s);
    release(s);
    if (st && failure.text[0]) lt_error_set(failure.text);
    return st;
}

lt_status lt_store_close(lt_store *s, lt_store_stats *stats) { return close_store(s, false, stats); }
lt_status lt_store_close_whole(lt_store *s, lt_store_stats *stats) { return close_store(s, true, stats); }
