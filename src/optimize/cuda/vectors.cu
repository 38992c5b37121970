// Vectors on the device: a list of linear combinations, and a list of sums over vectors whose results go home.
// SPDX-License-Identifier: BSD-3-Clause
//
// Lists lie in page-locked host memory, so that no copy goes before a kernel. A trip over the bus takes as long as a small kernel: the
// statements' kernel fetches what it needs in one, mostly, and the sums' kernel does so before it waits for the kernels in front of it.
// Words: [0] statements, [1] terms, [2] sums and, in the upper half, the ticket of their results, [3] numbers passed, [4] these; from
// HEAD on the statements (4 words: to, first term and, in the upper half, where its level ends, terms, constant), then the terms
// (2 words: factor, vector); from SUMS on the sums (4 words: kind, a, b, unused), and behind them copies of a to b, which lies in host
// memory: nobody waits for these. Sums have a fixed order: bits repeat.
//
// Vectors here are short, so that kernels last as long as their chains of loads: all loads of a thread are asked for at once.

typedef long long i64;
union word { i64 i; double d; double *p; };
struct sizes { i64 n, chunk, chunks; double *passed; }; // passed: where numbers go
// A number in host memory: each half with a ticket beside it, in one store of 8 bytes, so that the host sees when it has arrived and
// nothing need be waited for here.
struct alignas(16) arrival { unsigned low, ticket, high, again; };

enum { PASSED = 3, HEAD = 8, SUMS = 1024, FIRST = 128, SPAN = 1024, LANES = 4, BATCH = 4, TERMS = 3, SUM_BATCH = 8 };
#define LOWER_HALF 0xffffffffll
enum { DOT, SQUARES, LARGEST, BAD, COPY };

// The next kernel may be started from here on, and waits in its turn.
static __device__ void let_the_next_one_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// The kernel may have been started before the one it follows ended: what that one writes is there from here on.
static __device__ void wait_for_those_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- statements -----------------------------------------------------------------------------------------------------
// Into w all words of the statements.
static __device__ void fetch(const sizes *z, const word *list, word *w)
{
    double *passed = z->passed;
    let_the_next_one_start();
    if (threadIdx.x < FIRST) w[threadIdx.x] = list[threadIdx.x]; // mostly all: one trip
    wait_for_those_before();
    __syncthreads();
    const int words = HEAD + 4 * (int)w[0].i + 2 * (int)w[1].i;
    for (int i = FIRST + threadIdx.x; i < words; i += blockDim.x) w[i] = list[i];
    if (blockIdx.x == 0 && threadIdx.x < w[PASSED].i) passed[threadIdx.x] = w[PASSED + 1 + threadIdx.x].d;
    if (words > FIRST) __syncthreads();
}

// One statement for some entries, those below n; mostly all its loads at once.
static __device__ void carry_out(const word *statement, const word *terms, const i64 (&at)[BATCH], i64 n)
{
    const word *term = terms + 2 * (statement[1].i & LOWER_HALF);
    const int count = (int)statement[2].i;
    double v[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) v[k] = statement[3].d;
    for (int first = 0; first < count; first += TERMS) {
        double x[TERMS][BATCH];
#pragma unroll
        for (int t = 0; t < TERMS; t++)
#pragma unroll
            for (int k = 0; k < BATCH; k++) x[t][k] = first + t < count && at[k] < n ? term[2 * (first + t) + 1].p[at[k]] : 0;
#pragma unroll
        for (int t = 0; t < TERMS; t++)
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                if (first + t < count) v[k] = first + t ? v[k] + term[2 * (first + t)].d * x[t][k] : term[0].d * x[t][k];
    }
    double *to = statement[0].p;
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        if (at[k] < n) to[at[k]] = v[k];
}

// A block carries out all statements for its own entries, level by level: those of one level do not touch what another of it writes,
// and lanes of threads share them.
extern "C" __global__ void __launch_bounds__(1024) in_order(const sizes *z, const word *list)
{
    __shared__ word w[SUMS];
    const i64 n = z->n;
    fetch(z, list, w);
    const int n_statements = (int)w[0].i;
    const word *terms = w + HEAD + 4 * n_statements;
    for (int s = 0, end; s < n_statements; s = end) {
        if (s > 0) __syncthreads();
        end = (int)(w[HEAD + 4 * s + 1].i >> 32);
        const int shift = end - s >= LANES ? 2 : end - s >= 2 ? 1 : 0, lanes = 1 << shift; // LANES is 4
        const int width = blockDim.x >> shift, lane = threadIdx.x / width, me = threadIdx.x - lane * width;
        for (int q = s + lane; q < end; q += lanes) {
            i64 at[BATCH] = { 0 };
            for (int first = 0; at[0] < n; first += BATCH) {
#pragma unroll
                for (int k = 0; k < BATCH; k++) {
                    const int row = (first + k) >> shift, part = (first + k) & (lanes - 1);
                    at[k] = (blockIdx.x + (i64)row * gridDim.x) * blockDim.x + part * width + me;
                }
                if (at[0] < n) carry_out(w + HEAD + 4 * q, terms, at, n);
            }
        }
    }
}

// Statements that do not depend on each other: blocks share them, and pieces of SPAN entries.
extern "C" __global__ void __launch_bounds__(1024) side_by_side(const sizes *z, const word *list)
{
    __shared__ word w[SUMS];
    const i64 n = z->n;
    fetch(z, list, w);
    const int n_statements = (int)w[0].i, pieces = (int)((n + SPAN - 1) / SPAN);
    const word *terms = w + HEAD + 4 * n_statements;
    for (int item = blockIdx.x; item < n_statements * pieces; item += gridDim.x) {
        const i64 first = (i64)(item % pieces) * SPAN, end = min(first + SPAN, n);
        for (i64 i = first + threadIdx.x; i < end; i += BATCH * blockDim.x) {
            i64 at[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) at[k] = i + k * blockDim.x;
            carry_out(w + HEAD + 4 * (item / pieces), terms, at, end);
        }
    }
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

// results[sum, chunk], in host memory; and a few values of the functions, too. The list has been there since before the launch.
extern "C" __global__ void __launch_bounds__(512) finish(const sizes *z, const word *list, arrival *results, const double *values, arrival *home,
                                                         const arrival *last)
{
    enum { USED = 3 }; // words of a sum
    __shared__ word head, sum[USED];
    const i64 n = z->n, chunk = z->chunk;
    const int chunks = (int)z->chunks;
    const word *mine = list + SUMS + threadIdx.x; // what a thread fetches of each
    let_the_next_one_start();
    if (threadIdx.x < USED) sum[threadIdx.x] = mine[4 * (blockIdx.x / chunks)];
    if (threadIdx.x == 32) head = list[2];
    wait_for_those_before();
    __syncthreads();
    const int items = (int)(head.i & LOWER_HALF) * chunks;
    const unsigned ticket = (unsigned)(head.i >> 32);
    if (blockIdx.x == gridDim.x - 1 && (const void *)values != home)
        for (i64 i = threadIdx.x; i <= last - home; i += blockDim.x) send(home + i, values[i], ticket);
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        const i64 first = item % chunks * chunk;
        const int next = item + gridDim.x;
        word ahead = { 0 };
        if (threadIdx.x < USED && next < items) ahead = mine[4 * (next / chunks)];
        if (sum[0].i == COPY) {
            copy(sum[1].p, sum[2].p, first, min(first + chunk, n));
        } else {
            const double v = share_of_kind(sum, first, min(first + chunk, n));
            if (threadIdx.x == 0) send(results + item, v, ticket);
        }
        __syncthreads();
        if (threadIdx.x < USED) sum[threadIdx.x] = ahead;
        __syncthreads();
    }
}
