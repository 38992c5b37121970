/* What a kernel that fills tiles of K works on; put before each of them. SPDX-License-Identifier: BSD-3-Clause
   K_TYPE is the element type of K. Tiles are given as (row, column) of the block. */

typedef long long i64;

struct tile_job { /* lt_tile_job of remote/remote.h */
    i64 n_tiles;
    i64 n_rows, n_columns;           /* of the block of K; what lies beyond is padding */
    i64 first_row, first_column;     /* of the block in the whole matrix */
    i64 half;                        /* entries below the whole matrix's diagonal are left out ... */
    i64 mirror;                      /* ... and those above it also go to the mirrored memory, turned */
    i64 pitch, mirror_pitch;         /* entries from one row to the next */
    i64 a_rows, b_rows;              /* closed forms: numbers from one plane of rows to the next */
    unsigned long long arrived;      /* blocks at the end of their slices, so far; 0 at the start */
};

/* Every entry of these rows and columns is wanted. */
static __device__ __forceinline__ bool all_wanted(const tile_job &j, i64 row, i64 n_rows, i64 column, i64 n_columns)
{
    return row + n_rows <= j.n_rows && column + n_columns <= j.n_columns && !(j.half && j.first_column + column < j.first_row + row + n_rows - 1);
}
static __device__ __forceinline__ bool wanted(const tile_job &j, i64 row, i64 column)
{
    return row < j.n_rows && column < j.n_columns && !(j.half && j.first_column + column < j.first_row + row);
}
static __device__ __forceinline__ void store(const tile_job &j, K_TYPE *k, i64 row, i64 column, double v)
{
    k[row * j.pitch + column] = (K_TYPE)v;
}
static __device__ __forceinline__ void store_mirrored(const tile_job &j, K_TYPE *mirrored, i64 row, i64 column, double v)
{
    mirrored[column * j.mirror_pitch + row] = (K_TYPE)v;
}
