/* The tiles that a rank is dealt: computed one after the other while a thread writes the one before. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/run.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { SLOTS = 2 };

typedef struct slot {
    void   *tile;
    int64_t unit;
    bool    full;          /* waits to be written */
} slot;

typedef struct tiler {
    lt_file_run    *r;
    lt_work        *work;
    slot            slot[SLOTS];
    void           *stripe[2]; /* of the thread that computes, of that which writes */
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            ending;
    lt_status       failure;   /* of writing */
    lt_error        why;
    pthread_t       writer;
} tiler;

lt_rows lt_rows_part(const lt_rows *x, int64_t first, int64_t n)
{
    lt_rows part = *x;
    part.data = (const char *)x->data + (size_t)(first * (x->step ? x->step : x->columns)) * lt_dtype_size(x->dtype);
    part.n = n;
    return part;
}

/* ---- Writing -------------------------------------------------------------------------------------------------------------------------- */

static lt_status write_tile(tiler *t, const slot *s)
{
    lt_file_run *r = t->r;
    lt_tile at = lt_layout_tile(&r->layout, s->unit);
    uint64_t sum = lt_layout_sum(&r->layout, at, s->tile);
    LT_TRY(lt_layout_write(&r->layout, r->file, at, s->tile, t->stripe[1]));
    return lt_work_put(t->work, s->unit, LT_TILE_MADE, 1, &(lt_piece){ &sum, sizeof sum });
}

static void *write_tiles(void *ctx)
{
    tiler *t = ctx;
    pthread_mutex_lock(&t->lock);
    for (int next = 0;; next = (next + 1) % SLOTS) {
        slot *s = &t->slot[next];
        while (!s->full && !t->ending) pthread_cond_wait(&t->changed, &t->lock);
        if (!s->full) break;
        pthread_mutex_unlock(&t->lock);
        lt_status status = t->failure ? LT_OK : write_tile(t, s);
        pthread_mutex_lock(&t->lock);
        if (status) {
            t->failure = status;
            lt_error_keep(&t->why);
        }
        s->full = false;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static lt_status start_writer(tiler *t)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for the thread that computes */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&t->writer, NULL, write_tiles, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? LT_FAIL(LT_ERR_MEMORY, "no thread to write tiles: %s", strerror(rc)) : LT_OK;
}

/* Waits until the slot is free. */
static lt_status take_slot(tiler *t, slot *s)
{
    pthread_mutex_lock(&t->lock);
    while (s->full) pthread_cond_wait(&t->changed, &t->lock);
    lt_status failure = t->failure;
    if (failure) lt_error_restore(&t->why);
    pthread_mutex_unlock(&t->lock);
    return failure;
}

static void hand_over(tiler *t, slot *s)
{
    pthread_mutex_lock(&t->lock);
    s->full = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static lt_status end_writer(tiler *t, lt_status s)
{
    pthread_mutex_lock(&t->lock);
    t->ending = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->writer, NULL);
    if (s || !t->failure) return s;
    lt_error_restore(&t->why);
    return t->failure;
}

/* ---- Computing -------------------------------------------------------------------------------------------------------------------------- */

/* lt_gram_fill reports one tile, the caller hears of all. */
static bool pass_progress(void *ctx, const lt_gram_progress *p)
{
    lt_file_run *r = ctx;
    lt_gram_progress all = { .size = sizeof all, .tiles_done = atomic_load(&r->tiles_done), .tiles_total = r->tiles,
                             .pairs_done = atomic_load(&r->pairs_done) + (p ? p->pairs_done : 0),
                             .pairs_total = r->pairs_total, .seconds = lt_seconds_since(r->start_ns) };
    all.pairs_done = LT_MIN(all.pairs_done, all.pairs_total);
    return r->progress ? r->progress(r->progress_ctx, &all) : true;
}

/* States are made where they are needed (decision 250), or read where that is faster (decision 351). */
static lt_status compute_tile(lt_file_run *r, lt_tile at, void *tile)
{
    lt_rows a = lt_rows_part(r->x, at.row, at.n_rows), b = lt_rows_part(r->y ? r->y : r->x, at.column, at.n_columns);
    bool own = !r->y && at.row == at.column;
    LT_TRY(lt_gram_fill(r->g, &a, own ? NULL : &b, tile));
    if (r->roots) lt_roots_divide(r, at, tile);
    return LT_OK;
}

/* A tile of an earlier run stays where it is what its checksum says: the file may have lost what the table has, when the machine stopped. */
static lt_status is_kept(tiler *t, int64_t unit, lt_tile at, void *tile, bool *out)
{
    lt_file_run *r = t->r;
    *out = false;
    if (!r->entry || !lt_table_has(&r->entry[unit])) return LT_OK;
    LT_TRY(lt_layout_read(&r->layout, r->file, at, tile, t->stripe[0], out));
    *out = *out && lt_layout_sum(&r->layout, at, tile) == r->entry[unit].sum;
    return LT_OK;
}

static lt_status run_tiles(tiler *t)
{
    lt_file_run *r = t->r;
    for (int next = 0;;) {
        slot *s = &t->slot[next];
        int64_t unit;
        bool kept;
        LT_TRY(lt_work_next(t->work, &unit));
        if (unit < 0) return LT_OK;
        if (!pass_progress(r, NULL)) return LT_FAIL(LT_ERR_CANCELLED, "stopped");
        LT_TRY(take_slot(t, s));
        lt_tile at = lt_layout_tile(&r->layout, unit);
        LT_TRY(is_kept(t, unit, at, s->tile, &kept));
        if (kept) {
            LT_TRY(lt_work_put(t->work, unit, LT_TILE_KEPT, 1, &(lt_piece){ &r->entry[unit].sum, sizeof r->entry[unit].sum }));
            continue;
        }
        LT_TRY(compute_tile(r, at, s->tile));
        s->unit = unit;
        hand_over(t, s);
        next = (next + 1) % SLOTS;
    }
}

lt_status lt_tiler_run(lt_file_run *r, lt_work *w)
{
    tiler t = { .r = r, .work = w, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    size_t each = lt_layout_entry(&r->layout);
    lt_status s = LT_OK;
    for (int i = 0; i < 2; i++) t.stripe[i] = lt_malloc((size_t)lt_layout_stripe(&r->layout) * each);
    for (int i = 0; i < SLOTS; i++) t.slot[i].tile = lt_malloc_aligned((size_t)(r->layout.side * r->layout.side) * each);
    for (int i = 0; i < 2; i++)
        if (!t.stripe[i] || !t.slot[i].tile) s = LT_ERR_MEMORY;
    r->progress = r->g->opt.progress;
    r->progress_ctx = r->g->opt.progress_ctx;
    r->g->opt.progress = pass_progress;
    r->g->opt.progress_ctx = r;
    if (!s) s = start_writer(&t);
    if (!s) s = end_writer(&t, run_tiles(&t));
    r->g->opt.progress = r->progress;
    r->g->opt.progress_ctx = r->progress_ctx;
    for (int i = 0; i < 2; i++) lt_free(t.stripe[i]);
    for (int i = 0; i < SLOTS; i++) lt_free_aligned(t.slot[i].tile);
    return s;
}
