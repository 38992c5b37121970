/* Plain SUM, RMAX, RMIN, ARGMAX, ARGMIN, CUMSUM and TOPK_INDEX.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/status.h"

#include <math.h>

/* NaN counts as the extreme, as in numpy: once met it stays. */
static double larger(double a, double b) { return isnan(a) || a >= b ? a : b; }
static double smaller(double a, double b) { return isnan(a) || a <= b ? a : b; }

static lt_status reduce(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    const lt_shape *s = &p->in[0].shape;
    int64_t stride[LT_MAX_RANK], kept = 1, index[LT_MAX_RANK] = { 0 }, at = 0;
    for (int d = s->rank - 1; d >= 0; d--) {
        bool gone = p->attr->u.reduce.axes >> d & 1;
        stride[d] = gone ? 0 : kept;
        kept *= gone ? 1 : s->dim[d];
    }
    double first = p->op == LT_OP_SUM ? 0 : p->op == LT_OP_RMAX ? -INFINITY : INFINITY;
    for (int64_t i = 0; i < kept; i++) out[i] = first;
    int64_t n = lt_tensor_count(&p->in[0]);
    for (int64_t i = 0; i < n; i++) {
        double x = in[0][i], *o = &out[at];
        *o = p->op == LT_OP_SUM ? *o + x : p->op == LT_OP_RMAX ? larger(*o, x) : smaller(*o, x);
        for (int d = s->rank - 1; d >= 0; d--) {
            at += stride[d];
            if (++index[d] < s->dim[d]) break;
            at -= stride[d] * s->dim[d];
            index[d] = 0;
        }
    }
    return LT_OK;
}

lt_status lt_reduce_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "reduce_ref", reduce, 0, (double)lt_tensor_count(&p->in[0]), out);
}

/* The input seen as [before, along, after] around attr.axis. */
typedef struct split { int64_t before, along, after; } split;

static split split_at_axis(const lt_problem_key *p)
{
    const lt_shape *s = &p->in[0].shape;
    int axis = p->attr->u.index.axis;
    split v = { lt_leading_count(s, axis), s->dim[axis], 1 };
    for (int d = axis + 1; d < s->rank; d++) v.after *= s->dim[d];
    return v;
}

static lt_status arg_extreme(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    split v = split_at_axis(p);
    double sign = p->op == LT_OP_ARGMAX ? 1 : -1;
    for (int64_t b = 0; b < v.before; b++)
        for (int64_t a = 0; a < v.after; a++) {
            const double *x = in[0] + b * v.along * v.after + a;
            int64_t best = 0;
            for (int64_t i = 1; i < v.along; i++) {
                double have = x[best * v.after], next = x[i * v.after];
                if (!isnan(have) && (isnan(next) || sign * next > sign * have)) best = i;
            }
            out[b * v.after + a] = (double)best;
        }
    return LT_OK;
}

lt_status lt_arg_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "arg_ref", arg_extreme, 0, (double)lt_tensor_count(&p->in[0]), out);
}

static lt_status cumsum(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    split v = split_at_axis(p);
    bool reverse = p->attr->u.index.reverse;
    for (int64_t b = 0; b < v.before; b++)
        for (int64_t a = 0; a < v.after; a++) {
            double sum = 0;
            for (int64_t i = 0; i < v.along; i++) {
                int64_t at = (b * v.along + (reverse ? v.along - 1 - i : i)) * v.after + a;
                sum += in[0][at];
                out[at] = sum;
            }
        }
    return LT_OK;
}

lt_status lt_cumsum_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "cumsum_ref", cumsum, 0, (double)lt_tensor_count(&p->in[0]), out);
}

/* Selection by k passes: each finds the largest entry that comes after the previous one in the
   order (value descending, NaN first, index ascending). */
static bool comes_before(double a, int64_t ia, double b, int64_t ib)
{
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || ia < ib);
    return a > b || (a == b && ia < ib);
}

static lt_status topk(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    const lt_shape *s = &p->in[0].shape;
    int64_t n = s->dim[s->rank - 1], k = p->attr->u.index.k, rows = lt_leading_count(s, s->rank - 1);
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0] + r * n;
        int64_t last = -1;
        for (int64_t j = 0; j < k; j++) {
            int64_t best = -1;
            for (int64_t i = 0; i < n; i++) {
                if (last >= 0 && !comes_before(x[last], last, x[i], i)) continue;
                if (best < 0 || comes_before(x[i], i, x[best], best)) best = i;
            }
            out[r * k + j] = (double)best;
            last = best;
        }
    }
    return LT_OK;
}

lt_status lt_topk_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    double n = (double)lt_tensor_count(&p->in[0]);
    return lt_ref_prepare(p, "topk_ref", topk, 0, n * (double)p->attr->u.index.k, out);
}
