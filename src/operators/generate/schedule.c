/* In which order rows run. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/generate.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdlib.h>

typedef struct scheduled { int64_t row; const lt_operator_spec *spec; } scheduled;

static int compare_scheduled(const void *a, const void *b)
{
    const scheduled *x = a, *y = b;
    int order = lt_architecture_compare(x->spec, y->spec);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* With batch clipping a batch runs whole or not at all. */
static bool needs_run(const lt_generator *g, int64_t row)
{
    if (!g->c->features.clip_batch) return !lt_store_row_done(g->store, row);
    int64_t first = row / g->c->batch_size * g->c->batch_size, last = LT_MIN(first + g->c->batch_size, g->plan.rows);
    for (int64_t r = first; r < last; r++)
        if (!lt_store_row_done(g->store, r)) return true;
    return false;
}

/* Orders pending rows, window by window. Inside a window, rows of one architecture are neighbours where possible. A window ends with a
   slab, so that few rows wait in the journal. */
lt_status lt_generator_schedule(lt_generator *g)
{
    int64_t k = g->plan.chunk_rows, n = g->plan.rows;
    int64_t window = g->c->features.clip_batch ? g->c->batch_size : (g->c->batch_size + k - 1) / k * k;
    g->order = lt_malloc((size_t)n * sizeof *g->order);
    scheduled *list = lt_malloc((size_t)LT_MIN(window, n) * sizeof *list);
    lt_status s = g->order && list ? LT_OK : LT_ERR_MEMORY;
    for (int64_t first = 0; first < n && !s; first += window) {
        int64_t count = 0;
        for (int64_t r = first; r < LT_MIN(first + window, n); r++)
            if (needs_run(g, r)) list[count++] = (scheduled){ r, &g->rows.spec[r] };
        qsort(list, (size_t)count, sizeof *list, compare_scheduled);
        for (int64_t i = 0; i < count; i++) g->order[g->n_order++] = list[i].row;
    }
    lt_free(list);
    return s;
}
