/* Finding the active set: first by guessing it whole, then by the primal active-set method, which
   changes one entry at a time and lowers the objective at each step. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/internal.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- where to begin --------------------------------------------------------------- */

/* While the factor stands, an entry parked before depends on it still. */
static bool still_parked(const lt_qp *w, int i)
{
    return w->n > 0 && w->place[i] == PARKED && w->y[i] > w->lower[i] && w->y[i] < w->upper[i];
}

static void place_by_value(lt_qp *w, int i, double value)
{
    w->y[i] = lt_qp_clamp(value, w->lower[i], w->upper[i]);
    bool inside = w->y[i] > w->lower[i] && w->y[i] < w->upper[i];
    w->want[i] = inside && !still_parked(w, i);
    if (!inside) w->place[i] = w->y[i] <= w->lower[i] ? AT_LOWER : AT_UPPER;
}

static void place_as_before(lt_qp *w, int i)
{
    w->want[i] = 0;
    if (w->place[i] == AT_LOWER && isfinite(w->lower[i])) {
        w->y[i] = w->lower[i];
    } else if (w->place[i] == AT_UPPER && isfinite(w->upper[i])) {
        w->y[i] = w->upper[i];
    } else {
        w->y[i] = lt_qp_clamp(w->y[i], w->lower[i], w->upper[i]);
        w->want[i] = !still_parked(w, i);
    }
}

void lt_qp_start(lt_qp *w, const double *start, bool warm)
{
    for (int i = 0; i < w->m; i++) {
        if (w->lower[i] == w->upper[i]) {
            w->y[i] = w->lower[i];
            w->want[i] = 0;
            w->place[i] = FIXED;
        } else if (start) {
            place_by_value(w, i, start[i]);
        } else if (warm) {
            place_as_before(w, i);
        } else {
            w->y[i] = lt_qp_clamp(0, w->lower[i], w->upper[i]);
            w->want[i] = 1;
        }
    }
}

/* A sum constraint with every member at a bound leaves nu without meaning: one member stays free. */
static void keep_a_member(lt_qp *w)
{
    int best = -1;
    double room = -1;
    if (!w->n_members) return;
    for (int i = 0; i < w->m; i++) {
        if (w->a[i] == 0) continue;
        if (w->want[i]) return;
        double r = fmin(w->y[i] - w->lower[i], w->upper[i] - w->y[i]);
        if (r > room) {
            room = r;
            best = i;
        }
    }
    w->want[best] = 1;
}

/* ---- guessing whole active sets ------------------------------------------------------ */

/* How far r_i points out of the bounds' favour: positive where moving entry i would gain. */
static double gain(const lt_qp *w, int i, double r)
{
    switch (w->place[i]) {
    case AT_LOWER: return -r;
    case AT_UPPER: return r;
    case PARKED: return fabs(r);
    default: return 0;
    }
}

static double allowance(const lt_qp *w, int i, double scale)
{
    return scale * w->root[i] + 8 * LT_QP_EPS * (fabs(w->c[i]) + fabs(w->nu) * w->a[i]);
}

/* Sends every entry where the last step says it belongs; returns how many changed place. */
static int reassign(lt_qp *w)
{
    double scale = lt_qp_noise_scale(w);
    int changes = 0;
    for (int i = 0; i < w->m; i++) {
        double r = w->g[i] - w->nu * w->a[i];
        if (w->place[i] == FREE) {
            w->want[i] = w->y[i] >= w->lower[i] && w->y[i] <= w->upper[i];
            if (w->want[i]) continue;
            w->place[i] = w->y[i] < w->lower[i] ? AT_LOWER : AT_UPPER;
        } else {
            w->want[i] = 0;
            if (gain(w, i, r) <= allowance(w, i, scale)) continue;
            if (w->place[i] == PARKED) w->place[i] = r > 0 ? AT_LOWER : AT_UPPER;
            else w->want[i] = 1;
            if (!w->want[i] && isinf(r > 0 ? w->lower[i] : w->upper[i])) {
                w->place[i] = PARKED;
                continue;
            }
        }
        if (!w->want[i]) w->y[i] = w->place[i] == AT_LOWER ? w->lower[i] : w->upper[i];
        changes++;
    }
    return changes;
}

static void advance(lt_qp *w, double alpha)
{
    for (int k = 0; k < w->n; k++) {
        w->p[k] *= alpha;
        w->y[w->index[k]] += w->p[k];
    }
    lt_qp_add_product(w, w->n, w->index, w->p, w->g);
}

bool lt_qp_settle(lt_qp *w)
{
    enum { MOST_ROUNDS = 20, PATIENCE = 3 };
    int fewest = INT_MAX, left = PATIENCE;
    for (int round = 0; round < MOST_ROUNDS && w->iterations < w->max_iterations; round++) {
        keep_a_member(w);
        lt_qp_factor_match(w);
        lt_qp_gradient(w, false);
        lt_qp_newton_step(w);
        advance(w, 1);
        w->iterations++;
        int changes = reassign(w);
        if (changes == 0) return true;
        if (changes < fewest) {
            fewest = changes;
            left = PATIENCE;
        } else if (--left == 0) {
            break;
        }
    }
    return false;
}

/* ---- one change at a time --------------------------------------------------------------- */

/* The largest step along p that keeps the free entries within their bounds, at most `most`;
   *blocking is the entry that ends it, or -1. n_moving members move in all: one alone cannot. */
static double longest_step(const lt_qp *w, double most, int n_moving, int *blocking)
{
    double alpha = most, size = 0;
    *blocking = -1;
    for (int k = 0; k < w->n; k++) {
        int i = w->index[k];
        double p = w->p[k];
        if (p == 0 || (w->a[i] != 0 && n_moving == 1)) continue;
        double room = p > 0 ? w->upper[i] - w->y[i] : w->lower[i] - w->y[i];
        double limit = fmax(room / p, 0);
        if (limit < alpha || (limit == alpha && *blocking >= 0 && fabs(p) > size)) {
            alpha = limit;
            size = fabs(p);
            *blocking = i;
        }
    }
    return alpha;
}

static void clamp_free(lt_qp *w)
{
    for (int k = 0; k < w->n; k++) {
        int i = w->index[k];
        w->y[i] = lt_qp_clamp(w->y[i], w->lower[i], w->upper[i]);
    }
}

/* The blocking entry goes to the bound nearer to where the step left it. */
static void leave(lt_qp *w, int i)
{
    bool low = fabs(w->y[i] - w->lower[i]) <= fabs(w->upper[i] - w->y[i]);
    w->y[i] = low ? w->lower[i] : w->upper[i];
    w->place[i] = low ? AT_LOWER : AT_UPPER;
    lt_qp_factor_remove(w, i);
}

/* The entry with the most to gain for its scale, -1 when none has anything. */
static int choose_entering(lt_qp *w, bool precise, bool first)
{
    double scale = lt_qp_noise_scale(w), most = 0;
    int best = -1;
    for (int i = 0; i < w->m; i++) {
        if (w->place[i] == FREE || w->place[i] == FIXED || w->banned[i]) continue;
        double v = gain(w, i, w->g[i] - w->nu * w->a[i]);
        double least = precise ? fmin(allowance(w, i, scale), 0.1 * w->opt.tolerance * w->sigma) : allowance(w, i, scale);
        if (v <= least) continue;
        double rate = v / fmax(w->root[i], 1e-8 * sqrt(w->max_diagonal) + 1e-300);
        if (rate > most) {
            most = rate;
            best = i;
            if (first) return best;
        }
    }
    return best;
}

/* Entry j has no curvature of its own: it slides, taking the free entries along, until a bound
   ends the slide. Returns false when nothing does. */
static bool slide(lt_qp *w, int j, double pivot)
{
    double r = w->g[j] - w->nu * w->a[j], sign = r > 0 ? -1 : 1;
    double end = sign > 0 ? w->upper[j] : w->lower[j], own = fabs(end - w->y[j]);
    double flat = pivot > 0 ? fabs(r) / pivot : INFINITY;
    int blocking;
    lt_qp_null_step(w, j);
    for (int k = 0; k < w->n; k++) w->p[k] *= sign;
    double most = fmin(own, flat), alpha = longest_step(w, most, w->n_sum + (w->a[j] != 0), &blocking);
    if (isinf(alpha)) return false;
    advance(w, alpha);
    clamp_free(w);
    lt_qp_add_product(w, 1, &j, &(double){ sign * alpha }, w->g);
    w->y[j] = lt_qp_clamp(w->y[j] + sign * alpha, w->lower[j], w->upper[j]);
    if (blocking >= 0) {
        leave(w, blocking);
        lt_qp_factor_append(w, 1, &j);
    } else if (own <= flat) {
        w->y[j] = end;
        w->place[j] = sign > 0 ? AT_UPPER : AT_LOWER;
    } else {
        w->place[j] = PARKED;
    }
    return true;
}

static bool enter(lt_qp *w, int j)
{
    lt_qp_factor_append(w, 1, &j);
    if (w->row[j] >= 0) return true;
    double pivot = w->panel_gram[0];
    if (slide(w, j, pivot)) return true;
    double r = fabs(w->g[j] - w->nu * w->a[j]);
    if (r > w->opt.tolerance * w->sigma) {
        w->cause = LT_QP_CAUSE_UNBOUNDED;
        return false;
    }
    w->banned[j] = 1;
    return true;
}

/* Steps that gain nothing may go round in circles: what bounced is kept out until one gains. */
static bool gained(const lt_qp *w, double alpha)
{
    double slope = 0, size = lt_qp_noise_scale(w) / (4 * LT_QP_EPS);
    for (int k = 0; k < w->n; k++) {
        int i = w->index[k];
        slope -= (w->g[i] - w->nu * w->a[i]) * w->p[k];
    }
    return alpha * slope > LT_QP_EPS * size * size;
}

bool lt_qp_active_set(lt_qp *w, bool precise)
{
    int since_gradient = 0, idle = 0, entered = -1;
    keep_a_member(w);
    lt_qp_factor_match(w);
    memset(w->banned, 0, (size_t)w->m);
    lt_qp_gradient(w, precise);
    for (; w->iterations < w->max_iterations; w->iterations++) {
        int blocking;
        lt_qp_newton_step(w);
        double alpha = longest_step(w, 1, w->n_sum, &blocking);
        if (idle > 0 && gained(w, alpha)) {
            memset(w->banned, 0, (size_t)w->m);
            idle = 0;
        }
        advance(w, alpha);
        clamp_free(w);
        since_gradient++;
        if (blocking >= 0) {
            leave(w, blocking);
            if (blocking == entered) w->banned[blocking] = 1, idle++;
            continue;
        }
        entered = choose_entering(w, precise, idle > w->m);
        if (entered >= 0) {
            if (!enter(w, entered)) return false;
            continue;
        }
        if (since_gradient <= 1) return true;
        lt_qp_gradient(w, precise);
        since_gradient = 0;
    }
    w->cause = LT_QP_CAUSE_ITERATIONS;
    return true;
}
