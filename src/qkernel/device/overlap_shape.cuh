/* The shape of tiles of overlaps. SPDX-License-Identifier: BSD-3-Clause

   Fixed when compiled: AMPLITUDES (2^q), WARPS_M, WARPS_N, FRAGMENTS_M (of 16 rows), FRAGMENTS_N (of 8
   columns), DEPTH (amplitudes of a stage), STAGES, BLOCKS (per multiprocessor). */

#define WARP_M (16 * FRAGMENTS_M)
#define WARP_N (8 * FRAGMENTS_N)
#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define THREADS (32 * WARPS_M * WARPS_N)
#define STEPS (AMPLITUDES / DEPTH)
#define ROWS (TILE_M + TILE_N)

/* Each text of products says: sums, of numbers sum_t; amplitude_t, PITCH (from one row of a stage to the next), ROW (from one row in memory to the next),
   PLACE(k) (of amplitude k in its row; what one copy takes lies together). */

