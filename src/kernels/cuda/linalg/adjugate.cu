/* ADJUGATE of matrices whose determinant is 0 or not finite, as kernels/ref/adjugate.c has it; zeros for the others
   (decision 196). SPDX-License-Identifier: BSD-3-Clause

   One block does one matrix in double precision. N: rows. lu: N * N numbers for each block, x: ROOM of them; row, column: N indices. */
__shared__ f64 part[256];
__shared__ i64 place[256];

/* The place of the largest element of lu from row and column k on, the first of ties. */
inline i64 largest_from(const f64 *lu, i64 k)
{
    i64 best = k * N + k, m = N - k;
    for (i64 i = threadIdx.x; i < m * m; i += 256) {
        i64 at = (k + i / m) * N + k + i % m;
        if (fabs(lu[at]) > fabs(lu[best])) best = at;
    }
    __syncthreads();
    part[threadIdx.x] = fabs(lu[best]), place[threadIdx.x] = best;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        const int other = threadIdx.x + half;
        if (threadIdx.x < half &&
            (part[other] > part[threadIdx.x] || (part[other] == part[threadIdx.x] && place[other] < place[threadIdx.x])))
            part[threadIdx.x] = part[other], place[threadIdx.x] = place[other];
        __syncthreads();
    }
    return place[0];
}

template <class R> void exchange(R &a, R &b)
{
    R t = a;
    a = b, b = t;
}

/* P A Q = L U in place; the rank, and the sign of the exchanges. */
inline i64 factor(f64 *lu, i32 *row, i32 *column, int *sign)
{
    *sign = 1;
    for (i64 k = 0; k < N; k++) {
        i64 best = largest_from(lu, k), i = best / N, j = best % N;
        if (lu[best] == 0) return k;
        if (i != k) *sign = -*sign;
        if (j != k) *sign = -*sign;
        __syncthreads();
        for (i64 c = threadIdx.x; i != k && c < N; c += 256) exchange(lu[k * N + c], lu[i * N + c]);
        if (threadIdx.x == 0) exchange(row[k], row[i]), exchange(column[k], column[j]);
        __syncthreads();
        for (i64 r = threadIdx.x; j != k && r < N; r += 256) exchange(lu[r * N + k], lu[r * N + j]);
        __syncthreads();
        for (i64 r = k + 1 + threadIdx.x; r < N; r += 256) {
            f64 f = lu[r * N + k] /= lu[k * N + k];
            for (i64 c = k + 1; c < N; c++) lu[r * N + c] -= f * lu[k * N + c];
        }
        __syncthreads();
    }
    return N;
}

inline f64 product(const f64 *lu, i64 n, int sign, int *exponent)
{
    f64 m = sign;
    *exponent = 0;
    for (i64 i = 0; i < n; i++) {
        int pivot, left;
        m = frexp(m * frexp(lu[i * N + i], &pivot), &left);
        *exponent += pivot + left;
    }
    return m;
}

inline void solve_upper(const f64 *lu, i64 n, f64 *x)
{
    for (i64 i = n - 1; i >= 0; i--) {
        for (i64 j = i + 1; j < n; j++) x[i] -= lu[i * N + j] * x[j];
        x[i] /= lu[i * N + i];
    }
}

/* Null vectors to the right and to the left, by two threads. */
inline void null_vectors(const f64 *lu, f64 *right, f64 *left)
{
    if (threadIdx.x == 0) {
        for (i64 i = 0; i < N - 1; i++) right[i] = -lu[i * N + N - 1];
        right[N - 1] = 1;
        solve_upper(lu, N - 1, right);
    }
    if (threadIdx.x == 1) {
        for (i64 i = 0; i < N; i++) left[i] = i == N - 1;
        for (i64 j = N - 2; j >= 0; j--)
            for (i64 i = j + 1; i < N; i++) left[j] -= left[i] * lu[i * N + j];
    }
    __syncthreads();
}

inline void inverse_column(const f64 *lu, i64 j, f64 *x)
{
    for (i64 i = 0; i < N; i++) {
        x[i] = i == j;
        for (i64 k = 0; k < i; k++) x[i] -= lu[i * N + k] * x[k];
    }
    solve_upper(lu, N, x);
}

inline bool is_finite_here(f64 x) { return fabs(x) <= 1.7976931348623157e308; }

extern "C" __global__ void __launch_bounds__(256) adjugate(const T *m, const T *det, T *out, f64 *lu, f64 *x, i32 *row, i32 *column)
{
    lt_wait();
    const i64 own = blockIdx.x;
    __shared__ int bad;
    m += own * N * N, out += own * N * N, lu += own * N * N, x += own * ROOM, row += own * N, column += own * N;
    if (threadIdx.x == 0) bad = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < N * N; i += 256) {
        lu[i] = widen<f64>(m[i]);
        if (!is_finite_here(lu[i])) bad = 1;
    }
    for (i64 i = threadIdx.x; i < N; i += 256) row[i] = column[i] = (i32)i;
    __syncthreads();
    for (i64 i = threadIdx.x; i < N * N; i += 256) narrow(bad ? __longlong_as_double(0x7ff8000000000000ll) : 0.0, out[i]);
    f64 d = widen<f64>(det[own]);
    if (bad || (is_finite_here(d) && d != 0)) return;
    int sign, exponent;
    i64 rank = factor(lu, row, column, &sign);
    if (rank < N - 1) return;
    __syncthreads();
    f64 scale = product(lu, rank, sign, &exponent);
    if (rank < N) {
        null_vectors(lu, x, x + N);
        for (i64 i = threadIdx.x; i < N * N; i += 256)
            narrow(ldexp(scale * x[i / N] * x[N + i % N], exponent), out[(i64)column[i / N] * N + row[i % N]]);
        return;
    }
    for (i64 j = threadIdx.x; j < N; j += 256) {
        inverse_column(lu, j, x + j * N);
        for (i64 i = 0; i < N; i++) {
            int e;
            f64 y = frexp(x[j * N + i], &e);
            narrow(ldexp(scale * y, exponent + e), out[(i64)column[i] * N + row[j]]);
        }
    }
}
