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
struct half_norms { u32 scale[4], shift[4]; };
static __device__ __forceinline__ u32 fma_pair(u32 x, u32 y, u32 z)
{
#if BF16
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z));
#else
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z));
#endif
    return x;
}
static __device__ __forceinline__ u32 quick_pair(u32 v, u32 scale, u32 shift)
{
    float2 f = unpack(fma_pair(v, scale, shift));
    return pack(activate(f.x), activate(f.y));
}
static __device__ __forceinline__ uint4 quick_eight(uint4 v, const half_norms &a)
{
    return make_uint4(quick_pair(v.x, a.scale[0], a.shift[0]), quick_pair(v.y, a.scale[1], a.shift[1]),
                      quick_pair(v.z, a.scale[2], a.shift[2]), quick_pair(v.w, a.scale[3], a.shift[3]));
}

/* Eight channels of a pixel; a[i] = (scale, shift) of channel i. */
static __device__ __forceinline__ u32 normal_pair(u32 v, float2 a, float2 b)
{
    float2 f = unpack(v);
    return pack(activate(fmaf(f.x, a.x, a.y)), activate(fmaf(f.y, b.x, b.y)));
}
static __device__ __forceinline__ uint4 normal_eight(uint4 v, const float2 a[8])
{
    return make_uint4(normal_pair(v.x, a[0], a[1]), normal_pair(v.y, a[2], a[3]), normal_pair(v.z, a[4], a[5]), normal_pair(v.w, a[6], a[7]));
}
static __device__ __forceinline__ u32 add_pair(u32 v, u32 w)
{
    float2 a = unpack(v), b = unpack(w);
    return pack(a.x + b.x, a.y + b.y);
}
static __device__ __forceinline__ uint4 add_eight(uint4 v, uint4 w)
{
    return make_uint4(add_pair(v.x, w.x), add_pair(v.y, w.y), add_pair(v.z, w.z), add_pair(v.w, w.w));
}
/* Scale and shift of eight channels. */
static __device__ __forceinline__ void load_norms(const float2 *from, float2 a[8])
{
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 two = ((const float4 *)from)[i];
        a[2 * i] = make_float2(two.x, two.y), a[2 * i + 1] = make_float2(two.z, two.w);
    }
}
