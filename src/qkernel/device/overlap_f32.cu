/* Products of single-precision states on the tensor cores, in float32 or float16. SPDX-License-Identifier: BSD-3-Clause

   Each number is kept as two half-precision ones, 2^10 x = h + l (split_pairs of states.cu): together 22
   bits, and the factor keeps small amplitudes clear of the end of the range. Three products h h' + h l' +
   l h' leave an error below 2^-20 of |x x'|. The tensor cores cut off sums where they do not fit, which
   would add up, so a stage is summed there and stages are added by ordinary additions.
   In float16 h h' stands alone: its error, below 2^-10 of |x x'|, is the bound of options.c. Only h is there (put_split of
   states.cuh), so that memory, copies and loads have half to do; they are what limits that mode.
   Stands between overlap_shape.cuh and overlap_tiles.cuh; AMPLITUDES and DEPTH count pairs. Fixed when
   compiled besides: PRODUCTS (3, or 1 for float16). */

#if PRODUCTS == 3
typedef uint4 amplitude_t; /* a pair: re h, im h, re l, im l, each of both amplitudes */
#define ROW AMPLITUDES
#define PLACE(k) (k)
#else
typedef uint2 amplitude_t; /* a pair: re h, im h */
#define ROW (2 * AMPLITUDES)
#define PLACE(k) (2 * (k) - (k) % 4)
#endif
#define PITCH (DEPTH + 4)  /* of a row of a stage: lanes of a phase of a load (8 of 16 bytes, 16 of 8) meet different banks */

struct halves { unsigned re[4], im[4], less[4]; }; /* a fragment of rows; less = -im */

static __device__ __forceinline__ void multiply(float c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* c += a* b of complex numbers. */
static __device__ __forceinline__ void multiply_complex(float re[4], float im[4], const halves &a, unsigned b0_re, unsigned b1_re, unsigned b0_im, unsigned b1_im)
{
    multiply(re, a.re, b0_re, b1_re);
    multiply(im, a.re, b0_im, b1_im);
    multiply(re, a.im, b0_im, b1_im);
    multiply(im, a.less, b0_re, b1_re);
}

typedef float sum_t;
struct sums { float re[FRAGMENTS_M][FRAGMENTS_N][4], im[FRAGMENTS_M][FRAGMENTS_N][4]; };

static __device__ __forceinline__ double modulus(const sums &s, int m, int n, int c)
{
    double re = s.re[m][n][c], im = s.im[m][n][c];
    return REAL_PART ? re * 0x1p-20 : (re * re + im * im) * 0x1p-40; /* the factors of both sides */
}

static __device__ __forceinline__ void multiply_stage(const amplitude_t *stage, sums &s)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const amplitude_t *a = stage + (warp / WARPS_N * WARP_M + lane / 4) * PITCH + lane % 4;
    const amplitude_t *b = stage + (TILE_M + warp % WARPS_N * WARP_N + lane / 4) * PITCH + lane % 4;
    sums here = {};
#pragma unroll
    for (int k = 0; k < DEPTH; k += 8) {
        halves high[FRAGMENTS_M];
#if PRODUCTS == 3
        halves low[FRAGMENTS_M];
#endif
#pragma unroll
        for (int m = 0; m < FRAGMENTS_M; m++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                amplitude_t x = a[(16 * m + i % 2 * 8) * PITCH + k + i / 2 * 4];
                high[m].re[i] = x.x, high[m].im[i] = x.y, high[m].less[i] = x.y ^ 0x80008000u;
#if PRODUCTS == 3
                low[m].re[i] = x.z, low[m].im[i] = x.w, low[m].less[i] = x.w ^ 0x80008000u;
#endif
            }
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; n++) {
            amplitude_t y = b[8 * n * PITCH + k], z = b[8 * n * PITCH + k + 4];
#pragma unroll
            for (int m = 0; m < FRAGMENTS_M; m++) { /* small ones first */
                float *re = here.re[m][n], *im = here.im[m][n];
#if PRODUCTS == 3
                multiply_complex(re, im, low[m], y.x, z.x, y.y, z.y);
                multiply_complex(re, im, high[m], y.z, z.z, y.w, z.w);
#endif
                multiply_complex(re, im, high[m], y.x, z.x, y.y, z.y);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < FRAGMENTS_M; m++)
#pragma unroll
        for (int n = 0; n < FRAGMENTS_N; n++)
#pragma unroll
            for (int c = 0; c < 4; c++) s.re[m][n][c] += here.re[m][n][c], s.im[m][n][c] += here.im[m][n][c];
}
