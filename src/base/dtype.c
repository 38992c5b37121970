/* Element types: names, sizes, and conversions that round once, to nearest even.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/dtype.h"

#include "base/status.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#endif

static const struct { const char *name, *numpy_name; size_t bytes; } types[] = {
    [LT_F16] = { "f16", "float16", 2 },
    [LT_BF16] = { "bf16", "bfloat16", 2 },
    [LT_F32] = { "f32", "float32", 4 },
    [LT_F64] = { "f64", "float64", 8 },
    [LT_C64] = { "c64", "complex64", 8 },
    [LT_C128] = { "c128", "complex128", 16 },
    [LT_I32] = { "i32", "int32", 4 },
    [LT_I64] = { "i64", "int64", 8 },
    [LT_U8] = { "u8", "uint8", 1 },
};
_Static_assert(LT_LEN(types) == LT_DTYPE_COUNT, "one row per element type");

const char *lt_dtype_name(lt_dtype t) { return (unsigned)t < LT_DTYPE_COUNT ? types[t].name : "?"; }
size_t lt_dtype_size(lt_dtype t) { return (unsigned)t < LT_DTYPE_COUNT ? types[t].bytes : 0; }

bool lt_dtype_parse(const char *name, lt_dtype *out)
{
    if (!out) return false;
    for (int t = 0; name && t < LT_DTYPE_COUNT; t++)
        if (!strcmp(name, types[t].name) || !strcmp(name, types[t].numpy_name)) {
            *out = (lt_dtype)t;
            return true;
        }
    return false;
}

/* ---- 16-bit formats -------------------------------------------------------- */
/* A binary format: bits of the fraction, exponent bias, and the pattern of infinity. */
typedef struct layout { int fraction_bits, bias; uint64_t infinity; } layout;
static const layout F16 = { 10, 15, 0x7c00 }, BF16 = { 7, 127, 0x7f80 };
static const layout F32 = { 23, 127, 0x7f800000 }, F64 = { 52, 1023, 0x7ff0000000000000 };

/* Shifts right by `shift` >= 1, rounding to nearest, ties to even. */
static inline uint64_t shift_round(uint64_t v, int shift)
{
    if (shift > 62) return 0;
    uint64_t kept = v >> shift, lost = v & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    return kept + (lost > half || (lost == half && (kept & 1)));
}

/* The magnitude `u` (no sign bit) of format `from`, rounded once into the narrower `to`. */
static inline uint16_t narrow(uint64_t u, layout from, layout to)
{
    int shift = from.fraction_bits - to.fraction_bits;
    if (u > from.infinity) /* NaN: keep the payload's high bits, and make it quiet */
        return (uint16_t)(to.infinity | 1u << (to.fraction_bits - 1) | (u - from.infinity) >> shift);
    if (u == from.infinity) return (uint16_t)to.infinity;
    int exponent = (int)(u >> from.fraction_bits);
    uint64_t significand = u & ((1ull << from.fraction_bits) - 1);
    if (exponent) significand |= 1ull << from.fraction_bits;
    else exponent = 1;
    exponent += to.bias - from.bias;
    if (exponent < 1) { /* subnormal in the target: shift the point to its fixed exponent */
        shift += LT_MIN(1 - exponent, 64);
        exponent = 1;
    }
    /* The leading bit adds one to the exponent field, and so does a carry out of rounding. */
    uint64_t r = ((uint64_t)(exponent - 1) << to.fraction_bits) + shift_round(significand, shift);
    return (uint16_t)LT_MIN(r, to.infinity);
}

static inline uint16_t narrow_f32(float f, layout to)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return (uint16_t)(narrow(u & 0x7fffffffu, F32, to) | (u >> 16 & 0x8000u));
}

static inline uint16_t narrow_f64(double d, layout to)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return (uint16_t)(narrow(u & 0x7fffffffffffffffu, F64, to) | (u >> 48 & 0x8000u));
}

uint16_t lt_f32_to_f16(float f) { return narrow_f32(f, F16); }
uint16_t lt_f64_to_f16(double d) { return narrow_f64(d, F16); }
uint16_t lt_f64_to_bf16(double d) { return narrow_f64(d, BF16); }

uint16_t lt_f32_to_bf16(float f)
{
    /* Same exponent field: rounding is one addition, and a carry into it is right. */
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static inline float float_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float lt_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest > 0x7c00u) return float_from_bits(sign | 0x7fc00000u | (rest & 0x3ffu) << 13); /* NaN, made quiet */
    if (rest == 0x7c00u) return float_from_bits(sign | 0x7f800000u);
    if (rest < 0x400u) { /* zero or subnormal: a multiple of 2^-24, exact in f32 */
        float magnitude = (float)rest * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return float_from_bits(sign | ((rest << 13) + ((127u - 15u) << 23)));
}

float lt_bf16_to_f32(uint16_t h) { return float_from_bits((uint32_t)h << 16); }

/* Arrays of f16, with the processor's own conversion where it has one: the same bits. */
#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static int64_t f16_from_f32_x8(uint16_t *dst, const float *src, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

__attribute__((target("avx,f16c"))) static int64_t f32_from_f16_x8(float *dst, const uint16_t *src, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
    return i;
}

static bool has_f16c(void) /* clang 14's __builtin_cpu_supports does not know the name */
{
    static atomic_int answer; /* 0 = not asked yet, 1 = no, 2 = yes */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (!known) {
        unsigned a, b, c = 0, d;
        bool yes = __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
        atomic_store_explicit(&answer, known = yes ? 2 : 1, memory_order_relaxed);
    }
    return known == 2;
}
#endif

static void f16_from_f32(uint16_t *dst, const float *src, int64_t n)
{
    int64_t i = 0;
#if defined(__x86_64__)
    if (has_f16c()) i = f16_from_f32_x8(dst, src, n);
#endif
    for (; i < n; i++) dst[i] = lt_f32_to_f16(src[i]);
}

static void f32_from_f16(float *dst, const uint16_t *src, int64_t n)
{
    int64_t i = 0;
#if defined(__x86_64__)
    if (has_f16c()) i = f32_from_f16_x8(dst, src, n);
#endif
    for (; i < n; i++) dst[i] = lt_f16_to_f32(src[i]);
}

/* ---- Integers ---------------------------------------------------------------- */
/* Truncated and saturated; NaN gives 0. hi is exclusive and, like lo, exact in double. */
static inline int64_t truncated(double v, double lo, double hi, int64_t min, int64_t max)
{
    if (!(v > lo)) return v <= lo ? min : 0;
    return v >= hi ? max : (int64_t)v;
}

static inline int32_t i32_of(double v) { return (int32_t)truncated(v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX); }
static inline int64_t i64_of(double v) { return truncated(v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX); }
static inline uint8_t u8_of(double v) { return (uint8_t)truncated(v, 0, 256, 0, 255); }
static inline int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return LT_MAX(lo, LT_MIN(v, hi)); }

/* A double that rounds to 8 or 11 bits as v itself does: bits beyond 53 survive as one sticky bit. */
static inline double sticky_double(int64_t v)
{
    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (m >> 53) m = (m & ~0x7ffull) | ((m & 0x7ffu) ? 0x800u : 0);
    return v < 0 ? -(double)m : (double)m;
}

/* ---- Arrays -------------------------------------------------------------------- */
/* Conversion goes through a small block of doubles (exact for every float type) or of
   int64 (exact for every integer type); a complex array is its real type with step 2. */
enum { BLOCK = 256 };

#define EACH(statement) for (int64_t i = 0; i < n; i++) { statement; } break

static lt_dtype real_of(lt_dtype t) { return t == LT_C64 ? LT_F32 : t == LT_C128 ? LT_F64 : t; }

static void load_floats(lt_dtype t, const void *src, int64_t step, int64_t n, double *out)
{
    const uint16_t *h = src;
    const float *f = src;
    const double *d = src;
    switch (t) {
    case LT_F16: EACH(out[i] = (double)lt_f16_to_f32(h[i * step]));
    case LT_BF16: EACH(out[i] = (double)lt_bf16_to_f32(h[i * step]));
    case LT_F32: EACH(out[i] = (double)f[i * step]);
    default: EACH(out[i] = d[i * step]);
    }
}

static void store_floats(lt_dtype t, void *dst, int64_t step, int64_t n, const double *in)
{
    uint16_t *h = dst;
    switch (t) {
    case LT_F16: EACH(h[i * step] = lt_f64_to_f16(in[i]));
    case LT_BF16: EACH(h[i * step] = lt_f64_to_bf16(in[i]));
    case LT_F32: EACH(((float *)dst)[i * step] = (float)in[i]);
    case LT_I32: EACH(((int32_t *)dst)[i * step] = i32_of(in[i]));
    case LT_I64: EACH(((int64_t *)dst)[i * step] = i64_of(in[i]));
    case LT_U8: EACH(((uint8_t *)dst)[i * step] = u8_of(in[i]));
    default: EACH(((double *)dst)[i * step] = in[i]);
    }
}

static void load_integers(lt_dtype t, const void *src, int64_t n, int64_t *out)
{
    switch (t) {
    case LT_I32: EACH(out[i] = ((const int32_t *)src)[i]);
    case LT_U8: EACH(out[i] = ((const uint8_t *)src)[i]);
    default: EACH(out[i] = ((const int64_t *)src)[i]);
    }
}

static void store_integers(lt_dtype t, void *dst, int64_t step, int64_t n, const int64_t *in)
{
    uint16_t *h = dst;
    switch (t) {
    case LT_F16: EACH(h[i * step] = lt_f64_to_f16(sticky_double(in[i])));
    case LT_BF16: EACH(h[i * step] = lt_f64_to_bf16(sticky_double(in[i])));
    case LT_F32: EACH(((float *)dst)[i * step] = (float)in[i]);
    case LT_F64: EACH(((double *)dst)[i * step] = (double)in[i]);
    case LT_I32: EACH(((int32_t *)dst)[i * step] = (int32_t)clamp(in[i], INT32_MIN, INT32_MAX));
    case LT_U8: EACH(((uint8_t *)dst)[i * step] = (uint8_t)clamp(in[i], 0, 255));
    default: EACH(((int64_t *)dst)[i * step] = in[i]);
    }
}

static void convert_block(lt_dtype to, char *dst, int64_t to_step, lt_dtype from, const char *src,
                          int64_t from_step, int64_t n)
{
    if (lt_dtype_is_integer(from)) {
        int64_t wide[BLOCK];
        load_integers(from, src, n, wide);
        store_integers(to, dst, to_step, n, wide);
    } else {
        double wide[BLOCK];
        load_floats(from, src, from_step, n, wide);
        store_floats(to, dst, to_step, n, wide);
    }
}

/* The pairs networks convert all the time, without the detour. False for all others. */
static bool convert_directly(lt_dtype to, void *dst, lt_dtype from, const void *src, int64_t n)
{
    if (to == from) memcpy(dst, src, (size_t)n * lt_dtype_size(to));
    else if (to == LT_F16 && from == LT_F32) f16_from_f32(dst, src, n);
    else if (to == LT_F32 && from == LT_F16) f32_from_f16(dst, src, n);
    else if (to == LT_BF16 && from == LT_F32)
        for (int64_t i = 0; i < n; i++) ((uint16_t *)dst)[i] = lt_f32_to_bf16(((const float *)src)[i]);
    else if (to == LT_F32 && from == LT_BF16)
        for (int64_t i = 0; i < n; i++) ((float *)dst)[i] = lt_bf16_to_f32(((const uint16_t *)src)[i]);
    else return false;
    return true;
}

void lt_convert(lt_dtype to, void *dst, lt_dtype from, const void *src, int64_t n)
{
    if (n <= 0 || convert_directly(to, dst, from, src, n)) return;
    int64_t to_step = lt_dtype_is_complex(to) ? 2 : 1, from_step = lt_dtype_is_complex(from) ? 2 : 1;
    to = real_of(to);
    from = real_of(from);
    if (to_step == 2 && from_step == 2) { /* both complex: twice as many reals */
        to_step = from_step = 1;
        n *= 2;
    }
    size_t to_bytes = lt_dtype_size(to) * (size_t)to_step, from_bytes = lt_dtype_size(from) * (size_t)from_step;
    if (to_step == 2) memset(dst, 0, (size_t)n * to_bytes);
    char *d = dst;
    const char *s = src;
    for (int64_t at = 0; at < n; at += BLOCK)
        convert_block(to, d + (size_t)at * to_bytes, to_step, from, s + (size_t)at * from_bytes,
                      from_step, LT_MIN(n - at, (int64_t)BLOCK));
}

double lt_load_double(lt_dtype t, const void *src, int64_t index)
{
    const char *at = (const char *)src + (size_t)index * lt_dtype_size(t);
    double value;
    convert_block(LT_F64, (char *)&value, 1, real_of(t), at, 1, 1);
    return value;
}

void lt_store_double(lt_dtype t, void *dst, int64_t index, double value)
{
    lt_convert(t, (char *)dst + (size_t)index * lt_dtype_size(t), LT_F64, &value, 1);
}
