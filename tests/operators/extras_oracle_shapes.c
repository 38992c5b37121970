/* Optional features of one channel of one state: structures, correlations, shapes. SPDX-License-Identifier: BSD-3-Clause */
#include "extras_oracle.h"

#include <stdlib.h>
#include <string.h>

/* 1 where the field is above its median by half a standard deviation. */
static void mask_of(const float *u, double *mask)
{
    double x[N], sorted[N];
    in_double(u, x);
    memcpy(sorted, x, sizeof sorted);
    qsort(sorted, N, sizeof *sorted, ascending);
    double limit = sorted[(N - 1) / 2] + 0.5 * std_of(x, N);
    for (int i = 0; i < N; i++) mask[i] = x[i] > limit;
}

/* 0 outside the field. */
static double at(const double *m, int y, int x) { return y < 0 || y >= G || x < 0 || x >= G ? 0 : m[y * G + x]; }

/* ---- Components, edges, grey levels ------------------------------------------------------------- */
/* Clears the component that holds pixel `start` and returns its size; neighbours touch by sides and corners. */
static int flood(double *mask, int start)
{
    int stack[9 * N], top = 0, size = 0;
    stack[top++] = start;
    mask[start] = 0;
    while (top) {
        int i = stack[--top];
        size++;
        for (int k = 0; k < 9; k++) {
            int y = i / G + k / 3 - 1, x = i % G + k % 3 - 1;
            if (at(mask, y, x) == 0) continue;
            mask[y * G + x] = 0;
            stack[top++] = y * G + x;
        }
    }
    return size;
}

void oracle_components(const float *u, double *out)
{
    double mask[N], size[N], largest = 0;
    int n = 0;
    mask_of(u, mask);
    for (int i = 0; i < N; i++)
        if (mask[i] > 0) size[n++] = flood(mask, i);
    for (int i = 0; i < n; i++) largest = fmax(largest, size[i]);
    out[0] = n;
    out[1] = largest / N;
    out[2] = n ? mean_of(size, n) : 0;
    out[3] = std_of(size, n);
}

static double sobel(const double *u, int y, int x)
{
    double left = at(u, y - 1, x - 1) + 2 * at(u, y, x - 1) + at(u, y + 1, x - 1), right = at(u, y - 1, x + 1) + 2 * at(u, y, x + 1) + at(u, y + 1, x + 1);
    double above = at(u, y - 1, x - 1) + 2 * at(u, y - 1, x) + at(u, y - 1, x + 1), below = at(u, y + 1, x - 1) + 2 * at(u, y + 1, x) + at(u, y + 1, x + 1);
    return hypot(right - left, below - above);
}

void oracle_edges(const float *u, double *out)
{
    double x[N], edge[N], strong = 0;
    in_double(u, x);
    for (int i = 0; i < N; i++) edge[i] = sobel(x, i / G, i % G);
    double mean = mean_of(edge, N), std = std_of(edge, N);
    for (int i = 0; i < N; i++) strong += edge[i] > mean + std;
    out[0] = strong / N;
    out[1] = mean;
    out[2] = std;
}

/* Correlation of the two indices of a joint distribution. */
static double index_correlation(double joint[8][8])
{
    double mi = 0, mj = 0, vi = 0, vj = 0, cov = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            mi += joint[i][j] * i;
            mj += joint[i][j] * j;
        }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            vi += joint[i][j] * pow(i - mi, 2);
            vj += joint[i][j] * pow(j - mj, 2);
            cov += joint[i][j] * (i - mi) * (j - mj);
        }
    return cov / (sqrt(vi * vj) + 1e-8);
}

/* Co-occurrence of eight grey levels with the right neighbour. */
void oracle_grey_levels(const float *u, double *out)
{
    int bin[N];
    double joint[8][8] = { { 0 } };
    bins_of(u, 8, bin);
    for (int i = 0; i < N; i++)
        if (i % G + 1 < G) joint[bin[i]][bin[i + 1]] += 1.0 / (G * (G - 1));
    out[0] = out[1] = out[2] = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            out[0] += joint[i][j] * (i - j) * (i - j);
            out[1] += joint[i][j] / (1 + abs(i - j));
            out[2] += joint[i][j] * joint[i][j];
        }
    out[3] = index_correlation(joint);
}

/* ---- Physics ------------------------------------------------------------------------------------ */
/* Distance of a shift from zero on the periodic grid, rounded. */
static int ring_of(int k)
{
    int dy = k / G, dx = k % G;
    return (int)round(hypot(dy < G - dy ? dy : G - dy, dx < G - dx ? dx : G - dx));
}

/* Periodic autocorrelation by direct sums, averaged over rings, over that at 0. */
static void radial_autocorrelation(const float *u, double *ring)
{
    double x[N], n_ring[G / 2 + 1] = { 0 };
    in_double(u, x);
    double m = mean_of(x, N);
    memset(ring, 0, (G / 2 + 1) * sizeof *ring);
    for (int k = 0; k < N; k++) {
        int r = ring_of(k);
        if (r > G / 2) continue;
        for (int i = 0; i < N; i++) ring[r] += (x[i] - m) * (x[(i / G + k / G) % G * G + (i % G + k % G) % G] - m);
        n_ring[r]++;
    }
    for (int r = G / 2; r >= 0; r--) ring[r] = ring[r] / n_ring[r] / ring[0];
}

/* The length is that of the exponential fitted to the first three rings. */
void oracle_correlation(const float *u, double *out)
{
    double ring[G / 2 + 1], y[3], rr = 0, ry = 0, peak = -INFINITY;
    radial_autocorrelation(u, ring);
    for (int r = 1; r <= G / 2; r++) peak = fmax(peak, ring[r]);
    for (int r = 0; r < 3; r++) y[r] = log(fmax(ring[r], 1e-8));
    for (int r = 0; r < 3; r++) {
        rr += (r - 1) * (r - 1);
        ry += (r - 1) * (y[r] - mean_of(y, 3));
    }
    out[0] = fmin(-rr / ry / (G / 2.0), 2);
    out[1] = peak;
}

void oracle_structure_factor(const float *u, double *out)
{
    double complex s[N];
    double factor[G / 2] = { 0 }, n[G / 2] = { 0 }, total = 0, spread = 0;
    int best = 0;
    spectrum_of(u, s);
    for (int k = 0; k < N; k++) {
        int r = ring_of(k);
        if (k % G > G / 2 || r < 1 || r > G / 2) continue; /* the half spectrum */
        factor[r - 1] += creal(s[k] * conj(s[k]));
        n[r - 1]++;
    }
    for (int r = 0; r < G / 2; r++) {
        total += factor[r] /= n[r];
        if (factor[r] > factor[best]) best = r;
    }
    for (int r = 0; r < G / 2; r++) spread += factor[r] * (r - best) * (r - best);
    out[0] = (best + 1.0) / G;
    out[1] = factor[best];
    out[2] = sqrt(spread / (total + 1e-8)) / G;
    out[3] = total;
}

void oracle_fluctuation(const float *u, double *out)
{
    double x[N];
    in_double(u, x);
    double m = mean_of(x, N), variance = pow(std_of(x, N), 2);
    out[0] = fmin(variance / (m * m + 1e-8), 100);
    out[1] = fmin(variance / (fabs(m) + 1e-8), 100);
}

/* Mean of the 3 x 3 pixels around one, on the periodic grid. */
static double neighbourhood(const float *u, int y, int x)
{
    double sum = 0;
    for (int k = 0; k < 9; k++) sum += (double)u[(y + k / 3 - 1 + G) % G * G + (x + k % 3 - 1 + G) % G] / 9;
    return sum;
}

/* Correlation of those means with the ones a column to the right. */
void oracle_clustering(const float *u, double *out)
{
    enum { PAIRS = G * (G - 1) };
    double a[PAIRS], b[PAIRS], ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < PAIRS; i++) {
        a[i] = neighbourhood(u, i / (G - 1), i % (G - 1));
        b[i] = neighbourhood(u, i / (G - 1), i % (G - 1) + 1);
    }
    double ma = mean_of(a, PAIRS), mb = mean_of(b, PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += pow(a[i] - ma, 2);
        bb += pow(b[i] - mb, 2);
    }
    out[0] = ab / (sqrt(aa * bb) + 1e-8);
}

/* ---- Shapes ------------------------------------------------------------------------------------- */
typedef struct point { double x, y; } point;

/* The next corner of the hull after `now`: all points lie on one side of the line to it; of several on the line, the farthest. */
static int next_corner(const point *p, int n, int now)
{
    int next = now == 0 ? 1 : 0;
    for (int i = 0; i < n; i++) {
        point a = { p[next].x - p[now].x, p[next].y - p[now].y }, b = { p[i].x - p[now].x, p[i].y - p[now].y };
        double cross = a.x * b.y - a.y * b.x;
        bool none_yet = a.x == 0 && a.y == 0;
        if (none_yet || cross < 0 || (cross == 0 && hypot(b.x, b.y) > hypot(a.x, a.y))) next = i;
    }
    return next;
}

/* Area of the convex hull of all pixel corners, by gift wrapping. */
static double hull_area(const double *mask)
{
    point p[4 * N];
    int n = 0, first = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4 && mask[i] > 0; k++) p[n++] = (point){ i % G + k % 2, i / G + k / 2 };
    for (int i = 1; i < n; i++)
        if (p[i].x < p[first].x || (p[i].x == p[first].x && p[i].y < p[first].y)) first = i;
    double area = 0;
    int now = first;
    do {
        int next = next_corner(p, n, now);
        area += (p[now].x * p[next].y - p[next].x * p[now].y) / 2;
        now = next;
    } while (p[now].x != p[first].x || p[now].y != p[first].y);
    return fabs(area);
}

/* Pixels of the mask that have a side without a neighbour. */
static double perimeter_of(const double *mask)
{
    double n = 0;
    for (int i = 0; i < N; i++) {
        int y = i / G, x = i % G;
        n += mask[i] > 0 && at(mask, y - 1, x) * at(mask, y + 1, x) * at(mask, y, x - 1) * at(mask, y, x + 1) == 0;
    }
    return n;
}

/* Area of the smallest rectangle along the axes that holds the mask. */
static double box_area(const double *mask)
{
    int left = G, right = -1, top = G, bottom = -1;
    for (int i = 0; i < N; i++) {
        if (mask[i] == 0) continue;
        left = i % G < left ? i % G : left;
        right = i % G > right ? i % G : right;
        top = i / G < top ? i / G : top;
        bottom = i / G > bottom ? i / G : bottom;
    }
    return (right - left + 1.0) * (bottom - top + 1);
}

typedef struct moments { double area, cx, cy, m20, m02, m11; } moments;

static moments moments_of(const double *mask)
{
    moments m = { 0 };
    for (int i = 0; i < N; i++) {
        m.area += mask[i];
        m.cx += mask[i] * (i % G);
        m.cy += mask[i] * (i / G);
    }
    m.cx /= m.area;
    m.cy /= m.area;
    for (int i = 0; i < N; i++) {
        m.m20 += mask[i] * pow(i % G - m.cx, 2);
        m.m02 += mask[i] * pow(i / G - m.cy, 2);
        m.m11 += mask[i] * (i % G - m.cx) * (i / G - m.cy);
    }
    return m;
}

static double log_moment(double hu) { return fmin(fmax(-log10(fabs(hu) + 1e-10), -10), 10); }

void oracle_shape(const float *u, double *out)
{
    double mask[N];
    mask_of(u, mask);
    moments m = moments_of(mask);
    double outline = perimeter_of(mask), squared = m.area * m.area;
    double half = (m.m20 + m.m02) / 2, gap = sqrt(pow((m.m20 - m.m02) / 2, 2) + m.m11 * m.m11);
    out[0] = m.area / N;
    out[1] = outline / (2 * G);
    out[2] = fmin(4 * M_PI * m.area / (outline * outline), 1);
    out[3] = sqrt(1 - (half - gap) / (half + gap));
    out[4] = m.area / hull_area(mask);
    out[5] = m.area / box_area(mask);
    out[6] = m.cx / G;
    out[7] = m.cy / G;
    out[8] = log_moment((m.m20 + m.m02) / squared);
    out[9] = log_moment(pow((m.m20 - m.m02) / squared, 2) + 4 * pow(m.m11 / squared, 2));
}

/* Area of an opening: what is covered by squares of side 2 r + 1 that lie inside the mask. */
static double opened_area(const double *mask, int r)
{
    double kept[N] = { 0 }, area = 0;
    for (int i = 0; i < N; i++) {
        bool fits = true;
        for (int y = -r; y <= r; y++)
            for (int x = -r; x <= r; x++) fits = fits && at(mask, i / G + y, i % G + x) > 0;
        for (int y = -r; fits && y <= r; y++)
            for (int x = -r; x <= r; x++) kept[(i / G + y) * G + i % G + x] = 1;
    }
    for (int i = 0; i < N; i++) area += kept[i];
    return area;
}

void oracle_granules(const float *u, double *out)
{
    double mask[N], removed[4], total = 1e-8, mean = 0, variance = 0;
    mask_of(u, mask);
    double before = moments_of(mask).area;
    for (int k = 0; k < 4; k++) {
        double now = opened_area(mask, k + 1);
        total += removed[k] = before - now;
        before = now;
    }
    for (int k = 0; k < 4; k++) mean += removed[k] * (2 * k + 3) / total;
    for (int k = 0; k < 4; k++) variance += removed[k] * pow(2 * k + 3 - mean, 2) / total;
    out[0] = mean;
    out[1] = sqrt(variance);
}
