/* The end of a residual block whose width stays: act(norm(map)) + skip. SPDX-License-Identifier: BSD-3-Clause

   A thread keeps to one cell of eight channels, whose norms stay in its registers. Follows half.cuh and norms.cuh.
   Defined by the host: BLOCKS per sample, SKIP_NORM: 1 the skipped map is to be normalised and activated too. */
struct join_job { /* as fused.c writes it */
    const uint4 *map, *skip;   /* [samples, pixels, channels] */
    uint4 *result;             /* may be map */
    norm_job norm, skip_norm;
    int pixels, channels;
};

enum { JOIN_THREADS = 512, JOIN_BATCH = 4 };

extern "C" __global__ void __launch_bounds__(JOIN_THREADS, 2) join(const join_job *job)
{
    const join_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, wide = j.channels / 8;
    int at_once = JOIN_THREADS / wide, cell = threadIdx.x % wide, row = threadIdx.x / wide; /* pixels */
    if (row >= at_once) return;
    half_norms norms = load_half_norms(norms_of(j.norm, sample) + cell * 8);
#if SKIP_NORM
    half_norms skip_norms = load_half_norms(norms_of(j.skip_norm, sample) + cell * 8);
#endif
    i64 from = (i64)sample * j.pixels * wide + cell;
    const uint4 *map = j.map + from, *skip = j.skip + from;
    uint4 *result = j.result + from;
    int end = (int)((i64)j.pixels * (piece + 1) / BLOCKS);
    for (int pixel = (int)((i64)j.pixels * piece / BLOCKS) + row; pixel < end; pixel += at_once * JOIN_BATCH) {
        uint4 v[JOIN_BATCH], w[JOIN_BATCH];
        #pragma unroll
        for (int b = 0; b < JOIN_BATCH; b++)
            if (pixel + b * at_once < end) v[b] = map[(pixel + b * at_once) * wide], w[b] = skip[(pixel + b * at_once) * wide];
        #pragma unroll
        for (int b = 0; b < JOIN_BATCH; b++) {
            if (pixel + b * at_once >= end) break;
#if SKIP_NORM
            w[b] = quick_eight(w[b], skip_norms);
#endif
            result[(pixel + b * at_once) * wide] = add_eight(quick_eight(v[b], norms), w[b]);
        }
    }
}
