/* Operators in double precision by plain loops, apart from the product's code: what the tests of
   networks and rollouts compare with. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_ORACLE_H
#define LT_TEST_ORACLE_H

#include "lathe/operator.h"

/* A map of channels, [c, h, w]; owned by whoever got it. */
typedef struct map { int64_t c, h, w; double *v; } map;

typedef struct oracle {
    lt_operator_spec spec;
    const lt_operator_weights *weights;
    int at;                /* tensors taken so far: they are used up in order */
    int bits;              /* mantissa bits kept of convolution operands and results; 0 = all */
    void (*tap)(void *ctx, const char *name, const map *x); /* told the maps that learned features look at; NULL: nobody */
    void *tap_ctx;
} oracle;

/* The operator without noise on the output. map_noise [c, G, G], added or multiplied before the output
   convolution, may be NULL; per_channel: it is [c]. */
map oracle_apply(oracle *o, const double *x, const double *map_noise, bool multiply, bool per_channel);
/* Tensor by name; the test fails when it is missing. */
const float *oracle_tensor(const lt_operator_weights *w, const char *name, int64_t *count);
double oracle_relative_error(const float *got, const double *want, int64_t n);

#endif
