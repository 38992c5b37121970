/* The second-order correction: where a whole step fails because constraints curve away from their linear models, the quadratic program is solved
   again with what the constraints were there, and the step to its answer tried once (decision 235). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

static bool is_worth_it(const lt_run *r)
{
    const lt_point *p = r->trial;
    return r->opt.correct_steps && lt_lagrangian_used(r) && p->finite && p->tv_l1 > r->cur->tv_l1;
}

static void swap_directions(lt_run *r)
{
    double *d = r->d;
    r->d = r->steering.corrected;
    r->steering.corrected = d;
    lt_oracle_forget(r);
}

static bool try_it(lt_run *r, double enough)
{
    lt_point *p = r->trial;
    const double step = r->opt.first_step;
    if (lt_bounded(&r->bounds)) lt_bounds_step(r, step, p->x);
    else lt_vectors_step(&r->vectors, r->cur->x, step, r->d, p->x);
    if (!r->opt.double_precision) lt_vec_round_f32(r->n, p->x);
    p->mu = r->penalty.mu;
    r->last.evals++;
    return lt_oracle_values(r, p, &(lt_line_trial){ .t = step }) && isfinite(p->phi) && p->phi < enough && lt_oracle_gradients(r, p);
}

bool lt_correct(lt_run *r, double enough)
{
    lt_steering *w = &r->steering;
    if (!is_worth_it(r) || !lt_steer_corrected(r, w->corrected)) return false;
    swap_directions(r); /* steps that are planned lead along it */
    const bool found = try_it(r, enough);
    swap_directions(r);
    if (!found) return false;
    lt_vectors_copy(&r->vectors, 1, w->corrected, r->d);
    if (r->rows.on) lt_rows_keep_multipliers(r);
    else lt_steering_take(r);
    r->last.gradient_at_least = 0;
    return true;
}
