/* CONV2D by Winograd's minimal filtering: 3x3, 5x5 and 7x7 windows of step one over channels that lie
   side by side; and its data gradient, which is the same convolution of gy with the kernel turned around.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/winograd/winograd.h"

#include "base/dtype.h"
#include "base/status.h"
#include "kernels/cpu/conv/bands.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <string.h>

#define ENOUGH_CHANNELS 16   /* below, the transforms cost more than they save */
#define WORK_BYTES (2 << 20) /* of one lane: transformed tiles and their products … */
#define ENOUGH_TILES 120     /* … but at least this many, to make a pass over the filters pay; twice that when … */
#define LARGE_FILTERS (16 << 20) /* … the filters do not stay in any cache */

/* How a window of this size is filtered. */
typedef struct scheme { int kernel, tile, side, filter, reach; } scheme; /* reach: filters of `filter` per axis */
static const scheme schemes[] = { { 3, 4, 6, 3, 1 }, { 5, 2, 6, 5, 1 }, { 7, 4, 7, 4, 2 } };

typedef struct wino_kernel {
    lt_host_kernel host;
    const lt_wino_loops *loops;
    lt_conv_sizes s;          /* of a data gradient: x is gy, y is gx */
    bool    turned;
    scheme  how;
    int     points, parts;    /* of a tile; filters the window is cut into */
    int64_t tiles_x, tiles_y; /* of one image */
    int64_t cells_x;          /* tiles in a row whose inputs are transformed */
    int64_t block, n_blocks;  /* rows of tiles computed together; blocks per image */
    int64_t v_stride, m_stride; /* channels rounded up to vectors */
    int64_t v_point, m_point; /* floats between points */
    int     n_lanes;
    size_t  zeros_at, lane_at, lane_bytes, m_at, packed_at;
} wino_kernel;

/* ---- Weights ------------------------------------------------------------------------------------ */
void lt_wino_filter_points(int side, int filter, double g[LT_WINO_MAX_SIDE][5])
{
    static const double point[LT_WINO_MAX_SIDE - 1] = { 0, 1, -1, 2, -0.5, 0.5 };
    int finite = side - 1;
    memset(g, 0, LT_WINO_MAX_SIDE * sizeof *g);
    for (int p = 0; p < finite; p++) {
        g[p][0] = 1;
        for (int q = 0; q < finite; q++)
            if (q != p) g[p][0] /= point[p] - point[q];
        for (int i = 1; i < filter; i++) g[p][i] = g[p][i - 1] * point[p];
    }
    g[finite][filter - 1] = 1;
}

typedef struct wino_packing {
    const wino_kernel *v;
    const void *weights;
    float *to;
    double g[LT_WINO_MAX_SIDE][5];
} wino_packing;

static inline double weight(const wino_packing *p, int64_t at)
{
    lt_dtype t = p->v->host.key.in[1].dtype;
    return t == LT_F32 ? (double)((const float *)p->weights)[at] : lt_load_double(t, p->weights, at);
}

/* G w G' of one pair of channels and one part of the window. */
static void transform_filter(const wino_packing *p, int64_t o, int64_t c, int part, double out[LT_WINO_MAX_POINTS])
{
    const wino_kernel *v = p->v;
    int k = v->how.kernel, r = v->how.filter, top = part / v->how.reach * r, left = part % v->how.reach * r;
    int64_t at = (v->turned ? c * v->s.o + o : o * v->s.c + c) * k * k, last = k * k - 1;
    double half[LT_WINO_MAX_SIDE][5] = { { 0 } };
    for (int i = 0; i < v->how.side; i++)
        for (int b = 0; b < r && left + b < k; b++)
            for (int a = 0; a < r && top + a < k; a++)
                half[i][b] += p->g[i][a] * weight(p, at + (v->turned ? last - (top + a) * k - left - b : (top + a) * k + left + b));
    for (int i = 0; i < v->how.side; i++)
        for (int j = 0; j < v->how.side; j++) {
            double sum = 0;
            for (int b = 0; b < r; b++) sum += half[i][b] * p->g[j][b];
            out[i * v->how.side + j] = sum;
        }
}

/* Blocks of outputs: two vectors, the last one maybe. */
static int64_t block_count(const wino_kernel *v) { return (v->m_stride + 2 * v->loops->width - 1) / (2 * v->loops->width); }
static int64_t block_width(const wino_kernel *v, int64_t block) { return LT_MIN(2 * v->loops->width, v->m_stride - 2 * block * v->loops->width); }
/* Where the filters of a point and a block are: [point][block][part][c][width of the block]. */
static int64_t block_at(const wino_kernel *v, int point, int64_t block) { return v->parts * v->s.c * (point * v->m_stride + 2 * block * v->loops->width); }

/* Filters of one block of outputs; outputs beyond the last are zero. */
static lt_status pack_task(void *ctx, int64_t block, int worker)
{
    const wino_packing *p = ctx;
    const wino_kernel *v = p->v;
    (void)worker;
    int64_t wide = block_width(v, block), c_all = v->s.c;
    for (int part = 0; part < v->parts; part++)
        for (int64_t c = 0; c < c_all; c++)
            for (int64_t l = 0; l < wide; l++) {
                double u[LT_WINO_MAX_POINTS] = { 0 };
                int64_t o = 2 * block * v->loops->width + l;
                if (o < v->s.o) transform_filter(p, o, c, part, u);
                for (int f = 0; f < v->points; f++) p->to[block_at(v, f, block) + (part * c_all + c) * wide + l] = (float)u[f];
            }
    return LT_OK;
}

static lt_status pack(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed)
{
    const wino_kernel *v = (const wino_kernel *)k;
    wino_packing p = { .v = v, .weights = weights, .to = packed };
    lt_wino_filter_points(v->how.side, v->how.filter, p.g);
    return lt_pool_run(pool, block_count(v), pack_task, &p);
}

/* ---- Tiles ---------------------------------------------------------------------------------------- */
typedef struct wino_job {
    const wino_kernel *v;
    char  *x, *y, *scratch;
    const float *u;
    void *const *arg;
} wino_job;

/* Input pixels of the tile in row i, column j; zeros where it leaves the image. */
static void tile_input(const wino_job *job, int64_t image, int64_t i, int64_t j, const void *pixel[LT_WINO_MAX_POINTS])
{
    const wino_kernel *v = job->v;
    const lt_conv_sizes *s = &v->s;
    size_t bytes = lt_dtype_size(v->host.key.in[0].dtype);
    int64_t top = i * v->how.tile - s->win.pad[0], left = j * v->how.tile - s->win.pad[1];
    for (int p = 0; p < v->points; p++) {
        int64_t row = top + p / v->how.side, column = left + p % v->how.side;
        bool inside = row >= 0 && row < s->h && column >= 0 && column < s->w;
        pixel[p] = inside ? job->x + (size_t)(((image * s->h + row) * s->w + column) * s->c) * bytes : job->scratch + v->zeros_at;
    }
}

static void tile_output(const wino_job *job, int64_t image, int64_t i, int64_t j, void **pixel)
{
    const wino_kernel *v = job->v;
    const lt_conv_sizes *s = &v->s;
    size_t bytes = lt_dtype_size(v->host.key.out.dtype);
    int64_t top = i * v->how.tile, left = j * v->how.tile;
    for (int p = 0; p < v->how.tile * v->how.tile; p++) {
        int64_t row = top + p / v->how.tile, column = left + p % v->how.tile;
        pixel[p] = row < s->oh && column < s->ow ? job->y + (size_t)(((image * s->oh + row) * s->ow + column) * s->o) * bytes : NULL;
    }
}

/* Every point of `rows` rows of tiles; filters are the outer loop, so each is read once. Where the window is not cut into parts,
   rows of tiles follow one another without a gap and are one product. */
static void multiply(const wino_job *job, int64_t rows, const float *in, float *out)
{
    const wino_kernel *v = job->v;
    int64_t calls = v->parts == 1 ? 1 : rows, tiles = v->parts == 1 ? rows * v->tiles_x : v->tiles_x;
    for (int f = 0; f < v->points; f++)
        for (int64_t b = 0; b < block_count(v); b++)
            for (int64_t i = 0; i < calls; i++) {
                const float *from[LT_WINO_MAX_PARTS];
                for (int p = 0; p < v->parts; p++)
                    from[p] = in + f * v->v_point + ((i + p / v->how.reach) * v->cells_x + p % v->how.reach) * v->v_stride;
                v->loops->product(tiles, (int)(block_width(v, b) / v->loops->width), v->s.c, v->parts, from, v->v_stride, job->u + block_at(v, f, b),
                                  out + f * v->m_point + i * v->tiles_x * v->m_stride + 2 * b * v->loops->width, v->m_stride);
            }
}

/* Row i of tiles of an image back from its products, and what follows the convolution while the row is near. */
static lt_status give_row(const wino_job *job, int64_t image, int64_t i, const float *products)
{
    const wino_kernel *v = job->v;
    for (int64_t j = 0; j < v->tiles_x; j++) {
        void *pixel[16];
        tile_output(job, image, i, j, pixel);
        v->loops->output(v->host.key.out.dtype, v->how.side, v->how.tile, products + j * v->m_stride, v->m_point, v->s.o, pixel);
    }
    int64_t top = i * v->how.tile, bottom = LT_MIN(top + v->how.tile, v->s.oh), row = v->s.ow * v->s.o;
    return lt_host_epilogue_range(&v->host, job->arg, (image * v->s.oh + top) * row, (image * v->s.oh + bottom) * row);
}

static lt_status wino_item(void *ctx, int64_t item, int lane)
{
    const wino_job *job = ctx;
    const wino_kernel *v = job->v;
    char *own = job->scratch + v->lane_at + (size_t)lane * v->lane_bytes;
    float *in = (float *)(void *)own, *out = (float *)(void *)(own + v->m_at);
    int64_t image = item / v->n_blocks, first = item % v->n_blocks * v->block, rows = LT_MIN(v->block, v->tiles_y - first);
    int64_t cells_y = rows + v->how.reach - 1;
    for (int64_t t = 0; t < cells_y * v->cells_x; t++) {
        const void *pixel[LT_WINO_MAX_POINTS];
        tile_input(job, image, first + t / v->cells_x, t % v->cells_x, pixel);
        v->loops->input(v->host.key.in[0].dtype, v->how.side, pixel, v->s.c, in + t * v->v_stride, v->v_point);
    }
    multiply(job, rows, in, out);
    for (int64_t i = 0; i < rows; i++) LT_TRY(give_row(job, image, first + i, out + i * v->tiles_x * v->m_stride));
    return LT_OK;
}

static lt_status wino_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const wino_kernel *v = (const wino_kernel *)k;
    char *scratch = arg[k->n_args];
    wino_job job = { v, arg[0], arg[v->host.key.n_in], scratch, k->packed ? k->packed : (void *)(scratch + v->packed_at), arg };
    if (!k->packed) LT_TRY(pack(k, pool, arg[1], scratch + v->packed_at));
    memset(scratch + v->zeros_at, 0, lt_align64((size_t)v->s.c * sizeof(float)));
    return lt_host_run_lanes(pool, v->n_lanes, v->s.n * v->n_blocks, wino_item, &job);
}

/* ---- The row ---------------------------------------------------------------------------------------- */
/* The convolution a data gradient is. */
static lt_conv_sizes turn(lt_conv_sizes s)
{
    lt_conv_sizes t = s;
    t.c = s.o, t.h = s.oh, t.w = s.ow;
    t.o = s.c, t.oh = s.h, t.ow = s.w;
    for (int i = 0; i < 2; i++) t.win.pad[i] = s.win.kernel[i] - 1 - s.win.pad[i];
    return t;
}

static const scheme *scheme_for(int64_t kernel)
{
    for (size_t i = 0; i < LT_LEN(schemes); i++)
        if (schemes[i].kernel == kernel) return &schemes[i];
    return NULL;
}

bool lt_conv_winograd_applies(const lt_problem_key *p)
{
    const lt_window *w = &p->attr->u.conv;
    lt_dtype t = p->out.dtype;
    if (p->isa < LT_ISA_AVX2 || !lt_key_is_all(p, t) || (t != LT_F32 && t != LT_F16 && t != LT_BF16)) return false;
    if (!w->channels_last || w->groups != 1 || w->kernel[0] != w->kernel[1] || !scheme_for(w->kernel[0])) return false;
    for (int i = 0; i < 2; i++)
        if (w->stride[i] != 1 || w->dilation[i] != 1) return false;
    lt_conv_sizes s = lt_conv_sizes_of(p);
    return s.n > 0 && s.c >= ENOUGH_CHANNELS && s.o >= ENOUGH_CHANNELS && s.h >= 4 && s.w >= 4 && s.oh >= 4 && s.ow >= 4;
}

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Rows of tiles per block: as many as keep transforms and products near the core, but enough for each
   pass over the filters to pay. By shape alone. */
static void cut(wino_kernel *v)
{
    const scheme *how = &v->how;
    v->points = how->side * how->side;
    v->parts = how->reach * how->reach;
    v->tiles_x = (v->s.ow + how->tile - 1) / how->tile;
    v->tiles_y = (v->s.oh + how->tile - 1) / how->tile;
    v->cells_x = v->tiles_x + how->reach - 1;
    v->v_stride = round_up(v->s.c, v->loops->width);
    v->m_stride = round_up(v->s.o, v->loops->width);
    size_t filters = (size_t)(v->points * v->parts * v->s.c * v->m_stride) * sizeof(float);
    int64_t fit = WORK_BYTES / (v->points * (v->v_stride + v->m_stride) * (int64_t)sizeof(float));
    int64_t least = filters > LARGE_FILTERS ? 2 * ENOUGH_TILES : ENOUGH_TILES;
    int64_t rows = LT_MAX(1, LT_MAX(least, LT_MIN(fit, 2 * ENOUGH_TILES)) / v->tiles_x);
    while (rows < v->tiles_y && (v->tiles_y + rows - 1) / rows % 2) rows++; /* an even number of blocks: two threads do as much each */
    int64_t blocks = (v->tiles_y + rows - 1) / rows;
    v->block = (v->tiles_y + blocks - 1) / blocks;
    v->n_blocks = (v->tiles_y + v->block - 1) / v->block;
    v->v_point = lt_odd_lines((v->block + how->reach - 1) * v->cells_x * v->v_stride);
    v->m_point = lt_odd_lines(v->block * v->tiles_x * v->m_stride);
    v->host.kernel.packed_bytes = lt_align64(filters);
}

static void place_scratch(wino_kernel *v)
{
    v->zeros_at = 0;
    v->lane_at = lt_align64((size_t)v->s.c * sizeof(float));
    v->m_at = lt_align64((size_t)(v->points * v->v_point) * sizeof(float));
    v->lane_bytes = v->m_at + lt_align64((size_t)(v->points * v->m_point) * sizeof(float));
    v->packed_at = v->lane_at + (size_t)v->n_lanes * v->lane_bytes;
    v->host.kernel.scratch_bytes = v->packed_at + v->host.kernel.packed_bytes;
}

lt_status lt_conv_winograd_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    wino_kernel *v = lt_host_kernel_create(p, sizeof *v, "conv_winograd", wino_run);
    if (!v) return LT_ERR_MEMORY;
    v->s = lt_conv_begin(&v->host, p, pack);
    v->loops = p->isa == LT_ISA_AVX512 ? &lt_wino_avx512 : &lt_wino_avx2;
    v->how = *scheme_for(v->s.win.kernel[0]);
    v->turned = p->op == LT_OP_CONV2D_DGRAD;
    if (v->turned) v->s = turn(v->s);
    cut(v);
    v->n_lanes = lt_host_lanes(v->s.n * v->n_blocks);
    place_scratch(v);
    return lt_host_kernel_finish(&v->host, lt_host_epilogue_prepare(&v->host, p), out);
}
