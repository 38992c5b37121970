/* Default features by plain loops in double. SPDX-License-Identifier: BSD-3-Clause */
#include "feature_oracle.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted_copy(const double *x, int n)
{
    double *s = malloc((size_t)n * sizeof *s);
    for (int i = 0; i < n; i++) s[i] = x[i];
    qsort(s, (size_t)n, sizeof *s, ascending);
    return s;
}

double oracle_quantile(const double *sorted, int n, double q)
{
    double at = q * (n - 1);
    int i = (int)floor(at);
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

static double mean_of(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s / n;
}

static double var_of(const double *x, int n)
{
    if (n < 2) return 0;
    double m = mean_of(x, n), s = 0;
    for (int i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);
    return s / (n - 1);
}

/* ---- One channel at one step ------------------------------------------------------------- */
static void spatial(const float *u, int g, bool corrected, double *out)
{
    int n = g * g;
    double *x = calloc((size_t)n, sizeof *x), *mag = malloc((size_t)n * sizeof *mag), *lap = malloc((size_t)n * sizeof *lap);
    double ax = 0, ay = 0, gxm = 0, gym = 0, lm = 0, e = 0, top = 0;
    for (int i = 0; i < n; i++) x[i] = u[i];
    double mean = mean_of(x, n), var = var_of(x, n), std = sqrt(var), sk = 0, ku = 0;
    for (int i = 0; i < n; i++) {
        double z = (x[i] - mean) / fmax(std, 1e-4);
        sk += z * z * z / n;
        ku += z * z * z * z / n;
    }
    double *s = sorted_copy(x, n), *dev = malloc((size_t)n * sizeof *dev);
    double median = s[(n - 1) / 2];
    for (int i = 0; i < n; i++) dev[i] = fabs(x[i] - median);
    double *sd = sorted_copy(dev, n);
    for (int y = 0; y < g; y++)
        for (int k = 0; k < g; k++) {
            double left = x[y * g + (k + g - 1) % g], right = x[y * g + (k + 1) % g];
            double up = x[(y + g - 1) % g * g + k], down = x[(y + 1) % g * g + k];
            double gx = (right - left) / 2, gy = (down - up) / 2;
            mag[y * g + k] = hypot(gx, gy);
            lap[y * g + k] = left + right + up + down - 4 * x[y * g + k];
            ax += fabs(gx) / n;
            ay += fabs(gy) / n;
            e += lap[y * g + k] * lap[y * g + k] / n;
            top = fmax(top, mag[y * g + k]);
            bool inner_x = k > 0 && k < g - 1, inner_y = y > 0 && y < g - 1;
            if (inner_x) gxm += gx / (g * (g - 2.0));
            if (inner_y) gym += gy / (g * (g - 2.0));
            if (inner_x && inner_y) lm += lap[y * g + k] / ((g - 2.0) * (g - 2.0));
        }
    double q[5] = { 0.05, 0.25, 0.5, 0.75, 0.95 };
    double v[24] = { mean, var, std, std < 1e-4 ? 0 : sk, std < 1e-4 ? 0 : ku - 3, s[0], s[n - 1], s[n - 1] - s[0],
                     oracle_quantile(s, n, 0.75) - oracle_quantile(s, n, 0.25), sd[(n - 1) / 2], mean_of(mag, n), sqrt(var_of(mag, n)), top,
                     corrected ? gxm : 0, corrected ? gym : 0, ax / (ay + 1e-8), corrected ? lm : 0, sqrt(var_of(lap, n)), e };
    for (int i = 0; i < 5; i++) v[19 + i] = oracle_quantile(s, n, q[i]);
    memcpy(out, v, sizeof v);
    free(x); free(mag); free(lap); free(s); free(dev); free(sd);
}

/* |rfft2|^2 / g^2 by two plain transforms. */
static void power_spectrum(const float *u, int g, double *p)
{
    int h = g / 2 + 1;
    double complex *row = malloc((size_t)(g * h) * sizeof *row), *root = malloc((size_t)g * sizeof *root);
    for (int k = 0; k < g; k++) root[k] = cexp(-2 * M_PI * I * k / g);
    for (int y = 0; y < g; y++)
        for (int k = 0; k < h; k++) {
            double complex s = 0;
            for (int x = 0; x < g; x++) s += (double)u[y * g + x] * root[(int64_t)k * x % g];
            row[y * h + k] = s;
        }
    for (int j = 0; j < g; j++)
        for (int k = 0; k < h; k++) {
            double complex s = 0;
            for (int y = 0; y < g; y++) s += row[y * h + k] * root[(int64_t)j * y % g];
            p[j * h + k] = (creal(s) * creal(s) + cimag(s) * cimag(s)) / ((double)g * g);
        }
    free(row); free(root);
}

static void spectral(const float *u, int g, bool corrected, double *out)
{
    int h = g / 2 + 1, n = g * h;
    double *p = malloc((size_t)n * sizeof *p), *f = malloc((size_t)n * sizeof *f), *kx = malloc((size_t)n * sizeof *kx);
    double *ky = malloc((size_t)n * sizeof *ky), total = 0, logs = 0, most = 0;
    float *single = malloc((size_t)n * sizeof *single), largest = 0; /* the bins' radii as float32 has them */
    power_spectrum(u, g, p);
    for (int i = 0; i < n; i++) {
        int r = i / h, c = i % h;
        kx[i] = (double)c / g;
        ky[i] = (2 * r < g ? r : r - g) / (double)g;
        f[i] = hypot(kx[i], ky[i]);
        float x32 = (float)c / (float)g, y32 = (float)(2 * r < g ? r : r - g) / (float)g;
        single[i] = sqrtf(x32 * x32 + y32 * y32) * (float)g;
        largest = fmaxf(largest, single[i]);
        total += p[i];
        logs += log(p[i] + 1e-10) / n;
        most = fmax(most, p[i]);
    }
    for (int b = 0; b < 5; b++) {
        float first = (float)sqrt(0.5), last = (float)sqrt((double)largest), step = (last - first) / 5;
        float a = b < 3 ? first + step * (float)b : last - step * (float)(5 - b);
        float z = b + 1 < 3 ? first + step * (float)(b + 1) : last - step * (float)(4 - b);
        double nb = 0, sum = 0, max = 0, *masked = calloc((size_t)n, sizeof *masked);
        for (int i = 0; i < n; i++) nb += single[i] >= a * a && single[i] < z * z;
        for (int i = 0; i < n; i++) {
            if (!(single[i] >= a * a && single[i] < z * z)) continue;
            sum += p[i];
            max = fmax(max, p[i]);
            masked[i] = p[i] / sqrt(nb + 1e-8);
        }
        out[3 * b] = sum / (nb + 1e-8);
        out[3 * b + 1] = fmin(max / (nb + 1e-8), 1e6);
        out[3 * b + 2] = sqrt(var_of(masked, n));
        free(masked);
    }
    int best = 0;
    while (best < n - 1 && p[best] < most * (1 - 1e-10)) best++;
    double cx = 0, cy = 0, spread = 0, low = 0, mid = 0, high = 0, xx = 0, yy = 0;
    double t1 = corrected ? 1.0 / 6 : g / 16.0, t2 = corrected ? 1.0 / 3 : g / 8.0;
    for (int i = 0; i < n; i++) {
        cx += p[i] * kx[i] / (total + 1e-8);
        cy += p[i] * ky[i] / (total + 1e-8);
        float radius = single[i] / (float)g;
        *(radius < (float)t1 ? &low : radius < (float)t2 ? &mid : &high) += p[i];
        xx += p[i] * kx[i] * kx[i];
        yy += p[i] * ky[i] * ky[i];
    }
    for (int i = 0; i < n; i++) spread += p[i] * ((kx[i] - cx) * (kx[i] - cx) + (ky[i] - cy) * (ky[i] - cy));
    double *s = sorted_copy(p, n), reached = 0;
    int count = 0;
    while (count < n - 1 && (reached += s[n - 1 - count]) < 0.85 * total) count++;
    double v[12] = { (double)(best % h) / g, (double)(best / h) / g, p[best], cx, cy, sqrt(spread / (total + 1e-8) + 1e-8),
                     low / (total + 1e-8), mid / (total + 1e-8), high / (total + 1e-8), exp(logs) / (total / n + 1e-10), (double)count / n,
                     corrected ? xx / (yy + 1e-8) : total / (total + 1e-8) };
    memcpy(out + 15, v, sizeof v);
    free(p); free(f); free(kx); free(ky); free(single); free(s);
}

void oracle_channel(const float *u, int g, bool corrected, double *out)
{
    spatial(u, g, corrected, out);
    spectral(u, g, corrected, out + 24);
}

/* ---- Channels together ------------------------------------------------------------------------ */
static void bin_all(const float *u, int n, int bins, int *bin)
{
    float lo = u[0], hi = u[0];
    for (int i = 1; i < n; i++) {
        lo = fminf(lo, u[i]);
        hi = fmaxf(hi, u[i]);
    }
    float width = (hi - lo) + 1e-8f;
    for (int i = 0; i < n; i++) bin[i] = (int)floorf((u[i] - lo) / width * (float)(bins - 1));
}

/* How many eigenvalues of a symmetric 3 x 3 matrix lie below x: negative pivots of a - x (Sylvester). */
static int below(double a[3][3], double x)
{
    double b[3][3];
    int count = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) b[i][j] = a[i][j] - (i == j) * x;
    for (int k = 0; k < 3; k++) {
        double pivot = b[k][k] == 0 ? 1e-300 : b[k][k];
        count += pivot < 0;
        for (int i = k + 1; i < 3; i++)
            for (int j = k + 1; j < 3; j++) b[i][j] -= b[i][k] * b[k][j] / pivot;
    }
    return count;
}

/* Descending, by bisection. */
static void eigen3(double a[3][3], double l[3])
{
    for (int k = 0; k < 3; k++) {
        double lo = -10, hi = 10;
        for (int i = 0; i < 200; i++) {
            double x = 0.5 * (lo + hi);
            *(below(a, x) > 2 - k ? &hi : &lo) = x;
        }
        l[k] = 0.5 * (lo + hi);
    }
}

static void cross_channel(const float *u, int g, bool corrected, double *out)
{
    int n = g * g, *bin = malloc((size_t)(3 * n) * sizeof *bin);
    double r[3][3] = { { 0 } }, *z = malloc((size_t)(3 * n) * sizeof *z), variances = 0;
    for (int c = 0; c < 3; c++) {
        double *x = z + c * n;
        for (int i = 0; i < n; i++) x[i] = u[c * n + i];
        double m = mean_of(x, n), v = var_of(x, n);
        variances += v;
        for (int i = 0; i < n; i++) x[i] = (x[i] - m) / (sqrt(v) + 1e-8);
        bin_all(u + c * n, n, 16, bin + c * n);
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < n; i++) r[a][b] += z[a * n + i] * z[b * n + i] / n;
    double l[3], off[3] = { r[0][1], r[0][2], r[1][2] }, trace = r[0][0] + r[1][1] + r[2][2], mi[3];
    eigen3(r, l);
    for (int k = 0; k < 3; k++) {
        int *a = bin + (k == 2) * n, *b = bin + (k == 0 ? 1 : 2) * n;
        double joint[16][16] = { { 0 } }, pa[16] = { 0 }, pb[16] = { 0 };
        for (int i = 0; i < n; i++) {
            joint[a[i]][b[i]] += 1.0 / n;
            pa[a[i]] += 1.0 / n;
            pb[b[i]] += 1.0 / n;
        }
        mi[k] = 0;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++)
                if (joint[i][j] > 0) mi[k] += joint[i][j] * log(joint[i][j] / (pa[i] * pb[j] + 1e-10));
    }
    double v[12] = { l[0], l[1], l[2], corrected ? variances : trace, l[0] / (l[2] + 1e-8),
                     trace * trace / (l[0] * l[0] + l[1] * l[1] + l[2] * l[2] + 1e-8), mean_of(off, 3),
                     fmax(off[0], fmax(off[1], off[2])), fmin(off[0], fmin(off[1], off[2])), sqrt(var_of(off, 3)), mean_of(mi, 3),
                     fmax(mi[0], fmax(mi[1], mi[2])) };
    memcpy(out, v, sizeof v);
    free(bin); free(z);
}

/* ---- Trajectories ---------------------------------------------------------------------------------- */
static double slope(const double *y, int n)
{
    double st = 0, sy = 0, stt = 0, sty = 0;
    for (int t = 0; t < n; t++) {
        st += t;
        sy += y[t];
        stt += (double)t * t;
        sty += t * y[t];
    }
    return (n * sty - st * sy) / (n * stt - st * st);
}

static int sign(double x) { return (x > 0) - (x < 0); }

static void dynamics(const double *s, const double *e, const double *v, int n, double *out)
{
    double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    memset(out, 0, 36 * sizeof *out);
    for (int t = 0; t < n; t++) {
        a[t] = log(e[t] + 1e-8);
        b[t] = log(v[t] + 1e-8);
    }
    out[0] = slope(a, n);
    out[2] = slope(b, n);
    for (int t = 2; t < n; t++) out[1] += fabs(e[t] - 2 * e[t - 1] + e[t - 2]) / (n - 2);
    double me = mean_of(e, n), most = -1, lo = e[0], hi = e[0];
    int best = 1;
    for (int t = 0; t < n; t++) {
        lo = fmin(lo, e[t]);
        hi = fmax(hi, e[t]);
    }
    for (int k = 1; k <= n / 2 && hi > lo; k++) {
        double complex f = 0;
        for (int t = 0; t < n; t++) f += (e[t] - me) * cexp(-2 * M_PI * I * ((int64_t)k * t % n) / n);
        double power = creal(f) * creal(f) + cimag(f) * cimag(f);
        if (power > most) {
            most = power;
            best = k;
        }
    }
    out[3] = (double)best / n;
    out[4] = hi - lo;
    out[5] = 1 / (out[3] + 1e-8);
    double ms = mean_of(s, n), r0 = 0, std = sqrt(var_of(s, n));
    for (int t = 0; t < n; t++) r0 += (s[t] - ms) * (s[t] - ms);
    out[6] = 20;
    for (int k = (n < 20 ? n : 20) - 1; k >= 0; k--) {
        double r = 0;
        for (int t = 0; t + k < n; t++) r += (s[t] - ms) * (s[t + k] - ms);
        if (r / (r0 + 1e-8) < exp(-1)) out[6] = k;
    }
    for (int t = 0; t + 1 < n; t++) out[7] += log(fabs(s[t + 1] - s[t]) + 1e-8) / (n - 1);
    for (int t = 0; t + 2 < n; t++) {
        out[8] += fabs(s[t + 2] - 2 * s[t + 1] + s[t]) / (n - 2);
        out[9] += (sign(s[t + 2] - s[t + 1]) != sign(s[t + 1] - s[t])) / (n - 2.0);
    }
    out[10] = (fabs(s[n - 1]) + 1e-8) / (fabs(s[0]) + 1e-8);
    double k = slope(s, n), res = 0;
    for (int t = 0; t < n; t++) {
        a[t] = s[t] - ms - k * (t - (n - 1) / 2.0);
        res += a[t] * a[t];
    }
    out[11] = fmin(fmax(1 - res / (r0 + 1e-8), 0), 1);
    out[12] = var_of(a, n);
    int *high = calloc((size_t)n + 2, sizeof *high), *burst = calloc((size_t)n + 2, sizeof *burst); /* padded on both sides */
    for (int t = 0; t < n; t++) high[t + 1] = s[t] > ms + 2 * std;
    for (int t = 1; t <= n; t++) burst[t] = high[t - 1] && high[t] && high[t + 1];
    for (int t = 2; t <= n; t++) {
        out[13] += high[t] && !high[t - 1];
        out[14] += burst[t] && !burst[t - 1];
        out[15] += sign(s[t - 1] - ms) != sign(s[t - 2] - ms);
    }
    out[16] = out[17] = 1;
    for (int t = n - 1; t >= 0; t--) {
        if (s[t] < 0.5 * s[0]) out[16] = (double)t / n;
        if (s[t] > 2 * s[0]) out[17] = (double)t / n;
    }
    static const double fraction[3] = { 0.05, 0.10, 0.20 };
    for (int w = 0; w < 3; w++) {
        int len = (int)(fraction[w] * n) < 2 ? 2 : (int)(fraction[w] * n), count = n - len + 1;
        double *o = out + 18 + 6 * w;
        for (int t = 0; t < count; t++) {
            double *sorted = sorted_copy(s + t, len);
            a[t] = mean_of(s + t, len);
            b[t] = sqrt(var_of(s + t, len));
            o[2] += sorted[len - 1] / count;
            o[3] += sorted[0] / count;
            free(sorted);
        }
        o[0] = mean_of(a, count);
        o[1] = mean_of(b, count);
        o[4] = sqrt(var_of(a, count));
        o[5] = sqrt(var_of(b, count));
    }
    free(a); free(b); free(high); free(burst);
}

static double lagged(const double *a, const double *b, int n, int lag)
{
    int m = n - lag;
    if (m < 2) return 0;
    double ma = mean_of(a, m), mb = mean_of(b + lag, m), s = 0;
    for (int t = 0; t < m; t++) s += (a[t] - ma) * (b[t + lag] - mb) / m;
    return s / (sqrt(var_of(a, m)) * sqrt(var_of(b + lag, m)) + 1e-8);
}

static double corr_field(const double *a, const double *b, int n)
{
    double ma = mean_of(a, n), mb = mean_of(b, n), s = 0;
    for (int i = 0; i < n; i++) s += (a[i] - ma) * (b[i] - mb) / n;
    return s / ((sqrt(var_of(a, n)) + 1e-8) * (sqrt(var_of(b, n)) + 1e-8));
}

/* Errors of carrying the slope on, forward and backward in time. */
static void slope_errors(const double *s, int n, int lag, double *forward, double *backward)
{
    int nf = 0, nb = 0;
    *forward = *backward = 0;
    for (int t = 1; t + lag < n; t++, nf++) *forward += fabs(s[t + lag] - (s[t] + lag * (s[t] - s[t - 1])));
    for (int t = lag; t + 1 < n; t++, nb++) *backward += fabs(s[t - lag] - (s[t] - lag * (s[t + 1] - s[t])));
    if (nf) *forward /= nf;
    if (nb) *backward /= nb;
}

static void channel_causality(const float *x, int64_t stride, const double *s, int n, int g, bool corrected, double *out)
{
    int cells = g * g;
    double *gx = malloc((size_t)cells * sizeof *gx), *gy = malloc((size_t)cells * sizeof *gy), *u = malloc((size_t)cells * sizeof *u);
    for (int lag = 1; lag <= 2; lag++) {
        double e = 0, f, b;
        for (int t = 0; t + lag < n; t++) e += fabs(s[t + lag] - s[t]) / (n - lag);
        slope_errors(s, n, lag, &f, &b);
        out[2 * (lag - 1)] += corrected ? f / (b + 1e-8) : e / (e + 1e-8);
        out[2 * (lag - 1) + 1] += corrected ? f - b : 0;
    }
    double cube = 0, flow = 0, ratio = 0;
    for (int t = 0; t + 1 < n; t++) {
        const float *now = x + t * stride, *next = x + (t + 1) * stride;
        cube += pow(s[t + 1] - s[t], 3) / (n - 1);
        for (int i = 0; i < cells; i++) {
            int yy = i / g, xx = i % g;
            gx[i] = ((double)now[yy * g + (xx + 1) % g] - (double)now[yy * g + (xx + g - 1) % g]) / 2;
            gy[i] = ((double)now[(yy + 1) % g * g + xx] - (double)now[(yy + g - 1) % g * g + xx]) / 2;
            u[i] = next[i];
        }
        double rx = corr_field(gx, u, cells), ry = corr_field(gy, u, cells);
        flow += sqrt(rx * rx + ry * ry + 1e-8) / (n - 1);
        ratio += fabs(rx) / (fabs(ry) + 1e-8) / (n - 1);
    }
    out[4] += 2 * cube;
    out[5] += 2 * cube / (var_of(s, n) + 1e-8);
    out[6] += flow;
    out[7] += ratio;
    free(gx); free(gy); free(u);
}

/* L1, L2, Linf, entropy, tv of one field. */
static void invariants(const float *u, int g, double *out)
{
    int n = g * g, *bin = malloc((size_t)n * sizeof *bin), count[32] = { 0 };
    double square = 0;
    memset(out, 0, 5 * sizeof *out);
    bin_all(u, n, 32, bin);
    for (int i = 0; i < n; i++) {
        out[0] += fabs((double)u[i]);
        square += (double)u[i] * (double)u[i];
        out[2] = fmax(out[2], fabs((double)u[i]));
        count[bin[i]]++;
        if (i % g + 1 < g) out[4] += fabs((double)u[i + 1] - (double)u[i]);
        if (i / g + 1 < g) out[4] += fabs((double)u[i + g] - (double)u[i]);
    }
    out[1] = sqrt(square + 1e-8);
    for (int b = 0; b < 32; b++) {
        double p = (double)count[b] / n;
        if (p > 0) out[3] -= p * log(p + 1e-10);
    }
    free(bin);
}

static void lowpass(const float *u, int g, float *low, float *high)
{
    double w[9][9], total = 0;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) total += w[i][j] = exp(-((i - 4) * (i - 4) + (j - 4) * (j - 4)) / 8.0);
    for (int y = 0; y < g; y++)
        for (int x = 0; x < g; x++) {
            double s = 0;
            for (int i = 0; i < 9; i++)
                for (int j = 0; j < 9; j++) {
                    int v = y + i - 4, h = x + j - 4;
                    if (v >= 0 && v < g && h >= 0 && h < g) s += w[i][j] / total * (double)u[v * g + h];
                }
            low[y * g + x] = (float)s;
            high[y * g + x] = (float)((double)u[y * g + x] - s);
        }
}

static void drift(const float *x, int64_t stride, int n, int g, double *out)
{
    size_t cells = (size_t)(g * g);
    float *low = malloc(cells * sizeof *low), *high = malloc(cells * sizeof *high);
    double *series = malloc((size_t)(15 * n) * sizeof *series), *d = malloc((size_t)n * sizeof *d);
    for (int t = 0; t < n; t++) {
        const float *u = x + t * stride;
        lowpass(u, g, low, high);
        const float *field[3] = { u, low, high };
        for (int f = 0; f < 3; f++) {
            double v[5];
            invariants(field[f], g, v);
            for (int k = 0; k < 5; k++) series[(3 * k + f) * n + t] = v[k];
        }
    }
    for (int k = 0; k < 5; k++)
        for (int f = 0; f < 3; f++) {
            const double *y = series + (3 * k + f) * n;
            double signs = 0;
            for (int t = 0; t + 1 < n; t++) {
                d[t] = y[t + 1] - y[t];
                signs += sign(d[t]) / (n - 1.0);
            }
            double *o = out + 12 * k + f;
            o[0] += mean_of(d, n - 1);
            o[3] += var_of(d, n - 1);
            o[6] += y[n - 1] / (y[0] + 1e-8);
            o[9] += signs;
        }
    free(low); free(high); free(series); free(d);
}

static void trajectory(const float *x, int n, int g, bool corrected, double *out)
{
    int cells = g * g;
    double *s = malloc((size_t)(9 * n) * sizeof *s), sum[ORACLE_RUN] = { 0 }, v[36];
    memset(out, 0, ORACLE_RUN * sizeof *out);
    for (int c = 0; c < 3 && n > 1; c++) {
        double *m = s + 3 * c * n, *e = m + n, *var = e + n, *field = malloc((size_t)cells * sizeof *field);
        for (int t = 0; t < n; t++) {
            e[t] = 0;
            for (int i = 0; i < cells; i++) {
                field[i] = x[((int64_t)t * 3 + c) * cells + i];
                e[t] += field[i] * field[i];
            }
            m[t] = mean_of(field, cells);
            var[t] = var_of(field, cells);
        }
        free(field);
        dynamics(m, e, var, n, v);
        for (int k = 0; k < 36; k++) sum[k] += v[k];
        channel_causality(x + (int64_t)c * cells, 3 * (int64_t)cells, m, n, g, corrected, sum + 42);
        drift(x + (int64_t)c * cells, 3 * (int64_t)cells, n, g, sum + 50);
    }
    for (int k = 0; k < ORACLE_RUN; k++) out[k] = sum[k] / 3;
    for (int lag = 1; lag <= 3 && n > 1; lag++) {
        double most = 0, sizes = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double a = lagged(s + 3 * i * n, s + 3 * j * n, n, lag) - lagged(s + 3 * j * n, s + 3 * i * n, n, lag);
                if (i == j) continue;
                most = fmax(most, fabs(a));
                sizes += fabs(a) / 6;
            }
        out[36 + 2 * (lag - 1)] = corrected ? sizes : 0;
        out[37 + 2 * (lag - 1)] = most;
    }
    free(s);
}

void oracle_features(const float *x, int m, int t, int g, bool corrected, double *temporal, double *per_trajectory)
{
    int64_t state = 3 * (int64_t)g * g;
    memset(temporal, 0, (size_t)(t * ORACLE_STEP) * sizeof *temporal);
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < t; k++) {
            const float *u = x + ((int64_t)i * t + k) * state;
            double *row = temporal + k * ORACLE_STEP, v[51], w[12];
            for (int c = 0; c < 3; c++) {
                oracle_channel(u + (int64_t)c * g * g, g, corrected, v);
                for (int j = 0; j < 51; j++) row[j] += v[j] / (3 * m);
            }
            cross_channel(u, g, corrected, w);
            for (int j = 0; j < 12; j++) row[51 + j] += w[j] / m;
        }
        trajectory(x + (int64_t)i * t * state, t, g, corrected, per_trajectory + i * ORACLE_RUN);
    }
}
