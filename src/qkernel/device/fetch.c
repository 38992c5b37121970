/* Parts of K to the host through a ring of page-locked memory, spread over K by all threads.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/parts.h"

#include "base/status.h"
#include "trace/clock.h"

enum { SLOT_BYTES = 32 << 20, SLOTS = 4 };

lt_status lt_fetch_open(lt_device *dev, const lt_fetch_options *opt, lt_fetch *f)
{
    *f = (lt_fetch){ .pool = opt->pool };
    lt_status s = lt_host_ring_open(dev, &(lt_ring_options){ SLOT_BYTES, SLOTS, opt->page_locked ? LT_PIN_ALWAYS : LT_PIN_NEVER, opt->timed }, &f->ring);
    if (!s && !opt->stream) s = lt_stream_create(dev, &f->own);
    f->stream = opt->stream ? opt->stream : f->own;
    if (s) lt_fetch_close(f);
    return s;
}

void lt_fetch_close(lt_fetch *f)
{
    lt_stream_destroy(f->own);
    lt_host_ring_close(&f->ring);
    *f = (lt_fetch){ 0 };
}

void lt_fetch_reset(lt_fetch *f) { f->bytes = f->ns = 0, f->ring.copy_ns = 0; }
bool lt_fetch_holds(const lt_fetch *f, size_t bytes) { return bytes <= f->ring.memory.bytes; }

/* ---- spreading rows over K ---- */

typedef struct spread {
    const lt_fetch_job *j;
    const lt_gram_out  *out;
    const char         *from;    /* rows `first` on of the job */
    int64_t             first;
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
    int64_t row = j->row + s->first + i, first = j->column, last = j->column + j->n_columns;
    if (j->part == LT_FETCH_UPPER) first = LT_MAX(first, row);
    if (j->part == LT_FETCH_MIRROR) last = LT_MIN(last, row);
    if (first >= last) return LT_OK;
    const char *from = s->from + (size_t)(i * j->n_columns + first - j->column) * s->element;
    s->out->copy((char *)s->out->K + (size_t)place(s->out, row, first) * s->element, from, NULL, NULL, last - first);
    s->out->fence();
    return LT_OK;
}

static lt_status spread_rows(lt_fetch *f, const spread *s, int64_t n)
{
    int64_t start = lt_clock_ns();
    LT_TRY(lt_pool_run(f->pool, n, spread_row, (void *)(uintptr_t)s));
    f->ns += lt_clock_ns() - start;
    f->bytes += (int64_t)((size_t)(n * s->j->n_columns) * s->element);
    return LT_OK;
}

/* ---- through the ring ---- */

/* As many parts are under way as there are slots; the oldest is spread while the others travel. */
lt_status lt_fetch_run(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element)
{
    lt_host_ring *ring = &f->ring;
    size_t row_bytes = (size_t)j->n_columns * element;
    int64_t at_once = (int64_t)(ring->slot_bytes / row_bytes), asked = 0, oldest = ring->next;
    if (at_once < 1)
        return LT_FAIL(LT_ERR_MEMORY, "gram: a row of K takes %zu bytes, the ring's slots have %zu", row_bytes, ring->slot_bytes);
    for (int64_t got = 0; got < j->n_rows; got += at_once) {
        lt_ring_slot *s;
        for (; asked < j->n_rows && ring->next - oldest < ring->n_slots; asked += at_once) {
            LT_TRY(lt_host_ring_take(ring, &s));
            LT_TRY(lt_host_ring_fetch(ring, s, f->stream, (const char *)j->from + (size_t)asked * row_bytes, (size_t)LT_MIN(at_once, j->n_rows - asked) * row_bytes));
        }
        s = lt_host_ring_slot(ring, oldest++);
        LT_TRY(lt_host_ring_wait(ring, s));
        LT_TRY(spread_rows(f, &(spread){ j, out, s->at, got, element }, LT_MIN(at_once, j->n_rows - got)));
    }
    return LT_OK;
}

/* ---- a whole job at once, the ring's memory as one piece ---- */

lt_status lt_fetch_queue(lt_fetch *f, lt_stream *st, const lt_fetch_job *j, size_t element)
{
    const lt_host_memory *m = &f->ring.memory;
    return lt_stream_copy(st, m->at, j->from, (size_t)(j->n_rows * j->n_columns) * element, LT_TRANSFER_D2H, m->pinned);
}

lt_status lt_fetch_spread(lt_fetch *f, const lt_fetch_job *j, const lt_gram_out *out, size_t element)
{
    return spread_rows(f, &(spread){ j, out, f->ring.memory.at, 0, element }, j->n_rows);
}
