/* Parts of K to the host through a ring of page-locked memory, spread over K by all threads.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/remote/parts.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

enum { MAX_SLOTS = 8 };

typedef struct slot { char *memory; lt_event *arrived; int64_t first, n; } slot; /* rows of the job in it */

struct lt_fetch {
    lt_device *dev;
    lt_stream *stream;
    size_t     slot_bytes;
    int        n_slots;
    bool       pinned;
    char      *memory;
    slot       slot[MAX_SLOTS];
    int64_t    bytes, ns;
};

lt_status lt_fetch_create(lt_device *dev, size_t slot_bytes, int n_slots, lt_fetch **out)
{
    lt_fetch *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    *out = f;
    f->dev = dev;
    f->slot_bytes = slot_bytes;
    f->n_slots = LT_MIN(n_slots, MAX_SLOTS);
    void *p = NULL;
    f->pinned = dev->backend->host_alloc(dev, slot_bytes * (size_t)f->n_slots, &p) == LT_OK;
    if (!f->pinned && !(p = lt_malloc_aligned(slot_bytes * (size_t)f->n_slots))) return LT_ERR_MEMORY; /* slower, but it works */
    f->memory = p;
    LT_TRY(lt_stream_create(dev, &f->stream));
    for (int i = 0; i < f->n_slots; i++) {
        f->slot[i].memory = f->memory + (size_t)i * slot_bytes;
        LT_TRY(lt_event_create(dev, &f->slot[i].arrived));
    }
    return LT_OK;
}

void lt_fetch_destroy(lt_fetch *f)
{
    if (!f) return;
    lt_stream_destroy(f->stream);
    for (int i = 0; i < f->n_slots; i++) lt_event_destroy(f->slot[i].arrived);
    if (f->pinned) (void)f->dev->backend->host_release(f->dev, f->memory);
    else lt_free_aligned(f->memory);
    lt_free(f);
}

void    lt_fetch_reset(lt_fetch *f) { f->bytes = f->ns = 0; }
int64_t lt_fetch_bytes(const lt_fetch *f) { return f->bytes; }
double  lt_fetch_seconds(const lt_fetch *f) { return 1e-9 * (double)f->ns; }
bool    lt_fetch_pinned(const lt_fetch *f) { return f->pinned; }

/* ---- spreading rows over K ---- */

typedef struct spread {
    const lt_fetch_job *j;
    const lt_gram_out  *out;
    const slot         *from;
    size_t              element;
} spread;

/* Where entry (row, column) of K lies: in the square, or in the packed upper triangle. */
static int64_t place(const lt_gram_out *o, int64_t row, int64_t column)
{
    return o->packed ? row * o->n_columns - row * (row - 1) / 2 + column - row : row * o->n_columns + column;
}

static lt_status spread_row(void *ctx, int64_t i, int worker)
{
    const spread *s = ctx;
    const lt_fetch_job *j = s->j;
    (void)worker;
    int64_t row = j->row + s->from->first + i, first = j->column, last = j->column + j->n_columns;
    if (j->part == LT_FETCH_UPPER) first = LT_MAX(first, row);
    if (j->part == LT_FETCH_MIRROR) last = LT_MIN(last, row);
    if (first >= last) return LT_OK;
    const char *from = s->from->memory + (size_t)(i * j->n_columns + first - j->column) * s->element;
    s->out->copy((char *)s->out->K + (size_t)place(s->out, row, first) * s->element, from, NULL, NULL, last - first);
    s->out->fence();
    return LT_OK;
}

lt_status lt_fetch_run(lt_fetch *f, lt_event *ready, const lt_fetch_job *j, const lt_gram_out *out, size_t element)
{
    size_t row_bytes = (size_t)j->n_columns * element;
    int64_t at_once = (int64_t)(f->slot_bytes / row_bytes), asked = 0, got = 0, first = 0, last = 0;
    if (at_once < 1)
        return LT_FAIL(LT_ERR_MEMORY, "gram: a row of K takes %zu bytes, the ring's slots have %zu", row_bytes, f->slot_bytes);
    LT_TRY(lt_event_wait(f->stream, ready));
    while (got < j->n_rows) {
        for (; asked < j->n_rows && last - first < f->n_slots; last++) {
            slot *s = &f->slot[last % f->n_slots];
            s->first = asked;
            s->n = LT_MIN(at_once, j->n_rows - asked);
            LT_TRY(lt_stream_copy(f->stream, s->memory, (const char *)j->from + (size_t)asked * row_bytes, (size_t)s->n * row_bytes,
                                  LT_TRANSFER_D2H, f->pinned));
            LT_TRY(lt_event_record(s->arrived, f->stream));
            asked += s->n;
        }
        slot *s = &f->slot[first++ % f->n_slots];
        LT_TRY(lt_event_sync(s->arrived));
        int64_t start = lt_clock_ns();
        LT_TRY(lt_pool_run(lt_device_pool(f->dev), s->n, spread_row, &(spread){ j, out, s, element }));
        f->ns += lt_clock_ns() - start;
        f->bytes += (int64_t)((size_t)s->n * row_bytes);
        got += s->n;
    }
    return LT_OK;
}
