/* The U-AFNO: an encoder and a decoder with skips around spectral convolutions.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/network/network.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

#define NAME_SIZE 48
#define MAX_LEVELS 10

/* One axis twice as long, bilinear with half-pixel centres: even points are a quarter of the
   neighbour before and three of their own, odd ones of the neighbour behind; edges repeat. */
static lt_node double_axis(lt_graph *g, lt_node x, int axis)
{
    lt_shape s = lt_node_shape(g, x);
    int64_t m = s.dim[axis];
    lt_node before = lt_concat(g, (lt_node[]){ lt_slice(g, x, axis, 0, 1, 1), lt_slice(g, x, axis, 0, m - 1, 1) }, 2, axis);
    lt_node behind = lt_concat(g, (lt_node[]){ lt_slice(g, x, axis, 1, m, 1), lt_slice(g, x, axis, m - 1, m, 1) }, 2, axis);
    lt_node own = lt_scale(g, x, 0.75);
    lt_node even = lt_add(g, own, lt_scale(g, before, 0.25)), odd = lt_add(g, own, lt_scale(g, behind, 0.25));
    s.dim[axis] = 2 * m;
    return lt_reshape(g, lt_stack(g, (lt_node[]){ even, odd }, 2, axis + 1), s);
}

static lt_node upsample(lt_graph *g, lt_node x) { return double_axis(g, double_axis(g, x, 1), 2); }

/* A linear map of the channels, with bias: PyTorch's Linear or 1x1 convolution, stored [out, in]. */
static lt_node linear(lt_network *n, const char *name, lt_node x, int64_t out)
{
    lt_graph *g = n->graph;
    lt_shape s = lt_node_shape(g, x);
    int64_t in = s.dim[3];
    lt_conv_options opt = lt_conv_defaults();
    double bound = 1 / sqrt((double)in);
    lt_node w = lt_network_tensor_next(n, name, ".weight", lt_shape2(out, in), LT_INIT_UNIFORM, bound);
    lt_node b = lt_network_tensor_next(n, name, ".bias", lt_shape1(out), LT_INIT_UNIFORM, bound);
    opt.channels_last = true;
    n->flops += 2.0 * (double)(in * out) * (double)(s.dim[1] * s.dim[2]);
    return lt_conv2d(g, x, lt_reshape(g, w, lt_shape4(out, in, 1, 1)), b, &opt);
}

/* Real or imaginary part of a [batch, c, mh, mw, 2] tensor, shaped [batch, c, 1, modes]. */
static lt_node part(lt_graph *g, lt_node z, int which)
{
    lt_shape s = lt_node_shape(g, z);
    return lt_reshape(g, lt_select(g, z, 4, which), lt_shape4(s.dim[0], s.dim[1], 1, s.dim[2] * s.dim[3]));
}

/* Every mode that is kept gets its own complex matrix: out_o = sum_i in_i w_io. */
static lt_node mix_modes(lt_network *n, const char *name, lt_node z)
{
    lt_graph *g = n->graph;
    lt_shape s = lt_node_shape(g, z);
    int64_t c = s.dim[1], modes = s.dim[2] * s.dim[3];
    lt_shape stored = lt_shape4(c, c, s.dim[2], s.dim[3]);
    double scale = 1 / ((double)c * (double)c);
    lt_node wr = lt_reshape(g, lt_network_tensor_next(n, name, ".real", stored, LT_INIT_NORMAL, scale), lt_shape3(c, c, modes));
    lt_node wi = lt_reshape(g, lt_network_tensor_next(n, name, ".imag", stored, LT_INIT_NORMAL, scale), lt_shape3(c, c, modes));
    lt_node zr = part(g, z, 0), zi = part(g, z, 1);
    lt_node re = lt_sum_axis(g, lt_sub(g, lt_mul(g, zr, wr), lt_mul(g, zi, wi)), 1, false);
    lt_node im = lt_sum_axis(g, lt_add(g, lt_mul(g, zr, wi), lt_mul(g, zi, wr)), 1, false);
    n->n_unread += 2 * c * c * ((int64_t)n->spec.modes * n->spec.modes - modes);
    n->flops += 8.0 * (double)(c * c) * (double)modes;
    return lt_reshape(g, lt_stack(g, (lt_node[]){ re, im }, 2, 3), s);
}

static lt_node spectral(lt_network *n, const char *name, lt_node x)
{
    lt_graph *g = n->graph;
    lt_shape s = lt_node_shape(g, x);
    int64_t h = s.dim[1], w = s.dim[2], half = w / 2 + 1;
    int64_t mh = LT_MIN(n->spec.modes, h), mw = LT_MIN(n->spec.modes, half);
    lt_node z = lt_rfft2(g, lt_permute(g, x, (int[]){ 0, 3, 1, 2 }));
    z = lt_slice(g, lt_slice(g, z, 2, 0, mh, 1), 3, 0, mw, 1);
    z = mix_modes(n, name, z);
    z = lt_pad(g, lt_pad(g, z, 2, 0, h - mh), 3, 0, half - mw);
    /* Orthonormal both ways: 1/sqrt(h w) twice. */
    lt_node y = lt_permute(g, lt_scale(g, lt_irfft2(g, z, w), 1 / (double)(h * w)), (int[]){ 0, 2, 3, 1 });
    char fc[NAME_SIZE];
    snprintf(fc, sizeof fc, "%.40s.fc1", name);
    y = lt_network_activate(n, linear(n, fc, y, 2 * s.dim[3]));
    snprintf(fc, sizeof fc, "%.40s.fc2", name);
    return linear(n, fc, y, s.dim[3]);
}

static lt_node mlp(lt_network *n, const char *name, lt_node x)
{
    int64_t channels = lt_network_channels(n, x);
    char fc[NAME_SIZE];
    snprintf(fc, sizeof fc, "%.40s.fc1", name);
    lt_node y = lt_network_activate(n, linear(n, fc, x, lt_uafno_hidden(&n->spec)));
    snprintf(fc, sizeof fc, "%.40s.fc2", name);
    return linear(n, fc, y, channels);
}

static lt_node afno_block(lt_network *n, int index, lt_node x)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "bottleneck.%d.norm1", index);
    lt_node y = lt_network_normalise(n, name, x, 1);
    snprintf(name, sizeof name, "bottleneck.%d.spectral", index);
    x = lt_add(n->graph, x, spectral(n, name, y));
    snprintf(name, sizeof name, "bottleneck.%d.norm2", index);
    y = lt_network_normalise(n, name, x, 1);
    snprintf(name, sizeof name, "bottleneck.%d.mlp", index);
    return lt_add(n->graph, x, mlp(n, name, y));
}

static lt_node residual_blocks(lt_network *n, const char *stage, int level, lt_node x, int64_t width)
{
    char name[NAME_SIZE];
    for (int q = 0; q < n->spec.blocks_per_level; q++) {
        snprintf(name, sizeof name, "%s.%d.blocks.%d", stage, level, q);
        x = lt_network_residual_block(n, name, x, width, 3);
    }
    return x;
}

lt_node lt_network_uafno(lt_network *n, lt_node x)
{
    const lt_operator_spec *s = &n->spec;
    int levels = s->encoder_levels;
    lt_node skip[MAX_LEVELS];
    char name[NAME_SIZE];
    x = lt_network_conv_block(n, "stem", x, s->base_channels, 3, 1);
    for (int j = 0; j < levels; j++) {
        skip[j] = residual_blocks(n, "encoder", j, x, lt_uafno_width(s, j));
        snprintf(name, sizeof name, "skip_%d", j);
        lt_network_tap_add(n, LT_TAP_SKIP, j, name, skip[j]);
        snprintf(name, sizeof name, "encoder.%d.down", j);
        x = lt_network_conv_block(n, name, skip[j], lt_uafno_width(s, j), 3, 2);
    }
    for (int a = 0; a < s->afno_blocks; a++) x = afno_block(n, a, x);
    lt_network_tap_add(n, LT_TAP_BOTTLENECK, 0, "bottleneck", x);
    for (int j = 0; j < levels; j++) { /* decoder 0 is the deepest */
        lt_node mate = skip[levels - 1 - j];
        int64_t width = lt_network_channels(n, mate);
        x = lt_concat(n->graph, (lt_node[]){ upsample(n->graph, x), mate }, 2, 3);
        snprintf(name, sizeof name, "decoder.%d.conv", j);
        x = lt_network_conv_block(n, name, x, width, 3, 1);
        x = residual_blocks(n, "decoder", j, x, width);
    }
    return lt_network_conv(n, "output", x, LT_FIELD_CHANNELS, 1, 1, true);
}
