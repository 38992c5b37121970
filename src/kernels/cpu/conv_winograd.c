/* CONV2D by Winograd's minimal filtering: 3x3 and 5x5 windows of step one over channels that lie
   side by side. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv_winograd.h"

#include "base/dtype.h"
#include "base/status.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <string.h>

#define ENOUGH_CHANNELS 16 /* below, the transforms cost more than they save */
#define WORK_BYTES (2 << 20) /* of one lane: transformed tiles and their products */
#define ENOUGH_TILES 120     /* to make a pass over the filters pay */

typedef struct wino_kernel {
    lt_host_kernel host;
    const lt_wino_loops *loops;
    lt_conv_shape s;
    int     side;             /* of a result tile: 4 for 3x3, 2 for 5x5 */
    int64_t tiles_x, tiles_y, tiles; /* of one image */
    int64_t block, n_blocks;  /* tiles computed together; blocks per image */
    int64_t v_stride, m_stride; /* channels rounded up to vectors */
    int     n_lanes;
    size_t  zeros_at, lane_at, lane_bytes, m_at, packed_at;
} wino_kernel;

/* ---- Weights ------------------------------------------------------------------------------------ */
/* Row p of G: powers of point p over the product of its distances to the others. */
static void filter_points(int kernel, double g[LT_WINO_SIDE][5])
{
    static const double point[LT_WINO_SIDE - 1] = { 0, 1, -1, 2, -0.5 };
    for (int p = 0; p < LT_WINO_SIDE; p++)
        for (int i = 0; i < kernel; i++) {
            double value = i == 0 ? 1 : p == LT_WINO_SIDE - 1 ? 0 : g[p][i - 1] * point[p];
            if (i == 0 && p == LT_WINO_SIDE - 1) value = 0;
            if (i == 0)
                for (int q = 0; p < LT_WINO_SIDE - 1 && q < LT_WINO_SIDE - 1; q++)
                    if (q != p) value /= point[p] - point[q];
            g[p][i] = value;
        }
    g[LT_WINO_SIDE - 1][kernel - 1] = 1;
}

typedef struct packing {
    const wino_kernel *v;
    const void *weights;
    float *to;
    double g[LT_WINO_SIDE][5];
} packing;

/* G w G' of one pair of channels. */
static void transform_filter(const packing *p, int64_t o, int64_t c, double out[LT_WINO_POINTS])
{
    const wino_kernel *v = p->v;
    int k = (int)v->s.win.kernel[0];
    int64_t at = (o * v->s.c + c) * k * k;
    double half[LT_WINO_SIDE][5];
    for (int i = 0; i < LT_WINO_SIDE; i++)
        for (int b = 0; b < k; b++) {
            half[i][b] = 0;
            for (int a = 0; a < k; a++) half[i][b] += p->g[i][a] * lt_load_double(v->host.key.in[1].dtype, p->weights, at + a * k + b);
        }
    for (int i = 0; i < LT_WINO_SIDE; i++)
        for (int j = 0; j < LT_WINO_SIDE; j++) {
            double sum = 0;
            for (int b = 0; b < k; b++) sum += half[i][b] * p->g[j][b];
            out[i * LT_WINO_SIDE + j] = sum;
        }
}

/* Filters of one block of outputs, as [point][block][c][2 width]; outputs beyond the last are zero. */
static lt_status pack_task(void *ctx, int64_t block, int worker)
{
    const packing *p = ctx;
    const wino_kernel *v = p->v;
    (void)worker;
    int64_t wide = 2 * v->loops->width, blocks = v->m_stride / wide, c_all = v->s.c;
    for (int64_t c = 0; c < c_all; c++)
        for (int64_t l = 0; l < wide; l++) {
            double u[LT_WINO_POINTS] = { 0 };
            int64_t o = block * wide + l;
            if (o < v->s.o) transform_filter(p, o, c, u);
            for (int f = 0; f < LT_WINO_POINTS; f++) p->to[((f * blocks + block) * c_all + c) * wide + l] = (float)u[f];
        }
    return LT_OK;
}

static lt_status pack(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed)
{
    const wino_kernel *v = (const wino_kernel *)k;
    packing p = { .v = v, .weights = weights, .to = packed };
    filter_points((int)v->s.win.kernel[0], p.g);
    return lt_pool_run(pool, v->m_stride / (2 * v->loops->width), pack_task, &p);
}

/* ---- Tiles ---------------------------------------------------------------------------------------- */
typedef struct wino_job {
    const wino_kernel *v;
    char  *x, *y, *scratch;
    const float *u;
} wino_job;

static void tile_input(const wino_job *j, int64_t image, int64_t tile, const void *pixel[LT_WINO_POINTS])
{
    const wino_kernel *v = j->v;
    const lt_conv_shape *s = &v->s;
    size_t bytes = lt_dtype_size(v->host.key.in[0].dtype);
    int64_t top = tile / v->tiles_x * v->side - s->win.pad[0], left = tile % v->tiles_x * v->side - s->win.pad[1];
    for (int i = 0; i < LT_WINO_POINTS; i++) {
        int64_t row = top + i / LT_WINO_SIDE, column = left + i % LT_WINO_SIDE;
        bool inside = row >= 0 && row < s->h && column >= 0 && column < s->w;
        pixel[i] = inside ? j->x + (size_t)(((image * s->h + row) * s->w + column) * s->c) * bytes : j->scratch + v->zeros_at;
    }
}

static void tile_output(const wino_job *j, int64_t image, int64_t tile, void **pixel)
{
    const wino_kernel *v = j->v;
    const lt_conv_shape *s = &v->s;
    size_t bytes = lt_dtype_size(v->host.key.out.dtype);
    int64_t top = tile / v->tiles_x * v->side, left = tile % v->tiles_x * v->side;
    for (int i = 0; i < v->side * v->side; i++) {
        int64_t row = top + i / v->side, column = left + i % v->side;
        pixel[i] = row < s->oh && column < s->ow ? j->y + (size_t)(((image * s->oh + row) * s->ow + column) * s->o) * bytes : NULL;
    }
}

static void multiply(const wino_job *j, int64_t n, const float *in, float *out)
{
    const wino_kernel *v = j->v;
    int64_t wide = 2 * v->loops->width, blocks = v->m_stride / wide;
    for (int f = 0; f < LT_WINO_POINTS; f++)
        for (int64_t b = 0; b < blocks; b++)
            v->loops->product(n, v->s.c, in + f * v->block * v->v_stride, v->v_stride, j->u + (f * blocks + b) * v->s.c * wide,
                              out + f * v->block * v->m_stride + b * wide, v->m_stride);
}

static lt_status wino_item(void *ctx, int64_t item, int lane)
{
    const wino_job *j = ctx;
    const wino_kernel *v = j->v;
    char *own = j->scratch + v->lane_at + (size_t)lane * v->lane_bytes;
    float *in = (float *)(void *)own, *out = (float *)(void *)(own + v->m_at);
    int64_t image = item / v->n_blocks, first = item % v->n_blocks * v->block, n = LT_MIN(v->block, v->tiles - first);
    for (int64_t t = 0; t < n; t++) {
        const void *pixel[LT_WINO_POINTS];
        tile_input(j, image, first + t, pixel);
        v->loops->input(v->host.key.in[0].dtype, pixel, v->s.c, in + t * v->v_stride, v->block * v->v_stride);
    }
    multiply(j, n, in, out);
    for (int64_t t = 0; t < n; t++) {
        void *pixel[16];
        tile_output(j, image, first + t, pixel);
        v->loops->output(v->host.key.out.dtype, v->side, out + t * v->m_stride, v->block * v->m_stride, v->s.o, pixel);
    }
    return LT_OK;
}

static lt_status wino_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const wino_kernel *v = (const wino_kernel *)k;
    char *scratch = arg[k->n_args];
    wino_job j = { v, arg[0], arg[v->host.key.n_in], scratch, k->packed ? k->packed : (void *)(scratch + v->packed_at) };
    if (!k->packed) LT_TRY(pack(k, pool, arg[1], scratch + v->packed_at));
    memset(j.scratch + v->zeros_at, 0, lt_align64((size_t)v->s.c * sizeof(float)));
    LT_TRY(lt_host_run_lanes(pool, v->n_lanes, v->s.n * v->n_blocks, wino_item, &j));
    return lt_host_epilogue(&v->host, pool, arg);
}

/* ---- The row ---------------------------------------------------------------------------------------- */
bool lt_conv_winograd_applies(const lt_problem_key *p)
{
    const lt_window *w = &p->attr->u.conv;
    lt_dtype t = p->out.dtype;
    if (p->isa < LT_ISA_AVX2 || !lt_key_is_all(p, t) || (t != LT_F32 && t != LT_F16 && t != LT_BF16)) return false;
    if (!w->channels_last || w->groups != 1 || w->kernel[0] != w->kernel[1] || (w->kernel[0] != 3 && w->kernel[0] != 5)) return false;
    for (int i = 0; i < 2; i++)
        if (w->stride[i] != 1 || w->dilation[i] != 1) return false;
    lt_conv_shape s = lt_conv_shape_of(p);
    return s.n > 0 && s.c >= ENOUGH_CHANNELS && s.o >= ENOUGH_CHANNELS && s.oh >= 4 && s.ow >= 4;
}

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Tiles per block: as many as keep transforms and products near the core, but enough for each pass
   over the filters to pay. By shape alone. */
static void cut(wino_kernel *v)
{
    v->tiles_x = (v->s.ow + v->side - 1) / v->side;
    v->tiles_y = (v->s.oh + v->side - 1) / v->side;
    v->tiles = v->tiles_x * v->tiles_y;
    v->v_stride = round_up(v->s.c, v->loops->width);
    v->m_stride = round_up(v->s.o, 2 * v->loops->width);
    int64_t fit = WORK_BYTES / (LT_WINO_POINTS * (v->v_stride + v->m_stride) * (int64_t)sizeof(float));
    int64_t wanted = LT_MAX(ENOUGH_TILES, LT_MIN(fit, 2 * ENOUGH_TILES));
    int64_t blocks = (v->tiles + wanted - 1) / wanted;
    v->block = round_up((v->tiles + blocks - 1) / blocks, v->loops->rows);
    v->n_blocks = (v->tiles + v->block - 1) / v->block;
}

static void place_scratch(wino_kernel *v)
{
    v->zeros_at = 0;
    v->lane_at = lt_align64((size_t)v->s.c * sizeof(float));
    v->m_at = lt_align64((size_t)(LT_WINO_POINTS * v->block * v->v_stride) * sizeof(float));
    v->lane_bytes = v->m_at + lt_align64((size_t)(LT_WINO_POINTS * v->block * v->m_stride) * sizeof(float));
    v->packed_at = v->lane_at + (size_t)v->n_lanes * v->lane_bytes;
    v->host.kernel.packed_bytes = lt_align64((size_t)(LT_WINO_POINTS * v->s.c * v->m_stride) * sizeof(float));
    v->host.kernel.scratch_bytes = v->packed_at + v->host.kernel.packed_bytes;
}

lt_status lt_conv_winograd_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    wino_kernel *v = lt_host_kernel_create(p, sizeof *v, "conv_winograd", wino_run);
    if (!v) return LT_ERR_MEMORY;
    v->host.kernel.pack = pack;
    v->host.kernel.pack_arg = 1;
    v->loops = p->isa == LT_ISA_AVX512 ? &lt_wino_avx512 : &lt_wino_avx2;
    v->s = lt_conv_shape_of(p);
    v->side = v->s.win.kernel[0] == 3 ? 4 : 2;
    v->host.kernel.flops = lt_conv_flops(&v->s);
    cut(v);
    v->n_lanes = lt_host_lanes(v->s.n * v->n_blocks);
    place_scratch(v);
    return lt_host_kernel_finish(&v->host, lt_host_epilogue_prepare(&v->host, p), out);
}
