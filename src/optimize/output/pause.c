/* Stopping in the middle of an iteration: a checkpoint then holds the last accepted point as it was before
   the search for the next one began, so that going on repeats the search, bit for bit (decision 88).
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include <string.h>

/* Everything in a checkpoint that looking for a step changes. Points tried meanwhile may stay among the
   records: the repeated search meets them again. */
static lt_pause get(const lt_run *r)
{
    const lt_subproblem *sub = &r->steering.sub;
    return (lt_pause){ r->oracle, r->penalty, r->fallback, r->last, r->rng, r->steps.last, sub->n_solved, sub->n_failed, r->steering.warm, r->recovery, r->pause.y };
}

static void put(lt_run *r, const lt_pause *p)
{
    const int64_t time_ns = r->oracle.time_ns, n_allocations = r->recovery.n_allocations; /* were spent all the same */
    double *direction = r->recovery.direction;
    r->oracle = p->oracle;
    r->oracle.time_ns = time_ns;
    r->penalty = p->penalty;
    r->fallback = p->fallback;
    r->last = p->last;
    r->rng = p->rng;
    r->steps.last = p->last_search;
    r->steering.sub.n_solved = p->n_solved;
    r->steering.sub.n_failed = p->n_failed;
    r->steering.warm = p->warm;
    r->recovery = p->recovery;
    r->recovery.direction = direction;
    r->recovery.n_allocations = n_allocations;
}

static void swap_answers(lt_run *r)
{
    double *a = r->steering.sub.y, *b = r->pause.y;
    for (int64_t i = 0; r->constrained && i < r->q + r->p; i++) {
        double t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

void lt_pause_note(lt_run *r)
{
    r->pause = get(r);
    if (r->constrained) memcpy(r->pause.y, r->steering.sub.y, (size_t)(r->q + r->p) * sizeof(double));
}

lt_status lt_pause_write(lt_run *r, const char *path)
{
    const lt_pause now = get(r);
    const bool known = r->certification.now.known; /* better than before the search, perhaps */
    put(r, &r->pause);
    r->certification.now.known = false;
    swap_answers(r);
    lt_status s = lt_checkpoint_write(r, path);
    swap_answers(r);
    put(r, &now);
    r->certification.now.known = known;
    return s;
}
