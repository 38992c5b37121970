/* Cases: convolution, pooling, normalisation, recurrent and classification layers, Fourier
   transforms. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- convolution ---- */

static double at4(const case_run *c, int k, int64_t a, int64_t b, int64_t i, int64_t j)
{
    const int64_t *d = c->in_shape[k].dim;
    return c->x[k][((a * d[1] + b) * d[2] + i) * d[3] + j];
}

static void conv_oracle(case_run *c, const lt_conv_options *o)
{
    const int64_t *w = c->in_shape[1].dim, *out = c->out_shape.dim, *in = c->in_shape[0].dim;
    bool last = o->channels_last;
    int64_t height = in[last ? 1 : 2], width = in[last ? 2 : 3], per_group = w[0] / o->groups;
    for (int64_t e = 0; e < c->n_out; e++) {
        int64_t n = e / (out[1] * out[2] * out[3]), p = e / (out[2] * out[3]) % out[1], q = e / out[3] % out[2], r = e % out[3];
        int64_t f = last ? r : p, y = last ? p : q, x = last ? q : r;
        long double sum = c->in_shape[2].rank ? c->x[2][f] : 0, size = fabsl(sum);
        for (int64_t k = 0; k < w[1] * w[2] * w[3]; k++) {
            int64_t ch = k / (w[2] * w[3]), dy = k / w[3] % w[2], dx = k % w[3];
            int64_t sy = y * o->stride[0] - o->padding[0] + dy * o->dilation[0], sx = x * o->stride[1] - o->padding[1] + dx * o->dilation[1];
            if (sy < 0 || sx < 0 || sy >= height || sx >= width) continue;
            int64_t channel = f / per_group * w[1] + ch;
            long double v = (long double)at4(c, 1, f, ch, dy, dx) * (last ? at4(c, 0, n, sy, sx, channel) : at4(c, 0, n, channel, sy, sx));
            sum += v;
            size += fabsl(v);
        }
        c->want[e] = (double)sum;
        c->size[e] = (double)size;
    }
}

#define CONV(name, ...)                                                          \
    static const lt_conv_options options_##name = { .size = sizeof(lt_conv_options), __VA_ARGS__ }; \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return lt_conv2d(g, x[0], x[1], LT_NONE, &options_##name); } \
    static lt_node build_##name##_bias(lt_graph *g, const lt_node *x) { return lt_conv2d(g, x[0], x[1], x[2], &options_##name); } \
    static void oracle_##name(case_run *c) { conv_oracle(c, &options_##name); }

CONV(conv_plain, { 1, 1 }, { 0, 0 }, { 1, 1 }, 1, false)
CONV(conv_strided, { 2, 1 }, { 1, 2 }, { 1, 1 }, 1, false)
CONV(conv_dilated, { 1, 1 }, { 1, 1 }, { 2, 2 }, 1, false)
CONV(conv_grouped, { 1, 1 }, { 1, 1 }, { 1, 1 }, 2, false)
CONV(conv_last, { 1, 2 }, { 1, 0 }, { 1, 1 }, 1, true)
CONV(conv_last_grouped, { 1, 1 }, { 1, 1 }, { 1, 1 }, 2, true)

static lt_node build_conv_null(lt_graph *g, const lt_node *x) { return lt_conv2d(g, x[0], x[1], LT_NONE, NULL); }

/* ---- pooling ---- */

typedef struct pool { int64_t kernel, stride, pad; bool maximum; } pool;

static void pool_oracle(case_run *c, pool p)
{
    int r = c->in_shape[0].rank;
    int64_t h = c->in_shape[0].dim[r - 2], w = c->in_shape[0].dim[r - 1], oh = c->out_shape.dim[r - 2], ow = c->out_shape.dim[r - 1];
    for (int64_t e = 0; e < c->n_out; e++) {
        const double *plane = c->x[0] + e / (oh * ow) * h * w;
        double best = -INFINITY, sum = 0, size = 0;
        for (int64_t k = 0; k < p.kernel * p.kernel; k++) {
            int64_t y = e / ow % oh * p.stride - p.pad + k / p.kernel, x = e % ow * p.stride - p.pad + k % p.kernel;
            if (y < 0 || x < 0 || y >= h || x >= w) continue;
            best = fmax(best, plane[y * w + x]);
            sum += plane[y * w + x];
            size += fabs(plane[y * w + x]);
        }
        double area = (double)(p.kernel * p.kernel);
        c->want[e] = p.maximum ? best : sum / area;
        c->size[e] = p.maximum ? fabs(best) : size / area;
    }
}

#define POOL(name, call, ...)                                                    \
    static lt_node build_##name(lt_graph *g, const lt_node *x) { return call; }  \
    static void oracle_##name(case_run *c) { pool_oracle(c, (pool)__VA_ARGS__); }
POOL(maxpool_2, lt_maxpool2d(g, x[0], 2, 2, 0), { 2, 2, 0, true })
POOL(maxpool_3, lt_maxpool2d(g, x[0], 3, 2, 1), { 3, 2, 1, true })
POOL(avgpool_2, lt_avgpool2d(g, x[0], 2, 2, 0), { 2, 2, 0, false })
POOL(avgpool_3, lt_avgpool2d(g, x[0], 3, 1, 1), { 3, 1, 1, false })
POOL(adaptive, lt_adaptive_avgpool2d(g, x[0], 2, 2), { 3, 3, 0, false })
static lt_node build_global(lt_graph *g, const lt_node *x) { return lt_adaptive_avgpool2d(g, x[0], 1, 1); }
static void oracle_global(case_run *c) { pool_oracle(c, (pool){ c->in_shape[0].dim[2], 1, 0, false }); }

/* ---- normalisation ---- */

typedef struct moments { long double mean, variance, size; } moments;

/* Mean and biased variance of the elements whose group is k. */
static moments group_moments(const case_run *c, int64_t k, int64_t (*group)(const case_run *, int64_t))
{
    moments m = { 0, 0, 0 };
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_in[0]; i++)
        if (group(c, i) == k) { m.mean += c->x[0][i]; n++; }
    m.mean /= n;
    for (int64_t i = 0; i < c->n_in[0]; i++)
        if (group(c, i) == k) {
            m.variance += (c->x[0][i] - m.mean) * (c->x[0][i] - m.mean);
            m.size = fmaxl(m.size, fabsl(c->x[0][i]));
        }
    m.variance /= n;
    return m;
}

static int64_t channel(const case_run *c, int64_t i)
{
    case_axis a = case_split(&c->in_shape[0], 1);
    return i / a.inner % a.extent;
}
static int64_t sample_and_half(const case_run *c, int64_t i) { return i / (c->n_in[0] / c->in_shape[0].dim[0] / 2); }

#define EPSILON 1e-3

static void norm_oracle(case_run *c, int64_t (*group)(const case_run *, int64_t), const double *gamma, const double *beta)
{
    for (int64_t i = 0; i < c->n_out; i++) {
        moments m = group_moments(c, group(c, i), group);
        long double scale = 1 / sqrtl(m.variance + EPSILON), f = gamma ? gamma[channel(c, i)] : 1, b = beta ? beta[channel(c, i)] : 0;
        c->want[i] = (double)((c->x[0][i] - m.mean) * scale * f + b);
        c->size[i] = (double)(m.size * scale * fabsl(f) + fabsl(b)); /* the mean is subtracted from numbers of this size */
    }
}
static lt_node build_batchnorm(lt_graph *g, const lt_node *x) { return lt_batchnorm(g, x[0], x[1], x[2], LT_NONE, LT_NONE, EPSILON); }
static void oracle_batchnorm(case_run *c) { norm_oracle(c, channel, c->x[1], c->x[2]); }
static lt_node build_batchnorm_bare(lt_graph *g, const lt_node *x) { return lt_batchnorm(g, x[0], LT_NONE, LT_NONE, LT_NONE, LT_NONE, EPSILON); }
static void oracle_batchnorm_bare(case_run *c) { norm_oracle(c, channel, NULL, NULL); }
static lt_node build_batchnorm_stored(lt_graph *g, const lt_node *x) { return lt_batchnorm(g, x[0], x[1], x[2], x[3], x[4], EPSILON); }
static void oracle_batchnorm_stored(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) {
        int64_t k = channel(c, i);
        double scale = c->x[1][k] / sqrt(c->x[4][k] + EPSILON);
        c->want[i] = (c->x[0][i] - c->x[3][k]) * scale + c->x[2][k];
        c->size[i] = (fabs(c->x[0][i]) + fabs(c->x[3][k])) * fabs(scale) + fabs(c->x[2][k]);
    }
}
static lt_node build_groupnorm(lt_graph *g, const lt_node *x) { return lt_groupnorm(g, x[0], 2, x[1], x[2], EPSILON); }
static void oracle_groupnorm(case_run *c) { norm_oracle(c, sample_and_half, c->x[1], c->x[2]); }

/* ---- layers ---- */

static lt_node build_linear(lt_graph *g, const lt_node *x) { return lt_linear(g, x[0], x[1], x[2]); }
static lt_node build_linear_relu(lt_graph *g, const lt_node *x) { return lt_relu(g, lt_linear(g, x[0], x[1], x[2])); }
static void oracle_linear(case_run *c)
{
    int64_t k = c->in_shape[1].dim[1], n = c->in_shape[1].dim[0];
    for (int64_t e = 0; e < c->n_out; e++) {
        double sum = c->x[2][e % n], size = fabs(sum);
        for (int64_t j = 0; j < k; j++) {
            double v = c->x[0][e / n * k + j] * c->x[1][e % n * k + j];
            sum += v;
            size += fabs(v);
        }
        c->want[e] = sum;
        c->size[e] = size;
    }
}
static void oracle_linear_relu(case_run *c)
{
    oracle_linear(c);
    for (int64_t e = 0; e < c->n_out; e++) c->want[e] = fmax(c->want[e], 0);
}

static lt_node build_rnn(lt_graph *g, const lt_node *x) { return lt_rnn_tanh(g, x[0], x[1], x[2], x[3], x[4]); }
static void oracle_rnn(case_run *c)
{
    int64_t steps = c->in_shape[0].dim[1], in = c->in_shape[0].dim[2], hidden = c->in_shape[2].dim[0];
    for (int64_t e = 0; e < c->n_out; e++) {
        int64_t b = e / (steps * hidden), t = e / hidden % steps, h = e % hidden;
        double z = c->x[3][h] + c->x[4][h];
        for (int64_t j = 0; j < in; j++) z += c->x[0][(b * steps + t) * in + j] * c->x[1][h * in + j];
        for (int64_t j = 0; t > 0 && j < hidden; j++) z += c->want[(b * steps + t - 1) * hidden + j] * c->x[2][h * hidden + j];
        c->want[e] = tanh(z);
        c->size[e] = 1 + fabs(z);
    }
}

static void softmax_oracle(case_run *c, int axis, bool logarithm)
{
    case_axis a = case_split(&c->in_shape[0], axis);
    for (int64_t l = 0; l < a.outer * a.inner; l++) {
        int64_t first = l / a.inner * a.extent * a.inner + l % a.inner;
        long double top = -INFINITY, sum = 0;
        for (int64_t k = 0; k < a.extent; k++) top = fmaxl(top, c->x[0][first + k * a.inner]);
        for (int64_t k = 0; k < a.extent; k++) sum += expl(c->x[0][first + k * a.inner] - top);
        for (int64_t k = 0; k < a.extent; k++) {
            long double z = c->x[0][first + k * a.inner] - top;
            c->want[first + k * a.inner] = (double)(logarithm ? z - logl(sum) : expl(z) / sum);
            c->size[first + k * a.inner] = (double)(logarithm ? fabsl(z) + fabsl(top) + logl(sum) : (1 + fabsl(z)) * expl(z) / sum);
        }
    }
}
static lt_node build_softmax(lt_graph *g, const lt_node *x) { return lt_softmax(g, x[0], -1); }
static lt_node build_softmax_0(lt_graph *g, const lt_node *x) { return lt_softmax(g, x[0], 0); }
static lt_node build_log_softmax(lt_graph *g, const lt_node *x) { return lt_log_softmax(g, x[0], 1); }
static void oracle_softmax(case_run *c) { softmax_oracle(c, c->in_shape[0].rank - 1, false); }
static void oracle_softmax_0(case_run *c) { softmax_oracle(c, 0, false); }
static void oracle_log_softmax(case_run *c) { softmax_oracle(c, 1, true); }

static const int64_t labels[] = { 2, 0, 3, 1 };
static lt_node build_cross_entropy(lt_graph *g, const lt_node *x)
{
    return lt_cross_entropy(g, x[0], lt_constant(g, LT_I64, lt_shape1(4), labels));
}
static void oracle_cross_entropy(case_run *c)
{
    int64_t n = c->in_shape[0].dim[0], k = c->in_shape[0].dim[1];
    c->want[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) sum += exp(c->x[0][i * k + j]);
        c->want[0] += (log(sum) - c->x[0][i * k + labels[i]]) / (double)n;
    }
    c->size[0] = 6;
}

/* ---- Fourier transforms ---- */

static lt_node build_rfft2(lt_graph *g, const lt_node *x) { return lt_rfft2(g, x[0]); }
static void oracle_rfft2(case_run *c)
{
    int r = c->in_shape[0].rank;
    int64_t h = c->in_shape[0].dim[r - 2], w = c->in_shape[0].dim[r - 1], half = w / 2 + 1;
    for (int64_t e = 0; e < c->n_out / 2; e++) {
        const double *plane = c->x[0] + e / (h * half) * h * w;
        long double re = 0, im = 0, size = 0;
        for (int64_t i = 0; i < h * w; i++) {
            long double turn = -2 * acosl(-1) * ((long double)(i / w * (e / half % h)) / h + (long double)(i % w * (e % half)) / w);
            re += plane[i] * cosl(turn);
            im += plane[i] * sinl(turn);
            size += fabs(plane[i]);
        }
        c->want[2 * e] = (double)re;
        c->want[2 * e + 1] = (double)im;
        c->size[2 * e] = c->size[2 * e + 1] = (double)size;
    }
}
/* Back and forth multiplies by the number of points. */
static lt_node build_irfft2(lt_graph *g, const lt_node *x)
{
    lt_shape s = lt_node_shape(g, x[0]);
    return lt_irfft2(g, lt_rfft2(g, x[0]), s.dim[s.rank - 1]);
}
static void oracle_irfft2(case_run *c)
{
    int r = c->in_shape[0].rank;
    double n = (double)(c->in_shape[0].dim[r - 2] * c->in_shape[0].dim[r - 1]);
    for (int64_t i = 0; i < c->n_out; i++) { c->want[i] = n * c->x[0][i]; c->size[i] = 3 * n; }
}
/* A filter: the spectrum scaled by a mask, and back; its derivative is what spectral layers need. */
static lt_node build_filter(lt_graph *g, const lt_node *x)
{
    lt_shape s = lt_node_shape(g, x[0]);
    return lt_irfft2(g, lt_mul(g, lt_rfft2(g, x[0]), x[1]), s.dim[s.rank - 1]);
}
static void oracle_filter(case_run *c)
{
    for (int64_t i = 0; i < c->n_out; i++) { c->want[i] = c->got[i]; c->size[i] = 1; } /* values: the cases above */
}

#define ALL (CASE_SMALL | CASE_GRAD | CASE_GRAD2)
#define KINK (CASE_SMALL | CASE_GRAD)
#define SMOOTH (CASE_GRAD | CASE_GRAD2)

const op_case cases_network[] = {
    { "conv2d", build_conv_plain, oracle_conv_plain, 2, { S4(2, 3, 5, 4), S4(2, 3, 3, 2) }, -1, 1, 19, ALL, 0 },
    { "conv2d, no options", build_conv_null, oracle_conv_plain, 2, { S4(1, 1, 3, 3), S4(1, 1, 1, 1) }, -1, 1, 2, ALL, 0 },
    { "conv2d with bias", build_conv_plain_bias, oracle_conv_plain, 3, { S4(2, 2, 4, 4), S4(3, 2, 3, 3), S1(3) }, -1, 1, 20, ALL, 0 },
    { "conv2d, strided", build_conv_strided, oracle_conv_strided, 2, { S4(2, 2, 5, 4), S4(3, 2, 3, 3) }, -1, 1, 19, ALL, 0 },
    { "conv2d, strided, bias", build_conv_strided_bias, oracle_conv_strided, 3, { S4(1, 3, 7, 6), S4(2, 3, 2, 5), S1(2) }, -1, 1, 32, ALL, 0 },
    { "conv2d, dilated", build_conv_dilated, oracle_conv_dilated, 2, { S4(1, 2, 6, 5), S4(2, 2, 3, 2) }, -1, 1, 13, ALL, 0 },
    { "conv2d, grouped", build_conv_grouped, oracle_conv_grouped, 2, { S4(2, 4, 3, 4), S4(6, 2, 3, 3) }, -1, 1, 19, ALL, 0 },
    { "conv2d, grouped, bias", build_conv_grouped_bias, oracle_conv_grouped, 3, { S4(1, 2, 3, 3), S4(2, 1, 2, 2), S1(2) }, -1, 1, 6, ALL, 0 },
    { "conv2d, channels last", build_conv_last, oracle_conv_last, 2, { S4(2, 4, 5, 3), S4(2, 3, 3, 2) }, -1, 1, 19, ALL, 0 },
    { "conv2d, channels last, bias", build_conv_last_bias, oracle_conv_last, 3, { S4(1, 4, 5, 2), S4(3, 2, 3, 3), S1(3) }, -1, 1, 20, ALL, 0 },
    { "conv2d, channels last, grouped", build_conv_last_grouped, oracle_conv_last_grouped, 2, { S4(1, 3, 4, 4), S4(4, 2, 3, 3) }, -1, 1, 19, ALL, 0 },
    { "conv2d, dilated, bias", build_conv_dilated_bias, oracle_conv_dilated, 3, { S4(2, 1, 5, 5), S4(1, 1, 3, 3), S1(1) }, -1, 1, 11, ALL, 0 },
    { "conv2d, channels last, grouped, bias", build_conv_last_grouped_bias, oracle_conv_last_grouped, 3, { S4(2, 2, 3, 2), S4(2, 1, 1, 1), S1(2) }, -1, 1, 3, ALL, 0 },
    { "conv2d, large", build_conv_plain_bias, oracle_conv_plain, 3, { S4(2, 16, 17, 15), S4(33, 16, 3, 3), S1(33) }, -1, 1, 146, CASE_SMALL, 0 },
    { "maxpool2d", build_maxpool_2, oracle_maxpool_2, 1, { S4(2, 2, 4, 6) }, -2, 2, 0, KINK, 0 },
    { "maxpool2d of a matrix", build_maxpool_2, oracle_maxpool_2, 1, { S2(5, 5) }, -2, 2, 0, KINK, 0 },
    { "maxpool2d, padded", build_maxpool_3, oracle_maxpool_3, 1, { S4(1, 2, 7, 6) }, -2, 2, 0, KINK, 0 },
    { "avgpool2d", build_avgpool_2, oracle_avgpool_2, 1, { S4(2, 2, 4, 6) }, -2, 2, 5, ALL, 0 },
    { "avgpool2d, padded", build_avgpool_3, oracle_avgpool_3, 1, { S4(1, 2, 5, 4) }, -2, 2, 10, ALL, 0 },
    { "adaptive_avgpool2d", build_adaptive, oracle_adaptive, 1, { S4(1, 2, 6, 6) }, -2, 2, 10, ALL, 0 },
    { "global average", build_global, oracle_global, 1, { S4(2, 3, 5, 5) }, -2, 2, 26, ALL, 0 },
    { "batchnorm", build_batchnorm, oracle_batchnorm, 3, { S4(3, 2, 2, 3), S1(2), S1(2) }, -2, 2, 60, SMOOTH, 0 },
    { "batchnorm, bare", build_batchnorm_bare, oracle_batchnorm_bare, 1, { S2(7, 3) }, -2, 2, 40, SMOOTH, 0 },
    { "batchnorm, stored", build_batchnorm_stored, oracle_batchnorm_stored, 5, { S4(2, 3, 2, 2), S1(3), S1(3), S1(3), S1(3) }, 0.2, 2, 10, ALL, 0 },
    { "groupnorm", build_groupnorm, oracle_groupnorm, 3, { S4(2, 4, 2, 3), S1(4), S1(4) }, -2, 2, 60, SMOOTH, 0 },
    { "linear", build_linear, oracle_linear, 3, { S2(3, 4), S2(5, 4), S1(5) }, -2, 2, 6, ALL, 0 },
    { "linear of a stack", build_linear, oracle_linear, 3, { S3(2, 3, 4), S2(5, 4), S1(5) }, -2, 2, 6, ALL, 0 },
    { "linear and relu", build_linear_relu, oracle_linear_relu, 3, { S2(33, 17), S2(65, 17), S1(65) }, -2, 2, 19, CASE_SMALL, 0 },
    { "linear and relu, small", build_linear_relu, oracle_linear_relu, 3, { S2(3, 4), S2(5, 4), S1(5) }, -2, 2, 6, KINK, 0 },
    { "rnn_tanh", build_rnn, oracle_rnn, 5, { S3(2, 3, 2), S2(3, 2), S2(3, 3), S1(3), S1(3) }, -1, 1, 80, SMOOTH, 0 },
    { "softmax", build_softmax, oracle_softmax, 1, { S3(2, 3, 4) }, -3, 3, 16, ALL, 0 },
    { "softmax of columns", build_softmax_0, oracle_softmax_0, 1, { S2(4, 3) }, -3, 3, 16, ALL, 0 },
    { "softmax of large numbers", build_softmax, oracle_softmax, 1, { S2(3, 7) }, -800, 800, 16, 0, 0 },
    { "log_softmax", build_log_softmax, oracle_log_softmax, 1, { S2(3, 5) }, -3, 3, 20, ALL, 0 },
    { "log_softmax of large numbers", build_log_softmax, oracle_log_softmax, 1, { S2(3, 5) }, -800, 800, 20, 0, 0 },
    { "cross_entropy", build_cross_entropy, oracle_cross_entropy, 1, { S2(4, 4) }, -2, 2, 30, ALL, 0 },
    { "rfft2", build_rfft2, oracle_rfft2, 1, { S2(4, 6) }, -1, 1, 20, SMOOTH, 0 },
    { "rfft2, odd", build_rfft2, oracle_rfft2, 1, { S3(2, 3, 5) }, -1, 1, 20, SMOOTH, 0 },
    { "rfft2 of one", build_rfft2, oracle_rfft2, 1, { S2(1, 1) }, -1, 1, 2, SMOOTH, 0 },
    { "irfft2", build_irfft2, oracle_irfft2, 1, { S3(2, 4, 6) }, -1, 1, 20, SMOOTH, 0 },
    { "irfft2, odd", build_irfft2, oracle_irfft2, 1, { S2(3, 5) }, -1, 1, 20, SMOOTH, 0 },
    { "spectral filter", build_filter, oracle_filter, 2, { S2(4, 6), S3(4, 4, 2) }, -1, 1, 1, SMOOTH, 0 },
    { "spectral filter, odd", build_filter, oracle_filter, 2, { S2(3, 5), S3(3, 3, 2) }, -1, 1, 1, SMOOTH, 0 },
    { 0 },
};
