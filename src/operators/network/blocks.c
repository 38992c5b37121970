/* Blocks that both networks are made of, and the CNN. Maps are [batch, h, w, c]: the channels of a pixel lie
   side by side, as fast convolutions want them. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/network/network.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>

#define NAME_SIZE 48

int64_t lt_network_channels(const lt_network *n, lt_node x) { return lt_node_shape(n->graph, x).dim[3]; }

static lt_node tensor(lt_network *n, const char *prefix, const char *suffix, lt_shape shape, lt_tensor_init init, double scale)
{
    return lt_network_tensor_next(n, prefix, suffix, shape, init, scale);
}

/* x with its last `p` rows in front and its first `p` behind, along one axis. */
static lt_node wrap(lt_graph *g, lt_node x, int axis, int64_t p)
{
    lt_node part[3] = { lt_slice(g, x, axis, -p, LT_END, 1), x, lt_slice(g, x, axis, 0, p, 1) };
    return lt_concat(g, part, 3, axis);
}

lt_node lt_network_conv(lt_network *n, const char *name, lt_node x, int64_t out, int64_t kernel, int64_t stride, bool bias)
{
    lt_graph *g = n->graph;
    int64_t in = lt_network_channels(n, x), pad = kernel / 2;
    double bound = 1 / sqrt((double)(in * kernel * kernel));
    lt_node w = tensor(n, name, ".weight", lt_shape4(out, in, kernel, kernel), LT_INIT_UNIFORM, bound);
    lt_node b = bias ? tensor(n, name, ".bias", lt_shape1(out), LT_INIT_UNIFORM, bound) : LT_NONE;
    lt_conv_options opt = lt_conv_defaults();
    opt.stride[0] = opt.stride[1] = stride;
    opt.padding[0] = opt.padding[1] = pad;
    opt.channels_last = true;
    if (pad && n->spec.circular_padding) {
        x = wrap(g, wrap(g, x, 1, pad), 2, pad);
        opt.padding[0] = opt.padding[1] = 0;
    }
    lt_node y = lt_conv2d(g, x, w, b, &opt);
    lt_shape s = lt_node_shape(g, y);
    n->flops += 2.0 * (double)(in * kernel * kernel) * (double)(s.dim[1] * s.dim[2] * s.dim[3]);
    return y;
}

static lt_node per_channel(lt_graph *g, lt_node v) { return lt_reshape(g, v, lt_shape4(1, 1, 1, -1)); }

/* Mean and biased variance of every channel over the grid, [batch, 1, 1, c] each, in one pass over x: sums of
   the distance to a nearby point and of its square. The point is the mean over every eighth row: its
   squared distance to the mean is at most 8 times the variance, so the difference below keeps all but
   three bits in the worst case (decision 57). */
static void channel_moments(lt_graph *g, lt_node x, lt_node *mean, lt_node *var)
{
    static const int grid[2] = { 1, 2 };
    int64_t every = lt_node_shape(g, x).dim[1] >= 32 ? 8 : 1;
    lt_node near = lt_mean_axes(g, lt_slice(g, x, 1, 0, LT_END, every), 2, grid, true);
    lt_node distance = lt_sub(g, x, near);
    lt_node first = lt_mean_axes(g, distance, 2, grid, true), second = lt_mean_axes(g, lt_square(g, distance), 2, grid, true);
    *mean = lt_add(g, near, first);
    *var = lt_maximum(g, lt_sub(g, second, lt_square(g, first)), lt_scalar(g, LT_F32, 0));
}

/* Moments of groups of channels from those of the channels; still one value per channel. */
static void group_moments(lt_graph *g, int64_t groups, lt_node *mean, lt_node *var)
{
    lt_shape by_channel = lt_node_shape(g, *mean);
    lt_shape by_group = lt_shape3(by_channel.dim[0], groups, by_channel.dim[3] / groups);
    lt_node m = lt_reshape(g, *mean, by_group), v = lt_reshape(g, *var, by_group);
    lt_node centre = lt_mean_axis(g, m, 2, true);
    lt_node spread = lt_mean_axis(g, lt_add(g, v, lt_square(g, lt_sub(g, m, centre))), 2, true);
    *mean = lt_reshape(g, lt_broadcast_to(g, centre, by_group), by_channel);
    *var = lt_reshape(g, lt_broadcast_to(g, spread, by_group), by_channel);
}

lt_node lt_network_normalise(lt_network *n, const char *name, lt_node x, int64_t groups)
{
    lt_graph *g = n->graph;
    int64_t channels = lt_network_channels(n, x);
    lt_node gamma = per_channel(g, tensor(n, name, ".weight", lt_shape1(channels), LT_INIT_ONE, 0));
    lt_node beta = per_channel(g, tensor(n, name, ".bias", lt_shape1(channels), LT_INIT_ZERO, 0));
    if (groups == 0) /* running statistics of an untrained network: mean 0, variance 1 */
        return lt_add(g, lt_mul(g, x, lt_scale(g, gamma, 1 / sqrt(1 + LT_NORM_EPSILON))), beta);
    lt_node mean, var;
    channel_moments(g, x, &mean, &var);
    if (groups < channels) group_moments(g, groups, &mean, &var);
    lt_node scale = lt_mul(g, gamma, lt_recip(g, lt_sqrt(g, lt_shift(g, var, LT_NORM_EPSILON))));
    return lt_add(g, lt_mul(g, lt_sub(g, x, mean), scale), beta);
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(2 sqrt(2/pi) (x + …)). */
static lt_node tanh_gelu(lt_graph *g, lt_node x)
{
    static const double twice = 1.5957691216057308;
    lt_node inner = lt_mul(g, x, lt_shift(g, lt_scale(g, lt_square(g, x), 0.044715 * twice), twice));
    return lt_mul(g, x, lt_sigmoid(g, inner));
}

lt_node lt_network_activate(lt_network *n, lt_node x)
{
    lt_graph *g = n->graph;
    switch (n->spec.activation) {
    case LT_ACT_GELU: return n->spec.tanh_gelu ? tanh_gelu(g, x) : lt_gelu(g, x);
    case LT_ACT_RELU: return lt_relu(g, x);
    case LT_ACT_SILU: return lt_mul(g, x, lt_sigmoid(g, x));
    case LT_ACT_TANH: return lt_tanh(g, x);
    default: return x;
    }
}

/* Groups of the architecture's normalisation; 0: running statistics. */
static int64_t norm_groups(const lt_operator_spec *s, int64_t channels)
{
    switch (s->normalization) {
    case LT_NORM_INSTANCE: return channels;
    case LT_NORM_GROUP: return lt_group_count(channels);
    case LT_NORM_LAYER: return 1;
    default: return 0;
    }
}

lt_node lt_network_conv_block(lt_network *n, const char *name, lt_node x, int64_t out, int64_t kernel, int64_t stride)
{
    bool plain = n->spec.normalization == LT_NORM_NONE;
    lt_node y = lt_network_conv(n, name, x, out, kernel, stride, plain);
    char norm[NAME_SIZE];
    snprintf(norm, sizeof norm, "%.40s.norm", name);
    if (!plain) y = lt_network_normalise(n, norm, y, norm_groups(&n->spec, out));
    return lt_network_activate(n, y);
}

lt_node lt_network_residual_block(lt_network *n, const char *name, lt_node x, int64_t out, int64_t kernel)
{
    char part[NAME_SIZE];
    snprintf(part, sizeof part, "%.40s.conv1", name);
    lt_node y = lt_network_conv_block(n, part, x, out, kernel, 1);
    snprintf(part, sizeof part, "%.40s.conv2", name);
    y = lt_network_conv_block(n, part, y, out, kernel, 1);
    if (lt_network_channels(n, x) == out) return lt_add(n->graph, y, x);
    snprintf(part, sizeof part, "%.40s.proj", name);
    return lt_add(n->graph, y, lt_network_conv(n, part, x, out, 1, 1, false));
}

lt_node lt_network_cnn(lt_network *n, lt_node x, lt_node noise)
{
    const lt_operator_spec *s = &n->spec;
    lt_noise_site site = lt_network_noise(s).site;
    char name[NAME_SIZE];
    x = lt_network_conv_block(n, "stem", x, s->base_channels, s->kernel_size, 1);
    lt_network_tap_add(n, LT_TAP_EARLY, 0, "early", x);
    for (int i = 0; i < s->num_layers; i++) {
        snprintf(name, sizeof name, "blocks.%d", i);
        x = s->num_layers > 3 ? lt_network_residual_block(n, name, x, lt_cnn_width(s, i), s->kernel_size)
                              : lt_network_conv_block(n, name, x, lt_cnn_width(s, i), s->kernel_size, 1);
        snprintf(name, sizeof name, "mid_%d", i + 1);
        lt_network_tap_add(n, LT_TAP_MID, i, name, x);
    }
    lt_network_tap_add(n, LT_TAP_PRE_OUTPUT, 0, "pre_output", x);
    static const int to_last[4] = { 0, 2, 3, 1 }; /* noise is drawn channel by channel */
    if (site == LT_SITE_MAP || site == LT_SITE_MAP_FACTOR) noise = lt_permute(n->graph, noise, to_last);
    if (site == LT_SITE_MAP) x = lt_add(n->graph, x, noise);
    else if (site == LT_SITE_MAP_FACTOR) x = lt_mul(n->graph, x, noise);
    return lt_network_conv(n, "output", x, LT_FIELD_CHANNELS, 1, 1, true);
}
