/* exp and GELU of our own in single precision, at a third of libmvec's price: part of vec_math.h, with AVX2 and AVX-512.
   Inlined, chains keep their values and loops the coefficients in registers. SPDX-License-Identifier: BSD-3-Clause */
#define ALL(c) ((VEC){ 0 } + C(c))
#define TERM(sum, x, c) sum = FN(vec_fma)(sum, x, ALL(c))
#define INLINE static inline __attribute__((always_inline))

INLINE VEC FN(vec_fma)(VEC a, VEC b, VEC c)
{
    for (int i = 0; i < VEC_WIDTH; i++) a[i] = LIBM(fma)(a[i], b[i], c[i]);
    return a;
}

/* x, but from low to high. The instructions return their second operand when they cannot tell, so NaN stays. */
INLINE VEC FN(vec_within)(VEC x, VEC low, VEC high)
{
#if VEC_BYTES == 64
    return (VEC)_mm512_min_ps((__m512)high, _mm512_max_ps((__m512)low, (__m512)x));
#else
    return (VEC)_mm256_min_ps((__m256)high, _mm256_max_ps((__m256)low, (__m256)x));
#endif
}

/* x 2^n for whole n from -151 to 129, rounded once. */
INLINE VEC FN(vec_scale)(VEC x, VEC n)
{
#if VEC_BYTES == 64
    return (VEC)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    FN(vec_bits) power = (FN(vec_bits))_mm256_cvtps_epi32((__m256)n), half = power >> 1;
    return x * (VEC)((half + 127) << 23) * (VEC)((power - half + 127) << 23);
#endif
}

/* 2^n e^r with r = x - n ln 2, half of ln 2 at most; e^r is a polynomial fitted to 3e-9. Adding 1.5 * 2^23 rounds to
   whole numbers; ln 2 is subtracted in two parts. At the limits the result is 0 and infinity. */
INLINE VEC FN(v_exp)(VEC x)
{
    x = FN(vec_within)(x, ALL(-104), ALL(89));
    VEC n = FN(vec_fma)(x, ALL(1.44269504), ALL(12582912)) - ALL(12582912), e = ALL(0.00138145394);
    VEC r = FN(vec_fma)(n, ALL(1.90465429995776816e-9), FN(vec_fma)(n, ALL(-0.693147182464599609375), x));
    TERM(e, r, 0.00836874545), TERM(e, r, 0.041668389), TERM(e, r, 0.166665211), TERM(e, r, 0.49999994), TERM(e, r, 1), TERM(e, r, 1);
    return FN(vec_scale)(e, n);
}

/* x Phi(x), Phi(x) = 1/2 + u q(u^2 - 1/2) with u = x / 5.41 and q fitted to 3e-8. Beyond u = 1 Phi is 0 or 1 to within that,
   and exactly so here, since q(1/2) is 1/2 to the last bit. */
INLINE VEC FN(v_gelu)(VEC x)
{
    VEC u = FN(vec_within)(x * ALL(1 / 5.41), ALL(-1), ALL(1)), w = FN(vec_fma)(u, u, ALL(-0.5)), q = ALL(34.4356041);
    TERM(q, w, -46.763443), TERM(q, w, 21.0229034), TERM(q, w, -13.3228617), TERM(q, w, 20.1345997), TERM(q, w, -18.8305492);
    TERM(q, w, 13.553669), TERM(q, w, -9.72311115), TERM(q, w, 6.81922865), TERM(q, w, -4.46409178), TERM(q, w, 2.78022194);
    TERM(q, w, -1.69512331), TERM(q, w, 1.04787397), TERM(q, w, -0.705582261), TERM(q, w, 0.707014501);
    return x * FN(vec_fma)(u, q, ALL(0.5));
}

#undef ALL
#undef TERM
#undef INLINE
