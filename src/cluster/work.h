/* Work shared between ranks: rank 0 deals units to ranks that ask, itself among them, and takes what they make of them.
   SPDX-License-Identifier: BSD-3-Clause

       lt_work_begin(c, &plan, &w);                       all ranks
       while (!lt_work_next(w, &unit) && unit >= 0) {     any thread, one at a time
           ...
           lt_work_put(w, unit, kind, 1, &piece);         any thread
       }
       s = lt_work_end(w, s);                             all ranks: the same status everywhere

   With one rank there is no thread and no message. Otherwise a thread of rank 0 answers; the thread that computes there asks like all others, without
   messages. A failure on any rank, or of `take`, ends the dealing: units already dealt are finished and taken, and lt_work_end gives the
   failure to all. */
#ifndef LT_CLUSTER_WORK_H
#define LT_CLUSTER_WORK_H

#include "cluster/cluster.h"

typedef struct lt_work lt_work;
typedef struct lt_piece { const void *data; size_t bytes; } lt_piece;

typedef struct lt_work_plan {
    /* Of rank 0; the other ranks leave these out. */
    const int64_t *unit;      /* [n] in the order they are dealt; borrowed */
    const double  *cost;      /* [n]; NULL: all alike */
    int64_t        n;
    bool           one_at_a_time; /* a unit for each ask: ranks are of different speed, and a chunk of a slow one would last longest */
    /* What ranks put, one call at a time, on any thread of rank 0. */
    lt_status    (*take)(void *ctx, int rank, int64_t unit, int kind, const void *data, size_t bytes);
    void          *ctx;
    /* Of each rank. */
    const volatile int *stop, *drain; /* not 0: no more units for this rank, and of rank 0: for any; NULL: never */
} lt_work_plan;

lt_status lt_work_begin(lt_cluster *c, const lt_work_plan *plan, lt_work **out);
/* The next unit for this rank, -1 when there are no more; waits. */
lt_status lt_work_next(lt_work *w, int64_t *unit);
/* Makes lt_work_next return -1 from now on, also where it waits. */
void      lt_work_cancel(lt_work *w);
/* Hands what was made of a unit to `take` of rank 0. kind: the caller's own numbers. */
lt_status lt_work_put(lt_work *w, int64_t unit, int kind, int n, const lt_piece *piece);
/* Waits for all ranks. Gone afterwards, whatever it returns. */
lt_status lt_work_end(lt_work *w, lt_status s);

typedef struct lt_work_stats { int64_t asks; double answer_seconds; } lt_work_stats; /* rank 0: answers to asks, and the time they took */
lt_work_stats lt_work_get_stats(const lt_work *w);

#endif
