/* First launch: rows of a plane. Norms, differences, the low-pass filter, transforms of rows.
   SPDX-License-Identifier: BSD-3-Clause */

#define FILTERED_ROWS (ROWS + 1 + 2 * RADIUS) /* one row more than the slice: differences look one row down */

/* right, below: the neighbours, or the number itself where there is none. */
static __device__ __forceinline__ void add_norms(double at, double right, double below, double *sum, double *peak)
{
    double dx = right - at, dy = below - at;
    sum[0] += at;
    sum[1] += fabs(at);
    sum[2] += at * at;
    sum[3] += fabs(dx) + fabs(dy);
    sum[4] += dx * dx + dy * dy;
    peak[0] = larger()(peak[0], -at);
    peak[1] = larger()(peak[1], at);
}

static __device__ __forceinline__ void add_differences(const float *u, int x, int y, double *sum, double *peak)
{
    double at = u[y * G + x], left = u[y * G + (x ? x - 1 : G - 1)], right = u[y * G + (x + 1 < G ? x + 1 : 0)];
    double above = u[(y ? y - 1 : G - 1) * G + x], below = u[(y + 1 < G ? y + 1 : 0) * G + x];
    double gx = 0.5 * (right - left), gy = 0.5 * (below - above), square = gx * gx + gy * gy;
    double laplacian = (right + left) + (below + above) - 4 * at;
    bool inner_x = x > 0 && x + 1 < G, inner_y = y > 0 && y + 1 < G;
    add_norms(at, x + 1 < G ? right : at, y + 1 < G ? below : at, sum + SUM_NORMS, peak + PEAK_RANGES);
    sum[SUM_GRADIENT] += sqrt(square);
    sum[SUM_GRADIENT + 1] += gx * gx;
    sum[SUM_GRADIENT + 2] += gy * gy;
    sum[SUM_GRADIENT + 3] += fabs(gx);
    sum[SUM_GRADIENT + 4] += fabs(gy);
    sum[SUM_GRADIENT + 5] += laplacian * laplacian;
    sum[SUM_OPEN] += inner_x ? gx : 0;
    sum[SUM_OPEN + 1] += inner_y ? gy : 0;
    sum[SUM_OPEN + 2] += inner_x && inner_y ? laplacian : 0;
    peak[PEAK_GRADIENT] = larger()(peak[PEAK_GRADIENT], square);
}

/* Zero-padded, separable: along x into `filtered`, then along y; to_low and to_high (rows + 1 rows each) are what
   the norms are taken of, and go to memory without the last one. */
static __device__ __forceinline__ void filter_slice(const float *u, const double *weight, int first, int rows, double *filtered,
                                                    float *slice_low, float *slice_high, float *low, float *high)
{
    double w[RADIUS + 1];
#pragma unroll
    for (int k = 0; k <= RADIUS; k++) w[k] = weight[k];
    for (int i = threadIdx.x; i < (rows + 1 + 2 * RADIUS) * G; i += THREADS) {
        int y = first - RADIUS + i / G, x = i % G;
        double s = 0;
        if (y >= 0 && y < G) {
            const float *row = u + y * G;
            s = w[0] * row[x];
#pragma unroll
            for (int k = 1; k <= RADIUS; k++) s += w[k] * ((x - k >= 0 ? (double)row[x - k] : 0) + (x + k < G ? (double)row[x + k] : 0));
        }
        filtered[i] = s;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (rows + 1) * G; i += THREADS) {
        int at = first * G + i;
        if (at >= N) continue;
        const double *centre = filtered + i + RADIUS * G;
        double s = w[0] * centre[0];
#pragma unroll
        for (int k = 1; k <= RADIUS; k++) s += w[k] * (centre[k * G] + centre[-k * G]);
        double largest = 3.4028234663852886e38, rest = u[at] - s; /* twice the largest float at most */
        slice_low[i] = (float)s;
        slice_high[i] = (float)(rest > largest ? largest : rest < -largest ? -largest : rest);
        if (i >= rows * G) continue;
        low[at] = slice_low[i];
        high[at] = slice_high[i];
    }
    __syncthreads();
}

/* Two rows at a time are one complex line of G = A B numbers: A transforms along strides of B, turned, then B. */
static __device__ __forceinline__ void transform_rows(const float *u, const double2 *w, int first, int rows, double2 *half_done, double2 *lines,
                                                      double2 *spectrum)
{
    int pairs = (rows + 1) / 2;
    for (int i = threadIdx.x; i < pairs * FACTOR_B; i += THREADS) {
        int line = i / FACTOR_B, at = i % FACTOR_B;
        const float *a = u + (first + 2 * line) * G + at, *b = a + G;
        bool both = 2 * line + 1 < rows;
        double2 z[FACTOR_A];
#pragma unroll
        for (int k = 0; k < FACTOR_A; k++) z[k] = make_double2(a[k * FACTOR_B], both ? b[k * FACTOR_B] : 0);
        transform<FACTOR_A>(z, w);
        /* One number of padding: the next loop reads along B, and its threads meet no bank twice. */
#pragma unroll
        for (int k = 0; k < FACTOR_A; k++) half_done[(line * FACTOR_A + k) * (FACTOR_B + 1) + at] = times(z[k], w[at * k]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < pairs * FACTOR_A; i += THREADS) {
        int line = i / FACTOR_A, k = i % FACTOR_A;
        double2 z[FACTOR_B];
#pragma unroll
        for (int j = 0; j < FACTOR_B; j++) z[j] = half_done[i * (FACTOR_B + 1) + j];
        transform<FACTOR_B>(z, w);
#pragma unroll
        for (int j = 0; j < FACTOR_B; j++) lines[line * G + k + FACTOR_A * j] = z[j];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < pairs * HALF; i += THREADS) {
        int line = i / HALF, k = i % HALF;
        double2 a = lines[line * G + k], b = lines[line * G + (k ? G - k : 0)];
        double2 *to = spectrum + (first + 2 * line) * HALF + k;
        to[0] = make_double2(0.5 * (a.x + b.x), 0.5 * (a.y - b.y));
        if (2 * line + 1 < rows) to[HALF] = make_double2(0.5 * (a.y + b.y), 0.5 * (b.x - a.x));
    }
}

static_assert(G * 16 + FILTERED_ROWS * G * 8 + 2 * (ROWS + 1) * G * 4 <= SLICES_BYTES, "the filter fits");
static_assert(G * 16 + (ROWS + 1) / 2 * (FACTOR_A * (FACTOR_B + 1) + G) * 16 <= SLICES_BYTES, "transforms fit");
static_assert(G * 16 + WARPS * SUMS * 8 <= SLICES_BYTES, "folds fit");

extern "C" __global__ void __launch_bounds__(THREADS, AT_ONCE) feature_slices(const float *now, const double *weight, const double2 *twiddle,
                                                                     double2 *spectrum, float *low, float *high, double *sums, double *peaks)
{
    extern __shared__ double2 memory[];
    double2 *w = memory;
    double *filtered = (double *)(memory + G);
    float *slice_low = (float *)(filtered + FILTERED_ROWS * G), *slice_high = slice_low + (ROWS + 1) * G;
    double2 *half_done = memory + G, *lines = half_done + (ROWS + 1) / 2 * FACTOR_A * (FACTOR_B + 1);

    int plane = blockIdx.x / SLICES, first = blockIdx.x % SLICES * ROWS, rows = G - first < ROWS ? G - first : ROWS;
    const float *u = state_at(now, now, plane / PLANES) + (i64)(plane % PLANES) * N;
    double sum[SUMS], peak[PEAKS];
#pragma unroll
    for (int k = 0; k < SUMS; k++) sum[k] = 0;
#pragma unroll
    for (int k = 0; k < PEAKS; k++) peak[k] = k == PEAK_GRADIENT ? 0 : -1e300;
    for (int i = threadIdx.x; i < G; i += THREADS) w[i] = twiddle[i];
    for (int i = threadIdx.x; i < rows * G; i += THREADS) add_differences(u, i % G, first + i / G, sum, peak);
    filter_slice(u, weight, first, rows, filtered, slice_low, slice_high, low + (i64)plane * N, high + (i64)plane * N);
    for (int i = threadIdx.x; i < rows * G; i += THREADS) {
        int right = i % G + 1 < G ? i + 1 : i, below = first + i / G + 1 < G ? i + G : i;
        add_norms(slice_low[i], slice_low[right], slice_low[below], sum + SUM_NORMS + 5, peak + PEAK_RANGES + 2);
        add_norms(slice_high[i], slice_high[right], slice_high[below], sum + SUM_NORMS + 10, peak + PEAK_RANGES + 4);
    }
    /* Folded at once: the transforms need the registers, and the memory of the filter. */
    __syncthreads();
    block_fold<SUMS>(sum, plus(), filtered, sums + (i64)blockIdx.x * SUMS);
    __syncthreads();
    block_fold<PEAKS>(peak, larger(), filtered, peaks + (i64)blockIdx.x * PEAKS);
    __syncthreads();
    transform_rows(u, w, first, rows, half_done, lines, spectrum + (i64)plane * BINS);
}
