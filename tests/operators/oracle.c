/* Operators in double precision by plain loops. SPDX-License-Identifier: BSD-3-Clause */
#include "oracle.h"

#include "operators/network/weights.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static map make(int64_t c, int64_t h, int64_t w)
{
    map m = { c, h, w, calloc((size_t)(c * h * w), sizeof(double)) };
    if (!m.v) abort();
    return m;
}

static map copy(const map *x)
{
    map m = make(x->c, x->h, x->w);
    memcpy(m.v, x->v, (size_t)(x->c * x->h * x->w) * sizeof(double));
    return m;
}

const float *oracle_tensor(const lt_operator_weights *w, const char *name, int64_t *count)
{
    for (int i = 0; i < w->network.n_tensors; i++)
        if (strcmp(w->network.tensor[i].name, name) == 0) {
            if (count) *count = w->network.tensor[i].count;
            return w->block + w->network.tensor[i].offset;
        }
    fprintf(stderr, "oracle: no tensor %s\n", name);
    abort();
}

static const float *tensor(oracle *o, const char *prefix, const char *suffix)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    return oracle_tensor(o->weights, name, NULL);
}

/* Rounds to `bits` of mantissa, ties to even. */
static double rounded(const oracle *o, double v)
{
    if (!o->bits || v == 0) return v;
    int e;
    double m = frexp(v, &e);
    return ldexp(nearbyint(ldexp(m, o->bits)), e - o->bits);
}

static map conv(oracle *o, const float *w, const float *bias, const map *x, int64_t out, int64_t k, int64_t stride)
{
    int64_t pad = k / 2, h = (x->h + 2 * pad - k) / stride + 1, wd = (x->w + 2 * pad - k) / stride + 1;
    bool circular = o->spec.circular_padding;
    map y = make(out, h, wd), in = copy(x);
    for (int64_t i = 0; i < x->c * x->h * x->w; i++) in.v[i] = rounded(o, x->v[i]);
    for (int64_t f = 0; f < out; f++)
        for (int64_t c = 0; c < x->c; c++)
            for (int64_t a = 0; a < k; a++)
                for (int64_t b = 0; b < k; b++) {
                    double weight = rounded(o, w[((f * x->c + c) * k + a) * k + b]);
                    for (int64_t i = 0; i < h; i++)
                        for (int64_t j = 0; j < wd; j++) {
                            int64_t p = i * stride + a - pad, q = j * stride + b - pad;
                            if (circular) p = (p + x->h) % x->h, q = (q + x->w) % x->w;
                            if (p < 0 || p >= x->h || q < 0 || q >= x->w) continue;
                            y.v[(f * h + i) * wd + j] += weight * in.v[(c * x->h + p) * x->w + q];
                        }
                }
    for (int64_t i = 0; i < out * h * wd; i++) y.v[i] = rounded(o, y.v[i]) + (bias ? bias[i / (h * wd)] : 0.0);
    free(in.v);
    return y;
}

static double activate(const oracle *o, double x)
{
    switch (o->spec.activation) {
    case LT_ACT_GELU:
        return o->spec.tanh_gelu ? 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) : 0.5 * x * erfc(-x / sqrt(2));
    case LT_ACT_RELU: return x > 0 ? x : 0;
    case LT_ACT_SILU: return x / (1 + exp(-x));
    case LT_ACT_TANH: return tanh(x);
    default: return x;
    }
}

/* Over `groups` groups of channels; 0: fixed statistics. */
static void normalise(map *x, int64_t groups, const float *gamma, const float *beta)
{
    int64_t plane = x->h * x->w;
    for (int64_t c = 0; groups == 0 && c < x->c; c++)
        for (int64_t i = 0; i < plane; i++) x->v[c * plane + i] = x->v[c * plane + i] / sqrt(1 + 1e-5) * gamma[c] + beta[c];
    for (int64_t g = 0; g < groups; g++) {
        int64_t n = x->c / groups * plane;
        double *v = x->v + g * n, mean = 0, var = 0;
        for (int64_t i = 0; i < n; i++) mean += v[i] / (double)n;
        for (int64_t i = 0; i < n; i++) var += (v[i] - mean) * (v[i] - mean) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            int64_t c = (g * n + i) / plane;
            v[i] = (v[i] - mean) / sqrt(var + 1e-5) * gamma[c] + beta[c];
        }
    }
}

static int64_t groups_of(const oracle *o, int64_t channels)
{
    switch (o->spec.normalization) {
    case LT_NORM_INSTANCE: return channels;
    case LT_NORM_LAYER: return 1;
    case LT_NORM_GROUP:
        for (int64_t g = 32; g > 1; g--) if (channels % g == 0) return g;
        return 1;
    default: return 0;
    }
}

static map conv_block(oracle *o, const char *name, const map *x, int64_t out, int64_t k, int64_t stride)
{
    bool plain = o->spec.normalization == LT_NORM_NONE;
    map y = conv(o, tensor(o, name, ".weight"), plain ? tensor(o, name, ".bias") : NULL, x, out, k, stride);
    if (!plain) normalise(&y, groups_of(o, out), tensor(o, name, ".norm.weight"), tensor(o, name, ".norm.bias"));
    for (int64_t i = 0; i < y.c * y.h * y.w; i++) y.v[i] = activate(o, y.v[i]);
    return y;
}

static void add(map *x, const map *y)
{
    for (int64_t i = 0; i < x->c * x->h * x->w; i++) x->v[i] += y->v[i];
}

static map residual_block(oracle *o, const char *name, const map *x, int64_t out, int64_t k)
{
    char part[64];
    snprintf(part, sizeof part, "%s.conv1", name);
    map a = conv_block(o, part, x, out, k, 1);
    snprintf(part, sizeof part, "%s.conv2", name);
    map b = conv_block(o, part, &a, out, k, 1);
    free(a.v);
    if (x->c == out) {
        add(&b, x);
        return b;
    }
    map skip = conv(o, tensor(o, name, ".proj.weight"), NULL, x, out, 1, 1);
    add(&b, &skip);
    free(skip.v);
    return b;
}

static void replace(map *x, map y)
{
    free(x->v);
    *x = y;
}

static void tell(const oracle *o, const char *name, int number, const map *x)
{
    char full[32];
    if (number < 0) snprintf(full, sizeof full, "%s", name);
    else snprintf(full, sizeof full, "%s_%d", name, number);
    if (o->tap) o->tap(o->tap_ctx, full, x);
}

static map cnn(oracle *o, const map *field)
{
    const lt_operator_spec *s = &o->spec;
    map x = conv_block(o, "stem", field, s->base_channels, s->kernel_size, 1);
    tell(o, "early", -1, &x);
    for (int i = 0; i < s->num_layers; i++) {
        char name[32];
        int64_t width = s->base_channels * (i == 0 ? 1 : i == 1 ? 2 : 4);
        snprintf(name, sizeof name, "blocks.%d", i);
        replace(&x, s->num_layers > 3 ? residual_block(o, name, &x, width, s->kernel_size) : conv_block(o, name, &x, width, s->kernel_size, 1));
        tell(o, "mid", i + 1, &x);
    }
    tell(o, "pre_output", -1, &x);
    return x;
}

/* ---- U-AFNO ---------------------------------------------------------------------------------- */
static map upsample(const map *x)
{
    map y = make(x->c, 2 * x->h, 2 * x->w);
    for (int64_t c = 0; c < x->c; c++)
        for (int64_t i = 0; i < y.h; i++)
            for (int64_t j = 0; j < y.w; j++) {
                double p = fmax(((double)i + 0.5) / 2 - 0.5, 0), q = fmax(((double)j + 0.5) / 2 - 0.5, 0);
                int64_t p0 = (int64_t)p, q0 = (int64_t)q, p1 = p0 + 1 < x->h ? p0 + 1 : p0, q1 = q0 + 1 < x->w ? q0 + 1 : q0;
                double a = p - (double)p0, b = q - (double)q0;
                const double *v = x->v + c * x->h * x->w;
                y.v[(c * y.h + i) * y.w + j] = (1 - a) * ((1 - b) * v[p0 * x->w + q0] + b * v[p0 * x->w + q1])
                                             + a * ((1 - b) * v[p1 * x->w + q0] + b * v[p1 * x->w + q1]);
            }
    return y;
}

static map concat(const map *a, const map *b)
{
    map y = make(a->c + b->c, a->h, a->w);
    memcpy(y.v, a->v, (size_t)(a->c * a->h * a->w) * sizeof(double));
    memcpy(y.v + a->c * a->h * a->w, b->v, (size_t)(b->c * b->h * b->w) * sizeof(double));
    return y;
}

/* Orthonormal transform by the definition; half spectrum [c, h, w/2+1]. */
static double complex *transform(const map *x)
{
    int64_t half = x->w / 2 + 1;
    double complex *z = calloc((size_t)(x->c * x->h * half), sizeof *z);
    for (int64_t c = 0; c < x->c; c++)
        for (int64_t u = 0; u < x->h; u++)
            for (int64_t v = 0; v < half; v++) {
                double complex sum = 0;
                for (int64_t i = 0; i < x->h; i++)
                    for (int64_t j = 0; j < x->w; j++)
                        sum += x->v[(c * x->h + i) * x->w + j] * cexp(-2 * M_PI * I * ((double)(u * i) / (double)x->h + (double)(v * j) / (double)x->w));
                z[(c * x->h + u) * half + v] = sum / sqrt((double)(x->h * x->w));
            }
    return z;
}

/* First along the columns, then the real transform of each row, which drops the imaginary part of
   its first and middle terms. */
static map back(const double complex *z, int64_t c, int64_t h, int64_t w)
{
    int64_t half = w / 2 + 1;
    map y = make(c, h, w);
    for (int64_t f = 0; f < c; f++)
        for (int64_t i = 0; i < h; i++)
            for (int64_t v = 0; v < half; v++) {
                double complex sum = 0;
                for (int64_t u = 0; u < h; u++) sum += z[(f * h + u) * half + v] * cexp(2 * M_PI * I * (double)(u * i) / (double)h);
                bool single = v == 0 || (w % 2 == 0 && v == w / 2);
                for (int64_t j = 0; j < w; j++) {
                    double complex turn = cexp(2 * M_PI * I * (double)(v * j) / (double)w);
                    double part = single ? creal(sum) * creal(turn) : 2 * creal(sum * turn);
                    y.v[(f * h + i) * w + j] += part / sqrt((double)(h * w));
                }
            }
    return y;
}

static map linear(oracle *o, const char *name, const map *x, int64_t out)
{
    return conv(o, tensor(o, name, ".weight"), tensor(o, name, ".bias"), x, out, 1, 1);
}

static map two_linear(oracle *o, const char *name, const map *x, int64_t hidden)
{
    char fc[64];
    snprintf(fc, sizeof fc, "%s.fc1", name);
    map a = linear(o, fc, x, hidden);
    for (int64_t i = 0; i < a.c * a.h * a.w; i++) a.v[i] = activate(o, a.v[i]);
    snprintf(fc, sizeof fc, "%s.fc2", name);
    map b = linear(o, fc, &a, x->c);
    free(a.v);
    return b;
}

static map spectral(oracle *o, const char *name, const map *x)
{
    int64_t half = x->w / 2 + 1, mh = o->spec.modes < x->h ? o->spec.modes : x->h, mw = o->spec.modes < half ? o->spec.modes : half, c = x->c;
    const float *re = tensor(o, name, ".real"), *im = tensor(o, name, ".imag");
    double complex *z = transform(x), *y = calloc((size_t)(c * x->h * half), sizeof *y);
    for (int64_t i = 0; i < c; i++)
        for (int64_t f = 0; f < c; f++)
            for (int64_t u = 0; u < mh; u++)
                for (int64_t v = 0; v < mw; v++) {
                    int64_t at = ((i * c + f) * mh + u) * mw + v;
                    y[(f * x->h + u) * half + v] += z[(i * x->h + u) * half + v] * (re[at] + I * im[at]);
                }
    map m = back(y, c, x->h, x->w);
    free(z);
    free(y);
    map out = two_linear(o, name, &m, 2 * c);
    free(m.v);
    return out;
}

static void afno(oracle *o, int a, map *x)
{
    char name[64], norm[64];
    for (int half = 0; half < 2; half++) {
        snprintf(norm, sizeof norm, "bottleneck.%d.norm%d", a, half + 1);
        map y = copy(x);
        normalise(&y, 1, tensor(o, norm, ".weight"), tensor(o, norm, ".bias"));
        snprintf(name, sizeof name, "bottleneck.%d.%s", a, half ? "mlp" : "spectral");
        map z = half ? two_linear(o, name, &y, o->spec.hidden_dim ? o->spec.hidden_dim : 2 * x->c) : spectral(o, name, &y);
        add(x, &z);
        free(y.v);
        free(z.v);
    }
}

static map uafno(oracle *o, const map *field)
{
    const lt_operator_spec *s = &o->spec;
    map skip[8], x = conv_block(o, "stem", field, s->base_channels, 3, 1);
    int64_t width = s->base_channels;
    char name[64];
    for (int j = 0; j < s->encoder_levels; j++) {
        width = 2 * width < 8 * s->base_channels ? 2 * width : 8 * s->base_channels;
        for (int q = 0; q < s->blocks_per_level; q++) {
            snprintf(name, sizeof name, "encoder.%d.blocks.%d", j, q);
            replace(&x, residual_block(o, name, &x, width, 3));
        }
        skip[j] = x;
        tell(o, "skip", j, &x);
        snprintf(name, sizeof name, "encoder.%d.down", j);
        x = conv_block(o, name, &skip[j], width, 3, 2);
    }
    for (int a = 0; a < s->afno_blocks; a++) afno(o, a, &x);
    tell(o, "bottleneck", -1, &x);
    for (int j = 0; j < s->encoder_levels; j++) {
        map *mate = &skip[s->encoder_levels - 1 - j];
        map up = upsample(&x), both = concat(&up, mate);
        snprintf(name, sizeof name, "decoder.%d.conv", j);
        replace(&x, conv_block(o, name, &both, mate->c, 3, 1));
        free(up.v);
        free(both.v);
        for (int q = 0; q < s->blocks_per_level; q++) {
            snprintf(name, sizeof name, "decoder.%d.blocks.%d", j, q);
            replace(&x, residual_block(o, name, &x, mate->c, 3));
        }
        free(mate->v);
    }
    return x;
}

map oracle_apply(oracle *o, const double *field, const double *noise, bool multiply, bool per_channel)
{
    map in = { LT_FIELD_CHANNELS, o->spec.grid, o->spec.grid, (double *)(uintptr_t)field };
    map x = o->spec.kind == LT_OPERATOR_CNN ? cnn(o, &in) : uafno(o, &in);
    int64_t plane = x.h * x.w;
    for (int64_t i = 0; noise && i < x.c * plane; i++) {
        double n = noise[per_channel ? i / plane : i];
        x.v[i] = multiply ? x.v[i] * n : x.v[i] + n;
    }
    map y = conv(o, tensor(o, "output", ".weight"), tensor(o, "output", ".bias"), &x, LT_FIELD_CHANNELS, 1, 1);
    free(x.v);
    return y;
}

double oracle_relative_error(const float *got, const double *want, int64_t n)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    return sqrt(error / size);
}
