/* A single elementwise op or reduction as a fused program. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_FUSED_KEY_H
#define LT_KERNELS_FUSED_KEY_H

#include "kernels/kernel_table.h"

typedef struct lt_fused_one {
    lt_fused        f;         /* points into the members below: do not copy */
    lt_fused_load   load[3];
    lt_fused_step   step;
    lt_fused_store  store;
    lt_fused_reduce reduce;
} lt_fused_one;

/* p is an elementwise op or a reduction of real types; its args are the program's. */
void lt_fused_of_key(const lt_problem_key *p, lt_fused_one *out);

#endif
