/* The end of a step: the last map, noise, the 1x1 convolution to three channels, the update.
   SPDX-License-Identifier: BSD-3-Clause

   LANES lanes share four pixels, each some channels of them. Follows half.cuh and norms.cuh. Defined by the host:
   BLOCKS per sample, LANES (a power of two up to 32), SKIP: 1 a map is added before,
   NOISE: 0 none, 1 added to the output, 2 a factor of it; of the map: 3 added, 4 a factor, 5 a factor per channel. */
struct output_job { /* as fused.c writes it */
    const uint4 *map, *skip;   /* [samples, pixels, channels] */
    const float *weights;      /* [3, channels], then three biases */
    norm_job norm;
    int pixels, channels, real;
};

enum { OUTPUT_THREADS = 256, PIXELS = 4, VALUES = 16 }; /* values: four per pixel, one of them idle */

static __device__ __forceinline__ float noisy(const output_job &j, const float *noise, int sample, int channel, int pixel, float x)
{
#if NOISE >= 3
    if (channel >= j.real || pixel >= j.pixels) return x;
    float n = noise[NOISE == 5 ? (i64)sample * j.real + channel : ((i64)sample * j.real + channel) * j.pixels + pixel];
    return NOISE == 3 ? x + n : x * n;
#else
    return x;
#endif
}

/* Each lane's share of the three sums of four pixels. */
static __device__ __forceinline__ void partial_sums(const output_job &j, const float *weights, const norm_table &table, const float *noise, int sample, int pixel, int lane, float v[VALUES])
{
    int wide = j.channels / 8;
    for (int cell = lane; cell < wide; cell += LANES) {
        uint4 map[PIXELS], skip[PIXELS];
        float2 a[8];
        #pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            i64 at = ((i64)sample * j.pixels + (pixel + p < j.pixels ? pixel + p : j.pixels - 1)) * wide + cell;
            map[p] = j.map[at];
            if (SKIP) skip[p] = j.skip[at];
        }
        load_norms(table.norm + cell * 8, a);
        #pragma unroll
        for (int p = 0; p < PIXELS; p++) {
            uint4 x = normal_eight(map[p], a);
            if (SKIP) x = add_eight(x, skip[p]);
            u32 word[4] = { x.x, x.y, x.z, x.w };
            #pragma unroll
            for (int e = 0; e < 8; e++) {
                float2 two = unpack(word[e / 2]);
                float value = noisy(j, noise, sample, cell * 8 + e, pixel + p, e % 2 ? two.y : two.x);
                #pragma unroll
                for (int c = 0; c < 3; c++) v[4 * p + c] = fmaf(value, weights[c * j.channels + cell * 8 + e], v[4 * p + c]);
            }
        }
    }
}

/* Sums over the lanes. Every exchange halves what a lane still holds; at the end lane l holds values from the
   l-th multiple of `left` on, as long as there are any. */
static __device__ __forceinline__ int reduce(float v[VALUES], int lane)
{
    int left = VALUES;
    #pragma unroll
    for (int bit = LANES / 2; bit; bit /= 2) {
        if (left > 1) {
            left /= 2;
            #pragma unroll
            for (int e = 0; e < VALUES / 2; e++) {
                if (e >= left) break;
                bool upper = lane & bit;
                float mine = upper ? v[e + left] : v[e], theirs = upper ? v[e] : v[e + left];
                v[e] = mine + __shfl_xor_sync(~0u, theirs, bit);
            }
        } else {
            v[0] += __shfl_xor_sync(~0u, v[0], bit);
        }
    }
    return left;
}

extern "C" __global__ void __launch_bounds__(OUTPUT_THREADS, 3) output(const output_job *job, const float *state, const float *noise, const float *policy, float *next)
{
    __shared__ norm_table table;
    __shared__ __align__(16) float weights[3 * MAX_CHANNELS + 3];
    const output_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, lane = threadIdx.x % LANES;
    for (int i = threadIdx.x; i < 3 * j.channels + 3; i += OUTPUT_THREADS) weights[i] = j.weights[i];
    fill_norms<0, OUTPUT_THREADS>(j.norm, sample, table, threadIdx.x);
    float keep = policy[0], gain = policy[1];
    enum { GROUPS = OUTPUT_THREADS / LANES };
    int quads = (j.pixels + PIXELS - 1) / PIXELS, rounds = (quads + BLOCKS * GROUPS - 1) / (BLOCKS * GROUPS);
    for (int round = 0; round < rounds; round++) {
        int quad = (round * BLOCKS + piece) * GROUPS + threadIdx.x / LANES, pixel = quad * PIXELS;
        float v[VALUES];
        #pragma unroll
        for (int i = 0; i < VALUES; i++) v[i] = 0;
        partial_sums(j, weights, table, noise, sample, quad < quads ? pixel : 0, lane, v);
        int left = reduce(v, lane), first = lane >> (LANES == 32) << (LANES >= 16 ? 0 : LANES == 8 ? 1 : LANES == 4 ? 2 : LANES == 2 ? 3 : 4);
        if (LANES == 32 && lane % 2) continue; /* its neighbour holds the same */
        #pragma unroll
        for (int e = 0; e < VALUES; e++) {
            int c = (first + e) % 4, p = pixel + (first + e) / 4;
            if (e >= left || c == 3 || quad >= quads || p >= j.pixels) continue;
            i64 at = ((i64)sample * 3 + c) * j.pixels + p;
            float o = v[e] + weights[3 * j.channels + c];
            if (NOISE == 1) o += noise[at];
            if (NOISE == 2) o *= noise[at];
            next[at] = fmaf(keep, state[at], gain * o);
        }
    }
}
