/* Plain matrix product: one thread per element, sums in R. For element types the library has none for.
   SPDX-License-Identifier: BSD-3-Clause */
extern "C" __global__ void __launch_bounds__(256) matmul(const A *a, const B *b, T *out)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= BATCH * M * N) return;
    i64 c = o % N, r = o / N % M, i = o / N / M;
    const A *pa = a + a_matrix(i) * M * K;
    const B *pb = b + b_matrix(i) * K * N;
    R sum = 0;
    for (i64 l = 0; l < K; l++)
        sum += widen<R>(pa[TRANS_A ? l * M + r : r * K + l]) * widen<R>(pb[TRANS_B ? c * K + l : l * N + c]);
    narrow(sum, out[o]);
}
