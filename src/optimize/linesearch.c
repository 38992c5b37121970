/* The weak-Wolfe line search: doubling until a bracket is found, then bisection. Values are
   evaluated first; gradients only where the decrease test passed.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "trace/trace.h"

#include <math.h>
#include <string.h>

#define EDGE 0.1      /* of a step that leaves the domain: one that goes this near is not lengthened (decision 385) */
#define SHORT_MOST 20 /* whole steps in a row that are taken although phi falls on steeply */

typedef struct search {
    lt_run *r;
    double  f0, g0, norm_d, norm_lower; /* norm_lower: of x0 + alpha d */
    double  alpha, beta, t, tried;      /* tried: the step evaluated last */
    double  cap;
    int64_t evals, expansions, max_expansions;
    bool    has_lower;
    bool    beyond;   /* beta leaves the domain of a function */
} search;

enum { TOO_LONG, TOO_SHORT, ACCEPTED, STOPPED };

static double evaluation_cap(const lt_run *r, double limit)
{
    double cap = fmin(limit, r->opt.search_evals);
    return isinf(cap) && !r->opt.compat ? (double)r->opt.search_evals_cap : cap;
}

static search begin(lt_run *r, double g0, double limit)
{
    search s = { .r = r, .f0 = r->penalty.phi, .g0 = g0, .beta = INFINITY, .t = r->opt.first_step,
                 .norm_d = lt_vectors_norm2(&r->vectors, r->d), .norm_lower = lt_vectors_norm2(&r->vectors, r->cur->x),
                 .cap = evaluation_cap(r, limit) };
    double doublings = nearbyint(log2(1e5 / s.norm_d));
    s.max_expansions = doublings > 10 ? (int64_t)fmin(doublings, 1e6) : 10;
    return s;
}

/* The floor keeps the test alive at x = 0, where a relative width means nothing. */
static bool goes_on(const search *s)
{
    double width = fmax(s->r->opt.bracket_tol * s->norm_lower, 1e-16) / s->norm_d;
    return s->beta - s->alpha > width && (double)s->evals < s->cap;
}

static bool reaches_target(const lt_run *r, const lt_point *p)
{
    return p->feasible && isfinite(p->phi) && (r->opt.compat ? p->phi : lt_oracle_f(&r->oracle, p->f)) <= r->opt.target_f;
}

/* With the Lagrangian the model sets the length of a step, and updates need no slope, since they are damped. After SHORT_MOST such steps the slope
   is asked for again: phi may fall without end. */
static bool is_long_enough(const search *s, double slope)
{
    lt_run *r = s->r;
    return isfinite(slope) && s->t >= r->opt.first_step && lt_lagrangian_used(r) && r->last.n_short++ < SHORT_MOST;
}

static int judge(search *s)
{
    lt_run *r = s->r;
    lt_point *p = r->trial;
    p->mu = r->penalty.mu;
    if (lt_bounded(&r->bounds)) lt_bounds_step(r, s->t, p->x);
    else if (r->oracle.ahead != p) lt_vectors_step(&r->vectors, r->cur->x, s->t, r->d, p->x);
    if (!r->opt.double_precision) lt_vec_round_f32(r->n, p->x);
    if (!r->opt.double_precision && lt_bounded(&r->bounds)) lt_bounds_project(r, p->x);
    const lt_line_trial at = { s->t, s->alpha, s->evals };
    const bool first = s->evals++ == 0;
    s->tried = s->t;
    if (!lt_oracle_values(r, p, &at)) return STOPPED;
    r->last.evals++;
    if (reaches_target(r, p)) {
        if (r->opt.compat) r->oracle.evals++, r->last.evals++; /* PyGRANSO evaluates this point again */
        return lt_oracle_gradients(r, p) ? ACCEPTED : STOPPED;
    }
    bool decreases = isfinite(p->phi) && !(p->phi >= s->f0 + r->opt.wolfe_decrease * s->t * s->g0);
    r->oracle.first_tried += first;
    r->oracle.first_passed += first && decreases;
    if (!decreases) return TOO_LONG;
    if (!lt_oracle_gradients(r, p)) return STOPPED;
    if (lt_bounded(&r->bounds) && !lt_vec_finite(r->n, p->grad_phi)) return TOO_LONG; /* at a bound, as that of sqrt at 0 */
    if (r->opt.backtracking) return ACCEPTED;
    double slope = lt_bounded(&r->bounds) ? lt_bounds_slope(r, p) : lt_point_slope(r, p, p->mu);
    r->last.gradient_at_least = fabs(slope) / s->norm_d;
    const bool flat = isfinite(slope) && slope > r->opt.wolfe_slope * s->g0;
    if (flat) r->last.n_short = 0;
    return flat || is_long_enough(s, slope) ? ACCEPTED : TOO_SHORT;
}

/* Where phi falls up to the edge of the domain no slope turns: bisection would end at the edge itself, and the run with it. */
static bool is_near_edge(const search *s) { return s->beyond && s->beta - s->t <= EDGE * s->beta && !s->r->opt.compat; }

static void keep_as_lower(search *s)
{
    lt_run *r = s->r;
    lt_point *kept = r->trial;
    s->alpha = s->t;
    s->norm_lower = lt_vectors_norm2(&r->vectors, kept->x);
    s->has_lower = r->lower != NULL;
    if (!s->has_lower) return;
    r->trial = r->lower;
    r->lower = kept;
}

static bool next_step(search *s)
{
    if (s->beta < INFINITY) s->t = 0.5 * (s->alpha + s->beta);
    else if (s->expansions < s->max_expansions) s->expansions++, s->t = 2 * s->alpha;
    else return false;
    return true;
}

static lt_line_result failed(const search *s)
{
    const lt_run *r = s->r;
    lt_line_result line = { .fail = isinf(s->beta) ? LT_LINE_UNBOUNDED : LT_LINE_BRACKETED, .t = s->alpha,
                     .at = s->has_lower ? r->lower : NULL };
    if (r->opt.backtracking && s->evals && r->trial->finite) {
        line.t = s->tried; /* the shortest step tried, and the point that belongs to it */
        line.at = r->trial;
    }
    return line;
}

static lt_line_result find(search *s)
{
    lt_run *r = s->r;
    while (goes_on(s)) {
        if (s->evals && lt_oracle_stopped(r)) break;
        int verdict = judge(s);
        if (verdict == STOPPED) break;
        if (verdict == TOO_LONG && s->evals == 1 && lt_correct(r, s->f0 + r->opt.wolfe_decrease * s->t * s->g0)) verdict = ACCEPTED;
        if (r->code != LT_TERMINATION_NONE) break;
        if (verdict == TOO_SHORT && is_near_edge(s)) verdict = ACCEPTED;
        if (verdict == ACCEPTED) return (lt_line_result){ .fail = LT_LINE_OK, .t = s->t, .at = r->trial };
        if (verdict == TOO_LONG) s->beta = s->t, s->beyond = !r->trial->finite;
        else keep_as_lower(s);
        if (!next_step(s)) break;
    }
    return r->code == LT_TERMINATION_NONE ? failed(s) : (lt_line_result){ .fail = LT_LINE_STOPPED };
}

lt_line_result lt_line_search(lt_run *r, double g0, double limit)
{
    lt_span span = lt_span_begin("linesearch");
    search s = begin(r, g0, limit);
    const lt_line_result line = find(&s);
    r->steps.last = s.evals;
    lt_span_end(span);
    return line;
}
