/* The end of a residual block that widens: act(norm(map)) + a projection of what the block read.
   SPDX-License-Identifier: BSD-3-Clause

   A warp makes 16 pixels of GROUPS x 32 channels at a time by tensor cores. Everything it reads of them is asked for
   before the first product: what limits this kernel is memory. Follows half.cuh and norms.cuh. Defined by the host:
   BLOCKS per sample and part, PARTS the channels are cut into, GROUPS of 32 in a part, IN_STEPS of 32 of what is projected. */
struct project_job { /* as fused.c writes it */
    const uint4 *map, *source; /* [samples, pixels, out_c], [samples, pixels, in_c] */
    const uint4 *weights;      /* [in_c / 8, out_c] cells of eight inputs, as conv.cu has them */
    uint4 *result;             /* may be map */
    norm_job norm;             /* of map */
    int pixels, in_c, out_c;
};

enum { PROJECT_THREADS = 256, PROJECT_WARPS = PROJECT_THREADS / 32, PART_CHANNELS = GROUPS * 32, PART_CELLS = PART_CHANNELS / 8 };
/* An even number beside a multiple of eight: lanes of one instruction read from different banks. */
struct project_weights { uint4 cell[IN_STEPS * 4][PART_CHANNELS + 2]; };

static __device__ __forceinline__ void fill_weights(const project_job &j, project_weights &w, int first)
{
    #pragma unroll
    for (int i = threadIdx.x; i < IN_STEPS * 4 * PART_CHANNELS; i += PROJECT_THREADS) {
        int plane = i / PART_CHANNELS, n = i % PART_CHANNELS;
        bool real = plane * 8 < j.in_c && first + n < j.out_c;
        w.cell[plane][n] = real ? j.weights[plane * j.out_c + first + n] : make_uint4(0, 0, 0, 0);
    }
}

/* Lane 4 r + q holds, of pixels r and r + 8, cells q of every four; zeros past the end. */
template <int COUNT> static __device__ __forceinline__ void load_cells(const uint4 *map, const int (&pixel)[2], int pixels, int wide, int cell, uint4 (&to)[COUNT][2])
{
    #pragma unroll
    for (int s = 0; s < COUNT; s++)
        #pragma unroll
        for (int p = 0; p < 2; p++) {
            to[s][p] = make_uint4(0, 0, 0, 0);
            if (cell + 4 * s < wide && pixel[p] < pixels) to[s][p] = map[(i64)pixel[p] * wide + cell + 4 * s];
        }
}

/* Products of 32 channels: column 2 q + e of the i-th product is channel 8 q + 2 i + e, so that a lane ends with a cell. */
static __device__ __forceinline__ void multiply_group(const project_weights &w, const uint4 (&x)[IN_STEPS][2], int group, int lane, uint4 (&sum)[2])
{
    u32 word[2][4];
    int r = lane / 4, q = lane % 4;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        float c[4] = { 0, 0, 0, 0 };
        #pragma unroll
        for (int s = 0; s < IN_STEPS; s++) {
            uint4 b = w.cell[4 * s + q][group * 32 + r / 2 * 8 + 2 * i + r % 2];
            multiply_cells(c, x[s], b);
        }
        word[0][i] = pack(c[0], c[1]), word[1][i] = pack(c[2], c[3]);
    }
    #pragma unroll
    for (int p = 0; p < 2; p++) sum[p] = make_uint4(word[p][0], word[p][1], word[p][2], word[p][3]);
}

extern "C" __global__ void __launch_bounds__(PROJECT_THREADS, 2) project(const project_job *job)
{
    __shared__ project_weights weights;
    __shared__ half_table norms;
    const project_job &j = *job;
    int part = blockIdx.x % PARTS, piece = blockIdx.x / PARTS % BLOCKS, sample = blockIdx.x / PARTS / BLOCKS, lane = threadIdx.x % 32;
    int wide = j.out_c / 8, cell = part * PART_CELLS + lane % 4;
    const uint4 *map = j.map + (i64)sample * j.pixels * wide, *source = j.source + (i64)sample * j.pixels * (j.in_c / 8);
    uint4 *result = j.result + (i64)sample * j.pixels * wide;
    fill_weights(j, weights, part * PART_CHANNELS);
    load_half_table<PROJECT_THREADS>(j.norm, sample, norms);
    for (int first = (piece * PROJECT_WARPS + threadIdx.x / 32) * 16; first < j.pixels; first += BLOCKS * PROJECT_WARPS * 16) {
        int own[2] = { first + lane / 4, first + lane / 4 + 8 };
        uint4 x[IN_STEPS][2], v[GROUPS][2];
        load_cells(source, own, j.pixels, j.in_c / 8, lane % 4, x);
        load_cells(map, own, j.pixels, wide, cell, v);
        #pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            uint4 sum[2];
            multiply_group(weights, x, g, lane, sum);
            #pragma unroll
            for (int p = 0; p < 2; p++)
                if (cell + 4 * g < wide && own[p] < j.pixels) result[(i64)own[p] * wide + cell + 4 * g] = add_eight(quick_eight(v[g][p], norms.of_cell[cell + 4 * g]), sum[p]);
        }
    }
}
