/* How fast something goes: measured from the first report on, so that what was done before does not count.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_REPORT_PROGRESS_RATE_H
#define LT_REPORT_PROGRESS_RATE_H

#include "lathe/base.h"

#define LT_PROGRESS_LEAST_SECONDS 0.5 /* what is seen of a shorter time is chance */

typedef struct lt_progress_rate { /* zero-initialised: nothing reported yet */
    bool    begun;
    int64_t first_done;
    double  first_at;             /* seconds */
} lt_progress_rate;

/* Steps per second, or -1 while too little time has passed or nothing was done in it. */
static inline double lt_progress_rate_at(lt_progress_rate *r, int64_t done, double at)
{
    if (!r->begun) *r = (lt_progress_rate){ true, done, at };
    double seconds = at - r->first_at;
    if (seconds < LT_PROGRESS_LEAST_SECONDS || done <= r->first_done) return -1;
    return (double)(done - r->first_done) / seconds;
}

#endif
