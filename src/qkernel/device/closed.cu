/* Tiles of K by the closed forms: the product over wires, and transfer matrices.
   SPDX-License-Identifier: BSD-3-Clause

   Rows are kept as numbers per wire, COMPONENTS planes of padded_rows each, so that a tile's rows lie
   side by side. Fixed when compiled: Q, COMPONENTS (2: cos, sin; 3: Bloch vector / sqrt 2; 8: transfer),
   PARITY_RING. The mathematics is that of product_body.h and transfer_body.h. */

#define SIDE 16
#define THREADS (SIDE * SIDE)

/* (wire, component, row) of each row; padding embeds zeros. */
extern "C" __global__ void wire_numbers(const lt_closed_job *where, const double *x, const double *scale, const int *ryrz, const lt_su2 *gates, double *out)
{
    const lt_closed_job j = *where;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < j.padded_rows * Q; i += gridDim.x * (i64)blockDim.x) {
        i64 row = i % j.padded_rows, wire = i / j.padded_rows;
        double angle = row < j.n_rows ? *scale * x[row * Q + wire] : 0, part[8], s, c;
        if (COMPONENTS == 3) {
            sincos(angle, &s, &c);
            const double half = 0.70710678118654752440;
            part[0] = s * c * half, part[1] = s * s * half, part[2] = c * half;
        } else {
            sincos(angle / 2, &s, &c);
            part[0] = c, part[1] = s;
        }
        if (COMPONENTS == 8) {
            lt_su2 e = { c, 0, s, 0 }, g = gates[wire];
            if (*ryrz) e = lt_su2{ c * c, -s * c, c * s, s * s };
            double ar = g.ar * e.ar - g.ai * e.ai - (g.br * e.br + g.bi * e.bi), ai = g.ar * e.ai + g.ai * e.ar - (g.br * e.bi - g.bi * e.br);
            double br = g.br * e.ar - g.bi * e.ai + (g.ar * e.br + g.ai * e.bi), bi = g.br * e.ai + g.bi * e.ar + (g.ar * e.bi - g.ai * e.br);
            part[0] = ar + br, part[1] = ai + bi, part[2] = ar - br, part[3] = ai - bi;
            part[4] = e.ar, part[5] = e.ai, part[6] = e.br, part[7] = e.bi;
        }
        for (int k = 0; k < COMPONENTS; k++) out[(wire * COMPONENTS + k) * j.padded_rows + row] = part[k];
    }
}

/* ---- a tile of HELD x HELD entries per thread, stored in lines both ways ---- */

template <int HELD> static __device__ __forceinline__ void store_tile(const lt_tile_job &j, K_TYPE *k, K_TYPE *mirrored, int2 at, double (*v)[HELD], double *shared)
{
    const int side = SIDE * HELD, pitch = side + 1;
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    bool all = all_wanted(j, at.x, side, at.y, side);
    unsigned largest = 0;
#pragma unroll
    for (int r = 0; r < HELD; r++)
#pragma unroll
        for (int c = 0; c < HELD; c++) {
            i64 row = at.x + ty + SIDE * r, column = at.y + tx + SIDE * c;
            double here = v[r][c];
            if (all || wanted(j, row, column)) {
                largest = max(largest, exponent_of(here));
                here = normalized(j, row, column, here);
                store(j, k, row, column, here);
            }
            shared[(tx + SIDE * c) * pitch + ty + SIDE * r] = here;
        }
#pragma unroll 1
    for (int e = 0; largest >= NOT_FINITE && e < HELD * HELD; e++) { /* once more, from where they were stored */
        int r = ty + e / HELD * SIDE, c = tx + e % HELD * SIDE;
        double here = shared[c * pitch + r];
        if (!wanted(j, at.x + r, at.y + c) || exponent_of(here) < NOT_FINITE) continue;
        shared[c * pitch + r] = here = mend(j, at.x + r, at.y + c, here);
        store(j, k, at.x + r, at.y + c, here);
    }
    __syncthreads();
    for (int c = 0; j.mirror && c < HELD; c++)
        for (int r = 0; r < HELD; r++) {
            i64 row = at.x + tx + SIDE * r, column = at.y + ty + SIDE * c;
            if (all || wanted(j, row, column)) store_mirrored(j, mirrored, row, column, shared[(ty + SIDE * c) * pitch + tx + SIDE * r]);
        }
    __syncthreads();
}

#if COMPONENTS < 8
/* ---- product ---- */

#define HELD 4
#define TILE (SIDE * HELD)
#define WIRES (COMPONENTS == 3 ? 10 : 16) /* fetched together: both sides fill the shared memory */

/* What one wire contributes; with two components, its root. */
static __device__ __forceinline__ double factor(const double *x, const double *y)
{
    double f = COMPONENTS == 3 ? 0.5 : 0;
#pragma unroll
    for (int i = 0; i < COMPONENTS; i++) f += x[i] * y[i];
    return f;
}

extern "C" __global__ void __launch_bounds__(THREADS) product(const lt_tile_job *where, const int2 *tiles, const double *a, const double *b,
                                                              K_TYPE *k, K_TYPE *mirrored)
{
    __shared__ double shared[TILE * (TILE + 1)]; /* wires while multiplying, the tile while storing */
    double (*near_a)[COMPONENTS][TILE] = (double (*)[COMPONENTS][TILE])shared, (*near_b)[COMPONENTS][TILE] = near_a + WIRES;
    const lt_tile_job j = *where;
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (i64 t = blockIdx.x; t < j.n_tiles; t += gridDim.x) {
        int2 at = tiles[t];
        double v[HELD][HELD];
#pragma unroll
        for (int r = 0; r < HELD; r++)
#pragma unroll
            for (int c = 0; c < HELD; c++) v[r][c] = 1;
        for (int first = 0; first < Q; first += WIRES) {
            int n = Q - first < WIRES ? Q - first : WIRES;
            for (int i = threadIdx.x; i < n * COMPONENTS * TILE; i += THREADS) {
                i64 plane = first * COMPONENTS + i / TILE;
                (&near_a[0][0][0])[i] = a[plane * j.a_rows + at.x + i % TILE];
                (&near_b[0][0][0])[i] = b[plane * j.b_rows + at.y + i % TILE];
            }
            __syncthreads();
            for (int w = 0; w < n; w++) {
                double x[HELD][COMPONENTS], y[HELD][COMPONENTS];
#pragma unroll
                for (int i = 0; i < COMPONENTS; i++)
#pragma unroll
                    for (int h = 0; h < HELD; h++) x[h][i] = near_a[w][i][ty + SIDE * h], y[h][i] = near_b[w][i][tx + SIDE * h];
#pragma unroll
                for (int r = 0; r < HELD; r++)
#pragma unroll
                    for (int c = 0; c < HELD; c++) v[r][c] *= factor(x[r], y[c]);
            }
            __syncthreads();
        }
        if (COMPONENTS == 2)
            for (int r = 0; r < HELD; r++)
                for (int c = 0; c < HELD; c++) v[r][c] *= v[r][c];
        store_tile<HELD>(j, k, mirrored, at, v, shared);
    }
}

/* k(x,x) of a row. */
static __device__ double own(const double *a, i64 padded, i64 row)
{
    double v = 1, x[COMPONENTS];
    for (int w = 0; w < Q; w++) {
        for (int i = 0; i < COMPONENTS; i++) x[i] = a[(w * COMPONENTS + i) * padded + row];
        v *= factor(x, x);
    }
    return COMPONENTS == 2 ? v * v : v;
}

#else
/* ---- transfer matrices ---- */

#define HELD 1
#define TILE SIDE

static __device__ __forceinline__ double2 add(double2 x, double2 y) { return make_double2(x.x + y.x, x.y + y.y); }
static __device__ __forceinline__ double2 sub(double2 x, double2 y) { return make_double2(x.x - y.x, x.y - y.y); }
static __device__ __forceinline__ double2 mul(double2 x, double2 y) { return make_double2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }
static __device__ __forceinline__ double2 conj_mul(double2 x, double2 y) { return make_double2(x.x * y.x + x.y * y.y, x.x * y.y - x.y * y.x); }
static __device__ __forceinline__ double2 conj(double2 x) { return make_double2(x.x, -x.y); }

struct wire { double2 plus, minus, alpha, beta; };

/* step: from one component to the next. */
static __device__ __forceinline__ wire wire_at(const double *p, i64 step)
{
    wire w = { { p[0], p[step] }, { p[2 * step], p[3 * step] }, { p[4 * step], p[5 * step] }, { p[6 * step], p[7 * step] } };
    return w;
}
static __device__ __forceinline__ void matrix(const wire &x, const wire &y, double2 &m00, double2 &m01)
{
    m00 = add(conj_mul(x.alpha, y.alpha), conj_mul(x.beta, y.beta));
    m01 = conj(sub(mul(x.beta, y.alpha), mul(x.alpha, y.beta)));
}

/* One wire for a vector over (bra parity, ket parity). */
static __device__ __forceinline__ void step(double2 v[4], double2 pp, double2 pm, double2 mp, double2 mm, double2 m00, double2 m01)
{
    double2 a = add(v[0], v[1]), b = sub(v[0], v[1]), c = add(v[2], v[3]), d = sub(v[2], v[3]);
    pp = mul(add(a, c), pp), pm = mul(add(b, d), pm), mp = mul(sub(a, c), mp), mm = mul(sub(b, d), mm);
    a = add(pp, pm), b = sub(pp, pm), c = add(mp, mm), d = sub(mp, mm);
    v[0] = mul(add(a, c), m00);
    v[1] = mul(add(b, d), m01);
    double2 low = conj_mul(m01, sub(a, c));
    v[2] = make_double2(-low.x, -low.y);
    v[3] = conj_mul(m00, sub(b, d));
}

/* The walk along the wires: a vector for each pair of bits on wire 0. */
struct walk { double2 v[4][4], m[4], start[4]; };

static __device__ __forceinline__ void first_wire(walk &k, const wire &x, const wire &y)
{
    double2 m00, m01;
    matrix(x, y, m00, m01);
    k.m[0] = m00, k.m[1] = m01, k.m[2] = make_double2(-m01.x, m01.y), k.m[3] = conj(m00);
#pragma unroll
    for (int s = 0; s < 4; s++) {
        double2 bra = s & 2 ? sub(x.plus, x.minus) : add(x.plus, x.minus), ket = s & 1 ? sub(y.plus, y.minus) : add(y.plus, y.minus);
        k.start[s] = conj_mul(bra, ket);
#pragma unroll
        for (int i = 0; i < 4; i++) k.v[s][i] = make_double2(i == s, 0);
    }
}

static __device__ __forceinline__ void next_wire(walk &k, const wire &x, const wire &y)
{
    double2 m00, m01;
    matrix(x, y, m00, m01);
    double2 xp = make_double2(x.plus.x * 0.25, x.plus.y * 0.25), xm = make_double2(x.minus.x * 0.25, x.minus.y * 0.25);
    double2 pp = conj_mul(xp, y.plus), pm = conj_mul(xp, y.minus), mp = conj_mul(xm, y.plus), mm = conj_mul(xm, y.minus);
#pragma unroll
    for (int s = 0; s < 4; s++) step(k.v[s], pp, pm, mp, mm, m00, m01);
}

static __device__ __forceinline__ double end_of(const walk &k)
{
    double2 sum = make_double2(0, 0);
#pragma unroll
    for (int s = 0; s < 4; s++) {
        double2 end = make_double2(0, 0);
#pragma unroll
        for (int i = 0; i < 4; i++) end = add(end, mul(k.v[s][i], k.m[PARITY_RING ? i ^ s : s]));
        sum = add(sum, mul(k.start[s], end));
    }
    return (sum.x * sum.x + sum.y * sum.y) * 0.0625;
}

extern "C" __global__ void __launch_bounds__(THREADS) transfer(const lt_tile_job *where, const int2 *tiles, const double *a, const double *b,
                                                               K_TYPE *k, K_TYPE *mirrored)
{
    __shared__ double near_a[COMPONENTS][TILE], near_b[COMPONENTS][TILE], turned[TILE * (TILE + 1)];
    const lt_tile_job j = *where;
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (i64 t = blockIdx.x; t < j.n_tiles; t += gridDim.x) {
        int2 at = tiles[t];
        walk here;
        for (int w = 0; w < Q; w++) {
            if (threadIdx.x < COMPONENTS * TILE) {
                int c = threadIdx.x / TILE, i = threadIdx.x % TILE;
                near_a[c][i] = a[(w * COMPONENTS + c) * j.a_rows + at.x + i];
                near_b[c][i] = b[(w * COMPONENTS + c) * j.b_rows + at.y + i];
            }
            __syncthreads();
            wire x = wire_at(&near_a[0][ty], TILE), y = wire_at(&near_b[0][tx], TILE);
            if (w == 0) first_wire(here, x, y);
            else next_wire(here, x, y);
            __syncthreads();
        }
        double out[1][1] = { { end_of(here) } };
        store_tile<1>(j, k, mirrored, at, out, turned);
    }
}

/* k(x,x) of a row. */
static __device__ double own(const double *a, i64 padded, i64 row)
{
    walk here;
    for (int w = 0; w < Q; w++) {
        wire x = wire_at(a + (i64)w * COMPONENTS * padded + row, padded);
        if (w == 0) first_wire(here, x, x);
        else next_wire(here, x, x);
    }
    return end_of(here);
}
#endif

/* sqrt(max(k(x,x) + jitter, 1e-12)) of each row, for normalising. */
extern "C" __global__ void __launch_bounds__(THREADS) wire_roots(const lt_closed_job *where, const double *jitter, const double *a, double *roots)
{
    const lt_closed_job j = *where;
    for (i64 row = blockIdx.x * (i64)THREADS + threadIdx.x; row < j.n_rows; row += gridDim.x * (i64)THREADS)
        roots[row] = sqrt(fmax(own(a, j.padded_rows, row) + *jitter, 1e-12));
}
