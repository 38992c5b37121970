/* Chains of cheap ops on a tile in registers, for one REAL: part of cpu/vec/body.h. Each step is
   rounded as the op alone would be. SPDX-License-Identifier: BSD-3-Clause */
#define BITS FN(vec_bits)

static inline VEC FN(vec_splat)(REAL x) { return x - (VEC){ 0 }; } /* minus: keeps the sign of -0 */

#if VEC_BYTES == 64 && REAL_IS_F64
static inline VEC FN(vec_sqrt)(VEC x) { return (VEC)_mm512_sqrt_pd((__m512d)x); }
static inline VEC FN(vec_floor)(VEC x) { return (VEC)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
#define STREAM_VEC(p, v) _mm512_stream_pd((p), (__m512d)(v))
#define LANES __mmask8
#define MASKED(name) _mm512_##name##_pd
#define NATIVE __m512d
#elif VEC_BYTES == 64
static inline VEC FN(vec_sqrt)(VEC x) { return (VEC)_mm512_sqrt_ps((__m512)x); }
static inline VEC FN(vec_floor)(VEC x) { return (VEC)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
#define STREAM_VEC(p, v) _mm512_stream_ps((p), (__m512)(v))
#define LANES __mmask16
#define MASKED(name) _mm512_##name##_ps
#define NATIVE __m512
#elif VEC_BYTES == 32 && REAL_IS_F64
static inline VEC FN(vec_sqrt)(VEC x) { return (VEC)_mm256_sqrt_pd((__m256d)x); }
static inline VEC FN(vec_floor)(VEC x) { return (VEC)_mm256_floor_pd((__m256d)x); }
#define STREAM_VEC(p, v) _mm256_stream_pd((p), (__m256d)(v))
static inline __m128d FN(half_load)(const REAL *p, int64_t n) { return n > 1 ? _mm_loadu_pd(p) : n > 0 ? _mm_load_sd(p) : _mm_setzero_pd(); }
static inline void FN(half_store)(REAL *p, __m128d v, int64_t n)
{
    if (n > 1) _mm_storeu_pd(p, v);
    else if (n > 0) _mm_store_sd(p, v);
}
#define JOIN(high, low) _mm256_set_m128d((high), (low))
#define LOW_HALF(v) _mm256_castpd256_pd128((__m256d)(v))
#define HIGH_HALF(v) _mm256_extractf128_pd((__m256d)(v), 1)
#elif VEC_BYTES == 32
static inline VEC FN(vec_sqrt)(VEC x) { return (VEC)_mm256_sqrt_ps((__m256)x); }
static inline VEC FN(vec_floor)(VEC x) { return (VEC)_mm256_floor_ps((__m256)x); }
#define STREAM_VEC(p, v) _mm256_stream_ps((p), (__m256)(v))
static inline __m128 FN(half_load)(const REAL *p, int64_t n)
{
    if (n > 3) return _mm_loadu_ps(p);
    if (n < 2) return n > 0 ? _mm_load_ss(p) : _mm_setzero_ps();
    __m128 two = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
    return n > 2 ? _mm_movelh_ps(two, _mm_load_ss(p + 2)) : two;
}
static inline void FN(half_store)(REAL *p, __m128 v, int64_t n)
{
    if (n > 3) _mm_storeu_ps(p, v);
    else if (n == 1) _mm_store_ss(p, v);
    if (n != 2 && n != 3) return;
    _mm_storel_epi64((__m128i *)(void *)p, _mm_castps_si128(v));
    if (n > 2) _mm_store_ss(p + 2, _mm_movehl_ps(v, v));
}
#define JOIN(high, low) _mm256_set_m128((high), (low))
#define LOW_HALF(v) _mm256_castps256_ps128((__m256)(v))
#define HIGH_HALF(v) _mm256_extractf128_ps((__m256)(v), 1)
#else
static inline VEC FN(vec_sqrt)(VEC x) { for (int i = 0; i < VEC_WIDTH; i++) x[i] = LIBM(sqrt)(x[i]); return x; }
static inline VEC FN(vec_floor)(VEC x) { for (int i = 0; i < VEC_WIDTH; i++) x[i] = LIBM(floor)(x[i]); return x; }
#define STREAM_VEC(p, v) FN(vec_store)((p), (v))
#endif

/* The first n elements of a vector. Lanes that a mask leaves out cannot fault, but where they lie on a page that is not
   there, the processor takes hundreds of cycles to find out, each time. So near the end of a page the lanes left out are
   those before the elements, not those after. A single element needs no mask. */
#ifdef MASKED
static inline int64_t FN(lanes_before)(const REAL *p, int64_t n) { return (uintptr_t)p % 4096 > 4096 - VEC_BYTES ? VEC_WIDTH - n : 0; }

static inline VEC FN(vec_load_part)(const REAL *p, int64_t n)
{
    if (n == 1) return (VEC){ p[0] };
    int64_t before = FN(lanes_before)(p, n);
    LANES lanes = (LANES)(((1u << n) - 1) << before);
    NATIVE v = MASKED(maskz_loadu)(lanes, p - before);
    return (VEC)(before ? MASKED(maskz_compress)(lanes, v) : v);
}
static inline void FN(vec_store_part)(REAL *p, VEC v, int64_t n)
{
    if (n == 1) {
        p[0] = v[0];
        return;
    }
    int64_t before = FN(lanes_before)(p, n);
    LANES lanes = (LANES)(((1u << n) - 1) << before);
    MASKED(mask_storeu)(p - before, lanes, before ? MASKED(maskz_expand)(lanes, (NATIVE)v) : (NATIVE)v);
}
#undef LANES
#undef MASKED
#undef NATIVE
#elif defined(JOIN)
static inline VEC FN(vec_load_part)(const REAL *p, int64_t n)
{
    return (VEC)JOIN(FN(half_load)(p + VEC_WIDTH / 2, n - VEC_WIDTH / 2), FN(half_load)(p, n));
}
static inline void FN(vec_store_part)(REAL *p, VEC v, int64_t n)
{
    FN(half_store)(p, LOW_HALF(v), n);
    FN(half_store)(p + VEC_WIDTH / 2, HIGH_HALF(v), n - VEC_WIDTH / 2);
}
#undef JOIN
#undef LOW_HALF
#undef HIGH_HALF
#else
static inline VEC FN(vec_load_part)(const REAL *p, int64_t n)
{
    VEC v = { 0 };
    if (n == VEC_WIDTH) return FN(vec_load)(p);
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}
static inline void FN(vec_store_part)(REAL *p, VEC v, int64_t n)
{
    if (n == VEC_WIDTH) FN(vec_store)(p, v);
    else for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
#endif

static inline VEC FN(vec_bool)(BITS mask) { return (VEC)(mask & (BITS)FN(vec_splat)(1)); }
static inline VEC FN(vec_neg)(VEC x) { return -x; }
static inline VEC FN(vec_square)(VEC x) { return x * x; }
static inline VEC FN(vec_recip)(VEC x) { return 1 / x; }
static inline VEC FN(vec_relu)(VEC x) { return (VEC)((BITS)x & ~(x < 0)); }
static inline VEC FN(vec_sign)(VEC x)
{
    VEC ones = FN(vec_choose)(x < 0, FN(vec_splat)(-1), FN(vec_bool)(x > 0));
    return FN(vec_choose)(x != x, x, ones);
}
static inline VEC FN(vec_add)(VEC a, VEC b) { return a + b; }
static inline VEC FN(vec_sub)(VEC a, VEC b) { return a - b; }
static inline VEC FN(vec_mul)(VEC a, VEC b) { return a * b; }
static inline VEC FN(vec_div)(VEC a, VEC b) { return a / b; }
static inline VEC FN(vec_lt)(VEC a, VEC b) { return FN(vec_bool)(a < b); }
static inline VEC FN(vec_le)(VEC a, VEC b) { return FN(vec_bool)(a <= b); }
static inline VEC FN(vec_eq)(VEC a, VEC b) { return FN(vec_bool)(a == b); }
static inline VEC FN(vec_where)(VEC m, VEC a, VEC b) { return FN(vec_choose)(m != 0, a, b); }
static inline VEC FN(vec_clamp)(VEC x, VEC lo, VEC hi) { return FN(vec_minimum)(FN(vec_maximum)(x, lo), hi); }

#if !REAL_IS_F64
#include "kernels/cpu/vec/half.h"
#endif

/* A tile of eight vectors, and one vector for what is left. */
#define TILE_FN(name) FN(tile_##name)
#define TILE_VECTORS 8
#define TILE_PARAMETERS VEC a0, VEC a1, VEC a2, VEC a3, VEC a4, VEC a5, VEC a6, VEC a7
#define TILE_ARGUMENTS a0, a1, a2, a3, a4, a5, a6, a7
#define TILE_START a0, a0, a0, a0, a0, a0, a0, a0
#define TILE_EACH(M, ...) M(0, __VA_ARGS__) M(1, __VA_ARGS__) M(2, __VA_ARGS__) M(3, __VA_ARGS__) \
    M(4, __VA_ARGS__) M(5, __VA_ARGS__) M(6, __VA_ARGS__) M(7, __VA_ARGS__)
#define TILE_LOAD(p, k) FN(vec_load)((p) + (k) * VEC_WIDTH)
#define TILE_STORE(p, k, v) FN(vec_store)((p) + (k) * VEC_WIDTH, (v))
#define TILE_LOAD_HALF(p, k) vec_half_load((p) + (k) * VEC_WIDTH, VEC_WIDTH)
#define TILE_STORE_HALF(p, k, v) vec_half_store((p) + (k) * VEC_WIDTH, (v), VEC_WIDTH)
#define TILE_STREAM(p, k, v) STREAM_VEC((p) + (k) * VEC_WIDTH, (v))
#define TILE_AHEAD extra
#include "kernels/cpu/vec/tile.h"
#define TILE_FN(name) FN(rest_##name)
#define TILE_VECTORS 1
#define TILE_PARAMETERS VEC a0
#define TILE_ARGUMENTS a0
#define TILE_START a0
#define TILE_EACH(M, ...) M(0, __VA_ARGS__)
#define TILE_LOAD(p, k) FN(vec_load_part)((p), extra)
#define TILE_STORE(p, k, v) FN(vec_store_part)((p), (v), extra)
#define TILE_LOAD_HALF(p, k) vec_half_load((p), extra)
#define TILE_STORE_HALF(p, k, v) vec_half_store((p), (v), extra)
#define TILE_STREAM(p, k, v) TILE_STORE(p, k, v)
#define TILE_AHEAD VEC_WIDTH
#include "kernels/cpu/vec/tile.h"

#define TILE (8 * VEC_WIDTH)
#define PAGE (4096 / (int)sizeof(REAL))
#define PAGES LT_CHAIN_PAGES

/* Data from memory is read from a few pages in turn: to the processor's prefetchers, which stop at the end of
   a page, each is a stream of its own, and what a page needs next is on its way while the others are computed. */
static int64_t FN(chain_pages)(const lt_chain_step *steps, char *const *addr, int64_t n)
{
    int64_t at = 0;
    for (; at + PAGES * PAGE <= n; at += PAGES * PAGE)
        for (int64_t o = 0; o < PAGE; o += TILE)
            for (int page = 0; page < PAGES; page++) {
                int64_t ahead = o + TILE < PAGE ? TILE : TILE + (PAGES - 1) * PAGE; /* at its end: the next one in turn */
                FN(tile_run)(steps, addr, at + page * PAGE + o, ahead);
            }
    return at;
}

static void FN(chain)(const lt_chain_step *steps, char *const *addr, int64_t n)
{
    int64_t at = steps[0].code == LT_CHAIN_LOAD_AHEAD ? FN(chain_pages)(steps, addr, n) : 0;
    for (; at + TILE <= n; at += TILE) FN(tile_run)(steps, addr, at, TILE);
    for (; at < n; at += VEC_WIDTH) FN(rest_run)(steps, addr, at, n - at < VEC_WIDTH ? n - at : VEC_WIDTH);
}

#undef TILE
#undef PAGE
#undef PAGES
#undef BITS
#undef STREAM_VEC
