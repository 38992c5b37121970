/* Features of states on a device: sizes, folds over threads, short Fourier transforms, order of numbers.
   SPDX-License-Identifier: BSD-3-Clause

   Fixed when compiled: G (grid), FACTOR_A FACTOR_B (G = A B, both short), REALIZATIONS, STATE_STRIDE (numbers from
   one state to the next), THREADS, ROWS (of a slice of a plane), COLUMNS (of a spectrum that a block transforms), RADIUS (of the low-pass filter), SCALES (bands),
   ENTROPY_BINS, MI_BINS, LIST (of a bucket gathered for selection), and the bytes of shared memory of each launch:
   SLICES_BYTES, PLANES_BYTES, RECORDS_BYTES.

   A plane is one channel of one realization at one time. Several states that follow each other are measured
   together, as many as the grid has blocks for: one alone would leave most of the device idle (decision 134). Planes are numbered
   through, state by state. Three launches follow each other: feature_slices goes through
   parts of planes, feature_planes through whole planes as far as ranges and rows' transforms must be known,
   feature_records puts together what the parts found. Every sum has one order, whatever runs where; atomic
   operations are on integers alone. Planes of a failed realization hold NaN: what is found there means nothing,
   but no address depends on it. */

#define N (G * G)
#define HALF (G / 2 + 1)
#define BINS (G * HALF)
#define PLANES (3 * REALIZATIONS) /* of a state */
#define SLICES ((G + ROWS - 1) / ROWS)
#define COLUMN_BLOCKS ((HALF + COLUMNS - 1) / COLUMNS)
#define WARPS (THREADS / 32)
#define AT_ONCE 3 /* blocks of a core: while one waits at a barrier, the others go on */
#define ENTROPY_COUNTS (3 * ENTROPY_BINS)
#define COUNTS (ENTROPY_COUNTS + MI_BINS * MI_BINS)

/* What parts leave for the last launch; sums of a part are SUMS numbers side by side. */
#define SUMS 32
enum { SUM_NORMS = 0, SUM_GRADIENT = 15, SUM_OPEN = 21 };                        /* of a slice: three filters' norms first */
enum { PEAK_RANGES = 0, PEAK_GRADIENT = 6, PEAKS = 8 };                          /* -min, max of each filter */
enum { PIXEL_M2, PIXEL_M3, PIXEL_M4, PIXEL_FLOW_X, PIXEL_FLOW_Y, PIXEL_PRODUCT, PIXELS = 8 };
enum { BIN_TOTAL, BIN_X, BIN_XX, BIN_Y, BIN_YY, BIN_LOG, BIN_THIRD, BIN_SCALE = BIN_THIRD + 3 }; /* sum, square of each scale */
enum { BIN_PEAKS = 16 };                                                          /* of each scale, then of all */

typedef long long i64;
typedef unsigned char u8;

/* States of all realizations; the one before the first lies elsewhere. */
static __device__ __forceinline__ const float *state_at(const float *now, const float *before, int state)
{
    return state < 0 ? before : now + (i64)state * STATE_STRIDE;
}

/* ---- folds ---- */

struct plus { __device__ double operator()(double a, double b) const { return a + b; } };
struct larger { __device__ double operator()(double a, double b) const { return a > b ? a : b; } };

/* K numbers of every lane, folded over the warp: lane l gets the result of number l / (32 / K). At each step a
   lane hands over the half it will not finish, so that K numbers cost about K exchanges. */
template <int K, int STEP, class OP> static __device__ __forceinline__ double warp_fold(double *v, OP op)
{
    if constexpr (STEP == 0) {
        return v[0];
    } else if constexpr (K > 1) {
        bool upper = threadIdx.x & STEP;
#pragma unroll
        for (int i = 0; i < K / 2; i++) {
            double send = upper ? v[i] : v[i + K / 2], keep = upper ? v[i + K / 2] : v[i];
            v[i] = op(keep, __shfl_xor_sync(0xffffffffu, send, STEP));
        }
        return warp_fold<K / 2, STEP / 2>(v, op);
    } else {
        v[0] = op(v[0], __shfl_xor_sync(0xffffffffu, v[0], STEP));
        return warp_fold<1, STEP / 2>(v, op);
    }
}

/* The same over the block; out[k] is written by thread k. shared: WARPS K numbers, free again after the next barrier. */
template <int K, class OP> static __device__ __forceinline__ void block_fold(double *v, OP op, double *shared, double *out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double folded = warp_fold<K, 16>(v, op);
    if (lane % (32 / K) == 0) shared[warp * K + lane / (32 / K)] = folded;
    __syncthreads();
    if (threadIdx.x >= K) return;
    double all = shared[threadIdx.x];
    for (int w = 1; w < WARPS; w++) all = op(all, shared[w * K + threadIdx.x]);
    out[threadIdx.x] = all;
}

/* ---- Fourier transforms of up to 32 numbers in registers ---- */

static __device__ __forceinline__ double2 times(double2 a, double2 b)
{
    return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

constexpr __device__ int smallest_factor(int n)
{
    for (int p = 2; p < n; p++)
        if (n % p == 0) return p;
    return n;
}

/* v := its transform. w: exp(-2 pi i k / G), k < G; R divides G. */
template <int R> static __device__ __forceinline__ void transform(double2 *v, const double2 *w)
{
    if constexpr (R > 1) {
        constexpr int P = smallest_factor(R), Q = R / P;
        double2 part[P][Q];
#pragma unroll
        for (int i = 0; i < R; i++) part[i % P][i / P] = v[i];
#pragma unroll
        for (int a = 0; a < P; a++) transform<Q>(part[a], w);
#pragma unroll
        for (int q = 0; q < Q; q++) {
            double2 t[P];
#pragma unroll
            for (int a = 0; a < P; a++) {
                double2 z = part[a][q];
                t[a] = a * q == 0 ? z : 4 * a * q == R ? make_double2(z.y, -z.x) : times(z, w[a * q * (G / R)]);
            }
#pragma unroll
            for (int k = 0; k < P; k++) {
                double2 s = t[0];
#pragma unroll
                for (int a = 1; a < P; a++) {
                    double2 z = a * k == 0 ? t[a] : 2 * a * k == P ? make_double2(-t[a].x, -t[a].y) : times(t[a], w[a * k % P * (G / P)]);
                    s = make_double2(s.x + z.x, s.y + z.y);
                }
                v[q + Q * k] = s;
            }
        }
    }
}

/* ---- order ---- */

/* Unsigned numbers in the order of floats; both zeros are one. */
static __device__ __forceinline__ unsigned key_of(float x)
{
    unsigned bits = __float_as_uint(x + 0.0f);
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

static __device__ __forceinline__ float of_key(unsigned key) { return __uint_as_float(key ^ (key >> 31 ? 0x80000000u : 0xffffffffu)); }

static __device__ __forceinline__ int limited(int x, int last) { return x < 0 ? 0 : x > last ? last : x; }
