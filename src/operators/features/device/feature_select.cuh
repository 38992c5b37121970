/* Order statistics of a plane by one block: radix selection on the bits of the numbers.
   SPDX-License-Identifier: BSD-3-Clause

   One pass counts numbers in buckets of equal width of their keys, between the smallest and the largest; the few
   buckets that hold a wanted rank are gathered, and a warp finds each rank among them bit by bit. A bucket too
   full to be gathered is divided again by the whole block, which ends after two more passes at most. */

#define BUCKETS 4096
#define BUCKET_BITS 12
#define RANKS 12

struct select_memory {
    int count[BUCKETS];
    u8 list_of[BUCKETS];                 /* 1 + the list a bucket is gathered into, or 0 */
    unsigned list[RANKS][LIST];
    int filled[RANKS], owner[RANKS], warp_total[WARPS];
    struct { int bucket, below, n; } found[RANKS];
    unsigned value[RANKS];               /* keys of the ranks */
};

/* Keys from base on, in buckets of 2^shift; those beyond the last count there. */
struct buckets {
    unsigned base;
    int shift;
    __device__ int operator()(unsigned key) const { return limited((int)((key - base) >> shift), BUCKETS - 1); }
};

static __device__ __forceinline__ int bits_of(unsigned x) { return 32 - __clz(x); }

/* take(key) for every number of this thread; eight are on their way from memory before the first is taken. */
template <class VALUE, class TAKE> static __device__ __forceinline__ void take_keys(VALUE value, TAKE take)
{
    constexpr int AHEAD = 8;
    for (int first = threadIdx.x; first < N; first += AHEAD * THREADS) {
        float v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) v[k] = first + k * THREADS < N ? value(first + k * THREADS) : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (first + k * THREADS < N) take(key_of(v[k]));
    }
}

/* In which bucket rank[k] lies, with how many below it; every bucket's count is in m->count. */
static __device__ void find_ranks(select_memory *m, const int *rank, int n_ranks)
{
    constexpr int OWN = BUCKETS / THREADS;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own = 0, first = threadIdx.x * OWN;
    for (int i = 0; i < OWN; i++) own += m->count[first + i];
    int upto = own;
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffffu, upto, step);
        if (lane >= step) upto += other;
    }
    if (lane == 31) m->warp_total[warp] = upto;
    __syncthreads();
    int below = upto - own;
    for (int i = 0; i < warp; i++) below += m->warp_total[i];
    for (int k = 0; k < n_ranks; k++) {
        if (rank[k] < below || rank[k] >= below + own) continue;
        int at = below, b = first;
        while (rank[k] >= at + m->count[b]) at += m->count[b++];
        m->found[k].bucket = b;
        m->found[k].below = at;
        m->found[k].n = m->count[b];
    }
    __syncthreads();
}

/* Only keys of the bucket of 2^bits that starts at base are counted; bits = 32 counts all. */
template <class VALUE> static __device__ void count_keys(VALUE value, select_memory *m, buckets at, int bits)
{
    for (int i = threadIdx.x; i < BUCKETS; i += THREADS) m->count[i] = 0;
    __syncthreads();
    take_keys(value, [&](unsigned key) {
        if (bits == 32 || (key - at.base) >> bits == 0) atomicAdd(&m->count[at(key)], 1);
    });
    __syncthreads();
}

/* Rank r among the n keys of a list, all in [base, base + 2^bits): by one warp. */
static __device__ unsigned select_in_list(const unsigned *list, int n, int r, unsigned base, int bits)
{
    unsigned offset = 0;
    for (int bit = bits - 1; bit >= 0; bit--) {
        unsigned tried = offset | 1u << bit;
        int below = 0;
        for (int i = threadIdx.x % 32; i < n; i += 32) below += list[i] - base < tried;
        for (int step = 16; step; step /= 2) below += __shfl_xor_sync(0xffffffffu, below, step);
        if (below <= r) offset = tried;
    }
    return base + offset;
}

/* The same among all keys, by the block. */
template <class VALUE> static __device__ unsigned select_in_plane(VALUE value, select_memory *m, int r, unsigned base, int bits)
{
    while (bits > 0) {
        int next = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
        buckets at = { base, next };
        count_keys(value, m, at, bits);
        find_ranks(m, &r, 1);
        base += (unsigned)m->found[0].bucket << next;
        r -= m->found[0].below;
        bits = next;
        __syncthreads();
    }
    return base;
}

/* Keys of the wanted ranks of value(0..N-1), in m->value. least, most: the smallest and the largest of them. */
template <class VALUE>
static __device__ void select_ranks(VALUE value, float least, float most, const int *rank, int n_ranks, select_memory *m)
{
    unsigned base = key_of(least), top = key_of(most);
    int width = bits_of(top > base ? top - base : 0), shift = width > BUCKET_BITS ? width - BUCKET_BITS : 0;
    buckets at = { base, shift };
    for (int i = threadIdx.x; i < BUCKETS; i += THREADS) m->list_of[i] = 0;
    count_keys(value, m, at, 32);
    find_ranks(m, rank, n_ranks);
    if (threadIdx.x < n_ranks) {
        int k = threadIdx.x, owner = 0;
        while (m->found[owner].bucket != m->found[k].bucket) owner++;
        m->owner[k] = owner;
        m->filled[k] = 0;
        if (owner == k && m->found[k].n <= LIST) m->list_of[m->found[k].bucket] = (u8)(k + 1);
    }
    __syncthreads();
    take_keys(value, [&](unsigned key) {
        int list = m->list_of[at(key)];
        if (list) m->list[list - 1][limited(atomicAdd(&m->filled[list - 1], 1), LIST - 1)] = key;
    });
    __syncthreads();
    for (int k = threadIdx.x / 32; k < n_ranks; k += WARPS) {
        if (m->found[k].n > LIST) continue;
        unsigned first = base + ((unsigned)m->found[k].bucket << shift);
        unsigned key = select_in_list(m->list[m->owner[k]], m->found[k].n, rank[k] - m->found[k].below, first, shift);
        if (threadIdx.x % 32 == 0) m->value[k] = key;
    }
    for (int k = 0; k < n_ranks; k++) {
        __syncthreads();
        if (m->found[k].n <= LIST) continue;
        int r = rank[k] - m->found[k].below;
        unsigned first = base + ((unsigned)m->found[k].bucket << shift);
        int bucket = m->found[0].bucket, below = m->found[0].below, n = m->found[0].n;
        __syncthreads();
        unsigned key = select_in_plane(value, m, r, first, shift);
        if (threadIdx.x == 0) {
            m->value[k] = key;
            m->found[0].bucket = bucket;
            m->found[0].below = below;
            m->found[0].n = n;
        }
    }
    __syncthreads();
}
