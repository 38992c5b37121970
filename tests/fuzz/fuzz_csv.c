/* Fuzz target: any bytes as a CSV file. The first byte chooses the label column. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "lathe/csv.h"
#include "memory_file.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const labels[] = { NULL, "last", "1", "y" };
    if (n_bytes < 1) return 0;
    const char *path = lt_memory_file(data + 1, n_bytes - 1);
    int64_t live = lt_alloc_live();
    lt_csv c;
    if (lt_csv_read(path, labels[data[0] % 4], &c) == LT_OK) {
        LT_FUZZ_REQUIRE(c.n_rows >= 1 && c.n_columns >= 0 && (uint64_t)c.n_rows * (uint64_t)(c.n_columns + (c.label != NULL)) <= n_bytes);
        for (int64_t i = 0; i < c.n_rows * c.n_columns; i++) LT_FUZZ_REQUIRE(isfinite(c.values[i]));
        for (int64_t i = 0; c.label && i < c.n_rows; i++) LT_FUZZ_REQUIRE(strlen(c.label[i]) < n_bytes);
        for (int64_t k = 0; c.column_name && k < c.n_columns; k++) LT_FUZZ_REQUIRE(strlen(c.column_name[k]) < n_bytes);
    } else {
        LT_FUZZ_REQUIRE(!c.values && !c.text && lt_error_text()[0]);
    }
    lt_csv_free(&c);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const char *const seeds[] = {
        "0" "1,2.5,-3e2\n4,5,6\n", "1" "a,b,kind\n1,2,cat\n3,4,dog\r\n", "2" "x\n0\n1\n", "3" "\xef\xbb\xbf\"a \"\"b\",y\n 1 ,\" no\"\n2,yes\n\n",
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}
