/* Philox streams and the numbers made of them, with the bits of operators/rollout/noise_loops_body.h: every product and
   sum is rounded by itself. SPDX-License-Identifier: BSD-3-Clause */

struct words { u32 w[4]; };
struct quad { f32 v[4]; };

__device__ __forceinline__ words philox(const u32 *key, u32 block, u32 c1, u32 c2, u32 c3)
{
    words c = { { block, c1, c2, c3 } };
    u32 k0 = key[0], k1 = key[1];
#pragma unroll
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        u32 high0 = __umulhi(0xD2511F53u, c.w[0]), low0 = 0xD2511F53u * c.w[0];
        u32 high1 = __umulhi(0xCD9E8D57u, c.w[2]), low1 = 0xCD9E8D57u * c.w[2];
        c = words{ { high1 ^ c.w[1] ^ k0, low1, high0 ^ c.w[3] ^ k1, low0 } };
    }
    return c;
}

__device__ __forceinline__ f32 mul(f32 a, f32 b) { return __fmul_rn(a, b); }
__device__ __forceinline__ f32 add(f32 a, f32 b) { return __fadd_rn(a, b); }

/* -log((w + 1) / 2^32). */
__device__ __forceinline__ f32 minus_log(u32 w)
{
    f32 u = mul(add((f32)w, 1.0f), 0x1p-32f), below_one = mul((f32)~w, -0x1p-32f);
    i32 shifted = (i32)(__float_as_uint(u) - 0x3f2aaaabu) >> 23;
    f32 m = add(__uint_as_float(__float_as_uint(u) - ((u32)shifted << 23)), -1.0f);
    bool near = w > 0xaaaaaaaau;
    f32 f = near ? below_one : m, e = near ? 0.0f : (f32)shifted, z = mul(f, f);
    const f32 p[8] = { -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                       -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f };
    f32 y = 7.0376836292e-2f;
#pragma unroll
    for (int i = 0; i < 8; i++) y = add(mul(y, f), p[i]);
    y = add(add(mul(mul(y, f), z), -mul(2.12194440e-4f, e)), -mul(0.5f, z));
    return -add(add(f, y), mul(0.693359375f, e));
}

/* Cosine and sine of 2 pi w / 2^32. */
__device__ __forceinline__ void turn(u32 w, f32 &cosine, f32 &sine)
{
    u32 quarter = (w + 0x20000000u) >> 30;
    f32 x = mul((f32)(i32)(w - (quarter << 30)), 1.46291807926715968e-9f), z = mul(x, x);
    f32 s = add(mul(mul(add(mul(add(mul(-1.9515295891e-4f, z), 8.3321608736e-3f), z), -1.6666654611e-1f), z), x), x);
    f32 c = add(add(mul(mul(add(mul(add(mul(2.443315711809948e-5f, z), -1.388731625493765e-3f), z), 4.166664568298827e-2f), z), z), -mul(0.5f, z)), 1.0f);
    f32 a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    cosine = (quarter + 1) & 2 ? -a : a;
    sine = quarter & 2 ? -b : b;
}

__device__ __forceinline__ quad uniforms(words c, f32 scale)
{
    quad q;
    f32 step = mul(scale, 0x1p-23f);
    for (int k = 0; k < 4; k++) q.v[k] = mul((f32)((i32)(c.w[k] >> 8) - (1 << 23)), step);
    return q;
}

__device__ __forceinline__ quad normals(words c, f32 scale)
{
    quad q;
    for (int pair = 0; pair < 4; pair += 2) {
        f32 radius = mul(scale, __fsqrt_rn(mul(2.0f, minus_log(c.w[pair])))), cosine, sine;
        turn(c.w[pair + 1], cosine, sine);
        q.v[pair] = mul(radius, cosine);
        q.v[pair + 1] = mul(radius, sine);
    }
    return q;
}

__device__ __forceinline__ quad laplaces(words c, f32 scale)
{
    quad q;
    for (int k = 0; k < 4; k++) {
        f32 e = mul(scale, minus_log(c.w[k] << 1 | 1));
        q.v[k] = c.w[k] >> 31 ? -e : e;
    }
    return q;
}

/* Elements first..first+3 of an array of n; first is a multiple of four. */
__device__ __forceinline__ void store_quad(f32 *to, i64 first, i64 n, const quad &q)
{
    if (n % 4 == 0 && (u64)to % 16 == 0) {
        *(float4 *)(to + first) = make_float4(q.v[0], q.v[1], q.v[2], q.v[3]);
        return;
    }
    for (int k = 0; k < 4 && first + k < n; k++) to[first + k] = q.v[k];
}
