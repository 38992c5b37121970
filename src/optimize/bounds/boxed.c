/* Quadratic programs with bounds of x + d as rows: only those that d would leave are rows, found by solving again until there are none. A row's gradient is
   a unit vector, so that nothing of size n is made for it but a column of H, and that for the answer alone (decision 243). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/options.h"
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROUNDS = 60, LIKELY_ROWS = 512 };
#define OUTSIDE 1e-13        /* of max(1, |x|, |bound|): that far it is cut off instead */

/* ---- Memory ------------------------------------------------------------------------------------------------------------- */
lt_status lt_boxed_reserve(lt_run *r, lt_subproblem *s, int64_t m)
{
    lt_bounds *b = &r->bounds;
    LT_TRY(lt_subproblem_reserve(s, LT_MIN(m + LT_MIN(2 * r->n, LIKELY_ROWS), LT_QP_MAX_SIZE), &r->opt));
    if (m <= b->capacity) return LT_OK;
    lt_free(b->base);
    b->capacity = 0;
    b->base = lt_malloc((size_t)(m * m + 4 * m + 1) * sizeof *b->base);
    lt_free(b->member);
    b->member = lt_malloc((size_t)(m + 1));
    if (!b->base || !b->member) return LT_ERR_MEMORY;
    b->capacity = m;
    return LT_OK;
}

/* ---- H, entry by entry ----------------------------------------------------------------------------------------------------- */
static double entry(const lt_run *r, bool weighted, int64_t i, int64_t j)
{
    const lt_hessian *h = &r->hessian;
    if (!weighted) return i == j;
    if (r->regular.active) return r->regular.H[i * r->n + j];
    if (h->diagonal) return i == j ? h->scale : 0;
    return i >= j ? h->lower[lt_packed_row(i) + j] : h->lower[lt_packed_row(j) + i];
}

/* d += c times column i. */
static void add_column(const lt_run *r, bool weighted, int64_t i, double c, double *d)
{
    const lt_hessian *h = &r->hessian;
    if (!weighted || (!r->regular.active && h->diagonal)) d[i] += c * entry(r, weighted, i, i);
    else if (r->regular.active) lt_vec_axpy(r->n, c, r->regular.H + i * r->n, d);
    else {
        lt_vec_axpy(i + 1, c, h->lower + lt_packed_row(i), d);
        for (int64_t j = i + 1; j < r->n; j++) d[j] += c * h->lower[lt_packed_row(j) + i];
    }
}

/* ---- One round --------------------------------------------------------------------------------------------------------------- */
typedef struct boxed { lt_run *r; lt_subproblem *s; const lt_boxed *q; int64_t n_rows; double *linear, *lower, *upper, *y; } boxed;

static bool add_row(boxed *b, int64_t i, bool upper)
{
    lt_bounds *at = &b->r->bounds;
    const uint8_t bit = upper ? 2 : 1;
    if (at->listed[i] & bit) return false;
    at->listed[i] |= bit;
    at->variable[b->n_rows] = i;
    at->sign[b->n_rows++] = upper ? 1 : -1;
    return true;
}

/* As the value of a constraint: not positive inside. */
static double value_of(const boxed *b, int64_t k)
{
    const lt_bounds *at = &b->r->bounds;
    const int64_t i = at->variable[k];
    return at->sign[k] > 0 ? b->r->cur->x[i] - at->upper[i] : at->lower[i] - b->r->cur->x[i];
}

static void fill(const boxed *b, double *Q)
{
    const lt_boxed *q = b->q;
    const lt_bounds *at = &b->r->bounds;
    const int64_t m = q->m, all = m + b->n_rows;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) Q[i * all + j] = b->r->bounds.base[i * m + j];
    for (int64_t k = 0; k < b->n_rows; k++) {
        const int64_t i = at->variable[k];
        double *row = Q + (m + k) * all;
        for (int64_t j = 0; j < m; j++) row[j] = Q[j * all + m + k] = at->sign[k] * q->HG[j][i];
        for (int64_t l = 0; l <= k; l++) row[m + l] = Q[(m + l) * all + m + k] = at->sign[k] * at->sign[l] * entry(b->r, q->weighted, i, at->variable[l]);
    }
}

static bool solve(boxed *b, double sum, bool first)
{
    lt_subproblem *s = b->s;
    const lt_boxed *q = b->q;
    const lt_bounds *at = &b->r->bounds;
    const int64_t m = q->m, all = m + b->n_rows;
    if (!all) return true;
    if (all > s->capacity && lt_subproblem_reserve(s, all, &b->r->opt)) return false;
    s->n = 0;
    memcpy(s->linear, b->linear, (size_t)m * sizeof *s->linear);
    memcpy(s->lower, b->lower, (size_t)m * sizeof *s->lower);
    memcpy(s->upper, b->upper, (size_t)m * sizeof *s->upper);
    memcpy(s->member, at->member, (size_t)m);
    memcpy(s->start, b->y, (size_t)m * sizeof *s->start);
    for (int64_t k = 0; k < b->n_rows; k++) {
        s->linear[m + k] = -value_of(b, k) - (q->a ? at->sign[k] * q->c * q->a[at->variable[k]] : 0);
        s->lower[m + k] = s->start[m + k] = 0;
        s->upper[m + k] = INFINITY;
        s->member[m + k] = 0;
    }
    fill(b, s->Q);
    const bool ok = lt_subproblem_set(s, all, s->Q, all, s->linear) && lt_subproblem_solve(s, sum, first ? NULL : s->start);
    if (ok) memcpy(b->y, s->y, (size_t)m * sizeof *s->y);
    return ok;
}

static void form_direction(const boxed *b, double *d)
{
    const lt_boxed *q = b->q;
    const lt_bounds *at = &b->r->bounds;
    const int64_t n = b->r->n;
    memset(d, 0, (size_t)n * sizeof *d);
    if (q->a) lt_vec_axpy(n, q->c, q->a, d);
    for (int64_t j = 0; j < q->m; j++)
        if (b->y[j] != 0) lt_vec_axpy(n, -b->y[j], q->HG[j], d);
    for (int64_t k = 0; k < b->n_rows; k++)
        if (b->s->y[q->m + k] != 0) add_column(b->r, q->weighted, at->variable[k], -at->sign[k] * b->s->y[q->m + k], d);
}

/* Rows for the bounds that x + d is beyond. */
static bool add_rows(boxed *b, const double *d)
{
    const lt_bounds *at = &b->r->bounds;
    const double *x = b->r->cur->x;
    bool any = false;
    for (int64_t i = 0; i < b->r->n; i++) {
        const double y = x[i] + d[i], l = at->lower[i], u = at->upper[i];
        if (y < l - OUTSIDE * fmax(1, fmax(fabs(x[i]), fabs(l)))) any = add_row(b, i, false) || any;
        else if (y > u + OUTSIDE * fmax(1, fmax(fabs(x[i]), fabs(u)))) any = add_row(b, i, true) || any;
    }
    return any;
}

/* Bounds that x is at: they take part mostly. */
static void begin(boxed *b)
{
    const lt_bounds *at = &b->r->bounds;
    const double *x = b->r->cur->x;
    memset(at->listed, 0, (size_t)b->r->n);
    for (int64_t i = 0; i < b->r->n; i++) {
        if (x[i] <= at->lower[i]) (void)add_row(b, i, false);
        if (x[i] >= at->upper[i]) (void)add_row(b, i, true);
    }
}

static void cut(const lt_run *r, double *d)
{
    const lt_bounds *at = &r->bounds;
    const double *x = r->cur->x;
    for (int64_t i = 0; i < r->n; i++) d[i] = fmin(fmax(d[i], at->lower[i] - x[i]), at->upper[i] - x[i]);
}

bool lt_boxed_solve(lt_run *r, lt_subproblem *s, const lt_boxed *q, double sum, double *d, double *z)
{
    lt_bounds *at = &r->bounds;
    const int64_t m = q->m;
    if (lt_boxed_reserve(r, s, m)) return false;
    boxed b = { .r = r, .s = s, .q = q, .linear = at->base + m * m };
    b.lower = b.linear + m;
    b.upper = b.lower + m;
    b.y = b.upper + m;
    for (int64_t i = 0; i < m; i++) {
        b.linear[i] = s->linear[i];
        b.lower[i] = s->lower[i];
        b.upper[i] = s->upper[i];
        b.y[i] = 0;
        at->member[i] = s->members ? s->member[i] : 0;
        for (int64_t j = 0; j < m && q->Q != at->base; j++) at->base[i * m + j] = q->Q[i * q->stride + j];
    }
    begin(&b);
    for (int round = 0; round < ROUNDS; round++) {
        if (!solve(&b, sum, round == 0)) return false;
        form_direction(&b, d);
        if (add_rows(&b, d)) continue;
        cut(r, d);
        if (z) memset(z, 0, (size_t)r->n * sizeof *z);
        for (int64_t k = 0; z && k < b.n_rows; k++) z[at->variable[k]] -= at->sign[k] * s->y[m + k];
        memcpy(s->y, b.y, (size_t)m * sizeof *s->y);
        return true;
    }
    return false;
}
