"""ATen's ops of networks on tracers."""
from __future__ import annotations

import numpy as np

from . import aten_windows
from .aten import floating, of
from .tracer import Refused, Tracer, cast, graph_of, lift, refuse


def node(g, value, like):
    """A node of the type of like; None stays None."""
    return None if value is None else lift(g, value, like.dtype).node


@of("convolution")
def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    g = graph_of(x, weight, bias)
    x, weight = (lift(g, v) for v in (x, weight))
    if x.ndim == 3:  # one spatial dimension: as two, of which the first has one row
        made = convolution(np.expand_dims(x, 2), np.expand_dims(weight, 2), bias, (1, *stride), (0, *padding), (1, *dilation), transposed, (0, *output_padding), groups)
        return np.squeeze(made, 2)
    if transposed and x.ndim == 4:
        return aten_windows.transposed(x, weight, bias, stride, padding, dilation, output_padding, groups)
    if x.ndim == 5 and not transposed:
        return aten_windows.convolution3d(x, weight, bias, stride, padding, dilation, groups)
    if x.ndim != 4:
        refuse(f"a {'transposed ' * bool(transposed)}convolution over {x.ndim - 2} dimensions")
    return Tracer(g.op("conv2d", x.node, node(g, weight, x), node(g, bias, x), tuple(stride), tuple(padding), tuple(dilation), int(groups), False))


def is_plain(x, *pairs) -> bool:
    """Whether a pooling is one that the op table has: over images, with one number for height and width."""
    return x.ndim in (3, 4) and all(len({int(s) for s in pair}) <= 1 for pair in pairs)


@of("max_pool2d_with_indices")
def max_pool2d(x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    if ceil_mode or not is_plain(x, kernel, stride, padding) or set(map(int, dilation)) != {1}:
        return aten_windows.pool(2)(x, kernel, stride, padding, dilation, ceil_mode)
    made = x.node.graph.op("maxpool2d", x.node, int(kernel[0]), int((stride or kernel)[0]), int(padding[0]))
    return Tracer(made), Refused("positions of a pooling")


@of("avg_pool2d")
def avg_pool2d(x, kernel, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
    if ceil_mode or divisor_override is not None or any(padding) and not count_include_pad or not is_plain(x, kernel, stride, padding):
        return aten_windows.average(2)(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return Tracer(x.node.graph.op("avgpool2d", x.node, int(kernel[0]), int((stride or kernel)[0]), int(padding[0])))


@of("_adaptive_avg_pool2d", "adaptive_avg_pool2d")
def adaptive_avg_pool2d(x, size):
    if any(n % m for n, m in zip(x.shape[-2:], size)):
        rows, columns = (averages(n, int(m)).astype(x.dtype) for n, m in zip(x.shape[-2:], size))
        return np.matmul(np.matmul(rows, x), columns.T)
    return Tracer(x.node.graph.op("adaptive_avgpool2d", x.node, int(size[0]), int(size[1])))


def averages(n, m) -> np.ndarray:
    """The m x n matrix that averages n values over m windows, which may overlap."""
    made = np.zeros((m, n))
    for i in range(m):
        first, last = i * n // m, -(-(i + 1) * n // m)
        made[i, first:last] = 1 / (last - first)
    return made


@of("native_batch_norm", "cudnn_batch_norm", "_native_batch_norm_legit")
def batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    g = graph_of(x, weight, bias)
    x = lift(g, x)
    if training and mean is not None:
        refuse("batch normalisation in training mode changes its running statistics (put the module in eval mode)")
    made = g.op("batchnorm", x.node, node(g, weight, x), node(g, bias, x), None if training else node(g, mean, x), None if training else node(g, var, x), float(eps))
    return Tracer(made), Refused("statistics of a batch"), Refused("statistics of a batch")


@of("_native_batch_norm_legit_no_training", "_batch_norm_no_update")
def batch_norm_no_training(x, weight, bias, mean, var, momentum, eps):
    return batch_norm(x, weight, bias, mean, var, False, momentum, eps)


@of("native_group_norm")
def group_norm(x, weight, bias, n, channels, size, groups, eps):
    g = graph_of(x, weight, bias)
    x = lift(g, x)
    made = g.op("groupnorm", x.node, int(groups), node(g, weight, x), node(g, bias, x), float(eps))
    return Tracer(made), Refused("statistics of groups"), Refused("statistics of groups")


@of("native_layer_norm")
def layer_norm(x, shape, weight, bias, eps):
    axes = tuple(range(-len(shape), 0))
    x = floating(lift(graph_of(x, weight, bias), x))
    centred = x - np.mean(x, axis=axes, keepdims=True)
    made = centred * np.power(np.mean(np.square(centred), axis=axes, keepdims=True) + float(eps), -0.5)
    made = made if weight is None else made * weight
    return made if bias is None else made + bias, Refused("statistics of layers"), Refused("statistics of layers")


@of("_softmax", "softmax")
def softmax(x, dim, half_to_float=False):
    return Tracer(x.node.graph.op("softmax", x.node, dim % max(x.ndim, 1)))


@of("_log_softmax", "log_softmax")
def log_softmax(x, dim, half_to_float=False):
    return Tracer(x.node.graph.op("log_softmax", x.node, dim % max(x.ndim, 1)))


@of("nll_loss_forward", "nll_loss")
def nll_loss(x, target, weight, reduction, ignore_index):
    """reduction: 0 none, 1 mean, 2 sum."""
    if isinstance(target, Tracer) or x.ndim != 2:
        refuse("nll_loss of a computed target" if isinstance(target, Tracer) else "nll_loss of one sample")
    target = np.asarray(target)
    used = target != ignore_index
    labels = np.where(used, target, 0)
    shares = used * (np.ones(x.shape[1]) if weight is None else np.asarray(weight))[labels]
    g = x.node.graph
    picked = np.squeeze(Tracer(g.op("gather", x.node, g.constant(labels.astype(np.int64).reshape(-1, 1)), 1)), 1)
    losses = -picked * cast(lift(g, shares), x.dtype)
    total = float(shares.sum())
    return losses if reduction == 0 else np.sum(losses) / total if reduction == 1 else np.sum(losses), np.asarray(total)


# ---- Activations ---------------------------------------------------------------------------------------------------------
@of("silu")
def silu(x):
    return x * Tracer(x.node.graph.op("sigmoid", x.node))


@of("leaky_relu")
def leaky_relu(x, slope=0.01):
    return np.where(np.greater(x, 0), x, x * float(slope))


@of("elu")
def elu(x, alpha=1, scale=1, input_scale=1):
    return np.where(np.greater(x, 0), x * float(scale), np.expm1(np.minimum(x, 0.0) * float(input_scale)) * float(alpha * scale))


@of("hardtanh")
def hardtanh(x, low=-1, high=1):
    return np.clip(x, low, high)


@of("gelu")
def gelu(x, *, approximate="none"):
    if approximate == "none":
        return Tracer(x.node.graph.op("gelu", floating(x).node))
    return 0.5 * x * (1 + np.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * x**3)))


@of("softplus")
def softplus(x, beta=1, threshold=20):
    """Stable for every argument: PyTorch's switch to the identity beyond the threshold changes nothing that rounding does not."""
    return Tracer(x.node.graph.op("softplus", (x * float(beta)).node)) / float(beta)
