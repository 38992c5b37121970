/* The end of a residual block that widens: act(norm(map)) + a projection of what the block read.
   SPDX-License-Identifier: BSD-3-Clause

   A warp makes 32 channels, whose weights and norms stay in its registers. All warps of a block read the same tile of
   16 pixels, while the next ones are on their way: what limits this kernel is memory. Follows half.cuh, norms.cuh and
   fetch.cuh. Defined by the host: IN_C, OUT_C, PARTS that OUT_C is cut into, GROUPS of 32 channels in a part, BLOCKS per sample and
   part, PER_CORE of them at once, SLOTS for tiles. */
enum { THREADS = GROUPS * 32, IN_STEPS = (IN_C + 31) / 32, PART = PARTS == 1 ? OUT_C : THREADS /* channels */ };
enum { MAP_PITCH = PART * 2, SOURCE_PITCH = IN_C * 2, SOURCE_AT = TILE_BYTES(MAP_PITCH), SLOT = SOURCE_AT + TILE_BYTES(SOURCE_PITCH) };

/* The tiles of a block, one after the other, and where they come to. */
struct tiles { rows map, source; int first, count, pixels; u32 slots, full; };
static __device__ __forceinline__ int pixels_of(const tiles &t, int n) { return n < t.count ? min(TILE, t.pixels - (t.first + n) * TILE) : 0; }
static __device__ __forceinline__ void fetch_both(const tiles &t, int n)
{
    int first = (t.first + n) * TILE, pixels = pixels_of(t, n);
    u32 to = t.slots + n % SLOTS * SLOT, full = t.full + 8 * (n % SLOTS);
    if (!pixels) return;
    barrier_expect(full, pixels * (t.map.row + t.source.row));
    fetch_tile(to + SOURCE_AT, SOURCE_PITCH, t.source, first, pixels, full);
    fetch_tile(to, MAP_PITCH, t.map, first, pixels, full);
}

static __device__ __forceinline__ tiles tiles_of(const lt_project_job &j, int sample, int piece, int part)
{
    int all = (j.pixels + TILE - 1) / TILE, first = share_begin(all, piece);
    u32 row = min(PART, OUT_C - part * PART) * 2;
    rows map = { (const char *)(j.map + ((i64)sample * j.pixels * OUT_C + part * PART) / 8), row, OUT_C * 2 };
    rows source = { (const char *)(j.source + (i64)sample * j.pixels * IN_C / 8), SOURCE_PITCH, SOURCE_PITCH };
    return tiles{ map, source, first, share_begin(all, piece + 1) - first, j.pixels };
}

/* Column 2 q + e of the i-th product is channel 8 q + 2 i + e, so that a lane ends with a cell. */
static __device__ __forceinline__ void load_weights(const lt_project_job &j, int first, int lane, uint4 (&w)[4][IN_STEPS])
{
    int r = lane / 4, q = lane % 4;
    #pragma unroll
    for (int i = 0; i < 4; i++)
        #pragma unroll
        for (int s = 0; s < IN_STEPS; s++) {
            int plane = 4 * s + q, n = first + r / 2 * 8 + 2 * i + r % 2;
            w[i][s] = make_uint4(0, 0, 0, 0);
            if (plane * 8 < IN_C && n < OUT_C) w[i][s] = j.weights[plane * OUT_C + n];
        }
}

/* 32 channels of a tile; the cells of pixels p and p + 4 that end in this lane. */
static __device__ __forceinline__ void multiply_tile(u32 source, int q, const uint4 (&w)[4][IN_STEPS], uint4 (&sum)[2])
{
    float c[4][4] = {};
    #pragma unroll
    for (int s = 0; s < IN_STEPS; s++) {
        uint4 x[2] = {};
        #pragma unroll
        for (int p = 0; p < 2; p++)
            if (IN_C % 32 == 0 || (4 * s + q) * 8 < IN_C) x[p] = get_cell(source + p * 4 * SOURCE_PITCH + s * 64);
        #pragma unroll
        for (int i = 0; i < 4; i++) multiply_cells(c[i], x, w[i][s]);
    }
    #pragma unroll
    for (int p = 0; p < 2; p++) sum[p] = make_uint4(pack(c[0][2 * p], c[0][2 * p + 1]), pack(c[1][2 * p], c[1][2 * p + 1]), pack(c[2][2 * p], c[2][2 * p + 1]), pack(c[3][2 * p], c[3][2 * p + 1]));
}

extern "C" __global__ void __launch_bounds__(THREADS, PER_CORE) project(const lt_project_job *job)
{
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ u64 full[SLOTS];
    const lt_project_job &j = *job;
    int part = blockIdx.x % PARTS, piece = blockIdx.x / PARTS % BLOCKS, sample = blockIdx.x / PARTS / BLOCKS;
    int group = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, pixel = pixel_of_row(lane / 4), cell = group * 4 + q; /* of the part */
    bool real = part * PART + cell * 8 < OUT_C;
    tiles t = tiles_of(j, sample, piece, part);
    t.slots = shared_address(shared), t.full = shared_address(full);
    if (threadIdx.x == 0) {
        set_slots(t.full, SLOTS);
        for (int n = 0; n < SLOTS; n++) fetch_both(t, n);
    }
    uint4 w[4][IN_STEPS];
    load_weights(j, part * PART + group * 32, lane, w);
    half_norms norms = load_half_norms(norms_of(j.norm, sample) + part * PART + (real ? cell * 8 : 0));
    uint4 *result = j.result + (i64)sample * j.pixels * (OUT_C / 8) + part * (PART / 8) + cell;
    u32 source = t.slots + SOURCE_AT + place_in_tile(pixel, SOURCE_PITCH) + q * 16, map = t.slots + place_in_tile(pixel, MAP_PITCH) + cell * 16;
    __syncthreads(); /* barriers are set */
    #pragma unroll 1
    for (int n = 0; n < t.count; n++) {
        u32 slot = n % SLOTS * SLOT;
        uint4 sum[2];
        barrier_wait(t.full + 8 * (n % SLOTS), n / SLOTS & 1);
        if (n > 0) {
            __syncthreads(); /* everybody has read the tile before */
            if (threadIdx.x == 0) fetch_both(t, n - 1 + SLOTS);
        }
        multiply_tile(source + slot, q, w, sum);
        #pragma unroll
        for (int p = 0; p < 2 && real; p++) {
            int own = (t.first + n) * TILE + pixel + 4 * p;
            uint4 v = get_cell(map + slot + p * 4 * MAP_PITCH);
            if (own < j.pixels) result[(i64)own * (OUT_C / 8)] = add_eight(quick_eight(v, norms), sum[p]);
        }
    }
}
