/* Tiles of K over packed rows. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_TILES_H
#define LT_QKERNEL_TILES_H

#include "kernels/cpu/vec/vec.h"
#include "qkernel/plan.h"

#include <stdatomic.h>

/* Where entries go. */
typedef struct lt_gram_out {
    void   *K;
    bool    f32, packed, half;
    int64_t n_columns;            /* of the whole matrix */
    bool    streaming;            /* past the caches, when K is larger than they are */
    lt_vec_fn copy;               /* of elements of K, streaming or not */
    bool    lines;                /* K is in double precision, and as wide as whole cache lines */
    lt_vec_fn narrow;             /* of doubles into single precision */
    void    (*fence)(void);
} lt_gram_out;

typedef struct lt_gram_meter {    /* shared by all tiles of a fill */
    lt_gram_progress_fn fn;       /* may be NULL */
    void          *ctx;
    int64_t        tiles_total, pairs_total, start_ns;
    atomic_llong   tiles_done, pairs_done;
    bool           repair, profile;
    atomic_llong   repaired, tile_ns; /* tile_ns: with profile, summed over threads */
    atomic_bool    stop;
} lt_gram_meter;

/* One block of K: packed rows of both sides and where they stand in the matrix. */
typedef struct lt_gram_block {
    const void *a, *b;            /* panels */
    enum { LT_BLOCK_MIRRORED, LT_BLOCK_AS_IT_IS, LT_BLOCK_MIRROR_ONLY } written; /* of half a matrix: what of the block goes to K */
    int64_t first_row, n_rows, first_column, n_columns; /* what lies before the first row or column of K is packed, but not there */
    int64_t slice;                /* of plan.n_slices; the block is then the whole matrix */
    char   *sums;                 /* plan.sums_bytes: what the slices before this one came to; NULL where there is one */
} lt_gram_block;

/* Tiles of the block that hold pairs to compute, and how many pairs; for totals. */
int64_t lt_tiles_count(const lt_gram_plan *p, const lt_gram_block *b, int64_t *pairs);
/* Computes the block, or adds a slice of amplitudes to it. scratch: plan.scratch_bytes per worker of the pool, 64-byte aligned. */
lt_status lt_tiles_run(const lt_gram_plan *p, const lt_layers *c, lt_pool *pool, const lt_gram_block *b,
                       const lt_gram_out *out, void *scratch, lt_gram_meter *meter);
/* k(x,x) of n packed rows, by the method of the plan. */
lt_status lt_tiles_diagonal(const lt_gram_plan *p, const lt_layers *c, const void *panels, int64_t n, void *scratch, double *out);

#endif
