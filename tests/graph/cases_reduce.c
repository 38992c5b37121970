/* Cases: reductions, norms and folds. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one line of numbers to one number ---- */

typedef struct line { const double *x; int64_t n, step; } line; /* element k is x[k * step] */
typedef struct result { long double y, size; } result;

static result line_sum(line v)
{
    result r = { 0, 0 };
    for (int64_t k = 0; k < v.n; k++) { r.y += v.x[k * v.step]; r.size += fabsl(v.x[k * v.step]); }
    return r;
}
static result line_mean(line v) { result r = line_sum(v); return (result){ r.y / v.n, r.size / v.n }; }
static result line_prod(line v)
{
    long double p = 1;
    for (int64_t k = 0; k < v.n; k++) p *= v.x[k * v.step];
    return (result){ p, fabsl(p) };
}
static result line_max(line v)
{
    long double m = -INFINITY;
    for (int64_t k = 0; k < v.n; k++) m = fmaxl(m, v.x[k * v.step]);
    return (result){ m, fabsl(m) };
}
static result line_min(line v)
{
    long double m = INFINITY;
    for (int64_t k = 0; k < v.n; k++) m = fminl(m, v.x[k * v.step]);
    return (result){ m, fabsl(m) };
}
static result line_amax_abs(line v)
{
    long double m = 0;
    for (int64_t k = 0; k < v.n; k++) m = fmaxl(m, fabsl(v.x[k * v.step]));
    return (result){ m, m };
}
static result line_logsumexp(line v)
{
    long double top = line_max(v).y, s = 0;
    for (int64_t k = 0; k < v.n; k++) s += expl(v.x[k * v.step] - top);
    return (result){ top + logl(s), fabsl(top) + logl(s) + 1 };
}
static result line_norm1(line v) { result r = line_sum(v); return (result){ r.size, r.size }; }
static result line_norm2(line v)
{
    long double s = 0;
    for (int64_t k = 0; k < v.n; k++) s += (long double)v.x[k * v.step] * v.x[k * v.step];
    return (result){ sqrtl(s), sqrtl(s) };
}
static result line_argmax(line v)
{
    int64_t best = 0;
    for (int64_t k = 1; k < v.n; k++) if (v.x[k * v.step] > v.x[best * v.step]) best = k;
    return (result){ best, 0 };
}
static result line_argmin(line v)
{
    int64_t best = 0;
    for (int64_t k = 1; k < v.n; k++) if (v.x[k * v.step] < v.x[best * v.step]) best = k;
    return (result){ best, 0 };
}

static void over_all(case_run *c, result (*f)(line))
{
    result r = f((line){ c->x[0], c->n_in[0], 1 });
    c->want[0] = (double)r.y;
    c->size[0] = (double)r.size;
}

static void over_axis(case_run *c, int axis, result (*f)(line))
{
    case_axis a = case_split(&c->in_shape[0], axis);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            result r = f((line){ c->x[0] + o * a.extent * a.inner + i, a.extent, a.inner });
            c->want[o * a.inner + i] = (double)r.y;
            c->size[o * a.inner + i] = (double)r.size;
        }
}

#define WHOLE(name, rule)                                                        \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0]); } \
    static void oracle_##name(case_run *c) { over_all(c, rule); }
#define ALONG(name, rule)                                                        \
    static lt_node build_##name##_first(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0], 0, false); } \
    static lt_node build_##name##_last(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0], -1, true); } \
    static void oracle_##name##_first(case_run *c) { over_axis(c, 0, rule); }     \
    static void oracle_##name##_last(case_run *c) { over_axis(c, c->in_shape[0].rank - 1, rule); }
#define ARG(name, rule)                                                          \
    static lt_node build_##name##_first(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0], 0); } \
    static lt_node build_##name##_last(lt_graph *g, const lt_node *x) { return lt_##name(g, x[0], -1); } \
    static void oracle_##name##_first(case_run *c) { over_axis(c, 0, rule); }     \
    static void oracle_##name##_last(case_run *c) { over_axis(c, c->in_shape[0].rank - 1, rule); }

WHOLE(sum, line_sum) WHOLE(mean, line_mean) WHOLE(prod, line_prod) WHOLE(max, line_max) WHOLE(min, line_min)
WHOLE(amax_abs, line_amax_abs) WHOLE(logsumexp, line_logsumexp) WHOLE(norm, line_norm2) WHOLE(norm1, line_norm1)
WHOLE(norm_inf, line_amax_abs) WHOLE(fold_max, line_max) WHOLE(fold_max_abs, line_amax_abs) WHOLE(fold_l1, line_norm1)
WHOLE(fold_l2, line_norm2)
ALONG(sum_axis, line_sum) ALONG(mean_axis, line_mean) ALONG(prod_axis, line_prod) ALONG(max_axis, line_max)
ALONG(min_axis, line_min) ALONG(amax_abs_axis, line_amax_abs) ALONG(logsumexp_axis, line_logsumexp)
ARG(argmax, line_argmax) ARG(argmin, line_argmin)

static lt_node build_norm_axis_1(lt_graph *g, const lt_node *x) { return lt_norm_axis(g, x[0], 1, 0, false); }
static lt_node build_norm_axis_2(lt_graph *g, const lt_node *x) { return lt_norm_axis(g, x[0], 2, 0, true); }
static lt_node build_norm_axis_inf(lt_graph *g, const lt_node *x) { return lt_norm_axis(g, x[0], INFINITY, 0, false); }
static void oracle_norm_axis_1(case_run *c) { over_axis(c, 0, line_norm1); }
static void oracle_norm_axis_2(case_run *c) { over_axis(c, 0, line_norm2); }
static void oracle_norm_axis_inf(case_run *c) { over_axis(c, 0, line_amax_abs); }

/* Axes 0 and 2 of a rank-4 tensor. */
static lt_node build_sum_axes(lt_graph *g, const lt_node *x) { return lt_sum_axes(g, x[0], 2, (int[]){ 0, 2 }, false); }
static lt_node build_mean_axes(lt_graph *g, const lt_node *x) { return lt_mean_axes(g, x[0], 2, (int[]){ -2, 0 }, true); }
static void oracle_sum_axes(case_run *c)
{
    const int64_t *d = c->in_shape[0].dim;
    for (int64_t i = 0; i < c->n_in[0]; i++) {
        int64_t w = i % d[3], k = i / d[3] / d[2] % d[1], at = k * d[3] + w;
        c->want[at] += c->x[0][i];
        c->size[at] += fabs(c->x[0][i]);
    }
}
static void oracle_mean_axes(case_run *c)
{
    memset(c->want, 0, (size_t)c->n_out * sizeof *c->want);
    memset(c->size, 0, (size_t)c->n_out * sizeof *c->size);
    oracle_sum_axes(c);
    double n = (double)(c->in_shape[0].dim[0] * c->in_shape[0].dim[2]);
    for (int64_t i = 0; i < c->n_out; i++) { c->want[i] /= n; c->size[i] /= n; }
}
static void oracle_sum_axes_fresh(case_run *c)
{
    memset(c->want, 0, (size_t)c->n_out * sizeof *c->want);
    memset(c->size, 0, (size_t)c->n_out * sizeof *c->size);
    oracle_sum_axes(c);
}

static void running_sum(case_run *c, int axis)
{
    case_axis a = case_split(&c->in_shape[0], axis);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < a.extent; k++) {
                int64_t at = (o * a.extent + k) * a.inner + i;
                c->want[at] = sum += c->x[0][at];
                c->size[at] = size += fabs(c->x[0][at]);
            }
        }
}
static lt_node build_cumsum_0(lt_graph *g, const lt_node *x) { return lt_cumsum(g, x[0], 0); }
static lt_node build_cumsum_last(lt_graph *g, const lt_node *x) { return lt_cumsum(g, x[0], -1); }
static void oracle_cumsum_0(case_run *c) { running_sum(c, 0); }
static void oracle_cumsum_last(case_run *c) { running_sum(c, c->in_shape[0].rank - 1); }

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}
static lt_node build_topk(lt_graph *g, const lt_node *x) { return lt_topk(g, x[0], 2); }
static void oracle_topk(case_run *c)
{
    int64_t n = c->in_shape[0].dim[c->in_shape[0].rank - 1];
    double *row = malloc((size_t)n * sizeof *row);
    for (int64_t o = 0; o < c->n_in[0] / n; o++) {
        memcpy(row, c->x[0] + o * n, (size_t)n * sizeof *row);
        qsort(row, (size_t)n, sizeof *row, descending);
        for (int k = 0; k < 2; k++) c->want[o * 2 + k] = row[k];
    }
    free(row);
}

static lt_node build_sort_ties(lt_graph *g, const lt_node *x)
{
    lt_node rounded = lt_floor(g, x[0]);
    return lt_topk_index(g, rounded, lt_node_shape(g, rounded).dim[1]);
}
static void oracle_sort_ties(case_run *c)
{
    int64_t n = c->in_shape[0].dim[1];
    for (int64_t i = 0; i < c->n_in[0]; i++) {
        const double *row = c->x[0] + i / n * n;
        int64_t before = 0;
        for (int64_t j = 0; j < n; j++) before += floor(row[j]) > floor(row[i % n]) || (floor(row[j]) == floor(row[i % n]) && j < i % n);
        c->want[i / n * n + before] = (double)(i % n);
    }
}

/* Ties: the first index wins. */
static lt_node build_argmax_ties(lt_graph *g, const lt_node *x) { return lt_argmax(g, lt_floor(g, x[0]), 1); }
static void oracle_argmax_ties(case_run *c)
{
    double *whole = malloc((size_t)c->n_in[0] * sizeof *whole);
    for (int64_t i = 0; i < c->n_in[0]; i++) whole[i] = floor(c->x[0][i]);
    const double *x = c->x[0];
    c->x[0] = whole;
    over_axis(c, 1, line_argmax);
    c->x[0] = x;
    free(whole);
}

#define ALL (CASE_SMALL | CASE_GRAD | CASE_GRAD2)
#define KINK (CASE_SMALL | CASE_GRAD)
#define W(name, lo, hi, n, flags)                                                \
    { #name, build_##name, oracle_##name, 1, { S2(3, 5) }, lo, hi, (n) * 15, flags, 0 }, \
    { #name " of one", build_##name, oracle_##name, 1, { S3(1, 1, 1) }, lo, hi, (n) * 2, flags, 0 }, \
    { #name " of a scalar", build_##name, oracle_##name, 1, { S0 }, lo, hi, (n) * 2, (flags) & CASE_SMALL, 0 }, \
    { #name " of many", build_##name, oracle_##name, 1, { S2(37, 111) }, lo, hi, (n) * 4107, 0, 0 }
#define A(name, lo, hi, n, flags)                                                \
    { #name " first", build_##name##_first, oracle_##name##_first, 1, { S3(4, 3, 2) }, lo, hi, (n) * 8, flags, 0 }, \
    { #name " last", build_##name##_last, oracle_##name##_last, 1, { S3(2, 3, 5) }, lo, hi, (n) * 8, flags, 0 }, \
    { #name " of ones", build_##name##_last, oracle_##name##_last, 1, { S2(3, 1) }, lo, hi, (n) * 8, flags, 0 }, \
    { #name " first of many", build_##name##_first, oracle_##name##_first, 1, { S2(129, 65) }, lo, hi, (n) * 140, (flags) & CASE_I64, 0 }, \
    { #name " last of many", build_##name##_last, oracle_##name##_last, 1, { S4(3, 1, 7, 131) }, lo, hi, (n) * 140, (flags) & CASE_I64, 0 }

const op_case cases_reduce[] = {
    W(sum, -3, 3, 1, ALL), W(mean, -3, 3, 1.2, ALL), W(max, -3, 3, 0.1, KINK), W(min, -3, 3, 0.1, KINK), W(amax_abs, -3, 3, 0.1, KINK),
    W(logsumexp, -3, 3, 2, ALL), W(norm, 0.2, 3, 1, ALL), W(norm1, 0.2, 3, 1, ALL), W(norm_inf, -3, 3, 0.1, KINK),
    W(fold_max, -3, 3, 0.1, KINK), W(fold_max_abs, -3, 3, 0.1, KINK), W(fold_l1, -3, 3, 1, KINK), W(fold_l2, 0.2, 3, 1, ALL),
    { "prod", build_prod, oracle_prod, 1, { S2(3, 3) }, 0.5, 1.5, 9, ALL, 0 }, { "prod of one", build_prod, oracle_prod, 1, { S1(1) }, -2, 2, 1, ALL, 0 },
    { "prod of none", build_prod, oracle_prod, 1, { S2(0, 3) }, -2, 2, 1, CASE_SMALL, 0 }, { "prod of many", build_prod, oracle_prod, 1, { S1(333) }, 0.9, 1.1, 333, 0, 0 },
    { "sum of none", build_sum, oracle_sum, 1, { S2(0, 3) }, -2, 2, 1, CASE_SMALL, 0 }, { "norm of none", build_norm, oracle_norm, 1, { S1(0) }, -2, 2, 1, CASE_SMALL, 0 },
    { "sum along none", build_sum_axis_first, oracle_sum_axis_first, 1, { S2(0, 3) }, -2, 2, 1, CASE_SMALL, 0 },
    A(sum_axis, -3, 3, 1, ALL), A(mean_axis, -3, 3, 1.2, ALL), A(prod_axis, 0.5, 1.5, 1, ALL & ~CASE_SMALL), A(max_axis, -3, 3, 0.1, KINK),
    A(min_axis, -3, 3, 0.1, KINK), A(amax_abs_axis, -3, 3, 0.1, KINK), A(logsumexp_axis, -3, 3, 2, ALL),
    A(argmax, -3, 3, 0, CASE_SMALL | CASE_I64), A(argmin, -3, 3, 0, CASE_SMALL | CASE_I64),
    { "argmax with ties", build_argmax_ties, oracle_argmax_ties, 1, { S3(3, 9, 4) }, -2, 2, 0, CASE_I64, 0 },
    { "norm 1 of rows", build_norm_axis_1, oracle_norm_axis_1, 1, { S2(4, 3) }, 0.2, 3, 8, ALL, 0 },
    { "norm 2 of rows", build_norm_axis_2, oracle_norm_axis_2, 1, { S2(4, 3) }, 0.2, 3, 8, ALL, 0 },
    { "norm inf of rows", build_norm_axis_inf, oracle_norm_axis_inf, 1, { S2(4, 3) }, 0.2, 3, 1, KINK, 0 },
    { "sum of two axes", build_sum_axes, oracle_sum_axes_fresh, 1, { S4(2, 3, 4, 5) }, -3, 3, 8, ALL, 0 },
    { "mean of two axes", build_mean_axes, oracle_mean_axes, 1, { S4(2, 3, 4, 5) }, -3, 3, 10, ALL, 0 },
    { "sum of two long axes", build_sum_axes, oracle_sum_axes_fresh, 1, { S4(9, 3, 31, 5) }, -3, 3, 279, 0, 0 },
    { "cumsum", build_cumsum_last, oracle_cumsum_last, 1, { S2(3, 5) }, -3, 3, 5, ALL, 0 },
    { "cumsum of columns", build_cumsum_0, oracle_cumsum_0, 1, { S3(5, 2, 2) }, -3, 3, 5, ALL, 0 },
    { "cumsum of many", build_cumsum_last, oracle_cumsum_last, 1, { S1(1000) }, -3, 3, 1000, 0, 0 },
    { "sort with ties", build_sort_ties, oracle_sort_ties, 1, { S2(3, 40) }, -4, 4, 0, CASE_I64, 0 },
    { "topk", build_topk, oracle_topk, 1, { S3(2, 3, 5) }, -3, 3, 0, KINK, 0 },
    { 0 },
};
