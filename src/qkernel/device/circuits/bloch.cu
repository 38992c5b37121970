/* One-qubit states: the Bloch vector of each wire of each row. SPDX-License-Identifier: BSD-3-Clause
   Stands behind rows_job.h and sweep_job.h. A block has a row; its threads' sums are added in a fixed order. Fixed when compiled: REAL_T. */

typedef long long i64;
struct amplitude_t { REAL_T x, y; };
#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS) bloch(const lt_bloch_job *where)
{
    __shared__ double part[3][THREADS];
    const lt_bloch_job &j = *where;
    i64 pairs = (i64)1 << (j.q - 1);
    for (i64 row = blockIdx.x; row < j.n_rows; row += gridDim.x) {
        const amplitude_t *s = (const amplitude_t *)j.states + (row << j.q);
        for (int bit = 0; bit < j.q; bit++) {
            double x = 0, y = 0, z = 0;
            for (i64 k = threadIdx.x; k < pairs; k += THREADS) {
                i64 low = k & (((i64)1 << bit) - 1), i = (k - low) * 2 + low;
                double ar = s[i].x, ai = s[i].y, br = s[i | (i64)1 << bit].x, bi = s[i | (i64)1 << bit].y;
                x += ar * br + ai * bi;
                y += ar * bi - ai * br;
                z += (ar * ar + ai * ai) - (br * br + bi * bi);
            }
            part[0][threadIdx.x] = 2 * x, part[1][threadIdx.x] = 2 * y, part[2][threadIdx.x] = z;
            __syncthreads();
            for (int step = THREADS / 2; step > 0; step /= 2) {
                for (int i = 0; i < 3 && threadIdx.x < step; i++) part[i][threadIdx.x] += part[i][threadIdx.x + step];
                __syncthreads();
            }
            if (threadIdx.x < 3) j.out[(row * 3 + threadIdx.x) * j.n_wires + j.wire[j.q - 1 - bit]] = part[threadIdx.x][0];
            __syncthreads();
        }
    }
}
