/* What the texts that fill tiles of K share; follows tile_job.h. SPDX-License-Identifier: BSD-3-Clause
   Tiles are given as (row, column) of the block. Fixed when compiled: K_TYPE (element type of K), NORMALIZE,
   REPAIR (entries that are not finite are replaced, not only counted), REAL_PART (K is the real part of overlaps, not their square). */

typedef long long i64;

/* Every entry of these rows and columns is wanted. */
static __device__ __forceinline__ bool all_wanted(const lt_tile_job &j, i64 row, i64 n_rows, i64 column, i64 n_columns)
{
    return row + n_rows <= j.n_rows && column + n_columns <= j.n_columns && !(j.half && j.first_column + column < j.first_row + row + n_rows - 1);
}
static __device__ __forceinline__ bool wanted(const lt_tile_job &j, i64 row, i64 column)
{
    return row < j.n_rows && column < j.n_columns && !(j.half && j.first_column + column < j.first_row + row);
}

/* The upper half of a number whose exponent says that it is not finite. Squares have no sign, real parts do; NaN may. */
#define NOT_FINITE 0x7ff00000u
static __device__ __forceinline__ unsigned exponent_of(double v) { return (unsigned)__double2hiint(v) & (REAL_PART ? 0x7fffffffu : ~0u); }

static __device__ __forceinline__ double mend(const lt_tile_job &j, i64 row, i64 column, double v)
{
    atomicAdd(&j.faults->count, 1ull);
    atomicMin(&j.faults->first, (unsigned long long)(j.first_row + row) << 32 | (unsigned long long)(j.first_column + column));
    return !REPAIR ? v : v != v ? 0 : 1;
}

/* Divided here, no pass over K is needed (decision 78). */
static __device__ __forceinline__ double normalized(const lt_tile_job &j, i64 row, i64 column, double v)
{
    if (!NORMALIZE) return v;
    return j.unit_diagonal && j.first_row + row == j.first_column + column ? 1 : v / (j.left[row] * j.right[column]);
}

/* A wanted entry as it is to be stored. */
static __device__ __forceinline__ double finished(const lt_tile_job &j, i64 row, i64 column, double v)
{
    if (exponent_of(v) >= NOT_FINITE) v = mend(j, row, column, v);
    return normalized(j, row, column, v);
}

static __device__ __forceinline__ void store(const lt_tile_job &j, K_TYPE *k, i64 row, i64 column, double v)
{
    k[row * j.pitch + column] = (K_TYPE)v;
}
static __device__ __forceinline__ void store_mirrored(const lt_tile_job &j, K_TYPE *mirrored, i64 row, i64 column, double v)
{
    mirrored[column * j.mirror_pitch + row] = (K_TYPE)v;
}
