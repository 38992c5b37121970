/* Fuzz target: any bytes as a model of AMPL's, text or binary. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "optimize/nl/ampl.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    int64_t live = lt_alloc_live();
    lt_model *m = NULL;
    lt_status s = lt_ampl_parse("fuzz.nl", (const char *)data, n_bytes, "a\nb\n", "r\ns\n", &m);
    if (!s) {
        lt_model_view v = lt_model_get(m);
        LT_FUZZ_REQUIRE(v.n >= 1 && (uint64_t)v.n <= n_bytes && v.graph && !lt_is_none(v.f));
        for (int i = 0; i < v.n_constraints; i++) {
            const lt_model_constraint *c = &v.constraints[i];
            LT_FUZZ_REQUIRE(c->first >= 0 && c->count >= 1 && c->first + c->count <= (c->equality ? v.q : v.p));
        }
    } else {
        LT_FUZZ_REQUIRE(!m && lt_error_text()[0]);
    }
    lt_model_destroy(m);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

#define HEADER(n, m, defined) "3 1 1 0\n " #n " " #m " 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 0 0 0 0\n 0 0\n 0 0\n " #defined " 0 0 0 0\n"

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const struct { const char *text; size_t n; } seeds[] = {
#define SEED(text) { text, sizeof text - 1 }
        SEED("g" HEADER(2, 2, 1) "V2 1 0\n0 2\no5\nv1\nn2\nC0\no2\nv0\nv2\nC1\no54\n3\nv0\no16\nv1\nn1.5\nO0 0\no35\no22\nv0\nn1\no15\nv1\no41\nv2\n"
             "r\n0 -1 1\n4 2\nb\n0 1 5\n3\nk1\n2\nJ0 1\n0 1\nG0 1\n1 2\nx1\n0 1\nd1\n0 1\nS4 1 scale\n0 1.5\n"),
        SEED("g" HEADER(2, 0, 0) "O0 1\no64\n3\nn-1\nn0\nn2\ns1\nl4\nv1\nb\n2 0\n1 4\n"),
        SEED("b" HEADER(2, 0, 0) "O\0\0\0\0\0\0\0\0o\0\0\0\0v\0\0\0\0v\1\0\0\0b33"),
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds) || seeds[index].n > capacity) return 0;
    memcpy(out, seeds[index].text, seeds[index].n);
    return seeds[index].n;
}
