/* Parts of K to the host through a ring of page-locked memory, spread over K by all threads.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/parts.h"

#include "base/alloc.h"
#include "base/status.h"
#include "trace/clock.h"

enum { MAX_SLOTS = 8 };

typedef struct slot { char *memory; lt_event *left, *arrived; int64_t first, n; } slot; /* rows of the job in it */

struct lt_fetch {
    lt_device *dev;
    lt_stream *stream, *own;     /* own NULL: somebody else's */
    lt_pool   *pool;
    size_t     slot_bytes;
    int        n_slots;
    bool       pinned, timed;
    char      *memory;
    slot       slot[MAX_SLOTS];
    int64_t    bytes, ns;
    double     copy_ns;
};

lt_status lt_fetch_create(lt_device *dev, const lt_fetch_options *opt, lt_fetch **out)
{
    lt_fetch *f = lt_calloc(1, sizeof *f);
    if (!f) return LT_ERR_MEMORY;
    *out = f;
    f->dev = dev;
    f->pool = opt->pool;
    f->slot_bytes = opt->slot_bytes;
    f->n_slots = LT_MIN(opt->n_slots, MAX_SLOTS);
    f->timed = opt->timed;
    void *p = NULL;
    size_t bytes = f->slot_bytes * (size_t)f->n_slots;
    f->pinned = opt->page_locked && dev->backend->host_alloc(dev, bytes, &p) == LT_OK;
    if (!f->pinned && !(p = lt_malloc_aligned(bytes))) return LT_ERR_MEMORY; /* slower, but it works */
    f->memory = p;
    if (!opt->stream) LT_TRY(lt_stream_create(dev, &f->own));
    f->stream = opt->stream ? opt->stream : f->own;
    for (int i = 0; i < f->n_slots; i++) {
        f->slot[i].memory = f->memory + (size_t)i * f->slot_bytes;
        LT_TRY(lt_event_create(dev, &f->slot[i].left));
        LT_TRY(lt_event_create(dev, &f->slot[i].arrived));
    }
    return LT_OK;
}

void lt_fetch_destroy(lt_fetch *f)
{
    if (!f) return;
    lt_stream_destroy(f->own);
    for (int i = 0; i < f->n_slots; i++) {
        lt_event_destroy(f->slot[i].left);
        lt_event_destroy(f->slot[i].arrived);
    }
    if (f->pinned) (void)f->dev->backend->host_release(f->dev, f->memory);
    else lt_free_aligned(f->memory);
    lt_free(f);
}

void    lt_fetch_reset(lt_fetch *f) { f->bytes = f->ns = 0, f->copy_ns = 0; }
int64_t lt_fetch_bytes(const lt_fetch *f) { return f->bytes; }
double  lt_fetch_seconds(const lt_fetch *f) { return 1e-9 * (double)f->ns; }
double  lt_fetch_copy_seconds(const lt_fetch *f) { return 1e-9 * f->copy_ns; }
bool    lt_fetch_holds(const lt_fetch *f, size_t bytes) { return bytes <= f->slot_bytes * (size_t)f->n_slots; }

lt_status lt_fetch_after(lt_fetch *f, lt_event *ready) { return lt_event_wait(f->stream, ready); }

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

static lt_status spread_slot(lt_fetch *f, const slot *s, const lt_fetch_job *j, const lt_gram_out *out, size_t element)
{
    int64_t start = lt_clock_ns();
    LT_TRY(lt_pool_run(f->pool, s->n, spread_row, &(spread){ j, out, s, element }));
    f->ns += lt_clock_ns() - start;
    f->bytes += (int64_t)((size_t)(s->n * j->n_columns) * element);
    return LT_OK;
}

/* ---- the ring ---- */

static lt_status ask(lt_fetch *f, slot *s, const lt_fetch_job *j, size_t row_bytes)
{
    if (f->timed) LT_TRY(lt_event_record(s->left, f->stream));
    LT_TRY(lt_stream_copy(f->stream, s->memory, (const char *)j->from + (size_t)s->first * row_bytes, (size_t)s->n * row_bytes, LT_TRANSFER_D2H,
                          f->pinned));
    return lt_event_record(s->arrived, f->stream);
}

static lt_status wait_for(lt_fetch *f, const slot *s)
{
    double ns = 0;
    LT_TRY(lt_event_sync(s->arrived));
    if (f->timed) LT_TRY(lt_event_elapsed(s->left, s->arrived, &ns));
    f->copy_ns += ns;
    return LT_OK;
}

lt_status lt_fetch_run(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element)
{
    size_t row_bytes = (size_t)j->n_columns * element;
    int64_t at_once = (int64_t)(f->slot_bytes / row_bytes), asked = 0, got = 0, first = 0, last = 0;
    if (at_once < 1)
        return LT_FAIL(LT_ERR_MEMORY, "gram: a row of K takes %zu bytes, the ring's slots have %zu", row_bytes, f->slot_bytes);
    while (got < j->n_rows) {
        for (; asked < j->n_rows && last - first < f->n_slots; last++) {
            slot *s = &f->slot[last % f->n_slots];
            s->first = asked;
            s->n = LT_MIN(at_once, j->n_rows - asked);
            LT_TRY(ask(f, s, j, row_bytes));
            asked += s->n;
        }
        const slot *s = &f->slot[first++ % f->n_slots];
        LT_TRY(wait_for(f, s));
        LT_TRY(spread_slot(f, s, j, out, element));
        got += s->n;
    }
    return LT_OK;
}

/* ---- a whole job at once ---- */

lt_status lt_fetch_queue(lt_fetch *f, lt_stream *st, const lt_fetch_job *j, size_t element)
{
    return lt_stream_copy(st, f->memory, j->from, (size_t)(j->n_rows * j->n_columns) * element, LT_TRANSFER_D2H, f->pinned);
}

lt_status lt_fetch_spread(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element)
{
    return spread_slot(f, &(slot){ .memory = f->memory, .n = j->n_rows }, j, out, element);
}
