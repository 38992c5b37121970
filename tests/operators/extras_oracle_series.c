/* Optional features of whole trajectories. SPDX-License-Identifier: BSD-3-Clause */
#include "extras_oracle.h"

#include <stdlib.h>
#include <string.h>

/* ---- Partial autocorrelation -------------------------------------------------------------------- */
static double autocorrelation(const double *s, int lag)
{
    double m = mean_of(s, T), zero = 1e-8, sum = 0;
    for (int t = 0; t < T; t++) zero += pow(s[t] - m, 2);
    for (int t = 0; t + lag < T; t++) sum += (s[t] - m) * (s[t + lag] - m) / zero;
    return sum;
}

double oracle_pacf(const double *s, int lag)
{
    double r = autocorrelation(s, lag), before = fmin(fmax(autocorrelation(s, lag - 1), -0.99), 0.99);
    return lag == 1 ? r : r / sqrt(1 - before * before + 1e-4);
}

/* ---- Recurrence: three values of every second step are a point ---------------------------------- */
enum { S = T / 2, R = S - 2 };

typedef bool recurrence[R + 1][R + 1]; /* a clear border ends every line */

static void every_second(const double *s, double *out)
{
    for (int t = 0; t < S; t++) out[t] = s[2 * t];
}

/* Distance of the points that begin at i and j, of n values each. */
static double distance(const double *s, int i, int j, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++) sum += pow(s[i + k] - s[j + k], 2);
    return sqrt(sum);
}

/* Pairs nearer than a tenth of the largest distance. Returns how many. */
static double find_recurrences(const double *s, recurrence near)
{
    double largest = 0, n = 0;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) largest = fmax(largest, distance(s, i, j, 3));
    memset(near, 0, sizeof(recurrence));
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) n += near[i][j] = i != j && distance(s, i, j, 3) < 0.1 * largest;
    return n;
}

/* Length of the line that begins at (i, j) and goes down by 1 and right by `right`; 0 when none begins at (i, j). */
static int line_at(const recurrence near, int i, int j, int right)
{
    int n = 0;
    if (!near[i][j] || (i > 0 && near[i - 1][j - right])) return 0;
    while (near[i + n][j + right * n]) n++;
    return n;
}

void oracle_recurrence(const double *s, double *out)
{
    double x[S], total, above = 0, diagonal = 0, column = 0, length[20] = { 0 }, lines = 0;
    recurrence near;
    every_second(s, x);
    total = find_recurrences(x, near);
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) {
            int down = line_at(near, i, j, 0), across = j > i ? line_at(near, i, j, 1) : 0;
            if (down >= 2) column += down;
            if (j > i) above += near[i][j];
            if (across < 2) continue;
            diagonal += across;
            length[across - 2 < 19 ? across - 2 : 19]++;
            lines++;
        }
    out[0] = total / (R * (R - 1.0));
    out[1] = diagonal / (above + 1e-8);
    out[2] = column / (total + 1e-8);
    out[3] = 0;
    for (int k = 0; k < 20; k++)
        if (length[k] > 0) out[3] -= length[k] / lines * log(length[k] / lines);
}

/* ---- Correlation dimension: five values are a point --------------------------------------------- */
static double quantile(const double *sorted, int n, double q)
{
    double rank = q * (n - 1);
    int below = (int)rank;
    return sorted[below] + (rank - below) * (sorted[below + 1] - sorted[below]);
}

static double slope(const double *x, const double *y, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int k = 0; k < n; k++) {
        sx += x[k];
        sy += y[k];
        sxx += x[k] * x[k];
        sxy += x[k] * y[k];
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

double oracle_dimension(const double *s)
{
    enum { POINTS = S - 4 };
    double x[S], pair[POINTS * POINTS], radius[10], share[10];
    int n = 0, used = 0;
    every_second(s, x);
    for (int i = 0; i < POINTS; i++)
        for (int j = i + 1; j < POINTS; j++) pair[n++] = distance(x, i, j, 5);
    qsort(pair, (size_t)n, sizeof *pair, ascending);
    double first = log(quantile(pair, n, 0.01)), last = log(quantile(pair, n, 0.99));
    for (int k = 0; k < 10; k++) {
        double r = exp(first + (last - first) * k / 9), count = 0;
        for (int i = 0; i < n; i++) count += pair[i] < r;
        if (count == 0) continue;
        radius[used] = log(r);
        share[used++] = log(count / n);
    }
    return slope(radius, share, used);
}

/* ---- Permutation entropy of order 3, of every step ---------------------------------------------- */
double oracle_permutation_entropy(const double *s)
{
    double count[27] = { 0 }, h = 0;
    for (int t = 0; t + 2 < T; t++) { /* the pattern as ranks; earlier values win ties */
        const double *z = &s[t];
        int r0 = (z[1] < z[0]) + (z[2] < z[0]), r1 = (z[0] <= z[1]) + (z[2] < z[1]), r2 = (z[0] <= z[2]) + (z[1] <= z[2]);
        count[9 * r0 + 3 * r1 + r2]++;
    }
    for (int k = 0; k < 27; k++)
        if (count[k] > 0) h -= count[k] / (T - 2) * log(count[k] / (T - 2)) / log(6);
    return h;
}

/* ---- From one channel to another ---------------------------------------------------------------- */
/* A series as symbols 0 to 7, by its range. */
static void symbols_of(const double *s, int *symbol)
{
    double lo = s[0], hi = s[0];
    for (int t = 0; t < T; t++) {
        lo = fmin(lo, s[t]);
        hi = fmax(hi, s[t]);
    }
    for (int t = 0; t < T; t++) symbol[t] = (int)((s[t] - lo) / (hi - lo + 1e-8) * 7);
}

/* sum p(next, now, from) log(p(next, now, from) p(now) / (p(next, now) p(now, from))) */
double oracle_transfer_entropy(const double *from, const double *to)
{
    double p[8][8][8] = { { { 0 } } }, now[8] = { 0 }, next_now[8][8] = { { 0 } }, now_from[8][8] = { { 0 } }, sum = 0; /* p[next][now][from] */
    int x[T], y[T];
    symbols_of(from, x);
    symbols_of(to, y);
    for (int t = 0; t + 1 < T; t++) {
        double one = 1.0 / (T - 1);
        p[y[t + 1]][y[t]][x[t]] += one;
        now[y[t]] += one;
        next_now[y[t + 1]][y[t]] += one;
        now_from[y[t]][x[t]] += one;
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 8; k++)
                if (p[i][j][k] > 0) sum += p[i][j][k] * log(p[i][j][k] * now[j] / (next_now[i][j] * now_from[j][k]));
    return sum;
}

/* How much better `to` is guessed with `from`: its last value against the mean of both last values. */
double oracle_granger(const double *from, const double *to)
{
    double alone = 0, both = 0;
    for (int t = 0; t + 1 < T; t++) {
        alone += pow(to[t + 1] - to[t], 2) / (T - 1);
        both += pow(to[t + 1] - 0.5 * (to[t] + from[t]), 2) / (T - 1);
    }
    return (alone - both) / (alone + 1e-8);
}

/* ---- Drift -------------------------------------------------------------------------------------- */
void oracle_drift(const double *y, double *out)
{
    double d[T - 1], signs = 0;
    for (int t = 0; t + 1 < T; t++) {
        d[t] = y[t + 1] - y[t];
        signs += ((d[t] > 0) - (d[t] < 0)) / (T - 1.0);
    }
    out[0] = mean_of(d, T - 1);
    out[1] = pow(std_of(d, T - 1), 2);
    out[2] = y[T - 1] / (y[0] + 1e-8);
    out[3] = signs;
}
