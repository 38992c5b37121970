/* The Mersenne Twister (Matsumoto and Nishimura 1998), the draws of other libraries on top of it,
   and the normal quantile (Wichura 1988, algorithm AS 241). SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/rng.h"

#include <math.h>

enum { N = 624, M = 397, BATCH = 256 };

void lt_mt_seed(lt_mt *m, uint32_t seed)
{
    m->state[0] = seed;
    for (uint32_t i = 1; i < N; i++) m->state[i] = 1812433253u * (m->state[i - 1] ^ m->state[i - 1] >> 30) + i;
    m->at = N;
    m->has_spare = false;
    m->spare = 0;
}

static uint32_t twist(uint32_t here, uint32_t after, uint32_t other)
{
    uint32_t y = (here & 0x80000000u) | (after & 0x7fffffffu);
    return other ^ y >> 1 ^ (-(y & 1) & 0x9908b0dfu);
}

/* In three loops without a division, so that the compiler makes vector code of them: data sets of examples are half of a first call. */
static void next_state(uint32_t *s)
{
    for (int i = 0; i < N - M; i++) s[i] = twist(s[i], s[i + 1], s[i + M]);
    for (int i = N - M; i < N - 1; i++) s[i] = twist(s[i], s[i + 1], s[i + M - N]);
    s[N - 1] = twist(s[N - 1], s[0], s[M - 1]);
}

static uint32_t temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static void refill(lt_mt *m)
{
    next_state(m->state);
    m->at = 0;
}

uint32_t lt_mt_u32(lt_mt *m)
{
    if (m->at >= N) refill(m);
    return temper(m->state[m->at++]);
}

/* The next outputs, as lt_mt_u32 would give them one by one. */
static void next_words(lt_mt *m, int count, uint32_t *out)
{
    while (count > 0) {
        if (m->at >= N) refill(m);
        const int some = count < N - m->at ? count : N - m->at;
        const uint32_t *from = m->state + m->at;
        for (int i = 0; i < some; i++) out[i] = temper(from[i]);
        m->at += some;
        out += some;
        count -= some;
    }
}

static const double two_pi = 6.28318530717958647692;

/* 53 low bits of two outputs, the first one high: what scalar normals are made of. */
static double uniform_53(lt_mt *m)
{
    uint64_t high = lt_mt_u32(m), low = lt_mt_u32(m);
    return (double)((high << 32 | low) & ((1ull << 53) - 1)) * 0x1p-53;
}

void lt_mt_uniform_f32(lt_mt *m, int64_t n, float *out)
{
    uint32_t word[BATCH];
    for (int64_t first = 0; first < n; first += BATCH) {
        const int count = n - first < BATCH ? (int)(n - first) : BATCH;
        next_words(m, count, word);
        for (int i = 0; i < count; i++) out[first + i] = (float)(int32_t)(word[i] & 0xffffffu) * 0x1p-24f;
    }
}

static double scalar_normal(lt_mt *m)
{
    if (m->has_spare) {
        m->has_spare = false;
        return m->spare;
    }
    double u1 = uniform_53(m), u2 = uniform_53(m);
    double radius = sqrt(-2 * log1p(-u2)), angle = two_pi * u1;
    m->spare = radius * sin(angle);
    m->has_spare = true;
    return radius * cos(angle);
}

/* Turns 16 uniforms into normals in place: entries j and j + 8 are a pair. */
static void normals_of_16(float *x)
{
    for (int j = 0; j < 8; j++) {
        float radius = sqrtf(-2 * logf(1 - x[j])), angle = (float)two_pi * x[j + 8];
        x[j] = radius * cosf(angle);
        x[j + 8] = radius * sinf(angle);
    }
}

void lt_mt_normal_f32(lt_mt *m, int64_t n, float *out)
{
    if (n < 16) {
        for (int64_t i = 0; i < n; i++) out[i] = (float)scalar_normal(m);
        return;
    }
    lt_mt_uniform_f32(m, n, out);
    for (int64_t i = 0; i + 16 <= n; i += 16) normals_of_16(out + i);
    if (n % 16) { /* the tail overlaps the last whole block, and is drawn afresh */
        lt_mt_uniform_f32(m, 16, out + n - 16);
        normals_of_16(out + n - 16);
    }
}

void lt_mt_uniform_f64(lt_mt *m, int64_t n, double *out)
{
    uint32_t word[2 * BATCH];
    for (int64_t first = 0; first < n; first += BATCH) {
        const int count = n - first < BATCH ? (int)(n - first) : BATCH;
        next_words(m, 2 * count, word);
        for (int i = 0; i < count; i++) /* 27 and 26 bits: signed numbers convert in vectors */
            out[first + i] = ((double)(int32_t)(word[2 * i] >> 5) * 0x1p26 + (double)(int32_t)(word[2 * i + 1] >> 6)) * 0x1p-53;
    }
}

/* ---- The normal quantile ----------------------------------------------------------- */
static double ratio(const double top[8], const double bottom[8], double x)
{
    double a = top[7], b = bottom[7];
    for (int i = 6; i >= 0; i--) {
        a = a * x + top[i];
        b = b * x + bottom[i];
    }
    return a / b;
}

static const double centre_top[8] = {
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3 };
static const double centre_bottom[8] = {
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3 };
static const double middle_top[8] = {
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4 };
static const double middle_bottom[8] = {
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9 };
static const double tail_top[8] = {
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7 };
static const double tail_bottom[8] = {
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15 };

static double centre(double p)
{
    double q = p - 0.5;
    return q * ratio(centre_top, centre_bottom, 0.180625 - q * q);
}

static bool is_central(double p) { return fabs(p - 0.5) <= 0.425; }

double lt_normal_quantile(double p)
{
    if (is_central(p)) return centre(p);
    double q = p - 0.5, tail = q < 0 ? p : 1 - p; /* exact: p >= 0.5 here */
    if (!(tail > 0)) return tail == 0 ? copysign(INFINITY, q) : NAN;
    double r = sqrt(-log(tail));
    double x = r <= 5 ? ratio(middle_top, middle_bottom, r - 1.6) : ratio(tail_top, tail_bottom, r - 5);
    return q < 0 ? -x : x;
}

/* Of at most BATCH numbers, in place: the formula of the centre for all of them, in vectors, then the others one by one. */
static void quantiles(int n, double *x)
{
    double other[BATCH];
    int at[BATCH], n_others = 0;
    for (int i = 0; i < n; i++) {
        at[n_others] = i;
        other[n_others] = x[i];
        n_others += !is_central(x[i]);
    }
    for (int i = 0; i < n; i++) x[i] = centre(x[i]);
    for (int i = 0; i < n_others; i++) x[at[i]] = lt_normal_quantile(other[i]);
}

void lt_mt_normal_f64(lt_mt *m, int64_t n, double *out)
{
    for (int64_t first = 0; first < n; first += BATCH) {
        const int count = n - first < BATCH ? (int)(n - first) : BATCH;
        lt_mt_uniform_f64(m, count, out + first);
        quantiles(count, out + first);
    }
}
