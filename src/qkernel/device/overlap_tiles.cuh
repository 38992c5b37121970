/* Tiles of K = |<a_i|b_j>|^2 over states in memory. SPDX-License-Identifier: BSD-3-Clause

   A block computes TILE_M x TILE_N entries, its warps WARP_M x WARP_N of them. The squared modulus is
   taken in registers, so the complex product never reaches memory. Blocks stay and take tiles from a list; while one tile is being stored the first stages of the next are on their way.
   STAGES is at most STEPS + 1: the pipeline never reaches two tiles ahead. */

#define PER_PIECE (16 / (int)sizeof(amplitude_t)) /* amplitudes of one copy */
#define PIECES (DEPTH / PER_PIECE)

static __device__ __forceinline__ void copy_16(void *shared, const void *global)
{
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(global));
}
static __device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;\n"); }
static __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2)); }

/* Stage `step` of a tile: DEPTH amplitudes of all its rows, then of all its columns. */
static __device__ __forceinline__ void fetch(amplitude_t *stage, const amplitude_t *a, const amplitude_t *b, int step)
{
    int row = threadIdx.x / PIECES, k = threadIdx.x % PIECES * PER_PIECE;
    i64 offset = (i64)row * ROW + PLACE(step * DEPTH + k);
    amplitude_t *to = stage + row * PITCH + k;
#pragma unroll
    for (int i = 0; i < TILE_M; i += THREADS / PIECES) copy_16(to + i * PITCH, a + offset + (i64)i * ROW);
#pragma unroll
    for (int i = 0; i < TILE_N; i += THREADS / PIECES) copy_16(to + (TILE_M + i) * PITCH, b + offset + (i64)i * ROW);
}

/* Two neighbours in a row, in one piece where the row allows it. K is not read again: it is the first to leave the cache, so
   that states stay (12 % of a call at q = 6). The mirror image, whose lines are written in halves, gains nothing by that. */
static __device__ __forceinline__ void stream_pair(double *to, double v0, double v1) { __stcs((double2 *)to, make_double2(v0, v1)); }
static __device__ __forceinline__ void stream_pair(float *to, double v0, double v1) { __stcs((float2 *)to, make_float2((float)v0, (float)v1)); }
static __device__ __forceinline__ void put_pair(K_TYPE *to, double v0, double v1, bool together)
{
    if (together) stream_pair(to, v0, v1);
    else to[0] = (K_TYPE)v0, to[1] = (K_TYPE)v1;
}

/* A thread's entries once more, from where they were stored: sums need not be kept for what never happens. */
static __device__ void mend_stored(const lt_tile_job &j, K_TYPE *k, K_TYPE *mirrored, i64 row, i64 column)
{
#pragma unroll 1
    for (int e = 0; e < 4 * FRAGMENTS_M * FRAGMENTS_N; e++) {
        i64 i = row + e / 4 / FRAGMENTS_N * 16 + e % 4 / 2 * 8, l = column + e / 4 % FRAGMENTS_N * 8 + e % 2;
        if (!wanted(j, i, l)) continue;
        double v = k[i * j.pitch + l];
        if (exponent_of(v) < NOT_FINITE) continue;
        v = mend(j, i, l, v);
        store(j, k, i, l, v);
        if (j.mirror) store_mirrored(j, mirrored, i, l, v);
    }
}

/* Both places of a thread's entries, all of them wanted. The largest exponent shows whether one is not finite. */
static __device__ __forceinline__ void put_all(const lt_tile_job &j, K_TYPE *k, K_TYPE *mirrored, i64 row, i64 column, const sums &s)
{
    K_TYPE *to = k + row * j.pitch + column, *turned = mirrored + column * j.mirror_pitch + row;
    bool together = j.pitch % 2 == 0 && (unsigned long long)to % (2 * sizeof(K_TYPE)) == 0;
    bool mirror = j.mirror;
    unsigned largest = 0;
#pragma unroll
    for (int m = 0; m < FRAGMENTS_M; m++)
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                double v0 = modulus(s, m, n, 2 * h), v1 = modulus(s, m, n, 2 * h + 1);
                largest = max(largest, max(exponent_of(v0), exponent_of(v1)));
                v0 = normalized(j, row + 16 * m + 8 * h, column + 8 * n, v0);
                v1 = normalized(j, row + 16 * m + 8 * h, column + 8 * n + 1, v1);
                put_pair(to + (16 * m + 8 * h) * j.pitch + 8 * n, v0, v1, together);
                if (!mirror) continue;
                turned[8 * n * j.mirror_pitch + 16 * m + 8 * h] = (K_TYPE)v0;
                turned[(8 * n + 1) * j.mirror_pitch + 16 * m + 8 * h] = (K_TYPE)v1;
            }
    if (largest >= NOT_FINITE) mend_stored(j, k, mirrored, row, column);
}

/* The same where the tile reaches past the matrix or below its diagonal. */
static __device__ void put_wanted(const lt_tile_job &j, K_TYPE *k, K_TYPE *mirrored, i64 row, i64 column, const sums &s)
{
    unsigned largest = 0;
#pragma unroll
    for (int m = 0; m < FRAGMENTS_M; m++)
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; n++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                i64 i = row + 16 * m + 8 * (c / 2), l = column + 8 * n + c % 2;
                if (!wanted(j, i, l)) continue;
                double v = modulus(s, m, n, c);
                largest = max(largest, exponent_of(v));
                v = normalized(j, i, l, v);
                store(j, k, i, l, v);
                if (j.mirror) store_mirrored(j, mirrored, i, l, v);
            }
    if (largest >= NOT_FINITE) mend_stored(j, k, mirrored, row, column);
}

/* Long states: blocks that share rows or columns drift apart until what one reads has left the cache
   when the next one wants it. So all blocks of a round wait for each other after every SLICE. They are
   resident together, so they do meet, unless other work holds a part of the device: a block that has waited
   for some milliseconds goes on alone, which costs time but never the result (decision 79). */
#define SLICE 4096
#define PATIENCE 65536
static __device__ __forceinline__ void meet(lt_tile_job *where, unsigned long long expected, bool &alone)
{
    if (threadIdx.x == 0) {
        atomicAdd(&where->arrived, 1ull);
        int left = alone ? 0 : PATIENCE;
        while (left > 0 && *(volatile unsigned long long *)&where->arrived < expected) __nanosleep(64), left--;
        alone = left == 0;
    }
    __syncthreads();
}

/* What SUM_STEPS stages of single precision add up to goes on in double, so that errors do not grow with the number of amplitudes
   (decision 275). It waits in memory, hence volatile: registers are for the stages between. */
#define SUM_STEPS 128
#define LONG_SUMS (sizeof(sum_t) < sizeof(double) && STEPS > SUM_STEPS)
#define N_SUMS ((int)(sizeof(sums) / sizeof(sum_t)))

static __device__ __forceinline__ void keep_sums(volatile double *kept, sums &s, bool first)
{
    sum_t *v = (sum_t *)&s;
#pragma unroll
    for (int i = 0; i < N_SUMS; i++) kept[i] = first ? (double)v[i] : kept[i] + (double)v[i], v[i] = 0;
}
static __device__ __forceinline__ void add_kept(const volatile double *kept, sums &s)
{
    sum_t *v = (sum_t *)&s;
#pragma unroll
    for (int i = 0; i < N_SUMS; i++) v[i] = (sum_t)(kept[i] + (double)v[i]);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
overlap(lt_tile_job *where, const int2 *tiles, const amplitude_t *a, const amplitude_t *b, K_TYPE *k, K_TYPE *mirrored)
{
    extern __shared__ amplitude_t stages[];
    __shared__ lt_tile_job j; /* registers are for sums */
    if (threadIdx.x == 0) j = *where;
    __syncthreads();
    const i64 n_tiles = j.n_tiles;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    i64 t = blockIdx.x;
    if (t >= n_tiles) return;
    int2 at = tiles[t];
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < STEPS) fetch(stages + s * ROWS * PITCH, a + at.x * (i64)ROW, b + at.y * (i64)ROW, s);
        commit_copies();
    }
    int slot = 0; /* of the stage to multiply next */
    unsigned long long met = 0; /* arrivals of all rounds and slices so far */
    bool alone = false; /* the first thread's */
    volatile double kept[LONG_SUMS ? N_SUMS : 1];
    for (; t < n_tiles; t += gridDim.x) {
        sums acc = {};
        i64 later = t + gridDim.x;
        int2 next = later < n_tiles ? tiles[later] : at;
        for (int s = 0; s < STEPS; s++) {
            if (AMPLITUDES > SLICE && s && s % (SLICE / DEPTH) == 0) {
                i64 left = n_tiles - (t - blockIdx.x);
                met += left < gridDim.x ? left : gridDim.x;
                meet(where, met, alone);
            }
            if (LONG_SUMS && s && s % SUM_STEPS == 0) keep_sums(kept, acc, s == SUM_STEPS);
            wait_copies();
            __syncthreads();
            int ahead = s + STAGES - 1, to = slot == 0 ? STAGES - 1 : slot - 1;
            bool this_tile = ahead < STEPS;
            int2 of = this_tile ? at : next;
            if (this_tile || later < n_tiles)
                fetch(stages + to * ROWS * PITCH, a + of.x * (i64)ROW, b + of.y * (i64)ROW, this_tile ? ahead : ahead - STEPS);
            commit_copies();
            multiply_stage(stages + slot * ROWS * PITCH, acc);
            slot = slot == STAGES - 1 ? 0 : slot + 1;
        }
        if (LONG_SUMS) add_kept(kept, acc);
        i64 row = at.x + warp / WARPS_N * WARP_M, column = at.y + warp % WARPS_N * WARP_N;
        bool all = all_wanted(j, row, WARP_M, column, WARP_N);
        row += lane / 4, column += 2 * (lane % 4);
        if (all) put_all(j, k, mirrored, row, column, acc);
        else put_wanted(j, k, mirrored, row, column, acc);
        at = next;
    }
}
