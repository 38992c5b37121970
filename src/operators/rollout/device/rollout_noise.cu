/* Noise of all realizations at steps t[0] …, as lt_noise_draw makes it: [M, count] each. Blocks stand side by side over the
   elements of a realization (x), over realizations (y) and over steps (z). SPDX-License-Identifier: BSD-3-Clause */

/* ---- White noise --------------------------------------------------------------------------------------- */

__device__ __forceinline__ i64 first_element() { return 4 * (blockIdx.x * (i64)blockDim.x + threadIdx.x); }

__device__ __forceinline__ f32 *noise_of(const lt_rollout_job &j, f32 *out) { return out + blockIdx.z * j.noise_step + blockIdx.y * j.noise_count; }

__device__ __forceinline__ words noise_words(const lt_rollout_job &j, u32 t, i64 block) { return philox(j.noise_key, (u32)block, t, blockIdx.y, j.index); }

extern "C" __global__ void noise_normal(const lt_rollout_job *job, const i64 *t, const f32 *scale, f32 *out)
{
    lt_wait();
    const i64 at = first_element(), n = job->noise_count;
    if (at >= n) return;
    const i64 step = t[blockIdx.z];
    quad q = normals(noise_words(*job, (u32)step, at / 4), scale[step]);
    if (job->shift)
        for (int k = 0; k < 4; k++) q.v[k] = add(q.v[k], 1.0f);
    store_quad(noise_of(*job, out), at, n, q);
}

extern "C" __global__ void noise_laplace(const lt_rollout_job *job, const i64 *t, const f32 *scale, f32 *out)
{
    lt_wait();
    const i64 at = first_element(), n = job->noise_count, step = t[blockIdx.z];
    if (at < n) store_quad(noise_of(*job, out), at, n, laplaces(noise_words(*job, (u32)step, at / 4), scale[step]));
}

/* Channels kept are divided by the probability of being kept. */
extern "C" __global__ void noise_dropout(const lt_rollout_job *job, const i64 *t, const f32 *scale, f32 *out)
{
    lt_wait();
    const i64 at = first_element(), n = job->noise_count;
    if (at >= n) return;
    const i64 step = t[blockIdx.z];
    const f32 drop = scale[step], kept = __fdiv_rn(1.0f, add(1.0f, -drop));
    quad q = uniforms(noise_words(*job, (u32)step, at / 4), 1.0f);
    for (int k = 0; k < 4; k++) q.v[k] = mul(add(q.v[k], 1.0f), 0.5f) < drop ? 0.0f : kept;
    store_quad(noise_of(*job, out), at, n, q);
}

/* Three planes of normals, mixed by a lower triangle: a quad of pixels where planes are whole quads, else one. */
__device__ __forceinline__ void mix(const f32 *l, f32 &a, f32 &b, f32 &c)
{
    f32 y = add(mul(l[3], a), mul(l[4], b)), z = add(add(mul(l[6], a), mul(l[7], b)), mul(l[8], c));
    a = mul(l[0], a);
    b = y;
    c = z;
}

extern "C" __global__ void noise_mixed(const lt_rollout_job *job, const i64 *t, const f32 *scale, f32 *out)
{
    lt_wait();
    const lt_rollout_job &j = *job;
    const i64 thread = first_element() / 4, pixels = j.pixels, step = t[blockIdx.z];
    f32 *to = noise_of(j, out);
    const f32 s = scale[step];
    if (pixels % 4 == 0) {
        if (4 * thread >= pixels) return;
        quad q[3];
        for (int c = 0; c < 3; c++) q[c] = normals(noise_words(j, (u32)step, (c * pixels) / 4 + thread), s);
        for (int k = 0; k < 4; k++) mix(j.mix, q[0].v[k], q[1].v[k], q[2].v[k]);
        for (int c = 0; c < 3; c++) store_quad(to + c * pixels, 4 * thread, pixels, q[c]);
    } else {
        if (thread >= pixels) return;
        f32 v[3];
        for (int c = 0; c < 3; c++) {
            i64 i = c * pixels + thread;
            v[c] = normals(noise_words(j, (u32)step, i / 4), s).v[i % 4];
        }
        mix(j.mix, v[0], v[1], v[2]);
        for (int c = 0; c < 3; c++) to[c * pixels + thread] = v[c];
    }
}

/* ---- Correlated noise ----------------------------------------------------------------------------------- */

/* Before smoothing: normals of unit scale. */
extern "C" __global__ void noise_unit(const lt_rollout_job *job, const i64 *t, const f32 *scale, f32 *out)
{
    lt_wait();
    const i64 at = first_element(), n = job->noise_count;
    if (at < n) store_quad(out + blockIdx.y * n, at, n, normals(noise_words(*job, (u32)*t, at / 4), 1.0f));
}

__device__ __forceinline__ f64 sum_of_block(f64 v)
{
    __shared__ f64 part[32];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    f64 sum = 0;
    for (int i = 0; i < (int)blockDim.x / 32; i++) sum += part[i];
    return sum;
}

/* Mean and squared distances to it of each plane, one block each: [planes, 2]. */
extern "C" __global__ void plane_moments(const lt_rollout_job *job, const f32 *x, f64 *moment)
{
    lt_wait();
    const i64 n = job->pixels;
    const f32 *plane = x + blockIdx.x * n;
    f64 sum = 0, square = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += plane[i];
    const f64 mean = sum_of_block(sum) / n;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) square += (plane[i] - mean) * (plane[i] - mean);
    square = sum_of_block(square);
    if (threadIdx.x == 0) moment[2 * blockIdx.x] = mean, moment[2 * blockIdx.x + 1] = square;
}

/* What a plane is multiplied with to have unit spread: its own, or that of all planes together. */
__device__ __forceinline__ f32 gain_of_plane(const lt_rollout_job &j, const f64 *moment, i64 plane)
{
    f64 count = (f64)j.pixels, square = moment[2 * plane + 1];
    if (j.whole_batch) {
        const i64 planes = j.realizations * j.channels;
        f64 mean = 0;
        square = 0;
        for (i64 p = 0; p < planes; p++) mean += moment[2 * p];
        mean /= planes;
        for (i64 p = 0; p < planes; p++) square += moment[2 * p + 1] + count * (moment[2 * p] - mean) * (moment[2 * p] - mean);
        count *= planes;
    }
    return (f32)(1 / (sqrt(square / (count > 1 ? count - 1 : 1)) + 1e-8));
}

/* Blocks over the pixels of a plane (x) and over planes (y). */
extern "C" __global__ void finish_correlated(const lt_rollout_job *job, const i64 *t, const f32 *scale, const f64 *moment, f32 *x)
{
    lt_wait();
    __shared__ f32 shared_gain;
    const lt_rollout_job &j = *job;
    const i64 plane = blockIdx.y, realization = plane / j.channels, first = plane % j.channels * j.pixels;
    if (threadIdx.x == 0) shared_gain = gain_of_plane(j, moment, plane);
    __syncthreads();
    const f32 gain = shared_gain, s = scale[*t];
    i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (i >= j.pixels) return;
    f32 v = mul(x[plane * j.pixels + i], gain);
    i += first;
    if (j.laplace && philox(j.sign_key, (u32)(i / 4), (u32)*t, (u32)realization, j.index).w[i % 4] < 0x80000000u) v = -v;
    x[plane * j.pixels + i - first] = add(mul(v, s), j.shift ? 1.0f : 0.0f);
}
