/* States of a rollout: the first one, what ends a step, and the weights of its operator.
   SPDX-License-Identifier: BSD-3-Clause */

enum { THREADS = 1024, POST_MINMAX = 1, POST_ZSCORE = 2 };

/* The field to all realizations; nothing has failed; steps[j] of a sequence are 1 + j, and behind them 0. */
extern "C" __global__ void begin_run(const lt_rollout_job *job, const f32 *field, f32 *state, i64 *failed, i64 *steps)
{
    lt_wait();
    const lt_rollout_job &j = *job;
    const i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i < j.realizations * j.field) state[i] = field[i % j.field];
    if (i < j.realizations) failed[i] = -1;
    if (i <= j.steps_per_launch) steps[i] = i < j.steps_per_launch ? 1 + i : 0;
}

/* Behind a sequence: its steps are those of the next one. */
extern "C" __global__ void advance(const lt_rollout_job *job, i64 *steps)
{
    lt_wait();
    for (i64 i = threadIdx.x; i < job->steps_per_launch; i += blockDim.x) steps[i] += job->steps_per_launch;
}

/* ---- Folds over a block; every thread gets the result ---- */
template <class T, class F> __device__ __forceinline__ T fold_block(T v, F fold)
{
    __shared__ T part[THREADS / 32];
    for (int d = 16; d; d /= 2) v = fold(v, __shfl_xor_sync(~0u, v, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int i = 1; i < THREADS / 32; i++) v = fold(v, part[i]);
    return v;
}

__device__ __forceinline__ bool all_finite(const f32 *x, i64 n)
{
    u32 worst = 0;
    if (n % 4 == 0 && (u64)x % 16 == 0) {
        #pragma unroll 4
        for (i64 i = threadIdx.x; i < n / 4; i += THREADS) {
            uint4 u = ((const uint4 *)x)[i];
            u32 a = max(u.x & 0x7fffffffu, u.y & 0x7fffffffu), b = max(u.z & 0x7fffffffu, u.w & 0x7fffffffu);
            worst = max(worst, max(a, b));
        }
    } else {
        for (i64 i = threadIdx.x; i < n; i += THREADS) worst = max(worst, __float_as_uint(x[i]) & 0x7fffffffu);
    }
    return !__syncthreads_or(worst >= 0x7f800000u);
}

__device__ __forceinline__ void minmax(f32 *x, i64 n)
{
    f32 lo = x[0], hi = x[0];
    for (i64 i = threadIdx.x; i < n; i += THREADS) lo = fminf(lo, x[i]), hi = fmaxf(hi, x[i]);
    lo = fold_block(lo, [](f32 a, f32 b) { return fminf(a, b); });
    hi = fold_block(hi, [](f32 a, f32 b) { return fmaxf(a, b); });
    const f32 range = hi - lo;
    if (range > 1e-8f)
        for (i64 i = threadIdx.x; i < n; i += THREADS) x[i] = __fdiv_rn(x[i] - lo, range);
}

__device__ __forceinline__ void zscore(f32 *x, i64 n)
{
    auto plus = [](f64 a, f64 b) { return a + b; };
    f64 sum = 0, square = 0;
    for (i64 i = threadIdx.x; i < n; i += THREADS) sum += x[i];
    const f64 mean = fold_block(sum, plus) / n;
    for (i64 i = threadIdx.x; i < n; i += THREADS) square += (x[i] - mean) * (x[i] - mean);
    const f64 spread = sqrt(fold_block(square, plus) / (n > 1 ? n - 1 : 1)) + 1e-8;
    for (i64 i = threadIdx.x; i < n; i += THREADS) x[i] = (f32)((x[i] - mean) / spread);
}

/* Behind every step, one block for each realization: one that is not finite is over, others are post-processed. */
extern "C" __global__ void __launch_bounds__(THREADS) settle(const lt_rollout_job *job, const i64 *t, f32 *state, i64 *failed)
{
    lt_wait();
    const lt_rollout_job &j = *job;
    const i64 n = j.field;
    f32 *x = state + blockIdx.x * n;
    const bool over = failed[blockIdx.x] >= 0;
    if (over || !all_finite(x, n)) {
        if (!over && threadIdx.x == 0) failed[blockIdx.x] = *t;
        for (i64 i = threadIdx.x; i < n; i += THREADS) x[i] = __uint_as_float(0x7fc00000u);
        return;
    }
    if (j.post == POST_MINMAX) minmax(x, n);
    if (j.post == POST_ZSCORE) zscore(x, n);
    if (!j.clamp) return;
    for (i64 i = threadIdx.x; i < n; i += THREADS) x[i] = x[i] < j.clamp_lo ? j.clamp_lo : x[i] > j.clamp_hi ? j.clamp_hi : x[i];
}

/* ---- Weights --------------------------------------------------------------------------------------------- */
enum { INIT_UNIFORM, INIT_NORMAL, INIT_ONE, INIT_ZERO };


/* Four elements of one tensor a thread; tensors begin at multiples of 16 elements, so the last quad has room. */
extern "C" __global__ void draw_weights(const lt_rollout_job *job, const lt_drawn_tensor *tensor, f32 *block)
{
    lt_wait();
    const lt_rollout_job &j = *job;
    const i64 thread = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    i64 lo = 0, hi = j.n_tensors; /* tensor[n_tensors].first_quad: all quads */
    if (thread >= tensor[hi].first_quad) return;
    while (hi - lo > 1) {
        i64 middle = (lo + hi) / 2;
        if (tensor[middle].first_quad <= thread) lo = middle;
        else hi = middle;
    }
    const lt_drawn_tensor &d = tensor[lo];
    const i64 at = thread - d.first_quad;
    quad q;
    if (d.init >= INIT_ONE) {
        for (int k = 0; k < 4; k++) q.v[k] = d.init == INIT_ONE ? 1.0f : 0.0f;
    } else {
        words c = philox(j.weight_key, (u32)at, (u32)lo, j.index, j.index_high);
        q = d.init == INIT_UNIFORM ? uniforms(c, d.scale) : normals(c, d.scale);
    }
    store_quad(block + d.offset, 4 * at, 4 * at + 4, q);
}
