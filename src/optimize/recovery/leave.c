/* Starts that are left. Where gradients balance at x0 a run would end at once with code 0, at a minimum or not: at a maximum, a saddle, a tie of pieces. A
   few points around x0 are tried; the lowest, where it is lower, is the first step (decision 383). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/device.h"

#include <math.h>
#include <string.h>

enum { COORDINATES = 10 }; /* both ways along each, then random directions where there are several variables */
#define DISTANCE 1e-2                       /* of max(1, |x_i|), or of the width of the box where that is less */

typedef struct search_around {
    lt_run *r;
    lt_rng  rng;
    double *x, *step, *at; /* n each: cur; the way to the lowest point so far; the point tried */
    double  phi;           /* there */
    bool    found;
} search_around;

static double distance(const lt_run *r, const double *x, int64_t i)
{
    const double width = lt_bounded(&r->bounds) ? r->bounds.upper[i] - r->bounds.lower[i] : INFINITY;
    return DISTANCE * fmin(fmax(1, fabs(x[i])), width);
}

/* False: the run has stopped. */
static bool try_point(search_around *s)
{
    lt_run *r = s->r;
    lt_point *p = r->trial;
    if (!r->opt.double_precision) lt_vec_round_f32(r->n, s->at);
    if (lt_bounded(&r->bounds)) lt_bounds_project(r, s->at);
    lt_oracle_forget(r);
    lt_vectors_put(&r->vectors, r->n, s->at, p->x);
    p->mu = r->cur->mu;
    if (!lt_oracle_values(r, p, &(lt_line_trial){ .t = 1 }) || lt_oracle_stopped(r)) return false;
    if (!p->finite || !(p->phi < s->phi)) return true;
    s->found = true;
    s->phi = p->phi;
    for (int64_t i = 0; i < r->n; i++) s->step[i] = s->at[i] - s->x[i];
    return true;
}

static bool try_coordinate(search_around *s, int64_t i, double sign)
{
    memcpy(s->at, s->x, (size_t)s->r->n * sizeof *s->at);
    s->at[i] += sign * distance(s->r, s->x, i);
    return try_point(s);
}

static bool try_direction(search_around *s)
{
    const int64_t n = s->r->n;
    for (int64_t i = 0; i < n; i++) s->at[i] = lt_rng_normal(&s->rng);
    const double length = lt_vec_norm2(n, s->at);
    for (int64_t i = 0; i < n; i++) s->at[i] = s->x[i] + distance(s->r, s->x, i) * s->at[i] / length;
    return try_point(s);
}

static bool look_around(search_around *s)
{
    const int64_t n = s->r->n, most = s->r->opt.recover_start, coordinates = LT_MIN(LT_MIN(n, COORDINATES), most / 2);
    for (int64_t k = 0; k < coordinates; k++) {
        const int64_t i = n <= COORDINATES ? k : (int64_t)lt_rng_below(&s->rng, (uint64_t)n);
        if (!try_coordinate(s, i, 1) || !try_coordinate(s, i, -1)) return false;
    }
    for (int64_t k = 2 * coordinates; n > 1 && k < most; k++)
        if (!try_direction(s)) return false;
    return true;
}

/* The device null gives zeros for everything, at which gradients balance. */
static bool computes(const lt_run *r)
{
    lt_device_info info = { .size = sizeof info };
    return !r->evaluator->device || (!lt_device_describe(r->evaluator->device, &info) && info.computes);
}

/* What f falls by must be more than what its end may leave of it anyway. */
void lt_recover_start(lt_run *r)
{
    const lt_solve_options *o = &r->opt;
    const double least = o->stationarity_tol * r->cur->mu * fmax(lt_oracle_unit(&r->oracle), fabs(r->cur->f));
    double *memory;
    if (r->code != LT_TERMINATION_CONVERGED || o->compat || !o->recover_start || !o->recoveries || !o->max_iterations || r->iter || r->vectors.on->queues || !computes(r)) return;
    if (!r->recovery.direction && !(r->recovery.direction = lt_malloc((size_t)r->n * sizeof *r->recovery.direction))) return;
    if (!(memory = lt_malloc((size_t)(2 * r->n) * sizeof *memory))) return;
    search_around s = { .r = r, .rng = lt_rng_seed((uint64_t)o->seed), .x = memory, .at = memory + r->n, .step = r->recovery.direction, .phi = r->cur->phi - least };
    lt_vectors_get(&r->vectors, r->n, r->cur->x, s.x);
    r->code = LT_TERMINATION_NONE; /* evaluations are made while a run goes on */
    const bool whole = look_around(&s);
    lt_free(memory);
    if (!whole) return; /* it has stopped for another reason */
    if (!s.found) {
        lt_stop(r, LT_TERMINATION_CONVERGED);
        return;
    }
    lt_console_note(r, 2, "Recovery: the start is left for a lower point nearby.");
    r->recovery.n_used++;
    r->recovery.away = true;
}
