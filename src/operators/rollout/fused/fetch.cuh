/* Pixels brought to shared memory by copies that run by themselves, ahead of who reads them.
   SPDX-License-Identifier: BSD-3-Clause

   Kernels that only pass over maps are limited by memory: what is on its way must not depend on how many registers
   there are to wait in (decision 131). Follows barriers.cuh. Defined by the host: BLOCKS per sample. */
/* Where the share of a sample's piece-th block begins. */
static __device__ __forceinline__ int share_begin(int count, int piece) { return (int)((i64)count * piece / BLOCKS); }

/* For copies to come, by the thread that starts them. */
static __device__ __forceinline__ void set_slots(u32 full, int slots)
{
    for (int s = 0; s < slots; s++) barrier_set(full + 8 * s, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ __forceinline__ void fetch(u32 to, const void *from, u32 bytes, u32 full)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(bytes), "r"(full) : "memory");
}
/* What nobody reads again: the first to leave the cache, where it would take the place of what is still to be read. */
static __device__ __forceinline__ void fetch_last(u32 to, const void *from, u32 bytes, u32 full)
{
    asm volatile("{\n.reg .b64 once;\ncreatepolicy.fractional.L2::evict_first.b64 once, 1.0;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], once;\n}" :: "r"(to), "l"(from), "r"(bytes), "r"(full) : "memory");
}

/* ---- tiles of 16 pixels, rows of a product by tensor cores ---- */
/* The second eight lie half a line of banks further than they would: lanes that read row r of a product, and its neighbour, meet
   in no bank if these are pixels of different eights. */
enum { TILE = 16, EIGHT = TILE / 2, SHIFT = 64 };
#define TILE_BYTES(row) (TILE * (row) + 2 * SHIFT) /* of rows of so many bytes */
static __device__ __forceinline__ int pixel_of_row(int r) { return r % 2 * EIGHT + r / 2; } /* r below 8; row r + 8 is four pixels further */
static __device__ __forceinline__ u32 place_in_tile(int pixel, u32 row) { return pixel * row + pixel / EIGHT * SHIFT; }

/* Where pixels of a map lie: rows of `row` bytes, `stride` from one to the next. */
struct rows { const char *first; u32 row, stride; };
/* Pixels first, first + 1 … for the last time, to a tile with `pitch` bytes a pixel. */
static __device__ __forceinline__ void fetch_tile(u32 to, u32 pitch, const rows &from, int first, int pixels, u32 full)
{
    int at_once = from.row == from.stride ? EIGHT : 1;
    for (int p = 0; p < pixels; p += at_once)
        fetch_last(to + place_in_tile(p, pitch), from.first + (u64)(first + p) * from.stride, min(at_once, pixels - p) * from.row, full);
}
