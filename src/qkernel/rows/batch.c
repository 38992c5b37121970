/* How many rows of states to hold at once, learnt while running. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/rows/batch.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

enum { LEAST_ROWS = 64, MOST_ROWS = 16384 };

lt_batch_bounds lt_batch_bounds_of(bool dynamic, int64_t rows, int64_t most, int64_t unit)
{
    if (!dynamic) return (lt_batch_bounds){ rows, rows };
    int64_t quarter = (LT_MAX(LEAST_ROWS, rows / 4) + unit - 1) / unit * unit;
    return (lt_batch_bounds){ LT_MIN(rows, quarter), LT_MAX(rows, LT_MIN(LT_MIN(2 * rows, MOST_ROWS), most)) };
}

lt_batch_sizer lt_batch_start(int64_t batch, lt_batch_bounds bounds, double target)
{
    return (lt_batch_sizer){ .batch = batch, .min = bounds.min, .max = bounds.max, .target = target, .used_min = INFINITY, .used_max = -INFINITY };
}

/* The times before this one vary by less than a tenth. */
static bool steady(const lt_batch_sizer *s)
{
    double mean = 0, variance = 0;
    if (s->calls < LT_BATCH_WINDOW) return false;
    for (int i = 0; i < LT_BATCH_WINDOW; i++) mean += s->recent[i] / LT_BATCH_WINDOW;
    for (int i = 0; i < LT_BATCH_WINDOW; i++) variance += (s->recent[i] - mean) * (s->recent[i] - mean) / LT_BATCH_WINDOW;
    return variance < 0.01 * mean * mean;
}

int64_t lt_batch_step(lt_batch_sizer *s, double used, double seconds)
{
    if (used > s->target + 0.05) {
        s->batch = LT_MAX(s->min, s->batch * 3 / 4);
        s->adjustments++;
    } else if (used < s->target - 0.10 && steady(s)) {
        s->batch = LT_MIN(s->max, s->batch * 5 / 4);
        s->adjustments++;
    }
    if (s->calls >= LT_BATCH_WINDOW) memmove(s->recent, s->recent + 1, sizeof s->recent - sizeof s->recent[0]);
    s->recent[LT_MIN(s->calls, LT_BATCH_WINDOW - 1)] = seconds;
    s->calls++;
    s->used_min = fmin(s->used_min, used);
    s->used_max = fmax(s->used_max, used);
    s->seconds_sum += seconds;
    return s->batch;
}
