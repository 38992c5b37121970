/* Last launch: the parts of planes and realizations put together into records. SPDX-License-Identifier: BSD-3-Clause */

/* One number of each of n parts, in order. */
static __device__ double fold_parts(const double *part, int n, int stride, bool sum)
{
    double all = part[0];
    for (int i = 1; i < n; i++) all = sum ? all + part[(i64)i * stride] : larger()(all, part[(i64)i * stride]);
    return all;
}

/* The sum of one number of each thread, for all of them; turn: two memories of WARPS numbers take turns, so that
   one barrier is enough. */
static __device__ double block_sum(double x, double *shared, int turn)
{
    double *mine = shared + (turn & 1) * WARPS;
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 == 0) mine[threadIdx.x / 32] = x;
    __syncthreads();
    double all = mine[0];
    for (int w = 1; w < WARPS; w++) all += mine[w];
    return all;
}

/* ---- spectra ---- */

/* The first bin as strong as the strongest, up to the rounding of the transform. */
static __device__ int dominant_bin(const double *power, double strongest, int *shared)
{
    double enough = strongest * (1 - 1e-10);
    if (threadIdx.x == 0) *shared = BINS - 1;
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += THREADS)
        if (power[i] >= enough) {
            atomicMin(shared, i);
            break;
        }
    __syncthreads();
    return *shared;
}

/* Powers in the order of unsigned numbers, as shares of the strongest: a float holds those that matter. */
struct share_key {
    double scale;
    __device__ unsigned operator()(double p) const { return __float_as_uint((float)(p * scale)); }
};

/* In how many of the strongest bins, before the one that completes it, 85 % of the power lies: the largest share
   that the powers from it on complete it with is found bit by bit; those that round to the same float are as good
   as equal. */
static __device__ int rolloff_bin(const double *power, double total, double strongest, double *shared)
{
    double goal = 0.85 * total;
    share_key key = { strongest > 0 ? 1 / strongest : 0 };
    /* All bins below the one wanted hold 15 % together: it is not weaker than their mean. */
    unsigned top = key(strongest), bottom = key(0.149 * total / BINS);
    int differ = 32 - __clz(top ^ bottom), turn = 0;
    unsigned least = differ < 32 ? top >> differ << differ : 0;
    for (int bit = differ - 1; bit >= 0; bit--, turn++) {
        unsigned tried = least | 1u << bit;
        double above = 0;
        for (int i = threadIdx.x; i < BINS; i += THREADS) above += key(power[i]) >= tried ? power[i] : 0;
        if (block_sum(above, shared, turn) >= goal) least = tried;
    }
    double stronger = 0, as_strong = 0, n_stronger = 0, n_as_strong = 0;
    for (int i = threadIdx.x; i < BINS; i += THREADS) {
        double p = power[i];
        unsigned k = key(p);
        stronger += k > least ? p : 0;
        n_stronger += k > least;
        as_strong += k == least ? p : 0;
        n_as_strong += k == least;
    }
    stronger = block_sum(stronger, shared, turn);
    n_stronger = block_sum(n_stronger, shared, turn + 1);
    as_strong = block_sum(as_strong, shared, turn + 2);
    n_as_strong = block_sum(n_as_strong, shared, turn + 3);
    int k = 0;
    double each = n_as_strong > 0 ? as_strong / n_as_strong : 0;
    while (k < (int)n_as_strong - 1 && stronger + (k + 1) * each < goal) k++;
    return (int)n_stronger + k;
}

/* ---- a plane ---- */

struct plane_memory {
    double sum[SUMS], peak[PEAKS], pixel[PIXELS], bin[SUMS], bin_peak[BIN_PEAKS];
    double term[ENTROPY_COUNTS], turns[2 * WARPS];
    int index;
};

static __device__ void gather_plane(const double *sums, const double *peaks, const double *pixels, const double *bin_sums,
                                    const double *bin_peaks, const int *counts, plane_memory *m)
{
    int warp = threadIdx.x / 32, k = threadIdx.x % 32;
    for (int job = warp; job < 5; job += WARPS) {
        if (job == 0) m->sum[k] = fold_parts(sums + k, SLICES, SUMS, true);
        if (job == 1 && k < PEAKS) m->peak[k] = fold_parts(peaks + k, SLICES, PEAKS, false);
        if (job == 2 && k < PIXELS) m->pixel[k] = fold_parts(pixels + k, SLICES, PIXELS, true);
        if (job == 3) m->bin[k] = fold_parts(bin_sums + k, COLUMN_BLOCKS, SUMS, true);
        if (job == 4 && k < BIN_PEAKS) m->bin_peak[k] = fold_parts(bin_peaks + k, COLUMN_BLOCKS, BIN_PEAKS, false);
    }
    for (int i = threadIdx.x; i < ENTROPY_COUNTS; i += THREADS) {
        int n = 0;
        for (int s = 0; s < SLICES; s++) n += counts[s * COUNTS + i];
        double share = (double)n / N;
        m->term[i] = n ? -share * log(share + 1e-10) : 0;
    }
    __syncthreads();
}

static __device__ void write_norms(const plane_memory *m, lt_channel_record *out)
{
    int k = threadIdx.x;
    const double *s = m->sum + SUM_NORMS + 5 * k, *p = m->peak + PEAK_RANGES + 2 * k;
    double entropy = 0;
    for (int i = 0; i < ENTROPY_BINS; i++) entropy += m->term[k * ENTROPY_BINS + i];
    lt_norm_sums norm = { s[0], s[1], s[2], s[3], s[4], -(float)p[0], (float)p[1] };
    out->norm[k] = norm;
    out->entropy[k] = entropy;
}

static __device__ void write_sums(const plane_memory *m, const lt_order_record *order, lt_channel_record *out)
{
    const double *s = m->sum, *g = m->sum + SUM_GRADIENT, *p = m->pixel;
    lt_range_sums range = { s[SUM_NORMS], -(float)m->peak[PEAK_RANGES], (float)m->peak[PEAK_RANGES + 1] };
    lt_moment_sums moments = { p[PIXEL_M2], p[PIXEL_M3], p[PIXEL_M4] };
    lt_gradient_sums gradient = { g[0], m->peak[PEAK_GRADIENT], g[1], g[2], g[3], g[4], g[5] };
    lt_open_sums open = { s[SUM_OPEN], s[SUM_OPEN + 1], s[SUM_OPEN + 2] };
    out->range = range;
    out->moments = moments;
    out->order = *order;
    out->gradient = gradient;
    out->open = open;
    out->flow[0] = p[PIXEL_FLOW_X];
    out->flow[1] = p[PIXEL_FLOW_Y];
}

static __device__ void write_spectrum(const plane_memory *m, int dominant, double strength, int rolloff, lt_spectrum_record *out)
{
    const double *b = m->bin;
    out->total = b[BIN_TOTAL];
    out->x = b[BIN_X];
    out->xx = b[BIN_XX];
    out->y = b[BIN_Y];
    out->yy = b[BIN_YY];
    for (int k = 0; k < SCALES; k++) {
        lt_power_sums scale = { b[BIN_SCALE + 2 * k], b[BIN_SCALE + 2 * k + 1], m->bin_peak[k] };
        out->scale[k] = scale;
    }
    for (int k = 0; k < LT_RECORD_THIRDS; k++) out->third[k] = b[BIN_THIRD + k];
    out->log_sum = b[BIN_LOG];
    out->dominant = strength;
    out->dominant_bin = dominant;
    out->rolloff_bin = rolloff;
}

static __device__ void write_plane(const plane_memory *m, const double *power, const lt_order_record *order, lt_channel_record *out, double *turns,
                                   int *index)
{
    int dominant = dominant_bin(power, m->bin_peak[SCALES], index);
    int rolloff = rolloff_bin(power, m->bin[BIN_TOTAL], m->bin_peak[SCALES], turns);
    if (threadIdx.x < LT_RECORD_FILTERS) write_norms(m, out);
    if (threadIdx.x == 32 % THREADS) write_sums(m, order, out);
    if (threadIdx.x == 64 % THREADS) write_spectrum(m, dominant, power[dominant], rolloff, &out->spectrum);
}

/* ---- a realization ---- */

struct pair_memory { int joint[3][MI_BINS * MI_BINS], of_a[3][MI_BINS], of_b[3][MI_BINS]; double shared[WARPS * 4], information[4]; };

static __device__ void write_pairs(const double *pixels, const int *counts, pair_memory *m, lt_state_record *out)
{
    constexpr int CELLS = MI_BINS * MI_BINS;
    for (int i = threadIdx.x; i < 3 * CELLS; i += THREADS) {
        int n = 0;
        for (int s = 0; s < SLICES; s++) n += counts[(i / CELLS * SLICES + s) * COUNTS + ENTROPY_COUNTS + i % CELLS];
        m->joint[i / CELLS][i % CELLS] = n;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 6 * MI_BINS; i += THREADS) {
        int k = i / (2 * MI_BINS), bin = i % MI_BINS, n = 0;
        bool first = i % (2 * MI_BINS) < MI_BINS;
        for (int j = 0; j < MI_BINS; j++) n += m->joint[k][first ? bin * MI_BINS + j : j * MI_BINS + bin];
        (first ? m->of_a : m->of_b)[k][bin] = n;
    }
    __syncthreads();
    double v[4] = { 0, 0, 0, 0 };
#pragma unroll
    for (int k = 0; k < 3; k++)
        for (int i = threadIdx.x; i < CELLS; i += THREADS) {
            double p = (double)m->joint[k][i] / N, a = (double)m->of_a[k][i / MI_BINS] / N, b = (double)m->of_b[k][i % MI_BINS] / N;
            if (p > 0) v[k] += p * log(p / (a * b + 1e-10));
        }
    block_fold<4>(v, plus(), m->shared, m->information);
    if (threadIdx.x >= LT_RECORD_CHANNELS) return;
    int k = threadIdx.x;
    out->information[k] = m->information[k]; /* this thread wrote it */
    out->product[k] = fold_parts(pixels + (i64)k * SLICES * PIXELS + PIXEL_PRODUCT, SLICES, PIXELS, true);
}

static_assert(sizeof(plane_memory) <= RECORDS_BYTES && sizeof(pair_memory) <= RECORDS_BYTES, "parts fit");

/* records: (T, M); t: the steps these states are of. For three planes there is a block of their realization. */
extern "C" __global__ void __launch_bounds__(THREADS, AT_ONCE) feature_records(
    const i64 *t, const double *sums, const double *peaks, const lt_order_record *order, const double *power, const double *bin_sums,
    const double *bin_peaks, const double *pixels, const int *counts, lt_state_record *records)
{
    extern __shared__ double2 memory[];
    int block = blockIdx.x, planes = (int)gridDim.x / 4 * 3;
    if (block >= planes) {
        i64 m = block - planes, first = 3 * m * SLICES;
        write_pairs(pixels + first * PIXELS, counts + first * COUNTS, (pair_memory *)memory, records + t[m / REALIZATIONS] * REALIZATIONS + m % REALIZATIONS);
        return;
    }
    i64 plane = block, first = plane * SLICES, column = plane * COLUMN_BLOCKS;
    plane_memory *m = (plane_memory *)memory;
    gather_plane(sums + first * SUMS, peaks + first * PEAKS, pixels + first * PIXELS, bin_sums + column * SUMS, bin_peaks + column * BIN_PEAKS,
                 counts + first * COUNTS, m);
    lt_state_record *out = records + t[plane / PLANES] * REALIZATIONS + plane % PLANES / 3;
    write_plane(m, power + plane * BINS, order + plane, &out->channel[plane % 3], m->turns, &m->index);
}
