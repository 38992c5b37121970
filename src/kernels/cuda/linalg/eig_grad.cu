/* EIG_GRAD: eigenvectors that some seed weighs, by inverse iteration on the Hessenberg form.
   SPDX-License-Identifier: BSD-3-Clause

   M = Q H Q', Q a product of reflections I - v v'. With M r = lambda r and l' M = lambda l' (nothing conjugated)
   and l' r = 1, d lambda / dM = l r'. All arithmetic in double precision, whatever T is: one block does one matrix,
   or one eigenvalue. N: rows; MATRICES; SEEDS: seed s belongs to matrix s % MATRICES; THREADS per block. */
struct complex128 { f64 re, im; };

inline complex128 operator-(complex128 a, complex128 b) { return { a.re - b.re, a.im - b.im }; }
inline complex128 operator*(complex128 a, complex128 b) { return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re }; }
inline f64 magnitude(complex128 a) { return hypot(a.re, a.im); }
/* Smith's division: no square of a large or small part. */
inline complex128 operator/(complex128 a, complex128 b)
{
    if (fabs(b.re) >= fabs(b.im)) {
        f64 r = b.im / b.re, d = b.re + b.im * r;
        return { (a.re + a.im * r) / d, (a.im - a.re * r) / d };
    }
    f64 r = b.re / b.im, d = b.im + b.re * r;
    return { (a.re * r + a.im) / d, (a.im * r - a.re) / d };
}

/* The sum over the block, for every thread; always in the same order. */
inline complex128 sum_of_block(complex128 x, complex128 *shared)
{
    __syncthreads();
    shared[threadIdx.x] = x;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) {
            shared[threadIdx.x].re += shared[threadIdx.x + s].re;
            shared[threadIdx.x].im += shared[threadIdx.x + s].im;
        }
        __syncthreads();
    }
    return shared[0];
}

/* h = the Hessenberg form of m; row j of v is the reflection that cleared column j, zero up to j. */
extern "C" __global__ void __launch_bounds__(THREADS) hessenberg(const T *m, f64 *h, f64 *v)
{
    lt_wait();
    __shared__ complex128 shared[THREADS];
    m += blockIdx.x * (i64)(N * N), h += blockIdx.x * (i64)(N * N), v += blockIdx.x * (i64)(N * N);
    for (i64 i = threadIdx.x; i < N * N; i += THREADS) h[i] = widen<f64>(m[i]), v[i] = 0;
    __syncthreads();
    for (i64 j = 0; j + 2 < N; j++) {
        f64 *u = v + j * N, tail = 0;
        for (i64 i = j + 2 + threadIdx.x; i < N; i += THREADS) tail += h[i * N + j] * h[i * N + j];
        tail = sum_of_block({ tail, 0 }, shared).re;
        if (tail == 0) continue;
        f64 head = h[(j + 1) * N + j], norm = sqrt(head * head + tail);
        head += copysign(norm, head);
        f64 scale = sqrt(2 / (head * head + tail));
        for (i64 i = j + 1 + threadIdx.x; i < N; i += THREADS) u[i] = scale * (i == j + 1 ? head : h[i * N + j]);
        __syncthreads();
        for (i64 c = j + threadIdx.x; c < N; c += THREADS) { /* from the left */
            f64 dot = 0;
            for (i64 i = j + 1; i < N; i++) dot += u[i] * h[i * N + c];
            for (i64 i = j + 1; i < N; i++) h[i * N + c] -= dot * u[i];
        }
        __syncthreads();
        for (i64 r = threadIdx.x; r < N; r += THREADS) { /* from the right */
            f64 dot = 0;
            for (i64 i = j + 1; i < N; i++) dot += h[r * N + i] * u[i];
            for (i64 i = j + 1; i < N; i++) h[r * N + i] -= dot * u[i];
        }
        __syncthreads();
        for (i64 i = j + 2 + threadIdx.x; i < N; i += THREADS) h[i * N + j] = 0;
        __syncthreads();
    }
}

/* lu = the factors of h - lambda I with neighbouring rows exchanged where swapped says so; multipliers lie below the
   diagonal. Pivots below `tiny` become it: that is what makes inverse iteration work on a matrix singular on purpose. */
inline void factor(const f64 *h, complex128 lambda, f64 tiny, complex128 *lu, i32 *swapped)
{
    for (i64 i = threadIdx.x; i < N * N; i += THREADS)
        lu[i] = i / N == i % N ? complex128{ h[i], 0 } - lambda : complex128{ h[i], 0 };
    __syncthreads();
    for (i64 j = 0; j + 1 < N; j++) {
        complex128 p = lu[j * N + j], q = lu[(j + 1) * N + j];
        bool swap = magnitude(q) > magnitude(p);
        complex128 pivot = swap ? q : p, f = swap ? p : q;
        if (magnitude(pivot) < tiny) pivot = { tiny, 0 };
        f = f / pivot;
        __syncthreads();
        for (i64 c = j + 1 + threadIdx.x; c < N; c += THREADS) {
            complex128 x = lu[(swap ? j + 1 : j) * N + c], y = lu[(swap ? j : j + 1) * N + c];
            lu[j * N + c] = x;
            lu[(j + 1) * N + c] = y - f * x;
        }
        if (threadIdx.x == 0) lu[j * N + j] = pivot, lu[(j + 1) * N + j] = f, swapped[j] = swap;
        __syncthreads();
    }
    if (threadIdx.x == 0 && magnitude(lu[N * N - 1]) < tiny) lu[N * N - 1] = { tiny, 0 };
    __syncthreads();
}

inline void exchange(complex128 *x, i64 i)
{
    complex128 t = x[i];
    x[i] = x[i + 1];
    x[i + 1] = t;
}

/* x <- (h - lambda I)^-1 x */
inline void solve(const complex128 *lu, const i32 *swapped, complex128 *x)
{
    for (i64 j = 0; threadIdx.x == 0 && j + 1 < N; j++) {
        if (swapped[j]) exchange(x, j);
        x[j + 1] = x[j + 1] - lu[(j + 1) * N + j] * x[j];
    }
    __syncthreads();
    for (i64 j = N - 1; j >= 0; j--) {
        complex128 z = x[j] / lu[j * N + j];
        __syncthreads();
        for (i64 i = threadIdx.x; i < j; i += THREADS) x[i] = x[i] - lu[i * N + j] * z;
        if (threadIdx.x == 0) x[j] = z;
        __syncthreads();
    }
}

/* x <- (h - lambda I)^-T x */
inline void solve_transposed(const complex128 *lu, const i32 *swapped, complex128 *x)
{
    for (i64 j = 0; j < N; j++) {
        complex128 z = x[j] / lu[j * N + j];
        __syncthreads();
        for (i64 i = j + 1 + threadIdx.x; i < N; i += THREADS) x[i] = x[i] - lu[j * N + i] * z;
        if (threadIdx.x == 0) x[j] = z;
        __syncthreads();
    }
    for (i64 j = N - 2; threadIdx.x == 0 && j >= 0; j--) {
        x[j] = x[j] - lu[(j + 1) * N + j] * x[j + 1];
        if (swapped[j]) exchange(x, j);
    }
    __syncthreads();
}

/* The vector of h, then of m: x with (h - lambda I) x ~ 0, or its transpose. The start has no special direction, so
   that it is not orthogonal to the answer by construction. */
inline void find_vector(const complex128 *lu, const i32 *swapped, const f64 *v, bool transposed, complex128 *x, complex128 *shared)
{
    for (i64 i = threadIdx.x; i < N; i += THREADS) x[i] = { 1 + 0.1 * cos(1.7 * (f64)i), 0.1 * sin(2.3 * (f64)i) };
    __syncthreads();
    for (int iteration = 0; iteration < 4; iteration++) {
        if (transposed) solve_transposed(lu, swapped, x);
        else solve(lu, swapped, x);
        f64 square = 0;
        for (i64 i = threadIdx.x; i < N; i += THREADS) square += x[i].re * x[i].re + x[i].im * x[i].im;
        f64 norm = sqrt(sum_of_block({ square, 0 }, shared).re);
        for (i64 i = threadIdx.x; i < N; i += THREADS) x[i].re /= norm, x[i].im /= norm;
        __syncthreads();
    }
    for (i64 j = N - 3; j >= 0; j--) {
        const f64 *u = v + j * N;
        complex128 dot = { 0, 0 };
        for (i64 i = threadIdx.x; i < N; i += THREADS) dot.re += u[i] * x[i].re, dot.im += u[i] * x[i].im;
        dot = sum_of_block(dot, shared);
        for (i64 i = threadIdx.x; i < N; i += THREADS) x[i].re -= dot.re * u[i], x[i].im -= dot.im * u[i];
        __syncthreads();
    }
}

inline bool is_weighed(const T *g, i64 seed, i64 i)
{
    return widen<f64>(g[seed * 2 * N + i]) != 0 || widen<f64>(g[seed * 2 * N + N + i]) != 0;
}

/* right and left vectors of every eigenvalue that some seed weighs; used says which. */
extern "C" __global__ void __launch_bounds__(THREADS) vectors(const T *w, const T *g, const f64 *h, const f64 *v, complex128 *lu, i32 *swapped,
                                                              complex128 *right, complex128 *left, i32 *used)
{
    lt_wait();
    __shared__ complex128 shared[THREADS];
    lu += blockIdx.x * (i64)(N * N), swapped += blockIdx.x * (i64)N;
    for (i64 item = blockIdx.x; item < MATRICES * N; item += gridDim.x) {
        i64 b = item / N, i = item % N;
        const f64 *hb = h + b * N * N, *vb = v + b * N * N;
        complex128 *r = right + item * N, *l = left + item * N, dot = { 0, 0 };
        int wanted = 0;
        for (i64 s = b + threadIdx.x * MATRICES; s < SEEDS; s += THREADS * MATRICES) wanted |= is_weighed(g, s, i);
        wanted = __syncthreads_or(wanted);
        if (threadIdx.x == 0) used[item] = wanted;
        if (!wanted) continue;
        f64 square = 0;
        for (i64 e = threadIdx.x; e < N * N; e += THREADS) square += hb[e] * hb[e];
        f64 tiny = fmax(2.220446049250313e-16 * sqrt(sum_of_block({ square, 0 }, shared).re), 2.2250738585072014e-308);
        factor(hb, { widen<f64>(w[b * 2 * N + i]), widen<f64>(w[b * 2 * N + N + i]) }, tiny, lu, swapped);
        find_vector(lu, swapped, vb, false, r, shared);
        find_vector(lu, swapped, vb, true, l, shared);
        for (i64 e = threadIdx.x; e < N; e += THREADS) {
            complex128 p = l[e] * r[e];
            dot.re += p.re, dot.im += p.im;
        }
        dot = sum_of_block(dot, shared);
        for (i64 e = threadIdx.x; e < N; e += THREADS) l[e] = l[e] / dot;
        __syncthreads();
    }
}

/* out[s] = the sum over eigenvalues of g_re Re(l r') + g_im Im(l r'). */
extern "C" __global__ void __launch_bounds__(THREADS) gather(const T *g, const complex128 *right, const complex128 *left, const i32 *used, T *out)
{
    lt_wait();
    i64 e = blockIdx.x * (i64)THREADS + threadIdx.x;
    if (e >= SEEDS * N * N) return;
    i64 s = e / (N * N), row = e / N % N, column = e % N, b = s % MATRICES;
    f64 sum = 0;
    for (i64 i = 0; i < N; i++) {
        if (!used[b * N + i] || !is_weighed(g, s, i)) continue;
        complex128 d = left[(b * N + i) * N + row] * right[(b * N + i) * N + column];
        sum += widen<f64>(g[s * 2 * N + i]) * d.re + widen<f64>(g[s * 2 * N + N + i]) * d.im;
    }
    narrow(sum, out[e]);
}
