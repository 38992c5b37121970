/* The beginning of a convolution, and its cut into tasks. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/bands.h"

#include "base/status.h"

lt_conv_sizes lt_conv_begin(lt_host_kernel *host, const lt_problem_key *p, lt_conv_pack pack)
{
    lt_conv_sizes s = lt_conv_sizes_of(p);
    host->kernel.flops = lt_conv_flops(&s);
    host->kernel.pack = pack;
    host->kernel.pack_arg = 1;
    return s;
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

lt_conv_bands lt_conv_bands_of(const lt_conv_sizes *s, lt_op op, double task_flops, int64_t max_tasks)
{
    enum { MIN_ROWS = 8 };
    bool dgrad = op == LT_OP_CONV2D_DGRAD;
    int64_t rows = dgrad ? s->h : s->oh;
    double per_image = s->n ? lt_conv_flops(s) / (double)(s->k * s->n) : 0;
    lt_conv_bands b = { .group = 1, .n_bands = 1, .band_rows = rows };
    if (per_image < task_flops)
        b.group = LT_MAX(1, (int64_t)(task_flops / LT_MAX(per_image, 1)));
    else if (!dgrad || s->win.stride[0] == 1) /* strided data gradients have no bands: rows interleave */
        b.n_bands = LT_MAX(1, LT_MIN((int64_t)(per_image / task_flops), rows / MIN_ROWS));
    b.group = LT_MIN(LT_MAX(b.group, ceil_div(s->n, max_tasks)), LT_MAX(s->n, 1));
    if (b.group > 1) b.n_bands = 1;
    b.n_groups = ceil_div(s->n, b.group);
    if (b.n_groups * b.n_bands > max_tasks) b.n_bands = LT_MAX(1, max_tasks / b.n_groups);
    b.band_rows = LT_MAX(1, ceil_div(rows, b.n_bands));
    b.n_bands = LT_MAX(1, ceil_div(rows, b.band_rows));
    b.n_tasks = b.n_groups * b.n_bands;
    return b;
}

/* Rows of x under rows y0..y1-1 of y. */
static void forward_rows(const lt_conv_sizes *s, int64_t y0, int64_t y1, lt_conv_part *p)
{
    const lt_window *v = &s->win;
    int64_t reach = (v->kernel[0] - 1) * v->dilation[0];
    int64_t first = y0 * v->stride[0] - v->pad[0], last = (y1 - 1) * v->stride[0] - v->pad[0] + reach;
    int64_t begin = LT_MIN(LT_MAX(first, 0), s->h), end = LT_MAX(begin, LT_MIN(last + 1, s->h));
    if (y0 == 0 && y1 == s->oh) begin = 0, end = s->h; /* whole images follow each other, unused rows too */
    p->y_row = y0, p->y_rows = y1 - y0;
    p->x_row = begin, p->x_rows = end - begin;
    p->pad_top = begin - first, p->pad_bottom = LT_MAX(0, last + 1 - end);
}

/* Rows of y that reach rows x0..x1-1 of x; stride 1 unless the band is the whole image. */
static void gradient_rows(const lt_conv_sizes *s, int64_t x0, int64_t x1, lt_conv_part *p)
{
    const lt_window *v = &s->win;
    int64_t reach = (v->kernel[0] - 1) * v->dilation[0], begin = 0, end = s->oh;
    if (v->stride[0] == 1) {
        begin = LT_MIN(LT_MAX(0, x0 + v->pad[0] - reach), s->oh);
        end = LT_MAX(begin, LT_MIN(s->oh, x1 + v->pad[0]));
    }
    p->x_row = x0, p->x_rows = x1 - x0;
    p->y_row = begin, p->y_rows = end - begin;
    p->pad_top = v->pad[0] + x0 - begin * v->stride[0];
    p->pad_bottom = LT_MAX(0, (p->y_rows - 1) * v->stride[0] + reach + 1 - p->x_rows - p->pad_top);
}

lt_conv_part lt_conv_part_of(const lt_conv_sizes *s, lt_op op, const lt_conv_bands *b, int64_t task)
{
    int64_t group = task / b->n_bands, band = task % b->n_bands;
    lt_conv_part p = { .image = group * b->group };
    p.n_images = LT_MIN(b->group, s->n - p.image);
    int64_t rows = op == LT_OP_CONV2D_DGRAD ? s->h : s->oh;
    int64_t begin = band * b->band_rows, end = LT_MIN(rows, begin + b->band_rows);
    if (op == LT_OP_CONV2D_DGRAD) gradient_rows(s, begin, end, &p);
    else forward_rows(s, begin, end, &p);
    return p;
}
