// Vectors on the device: a list of linear combinations, and a list of sums over vectors whose results go home.
// SPDX-License-Identifier: BSD-3-Clause
//
// Lists lie in page-locked host memory, so that no copy goes before a kernel; a trip over the bus costs as much as a kernel, so
// the statements' kernel fetches everything in one, and leaves what the sums need in `there`. Words: [0] statements, [1] terms,
// [2] sums and, in the upper half, the ticket of their results, [3] numbers passed, [4] these; from HEAD on the statements (4 words: to, first term, terms, constant), then the terms
// (2 words: factor, vector); from SUMS on the sums (4 words: kind, a, b, unused). Sums have a fixed order: bits repeat.

typedef long long i64;
union word { i64 i; double d; double *p; };
struct sizes { i64 n, chunk, chunks; double *passed; }; // passed: where numbers go
// A number in host memory: each half with a ticket beside it, in one store of 8 bytes, so that the host sees when it has arrived and
// nothing need be waited for here.
struct alignas(16) arrival { unsigned low, ticket, high, again; };

enum { PASSED = 3, HEAD = 8, SUMS = 1024, FIRST = 64, FIRST_SUMS = 192, SPAN = 1024 };
#define SUMS_MASK 0xffffffffll
enum { DOT, SQUARES, LARGEST, BAD };

// The kernel may have been started before the one it follows ended: what that one writes is there from here on.
static __device__ void wait_for_those_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ double evaluate(const word *statement, const word *term, i64 i)
{
    const i64 count = statement[2].i;
    double v = count ? term[0].d * term[1].p[i] : statement[3].d;
#pragma unroll 4
    for (i64 t = 1; t < count; t++) v += term[2 * t].d * term[2 * t + 1].p[i];
    return v;
}

// Into w all words of the statements; into `there` (where it is another place) those of the sums.
static __device__ void fetch(const sizes *z, const word *list, word *w, word *there)
{
    const bool keeps = blockIdx.x == 0 && there != list;
    const int sum = (int)threadIdx.x - FIRST;
    word ahead = { 0 };
    if (threadIdx.x < FIRST) w[threadIdx.x] = list[threadIdx.x]; // mostly all: one trip
    else if (keeps && sum < FIRST_SUMS) ahead = list[SUMS + sum];
    wait_for_those_before();
    __syncthreads();
    const i64 words = HEAD + 4 * w[0].i + 2 * w[1].i;
    for (i64 i = FIRST + threadIdx.x; i < words; i += blockDim.x) w[i] = list[i];
    if (keeps && threadIdx.x < HEAD) there[threadIdx.x] = w[threadIdx.x];
    if (keeps && sum >= 0 && sum < FIRST_SUMS) there[SUMS + sum] = ahead;
    for (i64 i = FIRST_SUMS + threadIdx.x; keeps && i < 4 * (w[2].i & SUMS_MASK); i += blockDim.x) there[SUMS + i] = list[SUMS + i];
    if (keeps && threadIdx.x < w[PASSED].i) z->passed[threadIdx.x] = w[PASSED + 1 + threadIdx.x].d;
    __syncthreads();
}

// Each thread carries out all statements for its own entries: in order, and without waiting for another.
extern "C" __global__ void __launch_bounds__(1024) in_order(const sizes *z, const word *list, word *there)
{
    __shared__ word w[SUMS];
    const i64 n = z->n;
    fetch(z, list, w, there);
    const i64 n_statements = w[0].i;
    const word *term = w + HEAD + 4 * n_statements;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x)
        for (i64 s = 0; s < n_statements; s++) {
            const word *statement = w + HEAD + 4 * s;
            statement[0].p[i] = evaluate(statement, term + 2 * statement[1].i, i);
        }
}

// Statements that do not depend on each other: blocks share them, and pieces of SPAN entries.
extern "C" __global__ void __launch_bounds__(1024) side_by_side(const sizes *z, const word *list, word *there)
{
    __shared__ word w[SUMS];
    fetch(z, list, w, there);
    const i64 n_statements = w[0].i, pieces = (z->n + SPAN - 1) / SPAN;
    const word *term = w + HEAD + 4 * n_statements;
    for (i64 item = blockIdx.x; item < n_statements * pieces; item += gridDim.x) {
        const word *statement = w + HEAD + 4 * (item / pieces);
        const i64 first = item % pieces * SPAN, last = min(first + SPAN, z->n);
        for (i64 i = first + threadIdx.x; i < last; i += blockDim.x)
            statement[0].p[i] = evaluate(statement, term + 2 * statement[1].i, i);
    }
}

static __device__ double larger(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }

static __device__ double fold(i64 kind, double sum, double more) { return kind == LARGEST ? larger(sum, more) : sum + more; }

static __device__ double entry(i64 kind, double a, double b)
{
    switch (kind) {
    case DOT: return a * b;
    case SQUARES: return (a - b) * (a - b);
    case LARGEST: return fabs(a);
    default: return a - a == 0 ? 0 : 1;
    }
}

// One sum over one chunk, in the first thread.
static __device__ double share_of(const word *sum, i64 first, i64 end)
{
    __shared__ double share[32];
    const i64 kind = sum[0].i;
    const double *a = sum[1].p, *b = sum[2].p;
    double v = 0;
#pragma unroll 8
    for (i64 i = first + threadIdx.x; i < end; i += blockDim.x) v = fold(kind, v, entry(kind, a[i], b[i]));
    for (int step = 16; step > 0; step /= 2) v = fold(kind, v, __shfl_xor_sync(0xffffffffu, v, step));
    if (threadIdx.x % 32 == 0) share[threadIdx.x / 32] = v;
    __syncthreads();
    for (int i = 1; threadIdx.x == 0 && i < blockDim.x / 32; i++) v = fold(kind, v, share[i]);
    __syncthreads();
    return v;
}

static __device__ void send(arrival *to, double v, unsigned ticket)
{
    const unsigned long long bits = (unsigned long long)__double_as_longlong(v);
    *(volatile unsigned long long *)&to->low = (bits & 0xffffffffull) | (unsigned long long)ticket << 32;
    *(volatile unsigned long long *)&to->high = bits >> 32 | (unsigned long long)ticket << 32;
}

// results[sum, chunk], in host memory; and a few values of the functions, too.
extern "C" __global__ void __launch_bounds__(512) finish(const sizes *z, const word *there, arrival *results, const double *values, arrival *home,
                                                         const arrival *last)
{
    const i64 n = z->n, chunk = z->chunk, chunks = z->chunks;
    wait_for_those_before();
    const i64 items = (there[2].i & SUMS_MASK) * chunks;
    const unsigned ticket = (unsigned)(there[2].i >> 32);
    if (blockIdx.x == gridDim.x - 1 && (const void *)values != home)
        for (i64 i = threadIdx.x; i <= last - home; i += blockDim.x) send(home + i, values[i], ticket);
    for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
        const i64 first = item % chunks * chunk;
        const double v = share_of(there + SUMS + 4 * (item / chunks), first, min(first + chunk, n));
        if (threadIdx.x == 0) send(results + item, v, ticket);
    }
}
