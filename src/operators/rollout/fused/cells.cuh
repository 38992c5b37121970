/* Cells of 16 bytes as the kernels for every card since Ampere see them: eight half-precision channels of a pixel, or four in single
   precision. Norms and activations are computed in single precision and rounded once (decision 371). SPDX-License-Identifier: BSD-3-Clause

   Follows half.cuh. NUMBERS: 0 IEEE half, 1 bfloat16, 2 single precision with products in TF32, 3 single precision with
   products of the same (three of TF32 each). ACT as half.cuh has it. */
#define SINGLE (NUMBERS >= 2)
#define CELL (SINGLE ? 4 : 8) /* channels */
struct cell { float v[CELL]; };
struct cell_norms { float scale[CELL], shift[CELL]; };

/* Single precision rounded to the eleven digits that TF32 has; ties away from zero, as the instruction does it. */
static __device__ __forceinline__ u32 to_tf32(float x)
{
    u32 v;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(x));
    return v;
}

static __device__ __forceinline__ cell open_cell(uint4 v)
{
    u32 word[4] = { v.x, v.y, v.z, v.w };
    cell c;
#if SINGLE
    #pragma unroll
    for (int e = 0; e < 4; e++) c.v[e] = __uint_as_float(word[e]);
#else
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        float2 two = unpack(word[e]);
        c.v[2 * e] = two.x, c.v[2 * e + 1] = two.y;
    }
#endif
    return c;
}
static __device__ __forceinline__ uint4 close_cell(const cell &c)
{
#if SINGLE
    return make_uint4(__float_as_uint(c.v[0]), __float_as_uint(c.v[1]), __float_as_uint(c.v[2]), __float_as_uint(c.v[3]));
#else
    return make_uint4(pack(c.v[0], c.v[1]), pack(c.v[2], c.v[3]), pack(c.v[4], c.v[5]), pack(c.v[6], c.v[7]));
#endif
}
/* What products read: in TF32 rounded, since tensor cores would cut the digits off. */
static __device__ __forceinline__ uint4 close_factors(const cell &c)
{
#if NUMBERS == 2
    return make_uint4(to_tf32(c.v[0]), to_tf32(c.v[1]), to_tf32(c.v[2]), to_tf32(c.v[3]));
#else
    return close_cell(c);
#endif
}

static __device__ __forceinline__ cell_norms load_cell_norms(const float2 *from)
{
    cell_norms n;
    #pragma unroll
    for (int e = 0; e < CELL; e += 2) {
        float4 two = *(const float4 *)(from + e);
        n.scale[e] = two.x, n.shift[e] = two.y, n.scale[e + 1] = two.z, n.shift[e + 1] = two.w;
    }
    return n;
}

/* Approximations of half.cuh suit half precision alone. */
static __device__ __forceinline__ float activate_fully(float x)
{
#if !SINGLE
    return activate(x);
#elif ACT == 1
    return 0.5f * x * (1.f + erff(x * 0.70710678f));
#elif ACT == 2
    return 0.5f * x * (1.f + tanhf(0.7978845608f * fmaf(0.044715f * x * x, x, x)));
#elif ACT == 3
    return fmaxf(x, 0.f);
#elif ACT == 4
    return x / (1.f + expf(-x));
#elif ACT == 5
    return tanhf(x);
#else
    return x;
#endif
}
static __device__ __forceinline__ cell finish_cell(uint4 v, const cell_norms &n)
{
    cell c = open_cell(v);
    #pragma unroll
    for (int e = 0; e < CELL; e++) c.v[e] = activate_fully(fmaf(c.v[e], n.scale[e], n.shift[e]));
    return c;
}
