/* Hashing: multiply-and-fold for tables, SHA-256 (FIPS 180-4) for content.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/hash.h"

#include <string.h>

/* ---- Fast hash ---------------------------------------------------------------- */
static uint64_t load_le64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

/* Both halves of the 128-bit product, folded. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t lt_hash_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

uint64_t lt_hash64(const void *data, size_t n_bytes, uint64_t seed)
{
    static const uint64_t odd[3] = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u };
    const uint8_t *p = data;
    uint64_t h = lt_hash_mix(seed ^ odd[0]);
    size_t left = n_bytes;
    for (; left >= 16; left -= 16, p += 16) h = fold(load_le64(p) ^ odd[1], load_le64(p + 8) ^ h) + odd[0];
    uint8_t tail[16] = { 0 };
    if (left) memcpy(tail, p, left);
    h = fold(load_le64(tail) ^ odd[1], load_le64(tail + 8) ^ h);
    return lt_hash_mix(h ^ (uint64_t)n_bytes * odd[2]); /* the length separates "a" from "a\0" */
}

/* ---- SHA-256 -------------------------------------------------------------------- */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void absorb(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    /* The roles a..h move one place each round; eight rounds bring them back, so that with the
       inner loop unrolled every index is a constant and v lives in registers. */
    for (int i = 0; i < 64; i += 8)
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            uint32_t a = v[(8 - j) & 7], b = v[(9 - j) & 7], c = v[(10 - j) & 7], e = v[(12 - j) & 7];
            uint32_t f = v[(13 - j) & 7], g = v[(14 - j) & 7], *h = &v[(15 - j) & 7];
            uint32_t t1 = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                          round_constant[i + j] + w[i + j];
            uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            v[(11 - j) & 7] += t1;
            *h = t1 + t2;
        }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void lt_sha256_start(lt_sha256 *h)
{
    *h = (lt_sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                 0x1f83d9ab, 0x5be0cd19 } };
}

void lt_sha256_add(lt_sha256 *h, const void *data, size_t n_bytes)
{
    const uint8_t *p = data;
    while (n_bytes) {
        size_t held = h->n_bytes % 64, take = 64 - held < n_bytes ? 64 - held : n_bytes;
        if (take == 64) absorb(h->state, p);
        else {
            memcpy(h->block + held, p, take);
            if (held + take == 64) absorb(h->state, h->block);
        }
        h->n_bytes += take;
        p += take;
        n_bytes -= take;
    }
}

lt_digest lt_sha256_finish(lt_sha256 *h)
{
    static const uint8_t padding[64] = { 0x80 };
    uint64_t n_bits = h->n_bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    lt_sha256_add(h, padding, 1 + (119 - h->n_bytes % 64) % 64); /* up to 56 modulo 64 */
    lt_sha256_add(h, length, sizeof length);
    lt_digest d;
    for (int i = 0; i < LT_DIGEST_BYTES; i++) d.byte[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
    return d;
}

lt_digest lt_sha256_of(const void *data, size_t n_bytes)
{
    lt_sha256 h;
    lt_sha256_start(&h);
    lt_sha256_add(&h, data, n_bytes);
    return lt_sha256_finish(&h);
}

lt_digest_text lt_digest_hex(const lt_digest *d)
{
    lt_digest_text t;
    for (int i = 0; i < LT_DIGEST_BYTES; i++) {
        t.s[2 * i] = "0123456789abcdef"[d->byte[i] >> 4];
        t.s[2 * i + 1] = "0123456789abcdef"[d->byte[i] & 15];
    }
    t.s[2 * LT_DIGEST_BYTES] = 0;
    return t;
}
