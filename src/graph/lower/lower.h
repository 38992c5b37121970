/* From scheduled groups to fused kernels, and where every value lies.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_LOWER_LOWER_H
#define LT_GRAPH_LOWER_LOWER_H

#include "graph/lower/schedule.h"

/* Memory a kernel argument refers to: the memory of a node, from a byte offset on. */
typedef struct lt_place_of { int32_t node; size_t offset_bytes; } lt_place_of;

/* Where the dense data of operand id lies: below reshapes and dense pieces of other values. */
lt_place_of lt_schedule_locate(const lt_schedule *s, int32_t id);

typedef struct lt_lowered {
    lt_fused     fused;      /* its arrays lie in the arena given */
    int32_t     *arg;        /* node whose memory argument i is; n_args of them */
    bool        *writes;     /* whether the kernel writes it */
} lt_lowered;

/* The problem of a unit with an op; low: its group, which becomes the epilogue where it has one, and must stay. */
void lt_lower_key(const lt_schedule *s, const lt_unit *u, const lt_lowered *low, lt_problem_key *out);

/* The group of a unit as data. With an op, argument 0 is that op's raw result. */
lt_status lt_lower_group(const lt_schedule *s, const lt_unit *u, lt_arena *a, lt_lowered *out);

#endif
