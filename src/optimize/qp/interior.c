/* A primal-dual interior-point method (Mehrotra's predictor and corrector). It is not asked for the
   last digits: it finds which bounds hold, and the active-set method finishes from there.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/internal.h"

#include <math.h>
#include <string.h>

/* Vectors over the live entries (those not fixed), in the order of w->index. zl, zu are the
   multipliers of the bounds, sl, su the distances to them (infinite where there is no bound). */
typedef struct interior {
    lt_qp  *w;
    int     n;
    double *zl, *zu, *sl, *su, *dy, *dzl, *dzu, *rhs, *weight;
    double  dnu, scale;
} interior;

static double span(const lt_qp *w, int i)
{
    double width = w->upper[i] - w->lower[i];
    return isfinite(width) ? width : 1;
}

/* The members' common share of their boxes that gives the sum, kept off the bounds. */
static double member_share(const lt_qp *w)
{
    double least = 0, width = 0;
    for (int i = 0; i < w->m; i++) {
        if (w->a[i] == 0) continue;
        least += w->lower[i];
        width += w->upper[i] - w->lower[i];
    }
    double share = (w->mu - least) / width;
    return isfinite(share) ? lt_qp_clamp(share, 0.01, 0.99) : 0.5;
}

static void begin(interior *s)
{
    lt_qp *w = s->w;
    double share = w->n_members ? member_share(w) : 0.5;
    s->n = 0;
    for (int i = 0; i < w->m; i++) {
        double lower = w->lower[i], upper = w->upper[i];
        if (w->place[i] == FIXED) continue;
        if (isfinite(lower) && isfinite(upper)) w->y[i] = lower + (w->a[i] != 0 ? share : 0.5) * (upper - lower);
        else if (isfinite(lower)) w->y[i] = lower + 1;
        else w->y[i] = isfinite(upper) ? upper - 1 : 0;
        w->index[s->n++] = i;
    }
    lt_qp_gradient(w, false);
    s->scale = w->sigma;
    w->nu = 0;
    for (int k = 0; k < s->n; k++) s->scale = fmax(s->scale, fabs(w->g[w->index[k]]));
    for (int k = 0; k < s->n; k++) {
        int i = w->index[k];
        s->sl[k] = w->y[i] - w->lower[i];
        s->su[k] = w->upper[i] - w->y[i];
        s->zl[k] = isfinite(s->sl[k]) ? s->scale : 0;
        s->zu[k] = isfinite(s->su[k]) ? s->scale : 0;
    }
}

static double over(double z, double s) { return isfinite(s) ? z / s : 0; }

/* Mean complementarity when the step alpha is taken; 0 for the present one. */
static double gap(const interior *s, double alpha)
{
    double sum = 0;
    int count = 0;
    for (int k = 0; k < s->n; k++) {
        double d = alpha > 0 ? alpha * s->dy[k] : 0;
        if (isfinite(s->sl[k])) sum += (s->sl[k] + d) * (s->zl[k] + (alpha > 0 ? alpha * s->dzl[k] : 0)), count++;
        if (isfinite(s->su[k])) sum += (s->su[k] - d) * (s->zu[k] + (alpha > 0 ? alpha * s->dzu[k] : 0)), count++;
    }
    return count ? sum / count : 0;
}

/* Factors Q + rho a a' + weights over the live entries, shifted until it is positive definite. */
static bool factor(interior *s)
{
    lt_qp *w = s->w;
    size_t step = (size_t)w->max_m;
    double shift = 1e-15 * s->scale;
    for (int k = 0; k < s->n; k++) s->weight[k] = over(s->zl[k], s->sl[k]) + over(s->zu[k], s->su[k]);
    for (int attempt = 0; attempt < 6; attempt++, shift *= 100) {
        for (int k = 0; k < s->n; k++) {
            const double *column = w->q + (size_t)w->index[k] * w->stride;
            double *out = w->l + (size_t)k * step, rho = w->rho * w->a[w->index[k]];
            for (int i = k; i < s->n; i++) out[i] = column[w->index[i]] + rho * w->a[w->index[i]];
            out[k] += w->shift + s->weight[k] + shift;
        }
        if (lt_qp_cholesky(w, s->n, w->l, step, w->inverse) == 0) return true;
    }
    return false;
}

/* p = K^-1 b with a'p = defect; *dnu receives the multiplier of a. */
static void solve_once(interior *s, const double *b, double defect, double *p, double *dnu)
{
    lt_qp *w = s->w;
    size_t step = (size_t)w->max_m;
    double *t = w->t;
    memcpy(p, b, (size_t)s->n * sizeof(double));
    w->loops->forward(s->n, w->l, step, w->inverse, p);
    *dnu = 0;
    if (w->n_members) {
        for (int k = 0; k < s->n; k++) t[k] = w->a[w->index[k]];
        w->loops->forward(s->n, w->l, step, w->inverse, t);
        double nu = (defect - w->loops->dot(s->n, t, p)) / w->loops->dot(s->n, t, t);
        for (int k = 0; k < s->n; k++) p[k] += nu * t[k];
        *dnu = nu - w->rho * defect;
    }
    w->loops->backward(s->n, w->l, step, w->inverse, p);
}

/* Solves for dy and dnu, with one step of refinement. */
static void solve(interior *s, double defect)
{
    lt_qp *w = s->w;
    double *product = w->work, *rest = w->h, *fix = w->p, sum = 0, more;
    solve_once(s, s->rhs, defect, s->dy, &s->dnu);
    memset(product, 0, (size_t)w->m * sizeof(double));
    lt_qp_add_product(w, s->n, w->index, s->dy, product);
    for (int k = 0; k < s->n; k++) {
        int i = w->index[k];
        rest[k] = s->rhs[k] + s->dnu * w->a[i] - product[i] - s->weight[k] * s->dy[k];
        sum += w->a[i] * s->dy[k];
    }
    solve_once(s, rest, w->n_members ? defect - sum : 0, fix, &more);
    for (int k = 0; k < s->n; k++) s->dy[k] += fix[k];
    s->dnu += more;
}

/* The direction towards complementarity `target`; with_corrector adds the second-order term of the
   direction now in dy, dzl, dzu. */
static void direction(interior *s, double target, bool with_corrector)
{
    lt_qp *w = s->w;
    double *low = s->dzl, *high = s->dzu; /* first what (target - s z + corrector) is, then the steps */
    for (int k = 0; k < s->n; k++) {
        int i = w->index[k];
        double corrector_low = with_corrector ? s->dy[k] * s->dzl[k] : 0;
        double corrector_high = with_corrector ? -s->dy[k] * s->dzu[k] : 0;
        low[k] = isfinite(s->sl[k]) ? (target - corrector_low) / s->sl[k] - s->zl[k] : 0;
        high[k] = isfinite(s->su[k]) ? (target - corrector_high) / s->su[k] - s->zu[k] : 0;
        double dual = w->g[i] - w->nu * w->a[i] - s->zl[k] + s->zu[k];
        s->rhs[k] = -dual + low[k] - high[k];
    }
    solve(s, lt_qp_sum_defect(w));
    for (int k = 0; k < s->n; k++) {
        low[k] -= over(s->zl[k], s->sl[k]) * s->dy[k];
        high[k] += over(s->zu[k], s->su[k]) * s->dy[k];
    }
}

static double longest(const interior *s)
{
    double alpha = 1e30;
    for (int k = 0; k < s->n; k++) {
        if (s->dy[k] < 0) alpha = fmin(alpha, -s->sl[k] / s->dy[k]);
        if (s->dy[k] > 0) alpha = fmin(alpha, s->su[k] / s->dy[k]);
        if (s->dzl[k] < 0) alpha = fmin(alpha, -s->zl[k] / s->dzl[k]);
        if (s->dzu[k] < 0) alpha = fmin(alpha, -s->zu[k] / s->dzu[k]);
    }
    return alpha;
}

static void take(interior *s, double alpha)
{
    lt_qp *w = s->w;
    for (int k = 0; k < s->n; k++) {
        s->sl[k] += alpha * s->dy[k];
        s->su[k] -= alpha * s->dy[k];
        s->zl[k] += alpha * s->dzl[k];
        s->zu[k] += alpha * s->dzu[k];
        w->y[w->index[k]] += alpha * s->dy[k];
    }
    w->nu += alpha * s->dnu;
}

static bool converged(const interior *s)
{
    const lt_qp *w = s->w;
    double dual = 0, complementarity = 0;
    for (int k = 0; k < s->n; k++) {
        int i = w->index[k];
        dual = fmax(dual, fabs(w->g[i] - w->nu * w->a[i] - s->zl[k] + s->zu[k]));
        double pair = fmax(isfinite(s->sl[k]) ? s->sl[k] * s->zl[k] : 0, isfinite(s->su[k]) ? s->su[k] * s->zu[k] : 0);
        complementarity = fmax(complementarity, pair / span(w, i));
    }
    return dual <= 1e-11 * s->scale && complementarity <= 1e-12 * s->scale;
}

/* An entry counts as held by a bound when its multiplier outweighs its distance from it. */
static void read_active_set(interior *s)
{
    lt_qp *w = s->w;
    memset(w->want, 0, (size_t)w->m);
    for (int k = 0; k < s->n; k++) {
        int i = w->index[k];
        double width = span(w, i);
        if (isfinite(s->sl[k]) && s->zl[k] * width > s->scale * s->sl[k]) w->place[i] = AT_LOWER, w->y[i] = w->lower[i];
        else if (isfinite(s->su[k]) && s->zu[k] * width > s->scale * s->su[k]) w->place[i] = AT_UPPER, w->y[i] = w->upper[i];
        else w->want[i] = 1;
    }
}

void lt_qp_interior(lt_qp *w)
{
    enum { MOST_ITERATIONS = 60 };
    size_t m = (size_t)w->max_m;
    double *v = w->interior;
    interior s = { .w = w, .zl = v, .zu = v + m, .sl = v + 2 * m, .su = v + 3 * m, .dy = v + 4 * m, .dzl = v + 5 * m,
                   .dzu = v + 6 * m, .rhs = v + 7 * m, .weight = v + 8 * m };
    lt_qp_factor_reset(w); /* its memory holds the matrix factored here */
    begin(&s);
    for (int k = 0; k < MOST_ITERATIONS && s.n > 0; k++) {
        lt_qp_gradient(w, false);
        if (converged(&s) || !factor(&s)) break;
        w->interior_iterations++;
        direction(&s, 0, false);
        double now = gap(&s, 0), ahead = gap(&s, fmin(1, longest(&s)));
        double ratio = now > 0 ? ahead / now : 0;
        direction(&s, now * ratio * ratio * ratio, true);
        double alpha = fmin(1, 0.995 * longest(&s));
        if (!(alpha > 1e-9)) break;
        take(&s, alpha);
    }
    read_active_set(&s);
}
