/* Second launch: what needs the range of a plane or all of its rows. Three kinds of blocks: order statistics of
   a plane, columns of a spectrum, a slice of pixels once more. SPDX-License-Identifier: BSD-3-Clause */

/* ---- order statistics ---- */

struct field { const float *u; __device__ float operator()(int i) const { return u[i]; } };
struct distance { const float *u; float from; __device__ float operator()(int i) const { return fabsf(u[i] - from); } };

/* rank: the ranks on both sides of each quantile, then the middle. */
static __device__ void order_plane(const float *u, const double *peaks, const int *rank, lt_order_record *out, select_memory *m)
{
    enum { WANTED = 2 * LT_RECORD_QUANTILES + 1 };
    float least = -(float)peaks[0], most = (float)peaks[1];
    for (int s = 1; s < SLICES; s++) {
        least = fminf(least, -(float)peaks[s * PEAKS]);
        most = fmaxf(most, (float)peaks[s * PEAKS + 1]);
    }
    field values = { u };
    select_ranks(values, least, most, rank, WANTED, m);
    float median = of_key(m->value[WANTED - 1]);
    if (threadIdx.x < WANTED - 1) out->quantile[threadIdx.x / 2][threadIdx.x % 2] = of_key(m->value[threadIdx.x]);
    __syncthreads();
    distance distances = { u, median };
    select_ranks(distances, 0, fmaxf(most - median, median - least), rank + WANTED - 1, 1, m);
    if (threadIdx.x) return;
    out->median = median;
    out->deviation = of_key(m->value[0]);
}

/* ---- spectra ---- */

/* band: of each bin, its scale in the low four bits and its third in the high four; 15 is none. */
static __device__ __forceinline__ void add_bin(double p, int row, int column, int band, double *sum, double *peak)
{
    double kx = (double)column / G, ky = (double)(2 * row < G ? row : row - G) / G;
    int scale = band & 15, third = band >> 4;
    sum[BIN_TOTAL] += p;
    sum[BIN_X] += kx * p;
    sum[BIN_XX] += kx * kx * p;
    sum[BIN_Y] += ky * p;
    sum[BIN_YY] += ky * ky * p;
    sum[BIN_LOG] += log(p + 1e-10);
#pragma unroll
    for (int k = 0; k < 3; k++) sum[BIN_THIRD + k] += third == k ? p : 0;
#pragma unroll
    for (int k = 0; k < SCALES; k++) {
        double inside = scale == k ? p : 0;
        sum[BIN_SCALE + 2 * k] += inside;
        sum[BIN_SCALE + 2 * k + 1] += inside * inside;
        peak[k] = larger()(peak[k], inside);
    }
    peak[SCALES] = larger()(peak[SCALES], p);
}

/* COLUMNS columns from `first` on; as the rows of feature_slices, with the columns side by side. */
static __device__ void transform_columns(const double2 *spectrum, int first, const double2 *w, double2 *half_done, double *p, double *power)
{
    int columns = HALF - first < COLUMNS ? HALF - first : COLUMNS;
    for (int i = threadIdx.x; i < COLUMNS * FACTOR_B; i += THREADS) {
        int column = i % COLUMNS, at = i / COLUMNS;
        if (column >= columns) continue;
        double2 z[FACTOR_A];
#pragma unroll
        for (int k = 0; k < FACTOR_A; k++) z[k] = spectrum[(k * FACTOR_B + at) * HALF + first + column];
        transform<FACTOR_A>(z, w);
#pragma unroll
        for (int k = 0; k < FACTOR_A; k++) half_done[(k * FACTOR_B + at) * COLUMNS + column] = times(z[k], w[at * k]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < COLUMNS * FACTOR_A; i += THREADS) {
        int column = i % COLUMNS, k = i / COLUMNS;
        if (column >= columns) continue;
        double2 z[FACTOR_B];
#pragma unroll
        for (int j = 0; j < FACTOR_B; j++) z[j] = half_done[(k * FACTOR_B + j) * COLUMNS + column];
        transform<FACTOR_B>(z, w);
#pragma unroll
        for (int j = 0; j < FACTOR_B; j++) {
            int row = k + FACTOR_A * j;
            double strength = (z[j].x * z[j].x + z[j].y * z[j].y) * (1.0 / N);
            p[row * COLUMNS + column] = strength;
            power[row * HALF + first + column] = strength;
        }
    }
    __syncthreads();
}

static __device__ void spectrum_columns(const double2 *spectrum, int first, const double2 *twiddle, const u8 *band, double *power, double *sums,
                                        double *peaks, double2 *memory)
{
    double2 *w = memory, *half_done = w + G;
    double *p = (double *)(half_done + G * COLUMNS), *fold = p + G * COLUMNS;
    for (int i = threadIdx.x; i < G; i += THREADS) w[i] = twiddle[i];
    __syncthreads();
    transform_columns(spectrum, first, w, half_done, p, power);
    double sum[SUMS], peak[BIN_PEAKS];
#pragma unroll
    for (int k = 0; k < SUMS; k++) sum[k] = 0;
#pragma unroll
    for (int k = 0; k < BIN_PEAKS; k++) peak[k] = 0;
    for (int i = threadIdx.x; i < G * COLUMNS; i += THREADS) {
        int row = i / COLUMNS, column = first + i % COLUMNS;
        if (column < HALF) add_bin(p[i], row, column, band[row * HALF + column], sum, peak);
    }
    block_fold<SUMS>(sum, plus(), fold, sums);
    __syncthreads();
    block_fold<BIN_PEAKS>(peak, larger(), fold, peaks);
}

/* ---- pixels ---- */

/* Bins by float32 arithmetic, as the CPU has them, unless the range is one that float32 cannot hold. */
struct binning {
    float least, most, width;
    int last;
    __device__ binning(float from, float to, int bins) : least(from), most(to), width(to - from + 1e-8f), last(bins - 1) {}
    __device__ int operator()(float u) const
    {
        if (isfinite(width)) return limited((int)((u - least) / width * (float)last), last);
        return limited((int)(((double)u - (double)least) / ((double)most - (double)least) * (double)last), last);
    }
};

/* Means and ranges of the three planes of a realization: mean[c]; range[c]: -min, max of u, low, high. */
struct realization_ranges { double mean[3], range[3][6]; };
struct pixel_memory { realization_ranges ranges; double fold[WARPS * PIXELS]; int count[COUNTS]; };

static __device__ void find_ranges(const double *sums, const double *peaks, realization_ranges *out)
{
    if (threadIdx.x < 21) {
        int c = threadIdx.x / 7, which = threadIdx.x % 7;
        const double *sum = sums + (i64)c * SLICES * SUMS + SUM_NORMS, *peak = peaks + (i64)c * SLICES * PEAKS + PEAK_RANGES + which;
        double all = which < 6 ? peak[0] : sum[0];
        for (int s = 1; s < SLICES; s++) all = which < 6 ? larger()(all, peak[s * PEAKS]) : all + sum[s * SUMS];
        if (which < 6) out->range[c][which] = all;
        else out->mean[c] = all / N;
    }
    __syncthreads();
}

/* Plane c of a realization, and the pair of channels numbered c: its product and joint counts. */
static __device__ void pixel_slice(const float *u, const float *before, const float *low, const float *high, int c, int slice,
                                   pixel_memory *m, double *pixels, int *counts)
{
    const realization_ranges *r = &m->ranges;
    int *count = m->count;
    int first = slice * ROWS * G, last = first + ROWS * G < N ? first + ROWS * G : N;
    int a = c == 2 ? 1 : 0, b = c == 0 ? 1 : 2; /* 0 1, 0 2, 1 2 */
    const float *of_a = u + a * N, *of_b = u + b * N, *own = u + c * N, *old = before + c * N;
    const float *filtered[3] = { own, low + c * N, high + c * N };
    binning bin_a(-(float)r->range[a][0], (float)r->range[a][1], MI_BINS), bin_b(-(float)r->range[b][0], (float)r->range[b][1], MI_BINS);
    for (int i = threadIdx.x; i < COUNTS; i += THREADS) count[i] = 0;
    __syncthreads();
    double v[PIXELS];
#pragma unroll
    for (int k = 0; k < PIXELS; k++) v[k] = 0;
    for (int i = first + threadIdx.x; i < last; i += THREADS) {
        int x = i % G, y = i / G;
        double d = own[i] - r->mean[c], square = d * d;
        double gx = 0.5 * ((double)old[x + 1 < G ? i + 1 : i + 1 - G] - (double)old[x ? i - 1 : i - 1 + G]);
        double gy = 0.5 * ((double)old[y + 1 < G ? i + G : x] - (double)old[y ? i - G : N - G + x]);
        v[PIXEL_M2] += square;
        v[PIXEL_M3] += square * d;
        v[PIXEL_M4] += square * square;
        v[PIXEL_FLOW_X] += gx * d;
        v[PIXEL_FLOW_Y] += gy * d;
        v[PIXEL_PRODUCT] += (of_a[i] - r->mean[a]) * (of_b[i] - r->mean[b]);
        atomicAdd(&count[ENTROPY_COUNTS + bin_a(of_a[i]) * MI_BINS + bin_b(of_b[i])], 1);
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        binning bin(-(float)r->range[c][2 * k], (float)r->range[c][2 * k + 1], ENTROPY_BINS);
        for (int i = first + threadIdx.x; i < last; i += THREADS) atomicAdd(&count[k * ENTROPY_BINS + bin(filtered[k][i])], 1);
    }
    block_fold<PIXELS>(v, plus(), m->fold, pixels);
    for (int i = threadIdx.x; i < COUNTS; i += THREADS) counts[i] = count[i]; /* the fold's barrier came after the last count */
}

static_assert(sizeof(select_memory) <= PLANES_BYTES, "selection fits");
static_assert(G * 16 + G * COLUMNS * 24 + WARPS * SUMS * 8 <= PLANES_BYTES, "transforms fit");
static_assert(sizeof(pixel_memory) <= PLANES_BYTES, "counts fit");

#define PLANE_BLOCKS (1 + COLUMN_BLOCKS + SLICES)

/* The longest blocks come first. */
extern "C" __global__ void __launch_bounds__(THREADS, AT_ONCE) feature_planes(
    const float *now, const float *before, const double2 *twiddle, const u8 *band, const int *rank, const double *sums, const double *peaks,
    const double2 *spectrum, const float *low, const float *high, lt_order_record *order, double *power, double *bin_sums, double *bin_peaks,
    double *pixels, int *counts)
{
    extern __shared__ double2 memory[];
    int block = blockIdx.x, planes = (int)gridDim.x / PLANE_BLOCKS;
    if (block < planes) {
        order_plane(state_at(now, before, block / PLANES) + (i64)(block % PLANES) * N, peaks + (i64)block * SLICES * PEAKS, rank, order + block, (select_memory *)memory);
        return;
    }
    block -= planes;
    if (block < planes * COLUMN_BLOCKS) {
        i64 plane = block / COLUMN_BLOCKS;
        spectrum_columns(spectrum + plane * BINS, block % COLUMN_BLOCKS * COLUMNS, twiddle, band, power + plane * BINS,
                         bin_sums + (i64)block * SUMS, bin_peaks + (i64)block * BIN_PEAKS, memory);
        return;
    }
    block -= planes * COLUMN_BLOCKS;
    int plane = block / SLICES, c = plane % 3, state = plane / PLANES;
    i64 first = plane - c, offset = (i64)(first % PLANES) * N; /* of the realization */
    pixel_memory *m = (pixel_memory *)memory;
    find_ranges(sums + first * SLICES * SUMS, peaks + first * SLICES * PEAKS, &m->ranges);
    pixel_slice(state_at(now, before, state) + offset, state_at(now, before, state - 1) + offset, low + first * N, high + first * N, c, block % SLICES, m, pixels + (i64)block * PIXELS,
                counts + (i64)block * COUNTS);
}
