// H on the device: products with several vectors, its update, and the two passes of limited memory.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows are `stride` numbers apart, a multiple of 8, and zero behind the last variable, so that all loads are pairs.
// Sizes come through memory: one text serves every problem. Sums have a fixed order: bits repeat.

typedef long long i64;

struct sizes { i64 n, stride, pairs, chunk, chunks; };

static __device__ double warp_sum(double v)
{
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

static __device__ double dot2(double2 a, double2 b) { return a.x * b.x + a.y * b.y; }

// ---- full memory ----------------------------------------------------------------------------------------------------
// out[c][row] = what the lanes of a warp have of it.
template <int C> static __device__ void write_row(const sizes *z, const double (&sum)[C], i64 row, double *out)
{
#pragma unroll
    for (int c = 0; c < C; c++) {
        const double total = warp_sum(sum[c]);
        if (threadIdx.x % 32 == 0) out[c * z->stride + row] = total;
    }
}

// out[c] = H b[c]: one warp per row, which is read once for all C vectors.
template <int C> static __device__ void multiply(const sizes *z, const double *H, const double *b, double *out)
{
    const i64 row = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, half = z->stride / 2;
    const int lane = threadIdx.x % 32;
    if (row >= z->n) return;
    const double2 *h = (const double2 *)(H + row * z->stride), *x = (const double2 *)b;
    double sum[C] = { };
#pragma unroll 4
    for (i64 j = lane; j < half; j += 32) {
        const double2 v = h[j];
#pragma unroll
        for (int c = 0; c < C; c++) sum[c] += dot2(v, x[c * half + j]);
    }
    write_row<C>(z, sum, row, out);
}

// H = scale times the identity; rows are zero behind the last variable, too.
extern "C" __global__ void identity(const sizes *z, const double *scale, double *H)
{
    const i64 row = blockIdx.x;
    for (i64 j = threadIdx.x; j < z->stride; j += blockDim.x) H[row * z->stride + j] = j == row ? scale[0] : 0;
}

// H = gamma H + s w' + w s'; step holds s, w, gamma. The two products commute exactly: H stays symmetric to the bit.
extern "C" __global__ void rank2(const sizes *z, const double *step, double *H)
{
    const i64 row = blockIdx.x, half = z->stride / 2;
    const double2 *s = (const double2 *)step, *w = (const double2 *)(step + z->stride);
    const double si = step[row], wi = step[z->stride + row], gamma = step[2 * z->stride];
    double2 *h = (double2 *)(H + row * z->stride);
    for (i64 j = threadIdx.x; j < half; j += blockDim.x) {
        double2 v = h[j];
        v.x = gamma * v.x + (si * w[j].x + wi * s[j].x);
        v.y = gamma * v.y + (si * w[j].y + wi * s[j].y);
        h[j] = v;
    }
}

// Both in one pass: H is updated as rank2 does, and what is written is multiplied as multiply does.
template <int C> static __device__ void change(const sizes *z, const double *step, double *H, const double *b, double *out)
{
    const i64 row = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, half = z->stride / 2;
    const int lane = threadIdx.x % 32;
    if (row >= z->n) return;
    const double2 *__restrict__ s = (const double2 *)step, *__restrict__ w = (const double2 *)(step + z->stride), *__restrict__ x = (const double2 *)b;
    const double si = step[row], wi = step[z->stride + row], gamma = step[2 * z->stride];
    double2 *__restrict__ h = (double2 *)(H + row * z->stride);
    double sum[C] = { };
#pragma unroll 4
    for (i64 j = lane; j < half; j += 32) {
        double2 v = h[j];
        v.x = gamma * v.x + (si * w[j].x + wi * s[j].x);
        v.y = gamma * v.y + (si * w[j].y + wi * s[j].y);
        h[j] = v;
#pragma unroll
        for (int c = 0; c < C; c++) sum[c] += dot2(v, x[c * half + j]);
    }
    write_row<C>(z, sum, row, out);
}

// ---- limited memory ------------------------------------------------------------------------------------------------
// P holds the rows s, then the rows y. head[0]: how many pairs there are.
// part[c, row, chunk] = the chunk's share of row times b[c].
template <int C> static __device__ void dots(const sizes *z, const double *P, const double *head, const double *b, double *part)
{
    const i64 rows = 2 * z->pairs, row = blockIdx.x % rows, chunk = blockIdx.x / rows, half = z->stride / 2;
    if (row % z->pairs >= (i64)head[0]) return;
    const double2 *p = (const double2 *)(P + row * z->stride), *x = (const double2 *)b;
    const i64 first = chunk * (z->chunk / 2), last = min(first + z->chunk / 2, half);
    double sum[C] = { };
#pragma unroll 4
    for (i64 j = first + threadIdx.x; j < last; j += blockDim.x) {
        const double2 v = p[j];
#pragma unroll
        for (int c = 0; c < C; c++) sum[c] += dot2(v, x[c * half + j]);
    }
    __shared__ double share[C][32];
#pragma unroll
    for (int c = 0; c < C; c++) {
        const double total = warp_sum(sum[c]);
        if (threadIdx.x % 32 == 0) share[c][threadIdx.x / 32] = total;
    }
    __syncthreads();
    if (threadIdx.x >= C) return;
    double total = 0;
    for (int i = 0; i < blockDim.x / 32; i++) total += share[threadIdx.x][i];
    part[((i64)threadIdx.x * rows + row) * z->chunks + chunk] = total;
}

// out[c] = gamma b[c] + sum of factor[c, row] times row; head holds the number of pairs, then gamma.
template <int C> static __device__ void combine(const sizes *z, const double *P, const double *head, const double *b, const double *factor,
                                                double *out)
{
    const i64 rows = 2 * z->pairs, half = z->stride / 2, used = (i64)head[0], j = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= half) return;
    double2 sum[C];
#pragma unroll
    for (int c = 0; c < C; c++) {
        const double2 v = ((const double2 *)b)[c * half + j];
        sum[c] = make_double2(head[1] * v.x, head[1] * v.y);
    }
    for (i64 side = 0; side < rows; side += z->pairs)
#pragma unroll 4
        for (i64 row = side; row < side + used; row++) {
            const double2 v = ((const double2 *)(P + row * z->stride))[j];
#pragma unroll
            for (int c = 0; c < C; c++) {
                const double f = factor[c * rows + row];
                sum[c].x += f * v.x;
                sum[c].y += f * v.y;
            }
        }
#pragma unroll
    for (int c = 0; c < C; c++) ((double2 *)out)[c * half + j] = sum[c];
}

#define FOR_COLUMNS(C)                                                                                                            \
    extern "C" __global__ void change##C(const sizes *z, const double *step, double *H, const double *b, double *out)              \
    { change<C>(z, step, H, b, out); }                                                                                            \
    extern "C" __global__ void multiply##C(const sizes *z, const double *H, const double *b, double *out) { multiply<C>(z, H, b, out); } \
    extern "C" __global__ void dots##C(const sizes *z, const double *P, const double *head, const double *b, double *part)         \
    { dots<C>(z, P, head, b, part); }                                                                                             \
    extern "C" __global__ void combine##C(const sizes *z, const double *P, const double *head, const double *b, const double *factor, \
                                          double *out)                                                                            \
    { combine<C>(z, P, head, b, factor, out); }
FOR_COLUMNS(1)
FOR_COLUMNS(2)
FOR_COLUMNS(4)
FOR_COLUMNS(8)
