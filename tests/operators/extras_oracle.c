/* Optional features of one channel of one state: its values, scales and entropies. SPDX-License-Identifier: BSD-3-Clause */
#include "extras_oracle.h"

#include <stdlib.h>
#include <string.h>

/* ---- Helpers ------------------------------------------------------------------------------------ */
int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double mean_of(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] / n;
    return s;
}

double std_of(const double *x, int n)
{
    double m = mean_of(x, n), s = 0;
    for (int i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);
    return n > 1 ? sqrt(s / (n - 1)) : 0;
}

void spectrum_of(const float *u, double complex *s)
{
    for (int k = 0; k < N; k++) {
        s[k] = 0;
        for (int i = 0; i < N; i++) s[k] += (double)u[i] * cexp(-2 * M_PI * I * ((k / G) * (i / G) + (k % G) * (i % G)) / G) / G;
    }
}

void in_double(const float *u, double *x)
{
    for (int i = 0; i < N; i++) x[i] = (double)u[i];
}

static double entropy_of(const double *count, int n)
{
    double total = 0, h = 0;
    for (int i = 0; i < n; i++) total += count[i];
    for (int i = 0; i < n; i++)
        if (count[i] > 0) h -= count[i] / total * log(count[i] / total + 1e-10);
    return h;
}

void bins_of(const float *u, int n_bins, int *bin)
{
    float lo = u[0], hi = u[0];
    for (int i = 0; i < N; i++) {
        lo = fminf(lo, u[i]);
        hi = fmaxf(hi, u[i]);
    }
    for (int i = 0; i < N; i++) bin[i] = (int)((u[i] - lo) / (hi - lo + 1e-8f) * (float)(n_bins - 1));
}

/* ---- Histogram ---------------------------------------------------------------------------------- */
void oracle_histogram(const float *u, double *out)
{
    int bin[N];
    double count[16] = { 0 }, most = 0, many = 0;
    bins_of(u, 16, bin);
    for (int i = 0; i < N; i++) count[bin[i]]++;
    for (int b = 0; b < 16; b++) {
        most = fmax(most, count[b] / N);
        many += count[b] > 0.01 * N;
    }
    out[0] = entropy_of(count, 16);
    out[1] = most;
    out[2] = many;
}

/* ---- Wavelets ----------------------------------------------------------------------------------- */
/* One Haar level of a (g x g) plane, rows then columns: averages replace `a`, details go to d. Returns the number of details. */
static int haar_level(double *a, int g, double *d)
{
    double half[N], next[N];
    int h = g / 2, n = 0;
    for (int y = 0; y < g; y++)
        for (int x = 0; x < h; x++) {
            half[y * g + x] = (a[y * g + 2 * x] + a[y * g + 2 * x + 1]) / M_SQRT2;
            half[y * g + h + x] = (a[y * g + 2 * x] - a[y * g + 2 * x + 1]) / M_SQRT2;
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < g; x++) {
            double upper = half[2 * y * g + x], lower = half[(2 * y + 1) * g + x];
            if (x < h) next[y * h + x] = (upper + lower) / M_SQRT2;
            else d[n++] = (upper + lower) / M_SQRT2;
            d[n++] = (upper - lower) / M_SQRT2;
        }
    memcpy(a, next, (size_t)(h * h) * sizeof *a);
    return n;
}

void oracle_wavelets(const float *u, double *out)
{
    double a[N], d[3 * N / 4];
    in_double(u, a);
    for (int level = 0, g = G; level < 4; level++, g /= 2) {
        int n = haar_level(a, g, d);
        double energy = 0, mean = 0;
        for (int i = 0; i < n; i++) {
            energy += d[i] * d[i] / (n / 3);
            mean += fabs(d[i]) / n;
        }
        out[3 * level] = energy;
        out[3 * level + 1] = mean;
        out[3 * level + 2] = std_of(d, n);
    }
}

/* ---- Pyramid ------------------------------------------------------------------------------------ */
/* 5 x 5 Gaussian of sigma 1, zero padded. */
static void blur(const double *p, int g, double *out)
{
    double w[5], total = 0;
    for (int k = 0; k < 5; k++) total += w[k] = exp(-(k - 2) * (k - 2) / 2.0);
    for (int i = 0; i < g * g; i++) {
        out[i] = 0;
        for (int k = 0; k < 25; k++) {
            int y = i / g + k / 5 - 2, x = i % g + k % 5 - 2;
            if (y >= 0 && y < g && x >= 0 && x < g) out[i] += w[k / 5] * w[k % 5] / total / total * p[y * g + x];
        }
    }
}

/* Means of 2 x 2 pixels of a (2h x 2h) plane. */
static void halve(const double *p, int h, double *out)
{
    for (int i = 0; i < h * h; i++) {
        const double *b = p + (i / h) * 4 * h + (i % h) * 2;
        out[i] = (b[0] + b[1] + b[2 * h] + b[2 * h + 1]) / 4;
    }
}

/* The value of an (h x h) plane at row y and column x of a plane twice as large: bilinear with half-pixel centres, edges held. */
static double upsampled(const double *p, int h, int y, int x)
{
    double row = fmin(fmax((y + 0.5) / 2 - 0.5, 0), h - 1), column = fmin(fmax((x + 0.5) / 2 - 0.5, 0), h - 1);
    int y0 = (int)row, x0 = (int)column, y1 = y0 + 1 < h ? y0 + 1 : h - 1, x1 = x0 + 1 < h ? x0 + 1 : h - 1;
    double fy = row - y0, fx = column - x0;
    return (1 - fy) * ((1 - fx) * p[y0 * h + x0] + fx * p[y0 * h + x1]) + fy * ((1 - fx) * p[y1 * h + x0] + fx * p[y1 * h + x1]);
}

void oracle_pyramid(const float *u, double *out)
{
    double p[N], smooth[N], down[N], d[N];
    in_double(u, p);
    for (int level = 0, g = G; level < 4; level++, g /= 2) {
        double energy = 0;
        blur(p, g, smooth);
        halve(smooth, g / 2, down);
        for (int i = 0; i < g * g; i++) {
            d[i] = p[i] - upsampled(down, g / 2, i / g, i % g);
            energy += d[i] * d[i] / (g * g);
        }
        out[2 * level] = energy;
        out[2 * level + 1] = std_of(d, g * g);
        memcpy(p, down, (size_t)(g * g / 4) * sizeof *p);
    }
}

/* ---- Entropies ---------------------------------------------------------------------------------- */
static double lag_sum(const double *x, int lag)
{
    double m = mean_of(x, N), sum = 0;
    for (int i = 0; i + lag < N; i++) sum += (x[i] - m) * (x[i + lag] - m);
    return sum;
}

/* The field as one series of 256 pixels: all of them are sampled. */
void oracle_series_entropy(const float *u, double *out)
{
    double x[N], power[N / 2 + 1], all = 1e-10, h = 0;
    in_double(u, x);
    for (int k = 0; k <= N / 2; k++) {
        double complex f = 0;
        for (int i = 0; i < N; i++) f += x[i] * cexp(-2 * M_PI * I * (k * i % N) / N);
        all += power[k] = (creal(f) * creal(f) + cimag(f) * cimag(f)) / N;
    }
    for (int k = 0; k <= N / 2; k++) h -= power[k] / all * log(power[k] / all + 1e-10);
    out[0] = fmin(fmax(-log((fabs(lag_sum(x, 3)) + 1e-10) / (fabs(lag_sum(x, 2)) + 1e-10)), 0), 10);
    out[1] = fmin(h, 10);
}

/* Turns columns p and q of a so that they are orthogonal. */
static void orthogonalise(double a[G][G], int p, int q)
{
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < G; i++) {
        pp += a[i][p] * a[i][p];
        qq += a[i][q] * a[i][q];
        pq += a[i][p] * a[i][q];
    }
    if (fabs(pq) < 1e-300) return;
    double z = (qq - pp) / (2 * pq), t = copysign(1, z) / (fabs(z) + sqrt(1 + z * z)), c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < G; i++) {
        double x = a[i][p], y = a[i][q];
        a[i][p] = c * x - s * y;
        a[i][q] = s * x + c * y;
    }
}

/* Singular values, ascending, by one-sided Jacobi rotations of columns. */
static void singular_values(double a[G][G], double *s)
{
    for (int sweep = 0; sweep < 60; sweep++)
        for (int p = 0; p < G; p++)
            for (int q = p + 1; q < G; q++) orthogonalise(a, p, q);
    for (int j = 0; j < G; j++) {
        double square = 0;
        for (int i = 0; i < G; i++) square += a[i][j] * a[i][j];
        s[j] = sqrt(square);
    }
    qsort(s, G, sizeof *s, ascending);
}

void oracle_singular_entropy(const float *u, double *out)
{
    double a[G][G], s[G], total = 0, square = 0, fourth = 0, held = 0;
    int n = 0;
    for (int i = 0; i < N; i++) a[i / G][i % G] = (double)u[i];
    singular_values(a, s);
    for (int i = 0; i < G; i++) {
        total += s[i];
        square += s[i] * s[i];
        fourth += pow(s[i], 4);
    }
    out[0] = 0;
    for (int i = 0; i < G; i++) out[0] -= s[i] / total * log(s[i] / total + 1e-10);
    out[1] = square * square / fourth / G;
    for (; held < 0.9 * square; n++) held += s[G - 1 - n] * s[G - 1 - n];
    out[2] = (double)n / G;
}

void oracle_coarse_entropy(const float *u, double *out)
{
    for (int k = 0; k < 3; k++) {
        int block = 2 << k, g = G / block;
        double mean[N] = { 0 }, count[16] = { 0 }, lo = INFINITY, hi = -INFINITY;
        for (int i = 0; i < N; i++) mean[i / G / block * g + i % G / block] += (double)u[i] / (block * block);
        for (int i = 0; i < g * g; i++) {
            lo = fmin(lo, mean[i]);
            hi = fmax(hi, mean[i]);
        }
        for (int i = 0; i < g * g; i++) count[(int)((mean[i] - lo) / (hi - lo + 1e-8) * 15)]++;
        out[k] = entropy_of(count, 16);
    }
}
