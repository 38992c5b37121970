/* Around cuSOLVER's calls: copies in and out, what the factors give, and NaN where there is no answer.
   SPDX-License-Identifier: BSD-3-Clause

   state[0]: cuSOLVER's info; state[1]: the input is not finite. Matrices are row major here; cuSOLVER sees
   the transpose. One block does one matrix. */
inline bool no_answer(const i32 *state) { return state[1] || (CHECK_INFO && state[0]); }
template <class R> R nan_of() { return (R)__longlong_as_double(0x7ff8000000000000ll); }

/* work = a, or its transpose; zeros when a is not finite, which no iteration survives. */
extern "C" __global__ void __launch_bounds__(256) copy_in(const T *a, T *work, i32 *state)
{
    lt_wait();
    __shared__ int bad;
    if (threadIdx.x == 0) bad = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < M * N; i += 256)
        if (!(fabs(a[i]) <= (T)1.7976931348623157e308 && fabs(a[i]) < (T)__longlong_as_double(0x7ff0000000000000ll))) bad = 1;
    __syncthreads();
    for (i64 i = threadIdx.x; i < M * N; i += 256) work[TRANSPOSE ? i % N * M + i / N : i] = bad ? (T)0 : a[i];
    if (threadIdx.x == 0) state[0] = 0, state[1] = bad;
}

/* out = the transpose of `from`, ROWS x COLUMNS as it lies there, or NaN; one block per matrix. */
extern "C" __global__ void __launch_bounds__(256) turn(const T *from, T *out, const i32 *state)
{
    lt_wait();
    from += blockIdx.x * (i64)(ROWS * COLUMNS);
    out += blockIdx.x * (i64)(ROWS * COLUMNS);
    for (i64 i = threadIdx.x; i < ROWS * COLUMNS; i += 256)
        out[i % COLUMNS * ROWS + i / COLUMNS] = no_answer(state) ? nan_of<T>() : from[i];
}

/* NaN over the COUNT elements of out when there is no answer. */
extern "C" __global__ void __launch_bounds__(256) spoil(T *out, const i32 *state)
{
    lt_wait();
    if (no_answer(state))
        for (i64 i = threadIdx.x; i < COUNT; i += 256) out[i] = nan_of<T>();
}

extern "C" __global__ void __launch_bounds__(256) identity(T *out)
{
    lt_wait();
    for (i64 i = threadIdx.x; i < M * M; i += 256) out[i] = i / M == i % M ? (T)1 : (T)0;
}

/* Zeros above the diagonal, or NaN. */
extern "C" __global__ void __launch_bounds__(256) lower(T *out, const i32 *state)
{
    lt_wait();
    for (i64 i = threadIdx.x; i < M * M; i += 256)
        if (no_answer(state)) out[i] = nan_of<T>();
        else if (i % M > i / M) out[i] = (T)0;
}

/* From an LU factorisation: the product of the diagonal, or the sum of the logarithms. */
extern "C" __global__ void determinant(const T *lu, const i64 *pivot, T *out, const i32 *state)
{
    lt_wait();
    f64 det = 1, sum = 0;
    bool negative = false;
    for (i64 i = 0; i < M; i++) {
        f64 d = (f64)lu[i * M + i];
        sum += log(fabs(d));
        negative ^= (pivot[i] != i + 1) != (d < 0);
        det *= pivot[i] == i + 1 ? d : -d;
    }
    bool outside = state[1] || (POSITIVE && negative && sum > -1.7976931348623157e308);
    *out = outside ? nan_of<T>() : (T)(LOGARITHM ? sum : det);
}

/* NaN where a is symmetric and not positive definite, which its determinant need not show (decision 196). work: a copy to factor. */
extern "C" __global__ void __launch_bounds__(256) spoil_indefinite(const T *a, T *work, T *out)
{
    lt_wait();
    __shared__ int differs;
    if (threadIdx.x == 0) differs = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < M * M; i += 256) {
        work[i] = a[i];
        if (a[i] != a[i % M * M + i / M]) differs = 1;
    }
    __syncthreads();
    if (differs || !(*out >= (T)-1.7976931348623157e308 && *out == *out)) return; /* singular: the logarithm stays -inf */
    for (i64 k = 0; k < M; k++) {
        T pivot = work[k * M + k];
        if (!(pivot > 0)) {
            __syncthreads(); /* everyone has read *out */
            if (threadIdx.x == 0) *out = nan_of<T>();
            return;
        }
        for (i64 i = k + 1 + threadIdx.x; i < M; i += 256) {
            T f = work[i * M + k] / pivot;
            for (i64 j = k + 1; j <= i; j++) work[i * M + j] -= f * work[j * M + k];
        }
        __syncthreads();
    }
}

/* Interleaved eigenvalues as real parts, then imaginary parts. */
extern "C" __global__ void __launch_bounds__(256) split(const T *w, T *out, const i32 *state)
{
    lt_wait();
    for (i64 i = threadIdx.x; i < M; i += 256) {
        out[i] = no_answer(state) ? nan_of<T>() : w[2 * i];
        out[M + i] = no_answer(state) ? nan_of<T>() : w[2 * i + 1];
    }
}
