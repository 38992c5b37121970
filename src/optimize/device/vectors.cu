// Vectors on the device: a list of linear combinations, and a list of sums over vectors whose results go to the host.
// SPDX-License-Identifier: BSD-3-Clause
//
// vectors_job.h, which stands before this text, says what a list is. A trip over the bus takes as long as a small kernel, and each
// 128 bytes that are asked for add to it: one block of a cluster fetches a list for all, in one trip mostly, and leaves the sums' part in
// `rest`, on the device, where sums begin at the head's end. Sums have a fixed order: bits repeat.
//
// Vectors here are short, so that kernels last as long as their chains of loads: a thread asks for what it can at once.

typedef long long i64;
typedef lt_word word;
typedef lt_vector_sizes sizes;
typedef lt_arrival arrival;

enum { PASSED = LT_LIST_PASSED, HEAD = LT_LIST_HEAD, MOST = LT_LIST_MOST, FIRST = 128, SPAN = 1024, GROUP = 4, TERMS = 3, SUM_BATCH = 8, SIDE_TOGETHER = 8 };
#define LOWER_HALF 0xffffffffll
enum { DOT = LT_MEASURE_DOT, SQUARES = LT_MEASURE_SQUARES, LARGEST = LT_MEASURE_LARGEST, BAD = LT_MEASURE_BAD, COPY = LT_LIST_COPY };

#ifndef TOGETHER
#define TOGETHER 1 // blocks of a cluster
#endif
#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS(n) __cluster_dims__(n)
#else
#define IN_CLUSTERS(n)
#endif

// The next kernel may be started from here on, and waits in its turn.
static __device__ void let_the_next_one_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// The kernel may have been started before the one it follows ended: what that one writes is in memory from here on.
static __device__ void wait_for_those_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- statements -----------------------------------------------------------------------------------------------------
// Clusters: what the first block has, for all. It must not end before all have come to `leave`, which `wait` sees to.
#if __CUDA_ARCH__ >= 900
static __device__ unsigned rank_in_cluster()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
static __device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
static __device__ void cluster_leave() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); } // with nothing for the others
static __device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
static __device__ i64 of_the_first(const word *own)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(own);
    i64 v;
    asm volatile("{ .reg .u32 first; mapa.shared::cluster.u32 first, %1, 0; ld.shared::cluster.s64 %0, [first]; }" : "=l"(v) : "r"(at) : "memory");
    return v;
}
#else
static __device__ unsigned rank_in_cluster() { return 0; } // none: each block fetches its list
static __device__ void cluster_arrive() {}
static __device__ void cluster_leave() {}
static __device__ void cluster_wait() {}
static __device__ i64 of_the_first(const word *own) { return own->i; }
#endif

static __device__ int words_of(const word *w) { return HEAD + 4 * (int)w[0].i + 2 * (int)w[1].i; }

// What others need: the sums, and numbers passed.
static __device__ void leave(const sizes *z, const word *list, const word *w, word *rest)
{
    const int first = words_of(w), count = 4 * (int)(w[2].i & LOWER_HALF);
    if (threadIdx.x < HEAD) rest[threadIdx.x] = w[threadIdx.x];
    for (int i = threadIdx.x; i < count; i += blockDim.x) rest[HEAD + i] = first + i < FIRST ? w[first + i] : list[first + i];
    if (threadIdx.x < w[PASSED].i) z->passed[threadIdx.x] = w[PASSED + 1 + threadIdx.x].d;
}

// Into w all words of the statements. In clusters, `cluster_wait` is to be called at the end.
template <int BLOCKS> static __device__ void fetch(const sizes *z, const word *list, word *w, word *rest)
{
    const bool reads = BLOCKS == 1 || rank_in_cluster() == 0;
    let_the_next_one_start();
    if (reads && threadIdx.x < FIRST) w[threadIdx.x] = list[threadIdx.x]; // mostly all: one trip
    wait_for_those_before();
    __syncthreads();
    if (reads)
        for (int i = FIRST + threadIdx.x; i < words_of(w); i += blockDim.x) w[i] = list[i];
    if (BLOCKS > 1) {
        cluster_arrive();
        cluster_wait();
        if (!reads && threadIdx.x < FIRST) w[threadIdx.x].i = of_the_first(w + threadIdx.x);
        __syncthreads();
        for (int i = FIRST + threadIdx.x; !reads && i < words_of(w); i += blockDim.x) w[i].i = of_the_first(w + i);
        cluster_leave();
    }
    if (blockIdx.x == 0) leave(z, list, w, rest);
    __syncthreads();
}

// Some statements of one level for entry i: all their first terms are asked for at once. The entry stays with this thread, which
// therefore waits for no other.
static __device__ void carry_out(const word *statement, int count, const word *terms, i64 i)
{
    const word *term[GROUP];
    int n_terms[GROUP];
    double x[GROUP][TERMS];
#pragma unroll
    for (int q = 0; q < GROUP; q++) {
        n_terms[q] = q < count ? (int)statement[4 * q + 2].i : 0;
        term[q] = q < count ? terms + 2 * (statement[4 * q + 1].i & LOWER_HALF) : terms;
#pragma unroll
        for (int t = 0; t < TERMS; t++) x[q][t] = t < n_terms[q] ? term[q][2 * t + 1].p[i] : 0;
    }
#pragma unroll
    for (int q = 0; q < GROUP; q++) {
        if (q >= count) break;
        double v = n_terms[q] ? term[q][0].d * x[q][0] : statement[4 * q + 3].d;
#pragma unroll
        for (int t = 1; t < TERMS; t++)
            if (t < n_terms[q]) v += term[q][2 * t].d * x[q][t];
#pragma unroll 1
        for (int t = TERMS; t < n_terms[q]; t++) v += term[q][2 * t].d * term[q][2 * t + 1].p[i];
        statement[4 * q].p[i] = v;
    }
}

// Each thread carries out all statements for its own entries, level by level: those of one level do not touch what another of it writes.
extern "C" __global__ void IN_CLUSTERS(TOGETHER) __launch_bounds__(1024) in_order(const sizes *z, const word *list, word *rest)
{
    __shared__ word w[MOST];
    const i64 n = z->n;
    fetch<TOGETHER>(z, list, w, rest);
    const int n_statements = (int)w[0].i;
    const word *terms = w + HEAD + 4 * n_statements;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x)
        for (int s = 0; s < n_statements;) {
            const int count = min((int)(w[HEAD + 4 * s + 1].i >> 32) - s, (int)GROUP);
            carry_out(w + HEAD + 4 * s, count, terms, i);
            s += count;
        }
    if (TOGETHER > 1) cluster_wait();
}

// Statements that do not depend on each other: blocks share them, and pieces of SPAN entries.
extern "C" __global__ void IN_CLUSTERS(SIDE_TOGETHER) __launch_bounds__(1024) side_by_side(const sizes *z, const word *list, word *rest)
{
    __shared__ word w[MOST];
    const i64 n = z->n;
    fetch<SIDE_TOGETHER>(z, list, w, rest);
    const int n_statements = (int)w[0].i, pieces = (int)((n + SPAN - 1) / SPAN);
    const word *terms = w + HEAD + 4 * n_statements;
    for (int item = blockIdx.x; item < n_statements * pieces; item += gridDim.x) {
        const i64 first = (i64)(item % pieces) * SPAN, end = min(first + SPAN, n);
        for (i64 i = first + threadIdx.x; i < end; i += blockDim.x) carry_out(w + HEAD + 4 * (item / pieces), 1, terms, i);
    }
    cluster_wait();
}

// ---- sums -----------------------------------------------------------------------------------------------------------
static __device__ double larger(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }

template <int KIND> static __device__ double fold(double sum, double more) { return KIND == LARGEST ? larger(sum, more) : sum + more; }

template <int KIND> static __device__ double entry(double a, double b)
{
    switch (KIND) {
    case DOT: return a * b;
    case SQUARES: return (a - b) * (a - b);
    case LARGEST: return fabs(a);
    default: return a - a == 0 ? 0 : 1;
    }
}

// One sum over one chunk, in the first thread.
template <int KIND> static __device__ double share_of(const double *a, const double *b, i64 first, i64 end)
{
    enum { MOST_WARPS = 16 };
    __shared__ double share[MOST_WARPS];
    const bool both = KIND == DOT || KIND == SQUARES;
    double v = 0;
    for (i64 start = first + threadIdx.x; start < end; start += SUM_BATCH * blockDim.x) {
        double x[SUM_BATCH], y[SUM_BATCH];
#pragma unroll
        for (int k = 0; k < SUM_BATCH; k++) {
            const i64 i = start + k * blockDim.x;
            x[k] = i < end ? a[i] : 0;
            y[k] = both && i < end ? b[i] : 0;
        }
#pragma unroll
        for (int k = 0; k < SUM_BATCH; k++)
            if (start + k * blockDim.x < end) v = fold<KIND>(v, entry<KIND>(x[k], y[k]));
    }
    for (int step = 16; step > 0; step /= 2) v = fold<KIND>(v, __shfl_xor_sync(0xffffffffu, v, step));
    if (threadIdx.x % 32 == 0) share[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 1; i < MOST_WARPS; i++)
            if (i < blockDim.x / 32) v = fold<KIND>(v, share[i]);
    }
    return v;
}

static __device__ void copy(const double *a, double *to, i64 first, i64 end)
{
    for (i64 start = first + threadIdx.x; start < end; start += SUM_BATCH * blockDim.x) {
        double x[SUM_BATCH];
#pragma unroll
        for (int k = 0; k < SUM_BATCH; k++) x[k] = start + k * blockDim.x < end ? a[start + k * blockDim.x] : 0;
#pragma unroll
        for (int k = 0; k < SUM_BATCH; k++)
            if (start + k * blockDim.x < end) to[start + k * blockDim.x] = x[k];
    }
}

static __device__ double share_of_kind(const word *sum, i64 first, i64 end)
{
    const double *a = sum[1].p, *b = sum[2].p;
    switch (sum[0].i) {
    case DOT: return share_of<DOT>(a, b, first, end);
    case SQUARES: return share_of<SQUARES>(a, b, first, end);
    case LARGEST: return share_of<LARGEST>(a, b, first, end);
    default: return share_of<BAD>(a, b, first, end);
    }
}

static __device__ void send(arrival *to, double v, unsigned ticket)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(v);
    *(volatile unsigned long long *)&to->low = (bits & 0xffffffffull) | (unsigned long long)ticket << 32;
    *(volatile unsigned long long *)&to->high = bits >> 32 | (unsigned long long)ticket << 32;
}

// results[sum, chunk], in host memory; and a few values of the functions, too.
extern "C" __global__ void __launch_bounds__(512) finish(const sizes *z, const word *rest, arrival *results, const double *values, arrival *host,
                                                         const arrival *last)
{
    const i64 n = z->n, chunk = z->chunk;
    const int chunks = (int)z->chunks;
    const word *sum = rest + HEAD + 4 * (blockIdx.x / chunks);
    let_the_next_one_start();
    wait_for_those_before();
    const i64 head = rest[2].i;
    word mine[] = { sum[0], sum[1], sum[2] }; // perhaps of no sum
    const int items = (int)(head & LOWER_HALF) * chunks;
    const unsigned ticket = (unsigned)(head >> 32);
    if (blockIdx.x == gridDim.x - 1 && (const void *)values != host)
        for (i64 i = threadIdx.x; i <= last - host; i += blockDim.x) send(host + i, values[i], ticket);
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        const i64 first = item % chunks * chunk, end = min(first + chunk, n);
        if (item != blockIdx.x)
            for (int i = 0; i < 3; i++) mine[i] = rest[HEAD + 4 * (item / chunks) + i];
        if (mine[0].i == COPY) {
            copy(mine[1].p, mine[2].p, first, end);
        } else {
            const double v = share_of_kind(mine, first, end);
            if (threadIdx.x == 0) send(results + item, v, ticket);
            __syncthreads(); // before the shares are used again
        }
    }
}
