// H on the device: products with several vectors, its update, and the two passes of limited memory.
// SPDX-License-Identifier: BSD-3-Clause
//
// Rows are `stride` numbers apart, a multiple of 8, and zero behind the last variable, so that all loads are pairs.
// Sizes come through memory: one text serves every problem. Sums have a fixed order: bits repeat.

typedef long long i64;
typedef lt_hessian_sizes sizes; // hessian_job.h stands before this text

// The kernel may have been started before the one it follows ended: what that one writes is in memory from here on.
static __device__ void wait_for_those_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// An H that fills the cache would push out what the functions need in it, which run hundreds of small kernels: such an H
// passes through.
static __device__ bool passes_through(const sizes *z) { return !z->pairs && z->n * z->stride > (1 << 20); }
static __device__ double2 load(const double2 *p, bool through) { return through ? __ldcs(p) : *p; }
static __device__ void store(double2 *p, double2 v, bool through)
{
    if (through) __stcs(p, v);
    else *p = v;
}

static __device__ double warp_sum(double v)
{
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

static __device__ double dot2(double2 a, double2 b) { return a.x * b.x + a.y * b.y; }

// ---- full memory ----------------------------------------------------------------------------------------------------
// to[c][row] = what the lanes of a warp have of it.
template <int C> static __device__ void write_row(const double (&sum)[C], i64 row, double *const (&to)[C])
{
#pragma unroll
    for (int c = 0; c < C; c++) {
        const double total = warp_sum(sum[c]);
        if (threadIdx.x % 32 == 0) to[c][row] = total;
    }
}

// Where products go: addresses, which lie in memory, since a recorded sequence serves all destinations.
template <int C> static __device__ void find_targets(double *const *targets, double *(&to)[C])
{
#pragma unroll
    for (int c = 0; c < C; c++) to[c] = targets[c];
}

// Loads of H asked for at once, and before those of the last time are used: stores in between would make each wait for the one before.
enum { BATCH = 2 };

static __device__ void ask_for_row(const double2 *h, i64 first, i64 half, bool through, double2 (&v)[BATCH])
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) v[k] = first + 32 * k < half ? load(h + first + 32 * k, through) : make_double2(0, 0);
}

static __device__ void take_over(double2 (&v)[BATCH], const double2 (&from)[BATCH])
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) v[k] = from[k];
}

// sum[c] += v times entries j of b[c].
template <int C> static __device__ void add_products(double2 v, const double2 *x, i64 half, i64 j, double (&sum)[C])
{
#pragma unroll
    for (int c = 0; c < C; c++) sum[c] += dot2(v, x[c * half + j]);
}

// targets[c] = H b[c]: one warp per row, which is read once for all C vectors.
template <int C> static __device__ void multiply(const sizes *z, const double *H, const double *b, double *const *targets)
{
    const i64 n = z->n, stride = z->stride, half = stride / 2, row = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const bool through = passes_through(z);
    wait_for_those_before();
    if (row >= n) return;
    const double2 *h = (const double2 *)(H + row * stride), *__restrict__ x = (const double2 *)b;
    double2 v[BATCH], next[BATCH];
    double sum[C] = { }, *to[C];
    ask_for_row(h, lane, half, through, v);
    find_targets(targets, to);
    for (i64 first = lane; first < half; first += 32 * BATCH) {
        ask_for_row(h, first + 32 * BATCH, half, through, next);
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (first + 32 * k < half) add_products<C>(v[k], x, half, first + 32 * k, sum);
        take_over(v, next);
    }
    write_row<C>(sum, row, to);
}

// H = scale times the identity; rows are zero behind the last variable, too.
extern "C" __global__ void identity(const sizes *z, const double *scale, double *H)
{
    const i64 row = blockIdx.x;
    wait_for_those_before();
    for (i64 j = threadIdx.x; j < z->stride; j += blockDim.x) H[row * z->stride + j] = j == row ? scale[0] : 0;
}

// H = gamma H + s w' + w s'; step holds s, w, gamma. The two products commute exactly: H stays symmetric to the bit.
extern "C" __global__ void rank2(const sizes *z, const double *step, double *H)
{
    const i64 row = blockIdx.x, half = z->stride / 2;
    const bool through = passes_through(z);
    wait_for_those_before();
    const double2 *s = (const double2 *)step, *w = (const double2 *)(step + z->stride);
    const double si = step[row], wi = step[z->stride + row], gamma = step[2 * z->stride];
    double2 *h = (double2 *)(H + row * z->stride);
    for (i64 j = threadIdx.x; j < half; j += blockDim.x) {
        double2 v = load(h + j, through);
        v.x = gamma * v.x + (si * w[j].x + wi * s[j].x);
        v.y = gamma * v.y + (si * w[j].y + wi * s[j].y);
        store(h + j, v, through);
    }
}

// Both in one pass: H is updated as rank2 does, and what is written is multiplied as multiply does.
template <int C> static __device__ void change(const sizes *z, const double *step, double *H, const double *b, double *const *targets)
{
    const i64 n = z->n, stride = z->stride, half = stride / 2, row = (i64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const bool through = passes_through(z);
    wait_for_those_before();
    if (row >= n) return;
    const double2 *__restrict__ s = (const double2 *)step, *__restrict__ w = (const double2 *)(step + stride), *__restrict__ x = (const double2 *)b;
    double2 *h = (double2 *)(H + row * stride), v[BATCH], next[BATCH];
    double sum[C] = { }, *to[C];
    ask_for_row(h, lane, half, through, v);
    find_targets(targets, to);
    const double si = step[row], wi = step[stride + row], gamma = step[2 * stride];
    for (i64 first = lane; first < half; first += 32 * BATCH) {
        ask_for_row(h, first + 32 * BATCH, half, through, next);
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const i64 j = first + 32 * k;
            if (j >= half) break;
            const double2 sj = s[j], wj = w[j];
            v[k].x = gamma * v[k].x + (si * wj.x + wi * sj.x);
            v[k].y = gamma * v[k].y + (si * wj.y + wi * sj.y);
            add_products<C>(v[k], x, half, j, sum);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (first + 32 * k < half) store(h + first + 32 * k, v[k], through);
        take_over(v, next);
    }
    write_row<C>(sum, row, to);
}

// ---- limited memory ------------------------------------------------------------------------------------------------
// P holds the rows s, then the rows y.

// part[c, row, chunk] = the chunk's share of row times b[c]; pair[row, chunk] the same of row times the newest y.
template <int C> static __device__ void dots(const sizes *z, const double *P, const double *head, const double *b, double *pair, double *part)
{
    enum { AT_ONCE = C <= 2 ? 8 : C <= 4 ? 4 : 2 }; // loads asked for before the first is used
    const int pairs = (int)z->pairs, rows = 2 * pairs, chunks = (int)z->chunks, row = blockIdx.x % rows, chunk = blockIdx.x / rows;
    const i64 stride = z->stride, half = stride / 2, first = chunk * (z->chunk / 2), last = min(first + z->chunk / 2, half);
    wait_for_those_before();
    const double newest = head[LT_HEAD_NEWEST], rho = head[LT_HEAD_RHO];
    if (row % pairs >= (int)head[LT_HEAD_USED]) return;
    const double2 *p = (const double2 *)(P + row * stride), *x = (const double2 *)b, *y = (const double2 *)(P + (pairs + (i64)newest) * stride);
    double sum[C + 1] = { };
    for (i64 start = first + threadIdx.x; start < last; start += AT_ONCE * blockDim.x) {
        double2 v[AT_ONCE], w[C + 1][AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const i64 j = start + k * blockDim.x;
            v[k] = j < last ? p[j] : make_double2(0, 0);
#pragma unroll
            for (int c = 0; c < C; c++) w[c][k] = j < last ? x[c * half + j] : make_double2(0, 0);
            w[C][k] = j < last ? y[j] : make_double2(0, 0); // for nothing without a new pair; a condition would part the loads
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
            for (int c = 0; c <= C; c++) sum[c] += dot2(v[k], w[c][k]); // behind the last: zeros
    }
    __shared__ double share[C + 1][32];
#pragma unroll
    for (int c = 0; c <= C; c++) {
        const double total = warp_sum(sum[c]);
        if (threadIdx.x % 32 == 0) share[c][threadIdx.x / 32] = total;
    }
    __syncthreads();
    if (threadIdx.x > C) return;
    double total = 0;
    for (int i = 0; i < blockDim.x / 32; i++) total += share[threadIdx.x][i];
    if (threadIdx.x < C) part[((i64)threadIdx.x * rows + row) * chunks + chunk] = total;
    else if (rho != 0) pair[(i64)row * chunks + chunk] = total;
}

// sum[i] = the chunks' shares of a row of s and one of y, side by side: of the right-hand side, and of the newest y.
static __device__ void fold(const double *part, const double *pair, int chunks, int row_s, int row_y, double (&sum)[4])
{
    const double *from[] = { part + (i64)row_s * chunks, part + (i64)row_y * chunks, pair + (i64)row_s * chunks, pair + (i64)row_y * chunks };
#pragma unroll 4
    for (int i = 0; i < chunks; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) sum[k] += from[k][i];
}

static __device__ int slot_of_age(int newest, int pairs, int age) { return newest >= age ? newest - age : newest - age + pairs; }

// Loads are asked for some steps ahead, and those of the next steps before these are taken: a step takes less than a load.
enum { AHEAD = 8 };

// v[k] = entry `me` of the row of t that belongs to age first + k step, for ages between `from` and `to`.
static __device__ void ask(const double *t, int newest, int pairs, int me, int first, int step, int from, int to, double (&v)[AHEAD])
{
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const int age = first + k * step;
        v[k] = age >= from && age < to ? t[(i64)slot_of_age(newest, pairs, age) * pairs + me] : 0;
    }
}

static __device__ void take_over(double (&v)[AHEAD], const double (&from)[AHEAD])
{
#pragma unroll
    for (int k = 0; k < AHEAD; k++) v[k] = from[k];
}

// One pair's share of the two loops. sb and yq are s'b and y'b at first; `own` is its 1 / s'y.
struct pair_share { int age; bool mine; double own, sb, yq; };

// Each thread has its turn once: what it has then, all get. A warp needs no barrier for that; a block has it in shared memory, where it stays.
template <bool ONE_WARP> static __device__ double at_its_turn(double value, bool mine, int slot, double *share)
{
    if (ONE_WARP) return __shfl_sync(0xffffffffu, value, slot);
    if (mine) share[threadIdx.x] = value;
    __syncthreads();
    return share[slot];
}

template <bool ONE_WARP> static __device__ void two_loops(const double *sy, const double *ys, const double *yy, int newest, int pairs, int used, double gamma, pair_share p,
                                                          double *factor)
{
    enum { MOST = 1024 };
    __shared__ double alphas[MOST], betas[MOST];
    const int me = threadIdx.x;
    double now[AHEAD], then[AHEAD];
    ask(ys, newest, pairs, me, 0, 1, 0, p.mine ? p.age : 0, now);
    for (int first = 0; first < used; first += AHEAD) { // newest to oldest
        ask(ys, newest, pairs, me, first + AHEAD, 1, 0, p.mine ? p.age : 0, then);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int age = first + k;
            if (age >= used) break;
            const double alpha = at_its_turn<ONE_WARP>(p.own * p.sb, p.age == age, slot_of_age(newest, pairs, age), alphas);
            if (age < p.age && p.mine) p.sb -= alpha * now[k];
        }
        take_over(now, then);
    }
    const double alpha = p.own * p.sb;
#pragma unroll 8
    for (int j = 0; j < used; j++) {
        const double other = ONE_WARP ? __shfl_sync(0xffffffffu, alpha, j) : alphas[j];
        if (p.mine) p.yq -= other * yy[(i64)j * pairs + me];
    }
    p.yq *= gamma;
    ask(sy, newest, pairs, me, used - 1, -1, p.age + 1, used, now);
    for (int first = used - 1; first >= 0; first -= AHEAD) { // oldest to newest
        ask(sy, newest, pairs, me, first - AHEAD, -1, p.age + 1, used, then);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int age = first - k;
            if (age < 0) break;
            const double beta = at_its_turn<ONE_WARP>(alpha - p.own * p.yq, p.age == age, slot_of_age(newest, pairs, age), betas);
            if (age > p.age) p.yq += beta * now[k];
        }
        take_over(now, then);
    }
    if (!p.mine) return;
    factor[me] = alpha - p.own * p.yq;
    factor[pairs + me] = -gamma * alpha;
}

// What rows are multiplied by in H b: the two loops on inner products, a block for each column, a thread for each pair.
// table: s_i'y_j by i, the same by j, y_i'y_j, rho. Products of a pair that is new are entered first, by every block: the same
// bits. Each sum is made in one order.
extern "C" __global__ void __launch_bounds__(1024) loops(const sizes *z, const double *head, const double *pair, const double *part, double *table,
                                                         double *factor)
{
    const int pairs = (int)z->pairs, chunks = (int)z->chunks, me = threadIdx.x;
    double *sy = table, *ys = sy + (i64)pairs * pairs, *yy = ys + (i64)pairs * pairs, *rho = yy + (i64)pairs * pairs;
    part += (i64)blockIdx.x * 2 * pairs * chunks;
    factor += (i64)blockIdx.x * 2 * pairs;
    wait_for_those_before();
    const int used = (int)head[LT_HEAD_USED], newest = (int)head[LT_HEAD_NEWEST];
    const double gamma = head[LT_HEAD_GAMMA], fresh = head[LT_HEAD_RHO];
    pair_share p = { pairs, me < used, 0, 0, 0 };
    double dots[4] = { 0 };
    if (p.mine) {
        p.age = me <= newest ? newest - me : newest - me + pairs;
        fold(part, pair, chunks, me, pairs + me, dots);
    }
    if (fresh != 0 && p.mine) {
        sy[(i64)me * pairs + newest] = ys[(i64)newest * pairs + me] = dots[2];
        yy[(i64)me * pairs + newest] = yy[(i64)newest * pairs + me] = dots[3];
        if (p.age == 0) rho[me] = fresh;
    }
    __syncthreads();
    p.own = p.mine ? rho[me] : 0;
    p.sb = dots[0];
    p.yq = dots[1];
    if (used > 32) two_loops<false>(sy, ys, yy, newest, pairs, used, gamma, p, factor);
    else if (me < 32) two_loops<true>(sy, ys, yy, newest, pairs, used, gamma, p, factor);
}

// targets[c] = gamma b[c] + sum of factor[c, row] times row.
template <int C> static __device__ void combine(const sizes *z, const double *P, const double *head, const double *b, const double *factor,
                                                double *const *targets)
{
    enum { AT_ONCE = C <= 2 ? 16 : C <= 4 ? 8 : 4 }; // rows asked for before the first is used
    const i64 n = z->n, pairs = z->pairs, rows = 2 * pairs, stride = z->stride, half = stride / 2, j = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    wait_for_those_before();
    const int used = (int)head[LT_HEAD_USED];
    const double gamma = head[LT_HEAD_GAMMA];
    if (j >= half) return;
    double2 sum[C];
    double *to[C];
    find_targets(targets, to);
#pragma unroll
    for (int c = 0; c < C; c++) {
        const double2 v = ((const double2 *)b)[c * half + j];
        sum[c] = make_double2(gamma * v.x, gamma * v.y);
    }
    for (i64 side = 0; side < rows; side += pairs)
        for (int first = 0; first < used; first += AT_ONCE) {
            double2 v[AT_ONCE];
            double f[C][AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                v[k] = first + k < used ? ((const double2 *)(P + (side + first + k) * stride))[j] : make_double2(0, 0);
#pragma unroll
                for (int c = 0; c < C; c++) f[c][k] = first + k < used ? factor[c * rows + side + first + k] : 0;
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
                for (int c = 0; c < C; c++) {
                    sum[c].x += f[c][k] * v[k].x;
                    sum[c].y += f[c][k] * v[k].y;
                }
        }
#pragma unroll
    for (int c = 0; c < C; c++) {
        if (2 * j < n) to[c][2 * j] = sum[c].x;
        if (2 * j + 1 < n) to[c][2 * j + 1] = sum[c].y;
    }
}

// One block on a multiprocessor is enough: with that the compiler spends registers on loads that are in flight.
#define FOR_COLUMNS(C)                                                                                                            \
    extern "C" __global__ void __launch_bounds__(256, 1) change##C(const sizes *z, const double *step, double *H, const double *b, double *const *to)        \
    { change<C>(z, step, H, b, to); }                                                                                             \
    extern "C" __global__ void __launch_bounds__(256, 1) multiply##C(const sizes *z, const double *H, const double *b, double *const *to) { multiply<C>(z, H, b, to); } \
    extern "C" __global__ void __launch_bounds__(256, 1) dots##C(const sizes *z, const double *P, const double *head, const double *b, double *pair, double *part) \
    { dots<C>(z, P, head, b, pair, part); }                                                                                       \
    extern "C" __global__ void __launch_bounds__(128, 1) combine##C(const sizes *z, const double *P, const double *head, const double *b, const double *factor, \
                                          double *const *to)                                                                      \
    { combine<C>(z, P, head, b, factor, to); }
FOR_COLUMNS(1)
FOR_COLUMNS(2)
FOR_COLUMNS(4)
FOR_COLUMNS(8)
