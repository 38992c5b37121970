/* Tiles of K = |<a_i|b_j>|^2 by the tensor cores' double-precision product. SPDX-License-Identifier: BSD-3-Clause

   Three real products give the complex one: p = ar br, q = ai bi, r = (ar + ai)(br - bi); re = p + q,
   im = r - p + q. Stands between overlap_shape.cuh and overlap_tiles.cuh. */

typedef double2 amplitude_t;
#define PITCH (DEPTH + 4) /* of a row of a stage: eight lanes of a 16-byte load meet eight groups of banks */
#define ROW AMPLITUDES
#define PLACE(k) (k)

static __device__ __forceinline__ void multiply(double c[4], const double a[2], double b)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\n"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(b));
#else
    for (int h = 0; h < 2; h++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};\n"
                     : "+d"(c[2 * h]), "+d"(c[2 * h + 1]) : "d"(a[h]), "d"(b));
#endif
}

typedef double sum_t;
struct sums { double p[FRAGMENTS_M][FRAGMENTS_N][4], q[FRAGMENTS_M][FRAGMENTS_N][4], r[FRAGMENTS_M][FRAGMENTS_N][4]; };

static __device__ __forceinline__ double modulus(const sums &s, int m, int n, int c)
{
    double re = s.p[m][n][c] + s.q[m][n][c], im = s.r[m][n][c] - s.p[m][n][c] + s.q[m][n][c];
    return REAL_PART ? re : re * re + im * im;
}

static __device__ __forceinline__ void multiply_stage(const double2 *stage, sums &s)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const double2 *a = stage + (warp / WARPS_N * WARP_M + lane / 4) * PITCH + lane % 4;
    const double2 *b = stage + (TILE_M + warp % WARPS_N * WARP_N + lane / 4) * PITCH + lane % 4;
#pragma unroll
    for (int k = 0; k < DEPTH; k += 4) {
        double2 y[FRAGMENTS_N];
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; n++) y[n] = b[8 * n * PITCH + k];
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; m++) {
            double2 x0 = a[16 * m * PITCH + k], x1 = a[(16 * m + 8) * PITCH + k];
            double re[2] = { x0.x, x1.x }, im[2] = { x0.y, x1.y }, sum[2] = { x0.x + x0.y, x1.x + x1.y };
#pragma unroll
            for (int n = 0; n < FRAGMENTS_N; n++) {
                multiply(s.p[m][n], re, y[n].x);
                multiply(s.q[m][n], im, y[n].y);
                multiply(s.r[m][n], sum, y[n].x - y[n].y);
            }
        }
    }
}
