/* Fuzz target: whatever the HDF5 library may say of a file: links, types, extents, layouts, filters, values, attributes, each anything, and any one
   call failing. Every reader answers with numbers or a sentence, closes what it opened, and asks for nothing beyond an array's end.
   SPDX-License-Identifier: BSD-3-Clause

   The library itself takes no part after the start (hdf5_here.c), so this is about ten times as quick as fuzz_hdf5, whose files are real. */
#include "good_dataset.h"

#include "hdf5_here.h"

enum { RECORD = 8, MOST_CHANGES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *path;
    static int fd = -1;
    if (!good_bytes) {
        good_dataset_make();
        path = dataset_put(good_bytes, n_good_bytes);
        lt_hdf5_here_learn(path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        LT_FUZZ_REQUIRE(fd >= 0);
    }
    lt_hdf5_here_begin(fd, data, n_bytes < MOST_CHANGES * RECORD ? n_bytes : MOST_CHANGES * RECORD);
    dataset_read_as_users(path, lt_hdf5_here_arrays(), lt_hdf5_here_attributes(), n_bytes ? data[n_bytes - 1] : READ_ALL);
    lt_hdf5_here_end();
    return 0;
}

/* Each field of an object or attribute, and failures of calls near the start; all, tables and archives once each. */
size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 32 || capacity < 2 * RECORD) return 0;
    const uint8_t seed[2 * RECORD] = { (uint8_t)index, (uint8_t)(5 * index), (uint8_t)index, 0x40, (uint8_t)(3 * index), 1, 0, 0, 31, 0, 0, 0, (uint8_t)(37 * index), (uint8_t)(index / 4), 0, (uint8_t)(index < 3 ? READ_ALL + index : 1 + index % 8) };
    memcpy(out, seed, sizeof seed);
    return sizeof seed;
}
