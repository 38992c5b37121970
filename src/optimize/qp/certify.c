/* Measuring an answer, and the problems small enough to write the answer down.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/internal.h"

#include <math.h>

/* The multiplier under which the optimality conditions of the members are violated least: it lies
   between what entries that may not rise and what entries that may not fall ask for. */
static double best_multiplier(const lt_qp *w)
{
    double least = -INFINITY, most = INFINITY; /* g_i <= nu where y_i may fall, g_i >= nu where it may rise */
    if (!w->n_members) return 0;
    for (int i = 0; i < w->m; i++) {
        if (w->a[i] == 0) continue;
        if (w->y[i] > w->lower[i]) least = fmax(least, w->g[i]);
        if (w->y[i] < w->upper[i]) most = fmin(most, w->g[i]);
    }
    if (isinf(least)) return isinf(most) ? 0 : most;
    return isinf(most) ? least : least + (most - least) / 2;
}

void lt_qp_certify(lt_qp *w, bool precise, lt_qp_info *info)
{
    double worst = 0, objective = 0, largest = fabs(w->mu);
    double half_ulp = lt_qp_noise_scale(w) / 8; /* times root_i: what rounding y alone may do to r_i */
    lt_qp_gradient(w, precise);
    info->nu = w->nu = best_multiplier(w);
    info->n_free = 0;
    w->excess = 0;
    for (int i = 0; i < w->m; i++) {
        double r = w->g[i] - w->nu * w->a[i];
        bool may_fall = w->y[i] > w->lower[i], may_rise = w->y[i] < w->upper[i];
        double violation = isnan(r) ? INFINITY : fmax(may_fall ? r : 0, may_rise ? -r : 0);
        worst = fmax(worst, violation);
        w->excess = fmax(w->excess, violation - half_ulp * w->root[i]);
        info->n_free += may_fall && may_rise;
        objective += w->y[i] * (w->g[i] + w->c[i]);
        if (w->a[i] != 0) largest = fmax(largest, fabs(w->y[i]));
    }
    info->objective = objective / 2;
    info->sigma = w->sigma;
    info->residual = worst / w->sigma;
    info->sum_residual = fabs(lt_qp_sum_defect(w)) / fmax(largest, 1e-300);
}

bool lt_qp_certified(const lt_qp *w, const lt_qp_info *info)
{
    return info->residual <= w->opt.tolerance && info->sum_residual <= 1e-14;
}

bool lt_qp_acceptable(const lt_qp *w, const lt_qp_info *info)
{
    return w->excess <= w->opt.tolerance * w->sigma && info->sum_residual <= 1e-14;
}

/* ---- closed forms ------------------------------------------------------------------- */

/* Minimiser of 1/2 q y^2 + c y within the bounds; NaN where the objective falls for ever. */
static double minimise_one(double q, double c, double lower, double upper)
{
    if (q > 0) return lt_qp_clamp(-c / q, lower, upper);
    double v = c > 0 ? lower : c < 0 ? upper : lt_qp_clamp(0, lower, upper);
    return isinf(v) ? NAN : v;
}

static void set_point(lt_qp *w, int i, double v)
{
    w->y[i] = v;
    w->place[i] = w->lower[i] == w->upper[i] ? FIXED : v <= w->lower[i] ? AT_LOWER : v >= w->upper[i] ? AT_UPPER : PARKED;
}

/* How wrong the sign of the slope across the bound is, for a point on an edge of the rectangle. */
static double edge_violation(double slope, bool at_upper) { return fmax(at_upper ? slope : -slope, 0); }

static bool minimise_two(lt_qp *w)
{
    double q[2] = { w->q[0] + w->shift, w->q[w->stride + 1] + w->shift }, off = w->q[1];
    double det = q[0] * q[1] - off * off, best = INFINITY, point[2] = { 0 };
    if (det > 1e-8 * q[0] * q[1]) { /* nearer to singular, the general method refines better */
        double y0 = (off * w->c[1] - q[1] * w->c[0]) / det, y1 = (off * w->c[0] - q[0] * w->c[1]) / det;
        if (y0 >= w->lower[0] && y0 <= w->upper[0] && y1 >= w->lower[1] && y1 <= w->upper[1]) {
            set_point(w, 0, y0);
            set_point(w, 1, y1);
            return true;
        }
    }
    for (int edge = 0; edge < 4; edge++) {
        int k = edge / 2, other = 1 - k;
        double at = edge % 2 ? w->upper[k] : w->lower[k];
        if (isinf(at)) continue;
        double along = minimise_one(q[other], w->c[other] + off * at, w->lower[other], w->upper[other]);
        if (isnan(along)) continue;
        double violation = edge_violation(q[k] * at + off * along + w->c[k], edge % 2);
        if (w->lower[k] == w->upper[k]) violation = 0;
        if (violation < best) {
            best = violation;
            point[k] = at;
            point[other] = along;
        }
    }
    if (isinf(best)) return false;
    set_point(w, 0, point[0]);
    set_point(w, 1, point[1]);
    return true;
}

bool lt_qp_closed_form(lt_qp *w)
{
    if (w->m == 1) {
        double v = w->n_members ? w->mu : minimise_one(w->q[0] + w->shift, w->c[0], w->lower[0], w->upper[0]);
        if (isnan(v)) return false;
        set_point(w, 0, v);
        return true;
    }
    return w->m == 2 && !w->n_members && minimise_two(w);
}
