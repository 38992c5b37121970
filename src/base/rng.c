/* Counter streams over Philox4x32-10, and the sequential reader of one.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/rng.h"

#include "base/hash.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The constants of Philox4x32. */
#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u
#define WEYL_0 0x9E3779B9u
#define WEYL_1 0xBB67AE85u

void lt_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0, p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

lt_draws lt_draws_make(uint64_t seed, const char *purpose, uint32_t c1, uint32_t c2, uint32_t c3)
{
    /* A bijection of the seed for each purpose: two seeds never share a stream of one purpose. */
    uint64_t key = lt_hash_mix(seed + lt_hash64(purpose, strlen(purpose), 0));
    return (lt_draws){ { (uint32_t)key, (uint32_t)(key >> 32) }, { c1, c2, c3 } };
}

static void block_at(const lt_draws *s, uint32_t number, uint32_t word[4])
{
    uint32_t counter[4] = { number, s->coordinate[0], s->coordinate[1], s->coordinate[2] };
    lt_philox4x32(counter, s->key, word);
}

/* Neighbouring blocks side by side, in loops the compiler turns into vector code. */
enum { LANES = 8 };

static void blocks_at(const lt_draws *s, uint32_t first, uint32_t word[LANES][4])
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES], k0 = s->key[0], k1 = s->key[1];
    for (uint32_t l = 0; l < LANES; l++) {
        c0[l] = first + l;
        c1[l] = s->coordinate[0];
        c2[l] = s->coordinate[1];
        c3[l] = s->coordinate[2];
    }
    for (int round = 0; round < 10; round++, k0 += WEYL_0, k1 += WEYL_1)
        for (int l = 0; l < LANES; l++) {
            uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0[l], p1 = (uint64_t)MULTIPLIER_1 * c2[l];
            c0[l] = (uint32_t)(p1 >> 32) ^ c1[l] ^ k0;
            c1[l] = (uint32_t)p1;
            c2[l] = (uint32_t)(p0 >> 32) ^ c3[l] ^ k1;
            c3[l] = (uint32_t)p0;
        }
    for (int l = 0; l < LANES; l++) word[l][0] = c0[l], word[l][1] = c1[l], word[l][2] = c2[l], word[l][3] = c3[l];
}

static uint64_t word64(const uint32_t word[4], int half) { return (uint64_t)word[2 * half] << 32 | word[2 * half + 1]; }

/* ---- What a block's words become --------------------------------------------------- */
static void uniforms_f32(const uint32_t word[4], float out[4])
{
    for (int i = 0; i < 4; i++) out[i] = (float)(word[i] >> 8) * 0x1p-24f;
}

static void uniforms_f64(const uint32_t word[4], double out[2])
{
    for (int i = 0; i < 2; i++) out[i] = (double)(word64(word, i) >> 11) * 0x1p-53;
}

/* Box-Muller: u in (0, 1], v in [0, 1). */
static void normal_pair(double u, double v, double out[2])
{
    double radius = sqrt(-2 * log(u)), sine, cosine;
    sincos(2 * 3.14159265358979323846 * v, &sine, &cosine);
    out[0] = radius * cosine;
    out[1] = radius * sine;
}

static void normals_f32(const uint32_t word[4], float out[4])
{
    for (int i = 0; i < 4; i += 2) {
        double pair[2];
        normal_pair(((double)word[i] + 1) * 0x1p-32, (double)word[i + 1] * 0x1p-32, pair);
        out[i] = (float)pair[0];
        out[i + 1] = (float)pair[1];
    }
}

static void normals_f64(const uint32_t word[4], double out[2])
{
    normal_pair((double)((word64(word, 0) >> 11) + 1) * 0x1p-53, (double)(word64(word, 1) >> 11) * 0x1p-53, out);
}

/* ---- Ranges ---------------------------------------------------------------------------- */
static lt_status check_range(int64_t first, int64_t n, int64_t limit)
{
    if (first < 0 || n < 0 || first > limit || n > limit - first)
        return LT_FAIL(LT_ERR_ARGUMENT,
                       "random stream: %" PRId64 " elements from %" PRId64 ": expected a range within 0..%" PRId64, n,
                       first, limit);
    return LT_OK;
}

/* No numbers need no place. */
static lt_status check_pointers(const lt_draws *s, int64_t n, const void *out)
{
    if (s && (out || !n)) return LT_OK;
    return LT_FAIL(LT_ERR_ARGUMENT, "draws: %s is NULL", s ? "out" : "the stream");
}

static lt_status fill_f32(const lt_draws *s, int64_t first, int64_t n, float *out,
                          void (*turn)(const uint32_t word[4], float value[4]))
{
    LT_TRY(check_range(first, n, LT_STREAM_MAX_F32));
    LT_TRY(check_pointers(s, n, out));
    int64_t i = first, end = first + n;
    while (i < end) {
        uint32_t word[LANES][4];
        float value[4];
        if (i % 4 == 0 && end - i >= 4 * LANES) { /* whole blocks */
            blocks_at(s, (uint32_t)(i / 4), word);
            for (int l = 0; l < LANES; l++, i += 4) turn(word[l], out + (i - first));
            continue;
        }
        block_at(s, (uint32_t)(i / 4), word[0]);
        turn(word[0], value);
        do out[i - first] = value[i % 4];
        while (++i % 4 && i < end);
    }
    return LT_OK;
}

static lt_status fill_f64(const lt_draws *s, int64_t first, int64_t n, double *out,
                          void (*turn)(const uint32_t word[4], double value[2]))
{
    LT_TRY(check_range(first, n, LT_STREAM_MAX_F64));
    LT_TRY(check_pointers(s, n, out));
    int64_t i = first, end = first + n;
    while (i < end) {
        uint32_t word[LANES][4];
        double value[2];
        if (i % 2 == 0 && end - i >= 2 * LANES) { /* whole blocks */
            blocks_at(s, (uint32_t)(i / 2), word);
            for (int l = 0; l < LANES; l++, i += 2) turn(word[l], out + (i - first));
            continue;
        }
        block_at(s, (uint32_t)(i / 2), word[0]);
        turn(word[0], value);
        do out[i - first] = value[i % 2];
        while (++i % 2 && i < end);
    }
    return LT_OK;
}

lt_status lt_draws_uniform_f32(const lt_draws *s, int64_t first, int64_t n, float *out)
{
    return fill_f32(s, first, n, out, uniforms_f32);
}

lt_status lt_draws_uniform_f64(const lt_draws *s, int64_t first, int64_t n, double *out)
{
    return fill_f64(s, first, n, out, uniforms_f64);
}

lt_status lt_draws_normal_f32(const lt_draws *s, int64_t first, int64_t n, float *out)
{
    return fill_f32(s, first, n, out, normals_f32);
}

lt_status lt_draws_normal_f64(const lt_draws *s, int64_t first, int64_t n, double *out)
{
    return fill_f64(s, first, n, out, normals_f64);
}

/* ---- In order ---------------------------------------------------------------------------- */
lt_rng lt_rng_seed(uint64_t seed) { return (lt_rng){ .stream = lt_draws_make(seed, "sequence", 0, 0, 0) }; }

uint64_t lt_rng_u64(lt_rng *r)
{
    uint64_t block = r->position / 2;
    lt_draws s = r->stream;
    s.coordinate[0] += (uint32_t)(block >> 32); /* no end after 2^33 draws */
    uint32_t word[4];
    block_at(&s, (uint32_t)block, word);
    return word64(word, (int)(r->position++ % 2));
}

double lt_rng_uniform(lt_rng *r) { return (double)(lt_rng_u64(r) >> 11) * 0x1p-53; }

double lt_rng_normal(lt_rng *r)
{
    return lt_normal_quantile(((double)(lt_rng_u64(r) >> 12) + 0.5) * 0x1p-52); /* inside (0, 1), symmetric */
}

uint64_t lt_rng_below(lt_rng *r, uint64_t n)
{
    if (n < 2) return 0;
    uint64_t unfair = (0 - n) % n, v; /* 2^64 modulo n values would be counted once too often */
    do v = lt_rng_u64(r);
    while (v < unfair);
    return v % n;
}
