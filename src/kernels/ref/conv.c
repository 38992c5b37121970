/* Plain CONV2D and its two transposes. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/ref/ref.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <string.h>

static void layout_steps(bool last, int64_t c, int64_t h, int64_t w, int64_t *step)
{
    step[0] = c * h * w;
    step[1] = last ? 1 : h * w;
    step[2] = last ? w * c : w;
    step[3] = last ? c : 1;
}

lt_conv_sizes lt_conv_sizes_of(const lt_problem_key *p)
{
    bool wgrad = p->op == LT_OP_CONV2D_WGRAD, dgrad = p->op == LT_OP_CONV2D_DGRAD;
    const lt_shape *x = dgrad ? &p->out.shape : &p->in[0].shape;
    const lt_shape *y = wgrad ? &p->in[1].shape : dgrad ? &p->in[0].shape : &p->out.shape;
    lt_conv_sizes s = { .k = 1, .win = p->attr->u.conv };
    s.k_in_x = wgrad && x->rank == 5;
    s.k_in_y = wgrad && y->rank == 5;
    if (s.k_in_x || s.k_in_y) s.k = p->out.shape.dim[0];
    const int64_t *xd = x->dim + s.k_in_x, *yd = y->dim + s.k_in_y;
    int channel = s.win.channels_last ? 3 : 1, row = s.win.channels_last ? 1 : 2;
    s.n = xd[0], s.c = xd[channel], s.h = xd[row], s.w = xd[row + 1];
    s.o = yd[channel], s.oh = yd[row], s.ow = yd[row + 1];
    s.groups = s.win.groups > 0 ? s.win.groups : 1;
    layout_steps(s.win.channels_last, s.c, s.h, s.w, s.xs);
    layout_steps(s.win.channels_last, s.o, s.oh, s.ow, s.ys);
    return s;
}

double lt_conv_flops(const lt_conv_sizes *s)
{
    return 2.0 * (double)s->k * (double)s->n * (double)s->o * (double)s->oh * (double)s->ow *
           (double)(s->c / s->groups) * (double)s->win.kernel[0] * (double)s->win.kernel[1];
}

/* One output row under one tap of the kernel: y[i] and x[i * step] for i in begin..end-1 meet with
   the weight w; positions outside x are zeros and left out. */
typedef struct conv_line { int64_t x, x_step, y, y_step, w, begin, end; bool inside; } conv_line;

typedef struct loop { int64_t n, o, c, r, q, oy; } loop;

static conv_line line_at(const lt_conv_sizes *s, const loop *i)
{
    const lt_window *v = &s->win;
    int64_t cg = s->c / s->groups, og = s->o / s->groups;
    int64_t iy = i->oy * v->stride[0] - v->pad[0] + i->r * v->dilation[0], shift = i->q * v->dilation[1] - v->pad[1];
    conv_line l = { .x = i->n * s->xs[0] + (i->o / og * cg + i->c) * s->xs[1] + iy * s->xs[2] + shift * s->xs[3], .x_step = v->stride[1] * s->xs[3],
               .y = i->n * s->ys[0] + i->o * s->ys[1] + i->oy * s->ys[2], .y_step = s->ys[3],
               .w = ((i->o * cg + i->c) * v->kernel[0] + i->r) * v->kernel[1] + i->q, .inside = iy >= 0 && iy < s->h };
    lt_window_range(s->ow, s->w, v->stride[1], shift, &l.begin, &l.end);
    return l;
}

/* Which operand is the result decides the op: y += x w, x += y w or w += x y. */
static void accumulate_line(const conv_line *l, lt_op op, double *x, double *w, double *y)
{
    double sum = 0;
    for (int64_t i = l->begin; i < l->end; i++) {
        double *px = x + l->x + i * l->x_step, *py = y + l->y + i * l->y_step;
        if (op == LT_OP_CONV2D) *py += *px * w[l->w];
        else if (op == LT_OP_CONV2D_DGRAD) *px += *py * w[l->w];
        else sum += *px * *py;
    }
    if (op == LT_OP_CONV2D_WGRAD) w[l->w] += sum;
}

static void accumulate(const lt_conv_sizes *s, lt_op op, double *x, double *w, double *y)
{
    loop i;
    for (i.n = 0; i.n < s->n; i.n++)
        for (i.o = 0; i.o < s->o; i.o++)
            for (i.c = 0; i.c < s->c / s->groups; i.c++)
                for (i.r = 0; i.r < s->win.kernel[0]; i.r++)
                    for (i.q = 0; i.q < s->win.kernel[1]; i.q++)
                        for (i.oy = 0; i.oy < s->oh; i.oy++) {
                            conv_line l = line_at(s, &i);
                            if (l.inside) accumulate_line(&l, op, x, w, y);
                        }
}

static lt_status conv(const lt_problem_key *p, const double *const *in, double *out, double *work)
{
    (void)work;
    lt_conv_sizes s = lt_conv_sizes_of(p);
    int64_t n_x = s.n * s.c * s.h * s.w, n_y = s.n * s.o * s.oh * s.ow;
    int64_t n_w = s.o * (s.c / s.groups) * s.win.kernel[0] * s.win.kernel[1];
    memset(out, 0, (size_t)lt_tensor_count(&p->out) * sizeof *out);
    double *a = (double *)(uintptr_t)in[0], *b = (double *)(uintptr_t)in[1]; /* read only there */
    if (p->op == LT_OP_CONV2D) accumulate(&s, p->op, a, b, out);
    else if (p->op == LT_OP_CONV2D_DGRAD) accumulate(&s, p->op, out, b, a);
    else
        for (int64_t k = 0; k < s.k; k++)
            accumulate(&s, p->op, a + (s.k_in_x ? k * n_x : 0), out + k * n_w, b + (s.k_in_y ? k * n_y : 0));
    return LT_OK;
}

lt_status lt_conv_ref_prepare(const lt_problem_key *p, lt_kernel **out)
{
    lt_conv_sizes s = lt_conv_sizes_of(p);
    return lt_ref_prepare(p, "conv2d_ref", conv, 0, lt_conv_flops(&s), out);
}
