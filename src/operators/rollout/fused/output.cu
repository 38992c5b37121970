/* The end of a step: the last map, noise, the 1x1 convolution to three channels, the update.
   SPDX-License-Identifier: BSD-3-Clause

   A warp makes tiles of 16 pixels by tensor cores, 32 channels a step, while its next ones are on their way. Weights keep
   single precision: three of the eight columns hold them rounded to half, three what rounding left. Follows half.cuh, norms.cuh,
   fetch.cuh and settle.cuh. Defined by the host: CHANNELS, BLOCKS per sample, WARPS of a block, PER_CORE blocks at once, SLOTS of a warp for tiles,
   SKIP: 1 a map is added before,
   NOISE: 0 none, 1 added to the output, 2 a factor of it; of the map: 3 added, 4 a factor, 5 a factor per channel. */
enum { THREADS = WARPS * 32, STEPS = (CHANNELS + 31) / 32, PITCH = CHANNELS * 2, SKIP_AT = TILE_BYTES(PITCH), SLOT = (1 + SKIP) * TILE_BYTES(PITCH) };

/* Lane 4 r + q holds, of pixels r and r + 8, channels 8 q to 8 q + 7 of 32; of the weights, the same channels of column r. */
struct weight_table { uint4 of_lane[STEPS][32]; };

static __device__ __forceinline__ float weight_of(const lt_output_job &j, int column, int channel)
{
    if (column >= 6 || channel >= CHANNELS) return 0.f;
    float w = j.weights[column % 3 * CHANNELS + channel];
    return column < 3 ? w : w - unpack(pack(w, 0.f)).x;
}
static __device__ __forceinline__ void fill_weights(const lt_output_job &j, weight_table &table)
{
    for (int i = threadIdx.x; i < STEPS * 32; i += THREADS) {
        int lane = i % 32, column = lane / 4, first = i / 32 * 32 + lane % 4 * 8;
        u32 word[4];
        #pragma unroll
        for (int e = 0; e < 4; e++) word[e] = pack(weight_of(j, column, first + 2 * e), weight_of(j, column, first + 2 * e + 1));
        table.of_lane[i / 32][lane] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

static __device__ __forceinline__ float noisy(const lt_output_job &j, const float *noise, int sample, int channel, int pixel, float x)
{
    if (channel >= j.real) return x;
    float n = noise[NOISE == 5 ? (i64)sample * j.real + channel : ((i64)sample * j.real + channel) * j.pixels + pixel];
    return NOISE == 3 ? x + n : x * n;
}
static __device__ __forceinline__ uint4 noisy_eight(const lt_output_job &j, const float *noise, int sample, int channel, int pixel, uint4 v)
{
    u32 word[4] = { v.x, v.y, v.z, v.w };
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        float2 two = unpack(word[e]);
        word[e] = pack(noisy(j, noise, sample, channel + 2 * e, pixel, two.x), noisy(j, noise, sample, channel + 2 * e + 1, pixel, two.y));
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
}

/* The tiles of a warp, every WARPS-th of its block's, and where they come to. */
struct tiles { rows map, skip; int first, end; u32 slots, full; }; /* pixels */
static __device__ __forceinline__ int pixels_of(const tiles &t, int n) { return max(0, min(TILE, t.end - t.first - n * WARPS * TILE)); }
static __device__ __forceinline__ void fetch_both(const tiles &t, int n)
{
    int first = t.first + n * WARPS * TILE, pixels = pixels_of(t, n);
    u32 to = t.slots + n % SLOTS * SLOT, full = t.full + 8 * (n % SLOTS);
    if (!pixels) return;
    barrier_expect(full, pixels * (1 + SKIP) * PITCH);
    if (SKIP) fetch_tile(to + SKIP_AT, PITCH, t.skip, first, pixels, full);
    fetch_tile(to, PITCH, t.map, first, pixels, full);
}

static __device__ __forceinline__ tiles tiles_of(const lt_output_job &j, int sample, int piece, int warp)
{
    int all = (j.pixels + TILE - 1) / TILE;
    i64 before = (i64)sample * j.pixels * (CHANNELS / 8);
    rows map = { (const char *)(j.map + before), PITCH, PITCH }, skip = { SKIP ? (const char *)(j.skip + before) : 0, PITCH, PITCH };
    return tiles{ map, skip, (share_begin(all, piece) + warp) * TILE, min(share_begin(all, piece + 1) * TILE, j.pixels) };
}

/* Sums of this lane's pixels, from its cell of the first of them on. */
static __device__ __forceinline__ void add_channels(const lt_output_job &j, const weight_table &weights, const half_table &norms, const float *noise, int sample, const int (&pixel)[2], u32 from, int lane, float (&c)[4])
{
    #pragma unroll
    for (int s = 0; s < STEPS; s++) {
        int cell = s * 4 + lane % 4;
        uint4 x[2] = {};
        #pragma unroll
        for (int p = 0; p < 2; p++) {
            u32 at = from + p * 4 * PITCH + s * 64;
            if (CHANNELS % 32 && cell * 8 >= CHANNELS) continue;
            x[p] = quick_eight(get_cell(at), norms.of_cell[cell]);
            if (SKIP) x[p] = add_eight(x[p], get_cell(at + SKIP_AT));
            if (NOISE >= 3) x[p] = noisy_eight(j, noise, sample, cell * 8, pixel[p], x[p]);
        }
        multiply_cells(c, x, weights.of_lane[s][lane]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_CORE) output(const lt_output_job *job, const float *state, const float *noise, const float *policy, float *next, const i64 *step, i64 *failed)
{
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ u64 full[WARPS][SLOTS];
    __shared__ half_table norms;
    __shared__ weight_table weights;
    const lt_output_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, pixel = pixel_of_row(lane / 4);
    tiles t = tiles_of(j, sample, piece, warp);
    t.slots = shared_address(shared) + warp * SLOTS * SLOT, t.full = shared_address(full[warp]);
    if (lane == 0) {
        set_slots(t.full, SLOTS);
        for (int n = 0; n < SLOTS; n++) fetch_both(t, n);
    }
    fill_weights(j, weights);
    load_half_table<THREADS>(j.norm, sample, norms);
    /* Lanes q = 0, 1, 2 hold columns 0 1, 2 3, 4 5: a channel is an even column and the odd one of the next lane. */
    int channel = q == 0 || q == 3 ? 0 : 3 - q;
    float keep = policy[0], gain = policy[1], bias = j.weights[3 * CHANNELS + channel];
    bool finite = true;
    #pragma unroll 1
    for (int n = 0; pixels_of(t, n); n++) {
        int first = t.first + n * WARPS * TILE + pixel, own[2] = { first, first + 4 }, inside[2] = { min(own[0], j.pixels - 1), min(own[1], j.pixels - 1) };
        i64 plane = ((i64)sample * 3 + channel) * j.pixels;
        float c[4] = { 0, 0, 0, 0 }, before[2], drawn[2];
        #pragma unroll
        for (int p = 0; p < 2; p++) { /* asked for while pixels are on their way */
            before[p] = state[plane + inside[p]];
            if (NOISE == 1 || NOISE == 2) drawn[p] = noise[plane + inside[p]];
        }
        barrier_wait(t.full + 8 * (n % SLOTS), n / SLOTS & 1);
        add_channels(j, weights, norms, noise, sample, inside, t.slots + n % SLOTS * SLOT + place_in_tile(pixel, PITCH) + q * 16, lane, c);
        __syncwarp();
        if (lane == 0) fetch_both(t, n + SLOTS);
        #pragma unroll
        for (int p = 0; p < 2; p++) {
            float o = c[2 * p] + __shfl_sync(~0u, c[2 * p + 1], lane - q + (q + 1) % 3) + bias;
            if (NOISE == 1) o += drawn[p];
            if (NOISE == 2) o *= drawn[p];
            float x = fmaf(keep, before[p], gain * o);
            if (q == 3 || own[p] >= j.pixels) continue;
            finite = finite && isfinite(x);
            next[plane + own[p]] = x;
        }
    }
    settle(j, sample, finite, step, failed, next, THREADS);
}
