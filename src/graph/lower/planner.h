/* Memory planning: one arena for all values of a program. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_LOWER_PLANNER_H
#define LT_GRAPH_LOWER_PLANNER_H

#include "lathe/base.h"

/* A value that needs memory while steps first..last run; both may touch it. */
typedef struct lt_interval {
    size_t  bytes;
    int     first, last;
    int32_t in_place;    /* a value with last == this first that may be overwritten; -1: none */
    size_t  offset;      /* the plan: where it lies, a multiple of 64 */
} lt_interval;

/* Fills the offsets; intervals must be sorted by first. reuse false: nothing shares memory.
   Returns the arena's size through total. */
lt_status lt_plan_memory(lt_interval *v, int n, bool reuse, size_t *total);
/* Proves that no two values alive in the same step overlap, but for declared in-place pairs, and
   that all lie inside the arena. LT_ERR_INTERNAL names the offending pair. */
lt_status lt_plan_check(const lt_interval *v, int n, size_t total);

#endif
