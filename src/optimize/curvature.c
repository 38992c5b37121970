/* What an update of H learns from a step: y, the change of a gradient along it. Of the penalty function's gradient it is the wrong one where a
   constraint changes sides: the step shows a kink then that the quadratic program of the next direction knows exactly, and H shrinks across every
   constraint. The Lagrangian, with the multipliers of that program, has none (decision 234). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include <math.h>

#define CURVATURE_AT_LEAST 0.2 /* share of the model's curvature along s that an update leaves (Powell 1978) */
#define CUT_SHORT 0.1          /* a step this short was cut by curvature that the Lagrangian does not show: constraints without multipliers */

/* Bounds that are held, with limited memory and dense rows, have no multipliers in the program. A problem of feasibility alone is over at any point inside, and steps
   that go too far for the linear models are welcome (decision 325). */
bool lt_lagrangian_used(const lt_run *r)
{
    const lt_solve_options *o = &r->opt;
    return o->lagrangian_updates && r->constrained && (!lt_bounded(&r->bounds) || r->steering.pull || r->rows.on) && !o->unit_directions
        && r->fallback.level == LT_LEVEL_STEERING && !r->recovery.direct && r->oracle.has_objective;
}

/* The gradient of mu f + multipliers times constraints, from gradients at p. */
static void gradient_of_lagrangian(const lt_run *r, const lt_point *p, double *out)
{
    lt_vectors_sum(&r->vectors, out);
    lt_vectors_add(&r->vectors, r->penalty.mu, p->grads, out);
    if (r->rows.on) lt_rows_add_multipliers(r, p, out);
    else for (int64_t j = 0; j < r->q + r->p; j++)
        if (r->steering.multiplier[j] != 0) lt_vectors_add(&r->vectors, r->steering.multiplier[j], p->grads + (1 + j) * r->n, out);
    lt_vectors_sum_end(&r->vectors);
}

/* d = -H g with g the gradient of the Lagrangian, so B s = -alpha g is known, and y need not fall below a share of it. */
static void damp(const lt_run *r, const double *g)
{
    const lt_vectors *v = &r->vectors;
    const double alpha = r->last.alpha, *s = r->last.s;
    lt_vectors_expect(v, LT_MEASURE_DOT, s, g);
    lt_vectors_expect(v, LT_MEASURE_DOT, s, r->last.y);
    const double sBs = -alpha * lt_vectors_dot(v, s, g), sy = lt_vectors_dot(v, s, r->last.y);
    if (!(sBs > 0) || !(sy < CURVATURE_AT_LEAST * sBs)) return;
    const double share = (1 - CURVATURE_AT_LEAST) * sBs / (sBs - sy);
    lt_vectors_mix(v, share, r->last.y, -(1 - share) * alpha, g, r->last.y);
}

void lt_curvature(lt_run *r, const lt_point *from, const lt_point *to)
{
    if (to == from || !lt_lagrangian_used(r) || r->last.alpha < CUT_SHORT * r->opt.first_step || (r->steering.pull && r->last.alpha > 1)) {
        lt_vectors_difference(&r->vectors, to->grad_phi, to == from ? to->grad_phi : r->penalty.grad_phi, r->last.y);
        return;
    }
    double *before = r->steering.corrected; /* not needed any more; the point left is */
    gradient_of_lagrangian(r, to, r->last.y);
    gradient_of_lagrangian(r, from, before);
    lt_vectors_difference(&r->vectors, r->last.y, before, r->last.y);
    if (r->steering.pull) lt_vectors_difference(&r->vectors, before, r->steering.pull, before); /* bounds have no curvature, but a part in d */
    damp(r, before);
}
