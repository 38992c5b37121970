/* Transcendental functions for one REAL: part of cpu/vec/body.h. With a vector instruction set they
   are libmvec's (within 4 ulp, special values as libm), but for two in single precision; a tail is padded
   to a whole vector, so an element's bits do not depend on where it stands. Plain: libm, element by element.
   SPDX-License-Identifier: BSD-3-Clause */
#if defined(MVEC_F64)
/* The last n < VEC_WIDTH elements, and copies of the first of them in the other lanes. */
static inline VEC FN(vec_load_tail)(const REAL *p, int64_t n)
{
    REAL t[VEC_WIDTH];
    for (int i = 0; i < VEC_WIDTH; i++) t[i] = p[i < n ? i : 0];
    return FN(vec_load)(t);
}
static inline void FN(vec_store_tail)(REAL *p, VEC v, int64_t n)
{
    REAL t[VEC_WIDTH];
    FN(vec_store)(t, v);
    memcpy(p, t, (size_t)n * sizeof(REAL));
}

#define MATH_DECLARE(name) VEC MVEC(v, name)(VEC); static inline VEC FN(v_##name)(VEC x) { return MVEC(v, name)(x); }
#define MATH_DECLARE2(name) \
    VEC MVEC(vv, name)(VEC, VEC); static inline VEC FN(v_##name)(VEC x, VEC y) { return MVEC(vv, name)(x, y); }
#define MATH_T VEC
#define MATH_ABS(x) FN(vec_abs)(x)
#define MATH_CHOOSE(mask, yes, no) FN(vec_choose)((mask), (yes), (no))
#else
#define MATH_DECLARE(name) static inline REAL FN(v_##name)(REAL x) { return LIBM(name)(x); }
#define MATH_DECLARE2(name) static inline REAL FN(v_##name)(REAL x, REAL y) { return LIBM(name)(x, y); }
#define MATH_T REAL
#define MATH_ABS(x) LIBM(fabs)(x)
#define MATH_CHOOSE(mask, yes, no) ((mask) ? (yes) : (no))
#endif

#if defined(MVEC_F64) && !REAL_IS_F64
#include "kernels/cpu/vec/math_f32.h"
#else
MATH_DECLARE(exp)
#endif
#define ROW1_MVEC(ID, name) MATH_DECLARE(name)
#define ROW2_MVEC(ID, name) MATH_DECLARE2(name)
#include "kernels/cpu/vec/rows.def"

/* 1/(1+exp(-x)), written so that exp only sees -|x|: tiny results keep their digits. */
static inline MATH_T FN(v_sigmoid)(MATH_T x)
{
    MATH_T e = FN(v_exp)(-MATH_ABS(x)), r = 1 / (1 + e);
    return MATH_CHOOSE(x < 0, e * r, r);
}

/* log(1+exp(x)) = max(x,0) + log1p(exp(-|x|)): nothing overflows, nothing cancels. */
static inline MATH_T FN(v_softplus)(MATH_T x)
{
    MATH_T zero = { 0 };
    return MATH_CHOOSE(x < 0, zero, x) + FN(v_log1p)(FN(v_exp)(-MATH_ABS(x)));
}

/* x*Phi(x), Phi(x) = (1+erf(x/sqrt 2))/2: in the left tail, where 1+erf cancels, the error is
   small against |x|, not against the result; erfc would mend that at twice the price. */
#if !defined(MVEC_F64) || REAL_IS_F64
static inline MATH_T FN(v_gelu)(MATH_T x) { return C(0.5) * x * (1 + FN(v_erf)(x * C(0.70710678118654752440))); }
#endif

#if defined(MVEC_F64)
#define VEC_MATH(name) VEC_MATH_AFTER(name, )
#define VEC_MATH_SIDE(name) VEC_MATH_AFTER(name,                                             \
        for (; i + VEC_SIDE * VEC_WIDTH <= n; i += VEC_SIDE * VEC_WIDTH) {                   \
            VEC x[VEC_SIDE];                                                                 \
            for (int k = 0; k < VEC_SIDE; k++) x[k] = FN(vec_load)(a + i + k * VEC_WIDTH);   \
            FN(side_##name)(VEC_SIDE, x);                                                    \
            for (int k = 0; k < VEC_SIDE; k++) FN(vec_store)(d + i + k * VEC_WIDTH, x[k]);   \
        })
#define VEC_MATH_AFTER(name, many)                                                           \
    static void FN(name)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n) \
    {                                                                                        \
        REAL *d = d_; const REAL *a = a_; (void)b_; (void)c_;                                \
        int64_t i = 0;                                                                       \
        many                                                                                 \
        for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) FN(vec_store)(d + i, FN(v_##name)(FN(vec_load)(a + i))); \
        if (i < n) FN(vec_store_tail)(d + i, FN(v_##name)(FN(vec_load_tail)(a + i, n - i)), n - i); \
    }
#define VEC_MATH2_FORM(id, name, x, y, x_tail, y_tail)                                       \
    static void FN(id##name)(void *d_, const void *a_, const void *b_, const void *c_, int64_t n) \
    {                                                                                        \
        REAL *d = d_; const REAL *a = a_, *b = b_; (void)c_;                                 \
        const VEC a0 = a[0] - (VEC){ 0 }, b0 = b[0] - (VEC){ 0 }; (void)a0; (void)b0;        \
        int64_t i = 0;                                                                       \
        for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) FN(vec_store)(d + i, FN(v_##name)(x, y));         \
        if (i < n) FN(vec_store_tail)(d + i, FN(v_##name)(x_tail, y_tail), n - i);           \
    }
#define VEC_MATH2(name)                                                                      \
    VEC_MATH2_FORM(vv_, name, FN(vec_load)(a + i), FN(vec_load)(b + i),                      \
                   FN(vec_load_tail)(a + i, n - i), FN(vec_load_tail)(b + i, n - i))         \
    VEC_MATH2_FORM(sv_, name, a0, FN(vec_load)(b + i), a0, FN(vec_load_tail)(b + i, n - i))  \
    VEC_MATH2_FORM(vs_, name, FN(vec_load)(a + i), b0, FN(vec_load_tail)(a + i, n - i), b0)
#else
#define VEC_MATH(name) VEC_UNARY(name, FN(v_##name))
#define VEC_MATH2(name) VEC_BINARY(name, FN(v_##name))
#endif

#define ROW1_MVEC(ID, name) VEC_MATH(name)
#define ROW1_OWN(ID, name) VEC_MATH(name)
#define ROW1_OWN_CHAIN(ID, name) VEC_MATH(name)
#if defined(MVEC_F64) && !REAL_IS_F64
#define ROW1_OWN_SIDE(ID, name) VEC_MATH_SIDE(name)
#else
#define ROW1_OWN_SIDE(ID, name) VEC_MATH(name)
#endif
#define ROW2_MVEC(ID, name) VEC_MATH2(name)
#include "kernels/cpu/vec/rows.def"

/* Vectors side by side, for chains and turned matrices. */
#if !REAL_IS_F64
#if defined(MVEC_F64)
static inline __attribute__((always_inline)) void FN(side_sigmoid)(int n, VEC *x)
{
    for (int k = 0; k < n; k++) x[k] = FN(v_sigmoid)(x[k]);
}
#else
#define SIDE(name) \
    static inline void FN(side_##name)(int n, VEC *x) { for (int k = 0; k < n * VEC_WIDTH; k++) x[k / VEC_WIDTH][k % VEC_WIDTH] = FN(v_##name)(x[k / VEC_WIDTH][k % VEC_WIDTH]); }
SIDE(exp) SIDE(sigmoid) SIDE(gelu)
#undef SIDE
#endif
#endif

#undef MATH_DECLARE
#undef MATH_DECLARE2
#undef MATH_T
#undef MATH_ABS
#undef MATH_CHOOSE
#undef VEC_MATH
#undef VEC_MATH_SIDE
#undef VEC_MATH_AFTER
#undef VEC_MATH2
#undef VEC_MATH2_FORM
#undef VEC_UNARY
#undef VEC_BINARY
#undef VEC_BINARY_FORM
