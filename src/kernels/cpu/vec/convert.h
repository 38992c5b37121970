/* Conversions between REAL and the element types of tensors, with the meaning of base/dtype.h:
   round to nearest even once; to integers truncate and saturate, NaN gives 0. Part of cpu/vec/body.h.
   SPDX-License-Identifier: BSD-3-Clause */
#define VEC_CONVERT(name, TO, FROM, expression)                                              \
    static void FN(name)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n) \
    {                                                                                        \
        TO *d = d_; const FROM *a = a_; (void)b_; (void)c_;                                  \
        for (int64_t i = 0; i < n; i++) { const FROM x = a[i]; d[i] = (expression); }        \
    }

VEC_CONVERT(load_i32, REAL, int32_t, (REAL)x)
VEC_CONVERT(load_i64, REAL, int64_t, (REAL)x)
VEC_CONVERT(load_u8, REAL, uint8_t, (REAL)x)

static inline int32_t FN(to_i32)(REAL x)
{
    REAL safe = ((x >= C(-2147483648.0)) & (x < C(2147483648.0))) ? x : C(0);
    return x >= C(2147483648.0) ? INT32_MAX : x < C(-2147483648.0) ? INT32_MIN : (int32_t)safe;
}
static inline int64_t FN(to_i64)(REAL x)
{
    REAL safe = ((x >= C(-0x1p63)) & (x < C(0x1p63))) ? x : C(0);
    return x >= C(0x1p63) ? INT64_MAX : x < C(-0x1p63) ? INT64_MIN : (int64_t)safe;
}
static inline uint8_t FN(to_u8)(REAL x)
{
    REAL safe = ((x > C(0)) & (x < C(256))) ? x : C(0);
    return x >= C(256) ? UINT8_MAX : (uint8_t)(int32_t)safe;
}
VEC_CONVERT(store_i32, int32_t, REAL, FN(to_i32)(x))
VEC_CONVERT(store_i64, int64_t, REAL, FN(to_i64)(x))
VEC_CONVERT(store_u8, uint8_t, REAL, FN(to_u8)(x))

static inline float FN(from_bf16)(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
VEC_CONVERT(load_bf16, REAL, uint16_t, (REAL)FN(from_bf16)(x))

#if REAL_IS_F64
VEC_CONVERT(load_f32, double, float, (double)x)
VEC_CONVERT(store_f32, float, double, (float)x)
VEC_CONVERT(store_bf16, uint16_t, double, lt_f64_to_bf16(x))
VEC_CONVERT(store_f16, uint16_t, double, lt_f64_to_f16(x))
#else
VEC_CONVERT(load_f64, float, double, (float)x)
VEC_CONVERT(store_f64, double, float, (double)x)

static inline uint16_t FN(to_bf16)(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}
VEC_CONVERT(store_bf16, uint16_t, float, FN(to_bf16)(x))
#endif

#if defined(__F16C__)
/* Eight at a time; tails are padded, so that a NaN's payload does not depend on its place. */
static inline void FN(put_f16_widened)(REAL *d, const uint16_t *a)
{
    __m256 v = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)a));
    float t[8];
    _mm256_storeu_ps(t, v);
    for (int i = 0; i < 8; i++) d[i] = t[i];
}
static void FN(load_f16)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n)
{
    REAL *d = d_; const uint16_t *a = a_; (void)b_; (void)c_;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) FN(put_f16_widened)(d + i, a + i);
    if (i == n) return;
    uint16_t from[8] = { 0 };
    REAL to[8];
    memcpy(from, a + i, (size_t)(n - i) * sizeof *from);
    FN(put_f16_widened)(to, from);
    memcpy(d + i, to, (size_t)(n - i) * sizeof *to);
}
#if !REAL_IS_F64
static inline void FN(put_f16)(uint16_t *d, const float *a)
{
    _mm_storeu_si128((__m128i *)(void *)d, _mm256_cvtps_ph(_mm256_loadu_ps(a), _MM_FROUND_TO_NEAREST_INT));
}
static void FN(store_f16)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n)
{
    uint16_t *d = d_; const float *a = a_; (void)b_; (void)c_;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) FN(put_f16)(d + i, a + i);
    if (i == n) return;
    float from[8] = { 0 };
    uint16_t to[8];
    memcpy(from, a + i, (size_t)(n - i) * sizeof *from);
    FN(put_f16)(to, from);
    memcpy(d + i, to, (size_t)(n - i) * sizeof *to);
}
#endif
#else
VEC_CONVERT(load_f16, REAL, uint16_t, (REAL)lt_f16_to_f32(x))
#if !REAL_IS_F64
VEC_CONVERT(store_f16, uint16_t, float, lt_f32_to_f16(x))
#endif
#endif

#undef VEC_CONVERT
