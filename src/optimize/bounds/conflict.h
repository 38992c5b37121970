/* Constraints that cannot hold together near a point (conflict.c). SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_CONFLICT_H
#define LT_OPTIMIZE_CONFLICT_H

#include "optimize/point.h"

typedef struct lt_conflict {
    int64_t  n;              /* 0: none was found */
    int64_t *constraint;     /* equalities first, as in lt_point */
    double  *weight;         /* of each constraint's gradients, together; their sizes sum to one */
} lt_conflict;

/* At cur, where the run ended without a feasible point. Allocates; without memory nothing is found. */
void lt_conflict_find(lt_run *r);
void lt_conflict_release(lt_run *r);

#endif
