/* What a kernel that fills tiles of K works on: C writes it, texts read it. SPDX-License-Identifier: BSD-3-Clause
   This header is also the beginning of those texts: plain types only, no includes. */
#ifndef LT_QKERNEL_DEVICE_TILE_JOB_H
#define LT_QKERNEL_DEVICE_TILE_JOB_H

typedef struct lt_tile_faults {             /* entries that are not finite */
    unsigned long long count, first;        /* first: (row << 32 | column) in the whole matrix, the smallest */
} lt_tile_faults;

typedef struct lt_tile_job {
    long long n_tiles;
    long long n_rows, n_columns;            /* of the block of K; what lies beyond is padding */
    long long first_row, first_column;      /* of the block in the whole matrix */
    long long half;                         /* entries below the whole matrix's diagonal are left out ... */
    long long mirror;                       /* ... and those above it also go to the mirrored memory, turned */
    long long pitch, mirror_pitch;          /* entries from one row to the next */
    long long a_rows, b_rows;               /* closed forms: numbers from one plane of rows to the next */
    unsigned long long arrived;             /* blocks at the end of their slices, so far; 0 at the start */
    const double *left, *right;             /* normalising: roots of k(x,x) of the block's rows and columns */
    long long unit_diagonal;                /* ... and rows and columns are the same: K_ii is 1 */
    lt_tile_faults *faults;
} lt_tile_job;

/* The first row and column of a tile in its block; texts read it as an int2. */
typedef struct lt_tile_at { int row, column; } lt_tile_at;

#endif
