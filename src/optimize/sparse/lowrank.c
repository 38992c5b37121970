/* What pairs of limited memory add to a matrix of sparse rows, in products and in systems. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/sparse/program.h"

#include "base/alloc.h"
#include "base/status.h"
#include "optimize/vectors/vector.h"

#include <math.h>
#include <string.h>

lt_status lt_lowrank_create(int64_t m, int64_t pairs, lt_lowrank *l)
{
    const size_t p = (size_t)LT_MAX(pairs, 1), k = 2 * p;
    *l = (lt_lowrank){ .m = m, .most = 2 * pairs, .gamma = 1 };
    l->U = lt_malloc_aligned((2 * k + 1) * (size_t)LT_MAX(m, 1) * sizeof *l->U);
    l->R = lt_malloc((2 * p * p + p + k * k + 2 * k) * sizeof *l->R);
    l->pivot = lt_malloc(k * sizeof *l->pivot);
    if (!l->U || !l->R || !l->pivot) {
        lt_lowrank_release(l);
        return LT_ERR_MEMORY;
    }
    l->V = l->U + k * (size_t)m;
    l->x = l->V + k * (size_t)m;
    l->YY = l->R + p * p;
    l->D = l->YY + p * p;
    l->small = l->D + p;
    l->work = l->small + k * k;
    return LT_OK;
}

void lt_lowrank_release(lt_lowrank *l)
{
    lt_free_aligned(l->U);
    lt_free(l->R);
    lt_free(l->pivot);
    *l = (lt_lowrank){ 0 };
}

/* ---- The pairs ------------------------------------------------------------------------------------------ */
static int64_t place_of(const lt_hessian *h, int64_t i) /* the i-th from the oldest on */
{
    const int64_t at = h->newest - (h->count - 1 - i);
    return at < 0 ? at + h->capacity : at;
}

void lt_lowrank_set(lt_lowrank *l, const lt_csr *a, const double *value, const lt_hessian *h)
{
    const int64_t p = h ? h->count : 0;
    l->k = 2 * p;
    l->gamma = h ? h->gamma : 1;
    for (int64_t i = 0; i < p; i++) {
        const double *s = lt_hessian_step(h, place_of(h, i)), *y = h->Y + place_of(h, i) * h->n;
        lt_csr_apply(a, value, s, l->U + i * l->m);
        lt_csr_apply(a, value, y, l->U + (p + i) * l->m);
        for (int64_t j = 0; j < p; j++) {
            const double *other = h->Y + place_of(h, j) * h->n;
            l->R[i * p + j] = j >= i ? lt_vec_dot(h->n, s, other) : 0;
            if (j <= i) l->YY[i * p + j] = l->YY[j * p + i] = lt_vec_dot(h->n, y, other);
        }
        l->D[i] = 1 / h->rho[place_of(h, i)];
        l->R[i * p + i] = l->D[i];
    }
}

/* t = (U_S' y, U_Y' y) becomes N t: N = [R^-T (D + gamma YY) R^-1, -gamma R^-T; -gamma R^-1, 0]. */
static void multiply_inner(const lt_lowrank *l, double *t)
{
    const int64_t p = l->k / 2;
    double *top = t, *bottom = t + p, *r = l->work + l->k;
    for (int64_t i = p - 1; i >= 0; i--) { /* r = R^-1 top */
        double v = top[i];
        for (int64_t j = i + 1; j < p; j++) v -= l->R[i * p + j] * r[j];
        r[i] = v / l->R[i * p + i];
    }
    for (int64_t i = 0; i < p; i++) {
        double v = l->D[i] * r[i] - l->gamma * bottom[i];
        for (int64_t j = 0; j < p; j++) v += l->gamma * l->YY[i * p + j] * r[j];
        top[i] = v;
    }
    for (int64_t i = 0; i < p; i++) { /* R^-T of that */
        double v = top[i];
        for (int64_t j = 0; j < i; j++) v -= l->R[j * p + i] * top[j];
        top[i] = v / l->R[i * p + i];
    }
    for (int64_t i = 0; i < p; i++) bottom[i] = -l->gamma * r[i];
}

void lt_lowrank_add(const lt_lowrank *l, const double *y, double *out)
{
    for (int64_t i = 0; i < l->k; i++) l->work[i] = lt_vec_dot(l->m, l->U + i * l->m, y);
    if (l->k) multiply_inner(l, l->work);
    for (int64_t i = 0; i < l->k; i++) lt_vec_axpy(l->m, l->work[i], l->U + i * l->m, out);
}

/* ---- Systems: (K0 + U N U')^-1 = L^-T (1 - V (N^-1 + V'V)^-1 V') L^-1 with K0 = L L', V = L^-1 U ------------- */
/* N^-1 = [0, -R / gamma; -R' / gamma, -(D / gamma + YY) / gamma]. */
static void set_inner_inverse(const lt_lowrank *l)
{
    const int64_t k = l->k, p = k / 2;
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < p; j++) {
            l->small[i * k + j] = 0;
            l->small[i * k + p + j] = l->small[(p + j) * k + i] = -l->R[i * p + j] / l->gamma;
            l->small[(p + i) * k + p + j] = -((i == j ? l->D[i] / l->gamma : 0) + l->YY[i * p + j]) / l->gamma;
        }
}

/* Elimination with the largest pivot of each column; indefinite by nature. */
static bool factor_small(lt_lowrank *l)
{
    const int64_t k = l->k;
    double *a = l->small;
    for (int64_t c = 0; c < k; c++) {
        int64_t best = c;
        for (int64_t i = c + 1; i < k; i++)
            if (fabs(a[i * k + c]) > fabs(a[best * k + c])) best = i;
        l->pivot[c] = (int)best;
        if (!(fabs(a[best * k + c]) > 0) || isinf(a[best * k + c])) return false;
        for (int64_t j = 0; best != c && j < k; j++) {
            const double t = a[c * k + j];
            a[c * k + j] = a[best * k + j];
            a[best * k + j] = t;
        }
        for (int64_t i = c + 1; i < k; i++) {
            const double f = a[i * k + c] /= a[c * k + c];
            for (int64_t j = c + 1; j < k; j++) a[i * k + j] -= f * a[c * k + j];
        }
    }
    return true;
}

static void solve_small(const lt_lowrank *l, double *b)
{
    const int64_t k = l->k;
    const double *a = l->small;
    for (int64_t c = 0; c < k; c++) { /* rows were exchanged whole, factors with them: first all exchanges */
        const double t = b[c];
        b[c] = b[l->pivot[c]];
        b[l->pivot[c]] = t;
    }
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < i; j++) b[i] -= a[i * k + j] * b[j];
    for (int64_t i = k - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < k; j++) b[i] -= a[i * k + j] * b[j];
        b[i] /= a[i * k + i];
    }
}

/* small += V'V */
static void add_squares(const lt_lowrank *l)
{
    const int64_t k = l->k;
    for (int64_t i = 0; i < l->m; i++) {
        const double *v = l->V + i * k;
        for (int64_t a = 0; a < k; a++) {
            double *to = l->small + a * k, c = v[a];
            for (int64_t b = 0; b < k; b++) to[b] += c * v[b];
        }
    }
}

bool lt_lowrank_prepare(lt_lowrank *l, const lt_skyline *k0)
{
    const int64_t k = l->k, m = l->m;
    if (!k) return true;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++) l->V[k0->place[i] * k + j] = l->U[j * m + i];
    lt_skyline_forward_rows(k0, k, l->V);
    set_inner_inverse(l);
    add_squares(l);
    return factor_small(l);
}

void lt_lowrank_solve(const lt_lowrank *l, const lt_skyline *k0, double *b)
{
    const int64_t k = l->k, m = l->m;
    double *x = l->x;
    for (int64_t i = 0; i < m; i++) x[k0->place[i]] = b[i];
    lt_skyline_forward(k0, x);
    memset(l->work, 0, (size_t)k * sizeof *l->work);
    for (int64_t i = 0; i < m && k; i++)
        for (int64_t j = 0; j < k; j++) l->work[j] += l->V[i * k + j] * x[i];
    if (k) solve_small(l, l->work);
    for (int64_t i = 0; i < m && k; i++) {
        double v = 0;
        for (int64_t j = 0; j < k; j++) v += l->V[i * k + j] * l->work[j];
        x[i] -= v;
    }
    lt_skyline_backward(k0, x);
    for (int64_t i = 0; i < m; i++) b[i] = x[k0->place[i]];
}
