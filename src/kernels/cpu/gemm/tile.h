/* The inner loops of the packed matrix product, compiled once per instruction set.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_GEMM_TILE_H
#define LT_KERNELS_CPU_GEMM_TILE_H

#include "lathe/base.h"

/* c (rows x columns) (+)= a b over k, both packed. a: panels of at most `tile_rows` rows, as many as
   needed and nearly equally high (lt_part_range), each stored (k, height) and one behind the other. b:
   panels of `panel` columns, each stored (k, panel). Every element is summed in the order of k, however
   rows and columns are cut. */
typedef struct lt_gemm_block {
    const void *a, *b;
    void       *c;
    int64_t     rows, columns, k, ldc;
    bool        add;           /* to what c holds: not the first block of k */
} lt_gemm_block;

/* One panel to pack: to[l * step + i] for l < k, i < n, taken from[l * ld + i], or from[i * ld + l] by
   `pack_across`. At most `room` elements of from may be read. Whole vectors are written, rows in ascending
   order: up to a vector behind the end is overwritten, and what lies between n and step is not specified
   but finite or as in from. */
typedef struct lt_gemm_panel {
    const void *from;
    void       *to;
    int64_t     n, k, ld, step, room;
} lt_gemm_panel;

typedef struct lt_gemm_loops { /* of one element type */
    int  tile_rows, lanes, panel; /* of a tile; elements of a vector; columns of a panel of b */
    void (*block)(const lt_gemm_block *g);
    void (*pack_along)(const lt_gemm_panel *p);
    void (*pack_across)(const lt_gemm_panel *p);
} lt_gemm_loops;

extern const lt_gemm_loops lt_gemm_plain_f32, lt_gemm_plain_f64, lt_gemm_avx2_f32, lt_gemm_avx2_f64,
    lt_gemm_avx512_f32, lt_gemm_avx512_f64;

#endif
