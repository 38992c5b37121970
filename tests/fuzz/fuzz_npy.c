/* Fuzz target: any bytes as a .npy file, read from memory. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/files/npy.h"

#include <string.h>

typedef struct memory_source { lt_source base; const uint8_t *at; } memory_source;

static lt_status read_memory(lt_source *s, void *data, size_t n_bytes)
{
    memory_source *m = (memory_source *)s;
    memcpy(data, m->at, n_bytes);
    m->at += n_bytes;
    return LT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    int64_t live = lt_alloc_live();
    memory_source m = { { read_memory, n_bytes, "input" }, data };
    lt_array a;
    lt_status s = lt_npy_read_source(&m.base, &a);
    if (s) {
        LT_FUZZ_REQUIRE(a.data == NULL);
        LT_FUZZ_REQUIRE(!strncmp(lt_error_text(), lt_status_name(s), strlen(lt_status_name(s))));
    } else {
        int64_t n = lt_shape_count(&a.shape);
        LT_FUZZ_REQUIRE(n >= 0 && (uint64_t)n <= n_bytes); /* no more elements than bytes came in */
        volatile uint8_t sum = 0; /* every byte of the result is there to be read */
        for (size_t i = 0; i < (size_t)n * lt_dtype_size(a.dtype); i++) sum = (uint8_t)(sum + ((uint8_t *)a.data)[i]);
    }
    lt_array_free(&a);
    memory_source again = { { read_memory, n_bytes, "input" }, data };
    lt_npy_texts texts;
    if (lt_npy_read_texts_source(&again.base, &texts)) LT_FUZZ_REQUIRE(!texts.text);
    size_t length = 0;
    for (int64_t i = 0; i < texts.n; i++) length += strlen(texts.text[i]);
    LT_FUZZ_REQUIRE(length <= n_bytes);
    lt_npy_texts_free(&texts);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const struct { int version; const char *text; size_t data_bytes; } seeds[] = {
        { 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24 },
        { 2, "{'descr': '>c16', 'fortran_order': True, 'shape': (2, 1, 2), }", 64 },
        { 3, "{'descr': '<u8', 'fortran_order': False, 'shape': (), }", 8 },
        { 1, "{'descr': '|b1', 'fortran_order': True, 'shape': (3, 0, 5), }", 0 },
        { 1, "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }", 16 },
        { 1, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", 6 },
        { 1, "{'descr': '>i2', 'fortran_order': True, 'shape': (1, 2, 1, 2, 1, 2, 1, 2), }", 32 },
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t text = strlen(seeds[index].text), head = seeds[index].version == 1 ? 10 : 12;
    size_t n = head + text + seeds[index].data_bytes;
    if (n > capacity) return 0;
    memset(out, 0, n);
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)seeds[index].version;
    out[8] = (uint8_t)text;
    memcpy(out + head, seeds[index].text, text);
    for (size_t i = head + text; i < n; i++) out[i] = (uint8_t)i;
    return n;
}
