/* Fuzz target: any bytes as a .npz file, listed and read in full. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/files/npy.h"
#include "base/scratch.h"
#include "memory_file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const char *path = lt_memory_file(data, n_bytes);
    int64_t live = lt_alloc_live();
    lt_npz_names names;
    if (lt_npz_list(path, &names) == LT_OK)
        for (int i = 0; i < names.n; i++) {
            lt_array a;
            lt_status s = lt_npz_read(path, names.name[i], &a);
            LT_FUZZ_REQUIRE((s == LT_OK) == (a.data != NULL));
            /* Deflate's best is 1032 to 1, and the narrowest types are read four times as wide. */
            if (!s) LT_FUZZ_REQUIRE((uint64_t)lt_shape_count(&a.shape) <= (uint64_t)n_bytes * 1040);
            lt_array_free(&a);
        }
    else LT_FUZZ_REQUIRE(lt_error_text()[0]);
    lt_npz_names_free(&names);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

/* savez_compressed(z=zeros(40, int64)), made by NumPy. */
static const uint8_t deflated[] = {
    80, 75, 3, 4, 45, 0, 0, 0, 8, 0, 0, 0, 33, 0, 193, 95, 221, 220, 255, 255, 255, 255, 255, 255, 255, 255,
    5, 0, 20, 0, 122, 46, 110, 112, 121, 1, 0, 16, 0, 192, 1, 0, 0, 0, 0, 0, 0, 74, 0, 0, 0, 0, 0, 0, 0, 155,
    236, 23, 234, 27, 16, 201, 200, 80, 198, 80, 173, 158, 146, 90, 156, 92, 164, 110, 165, 160, 110, 147,
    105, 161, 174, 163, 160, 158, 150, 95, 84, 82, 148, 152, 23, 159, 95, 148, 146, 10, 18, 119, 75, 204, 41,
    78, 5, 138, 23, 103, 36, 22, 164, 2, 249, 26, 38, 6, 58, 154, 58, 10, 181, 10, 228, 3, 46, 134, 81, 64,
    17, 0, 0, 80, 75, 1, 2, 45, 3, 45, 0, 0, 0, 8, 0, 0, 0, 33, 0, 193, 95, 221, 220, 74, 0, 0, 0, 192, 1, 0,
    0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 1, 0, 0, 0, 0, 122, 46, 110, 112, 121, 80, 75, 5, 6, 0, 0, 0,
    0, 1, 0, 1, 0, 51, 0, 0, 0, 129, 0, 0, 0, 0, 0
};

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const uint64_t zip64_from[] = { UINT32_MAX, 0, 200 };
    if (index == 3) {
        if (sizeof deflated > capacity) return 0;
        memcpy(out, deflated, sizeof deflated);
        return sizeof deflated;
    }
    if (index > 3) return 0;
    static double x[6] = { 1, 2, 3, 4, 5, 6 };
    const char *path = scratch("seed.npz");
    lt_array a[2] = { { LT_F64, lt_shape2(2, 3), x }, { LT_U8, lt_shape1(5), x } };
    LT_FUZZ_REQUIRE(lt_npz_write_with(path, 2, (const char *[]){ "x", "bytes" }, a, zip64_from[index]) == LT_OK);
    FILE *f = fopen(path, "rb");
    LT_FUZZ_REQUIRE(f);
    size_t n = fread(out, 1, capacity, f);
    fclose(f);
    return n;
}
