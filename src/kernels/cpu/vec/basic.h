/* Arithmetic, comparisons and choices, rounded once each, for one REAL: part of cpu/vec/body.h.
   SPDX-License-Identifier: BSD-3-Clause */
#define C(value) ((REAL)(value))
#define VEC FN(vec)
#define VEC_WIDTH (VEC_BYTES / (int)sizeof(REAL))
#define VEC_SIDE (VEC_BYTES == 64 ? 8 : 4) /* vectors computed side by side: what the registers hold */

typedef REAL VEC __attribute__((vector_size(VEC_BYTES)));
typedef REAL_BITS FN(vec_bits) __attribute__((vector_size(VEC_BYTES)));

static inline VEC FN(vec_load)(const REAL *p) { VEC v; memcpy(&v, p, sizeof v); return v; }
static inline void FN(vec_store)(REAL *p, VEC v) { memcpy(p, &v, sizeof v); }
static inline VEC FN(vec_choose)(FN(vec_bits) mask, VEC yes, VEC no)
{
    return (VEC)((mask & (FN(vec_bits))yes) | (~mask & (FN(vec_bits))no));
}
static inline VEC FN(vec_abs)(VEC x)
{
    const REAL_BITS all_but_sign = sizeof(REAL) == 8 ? (REAL_BITS)INT64_MAX : (REAL_BITS)INT32_MAX;
    return (VEC)((FN(vec_bits))x & all_but_sign);
}
/* A NaN is passed on from either side. The instructions return b if one is NaN, so only a NaN in a must be put back. */
#if VEC_BYTES == 64 && REAL_IS_F64
#define EXTREME(max, a, b) (VEC)_mm512_mask_##max##_pd((__m512d)(a), _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(a), _CMP_ORD_Q), (__m512d)(a), (__m512d)(b))
#elif VEC_BYTES == 64
#define EXTREME(max, a, b) (VEC)_mm512_mask_##max##_ps((__m512)(a), _mm512_cmp_ps_mask((__m512)(a), (__m512)(a), _CMP_ORD_Q), (__m512)(a), (__m512)(b))
#elif VEC_BYTES == 32 && REAL_IS_F64
#define EXTREME(max, a, b) \
    (VEC)_mm256_blendv_pd(_mm256_##max##_pd((__m256d)(a), (__m256d)(b)), (__m256d)(a), _mm256_cmp_pd((__m256d)(a), (__m256d)(a), _CMP_UNORD_Q))
#elif VEC_BYTES == 32
#define EXTREME(max, a, b) \
    (VEC)_mm256_blendv_ps(_mm256_##max##_ps((__m256)(a), (__m256)(b)), (__m256)(a), _mm256_cmp_ps((__m256)(a), (__m256)(a), _CMP_UNORD_Q))
#endif
#ifdef EXTREME
static inline VEC FN(vec_maximum)(VEC a, VEC b) { return EXTREME(max, a, b); }
static inline VEC FN(vec_minimum)(VEC a, VEC b) { return EXTREME(min, a, b); }
#undef EXTREME
#else
static inline VEC FN(vec_maximum)(VEC a, VEC b) { return FN(vec_choose)((a > b) | (a != a), a, b); }
static inline VEC FN(vec_minimum)(VEC a, VEC b) { return FN(vec_choose)((a < b) | (a != a), a, b); }
#endif

/* The bodies of ops.def for this type. */
#define R REAL
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, domain, body, ...) static inline R FN(one_##name)(R x) body
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, domain, body, ...) static inline R FN(one_##name)(R a, R b) body
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, domain, body, ...) static inline R FN(one_##name)(R x, R y, R z) body
#include "kernels/ops.def"
#undef R

/* Loops over fn, for arrays and for operands that are one element. */
#define VEC_UNARY(name, fn)                                                                  \
    static void FN(name)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n) \
    {                                                                                        \
        REAL *d = d_; const REAL *a = a_; (void)b_; (void)c_;                                \
        VEC_LOOP for (int64_t i = 0; i < n; i++) d[i] = fn(a[i]);                            \
    }

#define VEC_BINARY_FORM(id, name, fn, x, y)                                                  \
    static void FN(id##name)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n) \
    {                                                                                        \
        REAL *d = d_; const REAL *a = a_, *b = b_, a0 = a[0], b0 = b[0];                      \
        (void)c_; (void)a0; (void)b0;                                                        \
        VEC_LOOP for (int64_t i = 0; i < n;       i++) d[i] = fn(x, y);                      \
    }
#define VEC_BINARY(name, fn)                                                                 \
    VEC_BINARY_FORM(vv_, name, fn, a[i], b[i])                                               \
    VEC_BINARY_FORM(sv_, name, fn, a0, b[i])                                                 \
    VEC_BINARY_FORM(vs_, name, fn, a[i], b0)

#define VEC_TERNARY_FORM(id, name, fn, y, z)                                                 \
    static void FN(id##name)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n) \
    {                                                                                        \
        REAL *d = d_; const REAL *a = a_, *b = b_, *c = c_, b0 = b[0], c0 = c[0];             \
        (void)b0; (void)c0;                                                                  \
        VEC_LOOP for (int64_t i = 0; i < n;       i++) d[i] = fn(a[i], y, z);                \
    }
#define VEC_TERNARY(name, fn)                                                                \
    VEC_TERNARY_FORM(vv_, name, fn, b[i], c[i])                                              \
    VEC_TERNARY_FORM(sv_, name, fn, b0, c[i])                                                \
    VEC_TERNARY_FORM(vs_, name, fn, b[i], c0)                                                \
    VEC_TERNARY_FORM(ss_, name, fn, b0, c0)

/* Rows whose body the compiler vectorises; the others are in math.h. */
#define ROW1_LOOP(ID, name) VEC_UNARY(name, FN(one_##name))
#define ROW1_CHAIN(ID, name) VEC_UNARY(name, FN(one_##name))
#define ROW2_LOOP(ID, name) VEC_BINARY(name, FN(one_##name))
#define ROW2_CHAIN(ID, name) VEC_BINARY(name, FN(one_##name))
#define ROW3_LOOP(ID, name) VEC_TERNARY(name, FN(one_##name))
#define ROW3_CHAIN(ID, name) VEC_TERNARY(name, FN(one_##name))
#include "kernels/cpu/vec/rows.def"

static void FN(fill)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n)
{
    REAL *d = d_, value = *(const REAL *)a_;
    (void)b_; (void)c_;
    for (int64_t i = 0; i < n; i++) d[i] = value;
}

static void FN(copy)(void *d, const void *a, const void *b, const void *c, int64_t n)
{
    (void)b; (void)c;
    if (d != a) memcpy(d, a, (size_t)n * sizeof(REAL));
}

/* Writes past the caches what nothing will read soon; the caller fences. */
static void FN(copy_streaming)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n)
{
    (void)b_; (void)c_;
    char *d = d_;
    const char *a = a_;
    size_t bytes = (size_t)n * sizeof(REAL), i = 0;
#if VEC_BYTES > 16
    size_t head = -(uintptr_t)d % VEC_BYTES;
    if (head > bytes) head = bytes;
    memcpy(d, a, head);
    for (i = head; i + VEC_BYTES <= bytes; i += VEC_BYTES)
#if VEC_BYTES == 64
        _mm512_stream_si512((void *)(d + i), _mm512_loadu_si512(a + i));
#else
        _mm256_stream_si256((__m256i *)(void *)(d + i), _mm256_loadu_si256((const __m256i *)(const void *)(a + i)));
#endif
#endif
    memcpy(d + i, a + i, bytes - i);
}

#undef VEC_TERNARY
#undef VEC_TERNARY_FORM
