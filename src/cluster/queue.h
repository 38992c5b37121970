/* Units of work in the order they are dealt. SPDX-License-Identifier: BSD-3-Clause

   The order is the caller's; the largest first within what may be held back leaves small units for the end. A rank that asks gets a chunk:
   units whose cost is at most a share of what is left (decision 221). Chunks shrink as the work runs out, down to a single unit. */
#ifndef LT_CLUSTER_QUEUE_H
#define LT_CLUSTER_QUEUE_H

#include "lathe/base.h"

enum { LT_CHUNK_MOST = 64 };

typedef struct lt_queue {
    const int64_t *unit;   /* [n], borrowed */
    const double  *cost;   /* [n], of unit[i]; NULL: all alike */
    int64_t        n, next;
    double         left;   /* cost of what is not dealt */
    int            ranks;
} lt_queue;

lt_queue lt_queue_make(const int64_t *unit, const double *cost, int64_t n, int ranks);
/* Up to LT_CHUNK_MOST units for a rank; 0 when none are left. */
int      lt_queue_deal(lt_queue *q, int64_t out[LT_CHUNK_MOST]);

/* Orders units for dealing: in windows of at least `window` of them (0: all in one), the most expensive first; equal costs keep their order. */
lt_status lt_queue_order(int64_t *unit, double *cost, int64_t n, int64_t window);

#endif
