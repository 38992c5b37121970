/* The end of a step: the last map, noise, the 1x1 convolution to three channels, the update.
   SPDX-License-Identifier: BSD-3-Clause

   A warp makes 16 pixels at a time by tensor cores, 32 channels a step. Weights keep single precision: three of the
   eight columns hold them rounded to half, three what rounding left. Follows half.cuh and norms.cuh. Defined by the host:
   BLOCKS per sample, SKIP: 1 a map is added before,
   NOISE: 0 none, 1 added to the output, 2 a factor of it; of the map: 3 added, 4 a factor, 5 a factor per channel. */
struct output_job { /* as fused.c writes it */
    const uint4 *map, *skip;   /* [samples, pixels, channels] */
    const float *weights;      /* [3, channels], then three biases */
    u32 *ended;                /* [samples]: blocks that are done; zero between launches */
    norm_job norm;
    int pixels, channels, real;
};

enum { OUTPUT_THREADS = 256, WARPS = OUTPUT_THREADS / 32, PIXELS = 16, MAX_STEPS = MAX_CHANNELS / 32, AT_ONCE = 2 };

/* Lane 4 r + q holds, of pixels r and r + 8, channels 8 q to 8 q + 7 of 32; of the weights, the same channels of column r. */
struct weight_table { uint4 of_lane[MAX_STEPS][32]; };

static __device__ __forceinline__ float weight_of(const output_job &j, int column, int channel)
{
    if (column >= 6 || channel >= j.channels) return 0.f;
    float w = j.weights[column % 3 * j.channels + channel];
    return column < 3 ? w : w - unpack(pack(w, 0.f)).x;
}
static __device__ __forceinline__ void fill_weights(const output_job &j, weight_table &table, int steps)
{
    for (int i = threadIdx.x; i < steps * 32; i += OUTPUT_THREADS) {
        int lane = i % 32, column = lane / 4, first = i / 32 * 32 + lane % 4 * 8;
        u32 word[4];
        #pragma unroll
        for (int e = 0; e < 4; e++) word[e] = pack(weight_of(j, column, first + 2 * e), weight_of(j, column, first + 2 * e + 1));
        table.of_lane[i / 32][lane] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

static __device__ __forceinline__ float noisy(const output_job &j, const float *noise, int sample, int channel, int pixel, float x)
{
    if (channel >= j.real) return x;
    float n = noise[NOISE == 5 ? (i64)sample * j.real + channel : ((i64)sample * j.real + channel) * j.pixels + pixel];
    return NOISE == 3 ? x + n : x * n;
}
static __device__ __forceinline__ uint4 noisy_eight(const output_job &j, const float *noise, int sample, int channel, int pixel, uint4 v)
{
    u32 word[4] = { v.x, v.y, v.z, v.w };
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        float2 two = unpack(word[e]);
        word[e] = pack(noisy(j, noise, sample, channel + 2 * e, pixel, two.x), noisy(j, noise, sample, channel + 2 * e + 1, pixel, two.y));
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

/* Sums of this lane's pixels; both lie in the field. What AT_ONCE steps read is asked for together. */
static __device__ __forceinline__ void add_channels(const output_job &j, const weight_table &weights, const half_table &norms, const float *noise, int sample, const int (&pixel)[2], int lane, float (&c)[4])
{
    int wide = j.channels / 8;
    i64 at[2] = { ((i64)sample * j.pixels + pixel[0]) * wide, ((i64)sample * j.pixels + pixel[1]) * wide };
    for (int first = 0; first * 4 < wide; first += AT_ONCE) {
        uint4 x[AT_ONCE][2], skip[AT_ONCE][2];
        #pragma unroll
        for (int s = 0; s < AT_ONCE; s++)
            #pragma unroll
            for (int p = 0; p < 2; p++) {
                int cell = (first + s) * 4 + lane % 4;
                x[s][p] = make_uint4(0, 0, 0, 0);
                if (cell < wide) x[s][p] = j.map[at[p] + cell];
                if (SKIP && cell < wide) skip[s][p] = j.skip[at[p] + cell];
            }
        #pragma unroll
        for (int s = 0; s < AT_ONCE; s++) {
            int cell = (first + s) * 4 + lane % 4;
            if ((first + s) * 4 >= wide) break;
            #pragma unroll
            for (int p = 0; p < 2 && cell < wide; p++) {
                x[s][p] = quick_eight(x[s][p], norms.of_cell[cell]);
                if (SKIP) x[s][p] = add_eight(x[s][p], skip[s][p]);
                if (NOISE >= 3) x[s][p] = noisy_eight(j, noise, sample, cell * 8, pixel[p], x[s][p]);
            }
            multiply_cells(c, x[s], weights.of_lane[first + s][lane]);
        }
    }
}

/* The block that ends a sample last looks whether it is over: what is not finite, or was not before, is NaN from here on. */
static __device__ __forceinline__ void settle(const output_job &j, int sample, bool finite, const i64 *t, i64 *failed, float *next)
{
    enum { NOT_FINITE = 1 << 16 }; /* more than there are blocks */
    __shared__ bool over;
    const bool bad = __syncthreads_or(!finite);
    if (threadIdx.x == 0) {
        __threadfence();
        u32 mine = bad ? NOT_FINITE + 1 : 1, sum = atomicAdd(j.ended + sample, mine) + mine;
        bool last = sum % NOT_FINITE == BLOCKS;
        over = last && (sum >= NOT_FINITE || failed[sample] >= 0);
        if (last) j.ended[sample] = 0;
        if (over && failed[sample] < 0) failed[sample] = *t;
        __threadfence();
    }
    __syncthreads();
    for (int i = threadIdx.x; over && i < 3 * j.pixels; i += OUTPUT_THREADS) next[(i64)sample * 3 * j.pixels + i] = __uint_as_float(0x7fc00000u);
}

extern "C" __global__ void __launch_bounds__(OUTPUT_THREADS, 3) output(const output_job *job, const float *state, const float *noise, const float *policy, float *next, const i64 *t, i64 *failed)
{
    __shared__ half_table norms;
    __shared__ weight_table weights;
    const output_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, lane = threadIdx.x % 32, q = lane % 4;
    fill_weights(j, weights, (j.channels + 31) / 32);
    load_half_table<OUTPUT_THREADS>(j.norm, sample, norms);
    float keep = policy[0], gain = policy[1];
    bool finite = true;
    for (int first = (piece * WARPS + threadIdx.x / 32) * PIXELS; first < j.pixels; first += BLOCKS * WARPS * PIXELS) {
        int own[2] = { first + lane / 4, first + lane / 4 + 8 }, inside[2] = { min(own[0], j.pixels - 1), min(own[1], j.pixels - 1) };
        float c[4] = { 0, 0, 0, 0 };
        add_channels(j, weights, norms, noise, sample, inside, lane, c);
        /* Lanes q = 0, 1, 2 hold columns 0 1, 2 3, 4 5: a channel is an even column and the odd one of the next lane. */
        int channel = q == 0 ? 0 : 3 - q;
        #pragma unroll
        for (int p = 0; p < 2; p++) {
            float o = c[2 * p] + __shfl_sync(~0u, c[2 * p + 1], lane - q + (q + 1) % 3);
            if (q == 3 || own[p] >= j.pixels) continue;
            i64 at = ((i64)sample * 3 + channel) * j.pixels + own[p];
            o += j.weights[3 * j.channels + channel];
            if (NOISE == 1) o += noise[at];
            if (NOISE == 2) o *= noise[at];
            float x = fmaf(keep, state[at], gain * o);
            finite = finite && isfinite(x);
            next[at] = x;
        }
    }
    settle(j, sample, finite, t, failed, next);
}
