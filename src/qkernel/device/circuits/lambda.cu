/* What states are differentiated against, and sums of slopes over chunks. SPDX-License-Identifier: BSD-3-Clause
   Stands behind rows_job.h and sweep_job.h. Sums go on from one block of 256 terms to the next, so that errors hardly grow with their number. */

typedef long long i64;

#define SIDE 16
#define THREADS (SIDE * SIDE)
#define BLOCK 256

static __device__ __forceinline__ void add_product(double2 &sum, double2 a, double2 b)
{
    sum.x += a.x * b.x - a.y * b.y;
    sum.y += a.x * b.y + a.y * b.x;
}

/* m_ij for all rows i and the rows j of lambda. */
extern "C" __global__ void __launch_bounds__(THREADS) lambda_weights(const lt_lambda_job *where)
{
    __shared__ double2 near_i[SIDE][SIDE + 1], near_j[SIDE][SIDE + 1];
    const lt_lambda_job &j = *where;
    const double2 *phi = (const double2 *)j.states;
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    i64 across = (j.n_rows + SIDE - 1) / SIDE, tiles = (j.n + SIDE - 1) / SIDE * across;
    for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
        i64 i0 = t / across * SIDE, j0 = t % across * SIDE, row = i0 + ty, column = j0 + tx;
        double2 all = make_double2(0, 0), sum = make_double2(0, 0);
        for (i64 k0 = 0; !j.real_part && k0 < j.amplitudes; k0 += SIDE) {
            i64 k = k0 + tx;
            double2 zero = make_double2(0, 0);
            near_i[ty][tx] = i0 + ty < j.n && k < j.amplitudes ? phi[(i0 + ty) * j.amplitudes + k] : zero;
            near_j[ty][tx] = j0 + ty < j.n_rows && k < j.amplitudes ? phi[(j.first + j0 + ty) * j.amplitudes + k] : zero;
            __syncthreads();
            for (int m = 0; m < SIDE; m++) add_product(sum, make_double2(near_i[ty][m].x, -near_i[ty][m].y), near_j[tx][m]);
            if (k0 % BLOCK == BLOCK - SIDE) all.x += sum.x, all.y += sum.y, sum = zero;
            __syncthreads();
        }
        if (row >= j.n || column >= j.n_rows) continue;
        double loss = j.loss[row * j.n + j.first + column] + j.loss[(j.first + column) * j.n + row];
        double2 m = make_double2(2 * loss * (all.x + sum.x), 2 * loss * (all.y + sum.y));
        ((double2 *)j.weights)[row * j.n_rows + column] = j.real_part ? make_double2(loss, 0) : m;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) lambda_states(const lt_lambda_job *where)
{
    __shared__ double2 near_m[SIDE][SIDE + 1], near_phi[SIDE][SIDE + 1];
    const lt_lambda_job &j = *where;
    const double2 *phi = (const double2 *)j.states, *m = (const double2 *)j.weights;
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    i64 across = (j.amplitudes + SIDE - 1) / SIDE, tiles = (j.n_rows + SIDE - 1) / SIDE * across;
    for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
        i64 row = t / across * SIDE + ty, k = t % across * SIDE + tx;
        double2 all = make_double2(0, 0), sum = make_double2(0, 0);
        for (i64 i0 = 0; i0 < j.n; i0 += SIDE) {
            double2 zero = make_double2(0, 0);
            i64 r = t / across * SIDE + tx;
            near_m[ty][tx] = i0 + ty < j.n && r < j.n_rows ? m[(i0 + ty) * j.n_rows + r] : zero;
            near_phi[ty][tx] = i0 + ty < j.n && k < j.amplitudes ? phi[(i0 + ty) * j.amplitudes + k] : zero;
            __syncthreads();
            for (int i = 0; i < SIDE; i++) add_product(sum, near_m[i][ty], near_phi[i][tx]);
            if (i0 % BLOCK == BLOCK - SIDE) all.x += sum.x, all.y += sum.y, sum = zero;
            __syncthreads();
        }
        if (row < j.n_rows && k < j.amplitudes) ((double2 *)j.lambda)[row * j.amplitudes + k] = make_double2(all.x + sum.x, all.y + sum.y);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) adjoint_sums(const lt_adjoint_sum_job *where)
{
    const lt_adjoint_sum_job &j = *where;
    for (i64 i = blockIdx.x * (i64)THREADS + threadIdx.x; i < j.n_rows * j.n_items; i += gridDim.x * (i64)THREADS) {
        i64 row = i / j.n_items, item = i % j.n_items;
        double sum = 0;
        for (i64 p = 0; p < j.n_parts; p++) sum += j.from[(row * j.n_parts + p) * j.n_items + item];
        j.to[i] = sum;
    }
}
