/* States of many rows: fused one-wire gates on chunks of amplitudes in shared memory.
   SPDX-License-Identifier: BSD-3-Clause

   A chunk is 4096 amplitudes: several small states, one state of 12 wires, or a part of a larger one.
   A thread holds 16 of them at a time and applies up to four gates before it writes them back; where
   the address is swizzled, no pass meets a bank conflict. All arithmetic is double; AMPLITUDE_T is what
   is stored. Stands behind states.cuh. */

#define LOCAL (Q < 12 ? Q : 12)               /* wires of a chunk */
#define CHUNK 4096
#define HELD (CHUNK / THREADS)
#define GROUP (Q < 4 ? 256 : CHUNK >> LOCAL)  /* states of a chunk: of small ones fewer than fit, so that their gates stay within 99 KiB */
#define PARTS (1ll << (Q - LOCAL))            /* chunks of a state */
#define LOW_BITS ((Q + 1) / 2)                /* of the address maps; as lt_ring_create has it */
#define NIBBLES ((Q + 3) / 4)
#define BY_TABLE (Q >= 8)                     /* product states from tables of four wires each */

static __device__ __forceinline__ int place(int e) { return e ^ ((e >> 4) & 7); }

static __device__ __forceinline__ void apply(const lt_su2 g, double2 &x, double2 &y)
{
    double xr = x.x, xi = x.y, yr = y.x, yi = y.y;
    x.x = g.ar * xr - g.ai * xi - g.br * yr - g.bi * yi;
    x.y = g.ar * xi + g.ai * xr - g.br * yi + g.bi * yr;
    y.x = g.br * xr - g.bi * xi + g.ar * yr + g.ai * yi;
    y.y = g.br * xi + g.bi * xr + g.ar * yi - g.ai * yr;
}

/* ---- gates of rows: (row, stage, wire) ---- */

static __device__ __forceinline__ lt_su2 product(lt_su2 a, lt_su2 b)
{
    lt_su2 g = { a.ar * b.ar - a.ai * b.ai - (a.br * b.br + a.bi * b.bi), a.ar * b.ai + a.ai * b.ar - (a.br * b.bi - a.bi * b.br),
              a.br * b.ar - a.bi * b.ai + (a.ar * b.br + a.ai * b.bi), a.br * b.ai + a.bi * b.ar + (a.ar * b.bi - a.ai * b.br) };
    return g;
}

/* kind: 1 embedding, 2 gate, 3 gate after embedding. fixed: (stage, wire). */
extern "C" __global__ void fuse_gates(const lt_states_job *where, const double *x, const double *scale, const int *ryrz, const int *kind,
                                      const lt_su2 *fixed, lt_su2 *out)
{
    i64 n = where->n_rows * Q, stages = where->n_stages;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (i64)blockDim.x) {
        i64 row = i / Q;
        int wire = (int)(i % Q);
        double s, c;
        sincos(*scale * x[i] / 2, &s, &c);
        lt_su2 e = { c, 0, s, 0 };
        if (*ryrz) e = lt_su2{ c * c, -s * c, c * s, s * s };
        for (i64 k = 0; k < stages; k++) {
            lt_su2 g = fixed[k * Q + wire];
            out[(row * stages + k) * Q + wire] = kind[k] == 1 ? e : kind[k] == 2 ? g : product(g, e);
        }
    }
}

/* ---- chunks ---- */

/* The product of the first columns of four gates at a time, for each state of the chunk. */
static __device__ void fill_tables(double2 (*table)[16], const lt_su2 *coef, i64 stride, i64 states)
{
    for (int i = threadIdx.x; i < states * NIBBLES * 16; i += THREADS) {
        i64 state = i / (NIBBLES * 16);
        int nibble = i / 16 % NIBBLES, bits = i % 16;
        double2 v = make_double2(1, 0);
        for (int b = 0; b < 4 && 4 * nibble + b < Q; b++) {
            const lt_su2 *g = coef + state * stride + (Q - 1 - (4 * nibble + b)); /* bit 0 is the last wire */
            v = times(v, bits >> b & 1 ? make_double2(g->br, g->bi) : make_double2(g->ar, g->ai));
        }
        table[state * NIBBLES + nibble][bits] = v;
    }
}

static __device__ __forceinline__ double2 product_amplitude(const double2 (*table)[16], const lt_su2 *coef, i64 stride, i64 state, unsigned b)
{
    double2 v = make_double2(1, 0);
    if (BY_TABLE) {
        v = table[state * NIBBLES][b & 15];
        for (int k = 1; k < NIBBLES; k++) v = times(v, table[state * NIBBLES + k][b >> (4 * k) & 15]);
        return v;
    }
    for (int k = 0; k < Q; k++) {
        const lt_su2 *g = coef + state * stride + (Q - 1 - k);
        v = times(v, b >> k & 1 ? make_double2(g->br, g->bi) : make_double2(g->ar, g->ai));
    }
    return v;
}

/* Gates on bits FIRST..FIRST+3 of a chunk, as far as they are wires. coef is of this stage. */
template <int FIRST> static __device__ __forceinline__ void pass(double2 *chunk, const lt_su2 *coef, i64 stride)
{
    if (FIRST >= LOCAL) return;
    int t = threadIdx.x, base = (t >> FIRST << (FIRST + 4)) | (t & ((1 << FIRST) - 1));
    double2 v[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) v[k] = chunk[place(base | k << FIRST)];
#pragma unroll
    for (int b = 0; b < 4; b++) {
        if (FIRST + b >= LOCAL) break;
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (!(k >> b & 1)) apply(coef[((base | k << FIRST) >> LOCAL & (GROUP - 1)) * stride + (Q - 1 - (FIRST + b))], v[k], v[k | 1 << b]);
    }
#pragma unroll
    for (int k = 0; k < HELD; k++) chunk[place(base | k << FIRST)] = v[k];
}

/* Reads through the address map of a stage; only for states that lie in one chunk. */
static __device__ void permute_chunk(double2 *chunk, const unsigned *low, const unsigned *high)
{
    double2 v[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        int e = threadIdx.x + k * THREADS, o = e & ((1 << LOCAL) - 1);
        int from = (int)(high[o >> LOW_BITS] ^ low[o & ((1 << LOW_BITS) - 1)]);
        v[k] = chunk[place((e ^ o) | from)];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < HELD; k++) chunk[place(threadIdx.x + k * THREADS)] = v[k];
    __syncthreads();
}

/* Stages first_stage..last_stage on the wires of a chunk. low, high: the maps, stage after stage. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
chunks(const lt_states_job *where, const lt_su2 *coef, const unsigned *low, const unsigned *high, amplitude_t *states)
{
    extern __shared__ double2 chunk[]; /* then tables, then the coefficients of a stage */
    double2 (*table)[16] = (double2 (*)[16])(chunk + CHUNK);
    lt_su2 *near_coef = (lt_su2 *)(chunk + CHUNK + (BY_TABLE ? GROUP * NIBBLES * 16 : 0));
    const lt_states_job j = *where;
    i64 n_chunks = (j.n_rows + GROUP - 1) / GROUP * PARTS;
    for (i64 c = blockIdx.x; c < n_chunks; c += gridDim.x) {
        i64 state0 = c / PARTS * GROUP, part = c % PARTS;
        i64 present = j.n_rows - state0 < GROUP ? j.n_rows - state0 : GROUP;
        const lt_su2 *mine = coef + state0 * j.n_stages * Q;
        amplitude_t *out = states + state0 * ((i64)1 << Q) + part * CHUNK;
        if (j.generate) {
            if (BY_TABLE) fill_tables(table, mine, j.n_stages * Q, present);
            __syncthreads();
#pragma unroll 4
            for (int k = 0; k < HELD; k++) {
                int e = threadIdx.x + k * THREADS;
                i64 state = e >> LOCAL, o = part << LOCAL | (e & ((1 << LOCAL) - 1));
                bool mapped = j.n_stages > 1;
                unsigned b = mapped ? high[o >> LOW_BITS] ^ low[o & ((1 << LOW_BITS) - 1)] : (unsigned)o;
                chunk[place(e)] = state < present ? product_amplitude(table, mine, j.n_stages * Q, state, b) : make_double2(0, 0);
            }
        } else {
            for (int e = threadIdx.x; e < (present << LOCAL); e += THREADS) chunk[place(e)] = make_double2(out[e].x, out[e].y);
        }
        for (i64 s = j.first_stage; s <= j.last_stage; s++) {
            __syncthreads();
            if (PARTS == 1 && s > 1)
                permute_chunk(chunk, low + (s - 1) * (1 << LOW_BITS), high + (s - 1) * ((i64)1 << (Q - LOW_BITS)));
            for (int i = threadIdx.x; i < present * Q; i += THREADS) near_coef[i] = mine[(i / Q * j.n_stages + s) * Q + i % Q];
            __syncthreads();
            pass<0>(chunk, near_coef, Q);
            __syncthreads();
            pass<4>(chunk, near_coef, Q);
            __syncthreads();
            pass<8>(chunk, near_coef, Q);
        }
        __syncthreads();
        for (int e = threadIdx.x; e < (present << LOCAL); e += THREADS) {
            double2 v = chunk[place(e)];
            out[e] = amplitude_t{ (REAL_T)v.x, (REAL_T)v.y };
        }
        __syncthreads();
    }
}

/* ---- wires above a chunk ---- */

/* Gates of stage first_stage on up to four wires from bit `bit` on, in memory. */
extern "C" __global__ void __launch_bounds__(THREADS) high_wires(const lt_states_job *where, const int *bit, const lt_su2 *coef, amplitude_t *states)
{
    const lt_states_job j = *where;
    int first = *bit, n_bits = Q - first < 4 ? Q - first : 4;
    i64 per_state = (i64)1 << (Q - n_bits), total = j.n_rows * per_state;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < total; i += gridDim.x * (i64)THREADS) {
        i64 row = i / per_state, r = i % per_state;
        amplitude_t *s = states + (row << Q) + (r >> first << (first + n_bits) | (r & (((i64)1 << first) - 1)));
        const lt_su2 *g = coef + (row * j.n_stages + j.first_stage) * Q + Q - 1 - first;
        double2 v[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (k < 1 << n_bits) v[k] = make_double2(s[(i64)k << first].x, s[(i64)k << first].y);
#pragma unroll
        for (int b = 0; b < 4; b++)
            if (b < n_bits) {
                lt_su2 gate = g[-b];
#pragma unroll
                for (int k = 0; k < 16; k++)
                    if (!(k >> b & 1) && k < 1 << n_bits) apply(gate, v[k], v[k | 1 << b]);
            }
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (k < 1 << n_bits) s[(i64)k << first] = amplitude_t{ (REAL_T)v[k].x, (REAL_T)v[k].y };
    }
}

/* Reads through the map of stage first_stage. */
extern "C" __global__ void permute(const lt_states_job *where, const unsigned *low, const unsigned *high, const amplitude_t *from, amplitude_t *to)
{
    const lt_states_job j = *where;
    const unsigned *l = low + j.first_stage * (1 << LOW_BITS), *h = high + j.first_stage * ((i64)1 << (Q - LOW_BITS));
    i64 total = j.n_rows << Q;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < total; i += gridDim.x * (i64)blockDim.x) {
        i64 o = i & (((i64)1 << Q) - 1);
        to[i] = from[(i ^ o) | (h[o >> LOW_BITS] ^ l[o & ((1 << LOW_BITS) - 1)])];
    }
}

/* ---- for products in single precision ---- */

#define TOGETHER (SPLIT == 1 ? 4 : 1) /* pairs whose numbers lie among each other */

/* Pairs of amplitudes, in place, as overlap_f32.cu reads them. */
extern "C" __global__ void __launch_bounds__(THREADS) split_pairs(const lt_states_job *where, uint4 *states)
{
    i64 total = (where->n_rows << (Q - 1)) / TOGETHER;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < total; i += gridDim.x * (i64)THREADS) {
        uint4 v[TOGETHER];
        for (int k = 0; k < TOGETHER; k++) v[k] = states[i * TOGETHER + k];
        for (int k = 0; k < TOGETHER; k++) {
            float x[4] = { __uint_as_float(v[k].x), __uint_as_float(v[k].y), __uint_as_float(v[k].z), __uint_as_float(v[k].w) };
            put_split(states + i * TOGETHER + k, x);
        }
    }
}

/* ---- for normalising ---- */

/* The squares of two numbers that were split in two. */
static __device__ __forceinline__ double square_of(unsigned high, unsigned low)
{
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        float h, l;
        asm("cvt.f32.f16 %0, %1;\n" : "=f"(h) : "h"((unsigned short)(high >> 16 * i)));
        asm("cvt.f32.f16 %0, %1;\n" : "=f"(l) : "h"((unsigned short)(low >> 16 * i)));
        double v = ((double)h + (double)l) * 0x1p-10;
        sum += v * v;
    }
    return sum;
}

/* sqrt(max(k(x,x) + jitter, 1e-12)) of each row, k(x,x) being its squared norm squared. A warp per row. Where overlaps leave out
   what rounding left over, so do norms: K is then that of states of length 1 again. */
extern "C" __global__ void __launch_bounds__(THREADS) state_roots(const lt_states_job *where, const double *jitter, const amplitude_t *states, double *roots)
{
    i64 n = where->n_rows;
    int lane = threadIdx.x % 32;
    for (i64 row = (blockIdx.x * (i64)THREADS + threadIdx.x) / 32; row < n; row += gridDim.x * (i64)(THREADS / 32)) {
        const amplitude_t *s = states + (row << Q);
        double sum = 0;
        if (SPLIT)
            for (i64 i = lane; i < (i64)1 << Q >> 1; i += 32) {
                const uint2 *pair = (const uint2 *)s + 2 * i;
                uint2 h = SPLIT == 1 ? pair[-(i % 4)] : pair[0], l = SPLIT == 1 ? make_uint2(0, 0) : pair[1];
                sum += square_of(h.x, l.x) + square_of(h.y, l.y);
            }
        else
            for (i64 i = lane; i < (i64)1 << Q; i += 32) sum += (double)s[i].x * s[i].x + (double)s[i].y * s[i].y;
        for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane == 0) roots[row] = sqrt(fmax((REAL_PART ? sum : sum * sum) + *jitter, 1e-12));
    }
}
