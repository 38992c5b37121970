/* Fuzz target: what the jailed reader of a dataset file sends, had somebody taken it over: heads, objects, texts and numbers of a good file, changed
   in any place, cut short, or failures. The parent believes none of it. SPDX-License-Identifier: BSD-3-Clause */
#include "good_dataset.h"

#include "jail_here.h"

enum { RECORD = 8 };

static const char *const arrays[] = { "/parameters/params", "/inputs/fields", "/outputs/fields", "/features/temporal/features", "/metadata/ic_types", "/status/code", "/status/seconds", NULL };
static const char *const attributes[] = { "/parameters@dimension_names", "/features/temporal/features@column_names", "/@nothing", NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *path;
    if (!good_bytes) {
        good_dataset_make();
        path = dataset_put(good_bytes, n_good_bytes);
        lt_jail_here_record(true);
        dataset_read_as_users(path, arrays, attributes, READ_ALL);
        lt_jail_here_record(false);
    }
    lt_jail_here_replay(data, n_bytes);
    dataset_read_as_users(path, arrays, attributes, n_bytes ? data[n_bytes - 1] : READ_ALL);
    return 0;
}

/* One number of the head or of the objects, each width, each kind. */
size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 32 || capacity < 2 * RECORD) return 0;
    const uint8_t seed[2 * RECORD] = { (uint8_t)(index % 9), (uint8_t)(8 * index), (uint8_t)(index / 4), (uint8_t)(index * 5), (uint8_t)index, 0, 0, (uint8_t)(index % 2 ? 0xff : 0),
                                       1, (uint8_t)(96 + 4 * index), (uint8_t)(index % 11), 1, 3, 0, 0, 0 };
    memcpy(out, seed, sizeof seed);
    return index % 3 ? sizeof seed : RECORD;
}
