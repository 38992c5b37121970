/* Convolutions of half-precision maps on the tensor cores of sm_90, with what surrounds them inside.
   SPDX-License-Identifier: BSD-3-Clause

   A block makes 16 x 16 pixels of TILE_N channels, tile after tile. Three to six warps, the carriers, bring the
   pixels with their rim into shared memory, normalising and activating them on the way: once per chunk of
   channels, not once per tap, since the rim lies so that every tap is the same matrix at another address.
   One thread fetches the packed weights of a tap; two blocks work side by side on the same channels and share
   what they fetch. Two warpgroups multiply, 8 x 16 pixels each, and leave the result in shared memory, half a
   tile at a time; one to four warps, the finishers, write it out and add it up while the next tile is multiplied. Where that
   leaves them idle, those who multiply help: they bring part of the first chunk and finish the last tile.

   Shared memory holds cells of 16 bytes, eight channels of a pixel. A plane of cells is all pixels of a
   tile with rim, row after row; the core matrices of the tensor cores are eight cells in a row, and the
   stride between them is a row of the plane (pixels) or a plane (channels). So a tap only moves the start.

   Follows half.cuh, norms.cuh, barriers.cuh and the text of wgmma() for TILE_N. Defined by the host:
   KERNEL (odd), CHUNK (channels, a multiple of 16), TILE_N, A_STAGES, B_STAGES, C_STAGES, FINISHERS (warps, 1, 2 or 4),
   SOURCE: 0 a map as it is, 1 a map to be normalised and activated, 2 the state, STEM x STEM pixels of
           three planes as channels (then KERNEL is 1),
   RESULT: 0 the map alone, 1 and its norms,
   WRAP: 1 the field continues on the other side, 0 zeros around it. */

#define RIM (KERNEL / 2)
#define PITCH (16 + KERNEL - 1)
#define CELLS (PITCH * PITCH)
#define PLANE ((CELLS * 16 + 127) / 128 * 128 + 16) /* bytes; the odd cell spreads planes over the banks */
#define PLANES (CHUNK / 8)
#define TAPS (KERNEL * KERNEL)
#define A_BYTES ((PLANES * PLANE + 127) / 128 * 128)
#define B_BYTES (CHUNK * TILE_N * 2)
#define C_PITCH (TILE_N * 2 + 16) /* of a pixel; an odd number of cells, so that eight pixels lie in different banks */
#define C_BYTES (128 * C_PITCH)   /* half a tile */
#define C_CELLS (TILE_N / 8)
#define C_MOST (32 * FINISHERS / C_CELLS)
#define C_STRIPES (C_MOST >= 32 ? 32 : C_MOST >= 16 ? 16 : C_MOST >= 8 ? 8 : C_MOST >= 4 ? 4 : 2) /* pixels the finishers write at once */
enum { THREADS = 512, MULTIPLIERS = 256, CARRIERS = 224 - 32 * FINISHERS, BUT_FETCHER = 480 }; /* the last warp fetches weights */
#define STRIPES (CARRIERS / PLANES) /* pixels the carriers bring at once */
/* Of 128 at the launch. Sums take TILE_N of them; what they leave lets carriers have more cells on their way. */
#define MULTIPLIER_REGISTERS (TILE_N <= 64 ? 128 : 160)
#define OTHER_REGISTERS (256 - MULTIPLIER_REGISTERS)
#define MOST_BATCH (TILE_N <= 64 ? 10 : 7) /* cells of four registers */
/* A carrier brings ROUNDS cells of a chunk, two batches in turn: while it puts one away, the other is on its way. */
#define ROUNDS ((CELLS + STRIPES - 1) / STRIPES)
#define PAIRS ((ROUNDS + 2 * MOST_BATCH - 1) / (2 * MOST_BATCH))
#define BATCH ((ROUNDS + 2 * PAIRS - 1) / (2 * PAIRS))

/* ---- barriers ---- */
enum { CARRIERS_MEET = 1, FINISHERS_MEET, ALL_WRITTEN, MULTIPLIERS_MEET, FIRST_MEET }; /* of threads; 0 is everybody's */
static __device__ __forceinline__ void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at) : "memory"); }
static __device__ __forceinline__ void barrier_arrive_in(u32 at, u32 block) /* of the pair */
{
    asm volatile("{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [r];\n}" :: "r"(at), "r"(block) : "memory");
}
static __device__ __forceinline__ void pair_meets()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
/* The same in two parts, for what fences have published. Releasing would wait for loads that are on their way. */
static __device__ __forceinline__ void pair_arrives() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
static __device__ __forceinline__ void pair_waits() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

struct rings { u32 a, b, c, a_full, a_free, b_full, b_free, c_full, c_free; }; /* addresses in shared memory */

/* Which slot of a ring is next, and the parity of its barriers. */
template <int N> struct ring {
    u32 slot = 0, parity = 0;
    __device__ void step() { if (++slot == N) slot = 0, parity ^= 1; }
};

/* ---- work: both blocks of a pair take neighbouring tiles and the same channels ---- */
struct tile_at { int sample, y, x, index, block_n; bool real; }; /* index: in its sample */
static __device__ __forceinline__ int count_turns(const lt_conv_job &j) { return (j.samples * j.tiles_wide * j.tiles_wide + 1) / 2 * j.blocks_n; }
static __device__ __forceinline__ tile_at place(const lt_conv_job &j, int turn)
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
static __device__ __forceinline__ int first_turn(const lt_conv_job &j, int pair)
{
    int pairs = (int)gridDim.x / 2, turns = count_turns(j);
    return turns / pairs * pair + min(turns % pairs, pair);
}
#define FOR_TURNS(j, turn) for (int turn = first_turn(j, blockIdx.x / 2), end = first_turn(j, blockIdx.x / 2 + 1); turn < end; turn++)

/* ---- bringing pixels ---- */
/* Read once: nothing is kept near. The job lies in shared memory, so the compiler cannot tell where its pointers go. */
static __device__ __forceinline__ uint4 load_cell(const uint4 *base, u32 index, u32 stride) /* in bytes */
{
    const char *from = (const char *)base + (u64)index * stride;
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}
static __device__ __forceinline__ void store_cell(void *to, uint4 v)
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" :: "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
static __device__ __forceinline__ void put_cell(u32 at, uint4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
/* Where a coordinate lies in the field; outside: below 0. */
static __device__ __forceinline__ int in_field(int x, int grid)
{
    if (WRAP) return x < 0 ? x + grid : x >= grid ? x - grid : x;
    return x < grid ? x : -1;
}

#if SOURCE == 2
/* The state around a tile, three planes of half numbers in the memory that norms have elsewhere. */
#define SEEN (16 + STEM - 1) /* pixels along one side */
static_assert(3 * SEEN * SEEN * 2 <= sizeof(norm_table), "up to 11 x 11");
enum { SEEN_ROUNDS = (3 * SEEN * SEEN + CARRIERS - 1) / CARRIERS };
struct seen_cells { /* those of a carrier, on their way while the tile before is brought */
    float v[SEEN_ROUNDS];
    __device__ void load(const lt_conv_job &j, const float *state, tile_at t, int carrier)
    {
        const float *planes = state + (i64)t.sample * 3 * j.grid * j.grid;
        #pragma unroll
        for (int n = 0; n < SEEN_ROUNDS; n++) {
            int i = carrier + n * CARRIERS;
            int y = in_field(t.y - STEM / 2 + i / SEEN % SEEN, j.grid), x = in_field(t.x - STEM / 2 + i % SEEN, j.grid);
            v[n] = 0.f;
            if (i < 3 * SEEN * SEEN && y >= 0 && x >= 0) v[n] = planes[(i / (SEEN * SEEN) * j.grid + y) * j.grid + x];
        }
    }
    __device__ void put(unsigned short *seen, int carrier) const
    {
        #pragma unroll
        for (int n = 0; n < SEEN_ROUNDS; n++)
            if (carrier + n * CARRIERS < 3 * SEEN * SEEN) seen[carrier + n * CARRIERS] = (unsigned short)pack(v[n], 0.f);
    }
};

/* A carrier keeps to one cell: eight neighbours of a pixel, at places that do not change from pixel to pixel. */
static __device__ __forceinline__ void bring_chunk(const unsigned short *seen, int chunk, u32 to, int plane, int first)
{
    int from[8];
    #pragma unroll
    for (int e = 0; e < 8; e++) {
        int i = chunk * CHUNK + plane * 8 + e, tap = i % (STEM * STEM);
        from[e] = i < 3 * STEM * STEM ? (i / (STEM * STEM) * SEEN + tap / STEM) * SEEN + tap % STEM : -1;
    }
    for (int p = first; p < 256; p += STRIPES) {
        const unsigned short *corner = seen + p / 16 * SEEN + p % 16;
        u32 word[4];
        #pragma unroll
        for (int e = 0; e < 4; e++) word[e] = (from[2 * e] < 0 ? 0u : corner[from[2 * e]]) | (from[2 * e + 1] < 0 ? 0u : (u32)corner[from[2 * e + 1]] << 16);
        put_cell(to + plane * PLANE + p * 16, make_uint4(word[0], word[1], word[2], word[3]));
    }
}
static __device__ __forceinline__ void bring_pixels(const lt_conv_job &j, const float *state, norm_table &table, const rings &r, int carrier)
{
    ring<A_STAGES> at;
    unsigned short *seen = (unsigned short *)&table;
    seen_cells cells;
    cells.load(j, state, place(j, first_turn(j, blockIdx.x / 2)), carrier);
    FOR_TURNS(j, turn) {
        meet<CARRIERS_MEET, CARRIERS>();
        cells.put(seen, carrier);
        meet<CARRIERS_MEET, CARRIERS>();
        if (turn + 1 < end) cells.load(j, state, place(j, turn + 1), carrier);
        for (int chunk = 0; chunk < j.chunks; chunk++, at.step()) {
            barrier_wait(r.a_free + 8 * at.slot, at.parity ^ 1);
            if (carrier < STRIPES * PLANES) bring_chunk(seen, chunk, r.a + at.slot * A_BYTES, carrier % PLANES, carrier / PLANES);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            barrier_arrive(r.a_full + 8 * at.slot);
        }
    }
}
#else
/* A thread's way through the pixels of a tile with rim, AT_ONCE of them at a time, in one cell of them. */
template <int AT_ONCE> struct walk {
    const uint4 *from;            /* the cell in the sample's first pixel */
    u32 stride;                   /* bytes of a pixel */
    int y, x, right, below;       /* of the tile with rim; below: or of the field */
    __device__ void begin(const lt_conv_job &j, tile_at t, int chunk, int plane, int first)
    {
        from = j.source + ((i64)t.sample * j.grid * j.grid * j.in_c + chunk * CHUNK) / 8 + plane;
        stride = j.in_c * 2;
        y = t.y - RIM + first / PITCH, x = t.x - RIM + first % PITCH;
        right = t.x - RIM + PITCH, below = t.y - RIM + PITCH;
        if (!WRAP && below > j.grid) below = j.grid;
    }
    __device__ void step()
    {
        y += AT_ONCE / PITCH, x += AT_ONCE % PITCH;
        if (x >= right) x -= PITCH, y++;
    }
    /* Where the pixel lies in the field; -1 for one outside or past the end. */
    __device__ int pixel(int grid) const
    {
        if (WRAP) return y < below ? in_field(y, grid) * grid + in_field(x, grid) : -1;
        return (y < 0) | (y >= below) | (x < 0) | (x >= grid) ? -1 : y * grid + x;
    }
};

template <int COUNT> struct batch { uint4 v[COUNT]; u32 inside; };
template <int COUNT, int AT_ONCE> static __device__ __forceinline__ void load_batch(walk<AT_ONCE> &w, int grid, batch<COUNT> &b)
{
    b.inside = 0;
    #pragma unroll
    for (int i = 0; i < COUNT; i++, w.step()) {
        int pixel = w.pixel(grid);
        b.v[i] = make_uint4(0, 0, 0, 0);
        if (pixel >= 0) b.v[i] = load_cell(w.from, pixel, w.stride), b.inside |= 1u << i;
    }
}

/* left: cells of the plane from this batch's first on. What lies outside is zero after the activation. */
template <int AT_ONCE, int COUNT> static __device__ __forceinline__ void put_batch(const batch<COUNT> &b, const half_norms &a, u32 to, int left)
{
    #pragma unroll
    for (int i = 0; i < COUNT; i++) {
        uint4 v = b.v[i];
        if (SOURCE == 1) {
            v = quick_eight(v, a);
            if (!(b.inside >> i & 1)) v = make_uint4(0, 0, 0, 0);
        }
        if (i * AT_ONCE < left) put_cell(to + i * AT_ONCE * 16, v);
    }
}

/* The first chunk of all is brought by those who multiply as well: they have nothing else to do yet. */
enum { BRINGERS = CARRIERS + MULTIPLIERS, FIRST_AT_ONCE = BRINGERS / PLANES, FIRST_ROUNDS = (CELLS + FIRST_AT_ONCE - 1) / FIRST_AT_ONCE };
struct first_cells {
    batch<FIRST_ROUNDS> b;
    int plane, first;
    __device__ void load(const lt_conv_job &j, tile_at t, int bringer)
    {
        plane = bringer % PLANES, first = bringer / PLANES;
        if (first >= FIRST_AT_ONCE) first = CELLS; /* nothing to bring */
        walk<FIRST_AT_ONCE> w;
        w.begin(j, t, 0, plane, first);
        load_batch(w, j.grid, b);
    }
    __device__ void put(const norm_table &table, const rings &r) const
    {
        half_norms a;
        if (SOURCE == 1) a = load_half_norms(table.norm + plane * 8);
        put_batch<FIRST_AT_ONCE>(b, a, r.a + plane * PLANE + first * 16, CELLS - first);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
};

/* All chunks but the first. */
static __device__ __forceinline__ void bring_pixels(const lt_conv_job &j, norm_table &table, const rings &r, int carrier)
{
    ring<A_STAGES> at;
    int plane = carrier % PLANES, first = carrier / PLANES, grid = j.grid, chunks = j.chunks;
    if (first >= STRIPES) first = CELLS;
    int begin = first_turn(j, blockIdx.x / 2);
    tile_at t = place(j, begin), next = begin + 1 < first_turn(j, blockIdx.x / 2 + 1) ? place(j, begin + 1) : t;
    int sample = t.sample, chunk = 1; /* whose norms are there; the first chunk is there too */
    batch<BATCH> b[2];
    walk<STRIPES> w;
    at.step();
    w.begin(j, chunks > 1 ? t : next, chunks > 1 ? 1 : 0, plane, first);
    load_batch(w, grid, b[0]);
    FOR_TURNS(j, turn) {
#if SOURCE == 1
        if (t.sample != sample) load_norms<CARRIERS_MEET, CARRIERS>(j.norm, t.sample, table, carrier);
#endif
        sample = t.sample;
        next = turn + 1 < end ? place(j, turn + 1) : t;
        #pragma unroll 1
        for (; chunk < chunks; chunk++, at.step()) {
            u32 to = r.a + at.slot * A_BYTES + plane * PLANE + first * 16;
            half_norms a;
            if (SOURCE == 1) a = load_half_norms(table.norm + chunk * CHUNK + plane * 8);
            barrier_wait(r.a_free + 8 * at.slot, at.parity ^ 1);
            #pragma unroll 1
            for (int k = 0, left = CELLS - first; k < PAIRS; k++, left -= 2 * BATCH * STRIPES, to += 2 * BATCH * STRIPES * 16) {
                load_batch(w, grid, b[1]);
                put_batch<STRIPES>(b[0], a, to, left);
                if (k == PAIRS - 1) w.begin(j, chunk + 1 < chunks ? t : next, chunk + 1 < chunks ? chunk + 1 : 0, plane, first);
                load_batch(w, grid, b[0]);
                put_batch<STRIPES>(b[1], a, to + BATCH * STRIPES * 16, left - BATCH * STRIPES);
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            barrier_arrive(r.a_full + 8 * at.slot);
        }
        chunk = 0;
        t = next;
    }
}
#endif

/* Half of the weights for both blocks; the other block fetches the other half. */
static __device__ __forceinline__ void bring_weights(const lt_conv_job &j, const rings &r)
{
    ring<B_STAGES> at;
    i64 pieces = (i64)j.chunks * TAPS;
    u32 half = blockIdx.x % 2 * (B_BYTES / 2);
    FOR_TURNS(j, turn) {
        const unsigned char *from = j.weights + (turn % j.blocks_n) * pieces * B_BYTES + half;
        for (i64 i = 0; i < pieces; i++, at.step()) {
            u32 full = r.b_full + 8 * at.slot;
            barrier_wait(r.b_free + 8 * at.slot, at.parity ^ 1);
            barrier_expect(full, B_BYTES);
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

/* Steps from one matrix to another are added to what matrix_at gave: addresses of shared memory never reach its next field. */
static __device__ __forceinline__ void multiply_tap(sums_of_tile &c, u64 pixels, u64 weights, bool first)
{
    wgmma_begin(c.v[0]), wgmma_begin(c.v[1]);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int k = 0; k < CHUNK / 16; k++)
        #pragma unroll
        for (int m = 0; m < 2; m++) wgmma(c.v[m], pixels + (2 * k * PLANE + m * 128) / 16, weights + 2 * k * TILE_N, !(first && k == 0));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void multiply_tile(const lt_conv_job &j, sums_of_tile &c, int group, const rings &r, ring<A_STAGES> &at_a, ring<B_STAGES> &at_b)
{
    int lane = threadIdx.x % 128; /* the first two tell the two blocks, the first also the carriers */
    u32 last_a = 0, last_b = 0;   /* barriers of what the unfinished products read; 0: none */
    u64 corner = matrix_at(r.a + group * 8 * PITCH * 16, PLANE, PITCH * 16), weights = matrix_at(r.b, TILE_N * 16, 128);
    int chunks = j.chunks;
    #pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++, at_a.step()) {
        barrier_wait(r.a_full + 8 * at_a.slot, at_a.parity);
        u64 line = corner + at_a.slot * (A_BYTES / 16);
        #pragma unroll 1
        for (int y = 0; y < KERNEL; y++, line += PITCH)
            #pragma unroll
            for (int x = 0; x < KERNEL; x++, at_b.step()) {
                barrier_wait(r.b_full + 8 * at_b.slot, at_b.parity);
                multiply_tap(c, line + x, weights + at_b.slot * (B_BYTES / 16), chunk + y == 0 && x == 0);
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (lane < 2 && last_b) barrier_arrive_in(last_b, lane);
                if (lane == 0 && last_a) barrier_arrive(last_a);
                last_b = r.b_free + 8 * at_b.slot;
                last_a = y == KERNEL - 1 && x == KERNEL - 1 ? r.a_free + 8 * at_a.slot : 0;
            }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    wgmma_begin(c.v[0]), wgmma_begin(c.v[1]);
    if (lane < 2) barrier_arrive_in(last_b, lane);
    if (lane == 0) barrier_arrive(last_a);
}

/* ---- finishing a tile ---- */
/* Lane 4 r + q of warp w holds, of rows 16 w + r and 16 w + r + 8 of a square, channels 8 i + 2 q and the next;
   rows are 8 pixels of two lines. stmatrix makes lines of pixels of them. */
static __device__ __forceinline__ void hand_over(const sums_of_tile &c, int group, const rings &r, ring<C_STAGES> &at)
{
    int lane = threadIdx.x % 32, line = 8 * group + 2 * (threadIdx.x / 32 % 4) + (lane / 8 & 1);
    u32 mine = r.c + (line * 8 + lane % 8) * C_PITCH + lane / 16 * 16;
    #pragma unroll
    for (int m = 0; m < 2; m++, at.step()) {
        u32 to = mine + at.slot * C_BYTES;
        barrier_wait(r.c_free + 8 * at.slot, at.parity ^ 1);
        #pragma unroll
        for (int i = 0; i < TILE_N / 16; i++) {
            const float *v = &c.v[m][8 * i];
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                         :: "r"(to + 32 * i), "r"(pack(v[0], v[1])), "r"(pack(v[2], v[3])), "r"(pack(v[4], v[5])), "r"(pack(v[6], v[7])) : "memory");
        }
        __syncwarp();
        if (lane == 0) barrier_arrive(r.c_full + 8 * at.slot);
    }
}

static __device__ __forceinline__ void add_to_sums(float2 (&s)[8], uint4 v)
{
    u32 word[4] = { v.x, v.y, v.z, v.w };
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 two = unpack(word[i]);
        s[2 * i].x += two.x, s[2 * i].y = fmaf(two.x, two.x, s[2 * i].y);
        s[2 * i + 1].x += two.y, s[2 * i + 1].y = fmaf(two.y, two.y, s[2 * i + 1].y);
    }
}

/* Half a tile, 16 lines of 8 pixels, from shared memory to the map. A thread keeps to one cell, and to one pixel of
   every AT_ONCE, four of them at a time. ALL: no pixel lies outside; else so many lines and columns count. */
struct half_tile { u32 from; char *to; u32 line_bytes, pixel_bytes; int lines, columns; };
template <bool ALL, bool SUM, int AT_ONCE> static __device__ __forceinline__ void write_half(half_tile h, int first, float2 (&s)[8])
{
    h.from += first * C_PITCH;
    h.to += (u64)(first / 8) * h.line_bytes + first % 8 * h.pixel_bytes;
    #pragma unroll 1
    for (int p = first; p < 128; p += 4 * AT_ONCE, h.from += 4 * AT_ONCE * C_PITCH, h.to += (u64)(AT_ONCE / 2) * h.line_bytes) {
        uint4 v[4];
        bool in[4];
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            v[u] = get_cell(h.from + u * AT_ONCE * C_PITCH);
            in[u] = ALL || (p / 8 + u * AT_ONCE / 8 < h.lines && p % 8 + u * AT_ONCE % 8 < h.columns);
        }
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            if (in[u]) store_cell(h.to + (u32)(u * AT_ONCE / 8) * h.line_bytes + (u32)(u * AT_ONCE % 8) * h.pixel_bytes, v[u]);
            if (SUM && in[u]) add_to_sums(s, v[u]);
        }
    }
}
template <bool SUM, int AT_ONCE> static __device__ __forceinline__ void write_part(const half_tile &h, int first, float2 (&s)[8])
{
    if (h.lines >= 16 && h.columns >= 8) write_half<true, SUM, AT_ONCE>(h, first, s);
    else write_half<false, SUM, AT_ONCE>(h, first, s);
}

/* The m-th half of a tile, in a slot of the ring; from the thread's cell on. */
static __device__ __forceinline__ half_tile half_of(const lt_conv_job &j, tile_at t, const rings &r, u32 slot, int m, int cell)
{
    u32 pixel_bytes = (u32)(j.out_c * 2);
    char *to = (char *)(j.result + t.block_n * C_CELLS + cell) + (((i64)t.sample * j.grid + t.y) * j.grid + t.x + 8 * m) * pixel_bytes;
    return half_tile{ r.c + slot * C_BYTES + cell * 16, to, (u32)j.grid * pixel_bytes, pixel_bytes, j.grid - t.y, j.grid - t.x - 8 * m };
}

/* What WORKERS threads have of their channels, AT_ONCE of every cell, added up in the memory the half tile leaves. */
template <int BARRIER, int WORKERS, int AT_ONCE> static __device__ __forceinline__ void write_sums(const lt_conv_job &j, tile_at t, float2 *scratch, int worker, const float2 (&s)[8])
{
    static_assert(AT_ONCE * TILE_N * 8 <= C_BYTES, "fits into half a tile");
    int cell = worker % C_CELLS, first = worker / C_CELLS;
    meet<BARRIER, WORKERS>();
    if (first < AT_ONCE)
        #pragma unroll
        for (int e = 0; e < 8; e += 2) *(float4 *)&scratch[first * TILE_N + cell * 8 + e] = make_float4(s[e].x, s[e].y, s[e + 1].x, s[e + 1].y);
    meet<BARRIER, WORKERS>();
    float2 *to = j.own.sums + ((i64)t.sample * j.own.tiles + t.index) * j.out_c + t.block_n * TILE_N;
    for (int n = worker; n < TILE_N && t.real; n += WORKERS) {
        float2 all = make_float2(0, 0);
        #pragma unroll
        for (int i = 0; i < AT_ONCE; i++) all.x += scratch[i * TILE_N + n].x, all.y += scratch[i * TILE_N + n].y;
        to[n] = all;
    }
}

/* Those who multiplied the last tile finish it too, all of them: nothing else is left to do. Both halves must be there. */
#define LAST_BY_ALL (C_STAGES >= 2)

static __device__ __forceinline__ void finish(const lt_conv_job &j, const rings &r, unsigned char *halves, int finisher)
{
    ring<C_STAGES> at;
    int cell = finisher % C_CELLS, first = finisher / C_CELLS;
    FOR_TURNS(j, turn) {
        if (LAST_BY_ALL && turn + 1 == end) break;
        tile_at t = place(j, turn);
        float2 s[8];
        #pragma unroll
        for (int e = 0; e < 8; e++) s[e] = make_float2(0, 0);
        #pragma unroll 1
        for (int m = 0; m < 2; m++, at.step()) {
            half_tile h = half_of(j, t, r, at.slot, m, cell);
            barrier_wait(r.c_full + 8 * at.slot, at.parity);
            if (t.real && first < C_STRIPES) write_part<RESULT == 1, C_STRIPES>(h, first, s);
            if (RESULT == 1 && m == 1) write_sums<FINISHERS_MEET, 32 * FINISHERS, C_STRIPES>(j, t, (float2 *)(halves + at.slot * C_BYTES), finisher, s);
            __syncwarp();
            if (finisher % 32 == 0) barrier_arrive(r.c_free + 8 * at.slot);
        }
    }
}

#define LAST_MOST (MULTIPLIERS / C_CELLS)
#define LAST_AT_ONCE (LAST_MOST >= 32 ? 32 : LAST_MOST >= 16 ? 16 : 8)
static __device__ __forceinline__ void finish_last(const lt_conv_job &j, const rings &r, unsigned char *halves, ring<C_STAGES> at, int t)
{
    tile_at last = place(j, first_turn(j, blockIdx.x / 2 + 1) - 1);
    int cell = t % C_CELLS, first = t / C_CELLS;
    float2 s[8];
    #pragma unroll
    for (int e = 0; e < 8; e++) s[e] = make_float2(0, 0);
    meet<MULTIPLIERS_MEET, MULTIPLIERS>(); /* both groups have handed over */
    unsigned char *left = halves + at.slot * C_BYTES;
    for (int m = 0; m < 2; m++, at.step())
        if (last.real && first < LAST_AT_ONCE) write_part<RESULT == 1, LAST_AT_ONCE>(half_of(j, last, r, at.slot, m, cell), first, s);
    if (RESULT == 1) write_sums<MULTIPLIERS_MEET, MULTIPLIERS, LAST_AT_ONCE>(j, last, (float2 *)left, t, s);
}

static __device__ __forceinline__ void multiply(const lt_conv_job &j, const rings &r, unsigned char *halves)
{
    ring<A_STAGES> at_a;
    ring<B_STAGES> at_b;
    ring<C_STAGES> at_c, last;
    int group = threadIdx.x / 128 - 1;
    sums_of_tile c;
    FOR_TURNS(j, turn) {
        multiply_tile(j, c, group, r, at_a, at_b);
        last = at_c;
        hand_over(c, group, r, at_c);
    }
    if (LAST_BY_ALL) finish_last(j, r, halves, last, threadIdx.x - 128);
}

#if RESULT == 1
/* How many of this block's turns are tiles of a sample. */
static __device__ __forceinline__ int turns_of(const lt_conv_job &j, int turn, int end, int sample)
{
    int per_sample = j.tiles_wide * j.tiles_wide, odd = 1 - (int)(blockIdx.x % 2);
    int from = (sample * per_sample + odd) / 2 * j.blocks_n, to = ((sample + 1) * per_sample + odd) / 2 * j.blocks_n;
    return min(end, to) - max(turn, from);
}

/* The block that writes a sample's last tile makes its norms, with the threads that multiplied before. All samples of
   the block are asked about at once: nothing else is left to do while the answers are on their way. */
enum { ASKED = 32 };
static __device__ __forceinline__ void settle_norms(const lt_conv_job &j, sums_scratch &scratch, int t)
{
    __shared__ bool is_last[ASKED];
    int turn = first_turn(j, blockIdx.x / 2), end = first_turn(j, blockIdx.x / 2 + 1);
    if (turn >= end) return;
    int first = place(j, turn).sample, last = place(j, end - 1).sample;
    for (; first <= last; first += ASKED) {
        int n = min(ASKED, last - first + 1);
        if (t < n) {
            int sample = first + t, done = turns_of(j, turn, end, sample);
            __threadfence();
            is_last[t] = done > 0 && atomicAdd(j.own.counts + sample, (u32)done) + done == (u32)(j.own.tiles * j.blocks_n);
            __threadfence();
            if (is_last[t]) j.own.counts[sample] = 0; /* for the next launch: nothing waits for it */
        }
        meet<MULTIPLIERS_MEET, MULTIPLIERS>();
        for (int i = 0; i < n; i++)
            if (is_last[i]) make_norms<MULTIPLIERS_MEET, MULTIPLIERS>(j.own, first + i, scratch, t);
        if (first + ASKED <= last) meet<MULTIPLIERS_MEET, MULTIPLIERS>(); /* before is_last is written again */
    }
}
#endif

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(THREADS, 1) conv(const lt_conv_job *job, const float *state)
{
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ u64 barriers[2 * (A_STAGES + B_STAGES + C_STAGES)];
    __shared__ norm_table table;
    unsigned char *halves = shared + A_STAGES * A_BYTES + B_STAGES * B_BYTES;
    rings r;
    r.a = shared_address(shared), r.b = r.a + A_STAGES * A_BYTES, r.c = r.b + B_STAGES * B_BYTES;
    r.a_full = shared_address(barriers), r.a_free = r.a_full + 8 * A_STAGES, r.b_full = r.a_free + 8 * A_STAGES, r.b_free = r.b_full + 8 * B_STAGES;
    r.c_full = r.b_free + 8 * B_STAGES, r.c_free = r.c_full + 8 * C_STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < A_STAGES; i++) barrier_set(r.a_full + 8 * i, CARRIERS), barrier_set(r.a_free + 8 * i, 2);
        for (int i = 0; i < B_STAGES; i++) barrier_set(r.b_full + 8 * i, 1), barrier_set(r.b_free + 8 * i, 4);
        for (int i = 0; i < C_STAGES; i++) barrier_set(r.c_full + 8 * i, 8), barrier_set(r.c_free + 8 * i, FINISHERS);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    pair_arrives(); /* to know the barriers of both */
    __shared__ lt_conv_job j;
    if (threadIdx.x < sizeof j / 4) ((u32 *)&j)[threadIdx.x] = ((const u32 *)job)[threadIdx.x];
    __syncthreads();
    int warpgroup = threadIdx.x / 128, other = threadIdx.x - (warpgroup ? 256 : 0);
    bool multiplies = warpgroup == 1 || warpgroup == 2;
#if SOURCE != 2
    if (threadIdx.x < BUT_FETCHER) {
        tile_at first = place(j, first_turn(j, blockIdx.x / 2));
        first_cells cells;
        cells.load(j, first, multiplies ? CARRIERS + threadIdx.x - 128 : other < CARRIERS ? other : BRINGERS);
        if (SOURCE == 1) load_norms<FIRST_MEET, BUT_FETCHER>(j.norm, first.sample, table, threadIdx.x); /* while pixels are on their way */
        cells.put(table, r);
        meet<FIRST_MEET, BUT_FETCHER>();
    }
#endif
    pair_waits();
    if (multiplies) {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(MULTIPLIER_REGISTERS));
        multiply(j, r, halves);
#if RESULT == 1
        meet<ALL_WRITTEN, MULTIPLIERS + 32 * FINISHERS>();
        settle_norms(j, *(sums_scratch *)shared, threadIdx.x - 128);
#endif
    } else {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(OTHER_REGISTERS));
        if (other < CARRIERS) {
#if SOURCE == 2
            bring_pixels(j, state, table, r, other);
#else
            barrier_arrive(r.a_full); /* the first chunk is there */
            bring_pixels(j, table, r, other);
#endif
        } else if (other < CARRIERS + 32 * FINISHERS) {
            finish(j, r, halves, other - CARRIERS);
#if RESULT == 1
            meet<ALL_WRITTEN, MULTIPLIERS + 32 * FINISHERS>();
#endif
        } else if (threadIdx.x == BUT_FETCHER) {
            bring_weights(j, r);
        }
    }
    __syncwarp();
    pair_meets(); /* the other block may still be writing here */
}
