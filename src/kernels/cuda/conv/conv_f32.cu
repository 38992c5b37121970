/* Convolutions in plain f32: a product of pixels (rows) and output channels, over taps and channels. SPDX-License-Identifier: BSD-3-Clause

   A block computes PIXELS x OUTPUTS results, a thread 8 x 8 of them. Slices of DEPTH steps of the sum come through
   shared memory, STAGES of them on their way or in use: pixels as [step][pixel], gathered element by element, zero where
   a tap lies outside; weights as [step][output], from what `turn` made of them. Every result adds up its steps in order
   by fused multiply-adds: its bits depend neither on the tile nor on what else is computed.

   X: what is read (the gradient of y in a transposed convolution), Y: what is written; steps XS, YS are those of image,
   channel, row and column. Pixel (y, z) of Y meets, under tap (r, q), pixel (y SH + Y0 + r DY, z SW + Z0 + q DZ) of X. */
enum : i32 {
    STEPS = TAPS * C, /* of a sum */
    SLICES = (STEPS + DEPTH - 1) / DEPTH,
    THREADS = PIXELS * OUTPUTS / 64,
    LANES_O = OUTPUTS < 64 ? OUTPUTS / 8 : 8, LANES_P = 32 / LANES_O, WARPS_O = OUTPUTS < 64 ? 1 : OUTPUTS / 64,
    X_STEP = PIXELS + 4, /* between steps: 8 steps of 4 pixels lie in different banks */
    STAGE = DEPTH * (X_STEP + OUTPUTS),
    TILE_STEP = (LAST ? OUTPUTS : PIXELS) + 4,
    ALL_PIXELS = N * H * W
};
typedef pack<f32, 4> quad;

/* Weights as [tap][channel][output], zero up to whole slices and tiles. */
extern "C" __global__ void __launch_bounds__(256) turn(const f32 *w, f32 *turned)
{
    lt_wait();
    i32 i = blockIdx.x * 256 + threadIdx.x, step = i / O_ROOM, o = i % O_ROOM, tap = step / C, c = step % C;
    if (step < SLICES * DEPTH) turned[i] = step < STEPS && o < O ? w[(i64)o * WS_O + (i64)c * WS_C + tap] : 0;
}

/* ---- Copies to shared memory that are waited for later ---- */
#if __CUDA_ARCH__ >= 800
/* Nothing is read outside: where `from` points does not matter then. */
inline void copy1(f32 *to, const f32 *from, bool inside)
{
    asm volatile("{ .reg .pred p; setp.eq.s32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from), "r"((i32)inside));
}
inline void copy4(f32 *to, const f32 *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from));
}
inline void close_group() { asm volatile("cp.async.commit_group;"); }
template <int LATER> void wait_groups() { asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory"); }
#else
inline void copy1(f32 *to, const f32 *from, bool inside) { *to = inside ? *from : 0; }
inline void copy4(f32 *to, const f32 *from) { *(quad *)to = *(const quad *)from; }
inline void close_group() {}
template <int LATER> void wait_groups() {}
#endif

/* Where each tap finds the pixels of this block in X; -1: outside. */
inline void fill_places(i32 *place, i32 first)
{
    for (i32 i = threadIdx.x; i < TAPS * PIXELS; i += THREADS) {
        i32 p = first + i % PIXELS, tap = i / PIXELS, n = p / (H * W), at = p % (H * W);
        i32 y = at / W * SH + Y0 + tap / KW * DY, z = at % W * SW + Z0 + tap % KW * DZ;
        place[i] = p < ALL_PIXELS && y >= 0 && y < XH && z >= 0 && z < XW ? n * XS0 + y * XS2 + z * XS3 : -1;
    }
}

/* ---- One slice ---- */
/* A thread copies steps STEP_STEP apart of pixels PIXEL_STEP apart: neighbours in a warp take what lies side by side in X. */
enum : i32 {
    STEP_STEP = LAST ? 8 : THREADS > PIXELS ? THREADS / PIXELS : 1, OWN_STEPS = DEPTH / STEP_STEP,
    PIXEL_STEP = LAST ? THREADS / 8 : THREADS, OWN_PIXELS = PIXELS * DEPTH / THREADS / OWN_STEPS
};

/* All steps of a slice are channels of one tap where channels are multiples of DEPTH; else each looks up its own. */
inline void look_up(i32 (&at)[OWN_PIXELS], const i32 *place, i32 step)
{
    _Pragma("unroll") for (i32 j = 0; j < OWN_PIXELS; j++) at[j] = step < STEPS ? place[step / C * PIXELS + j * PIXEL_STEP] : -1;
}

inline void fetch_pixels(f32 *to, const f32 *x, const i32 *place, i32 slice)
{
    const i32 t = threadIdx.x, own_s = LAST ? t % 8 : t / PIXELS, own_p = LAST ? t / 8 : t % PIXELS;
    const bool one_tap = C % DEPTH == 0;
    i32 at[OWN_PIXELS];
    to += own_s * X_STEP + own_p;
    place += own_p;
    if (one_tap) look_up(at, place, slice * DEPTH);
    _Pragma("unroll") for (i32 i = 0; i < OWN_STEPS; i++) {
        const i32 step = slice * DEPTH + own_s + i * STEP_STEP;
        const f32 *channel = x + (one_tap ? slice * DEPTH % C + own_s : step % C) * XS1;
        if (!one_tap) look_up(at, place, step);
        _Pragma("unroll") for (i32 j = 0; j < OWN_PIXELS; j++)
            copy1(to + i * STEP_STEP * X_STEP + j * PIXEL_STEP, channel + at[j] + (one_tap ? i * STEP_STEP * XS1 : 0), at[j] >= 0);
    }
}

inline void fetch_weights(f32 *to, const f32 *turned, i32 slice)
{
    const i32 t = threadIdx.x, o = t % (OUTPUTS / 4) * 4, s = t / (OUTPUTS / 4);
    const f32 *from = turned + (slice * DEPTH + s) * O_ROOM + o;
    _Pragma("unroll") for (i32 i = 0; i < DEPTH * 16 / PIXELS; i++) copy4(to + (s + i * (PIXELS / 16)) * OUTPUTS + o, from + i * (PIXELS / 16) * O_ROOM);
}

/* Groups are closed when there is nothing left to fetch, too: waiting counts them. */
inline void fetch(f32 *room, const f32 *x, const f32 *turned, const i32 *place, i32 slice)
{
    f32 *to = room + slice % STAGES * STAGE;
    if (slice < SLICES) {
        fetch_pixels(to, x, place, slice);
        fetch_weights(to + DEPTH * X_STEP, turned, slice);
    }
    close_group();
}

inline void multiply(f32 (&sum)[8][8], const f32 *xs, const f32 *ws)
{
    _Pragma("unroll") for (i32 s = 0; s < DEPTH; s++) {
        quad a[2], b[2];
        _Pragma("unroll") for (i32 h = 0; h < 2; h++) {
            a[h] = *(const quad *)(xs + s * X_STEP + h * (PIXELS / 2));
            b[h] = *(const quad *)(ws + s * OUTPUTS + h * (OUTPUTS / 2));
        }
        _Pragma("unroll") for (i32 i = 0; i < 8; i++)
            _Pragma("unroll") for (i32 j = 0; j < 8; j++) sum[i][j] = __fmaf_rn(a[i / 4].e[i % 4], b[j / 4].e[j % 4], sum[i][j]);
    }
}

/* ---- Results ---- */
/* Through shared memory, so that what lies side by side in Y is written together and what follows is one short loop. */
inline void put_tile(f32 *tile, const f32 (&sum)[8][8], i32 p, i32 o)
{
    _Pragma("unroll") for (i32 i = 0; i < 8; i++)
        _Pragma("unroll") for (i32 h = 0; h < 2; h++) {
            quad q;
            _Pragma("unroll") for (i32 v = 0; v < 4; v++) q.e[v] = LAST ? sum[i][h * 4 + v] : sum[h * 4 + v][i];
            const i32 at = (i / 4 * (LAST ? PIXELS : OUTPUTS) / 2 + i % 4 + (LAST ? p : o)) * TILE_STEP + (LAST ? o : p) + h * (LAST ? OUTPUTS : PIXELS) / 2;
            *(quad *)(tile + at) = q;
        }
}

template <int V> void store_tile(const f32 *tile, i32 first, i32 first_o, f32 *out FINISH_PARAMETERS)
{
    enum : i32 { ROW = (LAST ? OUTPUTS : PIXELS) / V };
    _Pragma("unroll 2") for (i32 u = threadIdx.x; u < PIXELS * OUTPUTS / V; u += THREADS) {
        const i32 row = u / ROW, column = u % ROW * V, p = first + (LAST ? row : column), o = first_o + (LAST ? column : row);
        if (p >= ALL_PIXELS || o >= O) continue;
        const i64 at = (i64)(p / (H * W)) * YS0 + (i64)(p % (H * W)) * YS3 + (i64)o * YS1;
        pack<f32, V> q = *(const pack<f32, V> *)(tile + row * TILE_STEP + column);
        _Pragma("unroll") for (i32 v = 0; v < V; v++) q.e[v] = finish(q.e[v], at + v, LAST ? o + v : o FINISH_ARGUMENTS);
        *(pack<f32, V> *)(out + at) = q;
    }
}

extern __shared__ double2 memory[];

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) conv(const f32 *x, const f32 *turned, f32 *out FINISH_PARAMETERS)
{
    lt_wait();
    f32 *room = (f32 *)memory;
    i32 *place = (i32 *)(room + STAGES * STAGE);
    const i32 first = blockIdx.x / (O_ROOM / OUTPUTS) * PIXELS, first_o = blockIdx.x % (O_ROOM / OUTPUTS) * OUTPUTS;
    /* Neighbours by the lowest bit differ in outputs alone, by the next in pixels alone: reads of a warp that meet are served together. */
    const i32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, by_o = (lane & 1) | (lane >> 1 & 2), by_p = lane >> 1 & 1 | (lane >> 2 & 2);
    const i32 lane_o = LANES_O == 8 ? by_o | (lane >> 2 & 4) : by_o, lane_p = LANES_O == 8 ? by_p : by_p | (lane >> 2 & 4);
    const i32 p = (warp / WARPS_O * LANES_P + lane_p) * 4, o = (warp % WARPS_O * LANES_O + lane_o) * 4;
    f32 sum[8][8] = {};
    fill_places(place, first);
    __syncthreads();
    for (i32 s = 0; s < STAGES - 1; s++) fetch(room, x, turned + first_o, place, s);
    for (i32 slice = 0; slice < SLICES; slice++) {
        const f32 *stage = room + slice % STAGES * STAGE;
        wait_groups<STAGES - 2>();
        __syncthreads(); /* this slice has arrived, and all threads are done with the one before */
        fetch(room, x, turned + first_o, place, slice + STAGES - 1);
        multiply(sum, stage + p, stage + DEPTH * X_STEP + o);
    }
    __syncthreads();
    put_tile(room, sum, p, o);
    __syncthreads();
    const bool whole = (LAST ? O : H * W) % 4 == 0 && fits<f32, 4>(out);
    if (whole) store_tile<4>(room, first, first_o, out FINISH_ARGUMENTS);
    else store_tile<1>(room, first, first_o, out FINISH_ARGUMENTS);
}
