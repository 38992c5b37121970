/* Values at several points at once: the steps that a line search will try, one after the other, if each is too long.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_FAN_H
#define LT_OPTIMIZE_DEVICE_FAN_H

#include "optimize/device/memory.h"
#include "optimize/device/vectors.h"
#include "optimize/problem/evaluator.h"

enum { LT_FAN_MOST = 8 };
typedef struct lt_fan lt_fan;

/* What an exchange lends, and what must outlive them. */
typedef struct lt_fan_place {
    const lt_evaluator *e;
    lt_stream  *stream;
    lt_mover   *mover;
    lt_device_vectors *vectors; /* NULL: x is on the host */
} lt_fan_place;

lt_status lt_fan_create(const lt_fan_place *at, const lt_solve_options *opt, int count, lt_fan **out);
void      lt_fan_destroy(lt_fan *f); /* NULL is allowed; nothing of theirs may be in flight */
bool      lt_fan_fit(const lt_fan *f, int count, const lt_device_vectors *v); /* were they made for these? */

int       lt_fan_count(const lt_fan *f);
/* Where point i (0 up to the count) is to be written, on the device if vectors are there, before a run. */
double   *lt_fan_x(const lt_fan *f, int i);
/* All values at all points, in one sequence and one wait; numbers about vectors that were asked for come along. */
lt_status lt_fan_run(lt_fan *f, lt_solve_transfers *moved);
void      lt_fan_take(const lt_fan *f, int i, const lt_outputs *out); /* values of point i from the last run */

/* What several at once and single evaluations of values took: the shortest of each, 0 before the first. */
typedef struct lt_fan_record { int64_t runs, run_ns, single_ns; } lt_fan_record;
/* Takes less than the two that a search is expected to come to, or is too young to tell. Where no single one has been timed by then it is none, so
   that the next plan times some. Bits of results do not depend on it, so that a clock may have a say. */
bool      lt_fan_pays(const lt_fan_record *r);
const lt_fan_record *lt_fan_so_far(const lt_fan *f);
void      lt_fan_single(lt_fan *f, int64_t ns); /* what one evaluation of values on its own took */

#endif
