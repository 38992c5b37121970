/* The loops themselves, compiled once per instruction set (lt_isa_sources). Plain C that compilers vectorise; `omp simd` allows them to reorder the named sums.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/field/loops.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SIMD(clauses) _Pragma(SIMD_TEXT(omp simd clauses))
#define SIMD_TEXT(x) #x

static inline double absolute(double x) { return x < 0 ? -x : x; }

/* ---- Moments and norms -------------------------------------------------------------- */
static void range(const float *u, int64_t n, lt_range_sums *out)
{
    double sum = 0;
    float lo = u[0], hi = u[0];
    SIMD(reduction(+ : sum) reduction(min : lo) reduction(max : hi))
    for (int64_t i = 0; i < n; i++) {
        sum += (double)u[i];
        lo = u[i] < lo ? u[i] : lo;
        hi = u[i] > hi ? u[i] : hi;
    }
    *out = (lt_range_sums){ sum, lo, hi };
}

static void moments(const float *u, int64_t n, double mean, lt_moment_sums *out)
{
    double m2 = 0, m3 = 0, m4 = 0;
    SIMD(reduction(+ : m2, m3, m4))
    for (int64_t i = 0; i < n; i++) {
        double d = (double)u[i] - mean, d2 = d * d;
        m2 += d2;
        m3 += d2 * d;
        m4 += d2 * d2;
    }
    *out = (lt_moment_sums){ m2, m3, m4 };
}

static void norm_row(const float *u, int g, lt_norm_sums *s)
{
    double sum = 0, abs = 0, square = 0, variation = 0, gradient = 0;
    float lo = s->lo, hi = s->hi;
    SIMD(reduction(+ : sum, abs, square) reduction(min : lo) reduction(max : hi))
    for (int x = 0; x < g; x++) {
        double v = (double)u[x];
        sum += v;
        abs += absolute(v);
        square += v * v;
        lo = u[x] < lo ? u[x] : lo;
        hi = u[x] > hi ? u[x] : hi;
    }
    SIMD(reduction(+ : variation, gradient))
    for (int x = 0; x < g - 1; x++) {
        double d = (double)u[x + 1] - (double)u[x];
        variation += absolute(d);
        gradient += d * d;
    }
    *s = (lt_norm_sums){ s->sum + sum, s->abs + abs, s->square + square, s->variation + variation, s->gradient + gradient, lo, hi };
}

static void norm_between(const float *u, const float *below, int g, lt_norm_sums *s)
{
    double variation = 0, gradient = 0;
    SIMD(reduction(+ : variation, gradient))
    for (int x = 0; x < g; x++) {
        double d = (double)below[x] - (double)u[x];
        variation += absolute(d);
        gradient += d * d;
    }
    s->variation += variation;
    s->gradient += gradient;
}

static void norms(const float *u, int g, lt_norm_sums *out)
{
    lt_norm_sums s = { .lo = u[0], .hi = u[0] };
    for (int y = 0; y < g; y++) {
        norm_row(u + (int64_t)y * g, g, &s);
        if (y + 1 < g) norm_between(u + (int64_t)y * g, u + (int64_t)(y + 1) * g, g, &s);
    }
    *out = s;
}

/* ---- Derivatives ---------------------------------------------------------------------- */
/* Row y of a periodic field as doubles, with its neighbours across the border at [-1] and [g]. */
static double *load_row(const float *u, int g, int y, double *rows)
{
    double *row = rows + (int64_t)((y + 3) % 3) * (g + 2) + 1;
    const float *from = u + (int64_t)((y + g) % g) * g;
    SIMD()
    for (int x = 0; x < g; x++) row[x] = (double)from[x];
    row[-1] = row[g - 1];
    row[g] = row[0];
    return row;
}

static void gradient_row(const double *up, const double *at, const double *down, int g, lt_gradient_sums *s)
{
    double magnitude = 0, x_square = 0, y_square = 0, x_abs = 0, y_abs = 0, laplacian_square = 0, max_square = s->max_square;
    SIMD(reduction(+ : magnitude, x_square, y_square, x_abs, y_abs, laplacian_square) reduction(max : max_square))
    for (int x = 0; x < g; x++) {
        double gx = 0.5 * (at[x + 1] - at[x - 1]), gy = 0.5 * (down[x] - up[x]);
        double xx = gx * gx, yy = gy * gy, square = xx + yy;
        double laplacian = (at[x + 1] + at[x - 1]) + (down[x] + up[x]) - 4 * at[x];
        magnitude += sqrt(square);
        x_square += xx;
        y_square += yy;
        x_abs += absolute(gx);
        y_abs += absolute(gy);
        laplacian_square += laplacian * laplacian;
        max_square = square > max_square ? square : max_square;
    }
    *s = (lt_gradient_sums){ s->magnitude + magnitude, max_square, s->x_square + x_square, s->y_square + y_square,
                             s->x_abs + x_abs, s->y_abs + y_abs, s->laplacian_square + laplacian_square };
}

/* Three rows are held at a time; row y lies in slot y mod 3, the one before the first too. */
static void gradients(const float *u, int g, double *rows, lt_gradient_sums *out)
{
    lt_gradient_sums s = { 0 };
    double *up = load_row(u, g, -1, rows), *at = load_row(u, g, 0, rows);
    for (int y = 0; y < g; y++) {
        double *down = load_row(u, g, y + 1, rows);
        gradient_row(up, at, down, g, &s);
        up = at;
        at = down;
    }
    *out = s;
}

static void flow(const float *before, const float *now, int g, double mean, double *rows, double out[2])
{
    double total_x = 0, total_y = 0;
    double *up = load_row(before, g, -1, rows), *at = load_row(before, g, 0, rows);
    for (int y = 0; y < g; y++) {
        double *down = load_row(before, g, y + 1, rows);
        const float *u = now + (int64_t)y * g;
        double sx = 0, sy = 0;
        SIMD(reduction(+ : sx, sy))
        for (int x = 0; x < g; x++) {
            double d = (double)u[x] - mean;
            sx += 0.5 * (at[x + 1] - at[x - 1]) * d;
            sy += 0.5 * (down[x] - up[x]) * d;
        }
        total_x += sx;
        total_y += sy;
        up = at;
        at = down;
    }
    out[0] = total_x;
    out[1] = total_y;
}

/* ---- Low-pass filter ---------------------------------------------------------------------- */
/* to[x] = sum_k weight[k] (from[x - k] + from[x + k]) */
static void filter_taps(const double *centre, const double *weight, int radius, int g, double *to)
{
    SIMD()
    for (int x = 0; x < g; x++) to[x] = weight[0] * centre[x];
    for (int k = 1; k <= radius; k++) {
        double w = weight[k];
        SIMD()
        for (int x = 0; x < g; x++) to[x] += w * (centre[x - k] + centre[x + k]);
    }
}

static void blur(const float *u, int g, const double *weight, int radius, double *rows, float *low, float *high)
{
    int n_ring = 2 * radius + 1;
    double *ring = rows, *padded = rows + (int64_t)n_ring * g, *sum = padded + g + 2 * radius;
    memset(padded, 0, (size_t)(g + 2 * radius) * sizeof *padded);
    for (int y = -radius; y < g; y++) {
        int next = y + radius;                      /* the row that enters the ring */
        double *into = ring + (int64_t)(next % n_ring) * g;
        if (next < g) {
            SIMD()
            for (int x = 0; x < g; x++) padded[radius + x] = (double)u[(int64_t)next * g + x];
            filter_taps(padded + radius, weight, radius, g, into);
        } else {
            memset(into, 0, (size_t)g * sizeof *into);
        }
        if (y < 0) continue;
        const double *centre = ring + (int64_t)(y % n_ring) * g;
        SIMD()
        for (int x = 0; x < g; x++) sum[x] = weight[0] * centre[x];
        for (int k = 1; k <= radius; k++) {
            const double *below = ring + (int64_t)((y + k) % n_ring) * g;
            const double *above = ring + (int64_t)((y - k + n_ring) % n_ring) * g;
            double w = weight[k];
            if (y - k >= 0) {
                SIMD()
                for (int x = 0; x < g; x++) sum[x] += w * (below[x] + above[x]);
            } else {
                SIMD()
                for (int x = 0; x < g; x++) sum[x] += w * below[x];
            }
        }
        const float *from = u + (int64_t)y * g;
        float *to_low = low + (int64_t)y * g, *to_high = high + (int64_t)y * g;
        SIMD()
        for (int x = 0; x < g; x++) {
            to_low[x] = (float)sum[x];
            double rest = (double)from[x] - sum[x]; /* twice the largest float at most */
            rest = rest < (double)FLT_MAX ? rest : (double)FLT_MAX;
            to_high[x] = (float)(rest > -(double)FLT_MAX ? rest : -(double)FLT_MAX);
        }
    }
}

/* ---- Bins ------------------------------------------------------------------------------------- */
static void bins(const float *u, int64_t n, float lo, float width, float top, uint8_t *bin)
{
    SIMD()
    for (int64_t i = 0; i < n; i++) bin[i] = (uint8_t)(int32_t)(((u[i] - lo) / width) * top);
}

static void buckets(const float *u, int64_t n, float lo, float scale, int last, uint16_t *bucket)
{
    SIMD()
    for (int64_t i = 0; i < n; i++) {
        float b = (u[i] - lo) * scale;
        bucket[i] = (uint16_t)(int32_t)(b < (float)last ? b : (float)last);
    }
}

static void distances(const float *u, int64_t n, float from, float *out)
{
    SIMD()
    for (int64_t i = 0; i < n; i++) {
        float d = u[i] - from;
        out[i] = d < 0 ? -d : d;
    }
}

static void widen(const float *u, int64_t n, double *out)
{
    SIMD()
    for (int64_t i = 0; i < n; i++) out[i] = (double)u[i];
}

static void products(const float *a, const float *b, const float *c, int64_t n, const double mean[3], double out[3])
{
    double ma = mean[0], mb = mean[1], mc = mean[2], ab = 0, ac = 0, bc = 0;
    SIMD(reduction(+ : ab, ac, bc))
    for (int64_t i = 0; i < n; i++) {
        double x = (double)a[i] - ma, y = (double)b[i] - mb, z = (double)c[i] - mc;
        ab += x * y;
        ac += x * z;
        bc += y * z;
    }
    out[0] = ab;
    out[1] = ac;
    out[2] = bc;
}

/* ---- Spectra ------------------------------------------------------------------------------------ */
static void power(const double *spectrum, int64_t n, double scale, double *p)
{
    SIMD()
    for (int64_t i = 0; i < n; i++) {
        double re = spectrum[2 * i], im = spectrum[2 * i + 1];
        p[i] = (re * re + im * im) * scale;
    }
}

static void segment(const double *p, int64_t n, lt_power_sums *out)
{
    double sum = 0, square = 0, max = out->max;
    SIMD(reduction(+ : sum, square) reduction(max : max))
    for (int64_t i = 0; i < n; i++) {
        sum += p[i];
        square += p[i] * p[i];
        max = p[i] > max ? p[i] : max;
    }
    out->sum += sum;
    out->square += square;
    out->max = max;
}

static void row(const double *p, int n, lt_row_sums *out)
{
    double sum = 0, px = 0, pxx = 0, max = 0;
    SIMD(reduction(+ : sum, px, pxx) reduction(max : max))
    for (int j = 0; j < n; j++) {
        double x = (double)j;
        sum += p[j];
        px += x * p[j];
        pxx += x * x * p[j];
        max = p[j] > max ? p[j] : max;
    }
    *out = (lt_row_sums){ sum, px, pxx, max };
}

/* Mantissas in [1, 2) are multiplied and exponents added, so a logarithm is taken once per block:
   512 factors stay below 2^512. */
static double log_sum(const double *p, int64_t n, double shift)
{
    enum { BLOCK = 512 };
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        int64_t count = n - begin < BLOCK ? n - begin : BLOCK, exponent = 0;
        const double *block = p + begin;
        double product = 1;
        SIMD(reduction(* : product) reduction(+ : exponent))
        for (int64_t i = 0; i < count; i++) {
            double v = block[i] + shift, mantissa;
            uint64_t bits;
            memcpy(&bits, &v, sizeof bits);
            exponent += (int64_t)(bits >> 52);
            bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
            memcpy(&mantissa, &bits, sizeof mantissa);
            product *= mantissa;
        }
        total += log(product) + (double)(exponent - 1023 * count) * M_LN2;
    }
    return total;
}

const lt_feature_loops LT_ISA_NAME(lt_feature_loops) = {
    .range = range, .moments = moments, .norms = norms, .gradients = gradients, .flow = flow, .blur = blur, .bins = bins,
    .buckets = buckets, .distances = distances, .widen = widen, .products = products, .power = power, .segment = segment,
    .row = row, .log_sum = log_sum,
};
