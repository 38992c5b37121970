/* Plain MAXPOOL_INDEX, AVGPOOL and AVGPOOL_GRAD. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <math.h>
#include <string.h>

lt_pool_sizes lt_pool_sizes_of(const lt_problem_key *p)
{
    bool grad = p->op == LT_OP_AVGPOOL_GRAD;
    const lt_shape *x = grad ? &p->out.shape : &p->in[0].shape;
    const lt_shape *y = grad ? &p->in[0].shape : &p->out.shape;
    lt_pool_sizes s = { .win = p->attr->u.conv };
    int row = x->rank - (s.win.channels_last ? 3 : 2);
    s.planes = lt_leading_count(x, row);
    s.c = s.win.channels_last ? x->dim[row + 2] : 1;
    s.h = x->dim[row], s.w = x->dim[row + 1];
    s.oh = y->dim[row], s.ow = y->dim[row + 1];
    return s;
}

/* Flat position in h*w of tap (r, q) of output (oy, ox); -1 in the padding. */
static int64_t tap(const lt_pool_sizes *s, int64_t oy, int64_t ox, int64_t r, int64_t q)
{
    int64_t y = oy * s->win.stride[0] - s->win.pad[0] + r * s->win.dilation[0];
    int64_t x = ox * s->win.stride[1] - s->win.pad[1] + q * s->win.dilation[1];
    return y < 0 || y >= s->h || x < 0 || x >= s->w ? -1 : y * s->w + x;
}

static int64_t max_tap(const lt_pool_sizes *s, const double *x, int64_t oy, int64_t ox)
{
    int64_t best = -1;
    for (int64_t r = 0; r < s->win.kernel[0]; r++)
        for (int64_t q = 0; q < s->win.kernel[1]; q++) {
            int64_t at = tap(s, oy, ox, r, q);
            if (at < 0) continue;
            double have = best < 0 ? -INFINITY : x[best * s->c], next = x[at * s->c];
            if (best < 0 || (!isnan(have) && (next > have || isnan(next)))) best = at;
        }
    return best < 0 ? 0 : best; /* a window all in the padding: position 0, as it has none */
}

static lt_status maxpool(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    lt_pool_sizes s = lt_pool_sizes_of(p);
    for (int64_t b = 0; b < s.planes; b++)
        for (int64_t oy = 0; oy < s.oh; oy++)
            for (int64_t ox = 0; ox < s.ow; ox++)
                for (int64_t c = 0; c < s.c; c++)
                    *out++ = (double)max_tap(&s, in[0] + b * s.h * s.w * s.c + c, oy, ox);
    return LT_OK;
}

static lt_status avgpool(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    lt_pool_sizes s = lt_pool_sizes_of(p);
    bool grad = p->op == LT_OP_AVGPOOL_GRAD;
    double area = (double)(s.win.kernel[0] * s.win.kernel[1]);
    memset(out, 0, (size_t)lt_tensor_count(&p->out) * sizeof *out);
    for (int64_t b = 0; b < s.planes; b++)
        for (int64_t oy = 0; oy < s.oh; oy++)
            for (int64_t ox = 0; ox < s.ow; ox++)
                for (int64_t r = 0; r < s.win.kernel[0]; r++)
                    for (int64_t q = 0; q < s.win.kernel[1]; q++) {
                        int64_t at = tap(&s, oy, ox, r, q);
                        if (at < 0) continue;
                        int64_t x = (b * s.h * s.w + at) * s.c, y = ((b * s.oh + oy) * s.ow + ox) * s.c;
                        for (int64_t c = 0; c < s.c; c++)
                            if (grad) out[x + c] += in[0][y + c] / area;
                            else out[y + c] += in[0][x + c] / area;
                    }
    return LT_OK;
}

lt_status lt_pool_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    lt_pool_sizes s = lt_pool_sizes_of(p);
    double taps = (double)(s.planes * s.oh * s.ow * s.c * s.win.kernel[0]) * (double)s.win.kernel[1];
    return lt_ref_prepare(p, "pool_ref", p->op == LT_OP_MAXPOOL_INDEX ? maxpool : avgpool, 0, taps, out);
}
