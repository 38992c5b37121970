/* Bounds: points inside, slopes along the path that is cut at them, multipliers. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/solver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "optimize/problem/bounds.h"
#include "optimize/vectors/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define AT_BOUND 1e-9        /* relative to max(1, |bound|): near enough to count as at it, at the cost of multiplier times distance */

lt_status lt_bounds_create(lt_run *r)
{
    lt_bounds *b = &r->bounds;
    const size_t n = (size_t)r->n;
    if (!lt_bounded(b) || r->rows.on) return LT_OK; /* with sparse rows they are some of these */
    b->rows = !r->opt.lbfgs_pairs;
    b->held = lt_arena_alloc(&r->arena, n);
    if (!b->held) return LT_ERR_MEMORY;
    memset(b->held, 0, n);
    if (!b->rows) {
        b->free = lt_arena_alloc(&r->arena, n);
        if (b->free) memset(b->free, 1, n);
        return b->free ? LT_OK : LT_ERR_MEMORY;
    }
    b->variable = lt_arena_alloc(&r->arena, 2 * n * sizeof *b->variable);
    b->sign = lt_arena_alloc(&r->arena, 2 * n * sizeof *b->sign);
    b->listed = lt_arena_alloc(&r->arena, n);
    b->d = lt_arena_alloc(&r->arena, n * sizeof *b->d);
    r->stat.bounds = lt_arena_alloc(&r->arena, n * sizeof *b->d);
    return r->stat.bounds && b->variable && b->sign && b->listed && b->d ? LT_OK : LT_ERR_MEMORY;
}

/* ---- Points ---------------------------------------------------------------------------------------------------------- */
static double inside(const lt_bounds *b, int64_t i, double x) { return x < b->lower[i] ? b->lower[i] : x > b->upper[i] ? b->upper[i] : x; }

void lt_bounds_project(const lt_run *r, double *x)
{
    for (int64_t i = 0; i < r->n; i++) x[i] = inside(&r->bounds, i, x[i]);
}

int64_t lt_bounds_count(const lt_run *r)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->n; i++) n += isfinite(r->bounds.lower[i]) + isfinite(r->bounds.upper[i]);
    return n;
}

void lt_bounds_start(lt_run *r, double *x)
{
    for (int64_t i = 0; i < r->n; i++) {
        const double v = inside(&r->bounds, i, x[i]);
        r->bounds.n_moved += v != x[i];
        x[i] = v;
    }
}

/* A point that only rounding keeps from a bound is put on it, so that a step to the bound reaches it. */
static double snap(double x, double from, double bound)
{
    return isfinite(bound) && fabs(x - bound) <= 2 * DBL_EPSILON * fmax(fabs(from), fabs(bound)) ? bound : x;
}

void lt_bounds_step(const lt_run *r, double t, double *x)
{
    const lt_bounds *b = &r->bounds;
    const double *from = r->cur->x, *d = r->d;
    for (int64_t i = 0; i < r->n; i++) {
        const double v = from[i] + t * d[i];
        x[i] = d[i] == 0 ? from[i] : inside(b, i, d[i] < 0 ? snap(v, from[i], b->lower[i]) : snap(v, from[i], b->upper[i]));
    }
}

static bool leads_out(const lt_bounds *b, int64_t i, double x, double d) { return (d < 0 && x <= b->lower[i]) || (d > 0 && x >= b->upper[i]); }

void lt_bounds_block(const lt_run *r, double *d)
{
    for (int64_t i = 0; i < r->n; i++)
        if (leads_out(&r->bounds, i, r->cur->x[i], d[i])) d[i] = 0;
}

double lt_bounds_slope(const lt_run *r, const lt_point *p)
{
    double sum = 0;
    for (int64_t i = 0; i < r->n; i++)
        if (!leads_out(&r->bounds, i, p->x[i], r->d[i])) sum += p->grad_phi[i] * r->d[i];
    return sum;
}

void lt_bounds_mark_free(lt_run *r)
{
    lt_bounds *b = &r->bounds;
    const double *g = r->cur->grad_phi;
    if (!b->free) return;
    for (int64_t i = 0; i < r->n; i++) b->free[i] = !leads_out(b, i, r->cur->x[i], -g[i]);
    lt_hessian_free_variables(&r->hessian, b->free);
}

double lt_bounds_mask(const lt_run *r, double *sum)
{
    const lt_bounds *b = &r->bounds;
    double pulled = 0;
    for (int64_t i = 0; i < r->n; i++) {
        if (b->free[i]) continue;
        if (!leads_out(b, i, r->cur->x[i], -sum[i])) pulled += sum[i] * sum[i];
        sum[i] = 0;
    }
    return sqrt(pulled);
}

/* ---- Multipliers ------------------------------------------------------------------------------------------------------- */
static double gap(double x, double bound)
{
    const double way = fabs(x - bound);
    return way <= AT_BOUND * fmax(1, fabs(bound)) ? way : INFINITY;
}

/* The distance to the bound that would balance a gradient of this sign; infinite: too far. */
static double way_to(const lt_run *r, int64_t i, double g)
{
    return g > 0 ? gap(r->cur->x[i], r->bounds.lower[i]) : gap(r->cur->x[i], r->bounds.upper[i]);
}

double lt_bounds_balance(const lt_run *r, double *sum, double *z)
{
    double cost = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double way = sum[i] != 0 ? way_to(r, i, sum[i]) : INFINITY;
        if (z) z[i] = isfinite(way) ? sum[i] : 0;
        if (!isfinite(way)) continue;
        cost += sum[i] * way * sum[i] * way;
        sum[i] = 0;
    }
    return sqrt(cost);
}

bool lt_bounds_hold(lt_run *r, const double *sum)
{
    bool changed = false;
    for (int64_t i = 0; i < r->n; i++) {
        const uint8_t held = sum[i] != 0 && isfinite(way_to(r, i, sum[i]));
        if (sum[i] == 0 || held == r->bounds.held[i]) continue;
        r->bounds.held[i] = held;
        changed = true;
    }
    return changed;
}
