/* Convolutions of half-precision maps on the tensor cores of sm_90, with what surrounds them inside.
   SPDX-License-Identifier: BSD-3-Clause

   A block makes 16 x 16 pixels of TILE_N channels, tile after tile. Seven warps, the carriers, bring the
   pixels with their rim into shared memory, normalising and activating them on the way: once per chunk of
   channels, not once per tap, since the rim lies so that every tap is the same matrix at another address.
   One thread fetches the packed weights of a tap; two blocks work side by side on the same channels and share
   what they fetch. Two warpgroups multiply, 8 x 16 pixels each, and finish the tile.

   Shared memory holds cells of 16 bytes, eight channels of a pixel. A plane of cells is all pixels of a
   tile with rim, row after row; the core matrices of the tensor cores are eight cells in a row, and the
   stride between them is a row of the plane (pixels) or a plane (channels). So a tap only moves the start.

   Follows half.cuh, norms.cuh and the text of wgmma() for TILE_N. Defined by the host:
   KERNEL (odd), CHUNK (channels, a multiple of 16), TILE_N, A_STAGES, B_STAGES,
   SOURCE: 0 a map as it is, 1 a map to be normalised and activated, 2 the state, STEM x STEM pixels of
           three planes as channels (then KERNEL is 1),
   RESULT: 0 the map alone, 1 and its sums, 2 the sum with another map, normalised and activated,
   WRAP: 1 the field continues on the other side, 0 zeros around it. */

#define RIM (KERNEL / 2)
#define PITCH (16 + KERNEL - 1)
#define CELLS (PITCH * PITCH)
#define PLANE ((CELLS * 16 + 127) / 128 * 128 + 16) /* bytes; the odd cell spreads planes over the banks */
#define PLANES (CHUNK / 8)
#define TAPS (KERNEL * KERNEL)
#define A_BYTES ((PLANES * PLANE + 127) / 128 * 128)
#define B_BYTES (CHUNK * TILE_N * 2)
enum { CARRIERS = 224, STRIPES = CARRIERS / PLANES }; /* threads; pixels they bring at once */
/* Of 128 at the launch; the multipliers get the rest. */
#define CARRIER_REGISTERS (RESULT == 2 ? 56 : 88)
#define BATCH 4 /* cells a carrier has on their way */

struct conv_job { /* as fused.c writes it */
    const uint4 *source;       /* [samples, grid, grid, in_c] */
    const unsigned char *weights;
    uint4 *result;             /* [samples, grid, grid, out_c] */
    float2 *sums;              /* [samples, tiles, out_c]: of values and of squares */
    const uint4 *other;        /* for RESULT 2, as result */
    norm_job norm;             /* of the source, or of the other */
    int samples, grid, tiles_wide, in_c, out_c, chunks, blocks_n; /* tiles_wide: along one side */
};

/* ---- barriers ---- */
static __device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void barrier_set(u32 at, u32 count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at), "r"(count)); }
static __device__ __forceinline__ void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at) : "memory"); }
static __device__ __forceinline__ void barrier_arrive_in(u32 at, u32 block) /* of the pair */
{
    asm volatile("{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [r];\n}" :: "r"(at), "r"(block) : "memory");
}
static __device__ __forceinline__ void barrier_wait(u32 at, u32 parity)
{
    asm volatile("{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone:\n}" :: "r"(at), "r"(parity) : "memory");
}
static __device__ __forceinline__ void pair_meets()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

struct rings { u32 a, b, a_full, a_free, b_full, b_free; }; /* addresses in shared memory */

/* Which slot of a ring is next, and the parity of its barriers. */
template <int N> struct ring {
    u32 slot = 0, parity = 0;
    __device__ void step() { if (++slot == N) slot = 0, parity ^= 1; }
};

/* ---- work: both blocks of a pair take neighbouring tiles and the same channels ---- */
struct tile_at { int sample, y, x, index, block_n; bool real; }; /* index: in its sample */
static __device__ __forceinline__ int count_turns(const conv_job &j) { return (j.samples * j.tiles_wide * j.tiles_wide + 1) / 2 * j.blocks_n; }
static __device__ __forceinline__ tile_at place(const conv_job &j, int turn)
{
    int per_sample = j.tiles_wide * j.tiles_wide, tile = turn / j.blocks_n * 2 + (int)(blockIdx.x % 2);
    tile_at t;
    t.real = tile < j.samples * per_sample;
    if (!t.real) tile--; /* an odd number of tiles: one is made twice and kept once */
    t.block_n = turn % j.blocks_n;
    t.sample = tile / per_sample, t.index = tile % per_sample;
    t.y = t.index / j.tiles_wide * 16, t.x = t.index % j.tiles_wide * 16;
    return t;
}
/* A pair takes neighbours in a row: they mostly belong to one sample, whose norms are known. */
static __device__ __forceinline__ int first_turn(const conv_job &j, int pair) { return (int)((i64)count_turns(j) * pair / (gridDim.x / 2)); }
#define FOR_TURNS(j, turn) for (int turn = first_turn(j, blockIdx.x / 2), end = first_turn(j, blockIdx.x / 2 + 1); turn < end; turn++)

/* ---- bringing pixels ---- */
static __device__ __forceinline__ void put_cell(u32 at, uint4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
/* Where a coordinate lies in the field; outside: -1. */
static __device__ __forceinline__ int in_field(int x, int grid)
{
    if (WRAP) return x < 0 ? x + grid : x >= grid ? x - grid : x;
    return x < grid ? x : -1;
}

#if SOURCE == 2
static __device__ __forceinline__ void bring_chunk(const conv_job &j, const float *state, const norm_table &, tile_at t, int chunk, u32 to, u32 is_free, u32 parity, int carrier)
{
    barrier_wait(is_free, parity);
    const float *planes = state + (i64)t.sample * 3 * j.grid * j.grid;
    for (int cell = carrier; cell < 256 * PLANES; cell += CARRIERS) {
        int p = cell % 256, plane = cell / 256;
        float v[8];
        #pragma unroll
        for (int e = 0; e < 8; e++) {
            int i = chunk * CHUNK + plane * 8 + e, c = i / (STEM * STEM);
            int y = in_field(t.y + p / 16 - STEM / 2 + i / STEM % STEM, j.grid), x = in_field(t.x + p % 16 - STEM / 2 + i % STEM, j.grid);
            v[e] = c < 3 && y >= 0 && x >= 0 ? planes[((i64)c * j.grid + y) * j.grid + x] : 0.f;
        }
        put_cell(to + plane * PLANE + p * 16, make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7])));
    }
}
#else
static __device__ __forceinline__ void bring_chunk(const conv_job &j, const float *, const norm_table &table, tile_at t, int chunk, u32 to, u32 is_free, u32 parity, int carrier)
{
    int plane = carrier % PLANES, first = carrier / PLANES, wide = j.in_c / 8; /* cells of a pixel */
    const uint4 *from = j.source + (i64)t.sample * j.grid * j.grid * wide + chunk * PLANES + plane;
#if SOURCE == 1
    half_norms a;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 two = *(const float4 *)(table.norm + chunk * CHUNK + plane * 8 + 2 * i);
        a.scale[i] = pack(two.x, two.z), a.shift[i] = pack(two.y, two.w);
    }
#endif
    if (first >= STRIPES) first = CELLS; /* nothing to bring, but no arriving for a slot in use either */
    bool waited = false;
    #pragma unroll 1
    for (int start = first; start < CELLS || !waited; start += STRIPES * BATCH) {
        uint4 v[BATCH];
        u32 inside = 0;
        #pragma unroll
        for (int b = 0; b < BATCH; b++) {
            int p = start + b * STRIPES, y = in_field(t.y + p / PITCH - RIM, j.grid), x = in_field(t.x + p % PITCH - RIM, j.grid);
            bool in = p < CELLS && y >= 0 && x >= 0;
            inside |= (u32)in << b;
            v[b] = in ? from[(y * j.grid + x) * wide] : make_uint4(0, 0, 0, 0);
        }
        if (!waited) barrier_wait(is_free, parity), waited = true;
        #pragma unroll
        for (int b = 0; b < BATCH; b++) {
            int p = start + b * STRIPES;
#if SOURCE == 1
            v[b] = quick_eight(v[b], a);
            if (!(inside >> b & 1)) v[b] = make_uint4(0, 0, 0, 0); /* what lies outside is zero after the activation */
#endif
            if (p < CELLS) put_cell(to + plane * PLANE + p * 16, v[b]);
        }
    }
}
#endif

static __device__ __forceinline__ void bring_pixels(const conv_job &j, const float *state, norm_table &table, const rings &r, int carrier)
{
    ring<A_STAGES> at;
    int sample = place(j, first_turn(j, blockIdx.x / 2)).sample; /* whose norms are there */
    FOR_TURNS(j, turn) {
        tile_at t = place(j, turn);
#if SOURCE == 1
        if (t.sample != sample) fill_norms<1, CARRIERS>(j.norm, t.sample, table, carrier);
#endif
        sample = t.sample;
        for (int chunk = 0; chunk < j.chunks; chunk++, at.step()) {
            bring_chunk(j, state, table, t, chunk, r.a + at.slot * A_BYTES, r.a_free + 8 * at.slot, at.parity ^ 1, carrier);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            barrier_arrive(r.a_full + 8 * at.slot);
        }
    }
}

/* Half of the weights for both blocks; the other block fetches the other half. */
static __device__ __forceinline__ void bring_weights(const conv_job &j, const rings &r)
{
    ring<B_STAGES> at;
    i64 pieces = (i64)j.chunks * TAPS;
    u32 half = blockIdx.x % 2 * (B_BYTES / 2);
    FOR_TURNS(j, turn) {
        const unsigned char *from = j.weights + (turn % j.blocks_n) * pieces * B_BYTES + half;
        for (i64 i = 0; i < pieces; i++, at.step()) {
            u32 full = r.b_full + 8 * at.slot;
            barrier_wait(r.b_free + 8 * at.slot, at.parity ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(full), "r"(B_BYTES) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                         :: "r"(r.b + at.slot * B_BYTES + half), "l"(from + i * B_BYTES), "r"(B_BYTES / 2), "r"(full), "h"((unsigned short)3) : "memory");
        }
    }
}

/* ---- multiplying ---- */
/* A matrix of cells: where it starts, the stride between eights of channels and between eights of rows. High
   bits of an address tell the block of the pair, which the instruction does not want to know. */
static __device__ __forceinline__ u64 matrix_at(u32 start, u32 channels, u32 rows)
{
    return (u64)(start >> 4 & 0x3fff) | (u64)(channels >> 4) << 16 | (u64)(rows >> 4) << 32;
}

struct sums_of_tile { float v[2][TILE_N / 2]; }; /* two squares of 8 x 8 pixels, as the instruction spreads them */

static __device__ __forceinline__ void multiply_tile(const conv_job &j, sums_of_tile &c, int group, const rings &r, ring<A_STAGES> &at_a, ring<B_STAGES> &at_b)
{
    int lane = threadIdx.x % 128; /* the first two tell the two blocks, the first also the carriers */
    u32 last_a = 0, last_b = 0;   /* barriers of what the unfinished products read; 0: none */
    #pragma unroll 1
    for (int chunk = 0; chunk < j.chunks; chunk++, at_a.step()) {
        barrier_wait(r.a_full + 8 * at_a.slot, at_a.parity);
        u32 corner = r.a + at_a.slot * A_BYTES + group * 8 * PITCH * 16;
        #pragma unroll 1
        for (int tap = 0; tap < TAPS; tap++, at_b.step()) {
            u32 pixels = corner + (tap / KERNEL * PITCH + tap % KERNEL) * 16, weights = r.b + at_b.slot * B_BYTES;
            barrier_wait(r.b_full + 8 * at_b.slot, at_b.parity);
            wgmma_begin(c.v[0]), wgmma_begin(c.v[1]);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < CHUNK / 16; k++) {
                u64 right = matrix_at(weights + 2 * k * TILE_N * 16, TILE_N * 16, 128);
                #pragma unroll
                for (int m = 0; m < 2; m++) wgmma(c.v[m], matrix_at(pixels + 2 * k * PLANE + m * 128, PLANE, PITCH * 16), right, chunk || tap || k);
            }
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (lane < 2 && last_b) barrier_arrive_in(last_b, lane);
            if (lane == 0 && last_a) barrier_arrive(last_a);
            last_b = r.b_free + 8 * at_b.slot;
            last_a = tap == TAPS - 1 ? r.a_free + 8 * at_a.slot : 0;
        }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    wgmma_begin(c.v[0]), wgmma_begin(c.v[1]);
    if (lane < 2) barrier_arrive_in(last_b, lane);
    if (lane == 0) barrier_arrive(last_a);
}

/* ---- finishing a tile ---- */
/* Lane 4 r + q of warp w holds, of rows 16 w + r and 16 w + r + 8 of a square, channels 8 i + 2 q and the next. */
struct spot { int y, x; bool in; };
static __device__ __forceinline__ spot spot_of(const conv_job &j, tile_at t, int group, int m, int half)
{
    spot s = { t.y + 8 * group + 2 * (int)(threadIdx.x / 32 % 4) + half, t.x + 8 * m + (int)(threadIdx.x % 32 / 4), false };
    s.in = t.real && s.y < j.grid && s.x < j.grid;
    return s;
}

#if RESULT == 1
/* Sums over the tile's pixels, eight numbers of sixteen channels at a time: three exchanges leave one number
   to each eighth of a warp. */
static __device__ __forceinline__ void tile_sums(const conv_job &j, tile_at t, const sums_of_tile &c, int group, float *part)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    float keep[2][2];
    #pragma unroll
    for (int m = 0; m < 2; m++)
        for (int h = 0; h < 2; h++) keep[m][h] = spot_of(j, t, group, m, h).in ? 1.f : 0.f;
    #pragma unroll
    for (int i = 0; i < TILE_N / 16; i++) {
        float v[8];
        #pragma unroll
        for (int e = 0; e < 4; e++) { /* of 16 channels this lane has 4 */
            float s = 0, q = 0;
            #pragma unroll
            for (int m = 0; m < 2; m++)
                #pragma unroll
                for (int h = 0; h < 2; h++) {
                    float x = c.v[m][8 * i + 4 * (e / 2) + 2 * h + e % 2] * keep[m][h];
                    s += x, q = fmaf(x, x, q);
                }
            v[2 * e] = s, v[2 * e + 1] = q;
        }
        #pragma unroll
        for (int n = 4, bit = 16; n; n /= 2, bit /= 2)
            #pragma unroll
            for (int e = 0; e < n; e++) {
                bool upper = lane & bit;
                float mine = upper ? v[e + n] : v[e], theirs = upper ? v[e] : v[e + n];
                v[e] = mine + __shfl_xor_sync(~0u, theirs, bit);
            }
        int number = lane / 4, e = number / 2, channel = 16 * i + 8 * (e / 2) + 2 * (lane % 4) + e % 2;
        part[(warp * TILE_N + channel) * 2 + number % 2] = v[0];
    }
    meet<2, 256>();
    int n = threadIdx.x - 128;
    if (n < TILE_N && t.real) {
        float s = 0, q = 0;
        for (int w = 0; w < 8; w++) s += part[(w * TILE_N + n) * 2], q += part[(w * TILE_N + n) * 2 + 1];
        j.sums[((i64)t.sample * j.tiles_wide * j.tiles_wide + t.index) * j.out_c + t.block_n * TILE_N + n] = make_float2(s, q);
    }
}
#endif

static __device__ __forceinline__ void swap_in_fours(u32 &x, u32 &y, bool upper, int bit)
{
    u32 got = __shfl_xor_sync(~0u, upper ? x : y, bit);
    if (upper) x = got;
    else y = got;
}

/* Four lanes exchange what they have of 32 channels, so that each stores 16 bytes. */
static __device__ __forceinline__ void store_tile(const conv_job &j, tile_at t, const sums_of_tile &c, int group, const norm_table &table)
{
    int q = threadIdx.x % 4, first = t.block_n * TILE_N;
    #pragma unroll
    for (int m = 0; m < 2; m++)
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            spot s = spot_of(j, t, group, m, h);
            i64 pixel = (((i64)t.sample * j.grid + s.y) * j.grid + s.x) * j.out_c + first;
#if RESULT == 2
            uint4 other[TILE_N / 32 + 1];
            #pragma unroll
            for (int i = 0; i < TILE_N / 32; i++) other[i] = s.in ? j.other[(pixel + 32 * i + 8 * q) / 8] : make_uint4(0, 0, 0, 0);
#endif
            #pragma unroll
            for (int i = 0; i < TILE_N / 32; i++) {
                const float *v = &c.v[m][16 * i + 2 * h];
                u32 w[4];
                #pragma unroll
                for (int e = 0; e < 4; e++) w[e] = pack(v[4 * e], v[4 * e + 1]);
                swap_in_fours(w[0], w[1], q & 1, 1), swap_in_fours(w[2], w[3], q & 1, 1);
                swap_in_fours(w[0], w[2], q & 2, 2), swap_in_fours(w[1], w[3], q & 2, 2);
                uint4 cell = make_uint4(w[0], w[1], w[2], w[3]);
#if RESULT == 2
                float2 a[8];
                load_norms(table.norm + first + 32 * i + 8 * q, a);
                cell = add_eight(normal_eight(other[i], a), cell);
#endif
                if (s.in) j.result[(pixel + 32 * i + 8 * q) / 8] = cell;
            }
#if TILE_N % 32
            #pragma unroll
            for (int e = 0; e < 2; e++) {
                const float *v = &c.v[m][TILE_N / 32 * 16 + 4 * e + 2 * h];
                int channel = TILE_N / 32 * 32 + 8 * e + 2 * q;
                u32 two = pack(v[0], v[1]);
                if (!s.in) continue;
#if RESULT == 2
                const float2 *a = table.norm + first + channel;
                two = add_pair(normal_pair(((const u32 *)j.other)[(pixel + channel) / 2], a[0], a[1]), two);
#endif
                ((u32 *)j.result)[(pixel + channel) / 2] = two;
            }
#endif
        }
}

static __device__ __forceinline__ void multiply(const conv_job &j, const rings &r, norm_table &table, float *part)
{
    ring<A_STAGES> at_a;
    ring<B_STAGES> at_b;
    int group = threadIdx.x / 128 - 1, sample = place(j, first_turn(j, blockIdx.x / 2)).sample, odd = 0;
    sums_of_tile c;
    FOR_TURNS(j, turn) {
        tile_at t = place(j, turn);
#if RESULT == 2
        if (t.sample != sample) fill_norms<2, 256>(j.norm, t.sample, table, threadIdx.x - 128);
#endif
        sample = t.sample;
        multiply_tile(j, c, group, r, at_a, at_b);
#if RESULT == 1
        tile_sums(j, t, c, group, part + odd * 8 * TILE_N * 2); /* two places, so that one meeting is enough */
        odd ^= 1;
#endif
        store_tile(j, t, c, group, table);
    }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(512, 1) conv(const conv_job *job, const float *state)
{
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ u64 barriers[2 * (A_STAGES + B_STAGES)];
    __shared__ float part[RESULT == 1 ? 2 * 8 * TILE_N * 2 : 1];
    __shared__ norm_table table;
    rings r;
    r.a = shared_address(shared), r.b = r.a + A_STAGES * A_BYTES;
    r.a_full = shared_address(barriers), r.a_free = r.a_full + 8 * A_STAGES, r.b_full = r.a_free + 8 * A_STAGES, r.b_free = r.b_full + 8 * B_STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < A_STAGES; i++) barrier_set(r.a_full + 8 * i, CARRIERS), barrier_set(r.a_free + 8 * i, 2);
        for (int i = 0; i < B_STAGES; i++) barrier_set(r.b_full + 8 * i, 1), barrier_set(r.b_free + 8 * i, 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __shared__ conv_job j;
    if (threadIdx.x < sizeof j / 4) ((u32 *)&j)[threadIdx.x] = ((const u32 *)job)[threadIdx.x];
    __syncthreads();
#if SOURCE == 1 || RESULT == 2
    fill_norms<0, 512>(j.norm, place(j, first_turn(j, blockIdx.x / 2)).sample, table, threadIdx.x);
#endif
    pair_meets();
    int warpgroup = threadIdx.x / 128;
    if (warpgroup == 1 || warpgroup == 2) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(256 - CARRIER_REGISTERS));
        multiply(j, r, table, part);
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(CARRIER_REGISTERS));
        int carrier = threadIdx.x - (warpgroup ? 256 : 0);
        if (carrier < CARRIERS) bring_pixels(j, state, table, r, carrier);
        else if (carrier == CARRIERS) bring_weights(j, r);
    }
    __syncwarp();
    pair_meets(); /* the other block may still be writing here */
}
