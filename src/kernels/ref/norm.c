/* NORM: the square root of a sum of squares, or the norm taken anew with scaled elements where that sum over- or underflowed
   (decision 195). SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/norm_lines.h"

#include "kernels/ref/ref.h"
#include "kernels/rows.h"

#include "base/dtype.h"
#include "base/status.h"

#include <float.h>
#include <math.h>

lt_norm_lines lt_norm_lines_of(const lt_problem_key *p)
{
    const lt_shape *s = &p->in[1].shape;
    lt_norm_lines v = { .type = p->in[1].dtype };
    int64_t stride = 1;
    for (int d = s->rank - 1; d >= 0; d--) { /* innermost first, as they are counted */
        bool gone = p->attr->u.reduce.axes >> d & 1;
        int at = gone ? v.n_gone++ : v.n_kept++;
        (gone ? v.gone : v.kept)[at] = s->dim[d];
        (gone ? v.gone_stride : v.kept_stride)[at] = stride;
        stride *= s->dim[d];
    }
    return v;
}

double lt_norm_least_ordinary(lt_dtype type)
{
    return type == LT_F64 ? DBL_MIN / DBL_EPSILON : type == LT_F16 ? 0x1p-14 : (double)FLT_MIN / (double)FLT_EPSILON;
}

bool lt_norm_is_ordinary(lt_dtype type, double s) { return s >= lt_norm_least_ordinary(type) && s <= DBL_MAX; }

static int64_t offset_of(int n, const int64_t *extent, const int64_t *stride, int64_t index)
{
    int64_t at = 0;
    for (int d = 0; d < n; d++) {
        at += index % extent[d] * stride[d];
        index /= extent[d];
    }
    return at;
}

double lt_norm_of_line(const lt_norm_lines *v, lt_dtype stored, const void *x, int64_t line)
{
    int64_t first = offset_of(v->n_kept, v->kept, v->kept_stride, line), n = 1;
    double largest = 0, sum = 0;
    int exponent;
    for (int d = 0; d < v->n_gone; d++) n *= v->gone[d];
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(lt_load_double(stored, x, first + offset_of(v->n_gone, v->gone, v->gone_stride, i)));
        if (isnan(size)) return size;
        largest = fmax(largest, size);
    }
    if (largest == 0 || isinf(largest)) return largest;
    frexp(largest, &exponent);
    for (int64_t i = 0; i < n; i++) {
        double scaled = ldexp(lt_load_double(stored, x, first + offset_of(v->n_gone, v->gone, v->gone_stride, i)), -exponent);
        sum += scaled * scaled;
    }
    return ldexp(sqrt(sum), exponent);
}

static lt_status norm(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    lt_norm_lines v = lt_norm_lines_of(p);
    for (int64_t i = 0; i < lt_tensor_count(&p->out); i++)
        out[i] = isnan(in[0][i]) || lt_norm_is_ordinary(v.type, in[0][i]) ? sqrt(in[0][i]) : lt_norm_of_line(&v, LT_F64, in[1], i);
    return LT_OK;
}

lt_status lt_norm_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    return lt_ref_prepare(p, "norm_ref", norm, 0, 4 * (double)lt_tensor_count(&p->out), out);
}
