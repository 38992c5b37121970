/* Fuzz target: dataset files with bytes changed in any place, cut short or overwritten with others of their own: what no library wrote. The file
   is opened, walked, validated and read as users do, through the jailed process, whose end is one of the answers. SPDX-License-Identifier: BSD-3-Clause

   A process is forked for each input, so this is slow; structures that the HDF5 library can write are fuzz_hdf5's. */
#include "good_dataset.h"

enum { RECORD = 8 };

static const char *const arrays[] = { "/parameters/params", "/outputs/fields", "/metadata/ic_types", "/status/code", NULL };
static const char *const attributes[] = { "/parameters@dimension_names", NULL };

static void change(uint8_t *file, size_t *n, const uint8_t *d)
{
    size_t at = (size_t)(d[1] | d[2] << 8 | d[3] << 16) % *n, width = (size_t)(d[0] >> 2) % 4 + 1, from = (size_t)(d[4] | d[5] << 8) % *n;
    if (d[0] & 0x40) at %= 4096; /* where superblock, groups and headers are */
    switch (d[0] % 4) {
    case 0: case 1: if (at + width <= *n) memcpy(file + at, d + 4, width); break;
    case 2: if (at + 8 * width <= *n && from + 8 * width <= *n) memmove(file + at, file + from, 8 * width); break;
    default: if (d[0] & 0x80 && at > 8) *n = at; else file[at] ^= (uint8_t)(1 << d[4] % 8); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (!good_bytes) good_dataset_make();
    size_t n = n_good_bytes;
    uint8_t *copy = malloc(n);
    LT_FUZZ_REQUIRE(copy);
    memcpy(copy, good_bytes, n);
    for (size_t at = 0; at + RECORD <= n_bytes && at < 6 * RECORD; at += RECORD) change(copy, &n, data + at);
    dataset_read_as_users(dataset_put(copy, n), arrays, attributes, READ_ALL);
    free(copy);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 24 || capacity < 2 * RECORD) return 0;
    const uint8_t seed[2 * RECORD] = { (uint8_t)(index % 4 + 16 * (index % 5)), (uint8_t)(37 * index), (uint8_t)(2 * index), 0, 2, 4, 1, (uint8_t)(17 * index), 2, (uint8_t)(index * 5), 2, 3, 0x52, 1, 2, 1 };
    memcpy(out, seed, sizeof seed);
    return index % 3 ? sizeof seed : RECORD;
}
