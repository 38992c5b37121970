/* The Cholesky factor over the free entries: blocks of entries come in, single ones go out.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/qp/internal.h"

#include <math.h>
#include <string.h>

void lt_qp_factor_reset(lt_qp *w)
{
    for (int k = 0; k < w->n; k++) w->row[w->index[k]] = -1;
    w->n = w->n_sum = w->updates = 0;
}

/* Rounding leaves a dependent column with a pivot of a few eps times its diagonal, either sign. */
static double pivot_floor(const lt_qp *w, int j)
{
    return 1e-14 * lt_qp_entry(w, j, j) + 1e-16 * w->max_diagonal;
}

/* A pivot far below zero shows a direction v (1 at j, minus the dependence on the free entries) of
   negative curvature, or only that v is long and rounding was amplified: the curvature per squared
   length decides. x = L^-1 times column j. */
static void note_pivot(lt_qp *w, int j, const double *x, double pivot)
{
    if (pivot >= -1e-9 * fmax(lt_qp_entry(w, j, j), w->max_diagonal)) return;
    double *v = w->work;
    memcpy(v, x, (size_t)w->n * sizeof(double));
    w->loops->backward(w->n, w->l, (size_t)w->max_m, w->inverse, v);
    double curvature = pivot / (1 + w->loops->dot(w->n, v, v)) / fmax(w->max_diagonal, 1e-300);
    w->worst_curvature = fmin(w->worst_curvature, curvature);
}

static void gather_column(const lt_qp *w, int j, double *x)
{
    const double *column = w->q + (size_t)j * w->stride;
    if (w->a[j] != 0)
        for (int k = 0; k < w->n; k++) x[k] = column[w->index[k]] + w->rho * w->a[w->index[k]];
    else
        for (int k = 0; k < w->n; k++) x[k] = column[w->index[k]];
}

static void refuse(lt_qp *w, int j)
{
    w->place[j] = w->y[j] <= w->lower[j] ? AT_LOWER : w->y[j] >= w->upper[j] ? AT_UPPER : PARKED;
}

/* x = L^-1 times column j becomes the next row of the factor. */
static void accept(lt_qp *w, int j, const double *x, double pivot)
{
    size_t step = (size_t)w->max_m, n = (size_t)w->n;
    for (size_t k = 0; k < n; k++) w->l[k * step + n] = x[k];
    w->l[n * step + n] = sqrt(pivot);
    w->inverse[n] = 1 / w->l[n * step + n];
    w->index[n] = j;
    w->row[j] = w->n++;
    w->n_sum += w->a[j] != 0;
    w->place[j] = FREE;
}

/* At most LT_QP_PANEL entries: their columns against the factor all at once, then one another. */
static void append_panel(lt_qp *w, int count, const int *entry)
{
    size_t step = (size_t)w->max_m, gram = LT_QP_PANEL;
    double *s = w->panel_gram;
    for (int k = 0; k < count; k++) {
        gather_column(w, entry[k], w->panel + (size_t)k * step);
        for (int i = k; i < count; i++) s[(size_t)k * gram + (size_t)i] = lt_qp_entry(w, entry[i], entry[k]);
    }
    lt_qp_panel_solve(w, count, w->panel, step, s, gram);
    int old = w->n, taken[LT_QP_PANEL], n_taken = 0;
    for (int k = 0; k < count; k++) {
        double pivot = s[(size_t)k * gram + (size_t)k], *x = w->panel + (size_t)k * step, *fresh = x + old;
        for (int e = 0; e < n_taken; e++) {
            double v = s[(size_t)taken[e] * gram + (size_t)k];
            for (int f = 0; f < e; f++) v -= fresh[f] * w->l[(size_t)(old + f) * step + (size_t)(old + e)];
            fresh[e] = v * w->inverse[old + e];
            pivot -= fresh[e] * fresh[e];
        }
        note_pivot(w, entry[k], x, pivot);
        if (pivot > pivot_floor(w, entry[k])) {
            accept(w, entry[k], x, pivot);
            taken[n_taken++] = k;
        } else {
            refuse(w, entry[k]);
        }
    }
}

void lt_qp_factor_append(lt_qp *w, int count, const int *entry)
{
    for (int first = 0; first < count;) {
        int size = count - first < LT_QP_PANEL ? count - first : LT_QP_PANEL;
        append_panel(w, size, entry + first);
        first += size;
    }
    w->updates += count;
}

void lt_qp_factor_remove(lt_qp *w, int entry)
{
    int gone = w->row[entry], rest = w->n - gone - 1;
    size_t step = (size_t)w->max_m;
    double *out = w->work; /* what the removed column leaves for the rows below it */
    for (int j = 0; j < gone; j++)
        memmove(w->l + (size_t)j * step + gone, w->l + (size_t)j * step + gone + 1, (size_t)rest * sizeof(double));
    memcpy(out, w->l + (size_t)gone * step + gone + 1, (size_t)rest * sizeof(double));
    for (int k = 0; k < rest; k++) {
        const double *from = w->l + (size_t)(gone + k + 1) * step + gone + k + 1;
        double *to = w->l + (size_t)(gone + k) * step + gone + k;
        double radius = sqrt(from[0] * from[0] + out[k] * out[k]);
        double c = from[0] / radius, s = out[k] / radius;
        w->loops->rotate(rest - k, c, s, from, to, out + k);
        to[0] = radius;
        w->inverse[gone + k] = 1 / radius;
    }
    for (int k = gone; k < w->n - 1; k++) {
        w->index[k] = w->index[k + 1];
        w->row[w->index[k]] = k;
    }
    w->row[entry] = -1;
    w->n--;
    w->n_sum -= w->a[entry] != 0;
    w->updates++;
}

void lt_qp_factor_match(lt_qp *w)
{
    int n_out = 0, n_in = 0;
    for (int i = 0; i < w->m; i++) {
        bool in = w->row[i] >= 0;
        n_out += in && !w->want[i];
        n_in += !in && w->want[i];
        if (in && w->want[i]) w->place[i] = FREE;
    }
    if (!n_out && !n_in && w->updates <= 2 * w->m + 50) return;
    if (8 * n_out + n_in > w->n || w->updates > 2 * w->m + 50) {
        lt_qp_factor_reset(w);
    } else if (n_out) {
        for (int k = w->n - 1; k >= 0; k--)
            if (!w->want[w->index[k]]) lt_qp_factor_remove(w, w->index[k]);
    }
    int count = 0;
    for (int i = 0; i < w->m; i++)
        if (w->want[i] && w->row[i] < 0) w->list[count++] = i;
    lt_qp_factor_append(w, count, w->list);
}
