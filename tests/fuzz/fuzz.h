/* What a fuzz target offers: the entry function libFuzzer calls, and seeds for the plain runner.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_FUZZ_H
#define LT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
/* Writes seed number `index` (from 0) into `out`; its length, or 0 when there are no more. */
size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity);

/* A broken promise ends the run at once, as libFuzzer expects. */
#define LT_FUZZ_REQUIRE(cond) \
    ((cond) ? (void)0 : (fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond), abort()))

#endif
