/* The end of a residual block whose width stays: act(norm(map)) + skip, on every card since Ampere. SPDX-License-Identifier: BSD-3-Clause

   A thread keeps to one cell, whose norms stay in its registers; AHEAD pixels of both maps are on their way before the first is used.
   Follows cells.cuh. Defined by the host: CHANNELS, BLOCKS per sample, SKIP_NORM: 1 the skipped map is to be normalised and activated too. */
enum { THREADS = 256, CELLS = CHANNELS / CELL, AT_ONCE = THREADS / CELLS /* pixels */, AHEAD = 4 };

extern "C" __global__ void __launch_bounds__(THREADS, 2) join(const lt_join_job *job)
{
    const lt_join_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, at = threadIdx.x % CELLS, own = threadIdx.x / CELLS;
    int first = (int)((i64)j.pixels * piece / BLOCKS), end = (int)((i64)j.pixels * (piece + 1) / BLOCKS);
    if (own >= AT_ONCE) return;
    i64 from = (i64)sample * j.pixels * CELLS + at;
    const uint4 *map = j.map + from, *skip = j.skip + from;
    uint4 *result = j.result + from;
    cell_norms norms = load_cell_norms(norms_of(j.norm, sample) + at * CELL);
#if SKIP_NORM
    cell_norms skip_norms = load_cell_norms(norms_of(j.skip_norm, sample) + at * CELL);
#endif
    #pragma unroll 1
    for (int p = first + own; p < end; p += AHEAD * AT_ONCE) {
        uint4 v[AHEAD], w[AHEAD];
        #pragma unroll
        for (int n = 0; n < AHEAD; n++) {
            i64 place = (i64)min(p + n * AT_ONCE, end - 1) * CELLS;
            v[n] = map[place], w[n] = skip[place];
        }
        #pragma unroll
        for (int n = 0; n < AHEAD; n++) {
#if SKIP_NORM
            cell other = finish_cell(w[n], skip_norms);
#else
            cell other = open_cell(w[n]);
#endif
            cell mine = finish_cell(v[n], norms);
            #pragma unroll
            for (int e = 0; e < CELL; e++) mine.v[e] += other.v[e];
            if (p + n * AT_ONCE < end) result[(i64)(p + n * AT_ONCE) * CELLS] = close_cell(mine);
        }
    }
}
