/* Units of work in the order they are dealt. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/queue.h"

#include "base/alloc.h"
#include "base/status.h"

#include <stdlib.h>

/* A chunk is at most this part of a rank's equal share of what is left. With 8, the last chunk of a rank is done within an eighth of what the others still
   have to do; more would ask more often for little (docs/scaling.md has the measurement). */
#define PART 8

lt_queue lt_queue_make(const int64_t *unit, const double *cost, int64_t n, int ranks)
{
    lt_queue q = { .unit = unit, .cost = cost, .n = n, .ranks = ranks };
    for (int64_t i = 0; i < n; i++) q.left += cost ? cost[i] : 1;
    return q;
}

int lt_queue_deal(lt_queue *q, int64_t out[LT_CHUNK_MOST])
{
    double most = q->left / ((double)PART * q->ranks), taken = 0;
    int n = 0;
    while (n < LT_CHUNK_MOST && q->next < q->n) {
        double cost = q->cost ? q->cost[q->next] : 1;
        if (n > 0 && taken + cost > most) break;
        taken += cost;
        out[n++] = q->unit[q->next++];
    }
    q->left -= taken;
    return n;
}

/* ---- The order ------------------------------------------------------------------------------------------------------------------ */

typedef struct entry { double cost; int64_t unit, at; } entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

lt_status lt_queue_order(int64_t *unit, double *cost, int64_t n, int64_t window)
{
    int64_t windows = window > 0 ? LT_MAX(n / window, (int64_t)1) : 1;
    window = (n + windows - 1) / windows; /* all about equal: a short one at the end would leave large units for last */
    entry *list = lt_malloc((size_t)LT_MAX(window, (int64_t)1) * sizeof *list);
    if (!list) return LT_ERR_MEMORY;
    for (int64_t first = 0; first < n; first += window) {
        int64_t count = LT_MIN(window, n - first);
        for (int64_t i = 0; i < count; i++) list[i] = (entry){ cost[first + i], unit[first + i], i };
        qsort(list, (size_t)count, sizeof *list, compare);
        for (int64_t i = 0; i < count; i++) {
            unit[first + i] = list[i].unit;
            cost[first + i] = list[i].cost;
        }
    }
    lt_free(list);
    return LT_OK;
}
