/* CONV2D of bfloat16 maps by matrix tiles, over channels that lie side by side. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/tiles/tiles.h"

#include "base/status.h"
#include "kernels/cpu/conv/bands.h"
#include "kernels/cpu/trial.h"
#include "kernels/host_kernel.h"
#include "kernels/rows.h"
#include "kernels/window.h"

#include <cpuid.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEAR_BYTES (704 << 10) /* of a band's spread rows: they share the second-level cache with weights */
#define BANDS 16               /* of an image, where it has the rows: several for each thread */

typedef struct tiles_kernel {
    lt_host_kernel host;
    const lt_tile_loops *loops;
    lt_conv_sizes s;
    int64_t n_blocks, n_outputs;  /* blocks of 32 channels, of 32 outputs */
    int64_t rows, n_bands;        /* rows of results in a band; bands of an image */
    int64_t x_rows, x_columns;    /* of the spread input */
    int     n_lanes;
    size_t  lane_bytes, packed_at;
} tiles_kernel;

/* ---- Weights ---------------------------------------------------------------------------------------- */
typedef struct tiles_packing { const tiles_kernel *t; const uint16_t *from; uint16_t *to; } tiles_packing;

/* One block of outputs, as lt_tile_band says; channels and outputs beyond the last are zero. */
static lt_status pack_task(void *ctx, int64_t block, int worker)
{
    const tiles_packing *p = ctx;
    const lt_conv_sizes *s = &p->t->s;
    (void)worker;
    const int64_t taps = s->win.kernel[0] * s->win.kernel[1], step = 2 * LT_TILE_SIDE * LT_TILE_BLOCK;
    uint16_t *to = p->to + block * p->t->n_blocks * taps * step;
    memset(to, 0, (size_t)(p->t->n_blocks * taps * step) * sizeof *to);
    for (int64_t i = 0; i < LT_MIN(LT_TILE_BLOCK, s->o - block * LT_TILE_BLOCK); i++)
        for (int64_t c = 0; c < s->c; c++) {
            const uint16_t *from = p->from + ((block * LT_TILE_BLOCK + i) * s->c + c) * taps;
            uint16_t *at = to + c / LT_TILE_BLOCK * taps * step + i / LT_TILE_SIDE * LT_TILE_SIDE * LT_TILE_BLOCK
                         + c % LT_TILE_BLOCK / 2 * LT_TILE_BLOCK + i % LT_TILE_SIDE * 2 + c % 2;
            for (int64_t tap = 0; tap < taps; tap++) at[tap * step] = from[tap];
        }
    return LT_OK;
}

static lt_status pack(const lt_kernel *k, lt_pool *pool, const void *weights, void *packed)
{
    const tiles_kernel *t = (const tiles_kernel *)k;
    tiles_packing p = { .t = t, .from = weights, .to = packed };
    return lt_pool_run(pool, t->n_outputs, pack_task, &p);
}

/* ---- Running ---------------------------------------------------------------------------------------- */
typedef struct tiles_job {
    const tiles_kernel *t;
    const uint16_t *x;
    uint16_t    *y;
    const char  *w;
    char        *scratch;
    void *const *arg;
} tiles_job;

/* Bytes between rows and between planes of the spread input. */
static int64_t line_step(const tiles_kernel *t) { return t->x_columns * LT_TILE_LINE; }
static int64_t plane_step(const tiles_kernel *t) { return t->x_rows * line_step(t); }

/* One row of the input, `row` maybe outside the image, with zeros where there is no pixel. */
static void spread_row(const tiles_job *j, int64_t image, int64_t row, char *to)
{
    const tiles_kernel *t = j->t;
    const lt_conv_sizes *s = &t->s;
    bool inside = row >= 0 && row < s->h;
    int64_t left = LT_MIN(s->win.pad[1], t->x_columns), n = inside ? LT_MIN(s->w, t->x_columns - left) : 0, right = left + n;
    for (int64_t b = 0; b < t->n_blocks; b++) {
        char *line = to + b * plane_step(t);
        memset(line, 0, (size_t)(left * LT_TILE_LINE));
        memset(line + right * LT_TILE_LINE, 0, (size_t)((t->x_columns - right) * LT_TILE_LINE));
    }
    if (n) t->loops->spread(j->x + (image * s->h + row) * s->w * s->c, n, s->c, to + left * LT_TILE_LINE, plane_step(t));
}

static lt_status band_item(void *ctx, int64_t item, int lane)
{
    const tiles_job *j = ctx;
    const tiles_kernel *t = j->t;
    const lt_conv_sizes *s = &t->s;
    const lt_window *v = &s->win;
    int64_t image = item / t->n_bands, first = item % t->n_bands * t->rows, rows = LT_MIN(t->rows, s->oh - first);
    int64_t x_rows = (rows - 1) * v->stride[0] + (v->kernel[0] - 1) * v->dilation[0] + 1;
    char *x = j->scratch + (size_t)lane * t->lane_bytes;
    for (int64_t r = 0; r < x_rows; r++) spread_row(j, image, first * v->stride[0] - v->pad[0] + r, x + r * line_step(t));
    lt_tile_band b = { .x = x, .n_blocks = t->n_blocks, .plane_step = plane_step(t), .taps = { v->kernel[0], v->kernel[1] },
                       .tap_step = { v->dilation[0] * line_step(t), v->dilation[1] * LT_TILE_LINE }, .row_step = v->stride[0] * line_step(t),
                       .pixel_step = v->stride[1] * LT_TILE_LINE, .w = j->w, .rows = rows, .width = s->ow, .outputs = s->o };
    int64_t begin = (image * s->oh + first) * s->ow * s->o;
    b.y = j->y + begin;
    t->loops->band(&b);
    return lt_host_epilogue_range(&t->host, j->arg, begin, begin + rows * s->ow * s->o);
}

static lt_status tiles_run(const lt_kernel *k, lt_pool *pool, void *const *arg)
{
    const tiles_kernel *t = (const tiles_kernel *)k;
    char *scratch = arg[k->n_args];
    tiles_job j = { .t = t, .x = arg[0], .y = arg[t->host.key.n_in], .w = k->packed ? k->packed : scratch + t->packed_at, .scratch = scratch, .arg = arg };
    if (!k->packed) LT_TRY(pack(k, pool, arg[1], scratch + t->packed_at));
    return lt_host_run_lanes(pool, t->n_lanes, t->s.n * t->n_bands, band_item, &j);
}

/* ---- The row ------------------------------------------------------------------------------------------ */
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Narrow maps leave most of a tile empty. */
bool lt_conv_tiles_fits(const lt_problem_key *p)
{
    if (p->op != LT_OP_CONV2D || !lt_key_is_all(p, LT_BF16) || !p->attr->u.conv.channels_last || p->attr->u.conv.groups > 1) return false;
    lt_conv_sizes s = lt_conv_sizes_of(p);
    int64_t pixels = ceil_div(s.ow, LT_TILE_SIDE) * LT_TILE_SIDE, channels = ceil_div(s.c, LT_TILE_BLOCK) * LT_TILE_BLOCK;
    return s.n > 0 && s.o > 0 && s.c > 0 && s.oh > 0 && s.ow > 0 && 2 * s.ow >= pixels && 2 * s.c >= channels;
}

/* By shape alone. */
static void cut(tiles_kernel *t)
{
    const lt_conv_sizes *s = &t->s;
    const lt_window *v = &s->win;
    int64_t reach[2] = { (v->kernel[0] - 1) * v->dilation[0] + 1, (v->kernel[1] - 1) * v->dilation[1] + 1 };
    t->n_blocks = ceil_div(s->c, LT_TILE_BLOCK);
    t->n_outputs = ceil_div(s->o, LT_TILE_BLOCK);
    t->x_columns = (ceil_div(s->ow, LT_TILE_SIDE) * LT_TILE_SIDE - 1) * v->stride[1] + reach[1];
    int64_t line = t->n_blocks * line_step(t), near = (NEAR_BYTES / line - reach[0]) / v->stride[0] + 1;
    t->rows = LT_MAX(1, LT_MIN(near, ceil_div(s->oh, BANDS)));
    t->n_bands = ceil_div(s->oh, t->rows);
    t->x_rows = (t->rows - 1) * v->stride[0] + reach[0];
    t->lane_bytes = (size_t)(t->n_blocks * plane_step(t));
}

lt_status lt_conv_tiles_prepare_with(const lt_problem_key *p, const lt_tile_loops *loops, lt_kernel **out)
{
    *out = NULL;
    tiles_kernel *t = lt_host_kernel_create(p, sizeof *t, "conv_tiles", tiles_run);
    if (!t) return LT_ERR_MEMORY;
    t->loops = loops;
    t->s = lt_conv_begin(&t->host, p, pack);
    cut(t);
    t->n_lanes = lt_host_lanes(t->s.n * t->n_bands);
    t->packed_at = (size_t)t->n_lanes * t->lane_bytes;
    t->host.kernel.packed_bytes = (size_t)(t->n_outputs * t->n_blocks * t->s.win.kernel[0] * t->s.win.kernel[1] * 2 * LT_TILE_SIDE * LT_TILE_LINE);
    t->host.kernel.scratch_bytes = t->packed_at + t->host.kernel.packed_bytes;
    return lt_host_kernel_finish(&t->host, lt_host_epilogue_prepare(&t->host, p), out);
}

/* ---- Whether tiles work -------------------------------------------------------------------------------- */
enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 }; /* arch_prctl(ARCH_REQ_XCOMP_PERM, …): the system makes room for tiles on request */

static void try_tiles(void)
{
    static const char zeros[2 * LT_TILE_SIDE * LT_TILE_LINE];
    static uint16_t y[LT_TILE_BLOCK * LT_TILE_BLOCK];
    lt_tiles_amx.band(&(lt_tile_band){ .x = zeros, .n_blocks = 1, .taps = { 1, 1 }, .pixel_step = LT_TILE_LINE, .w = zeros, .y = y, .rows = 1,
                                       .width = LT_TILE_BLOCK, .outputs = LT_TILE_BLOCK });
}

static bool work;

/* Leaf 0x1D, which describes tiles, is not asked: some virtual machines hide it though the instructions work. */
static void look(void)
{
    unsigned a, b, c, d;
    bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & 1 && d >> 24 & 1; /* bfloat16 products; tiles */
    bool rounding = __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1;              /* AVX-512's, to bfloat16 */
    if (!tiles || !rounding || !lt_isa_usable(LT_ISA_AVX512)) return;
    work = syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0 && lt_trial_survives(try_tiles, 10);
}

bool lt_tiles_work(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return work;
}

bool lt_conv_tiles_applies(const lt_problem_key *p) { return lt_conv_tiles_fits(p) && p->isa == LT_ISA_AVX512 && lt_kernel_bf16_choice(true) && lt_tiles_work(); }
lt_status lt_conv_tiles_prepare(const lt_problem_key *p, lt_kernel **out) { return lt_conv_tiles_prepare_with(p, &lt_tiles_amx, out); }
