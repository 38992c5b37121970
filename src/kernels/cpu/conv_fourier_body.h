/* The loops of conv_fourier.h; included behind conv_winograd_body.h, whose vectors, pixels, W and ROWS it uses, by a file that
   defines FOURIER_NAME. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv_fourier.h"

#include "kernels/cpu/loops.h"

#define INLINE static inline __attribute__((always_inline))
enum { SIDE = LT_FOURIER_SIDE, HALF = SIDE / 2 };

/* cos(2 pi k / 16) */
static const float turn[5] = { 1.0f, 0.92387953251128674f, 0.70710678118654752f, 0.38268343236508977f, 0.0f };

/* ---- Transforms of 4, 8 and 16 numbers ----------------------------------------------------------- */
/* (re, im) times exp(-2 pi i k / n), 0 <= k < n / 2. */
INLINE void twist(int n, int k, vec *re, vec *im)
{
    vec a = *re, b = *im;
    int at = 16 / n * k; /* sixteenths of a turn */
    if (at == 0) return;
    if (at == 4) {
        *re = b, *im = -a;
        return;
    }
    float c = at < 4 ? turn[at] : -turn[8 - at], s = turn[at < 4 ? 4 - at : at - 4];
    *re = a * c + b * s;
    *im = b * c - a * s;
}

INLINE void dft4(const vec *re, const vec *im, int step, vec *to_re, vec *to_im)
{
    vec sr = re[0] + re[2 * step], si = im[0] + im[2 * step], dr = re[0] - re[2 * step], di = im[0] - im[2 * step];
    vec tr = re[step] + re[3 * step], ti = im[step] + im[3 * step], er = re[step] - re[3 * step], ei = im[step] - im[3 * step];
    to_re[0] = sr + tr, to_im[0] = si + ti;
    to_re[1] = dr + ei, to_im[1] = di - er;
    to_re[2] = sr - tr, to_im[2] = si - ti;
    to_re[3] = dr - ei, to_im[3] = di + er;
}

/* From the transforms of the even and of the odd numbers. */
INLINE void dft_join(int n, const vec *even_re, const vec *even_im, const vec *odd_re, const vec *odd_im, vec *re, vec *im)
{
    LT_UNROLL for (int k = 0; k < n / 2; k++) {
        vec r = odd_re[k], i = odd_im[k];
        twist(n, k, &r, &i);
        re[k] = even_re[k] + r, im[k] = even_im[k] + i;
        re[k + n / 2] = even_re[k] - r, im[k + n / 2] = even_im[k] - i;
    }
}

INLINE void dft8(const vec *re, const vec *im, int step, vec *to_re, vec *to_im)
{
    vec er[4], ei[4], or[4], oi[4];
    dft4(re, im, 2 * step, er, ei);
    dft4(re + step, im + step, 2 * step, or, oi);
    dft_join(8, er, ei, or, oi, to_re, to_im);
}

/* Sixteen complex numbers; with re and im exchanged on both sides it is the transform back, without its scale. */
static void dft16(const vec *re, const vec *im, vec *to_re, vec *to_im)
{
    vec er[8], ei[8], or[8], oi[8];
    dft8(re, im, 2, er, ei);
    dft8(re + 1, im + 1, 2, or, oi);
    dft_join(16, er, ei, or, oi, to_re, to_im);
}

/* Real numbers: n of them give n / 2 + 1 complex ones, the first and the last of which are real (im is not set). */
INLINE void real4(const vec *x, int step, vec *re, vec *im)
{
    vec even = x[0] + x[2 * step], odd = x[step] + x[3 * step];
    re[0] = even + odd;
    re[1] = x[0] - x[2 * step], im[1] = x[3 * step] - x[step];
    re[2] = even - odd;
}

INLINE void real_join(int n, const vec *even_re, const vec *even_im, const vec *odd_re, const vec *odd_im, vec *re, vec *im)
{
    re[0] = even_re[0] + odd_re[0], re[n / 2] = even_re[0] - odd_re[0];
    re[n / 4] = even_re[n / 4], im[n / 4] = -odd_re[n / 4];
    LT_UNROLL for (int k = 1; k < n / 4; k++) {
        vec r = odd_re[k], i = odd_im[k];
        twist(n, k, &r, &i);
        re[k] = even_re[k] + r, im[k] = even_im[k] + i;
        re[n / 2 - k] = even_re[k] - r, im[n / 2 - k] = i - even_im[k];
    }
}

INLINE void real8(const vec *x, int step, vec *re, vec *im)
{
    vec er[3], ei[3], or[3], oi[3];
    real4(x, 2 * step, er, ei);
    real4(x + step, 2 * step, or, oi);
    real_join(8, er, ei, or, oi, re, im);
}

static void real16(const vec *x, vec *re, vec *im)
{
    vec er[5], ei[5], or[5], oi[5];
    real8(x, 2, er, ei);
    real8(x + 1, 2, or, oi);
    real_join(16, er, ei, or, oi, re, im);
}

/* Back, n times too large. */
INLINE void back4(const vec *re, const vec *im, vec *x, int step)
{
    vec even = re[0] + re[2], odd = re[0] - re[2], r = re[1] + re[1], i = im[1] + im[1];
    x[0] = even + r, x[2 * step] = even - r;
    x[step] = odd - i, x[3 * step] = odd + i;
}

INLINE void back_split(int n, const vec *re, const vec *im, vec *even_re, vec *even_im, vec *odd_re, vec *odd_im)
{
    even_re[0] = re[0] + re[n / 2], odd_re[0] = re[0] - re[n / 2];
    even_re[n / 4] = re[n / 4] + re[n / 4], odd_re[n / 4] = -(im[n / 4] + im[n / 4]);
    LT_UNROLL for (int k = 1; k < n / 4; k++) {
        vec r = re[k] - re[n / 2 - k], i = im[k] + im[n / 2 - k];
        even_re[k] = re[k] + re[n / 2 - k], even_im[k] = im[k] - im[n / 2 - k];
        twist(n, k, &i, &r); /* exchanged: turned the other way */
        odd_re[k] = r, odd_im[k] = i;
    }
}

INLINE void back8(const vec *re, const vec *im, vec *x, int step)
{
    vec er[3], ei[3], or[3], oi[3];
    back_split(8, re, im, er, ei, or, oi);
    back4(er, ei, x, 2 * step);
    back4(or, oi, x + step, 2 * step);
}

static void back16(const vec *re, const vec *im, vec *x)
{
    vec er[5], ei[5], or[5], oi[5];
    back_split(16, re, im, er, ei, or, oi);
    back8(er, ei, x, 2);
    back8(or, oi, x + 1, 2);
}

/* ---- Tiles ------------------------------------------------------------------------------------------ */
/* Frequencies of a tile: columns 0 and 8 along x are real before they are transformed along y. */
typedef struct tile {
    vec edge[2][SIDE];                    /* column 0, column HALF */
    vec re[HALF - 1][SIDE], im[HALF - 1][SIDE]; /* columns 1 to HALF - 1 */
} tile;

INLINE void row_in(tile *t, int row, const vec *x)
{
    vec re[HALF + 1], im[HALF + 1];
    real16(x, re, im);
    t->edge[0][row] = re[0], t->edge[1][row] = re[HALF];
    LT_UNROLL for (int k = 1; k < HALF; k++) t->re[k - 1][row] = re[k], t->im[k - 1][row] = im[k];
}

/* The next vector of channels uses the neighbouring line of every point: far apart, so fetched by hand. */
INLINE void store_point(float *v, vec x)
{
    store(v, x);
    __builtin_prefetch(v + W, 1, 2);
}

INLINE vec load_point(const float *m)
{
    __builtin_prefetch(m + W, 0, 2);
    return load(m);
}

/* Conjugated: windows are laid over the image as they are, not turned around. */
INLINE void store_factors(float *u, vec a, vec b)
{
    store(u, a);
    store(u + W, -b - a);
    store(u + 2 * W, a - b);
}

/* Along y, and out: frequencies of columns 1 to 7 first, then those of the two real columns. */
INLINE void columns_out(const tile *t, float *v, int64_t stride, bool filter)
{
    for (int k = 0; k < HALF - 1; k++) {
        vec re[SIDE], im[SIDE];
        dft16(t->re[k], t->im[k], re, im);
        for (int i = 0; i < SIDE; i++) {
            int p = k * SIDE + i;
            if (filter) store_factors(v + p * stride, re[i], im[i]);
            else store_point(v + 2 * p * stride, re[i]), store_point(v + (2 * p + 1) * stride, im[i]);
        }
    }
    for (int e = 0; e < 2; e++) {
        vec re[HALF + 1], im[HALF + 1];
        real16(t->edge[e], re, im);
        for (int i = 1; i < HALF; i++) {
            int p = (HALF - 1) * (SIDE + e) + i - 1;
            if (filter) store_factors(v + p * stride, re[i], im[i]);
            else store_point(v + 2 * p * stride, re[i]), store_point(v + (2 * p + 1) * stride, im[i]);
        }
        float *last = v + ((filter ? LT_FOURIER_COMPLEX : 2 * LT_FOURIER_COMPLEX) + 2 * e) * stride;
        store(last, re[0]);
        store(last + stride, re[HALF]);
    }
}

INLINE void fourier_input_of(lt_dtype type, const void *const *pixel, int64_t c, float *v, int64_t stride)
{
    for (int64_t at = 0; at < c; at += W) {
        tile t;
        for (int i = 0; i < SIDE; i++) {
            vec x[SIDE];
            for (int j = 0; j < SIDE; j++) x[j] = pixel_load(type, pixel[SIDE * i + j], at, c - at);
            row_in(&t, i, x);
        }
        columns_out(&t, v + at, stride, false);
    }
}

static void fourier_input(lt_dtype type, const void *const *pixel, int64_t c, float *v, int64_t stride)
{
    if (type == LT_F32) fourier_input_of(LT_F32, pixel, c, v, stride);
    else fourier_input_of(type, pixel, c, v, stride);
}

/* The transforms back make everything 256 times too large. */
static void fourier_filter(int k, const float *taps, float *u, int64_t stride)
{
    const vec scale = 1.0f / LT_FOURIER_PIXELS - (vec){ 0 };
    tile t;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < k; i++) {
        vec x[SIDE] = { { 0 } };
        for (int j = 0; j < k; j++) x[j] = scale * load(taps + (i * k + j) * W);
        row_in(&t, i, x);
    }
    columns_out(&t, u, stride, true);
}

/* ---- Back ----------------------------------------------------------------------------------------- */
INLINE void columns_in(tile *t, const float *m, int64_t stride)
{
    for (int k = 0; k < HALF - 1; k++) {
        vec re[SIDE], im[SIDE];
        for (int i = 0; i < SIDE; i++) {
            int p = k * SIDE + i;
            re[i] = load_point(m + 2 * p * stride), im[i] = load_point(m + (2 * p + 1) * stride);
        }
        dft16(im, re, t->im[k], t->re[k]);
    }
    for (int e = 0; e < 2; e++) {
        vec re[HALF + 1], im[HALF + 1];
        for (int i = 1; i < HALF; i++) {
            int p = (HALF - 1) * (SIDE + e) + i - 1;
            re[i] = load_point(m + 2 * p * stride), im[i] = load_point(m + (2 * p + 1) * stride);
        }
        const float *last = m + (2 * LT_FOURIER_COMPLEX + 2 * e) * stride;
        re[0] = load_point(last), re[HALF] = load_point(last + stride);
        back16(re, im, t->edge[e]);
    }
}

static void fourier_output(lt_dtype type, int side, const float *m, int64_t stride, int64_t o, void *const *pixel)
{
    for (int64_t at = 0; at < o; at += W) {
        tile t;
        columns_in(&t, m + at, stride);
        for (int i = 0; i < side && pixel[side * i]; i++) {
            vec x[SIDE], re[HALF + 1], im[HALF + 1];
            re[0] = t.edge[0][i], re[HALF] = t.edge[1][i];
            for (int k = 1; k < HALF; k++) re[k] = t.re[k - 1][i], im[k] = t.im[k - 1][i];
            back16(re, im, x);
            for (int j = 0; j < side; j++)
                if (pixel[side * i + j]) pixel_store(type, pixel[side * i + j], at, o - at, x[j]);
        }
    }
}

/* ---- Products ----------------------------------------------------------------------------------------- */
static void fourier_add(int64_t n, const float *a, const float *b, float *sum)
{
    for (int64_t i = 0; i < n; i += W) store(sum + i, load(a + i) + load(b + i));
}

/* `parts` products at once; what the registers hold: parts * HEIGHT sums and the factors. */
enum { HEIGHT = W == 16 ? 8 : 3 };

INLINE void product_group(int rows, int parts, int64_t c, const float *const *v, int64_t v_stride, const float *u, float *re, float *im, int64_t m_stride)
{
    vec sum[HEIGHT][3];
    LT_UNROLL for (int i = 0; i < rows; i++)
        LT_UNROLL for (int p = 0; p < parts; p++) sum[i][p] = (vec){ 0 };
    for (int64_t k = 0; k < c; k++, u += 3 * W) {
        vec factor[3];
        LT_UNROLL for (int p = 0; p < parts; p++) factor[p] = load(u + p * W);
        LT_UNROLL for (int i = 0; i < rows; i++)
            LT_UNROLL for (int p = 0; p < parts; p++) sum[i][p] += v[p][i * v_stride + k] * factor[p];
    }
    LT_UNROLL for (int i = 0; i < rows; i++) {
        vec first = sum[i][0];
        if (parts == 3) first -= sum[i][2], store(im + i * m_stride, sum[i][0] + sum[i][1]);
        store(re + i * m_stride, first);
    }
}

typedef void (*group_function)(int64_t c, const float *const *v, int64_t v_stride, const float *u, float *re, float *im, int64_t m_stride);
#define X(n)                                                                                                                                       \
    static void product_group_##n(int64_t c, const float *const *v, int64_t v_stride, const float *u, float *re, float *im, int64_t m_stride)     \
    {                                                                                                                                              \
        product_group(n < HEIGHT ? n : HEIGHT, 3, c, v, v_stride, u, re, im, m_stride);                                                           \
    }
X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#undef X
static const group_function group_of[] = { NULL,            product_group_1, product_group_2, product_group_3, product_group_4,
                                           product_group_5, product_group_6, product_group_7, product_group_8 };

/* Groups of rows are nearly equally high: a single row left over would take as long as several. */
static void fourier_product(int64_t rows, int64_t c, const float *const v[3], int64_t v_stride, const float *u, float *re, float *im, int64_t m_stride)
{
    int64_t groups = (rows + HEIGHT - 1) / HEIGHT;
    for (int64_t g = 0; g < groups; g++) {
        int64_t begin = rows * g / groups, end = rows * (g + 1) / groups;
        const float *from[3] = { v[0] + begin * v_stride, v[1] + begin * v_stride, v[2] + begin * v_stride };
        group_of[end - begin](c, from, v_stride, u, re + begin * m_stride, im + begin * m_stride, m_stride);
    }
}

static void fourier_real_product(int64_t rows, int64_t c, const float *v, int64_t v_stride, const float *u, float *m, int64_t m_stride)
{
    int64_t at = 0;
    for (; at + HEIGHT <= rows; at += HEIGHT) {
        const float *from = v + at * v_stride;
        product_group(HEIGHT, 1, c, &from, v_stride, u, m + at * m_stride, NULL, m_stride);
    }
    for (; at < rows; at++) {
        const float *from = v + at * v_stride;
        product_group(1, 1, c, &from, v_stride, u, m + at * m_stride, NULL, m_stride);
    }
}

const lt_fourier_loops FOURIER_NAME = { W, fourier_input, fourier_filter, fourier_add, fourier_product, fourier_real_product, fourier_output };
