/* The digest against published vectors; the table hash for spread and stability.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/hash.h"
#include "base/status.h"

static void check_digest(lt_digest d, const char *hex) { LT_CHECK(!strcmp(lt_digest_hex(&d).s, hex)); }

LT_TEST(sha256_published_vectors) /* FIPS 180-4 examples */
{
    check_digest(lt_sha256_of("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest(lt_sha256_of("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    check_digest(lt_sha256_of(two_blocks, 56), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char a[1000];
    memset(a, 'a', sizeof a);
    lt_sha256 h;
    lt_sha256_start(&h);
    for (int i = 0; i < 1000; i++) lt_sha256_add(&h, a, sizeof a);
    check_digest(lt_sha256_finish(&h), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

LT_TEST(sha256_does_not_depend_on_the_pieces)
{
    uint8_t data[300];
    for (int i = 0; i < 300; i++) data[i] = (uint8_t)(i * 37);
    for (size_t n = 0; n <= 300; n += 7) {
        lt_digest whole = lt_sha256_of(data, n);
        for (size_t piece = 1; piece < 140; piece += 13) {
            lt_sha256 h;
            lt_sha256_start(&h);
            for (size_t at = 0; at < n; at += piece) lt_sha256_add(&h, data + at, LT_MIN(piece, n - at));
            lt_digest d = lt_sha256_finish(&h);
            LT_CHECK(!memcmp(&d, &whole, sizeof d));
        }
    }
}

LT_TEST(table_hash_separates_near_inputs)
{
    uint8_t data[40] = { 0 };
    uint64_t seen[40 * 8 + 41];
    int n = 0;
    for (size_t length = 0; length <= 40; length++) seen[n++] = lt_hash64(data, length, 1); /* zeros of each length */
    for (int bit = 0; bit < 320; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        seen[n++] = lt_hash64(data, 40, 1);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) LT_CHECK(seen[i] != seen[j]);
    LT_CHECK(lt_hash64("x", 1, 1) != lt_hash64("x", 1, 2));
}

LT_TEST(table_hash_flips_half_the_bits)
{
    uint64_t total = 0;
    uint8_t data[24] = "twenty-four bytes of te";
    uint64_t before = lt_hash64(data, sizeof data, 0);
    for (int bit = 0; bit < 192; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        total += (uint64_t)__builtin_popcountll(lt_hash64(data, sizeof data, 0) ^ before);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    LT_CHECK(fabs((double)total / 192 - 32) < 2); /* six standard errors are 1.7 */
}

LT_TEST(mix_is_a_bijection_on_a_sample) /* distinct inputs, distinct outputs; recorded value pins it */
{
    for (uint64_t i = 0; i < 2000; i++) LT_CHECK(lt_hash_mix(i) != lt_hash_mix(i + 1));
    LT_CHECK(lt_hash_mix(0) == 0);
    LT_CHECK(lt_hash_mix(1) == 0x4179b061e0c0e0d0u);
    LT_CHECK(lt_hash64("noise", 5, 0) == 0xc265ee617d8385c2u);
}

LT_TEST_MAIN()
