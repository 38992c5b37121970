/* The end of a step on every card since Ampere: the last map, noise, the 1x1 convolution to three channels, the update.
   SPDX-License-Identifier: BSD-3-Clause

   Four lanes make a pixel, each every fourth cell of it, in single precision: the map is read once, and reading it is what takes the time.
   Follows cells.cuh and settle.cuh. Defined by the host: CHANNELS, BLOCKS per sample, SKIP and NOISE as in output.cu. */
enum { THREADS = 256, CELLS = CHANNELS / CELL, AT_ONCE = THREADS / 4 /* pixels */, AHEAD = 4 };

struct output_table { cell_norms norms[CELLS]; cell weights[CELLS][3]; };
static __device__ __forceinline__ void fill(const lt_output_job &j, int sample, output_table &table)
{
    for (int i = threadIdx.x; i < CELLS; i += THREADS) table.norms[i] = load_cell_norms(norms_of(j.norm, sample) + i * CELL);
    for (int i = threadIdx.x; i < 3 * CHANNELS; i += THREADS) table.weights[i % CHANNELS / CELL][i / CHANNELS].v[i % CELL] = j.weights[i];
    __syncthreads();
}

static __device__ __forceinline__ float noisy(const lt_output_job &j, const float *noise, int sample, int channel, int pixel, float x)
{
    if (channel >= j.real) return x;
    float n = noise[NOISE == 5 ? (i64)sample * j.real + channel : ((i64)sample * j.real + channel) * j.pixels + pixel];
    return NOISE == 3 ? x + n : x * n;
}

/* What a cell adds to the three results of a pixel. */
static __device__ __forceinline__ void add_cell(const lt_output_job &j, const output_table &table, const float *noise, int sample, int pixel, int at, uint4 v, uint4 skip, float (&sum)[3])
{
    cell x = finish_cell(v, table.norms[at]), s;
    if (SKIP) s = open_cell(skip);
    #pragma unroll
    for (int e = 0; e < CELL; e++) {
        if (SKIP) x.v[e] += s.v[e];
        if (NOISE >= 3) x.v[e] = noisy(j, noise, sample, at * CELL + e, pixel, x.v[e]);
        #pragma unroll
        for (int k = 0; k < 3; k++) sum[k] = fmaf(x.v[e], table.weights[at][k].v[e], sum[k]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) output(const lt_output_job *job, const float *state, const float *noise, const float *policy, float *next, const i64 *step, i64 *failed)
{
    __shared__ output_table table;
    const lt_output_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, q = threadIdx.x % 4, pixels = j.pixels;
    int first = (int)((i64)pixels * piece / BLOCKS), end = (int)((i64)pixels * (piece + 1) / BLOCKS), channel = q < 3 ? q : 0;
    const uint4 *map = j.map + (i64)sample * pixels * CELLS, *skip = SKIP ? j.skip + (i64)sample * pixels * CELLS : 0;
    float keep = policy[0], gain = policy[1], bias = j.weights[3 * CHANNELS + channel];
    i64 plane = ((i64)sample * 3 + channel) * pixels;
    bool finite = true;
    fill(j, sample, table);
    #pragma unroll 1
    for (int base = first; base < end; base += AT_ONCE) { /* all lanes to the end: they exchange sums */
        int p = base + (int)threadIdx.x / 4, inside = min(p, end - 1);
        float sum[3] = { 0.f, 0.f, 0.f }, before = state[plane + inside];
        #pragma unroll 1
        for (int at = q; at < CELLS; at += 4 * AHEAD) {
            uint4 v[AHEAD], w[AHEAD];
            #pragma unroll
            for (int n = 0; n < AHEAD; n++) {
                i64 place = (i64)inside * CELLS + min(at + 4 * n, CELLS - 1);
                v[n] = map[place];
                if (SKIP) w[n] = skip[place];
            }
            #pragma unroll
            for (int n = 0; n < AHEAD; n++)
                if (at + 4 * n < CELLS) add_cell(j, table, noise, sample, inside, at + 4 * n, v[n], SKIP ? w[n] : v[n], sum);
        }
        #pragma unroll
        for (int k = 0; k < 3; k++) {
            sum[k] += __shfl_xor_sync(~0u, sum[k], 1);
            sum[k] += __shfl_xor_sync(~0u, sum[k], 2);
        }
        float o = (channel == 0 ? sum[0] : channel == 1 ? sum[1] : sum[2]) + bias;
        if (NOISE == 1) o += noise[plane + inside];
        if (NOISE == 2) o *= noise[plane + inside];
        float x = fmaf(keep, before, gain * o);
        if (q == 3 || p >= end) continue;
        finite = finite && isfinite(x);
        next[plane + p] = x;
    }
    settle(j, sample, finite, step, failed, next, THREADS);
}
