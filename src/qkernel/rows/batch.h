/* How many rows of states to hold at once, learnt while running. SPDX-License-Identifier: BSD-3-Clause

   Memory above target + 5 % shrinks the batch by a quarter; memory below target - 10 % and five
   steady times let it grow by a quarter. */
#ifndef LT_QKERNEL_ROWS_BATCH_H
#define LT_QKERNEL_ROWS_BATCH_H

#include "lathe/base.h"

enum { LT_BATCH_WINDOW = 5 };

typedef struct lt_batch_sizer {
    int64_t batch, min, max;
    double  target;                    /* share of the memory to use */
    int64_t adjustments, calls;        /* an adjustment counts even where a bound held it */
    double  recent[LT_BATCH_WINDOW];   /* times of the last calls, oldest first once full */
    double  used_min, used_max, seconds_sum;
} lt_batch_sizer;

typedef struct lt_batch_bounds { int64_t min, max; } lt_batch_bounds;
/* Between which a batch that begins with `rows` may move: multiples of unit, at most `most` of them fit. Not dynamic: it stays. */
lt_batch_bounds lt_batch_bounds_of(bool dynamic, int64_t rows, int64_t most, int64_t unit);

lt_batch_sizer lt_batch_start(int64_t batch, lt_batch_bounds bounds, double target);
/* One batch took `seconds` with `used` of the memory in use. Returns the next batch. */
int64_t        lt_batch_step(lt_batch_sizer *s, double used, double seconds);

#endif
