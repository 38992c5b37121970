/* Scales, chosen at the start and again where a run is stuck. Those of variables are the first H, D^2: a quasi-Newton method with it takes the steps that it would take in variables x / D with the
   identity. Functions whose gradient is long in these variables are divided by a power of two, so that nothing is rounded and results are in the user's units to the bit
   (decision 320). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/status.h"

#include <math.h>

#define LONG_GRADIENT 100  /* shorter gradients stay as they are: a small factor gains nothing, and some runs would end at another minimum */
#define SCALED_GRADIENT 10 /* longer ones are scaled to at most this */
#define DIFFERENT 10     /* scales of variables nearer to each other than this are left alone */
#define WIDE 10          /* a box this many times wider than |x0| says nothing about the scale */

#define DRIFTED 1e-4     /* scales by gradients are rough: only where they are this much shorter than those in use */
#define SHORTEST 1e-12

/* From here on vectors may be on a device, where a scaled gradient costs a wait and nothing was measured: results must not depend on where they are. */
#define SCALED_BELOW 1024

/* The half width of a box says more than one point in it; without a box x0 is all that is known. */
static double scale_of(const lt_run *r, const double *x, int64_t i)
{
    const lt_bounds *b = &r->bounds;
    const double size = fmax(1, fabs(x[i])), half = lt_bounded(b) ? 0.5 * (b->upper[i] - b->lower[i]) : INFINITY;
    return half > 0 && half <= WIDE * size ? half : size;
}

static bool wanted(const lt_run *r)
{
    const lt_solve_options *o = &r->opt;
    return o->scale_variables && r->n < SCALED_BELOW && !r->rows.on && o->scale_H0 && !r->hessian.limited && r->hessian.diagonal && !r->warm.H.H;
}

lt_status lt_scale_variables(lt_run *r)
{
    double least = INFINITY, most = 0;
    if (!wanted(r)) return LT_OK;
    const double *x = lt_vectors_look(&r->vectors, r->n, r->cur->x, 0);
    for (int64_t i = 0; i < r->n; i++) {
        const double d = scale_of(r, x, i);
        least = fmin(least, d);
        most = fmax(most, d);
    }
    if (!(most >= DIFFERENT * least) || isinf(most)) return LT_OK;
    double *metric = lt_arena_alloc(&r->arena, (size_t)r->n * sizeof *metric);
    if (!metric) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < r->n; i++) {
        const double d = scale_of(r, x, i);
        metric[i] = d * d;
    }
    r->hessian.metric = metric;
    return lt_hessian_reset(&r->hessian) ? LT_OK : LT_FAIL(LT_ERR_INTERNAL, "scaling: H is on a device already");
}

/* ---- Later ------------------------------------------------------------------------------------------------------ */
/* A step of this length in variable i alone changes the function for which it matters most by about as much as that is worth. */
static double scale_here(const lt_run *r, int64_t i)
{
    const lt_point *p = r->cur;
    double scale = INFINITY;
    for (int64_t j = 0; j < r->k; j++) {
        const double slope = fabs(p->grads[j * r->n + i]), worth = fmax(lt_oracle_unit(&r->oracle), fabs(j ? p->c[j - 1] : p->f));
        if (slope > 0) scale = fmin(scale, worth / slope);
    }
    return scale;
}

/* Scales become shorter only: a slope may be small because its variable is where it should be. */
bool lt_rescale_variables(lt_run *r)
{
    double *metric = r->hessian.metric, drift = 1;
    if (r->opt.compat || r->n >= SCALED_BELOW || r->rows.on || !r->opt.scale_H0 || r->hessian.limited || r->vectors.on->queues || r->warm.H.H) return false;
    for (int64_t i = 0; i < r->n; i++) drift = fmin(drift, scale_here(r, i) / sqrt(metric ? metric[i] : 1));
    if (!(drift < DRIFTED)) return false;
    if (!metric) {
        if (!(metric = lt_arena_alloc(&r->arena, (size_t)r->n * sizeof *metric))) return false;
        for (int64_t i = 0; i < r->n; i++) metric[i] = 1;
    }
    for (int64_t i = 0; i < r->n; i++) metric[i] = fmin(metric[i], pow(fmax(scale_here(r, i), SHORTEST), 2));
    r->hessian.metric = metric;
    return lt_hessian_reset(&r->hessian);
}

/* ---- Functions -------------------------------------------------------------------------------------------------- */
static double length(const lt_run *r, const double *g)
{
    const double *metric = r->hessian.metric;
    double sum = 0, largest = 0;
    if (!metric) return lt_vec_norm2(r->n, g);
    for (int64_t i = 0; i < r->n; i++) largest = fmax(largest, fabs(g[i]) * sqrt(metric[i]));
    if (!(largest > 0) || isinf(largest)) return largest;
    for (int64_t i = 0; i < r->n; i++) {
        const double v = g[i] * sqrt(metric[i]) / largest;
        sum += v * v;
    }
    return largest * sqrt(sum);
}

/* Without constraints there is nothing to weigh f against; a user who sets mu0 has weighed the functions as they are written. With sparse rows nothing was measured. */
void lt_scale_functions(lt_run *r, const double *grads)
{
    if (!r->constrained || r->rows.on || r->n >= SCALED_BELOW || r->opt.mu0 != lt_solve_defaults().mu0) return;
    for (int64_t j = 0; j < r->k; j++) {
        const double norm = length(r, grads + j * r->n);
        if (!(norm > LONG_GRADIENT) || isinf(norm)) continue;
        r->oracle.scale[j] = exp2(floor(log2(SCALED_GRADIENT / norm)));
        r->oracle.prescaled = r->oracle.hidden = true;
    }
}
