/* CONV2D_WGRAD by Winograd's minimal filtering: 3x3 and 5x5 windows of step one over channels that lie side by side.
   Tiles of x and of gy are transformed once; then every point is a product of two matrices, summed over tiles, and the
   transform back makes filters of it. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/winograd/winograd.h"

#include "base/status.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <string.h>

enum { SIDE = 6, POINTS = SIDE * SIDE, ENOUGH_CHANNELS = 16, MAX_WIDTH = 16 };
#define MAX_SCRATCH_BYTES ((size_t)96 << 20) /* all transformed tiles; larger maps go through the library band by band */

typedef struct wino_grad_kernel {
    lt_host_kernel host;
    const lt_wino_loops *loops;
    lt_conv_sizes s;
    int     kernel, tile;
    int64_t tiles_x, tiles_y, tiles;   /* of one image; of all */
    int64_t v_stride, m_stride;        /* channels of x and of gy, rounded up to vectors and pairs of them */
    int     n_lanes;
    size_t  zeros_at, v_at, m_at, sum_at;
} wino_grad_kernel;

typedef struct wino_grad_job {
    const wino_grad_kernel *v;
    const float *x, *gy;
    float  *zeros, *tv, *tm, *sum, *out; /* tv [point][tile][v_stride], tm [point][tile][m_stride], sum [point][c][m_stride] */
    float   g[SIDE][5];
} wino_grad_job;

/* ---- Tiles ----------------------------------------------------------------------------------------- */

static const float *pixel_of(const float *map, int64_t image, int64_t h, int64_t w, int64_t c, int64_t row, int64_t column)
{
    return row >= 0 && row < h && column >= 0 && column < w ? map + ((image * h + row) * w + column) * c : NULL;
}

/* One row of tiles: both transforms, each straight to its place. */
static lt_status transform_item(void *ctx, int64_t item, int lane)
{
    const wino_grad_job *j = ctx;
    const wino_grad_kernel *v = j->v;
    const lt_conv_sizes *s = &v->s;
    int64_t image = item / v->tiles_y, i = item % v->tiles_y;
    (void)lane;
    for (int64_t t = 0; t < v->tiles_x; t++) {
        int64_t top = i * v->tile, left = t * v->tile, at = item * v->tiles_x + t;
        const void *in[LT_WINO_MAX_POINTS];
        const float *gradient[16];
        for (int p = 0; p < POINTS; p++) {
            const float *pixel = pixel_of(j->x, image, s->h, s->w, s->c, top - s->win.pad[0] + p / SIDE, left - s->win.pad[1] + p % SIDE);
            in[p] = pixel ? pixel : j->zeros;
        }
        for (int p = 0; p < v->tile * v->tile; p++)
            gradient[p] = pixel_of(j->gy, image, s->oh, s->ow, s->o, top + p / v->tile, left + p % v->tile);
        v->loops->input(LT_F32, SIDE, in, s->c, j->tv + at * v->v_stride, v->tiles * v->v_stride);
        v->loops->spread(v->tile, gradient, s->o, j->tm + at * v->m_stride, v->m_stride, v->tiles * v->m_stride);
    }
    return LT_OK;
}

/* One point and one pair of vectors of outputs. */
static lt_status multiply_item(void *ctx, int64_t item, int lane)
{
    const wino_grad_job *j = ctx;
    const wino_grad_kernel *v = j->v;
    int64_t wide = 2 * v->loops->width, blocks = v->m_stride / wide, f = item / blocks, b = item % blocks;
    (void)lane;
    v->loops->outer(v->s.c, v->tiles, j->tv + f * v->tiles * v->v_stride, v->v_stride, j->tm + f * v->tiles * v->m_stride + b * wide, v->m_stride,
                    j->sum + f * v->s.c * v->m_stride + b * wide, v->m_stride);
    return LT_OK;
}

/* One vector of outputs, all channels: filters lie [o][c][row][column]. */
static lt_status filter_item(void *ctx, int64_t item, int lane)
{
    wino_grad_job *j = ctx;
    const wino_grad_kernel *v = j->v;
    int64_t o = item * v->loops->width, n = LT_MIN((int64_t)v->loops->width, v->s.o - o), area = v->kernel * v->kernel;
    float turned[25 * MAX_WIDTH];
    (void)lane;
    for (int64_t c = 0; c < v->s.c; c++) {
        v->loops->filter(v->kernel, j->sum + c * v->m_stride + o, v->s.c * v->m_stride, j->g, turned);
        for (int64_t l = 0; l < n; l++)
            for (int64_t q = 0; q < area; q++) j->out[((o + l) * v->s.c + c) * area + q] = turned[q * v->loops->width + l];
    }
    return LT_OK;
}

static lt_status grad_run(const lt_kernel *kernel, lt_pool *pool, void *const *arg)
{
    const wino_grad_kernel *v = (const wino_grad_kernel *)kernel;
    char *scratch = arg[kernel->n_args];
    wino_grad_job j = { .v = v, .x = arg[0], .gy = arg[1], .zeros = (float *)(void *)(scratch + v->zeros_at), .tv = (float *)(void *)(scratch + v->v_at),
                   .tm = (float *)(void *)(scratch + v->m_at), .sum = (float *)(void *)(scratch + v->sum_at), .out = arg[2] };
    double g[LT_WINO_MAX_SIDE][5];
    lt_wino_filter_points(SIDE, v->kernel, g);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < 5; k++) j.g[i][k] = (float)g[i][k];
    memset(j.zeros, 0, (size_t)v->v_stride * sizeof *j.zeros);
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->s.n * v->tiles_y, transform_item, &j));
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, POINTS * (v->m_stride / (2 * v->loops->width)), multiply_item, &j));
    return lt_host_run_lanes(pool, v->n_lanes, (v->s.o + v->loops->width - 1) / v->loops->width, filter_item, &j);
}

/* ---- The row ---------------------------------------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

static void place(wino_grad_kernel *v)
{
    v->tile = SIDE - v->kernel + 1;
    v->tiles_x = (v->s.ow + v->tile - 1) / v->tile;
    v->tiles_y = (v->s.oh + v->tile - 1) / v->tile;
    v->tiles = v->s.n * v->tiles_y * v->tiles_x;
    v->v_stride = round_up(v->s.c, v->loops->width);
    v->m_stride = round_up(v->s.o, 2 * v->loops->width);
    v->zeros_at = 0;
    v->v_at = lt_align64((size_t)v->v_stride * sizeof(float));
    v->m_at = v->v_at + lt_align64((size_t)(POINTS * v->tiles * v->v_stride) * sizeof(float));
    v->sum_at = v->m_at + lt_align64((size_t)(POINTS * v->tiles * v->m_stride) * sizeof(float));
    v->host.kernel.scratch_bytes = v->sum_at + lt_align64((size_t)(POINTS * v->s.c * v->m_stride) * sizeof(float));
}

static const lt_wino_loops *loops_for(const lt_problem_key *p) { return p->isa == LT_ISA_AVX512 ? &lt_wino_avx512 : &lt_wino_avx2; }

bool lt_conv_winograd_grad_applies(const lt_problem_key *p)
{
    const lt_window *w = &p->attr->u.conv;
    if (p->isa < LT_ISA_AVX2 || !lt_key_is_all(p, LT_F32) || p->epilogue) return false;
    if (!w->channels_last || w->groups != 1 || w->kernel[0] != w->kernel[1] || (w->kernel[0] != 3 && w->kernel[0] != 5)) return false;
    for (int i = 0; i < 2; i++)
        if (w->stride[i] != 1 || w->dilation[i] != 1) return false;
    wino_grad_kernel v = { .loops = loops_for(p), .s = lt_conv_sizes_of(p), .kernel = (int)w->kernel[0] };
    if (v.s.k != 1 || v.s.n < 1 || v.s.c < ENOUGH_CHANNELS || v.s.o < ENOUGH_CHANNELS || v.s.oh < 4 || v.s.ow < 4) return false;
    place(&v);
    return v.host.kernel.scratch_bytes <= MAX_SCRATCH_BYTES;
}

lt_status lt_conv_winograd_grad_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    wino_grad_kernel *v = lt_host_kernel_create(p, sizeof *v, "conv_winograd_grad", grad_run);
    if (!v) return LT_ERR_MEMORY;
    v->loops = loops_for(p);
    v->s = lt_conv_sizes_of(p);
    v->kernel = (int)v->s.win.kernel[0];
    v->host.kernel.flops = lt_conv_flops(&v->s);
    place(v);
    v->n_lanes = lt_host_lanes(LT_MAX(v->s.n * v->tiles_y, (int64_t)POINTS));
    return lt_host_kernel_finish(&v->host, LT_OK, out);
}
