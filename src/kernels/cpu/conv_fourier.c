/* CONV2D of 5x5 and 7x7 windows of step one by Fourier transforms of tiles, over channels that lie side by side.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv_fourier.h"

#include "base/dtype.h"
#include "base/status.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <string.h>

#define ENOUGH_CHANNELS 16 /* below, the transforms cost more than they save */
#define ENOUGH_TILES 9     /* of an image: filters are read once per block, whatever its size … */
#define FEW_TILES 4        /* … unless they stay in a cache */
#define SMALL_FILTERS (16 << 20)
#define MOST_TILES 64      /* of a block: transforms and products of all its points are kept */
enum { LINE = 16, MOST_KERNEL = 7, MOST_PIXELS = LT_FOURIER_MOST_SIDE * LT_FOURIER_MOST_SIDE, TILE = LT_FOURIER_TILE }; /* LINE: floats of a cache line */

typedef struct fourier_kernel {
    lt_host_kernel host;
    const lt_fourier_loops *loops;
    lt_conv_shape s;
    int     side;               /* of a tile; it has side^2 points and so many complex frequencies: */
    int64_t n_complex;
    int64_t tiles_x, tiles_y;   /* of one image */
    int64_t block, n_blocks;    /* rows of tiles computed together; blocks per image */
    int64_t v_stride, m_stride; /* channels rounded up to vectors */
    int64_t v_point, m_point;   /* floats between points */
    int     n_lanes;
    size_t  zeros_at, v_at, m_at, sum_at, packed_at;
} fourier_kernel;

/* ---- Filters -------------------------------------------------------------------------------------- */
typedef struct packing {
    const fourier_kernel *f;
    const void *weights;
    float *to;
} packing;

/* Floats of all filters of one frequency. */
static int64_t frequency_floats(const fourier_kernel *f) { return 3 * f->s.c * f->m_stride; }

/* Vectors of outputs that are multiplied together with this one: all but, maybe, the last are in company. */
static int vectors_with(const fourier_kernel *f, int64_t vector)
{
    int64_t first = vector / f->loops->wide * f->loops->wide;
    return (first + f->loops->wide) * f->loops->width <= f->m_stride ? f->loops->wide : 1;
}

/* Filters of one vector of outputs, as [frequency][vectors][c][factor][vector][output]; outputs beyond the last are zero. Real
   frequencies have one factor in the room of three: they are 4 of hundreds. */
static lt_status pack_task(void *ctx, int64_t vector, int worker)
{
    const packing *p = ctx;
    const fourier_kernel *f = p->f;
    (void)worker;
    const int k = (int)f->s.win.kernel[0], width = f->loops->width;
    int64_t taps = k * k, together = vectors_with(f, vector), first = vector / f->loops->wide * f->loops->wide;
    float *to = p->to + 3 * f->s.c * first * width + (vector - first) * width;
    lt_dtype t = f->host.key.in[1].dtype;
    for (int64_t c = 0; c < f->s.c; c++) {
        float g[MOST_KERNEL * MOST_KERNEL * LINE] = { 0 };
        for (int l = 0; l < width; l++) {
            int64_t o = vector * width + l;
            for (int64_t i = 0; i < taps && o < f->s.o; i++) g[i * width + l] = (float)lt_load_double(t, p->weights, (o * f->s.c + c) * taps + i);
        }
        f->loops->filter(f->side, g, to + c * 3 * together * width, frequency_floats(f), together * width);
    }
    return LT_OK;
}

static lt_status pack(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed)
{
    const fourier_kernel *f = (const fourier_kernel *)k;
    packing p = { .f = f, .weights = weights, .to = packed };
    return lt_pool_run(pool, f->m_stride / f->loops->width, pack_task, &p);
}

/* ---- A block of tiles ------------------------------------------------------------------------------- */
typedef struct fourier_job {
    const fourier_kernel *f;
    char        *x, *y;
    const void  *zeros;
    float       *v, *m;   /* [points][tile][channel] */
    float       *sum;     /* of each lane: [tile][channel] */
    const float *u;
    void *const *arg;
    int64_t      image, first, rows; /* of the block: rows of tiles */
} fourier_job;

static lt_status input_task(void *ctx, int64_t at, int worker)
{
    const fourier_job *job = ctx;
    const fourier_kernel *f = job->f;
    const lt_conv_shape *s = &f->s;
    (void)worker;
    const void *pixel[MOST_PIXELS];
    size_t bytes = lt_dtype_size(f->host.key.in[0].dtype);
    int64_t top = (job->first + at / f->tiles_x) * TILE - s->win.pad[0], left = at % f->tiles_x * TILE - s->win.pad[1];
    for (int p = 0; p < f->side * f->side; p++) {
        int64_t row = top + p / f->side, column = left + p % f->side;
        bool inside = row >= 0 && row < s->h && column >= 0 && column < s->w;
        pixel[p] = inside ? job->x + (size_t)(((job->image * s->h + row) * s->w + column) * s->c) * bytes : job->zeros;
    }
    f->loops->input(f->host.key.in[0].dtype, f->side, pixel, s->c, job->v + at * f->v_stride, f->v_point);
    return LT_OK;
}

/* One frequency of all tiles: its filters are read once, its tiles stay near. */
static lt_status product_item(void *ctx, int64_t frequency, int lane)
{
    const fourier_job *job = ctx;
    const fourier_kernel *f = job->f;
    const int64_t width = f->loops->width, tiles = job->rows * f->tiles_x, c = f->s.c;
    const float *u = job->u + frequency * frequency_floats(f);
    bool real = frequency >= f->n_complex;
    int64_t point = real ? f->n_complex + frequency : 2 * frequency;
    const float *a = job->v + point * f->v_point;
    float *re = job->m + point * f->m_point, *sum = job->sum + lane * f->v_point;
    const float *v[3] = { sum, a, a + f->v_point };
    if (!real) f->loops->add(tiles * f->v_stride, v[1], v[2], sum);
    int vectors = 1;
    for (int64_t o = 0; o < f->m_stride; o += vectors * width, u += 3 * c * vectors * width) {
        vectors = vectors_with(f, o / width);
        if (real) f->loops->real_product(tiles, vectors, c, a, f->v_stride, u, re + o, f->m_stride);
        else f->loops->product(tiles, vectors, c, v, f->v_stride, u, re + o, re + f->m_point + o, f->m_stride);
    }
    return LT_OK;
}

/* One row of tiles, and what follows the convolution there. */
static lt_status output_task(void *ctx, int64_t line, int worker)
{
    const fourier_job *job = ctx;
    const fourier_kernel *f = job->f;
    const lt_conv_shape *s = &f->s;
    (void)worker;
    size_t bytes = lt_dtype_size(f->host.key.out.dtype);
    int64_t top = (job->first + line) * TILE, bottom = LT_MIN(top + TILE, s->oh), row = s->ow * s->o;
    for (int64_t t = 0; t < f->tiles_x; t++) {
        void *pixel[TILE * TILE];
        for (int p = 0; p < TILE * TILE; p++) {
            int64_t i = top + p / TILE, j = t * TILE + p % TILE;
            pixel[p] = i < s->oh && j < s->ow ? job->y + (size_t)(((job->image * s->oh + i) * s->ow + j) * s->o) * bytes : NULL;
        }
        f->loops->output(f->host.key.out.dtype, f->side, job->m + (line * f->tiles_x + t) * f->m_stride, f->m_point, s->o, pixel);
    }
    return lt_host_epilogue_range(&f->host, job->arg, (job->image * s->oh + top) * row, (job->image * s->oh + bottom) * row);
}

static lt_status fourier_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const fourier_kernel *f = (const fourier_kernel *)k;
    char *scratch = arg[k->n_args];
    fourier_job job = { .f = f, .x = arg[0], .y = arg[f->host.key.n_in], .zeros = scratch + f->zeros_at, .arg = arg };
    job.v = (float *)(void *)(scratch + f->v_at);
    job.m = (float *)(void *)(scratch + f->m_at);
    job.sum = (float *)(void *)(scratch + f->sum_at);
    job.u = k->packed ? k->packed : (void *)(scratch + f->packed_at);
    if (!k->packed) LT_TRY(pack(k, pool, arg[1], scratch + f->packed_at));
    memset(scratch + f->zeros_at, 0, f->v_at - f->zeros_at);
    for (int64_t b = 0; b < f->s.n * f->n_blocks; b++) {
        job.image = b / f->n_blocks;
        job.first = b % f->n_blocks * f->block;
        job.rows = LT_MIN(f->block, f->tiles_y - job.first);
        LT_TRY(lt_pool_run(pool, job.rows * f->tiles_x, input_task, &job));
        LT_TRY(lt_host_run_lanes(pool, f->n_lanes, f->n_complex + LT_FOURIER_REAL, product_item, &job));
        LT_TRY(lt_pool_run(pool, job.rows, output_task, &job));
    }
    return LT_OK;
}

/* ---- The row ------------------------------------------------------------------------------------------ */
static int64_t tiles_along(int64_t results) { return (results + TILE - 1) / TILE; }
static int64_t side_of(int64_t kernel) { return TILE - 1 + kernel; }

bool lt_conv_fourier_applies(const lt_problem_key *p)
{
    const lt_window *w = &p->attr->u.conv;
    lt_dtype t = p->out.dtype;
    if (p->isa < LT_ISA_AVX2 || !lt_key_is_all(p, t) || (t != LT_F32 && t != LT_F16 && t != LT_BF16)) return false;
    if (!w->channels_last || w->groups != 1 || w->kernel[0] != w->kernel[1] || (w->kernel[0] != 5 && w->kernel[0] != 7)) return false;
    for (int i = 0; i < 2; i++)
        if (w->stride[i] != 1 || w->dilation[i] != 1) return false;
    lt_conv_shape s = lt_conv_shape_of(p);
    int64_t tiles = tiles_along(s.oh) * tiles_along(s.ow), side = side_of(w->kernel[0]);
    bool small = side * side * 3 / 2 * s.c * s.o * (int64_t)sizeof(float) <= SMALL_FILTERS;
    return s.n > 0 && s.c >= ENOUGH_CHANNELS && s.o >= ENOUGH_CHANNELS && tiles >= (small ? FEW_TILES : ENOUGH_TILES);
}

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* By shape alone. Points are an odd number of lines apart, so that those of one tile lie in different sets of a cache. */
static void cut(fourier_kernel *f)
{
    f->side = (int)side_of(f->s.win.kernel[0]);
    f->n_complex = f->side * f->side / 2 - 2;
    f->tiles_x = tiles_along(f->s.ow);
    f->tiles_y = tiles_along(f->s.oh);
    f->v_stride = round_up(f->s.c, f->loops->width);
    f->m_stride = round_up(f->s.o, f->loops->width);
    int64_t rows = LT_MAX(1, MOST_TILES / f->tiles_x), blocks = (f->tiles_y + rows - 1) / rows;
    f->block = (f->tiles_y + blocks - 1) / blocks;
    f->n_blocks = (f->tiles_y + f->block - 1) / f->block;
    f->v_point = (f->block * f->tiles_x * f->v_stride / LINE | 1) * LINE + LINE * 2;
    f->m_point = (f->block * f->tiles_x * f->m_stride / LINE | 1) * LINE + LINE * 2;
    f->host.kernel.packed_bytes = lt_align64((size_t)((f->n_complex + LT_FOURIER_REAL) * frequency_floats(f)) * sizeof(float));
}

static void place_scratch(fourier_kernel *f)
{
    f->zeros_at = 0;
    f->v_at = lt_align64((size_t)f->s.c * sizeof(float));
    f->m_at = f->v_at + lt_align64((size_t)(f->side * f->side * f->v_point) * sizeof(float));
    f->sum_at = f->m_at + lt_align64((size_t)(f->side * f->side * f->m_point) * sizeof(float));
    f->packed_at = f->sum_at + lt_align64((size_t)(f->n_lanes * f->v_point) * sizeof(float));
    f->host.kernel.scratch_bytes = f->packed_at + f->host.kernel.packed_bytes;
}

lt_status lt_conv_fourier_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    fourier_kernel *f = lt_host_kernel_create(p, sizeof *f, "conv_fourier", fourier_run);
    if (!f) return LT_ERR_MEMORY;
    f->host.kernel.pack = pack;
    f->host.kernel.pack_arg = 1;
    f->loops = p->isa == LT_ISA_AVX512 ? &lt_fourier_avx512 : &lt_fourier_avx2;
    f->s = lt_conv_shape_of(p);
    f->host.kernel.flops = lt_conv_flops(&f->s);
    cut(f);
    f->n_lanes = lt_host_lanes(f->n_complex);
    place_scratch(f);
    return lt_host_kernel_finish(&f->host, lt_host_epilogue_prepare(&f->host, p), out);
}
