/* Taking up a dataset where an earlier run left it: what the file has, what the journal has, where to go on.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/store_internal.h"

#include "base/files/file.h"

#include <string.h>

void lt_store_mark_row(lt_store *s, int64_t row, int64_t slot, const lt_record_head *h)
{
    s->slot[row] = slot;
    s->code[row] = h->code;
    s->step[row] = h->step;
    s->seconds[row] = h->seconds;
    if (s->device) memcpy(s->device[row], h->device, sizeof h->device);
    if (h->code == LT_RUN_LOST) return; /* the row can be read, and its slab stays in the journal for another run */
    if (--s->slab[row / s->p.chunk_rows].left == 0) s->n_ready++;
}

static int64_t end_row(const lt_store *s, int64_t slab) { return LT_MIN((slab + 1) * s->p.chunk_rows, s->p.rows); }

/* Reads which rows are done. A slab counts only as a whole: its other rows are in the journal. */
static lt_status read_status(lt_store *s)
{
    int64_t n = s->p.rows;
    LT_TRY(lt_file_read_at(s->fd, s->path, s->status_at[0], s->code, (size_t)n));
    LT_TRY(lt_file_read_at(s->fd, s->path, s->status_at[1], s->step, (size_t)n * 4));
    LT_TRY(lt_file_read_at(s->fd, s->path, s->status_at[2], s->seconds, (size_t)n * 4));
    if (s->device) LT_TRY(lt_file_read_at(s->fd, s->path, s->status_at[LT_STORE_STATUS_DEVICE], s->device, (size_t)n * sizeof *s->device));
    for (int64_t b = 0; b < s->n_slabs; b++) {
        s->slab[b].whole = true;
        for (int64_t r = b * s->p.chunk_rows; r < end_row(s, b); r++)
            s->slab[b].whole = s->slab[b].whole && s->code[r] != LT_RUN_PENDING && s->code[r] != LT_RUN_LOST;
    }
    return LT_OK;
}

/* Marks slabs below `kept` as written, and with `all` every whole slab; the others come from the journal. */
static void keep_slabs(lt_store *s, int64_t kept, bool all)
{
    s->n_done = 0;
    for (int64_t b = 0; b < s->n_slabs; b++) {
        int64_t n = end_row(s, b) - b * s->p.chunk_rows;
        s->slab[b].written = s->slab[b].whole && (all || b < kept);
        s->slab[b].left = s->slab[b].written ? 0 : (int32_t)n;
        s->n_done += s->slab[b].written ? n : 0;
    }
}

static lt_status read_head(lt_store *s, int64_t slot, lt_record_head *h)
{
    return lt_journal_read(&s->journal, slot, (uint64_t)s->p.n_steps * s->p.step_bytes, h, sizeof *h);
}

static lt_status row_found(void *ctx, int64_t row, int64_t slot)
{
    lt_store *s = ctx;
    lt_record_head h;
    if (s->slab[row / s->p.chunk_rows].written || s->slot[row] >= 0) { /* a copy */
        lt_journal_release(&s->journal, slot);
        return LT_OK;
    }
    LT_TRY(read_head(s, slot, &h));
    if (h.code == LT_RUN_LOST) { /* this run makes the row */
        lt_journal_release(&s->journal, slot);
        return LT_OK;
    }
    lt_store_mark_row(s, row, slot, &h);
    s->n_done++;
    return LT_OK;
}

/* Whether the journal holds all rows of slabs that are whole in the file and not kept. */
static bool journal_has_rest(const lt_store *s)
{
    for (int64_t r = 0; r < s->p.rows; r++) {
        const lt_store_slab *slab = &s->slab[r / s->p.chunk_rows];
        if (slab->whole && !slab->written && s->slot[r] < 0) return false;
    }
    return true;
}

/* Leaves the file as it is: whole slabs stay, and their rows in the journal are copies. */
static lt_status keep_as_it_is(lt_store *s)
{
    s->scattered = true;
    s->n_ready = 0;
    LT_TRY(read_status(s));
    keep_slabs(s, 0, true);
    for (int64_t r = 0; r < s->p.rows; r++) {
        int64_t slot = s->slot[r];
        lt_store_slab *slab = &s->slab[r / s->p.chunk_rows];
        lt_record_head h;
        if (slot < 0) continue;
        s->slot[r] = -1;
        if (slab->written) {
            lt_journal_release(&s->journal, slot);
            continue;
        }
        LT_TRY(read_head(s, slot, &h));
        lt_store_mark_row(s, r, slot, &h);
        s->n_done++;
    }
    return LT_OK;
}

lt_status lt_store_take_up(lt_store *s, const lt_journal_shape *shape, bool resume)
{
    LT_TRY(read_status(s));
    lt_commit_point point = lt_store_last_point(s);
    bool at_point = lt_store_is_at(s, &point), back = false;
    keep_slabs(s, point.slabs, false);
    LT_TRY(lt_journal_open(&s->journal, shape, resume, row_found, s));
    if (!at_point && s->skeleton_bytes && journal_has_rest(s)) LT_TRY(lt_store_go_back(s, &point, &back));
    if (!at_point && !back) LT_TRY(keep_as_it_is(s));
    for (int64_t r = 0; r < s->p.rows; r++) {
        s->done[r] = s->slab[r / s->p.chunk_rows].written || s->slot[r] >= 0;
        if (!s->done[r]) s->code[r] = LT_RUN_PENDING;
    }
    return LT_OK;
}

/* "auto" is what chooses the steps measured on that kind of card. */
static const char *wish_for(const char *kind) { return strcmp(kind, "sm_90") ? kind : "auto"; }

lt_status lt_store_note_step(lt_store *s, const char *kind)
{
    char noted[LT_JOURNAL_NOTE];
    if (s->sink.put) return LT_OK;
    LT_TRY(lt_journal_note(&s->journal, kind, noted));
    if (!strcmp(noted, kind)) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "%s: cannot be resumed: its rows were made by %s steps, here they would be %s ones, with other last bits: set LATHE_CUDA_STEP=%s, or use the cache folder of the run (LATHE_CACHE)",
                   s->path, noted, kind, wish_for(noted));
}
