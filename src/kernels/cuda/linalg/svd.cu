/* The SVD of small matrices by one-sided Jacobi rotations, as in kernels/ref/jacobi.c; a warp for each matrix, a lane for each
   entry of a row. SPDX-License-Identifier: BSD-3-Clause

   R = min(M, N) rows g of L = max(M, N) entries are made orthogonal by rotations, which z gathers: A = Z' diag(s) G when wide,
   A = G' diag(s) Z when tall. A lane reads and writes its own column only. */
enum { WIDE = M <= N, SWEEPS = 60 };
#define EPSILON 2.2204460492503131e-16
#define SMALLEST 2.2250738585072014e-308

struct svd_rows { f64 g[R][32], z[R][32], s[R]; int order[R]; }; /* order: by length, longest first */

inline f64 warp_sum(f64 v)
{
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

inline void rotate(f64 *x, f64 *y, f64 c, f64 s)
{
    const f64 a = *x, b = *y;
    *x = c * a - s * b;
    *y = s * a + c * b;
}

inline bool sweep(svd_rows &w, int lane, f64 noise)
{
    bool changed = false;
    for (int p = 0; p < R; p++)
        for (int q = p + 1; q < R; q++) {
            const f64 x = w.g[p][lane], y = w.g[q][lane], a = warp_sum(x * x), b = warp_sum(x * y), d = warp_sum(y * y);
            if (fabs(b) <= EPSILON * L * sqrt(a) * sqrt(d) || fmin(a, d) <= noise) continue;
            const f64 theta = (d - a) / (2 * b), t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1);
            rotate(&w.g[p][lane], &w.g[q][lane], c, t * c);
            rotate(&w.z[p][lane], &w.z[q][lane], c, t * c);
            changed = true;
        }
    return changed;
}

/* A row without length carries no direction: replaced by one orthogonal to those before it, found among the unit vectors. */
inline void complete(svd_rows &w, int lane, int place)
{
    for (int unit = 0; unit < L; unit++) {
        f64 x = lane == unit;
        for (int j = 0; j < 2 * place; j++) { /* twice is enough */
            const f64 other = w.g[w.order[j % place]][lane];
            x -= warp_sum(other * x) * other;
        }
        const f64 norm = warp_sum(x * x);
        if (norm < 0.5 / L) continue; /* some unit vector leaves at least 1 / L */
        w.g[w.order[place]][lane] = x / sqrt(norm);
        return;
    }
}

inline void sort(svd_rows &w, int lane)
{
    for (int j = 0; j < R; j++) {
        const f64 length = sqrt(warp_sum(w.g[j][lane] * w.g[j][lane]));
        if (lane == 0) w.s[j] = length;
    }
    __syncwarp();
    if (lane < R) {
        int place = 0;
        for (int j = 0; j < R; j++) place += w.s[j] > w.s[lane] || (w.s[j] == w.s[lane] && j < lane);
        w.order[place] = lane;
    }
    __syncwarp();
}

inline void write(svd_rows &w, int lane, int power, T *out)
{
    sort(w, lane);
    for (int j = 0; j < R; j++) {
        const int row = w.order[j];
        const f64 s = w.s[row];
        if (s > EPSILON * L * w.s[w.order[0]] && s > SMALLEST) w.g[row][lane] /= s;
        else complete(w, lane, j);
        if (lane < M) narrow(WIDE ? w.z[row][lane] : w.g[row][lane], out[lane * R + j]);
        if (lane == 0) narrow(scalbn(s, power), out[M * R + j]);
        if (lane < N) narrow(WIDE ? w.g[row][lane] : w.z[row][lane], out[M * R + R + j * N + lane]);
    }
}

extern "C" __global__ void __launch_bounds__(32) svd(const T *a, T *out)
{
    lt_wait();
    __shared__ svd_rows w;
    const int lane = threadIdx.x;
    const i64 count = M * R + R + R * N;
    bool bad = false;
    f64 largest = 0, squares = 0;
    a += blockIdx.x * (M * N);
    out += blockIdx.x * count;
    for (int i = 0; i < R; i++) {
        const f64 v = lane >= L ? 0 : widen<f64>(a[WIDE ? i * N + lane : lane * N + i]);
        bad = bad || v - v != 0;
        largest = fmax(largest, fabs(v));
        w.g[i][lane] = v;
        w.z[i][lane] = i == lane;
    }
    bool known = !__any_sync(0xffffffffu, bad);
    for (int step = 16; step > 0; step /= 2) largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    const int power = largest > 0 && known ? ilogb(largest) : 0; /* squares neither overflow nor vanish */
    for (int i = 0; i < R; i++) {
        w.g[i][lane] = scalbn(w.g[i][lane], -power);
        squares += w.g[i][lane] * w.g[i][lane];
    }
    const f64 noise = EPSILON * EPSILON * warp_sum(squares);
    int sweeps = 0;
    while (known && sweep(w, lane, noise)) known = ++sweeps <= SWEEPS;
    if (known) write(w, lane, power, out); /* what is not a number has no order either */
    for (i64 i = lane; !known && i < count; i += 32) narrow(__longlong_as_double(0x7ff8000000000000ll), out[i]);
}
