/* ARGMAX, ARGMIN, CUMSUM, TOPK_INDEX, TAKE, PUT and their relatives along the last axis.
   SPDX-License-Identifier: BSD-3-Clause

   Tensors are [BEFORE, ALONG, AFTER] around the axis. Values compare as doubles, NaN comes first. */
inline bool comes_before(f64 a, i64 ia, f64 b, i64 ib)
{
    if (ia < 0 || ib < 0) return ib < 0 && ia >= 0; /* -1: none */
    if (a != a || b != b) return a != a && (b == b || ia < ib);
    return a > b || (a == b && ia < ib);
}

/* The first of what `lanes` neighbouring threads found, in the slot of their first; every thread of the block calls it. */
inline void fold_best(f64 *value, i64 *place, int lane, int lanes, f64 best, i64 at)
{
    const int own = threadIdx.x;
    value[own] = best;
    place[own] = at;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
        if (lane < half && comes_before(value[own + half], place[own + half], value[own], place[own])) {
            value[own] = value[own + half];
            place[own] = place[own + half];
        }
        __syncthreads();
    }
}

#ifdef ARG
/* LANES threads share one result; pairs fold in shared memory. */
extern "C" __global__ void __launch_bounds__(256) arg(const T *x, i64 *out)
{
    lt_wait();
    __shared__ f64 value[256];
    __shared__ i64 place[256];
    const int lane = threadIdx.x % LANES;
    const i64 r = (i64)blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    f64 best = 0;
    i64 at = -1;
    if (r < BEFORE * AFTER)
        for (i64 i = lane; i < ALONG; i += LANES) {
            f64 v = SIGN * widen<f64>(x[(r / AFTER * ALONG + i) * AFTER + r % AFTER]);
            if (comes_before(v, i, best, at)) best = v, at = i;
        }
    fold_best(value, place, lane, LANES, best, at);
    if (lane == 0 && r < BEFORE * AFTER) out[r] = place[threadIdx.x];
}
#endif

#ifdef CUMSUM
/* LANES threads share one line, each a run of it: sums of runs, then the line again. */
extern "C" __global__ void __launch_bounds__(256) cumsum(const T *x, T *out)
{
    lt_wait();
    __shared__ f64 total[256];
    const int lane = threadIdx.x % LANES, first = threadIdx.x - lane;
    const i64 r = (i64)blockIdx.x * (256 / LANES) + threadIdx.x / LANES, run = (ALONG + LANES - 1) / LANES;
    const i64 begin = lane * run, end = begin + run < ALONG ? begin + run : ALONG;
    const i64 base = r / AFTER * ALONG * AFTER + r % AFTER;
    f64 sum = 0;
    if (r < BEFORE * AFTER && LANES > 1)
        for (i64 i = begin; i < end; i++) sum += widen<f64>(x[base + (REVERSE ? ALONG - 1 - i : i) * AFTER]);
    total[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = first; i < first + lane; i++) sum += total[i];
    if (r < BEFORE * AFTER)
        for (i64 i = begin; i < end; i++) {
            i64 at = base + (REVERSE ? ALONG - 1 - i : i) * AFTER;
            sum += widen<f64>(x[at]);
            narrow(sum, out[at]);
        }
}
#endif

#ifdef TOPK
/* One block per row: K rounds, each finds the best entry after the last one. */
extern "C" __global__ void __launch_bounds__(256) topk(const T *x, i64 *out)
{
    lt_wait();
    __shared__ f64 value[256];
    __shared__ i64 place[256];
    const T *row = x + (i64)blockIdx.x * ALONG;
    f64 last_value = 0;
    i64 last = -1;
    for (i64 k = 0; k < K; k++) {
        f64 best = 0;
        i64 at = -1;
        for (i64 i = threadIdx.x; i < ALONG; i += 256) {
            f64 v = widen<f64>(row[i]);
            if (last >= 0 && !comes_before(last_value, last, v, i)) continue;
            if (comes_before(v, i, best, at)) best = v, at = i;
        }
        fold_best(value, place, threadIdx.x, 256, best, at);
        last = place[0];
        last_value = value[0];
        if (threadIdx.x == 0) out[(i64)blockIdx.x * K + k] = last;
        __syncthreads();
    }
}
#endif

/* Negative indices count from the end. One that is out of range is noted, and 0 is used. */
inline i64 checked(i64 i, i64 extent, i64 *fault)
{
    if (i >= -extent && i < extent) return i < 0 ? i + extent : i;
    fault[1] = i;
    fault[2] = extent;
    __threadfence_system();
    fault[0] = 1; /* LT_CUDA_FAULT_INDEX */
    return 0;
}

#ifdef TAKE
extern "C" __global__ void __launch_bounds__(256) take(const T *x, const i64 *index, T *out, i64 *fault)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= COUNT) return;
    i64 a = o % AFTER, i = o / AFTER % N_INDEX, b = o / AFTER / N_INDEX;
    out[o] = x[(b * ALONG + checked(index[i], ALONG, fault)) * AFTER + a];
}
#endif

#if defined(PUT) || defined(PUT_ALONG)
/* Element e of a line: the sum of what falls on it, in the order of the indices, so that the bits are the same every time. */
inline f64 sum_at(i64 e, const T *g, i64 step, const i64 *index, i64 *fault)
{
    f64 sum = 0;
    for (i64 i = 0; i < N_INDEX; i++)
        if (checked(index[i], ALONG, fault) == e) sum += widen<f64>(g[i * step]);
    return sum;
}
#endif

#ifdef PUT
extern "C" __global__ void __launch_bounds__(256) put(const T *g, const i64 *index, T *out, i64 *fault)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= COUNT) return;
    i64 a = o % AFTER, e = o / AFTER % ALONG, b = o / AFTER / ALONG;
    narrow(sum_at(e, g + b * N_INDEX * AFTER + a, AFTER, index, fault), out[o]);
}
#endif

#ifdef TAKE_ALONG
extern "C" __global__ void __launch_bounds__(256) take_along(const T *x, const i64 *index, T *out, i64 *fault)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= COUNT) return;
    i64 row = o / N_INDEX, i = o % N_INDEX;
    out[o] = x[row * ALONG + checked(index[index_row(row) * N_INDEX + i], ALONG, fault)];
}
#endif

#ifdef PUT_ALONG
extern "C" __global__ void __launch_bounds__(256) put_along(const T *g, const i64 *index, T *out, i64 *fault)
{
    lt_wait();
    i64 o = (i64)blockIdx.x * 256 + threadIdx.x;
    if (o >= COUNT) return;
    i64 row = o / ALONG, e = o % ALONG;
    narrow(sum_at(e, g + row * N_INDEX, 1, index + index_row(row) * N_INDEX, fault), out[o]);
}
#endif
