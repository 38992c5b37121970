/* exp and GELU of our own in single precision, at a third of libmvec's price: part of cpu/vec/math.h, with AVX2 and AVX-512.
   Each multiply-add of a polynomial waits for the one before, so several vectors are computed side by side: n of them, a
   number the compiler knows. SPDX-License-Identifier: BSD-3-Clause */
#define ALL(c) ((VEC){ 0 } + C(c))
#define INLINE static inline __attribute__((always_inline))
#define EACH VEC_UNROLL for (int k = 0; k < n; k++)

INLINE VEC FN(vec_fma)(VEC a, VEC b, VEC c)
{
    for (int i = 0; i < VEC_WIDTH; i++) a[i] = LIBM(fma)(a[i], b[i], c[i]);
    return a;
}

/* x, but from low to high. The instructions return their second operand if one is NaN, so NaN stays. */
INLINE VEC FN(vec_within)(VEC x, VEC low, VEC high)
{
#if VEC_BYTES == 64
    return (VEC)_mm512_min_ps((__m512)high, _mm512_max_ps((__m512)low, (__m512)x));
#else
    return (VEC)_mm256_min_ps((__m256)high, _mm256_max_ps((__m256)low, (__m256)x));
#endif
}

/* The same from -1 to 1, where one instruction does it; NaN may become 1. */
INLINE VEC FN(vec_within_one)(VEC x)
{
#if VEC_BYTES == 64
    enum { SMALLER_SIZE_SIGN_OF_FIRST = 2 };
    return (VEC)_mm512_range_ps((__m512)x, (__m512)ALL(1), SMALLER_SIZE_SIGN_OF_FIRST);
#else
    return FN(vec_within)(x, ALL(-1), ALL(1));
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

/* sum[k] = polynomial of x[k], coefficients from the highest power down. */
INLINE void FN(polynomial)(int n, VEC *sum, const VEC *x, int n_terms, const REAL *term)
{
    EACH sum[k] = ALL(term[0]);
    for (int i = 1; i < n_terms; i++) EACH sum[k] = FN(vec_fma)(sum[k], x[k], ALL(term[i]));
}

/* 2^m e^r with r = x - m ln 2, half of ln 2 at most; e^r is a polynomial fitted to 3e-9. Adding 1.5 * 2^23 rounds to
   whole numbers; ln 2 is subtracted in two parts. At the limits the result is 0 and infinity. */
INLINE void FN(side_exp)(int n, VEC *x)
{
    static const REAL term[] = { C(0.00138145394), C(0.00836874545), C(0.041668389), C(0.166665211), C(0.49999994), 1, 1 };
    VEC m[VEC_SIDE], r[VEC_SIDE];
    EACH x[k] = FN(vec_within)(x[k], ALL(-104), ALL(89));
    EACH m[k] = FN(vec_fma)(x[k], ALL(1.44269504), ALL(12582912)) - ALL(12582912);
    EACH r[k] = FN(vec_fma)(m[k], ALL(1.90465429995776816e-9), FN(vec_fma)(m[k], ALL(-0.693147182464599609375), x[k]));
    FN(polynomial)(n, x, r, LT_LEN(term), term);
    EACH x[k] = FN(vec_scale)(x[k], m[k]);
}

/* x Phi(x), Phi(x) = 1/2 + u q(u^2 - 1/2) with u = x / 5.41 and q fitted to 3e-8. Beyond u = 1 Phi is 0 or 1 to within that,
   and exactly so here, since q(1/2) is 1/2 to the last bit. */
INLINE void FN(side_gelu)(int n, VEC *x)
{
    static const REAL term[] = { C(34.4356041), C(-46.763443), C(21.0229034), C(-13.3228617), C(20.1345997), C(-18.8305492), C(13.553669), C(-9.72311115),
                                 C(6.81922865), C(-4.46409178), C(2.78022194), C(-1.69512331), C(1.04787397), C(-0.705582261), C(0.707014501) };
    VEC u[VEC_SIDE], w[VEC_SIDE], q[VEC_SIDE];
    EACH u[k] = FN(vec_within_one)(x[k] * ALL(1 / 5.41));
    EACH w[k] = FN(vec_fma)(u[k], u[k], ALL(-0.5));
    FN(polynomial)(n, q, w, LT_LEN(term), term);
    EACH x[k] *= FN(vec_fma)(u[k], q[k], ALL(0.5));
}

INLINE VEC FN(v_exp)(VEC x)
{
    FN(side_exp)(1, &x);
    return x;
}

INLINE VEC FN(v_gelu)(VEC x)
{
    FN(side_gelu)(1, &x);
    return x;
}

#undef ALL
#undef INLINE
#undef EACH
