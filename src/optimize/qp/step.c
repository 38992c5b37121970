/* Gradients, steps over the free entries, and keeping the sum. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/internal.h"

#include <math.h>
#include <string.h>

static double dot_precise(int m, const double *column, const double *y, double first)
{
    long double s0 = first, s1 = 0;
    int i = 0;
    for (; i + 2 <= m; i += 2) {
        s0 += (long double)column[i] * y[i];
        s1 += (long double)column[i + 1] * y[i + 1];
    }
    if (i < m) s0 += (long double)column[i] * y[i];
    return (double)(s0 + s1);
}

void lt_qp_add_product(const lt_qp *w, int count, const int *entry, const double *coef, double *out)
{
    w->loops->add_columns(w->m, count, entry, coef, w->q, w->stride, out);
    for (int k = 0; w->shift != 0 && k < count; k++) out[entry[k]] += w->shift * coef[k];
}

void lt_qp_gradient(lt_qp *w, bool precise)
{
    if (precise) {
        for (int i = 0; i < w->m; i++) w->g[i] = dot_precise(w->m, w->q + (size_t)i * w->stride, w->y, w->c[i]) + w->shift * w->y[i];
        return;
    }
    int count = 0;
    for (int i = 0; i < w->m; i++)
        if (w->y[i] != 0) {
            w->list[count] = i;
            w->work[count++] = w->y[i];
        }
    memset(w->g, 0, (size_t)w->m * sizeof(double));
    lt_qp_add_product(w, count, w->list, w->work, w->g);
    for (int i = 0; i < w->m; i++) w->g[i] += w->c[i];
}

double lt_qp_sum_defect(const lt_qp *w)
{
    long double sum = 0;
    if (!w->n_members) return 0;
    for (int i = 0; i < w->m; i++)
        if (w->a[i] != 0) sum += w->y[i];
    return (double)(w->mu - sum);
}

/* t = L^-1 a over the free entries; returns t't, 0 without members among them. */
static double solve_members(lt_qp *w)
{
    if (!w->n_sum) return 0;
    for (int k = 0; k < w->n; k++) w->t[k] = w->a[w->index[k]];
    w->loops->forward(w->n, w->l, (size_t)w->max_m, w->inverse, w->t);
    return w->loops->dot(w->n, w->t, w->t);
}

/* Steps of other entries may be far longer than mu, and their rounding then spoils the sum: what is
   missing of `change` is added along the direction that costs least. */
static void correct_sum(lt_qp *w, double tt, double change)
{
    long double sum = 0;
    for (int k = 0; k < w->n; k++)
        if (w->a[w->index[k]] != 0) sum += w->p[k];
    double missing = (double)(change - sum);
    if (fabs(missing) <= LT_QP_EPS * fabs(w->mu)) return;
    w->loops->backward(w->n, w->l, (size_t)w->max_m, w->inverse, w->t);
    for (int k = 0; k < w->n; k++) w->p[k] += missing / tt * w->t[k];
}

void lt_qp_newton_step(lt_qp *w)
{
    double defect = lt_qp_sum_defect(w), tt = solve_members(w);
    /* With the last nu taken off, the right-hand side vanishes at the optimum: a second step refines. */
    for (int k = 0; k < w->n; k++) w->p[k] = w->nu * w->a[w->index[k]] - w->g[w->index[k]];
    w->loops->forward(w->n, w->l, (size_t)w->max_m, w->inverse, w->p);
    if (tt > 0) {
        double change = (defect - w->loops->dot(w->n, w->t, w->p)) / tt;
        for (int k = 0; k < w->n; k++) w->p[k] += change * w->t[k];
        w->nu += change - w->rho * defect;
    }
    w->loops->backward(w->n, w->l, (size_t)w->max_m, w->inverse, w->p);
    if (tt > 0) correct_sum(w, tt, defect);
}

void lt_qp_null_step(lt_qp *w, int j)
{
    double tt = solve_members(w), kappa = 0;
    if (tt > 0) kappa = -(w->a[j] - w->loops->dot(w->n, w->t, w->panel)) / tt;
    for (int k = 0; k < w->n; k++) w->p[k] = -w->panel[k] + (tt > 0 ? kappa * w->t[k] : 0);
    w->loops->backward(w->n, w->l, (size_t)w->max_m, w->inverse, w->p);
    if (tt > 0) correct_sum(w, tt, -w->a[j]);
}

double lt_qp_noise_scale(const lt_qp *w)
{
    double sum = 0;
    for (int i = 0; i < w->m; i++) sum += w->root[i] * fabs(w->y[i]);
    return 4 * LT_QP_EPS * sum;
}

/* Moves the members towards the missing sum, each by the same share of its room that way. */
static void share_out(lt_qp *w, double missing, bool only_free)
{
    double room = 0;
    int open = 0; /* members without a bound on that side */
    for (int i = 0; i < w->m; i++) {
        if (w->a[i] == 0 || (only_free && !w->want[i])) continue;
        double r = missing > 0 ? w->upper[i] - w->y[i] : w->y[i] - w->lower[i];
        if (isinf(r)) open++;
        else room += r;
    }
    if (!open && room <= 0) return;
    double share = open ? 0 : fmin(1, fabs(missing) / room);
    for (int i = 0; i < w->m; i++) {
        if (w->a[i] == 0 || (only_free && !w->want[i])) continue;
        double end = missing > 0 ? w->upper[i] : w->lower[i];
        double move = isinf(end) ? missing / open : share * (end - w->y[i]);
        w->y[i] = share == 1 ? end : lt_qp_clamp(w->y[i] + move, w->lower[i], w->upper[i]);
        if (w->y[i] > w->lower[i] && w->y[i] < w->upper[i]) w->want[i] = 1; /* no bound holds it any more */
        else if (!w->want[i]) w->place[i] = w->y[i] <= w->lower[i] ? AT_LOWER : AT_UPPER;
    }
}

/* Whom to give `missing`: the smallest member between its bounds that stays there (small numbers
   are finer), else the one that can take most of it on the way to its bound; -1 when there is none. */
static int pick_taker(const lt_qp *w, double missing)
{
    int whole = -1, part = -1;
    double most = 0;
    for (int i = 0; i < w->m; i++) {
        if (w->a[i] == 0 || w->y[i] <= w->lower[i] || w->y[i] >= w->upper[i]) continue;
        double v = w->y[i] + missing, room = missing > 0 ? w->upper[i] - w->y[i] : w->y[i] - w->lower[i];
        if (v != w->y[i] && v > w->lower[i] && v < w->upper[i] && (whole < 0 || fabs(w->y[i]) < fabs(w->y[whole]))) whole = i;
        if (room <= fabs(missing) && room > most) {
            most = room;
            part = i;
        }
    }
    return whole >= 0 ? whole : part;
}

/* What rounding left of the sum's defect. */
static void settle_rounding(lt_qp *w)
{
    for (int pass = 0; pass < 6; pass++) {
        double missing = lt_qp_sum_defect(w);
        int to = missing != 0 ? pick_taker(w, missing) : -1;
        if (to < 0) return;
        w->y[to] = lt_qp_clamp(w->y[to] + missing, w->lower[to], w->upper[to]);
    }
}

void lt_qp_restore_sum(lt_qp *w)
{
    for (int i = 0; i < w->m; i++) w->y[i] = lt_qp_clamp(w->y[i], w->lower[i], w->upper[i]);
    if (!w->n_members) return;
    double missing = lt_qp_sum_defect(w), largest = fabs(w->mu);
    for (int i = 0; i < w->m; i++)
        if (w->a[i] != 0) largest = fmax(largest, fabs(w->y[i]));
    if (fabs(missing) > 1e-13 * largest) {
        share_out(w, missing, true);
        missing = lt_qp_sum_defect(w);
        if (fabs(missing) > 1e-13 * largest) share_out(w, missing, false);
    }
    settle_rounding(w);
}
