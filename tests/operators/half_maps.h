/* Maps of half-precision numbers for tests: made, read, compared. SPDX-License-Identifier: BSD-3-Clause */
#ifndef HALF_MAPS_H
#define HALF_MAPS_H

#include "base/dtype.h"
#include "lt_test.h"

/* IEEE half of a number that is neither huge nor infinite; ties to even. */
static inline uint16_t to_ieee_half(double x)
{
    int e;
    double size = fabs(x);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (size < 0x1p-14) return (uint16_t)(sign | (unsigned)nearbyint(size * 0x1p24));
    frexp(size, &e); /* size in [2^(e-1), 2^e) */
    return (uint16_t)(sign + ((unsigned)(e + 13) << 10) + (unsigned)nearbyint(ldexp(size, 11 - e)));
}
static inline double from_ieee_half(uint16_t h)
{
    int e = h >> 10 & 31;
    double size = e == 31 ? NAN : e ? ldexp(0x400 | (h & 0x3ff), e - 25) : ldexp(h & 0x3ff, -24);
    return h & 0x8000 ? -size : size;
}
static inline uint16_t to_half(double x, bool bf16) { return bf16 ? lt_f64_to_bf16(x) : to_ieee_half(x); }
static inline double from_half(uint16_t h, bool bf16) { return bf16 ? (double)lt_bf16_to_f32(h) : from_ieee_half(h); }

/* About normal: of variance 1. */
static inline double next_number(uint64_t *seed)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += ldexp((double)(*seed >> 11), -53) - 0.5;
    }
    return 2 * sum;
}
static inline void fill_floats(float *x, size_t n, float mean, float spread, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(mean + spread * next_number(seed));
}
static inline void fill_halves(uint16_t *x, size_t n, bool bf16, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) x[i] = to_half(next_number(seed), bf16);
}

/* As half.cuh numbers them. */
static inline double activated(double x, int act)
{
    switch (act) {
    case 1: return 0.5 * x * (1 + erf(x * sqrt(0.5)));
    case 2: return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case 3: return x > 0 ? x : 0;
    case 4: return x / (1 + exp(-x));
    case 5: return tanh(x);
    default: return x;
    }
}

/* Against exact numbers: what is rounded once, or computed in half precision on the way. */
static inline void check_halves(const uint16_t *got, const double *want, size_t n, bool bf16, bool activated_first, const char *what)
{
    double error = 0, size = 0, unit = bf16 ? 0x1p-8 : 0x1p-11, most = (activated_first ? 4 : 1.02) * unit;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < n; i++) size += want[i] * want[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(from_half(got[i], bf16) - want[i]);
        error += d * d / (double)n;
        if (!(d <= most * (fabs(want[i]) + (activated_first ? 1 : 1e-2) * sqrt(size))) && !wrong++) first = i;
    }
    if (wrong) LT_TEST_FAIL("%s: %zu of %zu numbers are wrong, the first at %zu: %g, expected %g", what, wrong, n, first, from_half(got[first], bf16), want[first]);
    if (!(sqrt(error / size) <= unit)) LT_TEST_FAIL("%s: off by %.2e on the whole", what, sqrt(error / size));
}

#endif
