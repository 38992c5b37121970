/* A fast hash for tables and keys, and the SHA-256 digest for files and caches.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_HASH_H
#define LT_BASE_HASH_H

#include "lathe/base.h"

/* Not for hostile keys. The value is part of what a seed means (rng.c) and must not change. */
uint64_t lt_hash64(const void *data, size_t n_bytes, uint64_t seed);
uint64_t lt_hash_mix(uint64_t x); /* a bijection of 64 bits: different inputs, different outputs */

#define LT_DIGEST_BYTES 32
typedef struct lt_digest { uint8_t byte[LT_DIGEST_BYTES]; } lt_digest;
typedef struct lt_digest_text { char s[2 * LT_DIGEST_BYTES + 1]; } lt_digest_text;

typedef struct lt_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t  block[64]; /* the last n_bytes % 64 bytes given */
} lt_sha256;

void lt_sha256_start(lt_sha256 *h);
void lt_sha256_add(lt_sha256 *h, const void *data, size_t n_bytes);
lt_digest lt_sha256_finish(lt_sha256 *h);
lt_digest lt_sha256_of(const void *data, size_t n_bytes); /* all three */
lt_digest_text lt_digest_hex(const lt_digest *d);

#endif
