/* Convolutions on the tensor cores of every card since Ampere, with what surrounds them inside (decision 371).
   SPDX-License-Identifier: BSD-3-Clause

   A block makes 16 x 16 pixels of TILE_N channels, tile after tile, by eight warps: four along the pixels, each with four lines of 16,
   and two along the channels. Pixels with their rim come into shared memory chunk by chunk of channels: loaded to registers while the
   chunk before is multiplied, normalised, activated and put away between its taps. Weights of a tap come by copies that run by themselves,
   B_STAGES of them on their way or in use. Shared memory holds cells of 16 bytes; a plane of cells is all pixels of a tile with rim, so
   that every tap is the same matrix at another address, and 16 bytes of a row are what a matrix of ldmatrix has, whatever the type:
   only the product itself knows whether cells hold eight numbers or four.

   The host orders the weights so that a lane ends with 2 FRAGMENTS channels that follow each other (pack.cu).

   Follows cells.cuh and barriers.cuh. Defined by the host: NUMBERS, which are multiplied, STORES, those of the result (only the stem has others:
   it reads the state in single precision, which a first normalisation would magnify the rounding of), KERNEL (odd), CHUNK (channels, an even number of cells), TILE_N (16, 32,
   48 or 64), B_STAGES (3 or more), RESIDENT blocks of a core,
   SOURCE: 0 a map as it is, 1 a map to be normalised and activated, 2 the state, STEM x STEM pixels of
           three planes as channels (then KERNEL is 1),
   RESULT: 0 the map alone, 1 and its norms, 2 added to the map that is there, which is normalised and activated,
   WRAP: 1 the field continues on the other side, 0 zeros around it. */
#define STORES_SINGLE (STORES >= 2)
enum { THREADS = 256, WARPS_N = 2, WARPS_M = 4, LINES = 4, FRAGMENTS = TILE_N / (8 * WARPS_N), OWN = 2 * FRAGMENTS };
enum { RIM = KERNEL / 2, PITCH = 16 + KERNEL - 1, PIXELS = PITCH * PITCH, TAPS = KERNEL * KERNEL, PLANES = CHUNK / CELL };
/* The cells behind a plane spread those that are put at once over the banks. */
enum { PLANE = (PIXELS * 16 + 127) / 128 * 128 + (PLANES <= 2 ? 64 : PLANES <= 4 ? 32 : 16) };
enum { A_BYTES = (PLANES * PLANE + 127) / 128 * 128, B_BYTES = PLANES * TILE_N * 16 };
enum { AT_ONCE = THREADS / PLANES /* pixels */, ROUNDS = (PIXELS + AT_ONCE - 1) / AT_ONCE, ROUNDS_PER_TAP = (ROUNDS + TAPS - 1) / TAPS };
static_assert(ROUNDS <= 32, "a bit each");

/* ---- work: a block takes neighbours in a row, which mostly belong to one sample ---- */
struct tile_at { int sample, y, x, index, block_n; }; /* index: in its sample */
static __device__ __forceinline__ int tiles_of_sample(const lt_conv_job &j) { return j.tiles_wide * j.tiles_wide; }
static __device__ __forceinline__ tile_at place(const lt_conv_job &j, int turn)
{
    int tile = turn / j.blocks_n, index = tile % tiles_of_sample(j);
    return tile_at{ tile / tiles_of_sample(j), index / j.tiles_wide * 16, index % j.tiles_wide * 16, index, turn % j.blocks_n };
}
static __device__ __forceinline__ int first_turn(const lt_conv_job &j, int block)
{
    int blocks = (int)gridDim.x, turns = j.samples * tiles_of_sample(j) * j.blocks_n;
    return turns / blocks * block + min(turns % blocks, block);
}

/* ---- copies that run by themselves ---- */
static __device__ __forceinline__ void copy_cell(u32 to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory"); }
static __device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> static __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" :: "n"(LATER) : "memory"); }

/* Weights, piece after piece: a tap of a chunk. Without any left, groups are empty, so that waiting stays the same. */
struct weights_ahead {
    const unsigned char *from; /* of the turn */
    int turn, end, piece, pieces, slot;
    __device__ void begin(const lt_conv_job &j, int first, int last)
    {
        turn = first, end = last, piece = slot = 0, pieces = j.chunks * TAPS;
        from = j.weights + (i64)(turn % j.blocks_n) * pieces * B_BYTES;
    }
    __device__ void fetch(const lt_conv_job &j, u32 ring)
    {
        if (turn < end) {
            for (int i = threadIdx.x; i < B_BYTES / 16; i += THREADS) copy_cell(ring + slot * B_BYTES + i * 16, from + (i64)piece * B_BYTES + i * 16);
            if (++piece == pieces) piece = 0, turn++, from = j.weights + (i64)(turn % j.blocks_n) * pieces * B_BYTES;
            if (++slot == B_STAGES) slot = 0;
        }
        close_copies();
    }
};

/* ---- bringing pixels ---- */
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
#define SEEN (16 + STEM - 1) /* pixels along one side */
/* The state around a tile; a thread keeps to one cell of a chunk: neighbours of a pixel, at places that do not change from pixel to pixel. */
struct bringer {
    float (&seen)[3 * SEEN * SEEN];
    int from[CELL];
    int next, left;
    u32 to;
    /* Nobody reads what was seen before any more. */
    __device__ void fetch(const lt_conv_job &j, const float *state, tile_at t, int chunk, u32 buffer)
    {
        const float *planes = state + (i64)t.sample * 3 * j.grid * j.grid;
        for (int i = threadIdx.x; chunk == 0 && i < 3 * SEEN * SEEN; i += THREADS) {
            int y = in_field(t.y - STEM / 2 + i / SEEN % SEEN, j.grid), x = in_field(t.x - STEM / 2 + i % SEEN, j.grid);
            seen[i] = y >= 0 && x >= 0 ? planes[(i / (SEEN * SEEN) * j.grid + y) * j.grid + x] : 0.f;
        }
        if (chunk == 0) __syncthreads();
        int plane = threadIdx.x % PLANES, first = threadIdx.x / PLANES;
        #pragma unroll
        for (int e = 0; e < CELL; e++) {
            int i = chunk * CHUNK + plane * CELL + e, tap = i % (STEM * STEM);
            from[e] = i < 3 * STEM * STEM ? (i / (STEM * STEM) * SEEN + tap / STEM) * SEEN + tap % STEM : -1;
        }
        next = first < AT_ONCE ? first : PIXELS;
        left = ROUNDS;
        to = buffer + plane * PLANE + first * 16;
    }
    __device__ void put_one()
    {
        const float *corner = seen + next / 16 * SEEN + next % 16;
        cell c;
        if (next < PIXELS) {
            #pragma unroll
            for (int e = 0; e < CELL; e++) c.v[e] = from[e] < 0 ? 0.f : corner[from[e]];
            put_cell(to, close_factors(c));
        }
        left--, next += AT_ONCE, to += AT_ONCE * 16;
    }
};
#else
struct bringer {
    uint4 v[ROUNDS];              /* those that are left, the next one first */
    u32 inside;
    cell_norms norms;
    int next, left;
    u32 to;
    __device__ void fetch(const lt_conv_job &j, const float *, tile_at t, int chunk, u32 buffer)
    {
        int plane = threadIdx.x % PLANES, first = threadIdx.x / PLANES, grid = j.grid;
        const uint4 *base = j.source + ((i64)t.sample * grid * grid * j.in_c + chunk * CHUNK) / CELL + plane;
        inside = 0;
        #pragma unroll
        for (int n = 0; n < ROUNDS; n++) {
            int p = first + n * AT_ONCE, y = in_field(t.y - RIM + p / PITCH, grid), x = in_field(t.x - RIM + p % PITCH, grid);
            v[n] = make_uint4(0, 0, 0, 0);
            if (first < AT_ONCE && p < PIXELS && y >= 0 && x >= 0 && y < grid && x < grid) v[n] = base[(i64)(y * grid + x) * (j.in_c / CELL)], inside |= 1u << n;
        }
        if (SOURCE == 1) norms = load_cell_norms(norms_of(j.norm, t.sample) + chunk * CHUNK + plane * CELL);
        next = first < AT_ONCE ? first : PIXELS;
        left = ROUNDS;
        to = buffer + plane * PLANE + first * 16;
    }
    /* What lies outside is zero after the activation. The rest moves up: which cell is the next must be known to the compiler. */
    __device__ void put_one()
    {
        uint4 w = v[0];
        if (SOURCE == 1) w = inside & 1 ? close_factors(finish_cell(w, norms)) : make_uint4(0, 0, 0, 0);
        else if (NUMBERS == 2) w = close_factors(open_cell(w));
        if (next < PIXELS) put_cell(to, w);
        #pragma unroll
        for (int n = 0; n + 1 < ROUNDS; n++) v[n] = v[n + 1];
        inside >>= 1;
        left--, next += AT_ONCE, to += AT_ONCE * 16;
    }
};
#endif
template <int MOST> static __device__ __forceinline__ void put_some(bringer &b)
{
    #pragma unroll
    for (int n = 0; n < MOST; n++)
        if (b.left > 0) b.put_one();
}

/* ---- multiplying ---- */
/* Four matrices of eight rows of 16 bytes: lane 8 i + r says where row r of the i-th lies, and lane 4 r + q gets four bytes of row r of each. */
static __device__ __forceinline__ void load_four(u32 at, u32 &a, u32 &b, u32 &c, u32 &d)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
}
static __device__ __forceinline__ void load_two(u32 at, u32 &a, u32 &b)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
}

struct factors { u32 a[LINES][4], b[FRAGMENTS][2]; }; /* of a step: two cells along the sum */
struct sums { float v[LINES][FRAGMENTS][4]; };

static __device__ __forceinline__ void clear(sums &c)
{
    #pragma unroll
    for (int m = 0; m < LINES; m++)
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i++)
            #pragma unroll
            for (int e = 0; e < 4; e++) c.v[m][i][e] = 0.f;
}

#if SINGLE
/* Four channels: c += a b with digits beyond those of TF32 cut off. */
static __device__ __forceinline__ void multiply_single(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
#if NUMBERS == 3
/* x = high + low but for its last bits: both are numbers of TF32. */
template <int N> static __device__ __forceinline__ void part(const u32 (&x)[N], u32 (&high)[N], u32 (&low)[N])
{
    #pragma unroll
    for (int i = 0; i < N; i++) {
        high[i] = to_tf32(__uint_as_float(x[i]));
        low[i] = to_tf32(__uint_as_float(x[i]) - __uint_as_float(high[i]));
    }
}
#endif

static __device__ __forceinline__ void multiply_factors(sums &c, const factors &f)
{
#if NUMBERS == 3
    u32 b_high[FRAGMENTS][2], b_low[FRAGMENTS][2];
    #pragma unroll
    for (int i = 0; i < FRAGMENTS; i++) part(f.b[i], b_high[i], b_low[i]);
#endif
    #pragma unroll
    for (int m = 0; m < LINES; m++) {
#if NUMBERS == 3
        u32 high[4], low[4];
        part(f.a[m], high, low);
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i++) multiply_single(c.v[m][i], low, b_high[i]);
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i++) multiply_single(c.v[m][i], high, b_low[i]);
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i++) multiply_single(c.v[m][i], high, b_high[i]);
#else
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i++) {
#if NUMBERS == 2
            multiply_single(c.v[m][i], f.a[m], f.b[i]);
#else
            multiply_rows(c.v[m][i], f.a[m][0], f.a[m][1], f.a[m][2], f.a[m][3], f.b[i][0], f.b[i][1]);
#endif
        }
#endif
    }
}

/* Places of this lane's rows: of pixels (line 0 of the warp, no tap) in a buffer, of weights in a slot. */
struct rows_at { u32 pixels, weights; };
static __device__ __forceinline__ rows_at own_rows()
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, m = warp / WARPS_N, n = warp % WARPS_N;
    return rows_at{ (u32)(lane / 16 * PLANE + (m * LINES * PITCH + lane % 16) * 16), (u32)((lane / 8 % 2 * TILE_N + n * 8 * FRAGMENTS + lane / 16 * 8 + lane % 8) * 16) };
}

static __device__ __forceinline__ void multiply_tap(sums &c, u32 pixels, u32 weights)
{
    #pragma unroll
    for (int k = 0; k < PLANES / 2; k++) {
        factors f;
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i += 2) {
            u32 at = weights + (2 * k * TILE_N + i * 8) * 16;
            if (i + 1 < FRAGMENTS) load_four(at, f.b[i][0], f.b[i][1], f.b[(i + 1) % FRAGMENTS][0], f.b[(i + 1) % FRAGMENTS][1]);
            else load_two(at, f.b[i][0], f.b[i][1]);
        }
        #pragma unroll
        for (int m = 0; m < LINES; m++) load_four(pixels + 2 * k * PLANE + m * PITCH * 16, f.a[m][0], f.a[m][1], f.a[m][2], f.a[m][3]);
        multiply_factors(c, f);
    }
}

/* Tensor cores cut off what a sum has no room for, always towards zero. Of single precision only the products of one tap are added
   so; the rest is added with rounding. */
static __device__ __forceinline__ void add_tap(sums &c, u32 pixels, u32 weights)
{
#if NUMBERS == 3
    sums d;
    clear(d);
    multiply_tap(d, pixels, weights);
    #pragma unroll
    for (int m = 0; m < LINES; m++)
        #pragma unroll
        for (int i = 0; i < FRAGMENTS; i++)
            #pragma unroll
            for (int e = 0; e < 4; e++) c.v[m][i][e] += d.v[m][i][e];
#else
    multiply_tap(c, pixels, weights);
#endif
}

/* ---- finishing a tile ---- */
/* OWN channels of a pixel. */
struct own_channels { float v[OWN]; };
struct own_norms { float scale[OWN], shift[OWN]; };

/* So many at once as their place allows. */
enum { OWN_WORDS = STORES_SINGLE ? OWN : FRAGMENTS };
struct own_words { u32 w[OWN_WORDS]; };
static __device__ __forceinline__ void store_words(u32 *to, const own_words &x)
{
    if (OWN_WORDS % 4 == 0)
        #pragma unroll
        for (int i = 0; i + 3 < OWN_WORDS; i += 4) *(uint4 *)(to + i) = make_uint4(x.w[i], x.w[i + 1], x.w[i + 2], x.w[i + 3]);
    else if (OWN_WORDS % 2 == 0)
        #pragma unroll
        for (int i = 0; i + 1 < OWN_WORDS; i += 2) *(uint2 *)(to + i) = make_uint2(x.w[i], x.w[i + 1]);
    else
        #pragma unroll
        for (int i = 0; i < OWN_WORDS; i++) to[i] = x.w[i];
}
static __device__ __forceinline__ own_words load_words(const u32 *from)
{
    own_words x;
    if (OWN_WORDS % 2 == 0)
        #pragma unroll
        for (int i = 0; i + 1 < OWN_WORDS; i += 2) {
            uint2 two = *(const uint2 *)(from + i);
            x.w[i] = two.x, x.w[i + 1] = two.y;
        }
    else
        #pragma unroll
        for (int i = 0; i < OWN_WORDS; i++) x.w[i] = from[i];
    return x;
}
static __device__ __forceinline__ own_channels open_own(const own_words &from)
{
    own_channels x;
    #pragma unroll
    for (int e = 0; e < OWN; e += 2) {
#if STORES_SINGLE
        x.v[e] = __uint_as_float(from.w[e]), x.v[e + 1] = __uint_as_float(from.w[e + 1]);
#else
        float2 two = unpack(from.w[e / 2]);
        x.v[e] = two.x, x.v[e + 1] = two.y;
#endif
    }
    return x;
}
static __device__ __forceinline__ own_words close_own(const own_channels &x)
{
    own_words to;
    #pragma unroll
    for (int e = 0; e < OWN; e += 2) {
#if STORES_SINGLE
        to.w[e] = __float_as_uint(x.v[e]), to.w[e + 1] = __float_as_uint(x.v[e + 1]);
#else
        to.w[e / 2] = pack(x.v[e], x.v[e + 1]);
#endif
    }
    return to;
}

/* A lane's sums and squares, and then those of the eight lanes that have the same channels. */
struct own_sums { float s[OWN], q[OWN]; };
static __device__ __forceinline__ void fold_lanes(own_sums &all)
{
    #pragma unroll
    for (int d = 4; d < 32; d *= 2)
        #pragma unroll
        for (int e = 0; e < OWN; e++) all.s[e] += __shfl_xor_sync(~0u, all.s[e], d), all.q[e] += __shfl_xor_sync(~0u, all.q[e], d);
}

struct tile_sums { float2 of_warp[WARPS_M][TILE_N]; };
/* In an order that does not depend on anything else: runs repeat to the bit. */
static __device__ __forceinline__ void write_sums(const lt_conv_job &j, tile_at t, tile_sums &table, own_sums &mine)
{
    int lane = threadIdx.x % 32, m = threadIdx.x / 32 / WARPS_N, n = threadIdx.x / 32 % WARPS_N;
    fold_lanes(mine);
    if (lane < 4)
        #pragma unroll
        for (int e = 0; e < OWN; e++) table.of_warp[m][n * 8 * FRAGMENTS + lane * OWN + e] = make_float2(mine.s[e], mine.q[e]);
    __syncthreads();
    float2 *to = j.own.sums + ((i64)t.sample * j.own.tiles + t.index) * j.out_c + t.block_n * TILE_N;
    if (threadIdx.x < TILE_N) {
        float2 all = make_float2(0.f, 0.f);
        #pragma unroll
        for (int w = 0; w < WARPS_M; w++) all.x += table.of_warp[w][threadIdx.x].x, all.y += table.of_warp[w][threadIdx.x].y;
        to[threadIdx.x] = all;
    }
}

/* Lane 4 r + q holds, of pixels r and r + 8 of a line, channels 2 q and 2 q + 1 of each fragment: OWN that follow each other. */
static __device__ __forceinline__ void finish_tile(const lt_conv_job &j, tile_at t, const sums &c, tile_sums &table)
{
    int lane = threadIdx.x % 32, m = threadIdx.x / 32 / WARPS_N, n = threadIdx.x / 32 % WARPS_N, channel = t.block_n * TILE_N + n * 8 * FRAGMENTS + lane % 4 * OWN;
    own_sums mine;
    own_norms norms;
    #pragma unroll
    for (int e = 0; e < OWN; e++) {
        mine.s[e] = mine.q[e] = 0.f;
        if (RESULT == 2) norms.scale[e] = norms_of(j.norm, t.sample)[channel + e].x, norms.shift[e] = norms_of(j.norm, t.sample)[channel + e].y;
    }
    #pragma unroll
    for (int line = 0; line < LINES; line++)
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            int y = t.y + m * LINES + line, x = t.x + 8 * h + lane / 4;
            if (y >= j.grid || x >= j.grid) continue;
            u32 *to = (u32 *)j.result + ((i64)(t.sample * j.grid + y) * j.grid + x) * (j.out_c * OWN_WORDS / OWN) + channel * OWN_WORDS / OWN;
            own_channels v, before;
            if (RESULT == 2) before = open_own(load_words(to));
            #pragma unroll
            for (int e = 0; e < OWN; e++) {
                v.v[e] = c.v[line][e / 2][2 * h + e % 2];
                if (RESULT == 2) v.v[e] += activate_fully(fmaf(before.v[e], norms.scale[e], norms.shift[e]));
            }
            own_words rounded = close_own(v);
            store_words(to, rounded);
            v = open_own(rounded); /* what is normalised is what was written */
            #pragma unroll
            for (int e = 0; e < OWN; e++) mine.s[e] += v.v[e], mine.q[e] = fmaf(v.v[e], v.v[e], mine.q[e]);
        }
    if (RESULT == 1) write_sums(j, t, table, mine);
}

#if RESULT == 1
/* The block that writes a sample's last tile makes its norms. All samples of the block are asked about at once. */
enum { ASKED = 32, EVERYBODY = 1 };
static __device__ __forceinline__ void settle_norms(const lt_conv_job &j, sums_scratch &scratch, int turn, int end)
{
    __shared__ bool is_last[ASKED];
    int t = threadIdx.x, of_sample = tiles_of_sample(j) * j.blocks_n;
    if (turn >= end) return;
    __syncthreads(); /* all sums are written */
    for (int first = turn / of_sample, last = (end - 1) / of_sample; first <= last; first += ASKED) {
        int n = min(ASKED, last - first + 1);
        if (t < n) {
            int sample = first + t, done = min(end, (sample + 1) * of_sample) - max(turn, sample * of_sample);
            __threadfence();
            is_last[t] = atomicAdd(j.own.counts + sample, (u32)done) + done == (u32)of_sample;
            __threadfence();
            if (is_last[t]) j.own.counts[sample] = 0; /* for the next launch: nothing waits for it */
        }
        __syncthreads();
        for (int i = 0; i < n; i++)
            if (is_last[i]) make_norms<EVERYBODY, THREADS>(j.own, first + i, scratch, t);
        if (first + ASKED <= last) __syncthreads(); /* before is_last is written again */
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv(const lt_conv_job *job, const float *state)
{
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ tile_sums table;
    __shared__ lt_conv_job j;
    if (threadIdx.x < sizeof j / 4) ((u32 *)&j)[threadIdx.x] = ((const u32 *)job)[threadIdx.x];
    __syncthreads();
    int begin = first_turn(j, blockIdx.x), end = first_turn(j, blockIdx.x + 1), chunks = j.chunks, slot = 0;
    u32 a = shared_address(shared), b = a + 2 * A_BYTES, buffer = 0;
    rows_at rows = own_rows();
    weights_ahead weights;
    sums c;
#if SOURCE == 2
    __shared__ float seen[3 * SEEN * SEEN];
    bringer pixels = { seen };
#else
    bringer pixels;
#endif
    weights.begin(j, begin, end);
    for (int i = 0; i < B_STAGES - 1; i++) weights.fetch(j, b);
    if (begin < end) {
        pixels.fetch(j, state, place(j, begin), 0, a);
        put_some<ROUNDS>(pixels);
    }
    #pragma unroll 1
    for (int turn = begin; turn < end; turn++) {
        clear(c);
        #pragma unroll 1
        for (int chunk = 0; chunk < chunks; chunk++, buffer ^= 1) {
            bool more = chunk + 1 < chunks || turn + 1 < end; /* pixels to bring */
            u32 corner = a + buffer * A_BYTES + rows.pixels;
            #pragma unroll 1
            for (int y = 0; y < KERNEL; y++, corner += PITCH * 16)
                #pragma unroll 1
                for (int x = 0; x < KERNEL; x++) {
                    wait_copies<B_STAGES - 2>();
                    __syncthreads(); /* this tap's weights are there; nobody reads those before it, nor the other buffer */
                    weights.fetch(j, b);
                    if (y == 0 && x == 0 && more) pixels.fetch(j, state, place(j, chunk + 1 < chunks ? turn : turn + 1), chunk + 1 < chunks ? chunk + 1 : 0, a + (buffer ^ 1) * A_BYTES);
                    add_tap(c, corner + x * 16, b + slot * B_BYTES + rows.weights);
                    if (more) put_some<ROUNDS_PER_TAP>(pixels);
                    if (++slot == B_STAGES) slot = 0;
                }
        }
        finish_tile(j, place(j, turn), c, table);
    }
    wait_copies<0>();
#if RESULT == 1
    settle_norms(j, *(sums_scratch *)shared, begin, end);
#endif
}
