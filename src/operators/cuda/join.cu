/* The end of a residual block whose width stays: act(norm(map)) + skip. SPDX-License-Identifier: BSD-3-Clause

   Follows half.cuh and norms.cuh. Defined by the host: BLOCKS per sample, SKIP_NORM: 1 the skipped map is to be
   normalised and activated too. */
struct join_job { /* as fused.c writes it */
    const uint4 *map, *skip;   /* [samples, pixels, channels] */
    uint4 *result;             /* may be map */
    norm_job norm, skip_norm;
    int pixels, channels;
};

enum { JOIN_THREADS = 512, JOIN_BATCH = 4 };

extern "C" __global__ void __launch_bounds__(JOIN_THREADS, 2) join(const join_job *job)
{
    __shared__ norm_table table;
#if SKIP_NORM
    __shared__ norm_table skip_table;
#endif
    const join_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, wide = j.channels / 8;
    load_norms<0, JOIN_THREADS>(j.norm, sample, table, threadIdx.x);
#if SKIP_NORM
    load_norms<0, JOIN_THREADS>(j.skip_norm, sample, skip_table, threadIdx.x);
#endif
    i64 from = (i64)sample * j.pixels * wide;
    int cells = j.pixels * wide, end = (int)((i64)cells * (piece + 1) / BLOCKS);
    const uint4 *map = j.map + from, *skip = j.skip + from;
    uint4 *result = j.result + from;
    for (int at = (int)((i64)cells * piece / BLOCKS) + threadIdx.x; at < end; at += JOIN_THREADS * JOIN_BATCH) {
        uint4 v[JOIN_BATCH], w[JOIN_BATCH];
        #pragma unroll
        for (int b = 0; b < JOIN_BATCH; b++)
            if (at + b * JOIN_THREADS < end) v[b] = map[at + b * JOIN_THREADS], w[b] = skip[at + b * JOIN_THREADS];
        #pragma unroll
        for (int b = 0; b < JOIN_BATCH; b++) {
            int i = at + b * JOIN_THREADS, channel = i % wide * 8;
            if (i >= end) break;
#if SKIP_NORM
            w[b] = quick_eight(w[b], load_half_norms(skip_table.norm + channel));
#endif
            result[i] = add_eight(quick_eight(v[b], load_half_norms(table.norm + channel)), w[b]);
        }
    }
}
