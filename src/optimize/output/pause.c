/* Stopping in the middle of an iteration: a checkpoint then holds the last accepted point as it was before
   the search for the next one began, so that going on repeats the search, bit for bit.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include <string.h>

/* Everything in a checkpoint that looking for a step changes. Points tried meanwhile may stay among the
   records: the repeated search comes by them again. */
static lt_pause get(const lt_run *r)
{
    const lt_subproblem *sub = &r->steering.sub;
    return (lt_pause){ .evals = r->oracle.evals, .gradient_evals = r->oracle.gradient_evals, .ls_evals = r->last.evals,
                       .n_mu_reductions = r->penalty.n_reductions, .random_attempts = r->fallback.random_attempts, .first_tried = r->oracle.first_tried,
                       .first_passed = r->oracle.first_passed, .last_search = r->steps.last, .n_solved = sub->n_solved, .n_failed = sub->n_failed, .alpha = r->last.alpha,
                       .mu_lowest = r->penalty.lowest, .rng = r->rng, .warm = r->steering.warm, .y = r->pause.y };
}

static void put(lt_run *r, const lt_pause *p)
{
    lt_subproblem *sub = &r->steering.sub;
    r->oracle.evals = p->evals;
    r->oracle.gradient_evals = p->gradient_evals;
    r->last.evals = p->ls_evals;
    r->penalty.n_reductions = p->n_mu_reductions;
    r->fallback.random_attempts = p->random_attempts;
    r->oracle.first_tried = p->first_tried;
    r->oracle.first_passed = p->first_passed;
    r->steps.last = p->last_search;
    r->last.alpha = p->alpha;
    r->penalty.lowest = p->mu_lowest;
    r->rng = p->rng;
    r->steering.warm = p->warm;
    sub->n_solved = p->n_solved;
    sub->n_failed = p->n_failed;
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
    put(r, &r->pause);
    swap_answers(r);
    lt_status s = lt_checkpoint_write(r, path);
    swap_answers(r);
    put(r, &now);
    return s;
}
