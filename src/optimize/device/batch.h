/* A batch of evaluations: values at several points at once, the steps that a line search will try, one after the other, if each is too long.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_DEVICE_BATCH_H
#define LT_OPTIMIZE_DEVICE_BATCH_H

#include "optimize/device/mover.h"
#include "optimize/device/vectors.h"
#include "optimize/problem/evaluator.h"

enum { LT_BATCH_MOST = 8 };
typedef struct lt_batch lt_batch;

/* What functions on a device lend, and what must outlive the batch. */
typedef struct lt_batch_place {
    const lt_evaluator *e;
    lt_stream  *stream;
    lt_mover   *mover;
    lt_device_vectors *vectors; /* NULL: x is on the host */
} lt_batch_place;

lt_status lt_batch_create(const lt_batch_place *at, const lt_solve_options *opt, int count, lt_batch **out);
void      lt_batch_destroy(lt_batch *b); /* NULL is allowed; nothing of theirs may be in flight */
bool      lt_batch_fit(const lt_batch *b, int count, const lt_device_vectors *v); /* were they made for these? */

/* Where point i (0 up to the count) is to be written, on the device if vectors are, before a run. */
double   *lt_batch_x(const lt_batch *b, int i);
/* All values at all points, in one sequence and one wait; numbers about vectors that were asked for come along. */
lt_status lt_batch_run(lt_batch *b, lt_solve_transfers *moved);
void      lt_batch_take(const lt_batch *b, int i, const lt_outputs *out); /* values of point i from the last run */

/* What several at once and single evaluations of values took: the shortest of each, 0 before the first. */
typedef struct lt_batch_record { int64_t runs, run_ns, single_ns; } lt_batch_record;
/* Takes less than the two that a search is expected to come to, or has run too rarely to say. Where no single one has been timed by then it is none, so
   that the next plan times some. Bits of results do not depend on it, so that a clock may have a say. */
bool      lt_batch_pays(const lt_batch_record *r);
const lt_batch_record *lt_batch_so_far(const lt_batch *b);
void      lt_batch_note_single(lt_batch *b, int64_t ns); /* what one evaluation of values on its own took */

#endif
