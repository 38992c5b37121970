/* Whether a sample is over, by the block that ends it last: what is not finite, or was not before, is NaN from here on.
   SPDX-License-Identifier: BSD-3-Clause

   Defined by the host: BLOCKS of a sample. */
static __device__ __forceinline__ void settle(const lt_output_job &j, int sample, bool finite, const i64 *t, i64 *failed, float *next, int threads)
{
    enum { NOT_FINITE = 1 << 16 }; /* more than there are blocks */
    __shared__ bool over;
    const bool bad = __syncthreads_or(!finite);
    if (threadIdx.x == 0) {
        __threadfence();
        u32 mine = bad ? NOT_FINITE + 1 : 1, sum = atomicAdd(j.ended + sample, mine) + mine;
        bool last = sum % NOT_FINITE == BLOCKS;
        over = last && (sum >= NOT_FINITE || failed[sample] >= 0);
        if (last) j.ended[sample] = 0;
        if (over && failed[sample] < 0) failed[sample] = *t;
        __threadfence();
    }
    __syncthreads();
    for (int i = threadIdx.x; over && i < 3 * j.pixels; i += threads) next[(i64)sample * 3 * j.pixels + i] = __uint_as_float(0x7fc00000u);
}
