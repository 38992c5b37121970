/* Public builders: convolution, pooling, normalisation, recurrent and classification layers,
   Fourier transforms. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/sized.h"
#include "base/status.h"
#include "graph/build/build.h"

#define LABEL(x) lt_node_label(&g->ir, (x).id).s
#define SHAPE(x) lt_shape_str(lt_shape_at(g, x)).s

/* [c] as [1, c, 1, …], or [1, …, c], so that it broadcasts over activations of this rank. */
static lt_node per_channel(lt_graph *g, lt_node v, int rank, int axis)
{
    lt_shape s = { .rank = rank };
    for (int i = 0; i < rank; i++) s.dim[i] = 1;
    s.dim[axis] = -1;
    return lt_reshape(g, v, s);
}

void lt_conv_defaults_into(lt_conv_options *out)
{
    LT_GIVE(out, &(lt_conv_options){ .size = sizeof(lt_conv_options), .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1 });
}

lt_node lt_conv2d(lt_graph *g, lt_node x, lt_node w, lt_node bias, const lt_conv_options *options)
{
    lt_conv_options own = lt_conv_defaults(), *opt = &own;
    lt_status bad = LT_TAKE(lt_conv_options, options, opt);
    if (bad) return lt_graph_fail(g, bad);
    if (!lt_operands_ok(g, "conv2d", 2, (lt_node[]){ x, w })) return LT_NONE;
    const lt_shape *s = lt_shape_at(g, x), *k = lt_shape_at(g, w);
    if (s->rank != 4 || k->rank != 4)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "conv2d of %s %s by %s %s: need [n, c, h, w] by [o, c/groups, kh, kw]",
                                        LABEL(x), SHAPE(x), LABEL(w), SHAPE(w)));
    int h = opt->channels_last ? 1 : 2;
    lt_attr attr = { .u.conv = { .kernel = { k->dim[2], k->dim[3] }, .stride = { opt->stride[0], opt->stride[1] },
                                 .pad = { opt->padding[0], opt->padding[1] }, .dilation = { opt->dilation[0], opt->dilation[1] },
                                 .size = { s->dim[h], s->dim[h + 1] }, .groups = opt->groups, .channels_last = opt->channels_last } };
    lt_node y = lt_emit_simple(g, LT_OP_CONV2D, 2, (lt_node[]){ x, w }, &attr);
    if (lt_is_none(bias) || lt_is_none(y)) return y;
    return lt_add(g, y, per_channel(g, bias, 4, opt->channels_last ? 3 : 1));
}

static bool pool_window(lt_graph *g, const char *op, lt_node x, int64_t kernel, int64_t stride, int64_t padding, lt_window *w)
{
    if (!lt_operand_ok(g, op, x)) return false;
    const lt_shape *s = lt_shape_at(g, x);
    if (s->rank < 2) {
        lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "%s of %s %s: needs [.., h, w]", op, LABEL(x), SHAPE(x)));
        return false;
    }
    *w = (lt_window){ .kernel = { kernel, kernel }, .stride = { stride, stride }, .pad = { padding, padding },
                      .dilation = { 1, 1 }, .size = { s->dim[s->rank - 2], s->dim[s->rank - 1] }, .groups = 1 };
    return true;
}

/* The window's maximum is a gather by the index of its first maximum, so the gradient is a scatter. */
lt_node lt_maxpool2d(lt_graph *g, lt_node x, int64_t kernel, int64_t stride, int64_t padding)
{
    lt_attr attr = { 0 };
    if (!pool_window(g, "maxpool2d", x, kernel, stride, padding, &attr.u.conv)) return LT_NONE;
    lt_node index = lt_emit_simple(g, LT_OP_MAXPOOL_INDEX, 1, &x, &attr);
    if (lt_is_none(index)) return LT_NONE;
    lt_shape planes = *lt_shape_at(g, x), out = *lt_shape_at(g, index), picked = out;
    int r = planes.rank;
    planes.dim[r - 2] *= planes.dim[r - 1];
    planes.dim[--planes.rank] = 0;
    picked.dim[r - 2] *= picked.dim[r - 1];
    picked.dim[--picked.rank] = 0;
    lt_node y = lt_take_along(g, lt_reshape(g, x, planes), lt_reshape(g, index, picked));
    return lt_is_none(y) ? y : lt_reshape(g, y, out);
}

lt_node lt_avgpool2d(lt_graph *g, lt_node x, int64_t kernel, int64_t stride, int64_t padding)
{
    lt_attr attr = { 0 };
    if (!pool_window(g, "avgpool2d", x, kernel, stride, padding, &attr.u.conv)) return LT_NONE;
    return lt_emit_simple(g, LT_OP_AVGPOOL, 1, &x, &attr);
}

lt_node lt_adaptive_avgpool2d(lt_graph *g, lt_node x, int64_t out_h, int64_t out_w)
{
    lt_attr attr = { 0 };
    if (!pool_window(g, "adaptive_avgpool2d", x, 1, 1, 0, &attr.u.conv)) return LT_NONE;
    lt_window *w = &attr.u.conv;
    if (out_h < 1 || out_w < 1 || w->size[0] % out_h || w->size[1] % out_w)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "adaptive_avgpool2d of %s %s to [%lld, %lld]: the output must divide the input",
                                        LABEL(x), SHAPE(x), (long long)out_h, (long long)out_w));
    w->kernel[0] = w->stride[0] = w->size[0] / out_h;
    w->kernel[1] = w->stride[1] = w->size[1] / out_w;
    return lt_emit_simple(g, LT_OP_AVGPOOL, 1, &x, &attr);
}

/* (x - mean) / sqrt(var + eps) * gamma + beta, all already shaped to broadcast. */
static lt_node normalise(lt_graph *g, lt_node x, lt_node mean, lt_node var, lt_node gamma, lt_node beta, double eps)
{
    lt_node scale = lt_recip(g, lt_sqrt(g, lt_shift(g, var, eps)));
    if (!lt_is_none(gamma)) scale = lt_mul(g, scale, gamma);
    lt_node y = lt_mul(g, lt_sub(g, x, mean), scale);
    return lt_is_none(beta) ? y : lt_add(g, y, beta);
}

static lt_node mean_square(lt_graph *g, lt_node centred, int n_axes, const int *axes)
{
    return lt_mean_axes(g, lt_square(g, centred), n_axes, axes, true);
}

lt_node lt_batchnorm(lt_graph *g, lt_node x, lt_node gamma, lt_node beta, lt_node mean, lt_node var, double eps)
{
    if (!lt_operand_ok(g, "batchnorm", x)) return LT_NONE;
    int rank = lt_shape_at(g, x)->rank, axes[LT_MAX_RANK], n = 0;
    if (rank < 2) return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "batchnorm of %s %s: needs [n, c, ..]", LABEL(x), SHAPE(x)));
    if (lt_is_none(mean) != lt_is_none(var))
        return lt_graph_fail(g, LT_FAIL(LT_ERR_ARGUMENT, "batchnorm of %s: give both stored mean and variance, or neither", LABEL(x)));
    if (!lt_is_none(gamma)) gamma = per_channel(g, gamma, rank, 1);
    if (!lt_is_none(beta)) beta = per_channel(g, beta, rank, 1);
    if (!lt_is_none(mean))
        return normalise(g, x, per_channel(g, mean, rank, 1), per_channel(g, var, rank, 1), gamma, beta, eps);
    for (int i = 0; i < rank; i++) if (i != 1) axes[n++] = i;
    lt_node centre = lt_mean_axes(g, x, n, axes, true);
    return normalise(g, x, centre, mean_square(g, lt_sub(g, x, centre), n, axes), gamma, beta, eps);
}

lt_node lt_groupnorm(lt_graph *g, lt_node x, int64_t groups, lt_node gamma, lt_node beta, double eps)
{
    if (!lt_operand_ok(g, "groupnorm", x)) return LT_NONE;
    const lt_shape s = *lt_shape_at(g, x);
    if (s.rank < 2 || groups < 1 || s.dim[1] % groups)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "groupnorm of %s %s in %lld groups: needs [n, c, ..] with c a multiple of the groups",
                                        LABEL(x), SHAPE(x), (long long)groups));
    lt_node rows = lt_reshape(g, x, lt_shape3(s.dim[0], groups, -1));
    lt_node centre = lt_mean_axis(g, rows, 2, true);
    lt_node var = mean_square(g, lt_sub(g, rows, centre), 1, (int[]){ 2 });
    lt_node y = lt_reshape(g, normalise(g, rows, centre, var, LT_NONE, LT_NONE, eps), s);
    if (!lt_is_none(gamma)) y = lt_mul(g, y, per_channel(g, gamma, s.rank, 1));
    return lt_is_none(beta) ? y : lt_add(g, y, per_channel(g, beta, s.rank, 1));
}

lt_node lt_linear(lt_graph *g, lt_node x, lt_node w, lt_node bias)
{
    lt_node y = lt_matmul(g, x, lt_transpose(g, w));
    return lt_is_none(bias) ? y : lt_add(g, y, bias);
}

lt_node lt_rnn_tanh(lt_graph *g, lt_node x, lt_node w_ih, lt_node w_hh, lt_node b_ih, lt_node b_hh)
{
    if (!lt_operands_ok(g, "rnn_tanh", 3, (lt_node[]){ x, w_ih, w_hh })) return LT_NONE;
    const lt_shape s = *lt_shape_at(g, x), hh = *lt_shape_at(g, w_hh);
    if (s.rank != 3 || hh.rank != 2 || hh.dim[0] != hh.dim[1] || s.dim[1] < 1)
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "rnn_tanh of %s %s with %s %s: need [batch, time, in] and a square matrix",
                                        LABEL(x), SHAPE(x), LABEL(w_hh), SHAPE(w_hh)));
    int64_t steps = s.dim[1];
    lt_node *state = lt_arena_alloc(&g->arena, (size_t)steps * sizeof *state);
    if (!state) return lt_graph_fail(g, LT_ERR_MEMORY);
    lt_node drive = lt_linear(g, x, w_ih, b_ih); /* all steps at once */
    if (!lt_is_none(b_hh)) drive = lt_add(g, drive, b_hh);
    for (int64_t t = 0; t < steps; t++) {
        lt_node z = lt_select(g, drive, 1, t);
        if (t > 0) z = lt_add(g, lt_linear(g, state[t - 1], w_hh, LT_NONE), z);
        state[t] = lt_tanh(g, z);
    }
    return lt_stack(g, state, (int)steps, 1);
}

lt_node lt_log_softmax(lt_graph *g, lt_node x, int axis) { return lt_sub(g, x, lt_logsumexp_axis(g, x, axis, true)); }

lt_node lt_softmax(lt_graph *g, lt_node x, int axis)
{
    if (!lt_axis_ok(g, "softmax", x, &axis)) return LT_NONE;
    lt_node top = lt_detach(g, lt_reduce(g, LT_OP_RMAX, x, 1u << axis, true));
    lt_node e = lt_exp(g, lt_sub(g, x, top));
    return lt_div(g, e, lt_sum_axis(g, e, axis, true));
}

lt_node lt_cross_entropy(lt_graph *g, lt_node z, lt_node labels)
{
    if (!lt_operands_ok(g, "cross_entropy", 2, (lt_node[]){ z, labels })) return LT_NONE;
    const lt_shape *sz = lt_shape_at(g, z), *sl = lt_shape_at(g, labels);
    if (sz->rank != 2 || sl->rank != 1 || sz->dim[0] != sl->dim[0])
        return lt_graph_fail(g, LT_FAIL(LT_ERR_SHAPE, "cross_entropy of %s %s and %s %s: need [n, classes] and [n]",
                                        LABEL(z), SHAPE(z), LABEL(labels), SHAPE(labels)));
    lt_node picked = lt_gather(g, z, lt_unsqueeze(g, labels, 1), 1);
    return lt_mean(g, lt_sub(g, lt_logsumexp_axis(g, z, 1, true), picked));
}

lt_node lt_rfft2(lt_graph *g, lt_node x) { return lt_emit_simple(g, LT_OP_RFFT2, 1, &x, NULL); }

lt_node lt_irfft2(lt_graph *g, lt_node x, int64_t width)
{
    return lt_emit_simple(g, LT_OP_IRFFT2, 1, &x, &(lt_attr){ .u.index.extent = width });
}
