/* Products of single-precision states on the tensor cores. SPDX-License-Identifier: BSD-3-Clause

   Each number is split into two of the tensor cores' shorter ones, x = h + l, by cutting off bits: h keeps
   11 of them, the rest loses what lies below its own 11. Three products h h' + h l' + l h' leave an error
   below 2^-19 of |x x'|. The tensor cores also cut off sums where they do not fit, which would add up, so
   a stage is summed there and stages are added by ordinary additions. Three real products give the complex
   one, as in overlap_f64.cu.
   Stands between overlap_shape.cuh and overlap_tiles.cuh; DEPTH is a multiple of 16. */

typedef float2 amplitude_t;
#define PITCH (DEPTH + 4) /* of a row of a stage: sixteen lanes of an 8-byte load meet sixteen pairs of banks */

struct split { unsigned h, l; };
static __device__ __forceinline__ split split_of(float x)
{
    split s;
    s.h = __float_as_uint(x) & 0xffffe000u;
    s.l = __float_as_uint(x - __uint_as_float(s.h));
    return s;
}
static __device__ __forceinline__ void multiply(float c[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ void multiply_split(float c[4], const split a[4], const split b[2])
{
    multiply(c, a[0].l, a[1].l, a[2].l, a[3].l, b[0].h, b[1].h); /* small ones first */
    multiply(c, a[0].h, a[1].h, a[2].h, a[3].h, b[0].l, b[1].l);
    multiply(c, a[0].h, a[1].h, a[2].h, a[3].h, b[0].h, b[1].h);
}

struct sums { float p[FRAGMENTS_M][FRAGMENTS_N][4], q[FRAGMENTS_M][FRAGMENTS_N][4], r[FRAGMENTS_M][FRAGMENTS_N][4]; };

static __device__ __forceinline__ double modulus(const sums &s, int m, int n, int c)
{
    double p = s.p[m][n][c], q = s.q[m][n][c], re = p + q, im = s.r[m][n][c] - p + q;
    return re * re + im * im;
}

static __device__ __forceinline__ void multiply_stage(const float2 *stage, sums &s)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float2 *a = stage + (warp / WARPS_N * WARP_M + lane / 4) * PITCH + lane % 4;
    const float2 *b = stage + (TILE_M + warp % WARPS_N * WARP_N + lane / 4) * PITCH + lane % 4;
    sums here = {};
#pragma unroll
    for (int k = 0; k < DEPTH; k += 8) {
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; m++) {
            split re[4], im[4], sum[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float2 x = a[(16 * m + i % 2 * 8) * PITCH + k + i / 2 * 4];
                re[i] = split_of(x.x), im[i] = split_of(x.y), sum[i] = split_of(x.x + x.y);
            }
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; n++) {
                float2 y0 = b[8 * n * PITCH + k], y1 = b[8 * n * PITCH + k + 4];
                split yr[2] = { split_of(y0.x), split_of(y1.x) }, yi[2] = { split_of(y0.y), split_of(y1.y) };
                split yd[2] = { split_of(y0.x - y0.y), split_of(y1.x - y1.y) };
                multiply_split(here.p[m][n], re, yr);
                multiply_split(here.q[m][n], im, yi);
                multiply_split(here.r[m][n], sum, yd);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < FRAGMENTS_M; m++)
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; n++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                s.p[m][n][c] += here.p[m][n][c], s.q[m][n][c] += here.q[m][n][c], s.r[m][n][c] += here.r[m][n][c];
}
