/* Memory planning by a sweep over the steps: best fit among the gaps, freed gaps merge.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/lower/planner.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64

static size_t rounded(size_t bytes) { return (LT_MAX(bytes, 1) + ALIGN - 1) / ALIGN * ALIGN; }

/* Free pieces below the high-water mark, by offset. */
typedef struct gaps {
    struct { size_t offset, bytes; } *gap;
    int n, capacity;
    size_t top;
} gaps;

static size_t take(gaps *f, size_t bytes)
{
    int best = -1;
    for (int i = 0; i < f->n; i++)
        if (f->gap[i].bytes >= bytes && (best < 0 || f->gap[i].bytes < f->gap[best].bytes)) best = i;
    if (best >= 0) {
        size_t offset = f->gap[best].offset;
        f->gap[best].offset += bytes;
        f->gap[best].bytes -= bytes;
        if (!f->gap[best].bytes) memmove(&f->gap[best], &f->gap[best + 1], (size_t)(--f->n - best) * sizeof *f->gap);
        return offset;
    }
    /* The last gap may touch the top: grow from there. */
    size_t offset = f->top;
    if (f->n && f->gap[f->n - 1].offset + f->gap[f->n - 1].bytes == f->top) offset = f->gap[--f->n].offset;
    f->top = offset + bytes;
    return offset;
}

static void give(gaps *f, size_t offset, size_t bytes)
{
    int lo = 0, hi = f->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (f->gap[mid].offset < offset) lo = mid + 1; else hi = mid;
    }
    bool left = lo > 0 && f->gap[lo - 1].offset + f->gap[lo - 1].bytes == offset;
    bool right = lo < f->n && offset + bytes == f->gap[lo].offset;
    if (left && right) {
        f->gap[lo - 1].bytes += bytes + f->gap[lo].bytes;
        memmove(&f->gap[lo], &f->gap[lo + 1], (size_t)(--f->n - lo) * sizeof *f->gap);
    } else if (left) {
        f->gap[lo - 1].bytes += bytes;
    } else if (right) {
        f->gap[lo].offset = offset;
        f->gap[lo].bytes += bytes;
    } else {
        memmove(&f->gap[lo + 1], &f->gap[lo], (size_t)(f->n++ - lo) * sizeof *f->gap);
        f->gap[lo].offset = offset;
        f->gap[lo].bytes = bytes;
    }
}

/* Ends in order of last, so that the sweep can free them as it passes. */
typedef struct ending { int last, index; } ending;

static int by_last(const void *a, const void *b)
{
    const ending *x = a, *y = b;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

static void sweep(lt_interval *v, int n, const ending *end, bool *inherited, gaps *free_)
{
    int e = 0;
    for (int i = 0; i < n; i++) {
        for (; e < n && end[e].last < v[i].first; e++)
            if (!inherited[end[e].index]) give(free_, v[end[e].index].offset, rounded(v[end[e].index].bytes));
        int32_t p = v[i].in_place;
        /* What is written in the same step is never given away: a third value could get it, too. */
        if (p >= 0 && !inherited[p] && v[p].first < v[i].first && rounded(v[p].bytes) == rounded(v[i].bytes)) {
            v[i].offset = v[p].offset;
            inherited[p] = true; /* its memory lives on in i */
        } else {
            v[i].in_place = -1;
            v[i].offset = take(free_, rounded(v[i].bytes));
        }
    }
}

lt_status lt_plan_memory(lt_interval *v, int n, bool reuse, size_t *total)
{
    size_t sum = 0;
    *total = 0;
    for (int i = 0; i < n; i++)
        if (v[i].bytes > SIZE_MAX - ALIGN || __builtin_add_overflow(sum, rounded(v[i].bytes), &sum))
            return LT_FAIL(LT_ERR_MEMORY, "plan: %d values take more bytes than there are addresses", n);
    if (!reuse) {
        for (int i = 0; i < n; i++) {
            v[i].in_place = -1;
            v[i].offset = *total;
            *total += rounded(v[i].bytes);
        }
        return LT_OK;
    }
    gaps free_ = { .gap = lt_malloc(((size_t)n + 1) * sizeof *free_.gap) };
    ending *end = lt_malloc(((size_t)n + 1) * sizeof *end);
    bool *inherited = lt_calloc((size_t)n + 1, sizeof *inherited);
    lt_status s = free_.gap && end && inherited ? LT_OK : LT_ERR_MEMORY;
    if (!s) {
        for (int i = 0; i < n; i++) end[i] = (ending){ v[i].last, i };
        qsort(end, (size_t)n, sizeof *end, by_last);
        sweep(v, n, end, inherited, &free_);
        *total = free_.top;
    }
    lt_free(free_.gap);
    lt_free(end);
    lt_free(inherited);
    return s;
}

static int by_offset(const void *a, const void *b)
{
    const lt_interval *x = *(const lt_interval *const *)a, *y = *(const lt_interval *const *)b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : x->first - y->first;
}

static bool declared(const lt_interval *v, const lt_interval *a, const lt_interval *b)
{
    return a->offset == b->offset && ((b->in_place >= 0 && &v[b->in_place] == a && a->last == b->first) ||
                                      (a->in_place >= 0 && &v[a->in_place] == b && b->last == a->first));
}

lt_status lt_plan_check(const lt_interval *v, int n, size_t total)
{
    const lt_interval **sorted = lt_malloc(((size_t)n + 1) * sizeof *sorted);
    if (!sorted) return LT_ERR_MEMORY;
    for (int i = 0; i < n; i++) sorted[i] = &v[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_offset);
    lt_status s = LT_OK;
    for (int i = 0; !s && i < n; i++) {
        const lt_interval *a = sorted[i];
        if (a->offset % ALIGN || a->offset + a->bytes > total)
            s = LT_FAIL(LT_ERR_INTERNAL, "plan: value %d at %zu + %zu of an arena of %zu", (int)(a - v), a->offset, a->bytes, total);
        for (int k = i + 1; !s && k < n && sorted[k]->offset < a->offset + a->bytes; k++) {
            const lt_interval *b = sorted[k];
            if (a->last < b->first || b->last < a->first || declared(v, a, b)) continue;
            s = LT_FAIL(LT_ERR_INTERNAL, "plan: values %d (steps %d..%d) and %d (steps %d..%d) share memory at %zu",
                        (int)(a - v), a->first, a->last, (int)(b - v), b->first, b->last, b->offset);
        }
    }
    lt_free(sorted);
    return s;
}
