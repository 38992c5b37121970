/* The loops of noise_loops.h, compiled once per instruction set (lt_isa_sources).
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/rollout/noise_loops.h"

#include <math.h>
#include <string.h>

enum { N = LT_DRAW_CHUNK };

typedef struct words { uint32_t w[4][N]; } words; /* word by word, blocks side by side */

/* Philox4x32-10 on N consecutive counters. */
static inline void philox(const lt_draws *s, uint32_t first, words *c)
{
    uint32_t k0 = s->key[0], k1 = s->key[1];
    for (uint32_t l = 0; l < N; l++) {
        c->w[0][l] = first + l;
        c->w[1][l] = s->coordinate[0];
        c->w[2][l] = s->coordinate[1];
        c->w[3][l] = s->coordinate[2];
    }
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        for (int l = 0; l < N; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c->w[0][l], p1 = (uint64_t)0xCD9E8D57u * c->w[2][l];
            c->w[0][l] = (uint32_t)(p1 >> 32) ^ c->w[1][l] ^ k0;
            c->w[1][l] = (uint32_t)p1;
            c->w[2][l] = (uint32_t)(p0 >> 32) ^ c->w[3][l] ^ k1;
            c->w[3][l] = (uint32_t)p0;
        }
}

static inline float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* -log((w + 1) / 2^32), to about 1e-7 relative. Close to 1 the distance to 1 is what counts, so it is
   taken from the integer; elsewhere u = m 2^e with m in [2/3, 4/3). Polynomial: Cephes logf. */
static inline float minus_log(uint32_t w)
{
    float u = ((float)w + 1) * 0x1p-32f, below_one = (float)~w * -0x1p-32f;
    int32_t shifted = (int32_t)(bits_of_float(u) - 0x3f2aaaab) >> 23;
    float m = float_of_bits(bits_of_float(u) - ((uint32_t)shifted << 23)) - 1;
    int near = w > 0xaaaaaaaau;
    float f = near ? below_one : m, e = near ? 0.0f : (float)shifted, z = f * f;
    float y = 7.0376836292e-2f;
    y = y * f - 1.1514610310e-1f;
    y = y * f + 1.1676998740e-1f;
    y = y * f - 1.2420140846e-1f;
    y = y * f + 1.4249322787e-1f;
    y = y * f - 1.6668057665e-1f;
    y = y * f + 2.0000714765e-1f;
    y = y * f - 2.4999993993e-1f;
    y = y * f + 3.3333331174e-1f;
    y = y * f * z - 2.12194440e-4f * e - 0.5f * z;
    return -(f + y + 0.693359375f * e);
}

/* Cosine and sine of 2 pi w / 2^32: the quarter from the integer, the rest by Cephes' polynomials. */
static inline void turn(uint32_t w, float *cosine, float *sine)
{
    uint32_t quarter = (w + 0x20000000u) >> 30;
    float x = (float)(int32_t)(w - (quarter << 30)) * 1.46291807926715968e-9f, z = x * x;
    float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
    float c = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1;
    float a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    *cosine = (quarter + 1) & 2 ? -a : a;
    *sine = quarter & 2 ? -b : b;
}

static void LT_ISA_NAME(uniform)(const lt_draws *s, uint32_t first, float scale, float *out)
{
    words c;
    float step = scale * 0x1p-23f;
    philox(s, first, &c);
    for (int l = 0; l < N; l++)
        for (int k = 0; k < 4; k++) out[4 * l + k] = (float)((int32_t)(c.w[k][l] >> 8) - (1 << 23)) * step;
}

static void LT_ISA_NAME(normal)(const lt_draws *s, uint32_t first, float scale, float *out)
{
    words c;
    float v[4][N];
    philox(s, first, &c);
    for (int pair = 0; pair < 4; pair += 2)
        for (int l = 0; l < N; l++) {
            float radius = scale * sqrtf(2 * minus_log(c.w[pair][l])), cosine, sine;
            turn(c.w[pair + 1][l], &cosine, &sine);
            v[pair][l] = radius * cosine;
            v[pair + 1][l] = radius * sine;
        }
    for (int l = 0; l < N; l++)
        for (int k = 0; k < 4; k++) out[4 * l + k] = v[k][l];
}

static void LT_ISA_NAME(laplace)(const lt_draws *s, uint32_t first, float scale, float *out)
{
    words c;
    float v[4][N];
    philox(s, first, &c);
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < N; l++) {
            float e = scale * minus_log(c.w[k][l] << 1 | 1); /* (j + 1) / 2^31 for the lower 31 bits j */
            v[k][l] = c.w[k][l] >> 31 ? -e : e;
        }
    for (int l = 0; l < N; l++)
        for (int k = 0; k < 4; k++) out[4 * l + k] = v[k][l];
}

const lt_draw_chunk LT_ISA_NAME(lt_draw_chunk)[LT_VARIATE_COUNT] = {
    [LT_VARIATE_UNIFORM] = LT_ISA_NAME(uniform), [LT_VARIATE_NORMAL] = LT_ISA_NAME(normal), [LT_VARIATE_LAPLACE] = LT_ISA_NAME(laplace),
};
