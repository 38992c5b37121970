/* The end of a residual block whose width stays: act(norm(map)) + skip. SPDX-License-Identifier: BSD-3-Clause

   A thread keeps to one cell of eight channels, whose norms stay in its registers; pixels come through shared memory. Follows
   half.cuh, norms.cuh and fetch.cuh. Defined by the host: CHANNELS, JOIN_THREADS, BLOCKS per sample, PER_CORE of them at once, SLOTS,
   SKIP_NORM: 1 the skipped map is to be normalised and activated too. */
enum { CELLS = CHANNELS / 8, AT_ONCE = JOIN_THREADS / CELLS /* pixels */, SKIP_AT = AT_ONCE * CELLS * 16, SLOT = 2 * SKIP_AT };

/* The pixels of a block, and where they come to. */
struct pixels_of_block { const uint4 *map, *skip; int first, end; u32 slots, full; };
static __device__ __forceinline__ u32 bytes_of(const pixels_of_block &b, int n) { return max(0, min(AT_ONCE, b.end - b.first - n * AT_ONCE)) * CELLS * 16; }
static __device__ __forceinline__ void fetch_both(const pixels_of_block &b, int n)
{
    u32 bytes = bytes_of(b, n), to = b.slots + n % SLOTS * SLOT, full = b.full + 8 * (n % SLOTS);
    i64 first = (i64)(b.first + n * AT_ONCE) * CELLS;
    if (!bytes) return;
    barrier_expect(full, 2 * bytes);
    fetch(to + SKIP_AT, b.skip + first, bytes, full);
    fetch(to, b.map + first, bytes, full);
}

extern "C" __global__ void __launch_bounds__(JOIN_THREADS, PER_CORE) join(const lt_join_job *job)
{
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ u64 full[SLOTS];
    const lt_join_job &j = *job;
    int sample = blockIdx.x / BLOCKS, piece = blockIdx.x % BLOCKS, cell = threadIdx.x % CELLS, own = threadIdx.x / CELLS;
    i64 from = (i64)sample * j.pixels * CELLS;
    pixels_of_block b = { j.map + from, j.skip + from, share_begin(j.pixels, piece), share_begin(j.pixels, piece + 1), shared_address(shared), shared_address(full) };
    if (threadIdx.x == 0) {
        set_slots(b.full, SLOTS);
        for (int n = 0; n < SLOTS; n++) fetch_both(b, n);
    }
    half_norms norms = load_half_norms(norms_of(j.norm, sample) + cell * 8);
#if SKIP_NORM
    half_norms skip_norms = load_half_norms(norms_of(j.skip_norm, sample) + cell * 8);
#endif
    uint4 *result = j.result + from + cell;
    __syncthreads(); /* barriers are set */
    #pragma unroll 1
    for (int n = 0, first = b.first; first < b.end; n++, first += AT_ONCE) {
        u32 at = b.slots + n % SLOTS * SLOT + threadIdx.x * 16;
        barrier_wait(b.full + 8 * (n % SLOTS), n / SLOTS & 1);
        if (n > 0 && bytes_of(b, n - 1 + SLOTS)) {
            __syncthreads(); /* everybody has read what came before */
            if (threadIdx.x == 0) fetch_both(b, n - 1 + SLOTS);
        }
        if (own >= AT_ONCE || first + own >= b.end) continue;
        uint4 v = get_cell(at), w = get_cell(at + SKIP_AT);
#if SKIP_NORM
        w = quick_eight(w, skip_norms);
#endif
        result[(i64)(first + own) * CELLS] = add_eight(quick_eight(v, norms), w);
    }
}
