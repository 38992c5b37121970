/* CONV2D of 5x5 and 7x7 windows of step one by Fourier transforms of tiles, over channels that lie side by side.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/fourier/fourier.h"

#include "base/dtype.h"
#include "base/status.h"
#include "kernels/cpu/conv/bands.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <string.h>

#define ENOUGH_CHANNELS 16 /* below, the transforms cost more than they save */
#define ENOUGH_TILES 9     /* of an image: filters are read once per block, whatever its size … */
#define FEW_TILES 4        /* … unless they stay in a cache */
#define SMALL_FILTERS (16 << 20)
#define MOST_TILES 64      /* of a block: transforms and products of all its points are kept */
#define CACHED_BYTES (16 << 20) /* more of them do not stay in a cache until they are read */
enum { LINE = 16, MOST_KERNEL = 7, MOST_PIXELS = LT_FOURIER_MOST_SIDE * LT_FOURIER_MOST_SIDE, TILE = LT_FOURIER_TILE }; /* LINE: floats of a cache line */

typedef struct fourier_kernel {
    lt_host_kernel host;
    const lt_fourier_loops *loops;
    lt_conv_sizes s;
    int     side;               /* of a tile; it has side^2 points and this many complex frequencies: */
    int64_t n_complex;
    int64_t tiles_x, tiles_y;   /* of one image */
    int64_t block, n_blocks;    /* rows of tiles computed together; blocks per image */
    int64_t v_stride, m_stride; /* channels rounded up to vectors */
    int64_t v_point, m_point;   /* floats between points of a tile */
    int64_t v_tile, m_tile;     /* and between tiles */
    int     n_lanes;
    size_t  zeros_at, v_at, m_at, sum_at, packed_at;
} fourier_kernel;

/* ---- Filters -------------------------------------------------------------------------------------- */
typedef struct fourier_packing {
    const fourier_kernel *f;
    const void *weights;
    float *to;
} fourier_packing;

/* Floats of all filters of one frequency. */
static int64_t frequency_floats(const fourier_kernel *f) { return 3 * f->s.c * f->m_stride; }

/* Vectors of outputs that are multiplied together with this one: all but, maybe, the last are in company. */
static int vectors_with(const fourier_kernel *f, int64_t vector)
{
    int64_t first = vector / f->loops->wide * f->loops->wide;
    return (first + f->loops->wide) * f->loops->width <= f->m_stride ? f->loops->wide : 1;
}

/* Filters of one vector of outputs, as [frequency][vectors][factor][c][vector][output]; outputs beyond the last are zero. Real
   frequencies have one factor in the room of three: they are 4 of hundreds. */
static lt_status pack_task(void *ctx, int64_t vector, int worker)
{
    const fourier_packing *p = ctx;
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
        f->loops->filter(f->side, g, to + c * together * width, frequency_floats(f), f->s.c * together * width);
    }
    return LT_OK;
}

static lt_status pack(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed)
{
    const fourier_kernel *f = (const fourier_kernel *)k;
    fourier_packing p = { .f = f, .weights = weights, .to = packed };
    return lt_pool_run(pool, f->m_stride / f->loops->width, pack_task, &p);
}

/* ---- A block of tiles ------------------------------------------------------------------------------- */
/* Memory of one of the runs that go abreast. */
typedef struct fourier_part {
    char        *x, *y;
    const void  *zeros;
    float       *v, *m;   /* [tile][point][channel]: a tile's transforms lie together */
    float       *sum;     /* of each lane: [tile][channel] */
    void *const *arg;
} fourier_part;

typedef struct fourier_job {
    const fourier_kernel *f;
    int          n_parts;
    fourier_part part[LT_MOST_ABREAST];
    const float *u;
    int64_t      image, first, rows; /* of the block: rows of tiles */
    bool         streams;                /* transforms and products pass the caches */
} fourier_job;

static int64_t tiles_of(const fourier_job *job) { return job->rows * job->f->tiles_x; }
static float *sum_of(const fourier_job *job, int part, int lane)
{
    return job->part[part].sum + lane * job->f->block * job->f->tiles_x * job->f->v_stride;
}

static lt_status input_task(void *ctx, int64_t task, int worker)
{
    const fourier_job *job = ctx;
    const fourier_kernel *f = job->f;
    const lt_conv_sizes *s = &f->s;
    const fourier_part *part = &job->part[task / tiles_of(job)];
    (void)worker;
    const void *pixel[MOST_PIXELS];
    size_t bytes = lt_dtype_size(f->host.key.in[0].dtype);
    int64_t at = task % tiles_of(job);
    int64_t top = (job->first + at / f->tiles_x) * TILE - s->win.pad[0], left = at % f->tiles_x * TILE - s->win.pad[1];
    for (int p = 0; p < f->side * f->side; p++) {
        int64_t row = top + p / f->side, column = left + p % f->side;
        bool inside = row >= 0 && row < s->h && column >= 0 && column < s->w;
        pixel[p] = inside ? part->x + (size_t)(((job->image * s->h + row) * s->w + column) * s->c) * bytes : part->zeros;
    }
    f->loops->input(f->host.key.in[0].dtype, f->side, pixel, s->c, part->v + at * f->v_tile, f->v_point, job->streams);
    return LT_OK;
}

/* One frequency of all tiles: its filters are read once, by all runs while they are near; its tiles stay near. */
static lt_status product_item(void *ctx, int64_t frequency, int lane)
{
    const fourier_job *job = ctx;
    const fourier_kernel *f = job->f;
    const int width = f->loops->width;
    bool real = frequency >= f->n_complex;
    int64_t point = real ? f->n_complex + frequency : 2 * frequency;
    lt_fourier_product p = { .rows = tiles_of(job), .c = f->s.c, .u = job->u + frequency * frequency_floats(f), .streams = job->streams, .shares = job->n_parts,
                             .sum_stride = f->v_stride, .v_stride = f->v_tile, .m_stride = f->m_tile };
    for (int i = 0; i < job->n_parts && !real; i++) {
        const float *a = job->part[i].v + point * f->v_point;
        for (int64_t t = 0; t < p.rows; t++) f->loops->add(f->v_stride, a + t * f->v_tile, a + t * f->v_tile + f->v_point, sum_of(job, i, lane) + t * f->v_stride);
    }
    for (int64_t o = 0; o < f->m_stride; o += p.vectors * width, p.u += 3 * f->s.c * p.vectors * width) {
        p.vectors = vectors_with(f, o / width);
        for (p.share = 0; p.share < p.shares; p.share++) {
            const fourier_part *part = &job->part[p.share];
            p.sum = sum_of(job, p.share, lane);
            p.a = part->v + point * f->v_point, p.b = p.a + f->v_point;
            p.re = part->m + point * f->m_point + o, p.im = p.re + f->m_point;
            if (real) f->loops->real_product(&p);
            else f->loops->product(&p);
        }
    }
    return LT_OK;
}

/* One row of tiles, and what follows the convolution there. */
static lt_status output_task(void *ctx, int64_t task, int worker)
{
    const fourier_job *job = ctx;
    const fourier_kernel *f = job->f;
    const lt_conv_sizes *s = &f->s;
    const fourier_part *part = &job->part[task / job->rows];
    (void)worker;
    size_t bytes = lt_dtype_size(f->host.key.out.dtype);
    int64_t line = task % job->rows, top = (job->first + line) * TILE, bottom = LT_MIN(top + TILE, s->oh), row = s->ow * s->o;
    for (int64_t t = 0; t < f->tiles_x; t++) {
        void *pixel[TILE * TILE];
        for (int p = 0; p < TILE * TILE; p++) {
            int64_t i = top + p / TILE, j = t * TILE + p % TILE;
            pixel[p] = i < s->oh && j < s->ow ? part->y + (size_t)(((job->image * s->oh + i) * s->ow + j) * s->o) * bytes : NULL;
        }
        f->loops->output(f->host.key.out.dtype, f->side, part->m + (line * f->tiles_x + t) * f->m_tile, f->m_point, s->o, pixel);
    }
    return lt_host_epilogue_range(&f->host, part->arg, (job->image * s->oh + top) * row, (job->image * s->oh + bottom) * row);
}

static fourier_part part_of(const fourier_kernel *f, void *const *arg)
{
    char *scratch = arg[f->host.kernel.n_args];
    memset(scratch + f->zeros_at, 0, f->v_at - f->zeros_at);
    return (fourier_part){ .x = arg[0], .y = arg[f->host.key.n_in], .zeros = scratch + f->zeros_at, .v = (float *)(void *)(scratch + f->v_at),
                           .m = (float *)(void *)(scratch + f->m_at), .sum = (float *)(void *)(scratch + f->sum_at), .arg = arg };
}

static lt_status fourier_run_abreast(const lt_kernel *k, lt_pool *pool, int n, void *const *const *arg)
{
    const fourier_kernel *f = (const fourier_kernel *)k;
    char *packed = (char *)arg[0][k->n_args] + f->packed_at;
    fourier_job job = { .f = f, .n_parts = n, .u = k->packed ? k->packed : (void *)packed };
    job.streams = f->loops->width == LINE && n * f->block * f->tiles_x * (f->v_tile + f->m_tile) * (int64_t)sizeof(float) > CACHED_BYTES;
    for (int i = 0; i < n; i++) job.part[i] = part_of(f, arg[i]);
    if (!k->packed) LT_TRY(pack(k, pool, arg[0][1], packed));
    for (int64_t b = 0; b < f->s.n * f->n_blocks; b++) {
        job.image = b / f->n_blocks;
        job.first = b % f->n_blocks * f->block;
        job.rows = LT_MIN(f->block, f->tiles_y - job.first);
        LT_TRY(lt_pool_run(pool, n * tiles_of(&job), input_task, &job));
        LT_TRY(lt_host_run_lanes(pool, f->n_lanes, f->n_complex + LT_FOURIER_REAL, product_item, &job));
        LT_TRY(lt_pool_run(pool, n * job.rows, output_task, &job));
    }
    return LT_OK;
}

static lt_status fourier_run(const lt_kernel *k, lt_pool *pool, void *const *arg) { return fourier_run_abreast(k, pool, 1, &arg); }

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
    lt_conv_sizes s = lt_conv_sizes_of(p);
    int64_t tiles = tiles_along(s.oh) * tiles_along(s.ow), side = side_of(w->kernel[0]);
    bool small = side * side * 3 / 2 * s.c * s.o * (int64_t)sizeof(float) <= SMALL_FILTERS;
    return s.n > 0 && s.c >= ENOUGH_CHANNELS && s.o >= ENOUGH_CHANNELS && tiles >= (small ? FEW_TILES : ENOUGH_TILES);
}

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* By shape alone. Points and tiles are an odd number of lines apart, so that they lie in different sets of a cache. */
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
    f->v_point = lt_odd_lines(f->v_stride);
    f->m_point = lt_odd_lines(f->m_stride);
    f->v_tile = lt_odd_lines(f->side * f->side * f->v_point);
    f->m_tile = lt_odd_lines(f->side * f->side * f->m_point);
    f->host.kernel.packed_bytes = lt_align64((size_t)((f->n_complex + LT_FOURIER_REAL) * frequency_floats(f)) * sizeof(float));
}

static void place_scratch(fourier_kernel *f)
{
    f->zeros_at = 0;
    f->v_at = lt_align64((size_t)f->s.c * sizeof(float));
    f->m_at = f->v_at + lt_align64((size_t)(f->block * f->tiles_x * f->v_tile) * sizeof(float));
    f->sum_at = f->m_at + lt_align64((size_t)(f->block * f->tiles_x * f->m_tile) * sizeof(float));
    f->packed_at = f->sum_at + lt_align64((size_t)(f->n_lanes * f->block * f->tiles_x * f->v_stride) * sizeof(float));
    f->host.kernel.scratch_bytes = f->packed_at + f->host.kernel.packed_bytes;
}

lt_status lt_conv_fourier_prepare(const lt_problem_key *p, lt_kernel **out)
{
    *out = NULL;
    fourier_kernel *f = lt_host_kernel_create(p, sizeof *f, "conv_fourier", fourier_run);
    if (!f) return LT_ERR_MEMORY;
    f->s = lt_conv_begin(&f->host, p, pack);
    f->loops = p->isa == LT_ISA_AVX512 ? &lt_fourier_avx512 : &lt_fourier_avx2;
    cut(f);
    f->n_lanes = lt_host_lanes(f->n_complex);
    bool few_tiles = 2 * f->tiles_x * f->tiles_y <= MOST_TILES; /* for filters that come from memory each time */
    if (few_tiles && f->host.kernel.packed_bytes > SMALL_FILTERS) f->host.kernel.run_abreast = fourier_run_abreast;
    place_scratch(f);
    return lt_host_kernel_finish(&f->host, lt_host_epilogue_prepare(&f->host, p), out);
}
