/* The loops of cpu/conv/winograd/winograd.h for vectors of W floats; the including file defines W, ROWS (what the
   registers hold: 2 ROWS sums), NAME and the conversions half_load and half_store. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/winograd/winograd.h"

#include <string.h>

typedef float vec __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(2 * W), aligned(2), may_alias));

static inline vec load(const float *p) { return *(const vec *)p; }
static inline void store(float *p, vec v) { *(vec *)p = v; }

static inline vec bf16_load(const uint16_t *p) { return (vec)(__builtin_convertvector(*(const halves *)p, words) << 16); }

static inline void bf16_store(uint16_t *p, vec v)
{
    words u = (words)v, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
    words nan = (words)((u & 0x7fffffff) > 0x7f800000);
    *(halves *)p = __builtin_convertvector((rounded & ~nan) | (quiet & nan), halves);
}

/* W channels of a pixel, or the n that are left; what lies beyond them is zero. */
static inline vec pixel_load(lt_dtype type, const void *pixel, int64_t at, int64_t n)
{
    float rest[W] = { 0 };
    uint16_t half[W] = { 0 };
    if (type == LT_F32) {
        const float *p = (const float *)pixel + at;
        if (n >= W) return load(p);
        memcpy(rest, p, (size_t)n * sizeof *p);
        return load(rest);
    }
    const uint16_t *h = (const uint16_t *)pixel + at;
    if (n < W) memcpy(half, h, (size_t)n * sizeof *h), h = half;
    return type == LT_BF16 ? bf16_load(h) : half_load(h);
}

static inline void pixel_store(lt_dtype type, void *pixel, int64_t at, int64_t n, vec v)
{
    if (type == LT_F32) {
        float *p = (float *)pixel + at;
        if (n >= W) store(p, v);
        else memcpy(p, &v, (size_t)n * sizeof *p);
        return;
    }
    uint16_t half[W], *h = (uint16_t *)pixel + at, *to = n >= W ? h : half;
    if (type == LT_BF16) bf16_store(to, v);
    else half_store(to, v);
    if (n < W) memcpy(h, half, (size_t)n * sizeof *h);
}

/* B' d for 6 and 7 points. */
static inline __attribute__((always_inline)) void input_points(int side, const vec *d, vec *r)
{
    if (side == 6) {
        vec t = d[4] - d[2], u = d[3] - d[1];
        r[0] = d[0] + d[4] - 2.0f * d[2] - 1.5f * u;
        r[1] = d[4] - d[1] - 2.5f * d[2] - 0.5f * d[3];
        r[2] = d[4] + d[1] + 0.5f * d[2] - 2.5f * d[3];
        r[3] = t + 0.5f * u;
        r[4] = t - 2.0f * u;
        r[5] = d[1] + d[5] - 2.0f * d[3] - 1.5f * t;
        return;
    }
    r[0] = d[5] - 0.5f * d[0] + 0.25f * d[1] + 2.5f * d[2] - 1.25f * d[3] - 2.0f * d[4];
    r[1] = d[5] - d[4] + 0.5f * d[1] + 0.25f * d[2] - 2.25f * d[3];
    r[2] = d[5] - 0.5f * d[1] + 0.75f * d[2] + 1.75f * d[3] - 3.0f * d[4];
    r[3] = d[5] + 0.25f * d[1] - 1.25f * d[3];
    r[4] = d[5] - d[1] + 2.5f * (d[2] - d[4]);
    r[5] = d[5] + d[1] + 1.5f * (d[2] - d[4]) - 2.0f * d[3];
    r[6] = d[6] - 0.5f * d[1] + 0.25f * d[2] + 2.5f * d[3] - 1.25f * d[4] - 2.0f * d[5];
}

static inline __attribute__((always_inline)) void input_of(lt_dtype type, int side, const void *const *pixel, int64_t c, float *v, int64_t stride)
{
    for (int64_t at = 0; at < c; at += W) {
        vec part[LT_WINO_MAX_SIDE][LT_WINO_MAX_SIDE], d[LT_WINO_MAX_SIDE], r[LT_WINO_MAX_SIDE];
        for (int j = 0; j < side; j++) {
            for (int i = 0; i < side; i++) d[i] = pixel_load(type, pixel[side * i + j], at, c - at);
            input_points(side, d, r);
            for (int i = 0; i < side; i++) part[i][j] = r[i];
        }
        for (int i = 0; i < side; i++) {
            input_points(side, part[i], r);
            for (int j = 0; j < side; j++) store(v + (side * i + j) * stride + at, r[j]);
        }
    }
}

static void input(lt_dtype type, int side, const void *const *pixel, int64_t c, float *v, int64_t stride)
{
    if (type == LT_F32 && side == 6) input_of(LT_F32, 6, pixel, c, v, stride);
    else if (type == LT_F32) input_of(LT_F32, 7, pixel, c, v, stride);
    else if (side == 6) input_of(type, 6, pixel, c, v, stride);
    else input_of(type, 7, pixel, c, v, stride);
}

/* A' m: `tile` results of `side` points. */
static inline __attribute__((always_inline)) void output_points(int side, int tile, const vec *m, vec *r)
{
    vec sum = m[1] + m[2], difference = m[1] - m[2], even = m[4], odd = -m[4], last = m[side - 1];
    if (side == 7) even += m[5], odd += m[5];
    r[0] = m[0] + sum + m[3] + even;
    r[1] = difference + 2.0f * m[3] + 0.5f * odd;
    if (tile == 2) {
        r[1] += last;
        return;
    }
    r[2] = sum + 4.0f * m[3] + 0.25f * even;
    r[3] = difference + 8.0f * m[3] + 0.125f * odd + last;
}

static inline __attribute__((always_inline)) void output_of(lt_dtype type, int side, int tile, const float *m, int64_t stride, int64_t o, void *const *pixel)
{
    for (int64_t at = 0; at < o; at += W) {
        vec part[4][LT_WINO_MAX_SIDE], d[LT_WINO_MAX_SIDE], r[4];
        for (int j = 0; j < side; j++) {
            for (int i = 0; i < side; i++) d[i] = load(m + (side * i + j) * stride + at);
            output_points(side, tile, d, r);
            for (int i = 0; i < tile; i++) part[i][j] = r[i];
        }
        for (int i = 0; i < tile; i++) {
            output_points(side, tile, part[i], r);
            for (int j = 0; j < tile; j++)
                if (pixel[tile * i + j]) pixel_store(type, pixel[tile * i + j], at, o - at, r[j]);
        }
    }
}

static void output(lt_dtype type, int side, int tile, const float *m, int64_t stride, int64_t o, void *const *pixel)
{
    if (side == 7) output_of(type, 7, 4, m, stride, o, pixel);
    else if (tile == 4) output_of(type, 6, 4, m, stride, o, pixel);
    else output_of(type, 6, 2, m, stride, o, pixel);
}

/* Terms are summed in runs of RUN, and the runs then: rounding grows with the length of a chain, and the
   transform back magnifies it. */
#define RUN 32

static inline __attribute__((always_inline)) void add_run(int rows, int wide, int64_t n, const float *v, int64_t v_stride, const float *u, vec total[][2])
{
    vec sum[ROWS][2];
    for (int i = 0; i < rows; i++)
        for (int w = 0; w < wide; w++) sum[i][w] = (vec){ 0 };
    for (int64_t k = 0; k < n; k++, u += wide * W) {
        vec a = load(u), b = wide > 1 ? load(u + W) : a;
        for (int i = 0; i < rows; i++) {
            float x = v[i * v_stride + k];
            sum[i][0] += x * a;
            if (wide > 1) sum[i][1] += x * b;
        }
    }
    for (int i = 0; i < rows; i++)
        for (int w = 0; w < wide; w++) total[i][w] += sum[i][w];
}

static inline __attribute__((always_inline)) void product_rows(int rows, int wide, int64_t c, int parts, const float *const *v, int64_t v_stride, int64_t first,
                                                               const float *u, float *m, int64_t m_stride)
{
    vec total[ROWS][2];
    for (int i = 0; i < rows; i++)
        for (int w = 0; w < wide; w++) total[i][w] = (vec){ 0 };
    for (int part = 0; part < parts; part++)
        for (int64_t k = 0; k < c; k += RUN)
            add_run(rows, wide, c - k < RUN ? c - k : RUN, v[part] + first * v_stride + k, v_stride, u + (part * c + k) * wide * W, total);
    for (int i = 0; i < rows; i++)
        for (int w = 0; w < wide; w++) store(m + (first + i) * m_stride + w * W, total[i][w]);
}

static inline __attribute__((always_inline)) void product_of(int64_t rows, int wide, int64_t c, int parts, const float *const *v, int64_t v_stride, const float *u,
                                                             float *m, int64_t m_stride)
{
    int64_t at = 0;
    for (; at + ROWS <= rows; at += ROWS) product_rows(ROWS, wide, c, parts, v, v_stride, at, u, m, m_stride);
    for (; at + 4 <= rows; at += 4) product_rows(4, wide, c, parts, v, v_stride, at, u, m, m_stride);
    for (; at < rows; at++) product_rows(1, wide, c, parts, v, v_stride, at, u, m, m_stride);
}

static void product(int64_t rows, int vectors, int64_t c, int parts, const float *const *v, int64_t v_stride, const float *u, float *m, int64_t m_stride)
{
    if (vectors == 2) product_of(rows, 2, c, parts, v, v_stride, u, m, m_stride);
    else product_of(rows, 1, c, parts, v, v_stride, u, m, m_stride);
}

/* A y for 6 points. */
static inline __attribute__((always_inline)) void spread_points(int tile, const vec *y, vec *r)
{
    vec even = y[0], odd = y[1], fourth = y[0], rest = -0.5f * y[1], third = y[0] + 2.0f * y[1];
    if (tile == 4) {
        even += y[2], odd += y[3];
        fourth += 0.25f * y[2], rest -= 0.125f * y[3];
        third += 4.0f * y[2] + 8.0f * y[3];
    }
    r[0] = y[0];
    r[1] = even + odd;
    r[2] = even - odd;
    r[3] = third;
    r[4] = fourth + rest;
    r[5] = y[tile - 1];
}

static inline __attribute__((always_inline)) void spread_of(int tile, const float *const *pixel, int64_t c, float *v, int64_t wide, int64_t stride)
{
    enum { SIDE = 6 };
    for (int64_t at = 0; at < wide; at += W) {
        vec part[SIDE][4], y[4], r[SIDE];
        for (int j = 0; j < tile; j++) {
            for (int i = 0; i < tile; i++)
                y[i] = at < c && pixel[tile * i + j] ? pixel_load(LT_F32, pixel[tile * i + j], at, c - at) : (vec){ 0 };
            spread_points(tile, y, r);
            for (int i = 0; i < SIDE; i++) part[i][j] = r[i];
        }
        for (int i = 0; i < SIDE; i++) {
            spread_points(tile, part[i], r);
            for (int j = 0; j < SIDE; j++) store(v + (SIDE * i + j) * stride + at, r[j]);
        }
    }
}

static void spread(int tile, const float *const *pixel, int64_t c, float *v, int64_t wide, int64_t stride)
{
    if (tile == 4) spread_of(4, pixel, c, v, wide, stride);
    else spread_of(2, pixel, c, v, wide, stride);
}

static inline __attribute__((always_inline)) void outer_rows(int rows, int64_t n, const float *v, int64_t v_stride, const float *u, int64_t u_stride, float *m,
                                                             int64_t m_stride)
{
    vec total[ROWS][2];
    for (int i = 0; i < rows; i++) total[i][0] = total[i][1] = (vec){ 0 };
    for (int64_t first = 0; first < n; first += RUN) {
        vec sum[ROWS][2];
        for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (vec){ 0 };
        for (int64_t k = first; k < n && k < first + RUN; k++) {
            vec a = load(u + k * u_stride), b = load(u + k * u_stride + W);
            for (int i = 0; i < rows; i++) {
                float x = v[k * v_stride + i];
                sum[i][0] += x * a;
                sum[i][1] += x * b;
            }
        }
        for (int i = 0; i < rows; i++) total[i][0] += sum[i][0], total[i][1] += sum[i][1];
    }
    for (int i = 0; i < rows; i++) {
        store(m + i * m_stride, total[i][0]);
        store(m + i * m_stride + W, total[i][1]);
    }
}

static void outer(int64_t rows, int64_t n, const float *v, int64_t v_stride, const float *u, int64_t u_stride, float *m, int64_t m_stride)
{
    int64_t at = 0;
    for (; at + ROWS <= rows; at += ROWS) outer_rows(ROWS, n, v + at, v_stride, u, u_stride, m + at * m_stride, m_stride);
    for (; at + 4 <= rows; at += 4) outer_rows(4, n, v + at, v_stride, u, u_stride, m + at * m_stride, m_stride);
    for (; at < rows; at++) outer_rows(1, n, v + at, v_stride, u, u_stride, m + at * m_stride, m_stride);
}

static inline __attribute__((always_inline)) void filter_of(int r, const float *u, int64_t stride, float g[6][5], float *out)
{
    vec part[5][6];
    for (int j = 0; j < 6; j++) {
        vec d[6];
        for (int i = 0; i < 6; i++) d[i] = load(u + (6 * i + j) * stride);
        for (int a = 0; a < r; a++) {
            part[a][j] = g[0][a] * d[0];
            for (int i = 1; i < 6; i++) part[a][j] += g[i][a] * d[i];
        }
    }
    for (int a = 0; a < r; a++)
        for (int b = 0; b < r; b++) {
            vec sum = g[0][b] * part[a][0];
            for (int j = 1; j < 6; j++) sum += g[j][b] * part[a][j];
            store(out + (a * r + b) * W, sum);
        }
}

static void filter(int r, const float *u, int64_t stride, float g[6][5], float *out)
{
    if (r == 3) filter_of(3, u, stride, g, out);
    else filter_of(5, u, stride, g, out);
}

const lt_wino_loops NAME = { W, ROWS, input, product, output, spread, outer, filter };
