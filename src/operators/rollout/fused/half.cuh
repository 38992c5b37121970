/* Half-precision numbers in pairs, and the activations. SPDX-License-Identifier: BSD-3-Clause

   BF16: 1 for bfloat16, 0 for IEEE half. ACT: 0 none, 1 GELU, 2 GELU by tanh, 3 ReLU, 4 SiLU, 5 tanh. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

static __device__ __forceinline__ float2 unpack(u32 v)
{
#if BF16
    return make_float2(__uint_as_float(v << 16), __uint_as_float(v & 0xffff0000u));
#else
    float2 f;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}" : "=f"(f.x), "=f"(f.y) : "r"(v));
    return f;
#endif
}

static __device__ __forceinline__ u32 pack(float x, float y)
{
    u32 v;
#if BF16
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(v) : "f"(x), "f"(y));
#else
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(v) : "f"(x), "f"(y));
#endif
    return v;
}

static __device__ __forceinline__ float tanh_fast(float x)
{
    asm("tanh.approx.f32 %0, %0;" : "+f"(x));
    return x;
}

/* x Phi(x) with Phi = (1 + tanh(x p(x^2))) / 2: p fitted to erf leaves 2.5e-5, below half precision's own rounding. */
static __device__ __forceinline__ float activate(float x)
{
#if ACT == 1
    float u = fminf(x * x, 30.f);
    float h = 0.5f * x;
    return fmaf(h, tanh_fast(x * fmaf(fmaf(-3.51517096e-4f, u, 3.70056481e-2f), u, 7.97507882e-1f)), h);
#elif ACT == 2
    float h = 0.5f * x;
    return fmaf(h, tanh_fast(x * fmaf(0.7978845608f * 0.044715f, x * x, 0.7978845608f)), h);
#elif ACT == 3
    return fmaxf(x, 0.f);
#elif ACT == 4
    float h = 0.5f * x;
    return fmaf(h, tanh_fast(h), h);
#elif ACT == 5
    return tanh_fast(x);
#else
    return x;
#endif
}

/* Scale and shift of eight channels as pairs of half numbers: what norms are worth in half precision, in half
   the registers and operations. */
struct __align__(16) half_norms { u32 scale[4], shift[4]; };
static __device__ __forceinline__ u32 fma_pair(u32 x, u32 y, u32 z)
{
    u32 v;
#if BF16
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x), "r"(y), "r"(z));
#else
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(x), "r"(y), "r"(z));
#endif
    return v;
}
static __device__ __forceinline__ u32 mul_pair(u32 x, u32 y)
{
    u32 v;
#if BF16
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(x), "r"(y));
#else
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(x), "r"(y));
#endif
    return v;
}
#if !BF16
static __device__ __forceinline__ u32 tanh_pair(u32 x)
{
    asm("tanh.approx.f16x2 %0, %0;" : "+r"(x));
    return x;
}
#define TWICE(bits) (bits##u << 16 | bits##u)
#endif
/* Activations that begin with half of x get it from the norm: HALVED norms are half as large. */
#if !BF16 && (ACT == 1 || ACT == 2 || ACT == 4)
#define HALVED 0.5f
#else
#define HALVED 1.f
#endif
/* Norm and activation of channels 2 i and 2 i + 1. In IEEE half all of it: for x ~ N(0, 1) GELU is off by 2.4e-4
   of its size then, rounding alone costs 2.1e-4. bfloat16 has too few bits for that. */
static __device__ __forceinline__ u32 quick_pair(u32 v, const half_norms &a, int i)
{
    u32 h = fma_pair(v, a.scale[i], a.shift[i]);
#if !BF16 && (ACT == 1 || ACT == 2)
#if ACT == 1 /* as in activate, with u / 30 between 0 and 1 */
    u32 w = mul_pair(h, TWICE(0x35d8)), u;
    asm("mul.rn.sat.f16x2 %0, %1, %2;" : "=r"(u) : "r"(w), "r"(w));
    u32 p = fma_pair(fma_pair(u, TWICE(0xb910), TWICE(0x4071)), u, TWICE(0x3e61));
#else
    u32 p = fma_pair(mul_pair(h, h), TWICE(0x3491), TWICE(0x3e62));
#endif
    return fma_pair(tanh_pair(mul_pair(h, p)), h, h);
#elif !BF16 && ACT == 4
    return fma_pair(tanh_pair(h), h, h);
#elif !BF16 && ACT == 5
    return tanh_pair(h);
#else
    float2 f = unpack(h);
    return pack(activate(f.x), activate(f.y));
#endif
}
static __device__ __forceinline__ uint4 quick_eight(uint4 v, const half_norms &a)
{
    return make_uint4(quick_pair(v.x, a, 0), quick_pair(v.y, a, 1), quick_pair(v.z, a, 2), quick_pair(v.w, a, 3));
}

static __device__ __forceinline__ u32 add_pair(u32 x, u32 y)
{
    u32 v;
#if BF16
    asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(x), "r"(y));
#else
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(x), "r"(y));
#endif
    return v;
}
static __device__ __forceinline__ uint4 add_eight(uint4 v, uint4 w)
{
    return make_uint4(add_pair(v.x, w.x), add_pair(v.y, w.y), add_pair(v.z, w.z), add_pair(v.w, w.w));
}
/* Scale and shift of eight channels, HALVED. */
static __device__ __forceinline__ half_norms load_half_norms(const float2 *from)
{
    half_norms a;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 two = ((const float4 *)from)[i];
        a.scale[i] = pack(HALVED * two.x, HALVED * two.z), a.shift[i] = pack(HALVED * two.y, HALVED * two.w);
    }
    return a;
}

/* c += a b by tensor cores: 16 rows, 16 channels, 8 columns. Lane 4 r + q holds of rows r (a0, a2) and r + 8 (a1, a3), and of
   column r, the same channels, and gets columns 2 q and 2 q + 1 of rows r and r + 8. */
static __device__ __forceinline__ void multiply_rows(float (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1)
{
#if BF16
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#endif
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
/* The same for 32 channels: x holds eight of rows r and r + 8, b of column r. */
static __device__ __forceinline__ void multiply_cells(float (&c)[4], const uint4 (&x)[2], uint4 b)
{
    multiply_rows(c, x[0].x, x[1].x, x[0].y, x[1].y, b.x, b.y);
    multiply_rows(c, x[0].z, x[1].z, x[0].w, x[1].w, b.z, b.w);
}
