/* Half types to and from whole vectors of f32, for chains, with the bits of cpu/vec/convert.h: part of cpu/vec/chain.h.
   SPDX-License-Identifier: BSD-3-Clause */
#define HALF_AHEAD 2048 /* bytes ahead of those at hand that a load asks for: worth a twentieth on maps larger than a cache */
typedef uint16_t vec_half __attribute__((vector_size(VEC_BYTES / 2)));
typedef uint32_t vec_word __attribute__((vector_size(VEC_BYTES)));

static inline VEC vec_from_bf16(vec_half h) { return (VEC)(__builtin_convertvector(h, vec_word) << 16); }
static inline vec_half vec_to_bf16(VEC x)
{
    vec_word u = (vec_word)x, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
    vec_word nan = (vec_word)(x != x);
    return __builtin_convertvector((nan & quiet) | (~nan & rounded), vec_half);
}

#if VEC_BYTES == 64
static inline VEC vec_from_f16(vec_half h) { return (VEC)_mm512_cvtph_ps((__m256i)h); }
static inline vec_half vec_to_f16(VEC x) { return (vec_half)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT); }
#elif VEC_BYTES == 32
static inline VEC vec_from_f16(vec_half h) { return (VEC)_mm256_cvtph_ps((__m128i)h); }
static inline vec_half vec_to_f16(VEC x) { return (vec_half)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT); }
#else
static inline VEC vec_from_f16(vec_half h)
{
    VEC x;
    for (int i = 0; i < VEC_WIDTH; i++) x[i] = lt_f16_to_f32(h[i]);
    return x;
}
static inline vec_half vec_to_f16(VEC x)
{
    vec_half h;
    for (int i = 0; i < VEC_WIDTH; i++) h[i] = lt_f32_to_f16(x[i]);
    return h;
}
#endif

/* n elements of a vector; the others are zero, so that none of them costs more than it should. */
static inline vec_half vec_half_load(const uint16_t *p, int64_t n)
{
    vec_half h = { 0 };
    memcpy(&h, p, (size_t)n * sizeof *p);
    return h;
}
static inline void vec_half_store(uint16_t *p, vec_half h, int64_t n) { memcpy(p, &h, (size_t)n * sizeof *p); }
