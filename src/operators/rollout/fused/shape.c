/* How kernels of fused steps are cut: chunks of channels, tiles, stages of shared memory.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/fused/parts.h"

#include "base/status.h"

enum { STEP = 16, MOST_CHUNK = 64, MOST_TILE = 128, MOST_STAGES = 8, LEAST_STAGES = 3 };
enum { SHARED_BYTES = 232448, SMALL_SHARED_BYTES = 5120 }; /* of a block on sm_90; norms, job and barriers */

static int round_up(int n, int to) { return (n + to - 1) / to * to; }

/* The largest part that is a multiple of STEP, divides n, and is at most `most`. */
static int largest_part(int n, int most)
{
    int part = STEP;
    for (int d = STEP; d <= most; d += STEP)
        if (n % d == 0) part = d;
    return part;
}

/* Chunks below 32 channels keep the tensor cores waiting: rather some channels of zeros. */
int lt_fused_width(int64_t channels)
{
    int width = round_up((int)channels, STEP);
    while (width > STEP && largest_part(width, MOST_CHUNK) < 2 * STEP) width += STEP;
    return width;
}

/* As conv.cu computes it. */
static size_t a_bytes(int kernel, int chunk)
{
    int pitch = LT_FUSED_TILE + kernel - 1, plane = round_up(pitch * pitch * 16, 128) + 16;
    return (size_t)round_up(chunk / 8 * plane, 128);
}

/* Half a tile on its way out; as conv.cu computes it. */
static size_t c_bytes(int tile_n) { return (size_t)(LT_FUSED_TILE * LT_FUSED_TILE / 2) * (size_t)(tile_n * 2 + 16); }

static bool stages_fit(lt_conv_shape *s)
{
    size_t b = (size_t)s->chunk * (size_t)s->tile_n * 2, free_bytes = SHARED_BYTES - SMALL_SHARED_BYTES;
    s->a_stages = s->kernel == 1 ? 3 : 2;
    for (s->c_stages = 2; s->c_stages; s->c_stages--) {
        size_t rest = (size_t)s->a_stages * a_bytes(s->kernel, s->chunk) + (size_t)s->c_stages * c_bytes(s->tile_n);
        if (rest + LEAST_STAGES * b > free_bytes) continue;
        s->b_stages = (int)LT_MIN((free_bytes - rest) / b, (size_t)MOST_STAGES);
        s->shared_bytes = rest + (size_t)s->b_stages * b;
        return true;
    }
    return false;
}

/* Warps that write tiles out are missing where pixels are normalised: one is enough where tiles take long. */
static int finishers_of(const lt_conv_shape *s)
{
    bool long_tiles = s->kernel * s->kernel * (s->in_c / s->chunk) >= 18;
    return s->source == LT_SOURCE_NORMALISED && long_tiles ? 1 : 2;
}

bool lt_conv_shape_choose(lt_conv_shape *s)
{
    s->tile_n = largest_part(s->out_c, MOST_TILE);
    s->blocks_n = s->out_c / s->tile_n;
    for (int most = MOST_CHUNK; most >= STEP; most -= STEP) {
        s->chunk = largest_part(s->in_c, most);
        s->finishers = finishers_of(s);
        if (stages_fit(s)) return true;
    }
    return false;
}

/* ---- for every card since Ampere ---- */
enum { MMA_MOST_TILE = 64, MMA_STAGES = 4 };

/* As conv_mma.cu computes it. */
static size_t mma_plane_bytes(int kernel, int planes)
{
    int pitch = LT_FUSED_TILE + kernel - 1;
    return (size_t)(round_up(pitch * pitch * 16, 128) + (planes <= 2 ? 64 : planes <= 4 ? 32 : 16));
}

/* Static shared memory: job, sums of the warps, whose norms are asked for, and what the stem has seen. */
static size_t mma_small_bytes(const lt_conv_shape *s)
{
    size_t seen = (size_t)(LT_FUSED_TILE + s->stem - 1);
    return 512 + 4 * (size_t)s->tile_n * 8 + (s->source == LT_SOURCE_STATE ? 3 * seen * seen * sizeof(float) : 0);
}

bool lt_mma_shape_choose(lt_conv_shape *s, lt_fused_numbers numbers, size_t limit)
{
    enum { SCRATCH = 512 * 24 }; /* make_norms in norms.cuh takes the memory of pixels */
    int cell = lt_fused_cell(numbers);
    static const int planes[] = { 4, 6, 8, 2 }; /* four keep registers free for pixels on their way; two have a barrier too often */
    s->tile_n = largest_part(s->out_c, MMA_MOST_TILE);
    s->blocks_n = s->out_c / s->tile_n;
    s->a_stages = 2, s->b_stages = MMA_STAGES, s->c_stages = s->finishers = 0;
    for (size_t i = 0; i < LT_LEN(planes); i++) {
        s->chunk = planes[i] * cell;
        if (s->in_c % s->chunk) continue;
        size_t a = (size_t)round_up((int)((size_t)planes[i] * mma_plane_bytes(s->kernel, planes[i])), 128);
        s->shared_bytes = LT_MAX(2 * a + MMA_STAGES * (size_t)planes[i] * (size_t)s->tile_n * 16, (size_t)SCRATCH);
        if (s->shared_bytes + mma_small_bytes(s) <= limit) return true;
    }
    return false;
}

/* ---- passes over maps ---- */
/* AHEAD_BYTES: what a core asks for before it is read. Half of it keeps memory nearly as busy; projections with 200 KB
   ahead were measured to be slower. */
enum { PASS_TILE = 16 /* pixels */, MOST_SLOTS = 4, MOST_PASS_WARPS = 8, AHEAD_BYTES = 136 * 1024 };

/* As fetch.cuh computes it. */
static size_t tile_bytes(int channels) { return (size_t)(PASS_TILE * channels * 2 + 128); }

static lt_pass_shape with_slots(lt_pass_shape s, size_t slot)
{
    s.slots = (int)LT_MIN((size_t)(AHEAD_BYTES / s.per_core) / slot, (size_t)MOST_SLOTS);
    s.shared_bytes = (size_t)s.slots * slot;
    return s;
}

/* A slot is a cell of both maps for every thread. */
lt_pass_shape lt_join_shape(int channels)
{
    enum { THREADS = 512 };
    int cells = channels / 8, used = THREADS / cells * cells;
    return with_slots((lt_pass_shape){ .threads = THREADS, .per_core = 2, .parts = 1 }, (size_t)(2 * used * 16));
}

/* A warp keeps the weights of 32 channels in its registers: 16 warps fit on a core with up to 128 inputs, else 8. */
lt_pass_shape lt_project_shape(int in_c, int out_c)
{
    int warps = in_c <= 128 ? 16 : 8, all = (out_c + 31) / 32, parts = (all + MOST_PASS_WARPS - 1) / MOST_PASS_WARPS, groups = (all + parts - 1) / parts;
    lt_pass_shape s = { .threads = 32 * groups, .per_core = warps / groups, .parts = parts };
    return with_slots(s, tile_bytes(parts == 1 ? out_c : s.threads) + tile_bytes(in_c));
}

/* Every warp has slots of its own. */
lt_pass_shape lt_output_shape(int channels, bool skip)
{
    enum { PER_CORE = 2 };
    size_t slot = tile_bytes(channels) * (skip ? 2 : 1);
    int warps = (int)LT_MIN(AHEAD_BYTES / PER_CORE / slot, (size_t)MOST_PASS_WARPS);
    return with_slots((lt_pass_shape){ .threads = 32 * warps, .per_core = PER_CORE, .parts = 1 }, slot * (size_t)warps);
}
