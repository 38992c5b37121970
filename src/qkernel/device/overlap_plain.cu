/* Tiles of K = |<a_i|b_j>|^2, one entry per thread: for states too short for the tensor cores, devices without them, and to
   check the others by. SPDX-License-Identifier: BSD-3-Clause
   Fixed when compiled: AMPLITUDES, REAL_T (of the states). */

#define SIDE 16
#define BLOCK 256
struct amplitude_t { REAL_T x, y; };

extern "C" __global__ void __launch_bounds__(SIDE * SIDE) overlap(const lt_tile_job *where, const int2 *tiles, const amplitude_t *a,
                                                                  const amplitude_t *b, K_TYPE *k, K_TYPE *mirrored)
{
    const lt_tile_job j = *where;
    for (i64 t = blockIdx.x; t < j.n_tiles; t += gridDim.x) {
        i64 row = tiles[t].x + threadIdx.x / SIDE, column = tiles[t].y + threadIdx.x % SIDE;
        if (!wanted(j, row, column)) continue;
        double re = 0, im = 0;
        for (i64 first = 0; first < AMPLITUDES; first += BLOCK) { /* sums of blocks are summed, so that errors hardly grow with their number */
            double block_re = 0, block_im = 0;
            for (i64 i = first; i < first + BLOCK && i < AMPLITUDES; i++) {
                double xr = a[row * AMPLITUDES + i].x, xi = a[row * AMPLITUDES + i].y, yr = b[column * AMPLITUDES + i].x, yi = b[column * AMPLITUDES + i].y;
                block_re += xr * yr + xi * yi;
                block_im += xr * yi - xi * yr;
            }
            re += block_re, im += block_im;
        }
        double v = finished(j, row, column, REAL_PART ? re : re * re + im * im);
        store(j, k, row, column, v);
        if (j.mirror) store_mirrored(j, mirrored, row, column, v);
    }
}
