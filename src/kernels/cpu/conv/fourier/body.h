/* The loops of cpu/conv/fourier/fourier.h; included behind cpu/conv/winograd/body.h, whose vectors, pixels and W it uses, by a file that
   defines FOURIER_NAME, stream (a store past the caches, to aligned memory) and stream_end. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/conv/fourier/fourier.h"

#include "base/status.h"
#include "kernels/cpu/loops.h"

#define INLINE static inline __attribute__((always_inline))
enum { MOST = LT_FOURIER_MOST_SIDE };

/* Cosine and sine of k twentieths and k 22nds of a turn. */
static const float turn20[20][2] = {
    { 1.0f, 0.0f }, { 0.951056516f, 0.309016994f }, { 0.809016994f, 0.587785252f }, { 0.587785252f, 0.809016994f }, { 0.309016994f, 0.951056516f },
    { 0.0f, 1.0f }, { -0.309016994f, 0.951056516f }, { -0.587785252f, 0.809016994f }, { -0.809016994f, 0.587785252f },
    { -0.951056516f, 0.309016994f }, { -1.0f, 0.0f }, { -0.951056516f, -0.309016994f }, { -0.809016994f, -0.587785252f },
    { -0.587785252f, -0.809016994f }, { -0.309016994f, -0.951056516f }, { 0.0f, -1.0f }, { 0.309016994f, -0.951056516f },
    { 0.587785252f, -0.809016994f }, { 0.809016994f, -0.587785252f }, { 0.951056516f, -0.309016994f },
};
static const float turn22[22][2] = {
    { 1.0f, 0.0f }, { 0.959492974f, 0.281732557f }, { 0.841253533f, 0.540640817f }, { 0.654860734f, 0.755749574f }, { 0.415415013f, 0.909631995f },
    { 0.142314838f, 0.989821442f }, { -0.142314838f, 0.989821442f }, { -0.415415013f, 0.909631995f }, { -0.654860734f, 0.755749574f },
    { -0.841253533f, 0.540640817f }, { -0.959492974f, 0.281732557f }, { -1.0f, 0.0f }, { -0.959492974f, -0.281732557f },
    { -0.841253533f, -0.540640817f }, { -0.654860734f, -0.755749574f }, { -0.415415013f, -0.909631995f }, { -0.142314838f, -0.989821442f },
    { 0.142314838f, -0.989821442f }, { 0.415415013f, -0.909631995f }, { 0.654860734f, -0.755749574f }, { 0.841253533f, -0.540640817f },
    { 0.959492974f, -0.281732557f },
};

/* ---- Transforms of 20 and 22 numbers --------------------------------------------------------------- */
/* Of k / n of a turn, for the n that occur: 5, 10, 20, 11, 22. */
INLINE float cosine(int n, int k) { return n % 11 ? turn20[20 / n * k % 20][0] : turn22[22 / n * k % 22][0]; }
INLINE float sine(int n, int k) { return n % 11 ? turn20[20 / n * k % 20][1] : turn22[22 / n * k % 22][1]; }

/* (re, im) turned back by k / n of a turn. */
INLINE void twist(int n, int k, vec *re, vec *im)
{
    vec a = *re, b = *im;
    if (4 * k == n) {
        *re = b, *im = -a;
        return;
    }
    *re = a * cosine(n, k) + b * sine(n, k);
    *im = b * cosine(n, k) - a * sine(n, k);
}

/* An odd count of real numbers, by its definition: p of them give (p + 1) / 2 complex ones; the first is real, its im not set. */
INLINE void real_odd(int p, const vec *x, int step, vec *re, vec *im)
{
    vec sum[MOST / 4 + 1], difference[MOST / 4 + 1];
    re[0] = x[0];
    LT_UNROLL for (int j = 1; j <= p / 2; j++) {
        sum[j] = x[j * step] + x[(p - j) * step];
        difference[j] = x[(p - j) * step] - x[j * step];
        re[0] += sum[j];
    }
    LT_UNROLL for (int k = 1; k <= p / 2; k++) {
        vec r = x[0] + sum[1] * cosine(p, k), i = difference[1] * sine(p, k);
        LT_UNROLL for (int j = 2; j <= p / 2; j++) {
            r += sum[j] * cosine(p, j * k);
            i += difference[j] * sine(p, j * k);
        }
        re[k] = r, im[k] = i;
    }
}

/* From the transforms of the even and of the odd numbers; the first and, of an even count, the last are real. */
INLINE void real_join(int n, const vec *even_re, const vec *even_im, const vec *odd_re, const vec *odd_im, vec *re, vec *im)
{
    re[0] = even_re[0] + odd_re[0], re[n / 2] = even_re[0] - odd_re[0];
    if (n % 4 == 0) re[n / 4] = even_re[n / 4], im[n / 4] = -odd_re[n / 4];
    LT_UNROLL for (int k = 1; 4 * k < n; k++) {
        vec r = odd_re[k], i = odd_im[k];
        twist(n, k, &r, &i);
        re[k] = even_re[k] + r, im[k] = even_im[k] + i;
        re[n / 2 - k] = even_re[k] - r, im[n / 2 - k] = i - even_im[k];
    }
}

INLINE void real_even(int n, const vec *x, int step, vec *re, vec *im)
{
    vec er[MOST / 4 + 1], ei[MOST / 4 + 1], or[MOST / 4 + 1], oi[MOST / 4 + 1];
    real_odd(n / 2, x, 2 * step, er, ei);
    real_odd(n / 2, x + step, 2 * step, or, oi);
    real_join(n, er, ei, or, oi, re, im);
}

static void real20(const vec *x, vec *re, vec *im)
{
    vec er[6], ei[6], or[6], oi[6];
    real_even(10, x, 2, er, ei);
    real_even(10, x + 1, 2, or, oi);
    real_join(20, er, ei, or, oi, re, im);
}

static void real22(const vec *x, vec *re, vec *im) { real_even(22, x, 1, re, im); }

/* Complex numbers are two real sequences. With re and im exchanged on both sides it is the transform back, without its scale. */
INLINE void put_together(int n, const vec *a_re, const vec *a_im, const vec *b_re, const vec *b_im, vec *re, vec *im)
{
    re[0] = a_re[0], im[0] = b_re[0];
    re[n / 2] = a_re[n / 2], im[n / 2] = b_re[n / 2];
    LT_UNROLL for (int k = 1; k < n / 2; k++) {
        re[k] = a_re[k] - b_im[k], im[k] = a_im[k] + b_re[k];
        re[n - k] = a_re[k] + b_im[k], im[n - k] = b_re[k] - a_im[k];
    }
}

INLINE void complex_of(int n, const vec *re, const vec *im, vec *to_re, vec *to_im)
{
    vec ar[MOST / 2 + 1], ai[MOST / 2 + 1], br[MOST / 2 + 1], bi[MOST / 2 + 1];
    if (n == 20) real20(re, ar, ai), real20(im, br, bi);
    else real22(re, ar, ai), real22(im, br, bi);
    put_together(n, ar, ai, br, bi, to_re, to_im);
}

/* Back, as many times too large as there are numbers. */
INLINE void back_odd(int p, const vec *re, const vec *im, vec *x, int step)
{
    vec first = re[0];
    LT_UNROLL for (int k = 1; k <= p / 2; k++) first += 2.0f * re[k];
    x[0] = first;
    LT_UNROLL for (int j = 1; j <= p / 2; j++) {
        vec a = re[0], b = im[1] * (2 * sine(p, j));
        LT_UNROLL for (int k = 1; k <= p / 2; k++) a += re[k] * (2 * cosine(p, j * k));
        LT_UNROLL for (int k = 2; k <= p / 2; k++) b += im[k] * (2 * sine(p, j * k));
        x[j * step] = a - b, x[(p - j) * step] = a + b;
    }
}

INLINE void back_split(int n, const vec *re, const vec *im, vec *even_re, vec *even_im, vec *odd_re, vec *odd_im)
{
    even_re[0] = re[0] + re[n / 2], odd_re[0] = re[0] - re[n / 2];
    if (n % 4 == 0) even_re[n / 4] = re[n / 4] + re[n / 4], odd_re[n / 4] = -(im[n / 4] + im[n / 4]);
    LT_UNROLL for (int k = 1; 4 * k < n; k++) {
        vec r = re[k] - re[n / 2 - k], i = im[k] + im[n / 2 - k];
        even_re[k] = re[k] + re[n / 2 - k], even_im[k] = im[k] - im[n / 2 - k];
        twist(n, k, &i, &r); /* exchanged: turned the other way */
        odd_re[k] = r, odd_im[k] = i;
    }
}

INLINE void back_even(int n, const vec *re, const vec *im, vec *x, int step)
{
    vec er[MOST / 4 + 1], ei[MOST / 4 + 1], or[MOST / 4 + 1], oi[MOST / 4 + 1];
    back_split(n, re, im, er, ei, or, oi);
    back_odd(n / 2, er, ei, x, 2 * step);
    back_odd(n / 2, or, oi, x + step, 2 * step);
}

static void back20(const vec *re, const vec *im, vec *x)
{
    vec er[6], ei[6], or[6], oi[6];
    back_split(20, re, im, er, ei, or, oi);
    back_even(10, er, ei, x, 2);
    back_even(10, or, oi, x + 1, 2);
}

static void back22(const vec *re, const vec *im, vec *x) { back_even(22, re, im, x, 1); }

INLINE void real_of(int n, const vec *x, vec *re, vec *im)
{
    if (n == 20) real20(x, re, im);
    else real22(x, re, im);
}

INLINE void back_of(int n, const vec *re, const vec *im, vec *x)
{
    if (n == 20) back20(re, im, x);
    else back22(re, im, x);
}

/* ---- Tiles ------------------------------------------------------------------------------------------ */
/* Frequencies of a tile of n x n: columns 0 and n / 2 along x are real before they are transformed along y. */
typedef struct fourier_tile {
    vec edge[2][MOST];                          /* column 0, column n / 2 */
    vec re[MOST / 2 - 1][MOST], im[MOST / 2 - 1][MOST]; /* those between */
} fourier_tile;

INLINE void row_in(int n, fourier_tile *t, int row, const vec *x)
{
    vec re[MOST / 2 + 1], im[MOST / 2 + 1];
    real_of(n, x, re, im);
    t->edge[0][row] = re[0], t->edge[1][row] = re[n / 2];
    LT_UNROLL for (int k = 1; k < n / 2; k++) t->re[k - 1][row] = re[k], t->im[k - 1][row] = im[k];
}

/* The next vector of channels uses the neighbouring line of every point: far apart, so fetched by hand. */
INLINE void store_point(float *v, vec x, bool streams)
{
    if (streams) {
        stream(v, x);
        return;
    }
    store(v, x);
    __builtin_prefetch(v + W, 1, 2);
}

INLINE void store_result(float *m, vec x, bool streams)
{
    if (streams) stream(m, x);
    else store(m, x);
}

INLINE vec load_point(const float *m)
{
    __builtin_prefetch(m + W, 0, 2);
    return load(m);
}

/* Conjugated: windows are laid over the image as they are, not turned around. */
INLINE void store_factors(float *u, int64_t gap, vec a, vec b)
{
    store(u, a);
    store(u + gap, -b - a);
    store(u + 2 * gap, a - b);
}

/* The number of the complex frequency in row i of column k; of the real columns rows 1 to n / 2 - 1 count. */
INLINE int inner_frequency(int n, int k, int i) { return (k - 1) * n + i; }
INLINE int edge_frequency(int n, int e, int i) { return (n / 2 - 1) * (n + e) + i - 1; }

/* gap: between the factors of a filter; 0 for a tile, which has none. */
INLINE void store_frequency(float *v, int64_t stride, int64_t gap, bool streams, int p, vec re, vec im)
{
    if (gap) store_factors(v + p * stride, gap, re, im);
    else store_point(v + 2 * p * stride, re, streams), store_point(v + (2 * p + 1) * stride, im, streams);
}

/* Along y, and out. */
INLINE void columns_out(int n, const fourier_tile *t, float *v, int64_t stride, int64_t gap, bool streams)
{
    for (int k = 1; k < n / 2; k++) {
        vec re[MOST], im[MOST];
        complex_of(n, t->re[k - 1], t->im[k - 1], re, im);
        for (int i = 0; i < n; i++) store_frequency(v, stride, gap, streams, inner_frequency(n, k, i), re[i], im[i]);
    }
    for (int e = 0; e < 2; e++) {
        vec re[MOST / 2 + 1], im[MOST / 2 + 1];
        real_of(n, t->edge[e], re, im);
        for (int i = 1; i < n / 2; i++) store_frequency(v, stride, gap, streams, edge_frequency(n, e, i), re[i], im[i]);
        float *last = v + ((gap ? 1 : 2) * edge_frequency(n, 2, 1) + 2 * e) * stride;
        store(last, re[0]);
        store(last + stride, re[n / 2]);
    }
}

/* Rows of channels begin anywhere in a line: the end of the next vector is in the one that is not here yet. */
INLINE void fetch_next(lt_dtype type, const void *pixel, int64_t at, const int writing)
{
    const char *next = (const char *)pixel + (size_t)(at + 2 * W - 1) * (type == LT_F32 ? sizeof(float) : sizeof(uint16_t));
    if (writing) __builtin_prefetch(next, 1, 2);
    else __builtin_prefetch(next, 0, 2);
}

INLINE void fourier_input_of(lt_dtype type, int n, const void *const *pixel, int64_t c, float *v, int64_t stride, bool streams)
{
    for (int64_t at = 0; at < c; at += W) {
        fourier_tile t;
        for (int i = 0; i < n; i++) {
            vec x[MOST];
            for (int j = 0; j < n; j++) {
                fetch_next(type, pixel[n * i + j], at, 0);
                x[j] = pixel_load(type, pixel[n * i + j], at, c - at);
            }
            row_in(n, &t, i, x);
        }
        columns_out(n, &t, v + at, stride, 0, streams);
    }
    if (streams) stream_end();
}

static void fourier_input(lt_dtype type, int side, const void *const *pixel, int64_t c, float *v, int64_t stride, bool streams)
{
    if (type == LT_F32 && side == 20) fourier_input_of(LT_F32, 20, pixel, c, v, stride, streams);
    else if (type == LT_F32) fourier_input_of(LT_F32, 22, pixel, c, v, stride, streams);
    else if (side == 20) fourier_input_of(type, 20, pixel, c, v, stride, streams);
    else fourier_input_of(type, 22, pixel, c, v, stride, streams);
}

/* The transforms back make everything n * n times too large. */
INLINE void fourier_filter_of(int n, const float *taps, float *u, int64_t stride, int64_t gap)
{
    const int k = n + 1 - LT_FOURIER_TILE;
    const vec scale = 1.0f / (float)(n * n) - (vec){ 0 };
    fourier_tile t;
    memset(&t, 0, sizeof t);
    for (int i = 0; i < k; i++) {
        vec x[MOST] = { { 0 } };
        for (int j = 0; j < k; j++) x[j] = scale * load(taps + (i * k + j) * W);
        row_in(n, &t, i, x);
    }
    columns_out(n, &t, u, stride, gap, false);
}

static void fourier_filter(int side, const float *taps, float *u, int64_t stride, int64_t gap)
{
    if (side == 20) fourier_filter_of(20, taps, u, stride, gap);
    else fourier_filter_of(22, taps, u, stride, gap);
}

/* ---- Back ----------------------------------------------------------------------------------------- */
INLINE void load_frequency(const float *m, int64_t stride, int p, vec *re, vec *im)
{
    *re = load_point(m + 2 * p * stride);
    *im = load_point(m + (2 * p + 1) * stride);
}

INLINE void columns_in(int n, fourier_tile *t, const float *m, int64_t stride)
{
    for (int k = 1; k < n / 2; k++) {
        vec re[MOST], im[MOST];
        for (int i = 0; i < n; i++) load_frequency(m, stride, inner_frequency(n, k, i), &re[i], &im[i]);
        complex_of(n, im, re, t->im[k - 1], t->re[k - 1]);
    }
    for (int e = 0; e < 2; e++) {
        vec re[MOST / 2 + 1], im[MOST / 2 + 1];
        for (int i = 1; i < n / 2; i++) load_frequency(m, stride, edge_frequency(n, e, i), &re[i], &im[i]);
        const float *last = m + (2 * edge_frequency(n, 2, 1) + 2 * e) * stride;
        re[0] = load_point(last), re[n / 2] = load_point(last + stride);
        back_of(n, re, im, t->edge[e]);
    }
}

INLINE void fourier_output_of(lt_dtype type, int n, const float *m, int64_t stride, int64_t o, void *const *pixel)
{
    enum { SIDE = LT_FOURIER_TILE };
    for (int64_t at = 0; at < o; at += W) {
        fourier_tile t;
        columns_in(n, &t, m + at, stride);
        for (int i = 0; i < SIDE && pixel[SIDE * i]; i++) {
            vec x[MOST], re[MOST / 2 + 1], im[MOST / 2 + 1];
            re[0] = t.edge[0][i], re[n / 2] = t.edge[1][i];
            for (int k = 1; k < n / 2; k++) re[k] = t.re[k - 1][i], im[k] = t.im[k - 1][i];
            back_of(n, re, im, x);
            for (int j = 0; j < SIDE && pixel[SIDE * i + j]; j++) {
                fetch_next(type, pixel[SIDE * i + j], at, 1);
                pixel_store(type, pixel[SIDE * i + j], at, o - at, x[j]);
            }
        }
    }
}

static void fourier_output(lt_dtype type, int side, const float *m, int64_t stride, int64_t o, void *const *pixel)
{
    if (side == 20) fourier_output_of(type, 20, m, stride, o, pixel);
    else fourier_output_of(type, 22, m, stride, o, pixel);
}

/* ---- Products ----------------------------------------------------------------------------------------- */
static void fourier_add(int64_t n, const float *a, const float *b, float *sum)
{
    for (int64_t i = 0; i < n; i += W) store(sum + i, load(a + i) + load(b + i));
}

/* Sums that the registers hold beside the factors: this many rows of WIDE vectors of outputs, or of a single one. */
enum { WIDE = 2, HEIGHT = W == 16 ? 12 : 6, LONE_HEIGHT = W == 16 ? 16 : 12, MOST_ROWS = 64 };

/* One of the three products, of some rows: its filters stay in the first-level cache until all rows have been multiplied. */
typedef struct product_place {
    const float *v, *u, *ahead;
    const float *base;      /* what it is added to, or taken from; NULL: nothing */
    float       *to;
    int64_t      c, v_stride, base_stride, to_stride, ahead_step;
    bool         minus, streams;
} product_place;

/* Filters that come later are fetched meanwhile: there are more than any cache holds. */
INLINE void product_group(int rows, int wide, const product_place *at)
{
    const float *u = at->u, *ahead = at->ahead, *v = at->v;
    const int64_t c = at->c, v_stride = at->v_stride, ahead_step = at->ahead_step;
    vec sum[LONE_HEIGHT][WIDE];
    LT_UNROLL for (int i = 0; i < rows; i++)
        LT_UNROLL for (int w = 0; w < wide; w++) sum[i][w] = (vec){ 0 };
    for (int64_t k = 0; k < c; k++, u += wide * W, ahead += ahead_step) {
        vec factor[WIDE];
        __builtin_prefetch(ahead, 0, 2);
        LT_UNROLL for (int w = 0; w < wide; w++) factor[w] = load(u + w * W);
        LT_UNROLL for (int i = 0; i < rows; i++) {
            vec x = v[i * v_stride + k] - (vec){ 0 };
            if (wide > 1) LT_KEEP_IN_REGISTER(x); /* else it is loaded for every vector */
            LT_UNROLL for (int w = 0; w < wide; w++) sum[i][w] += x * factor[w];
        }
    }
    LT_UNROLL for (int i = 0; i < rows; i++)
        LT_UNROLL for (int w = 0; w < wide; w++) {
            vec result = sum[i][w];
            if (at->base) {
                vec base = load(at->base + i * at->base_stride + w * W);
                if (at->minus) result = base - result;
                else result += base;
            }
            store_result(at->to + i * at->to_stride + w * W, result, at->streams);
        }
}

typedef void (*group_function)(const product_place *at);
#define X(n)                                                                                                                 \
    static void group_##n(const product_place *at) { product_group(n < HEIGHT ? n : HEIGHT, WIDE, at); }                    \
    static void lone_group_##n(const product_place *at) { product_group(n < LONE_HEIGHT ? n : LONE_HEIGHT, 1, at); }
X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#undef X
static const group_function group_of[2][17] = {
    { NULL, lone_group_1, lone_group_2, lone_group_3, lone_group_4, lone_group_5, lone_group_6, lone_group_7, lone_group_8, lone_group_9,
      lone_group_10, lone_group_11, lone_group_12, lone_group_13, lone_group_14, lone_group_15, lone_group_16 },
    { NULL, group_1, group_2, group_3, group_4, group_5, group_6, group_7, group_8, group_9, group_10, group_11, group_12, group_13, group_14,
      group_15, group_16 },
};

/* All rows of one product; `at` is the place of the first. Groups are nearly equally high: a single row left over would take as
   long as several. What is fetched is two products ahead. */
static void product_rows_of(const lt_fourier_product *p, int64_t rows, product_place at)
{
    int64_t height = p->vectors == WIDE ? HEIGHT : LONE_HEIGHT, groups = (rows + height - 1) / height, floats = W * p->vectors * p->c;
    int64_t parts = p->shares * groups;
    const product_place all = at;
    at.ahead_step = (W * p->vectors + parts - 1) / parts;
    for (int64_t g = 0; g < groups; g++) {
        int64_t begin = rows * g / groups, end = rows * (g + 1) / groups;
        at.v = all.v + begin * at.v_stride;
        at.base = all.base ? all.base + begin * at.base_stride : NULL;
        at.to = all.to + begin * at.to_stride;
        at.ahead = at.u + 2 * floats + floats * (p->share * groups + g) / parts;
        group_of[p->vectors == WIDE][end - begin](&at);
    }
}

static void fourier_product(const lt_fourier_product *p)
{
    float both[MOST_ROWS * WIDE * W]; /* (a + b) c is part of re and of im */
    const int64_t floats = W * p->vectors * p->c;
    for (int64_t row = 0; row < p->rows; row += MOST_ROWS) {
        int64_t rows = LT_MIN(p->rows - row, MOST_ROWS), v = row * p->v_stride, m = row * p->m_stride;
        product_place first = { .v = p->sum + row * p->sum_stride, .u = p->u, .to = both, .c = p->c, .v_stride = p->sum_stride, .to_stride = WIDE * W };
        product_place second = { .v = p->a + v, .u = p->u + floats, .base = both, .to = p->im + m, .c = p->c, .v_stride = p->v_stride,
                                 .base_stride = WIDE * W, .to_stride = p->m_stride, .streams = p->streams };
        product_place third = second;
        third.v = p->b + v, third.u = p->u + 2 * floats, third.to = p->re + m, third.minus = true;
        product_rows_of(p, rows, first);
        product_rows_of(p, rows, second);
        product_rows_of(p, rows, third);
    }
    if (p->streams) stream_end();
}

static void fourier_real_product(const lt_fourier_product *p)
{
    product_rows_of(p, p->rows, (product_place){ .v = p->a, .u = p->u, .to = p->re, .c = p->c, .v_stride = p->v_stride, .to_stride = p->m_stride });
}

const lt_fourier_loops FOURIER_NAME = { W, WIDE, fourier_input, fourier_filter, fourier_add, fourier_product, fourier_real_product, fourier_output };
