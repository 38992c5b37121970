/* One matrix product of our own: b is packed once by all threads, then blocks of rows (and, where rows are
   few, of columns) are dealt out. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_KERNELS_CPU_GEMM_PACKED_H
#define LT_KERNELS_CPU_GEMM_PACKED_H

#include "kernels/cpu/gemm/tile.h"
#include "kernels/host_kernel.h"

typedef struct lt_packed_gemm {
    /* What: c (m x n, dense) = op(a) op(b), both dense; t is LT_F32 or LT_F64. */
    lt_dtype t;
    bool     trans_a, trans_b;
    int64_t  m, n, k;
    /* How; filled by lt_packed_gemm_plan. No element's sum depends on it but by k_block. */
    const lt_gemm_loops *loops;
    int64_t  k_block;                  /* summed in registers */
    int64_t  pass_columns, pass_depth; /* of b packed at a time */
    int64_t  row_parts, column_parts;  /* work items of a pass */
    int64_t  unit;                     /* rows are cut at multiples of it */
    int      n_lanes;
    size_t   b_bytes, lane_bytes;      /* scratch: once, and per lane */
} lt_packed_gemm;

/* Plans g for up to n_lanes threads. `unit` divides m; more than 1 or `rows_only`: an item has whole rows, so
   that lt_packed_finish can follow it. b_limit bounds the bytes of b packed at once. */
void lt_packed_gemm_plan(lt_packed_gemm *g, lt_isa isa, int n_lanes, int64_t unit, bool rows_only, size_t b_limit);

/* Called with rows [first, first + count) of c when they are complete, on the thread that made them. */
typedef lt_status (*lt_packed_finish)(void *ctx, int64_t first, int64_t count);

typedef struct lt_packed_call {
    const void *a, *b;
    void       *c;
    void       *packed_b, *lanes;      /* b_bytes; n_lanes * lane_bytes; 64-byte aligned */
    lt_packed_finish finish;           /* NULL: nothing follows; else planned with whole rows */
    void       *ctx;
} lt_packed_call;

/* True when items have whole rows, of all columns. */
bool      lt_packed_gemm_has_whole_rows(const lt_packed_gemm *g);
lt_status lt_packed_gemm_run(const lt_packed_gemm *g, lt_pool *pool, const lt_packed_call *call);

#endif
