// Vectors on the device: a list of linear combinations, and a list of sums over vectors whose results go home.
// SPDX-License-Identifier: BSD-3-Clause
//
// Lists lie in page-locked host memory, so that no copy goes before a kernel. Words: [0] statements, [1] terms, [2] sums;
// from HEAD on the statements (4 words: to, first term, terms, constant), then the terms (2 words: factor, vector); from
// SUMS on the sums (4 words: kind, a, b, unused). Sums have a fixed order: bits repeat.

typedef long long i64;
union word { i64 i; double d; double *p; };
struct sizes { i64 n, chunk, chunks; };

enum { HEAD = 8, SUMS = 1024, FIRST = 128, SPAN = 1024 };
enum { DOT, SQUARES, LARGEST, BAD };

static __device__ double evaluate(const word *statement, const word *term, i64 i)
{
    const i64 count = statement[2].i;
    double v = count ? term[0].d * term[1].p[i] : statement[3].d;
#pragma unroll 4
    for (i64 t = 1; t < count; t++) v += term[2 * t].d * term[2 * t + 1].p[i];
    return v;
}

// Each thread carries out all statements for its own entries: in order, and without waiting for another.
extern "C" __global__ void __launch_bounds__(1024) in_order(const sizes *z, const word *list)
{
    __shared__ word w[SUMS];
    if (threadIdx.x < FIRST) w[threadIdx.x] = list[threadIdx.x]; // mostly all: one trip over the bus
    __syncthreads();
    const i64 n_statements = w[0].i, words = HEAD + 4 * n_statements + 2 * w[1].i;
    if (!n_statements) return;
    for (i64 i = FIRST + threadIdx.x; i < words; i += blockDim.x) w[i] = list[i];
    __syncthreads();
    const word *term = w + HEAD + 4 * n_statements;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < z->n; i += (i64)gridDim.x * blockDim.x)
        for (i64 s = 0; s < n_statements; s++) {
            const word *statement = w + HEAD + 4 * s;
            statement[0].p[i] = evaluate(statement, term + 2 * statement[1].i, i);
        }
}

// Statements that do not depend on each other: blocks share them, and pieces of SPAN entries.
extern "C" __global__ void __launch_bounds__(1024) side_by_side(const sizes *z, const word *list)
{
    __shared__ word w[SUMS];
    if (threadIdx.x < FIRST) w[threadIdx.x] = list[threadIdx.x];
    __syncthreads();
    const i64 n_statements = w[0].i, words = HEAD + 4 * n_statements + 2 * w[1].i, pieces = (z->n + SPAN - 1) / SPAN;
    for (i64 i = FIRST + threadIdx.x; i < words; i += blockDim.x) w[i] = list[i];
    __syncthreads();
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

// results[sum, chunk], in host memory; and a few values of the functions, too.
extern "C" __global__ void finish(const sizes *z, const word *list, double *results, const double *values, double *home, const double *last)
{
    __shared__ double share[32];
    __shared__ word sum[4], count;
    const i64 chunks = z->chunks;
    if (blockIdx.x == gridDim.x - 1 && values != home)
        for (i64 i = threadIdx.x; i <= last - home; i += blockDim.x) home[i] = values[i];
    if (threadIdx.x == 32) count = list[2];
    for (i64 item = blockIdx.x;; item += gridDim.x) {
        if (threadIdx.x < 4) sum[threadIdx.x] = list[SUMS + 4 * min(item / chunks, (i64)SUMS - 1) + threadIdx.x]; // there is room behind the last
        __syncthreads();
        if (item >= count.i * chunks) return;
        const i64 kind = sum[0].i, first = item % chunks * z->chunk, end = min(first + z->chunk, z->n);
        const double *a = sum[1].p, *b = sum[2].p;
        double v = 0;
#pragma unroll 4
        for (i64 i = first + threadIdx.x; i < end; i += blockDim.x) v = fold(kind, v, entry(kind, a[i], b[i]));
        for (int step = 16; step > 0; step /= 2) v = fold(kind, v, __shfl_xor_sync(0xffffffffu, v, step));
        if (threadIdx.x % 32 == 0) share[threadIdx.x / 32] = v;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < blockDim.x / 32; i++) v = fold(kind, v, share[i]);
            results[item] = v;
        }
        __syncthreads();
    }
}
