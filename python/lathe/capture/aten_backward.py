"""ATen's ops of backward graphs, on tracers: derivatives of the forward op by the graph's own reverse mode.

The forward op is written into the graph again; what its derivative does not need of it is left out when the graph is compiled.
"""
from __future__ import annotations

import numpy as np

from . import indexing
from .aten import TABLE, of
from .tracer import Tracer, graph_of, lift, refuse


def pulled_back(grad, made, wrt):
    """Derivatives of sum(grad . made) with respect to nodes; None stays None."""
    g = made.node.graph
    total = g.op("sum", g.op("mul", made.node, lift(g, grad, made.dtype).node))
    found = iter(g.grad(total, [n for n in wrt if n is not None]))
    return [None if n is None else Tracer(next(found)) for n in wrt]


@of("convolution_backward")
def convolution_backward(grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    g = graph_of(grad, x, weight)
    grad, x, weight = (lift(g, v) for v in (grad, x, weight))
    made = TABLE["convolution"](x, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    dx, dw = pulled_back(grad, made, [x.node if mask[0] else None, weight.node if mask[1] else None])
    return dx, dw, np.sum(grad, axis=(0, *range(2, grad.ndim))) if mask[2] else None


@of("max_pool2d_with_indices_backward")
def max_pool2d_backward(grad, x, kernel, stride, padding, dilation, ceil_mode, indices):
    return pulled_back(grad, TABLE["max_pool2d_with_indices"](x, kernel, stride, padding, dilation, ceil_mode)[0], [x.node])[0]


@of("avg_pool2d_backward")
def avg_pool2d_backward(grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return pulled_back(grad, TABLE["avg_pool2d"](x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override), [x.node])[0]


@of("_adaptive_avg_pool2d_backward")
def adaptive_avg_pool2d_backward(grad, x):
    return pulled_back(grad, TABLE["_adaptive_avg_pool2d"](x, grad.shape[-2:]), [x.node])[0]


# ---- By index ------------------------------------------------------------------------------------------------------------
@of("embedding")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    g = graph_of(weight, indices)
    return rows(g, lift(g, weight), lift(g, indices))


def rows(g, x, index, axis=0):
    if index.dtype.kind != "i":
        refuse("indexing by a computed mask")
    return indexing.rows(x, index, axis)


@of("embedding_dense_backward")
def embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        refuse("an embedding with scale_grad_by_freq")
    g = graph_of(grad, indices)
    grad, indices = (lift(g, v) for v in (grad, indices))
    table = lift(g, np.zeros((num_weights, grad.shape[-1])), grad.dtype)
    made = pulled_back(grad, rows(g, table, indices), [table.node])[0]
    return made if padding_idx < 0 else made * lift(g, (np.arange(num_weights) != padding_idx)[:, None], grad.dtype)


@of("scatter_add")
def scatter_add(x, dim, index, source):
    g = graph_of(x, index, source)
    x, index, source = (lift(g, v) for v in (x, index, source))
    if index.shape != source.shape or any(i != n for k, (i, n) in enumerate(zip(index.shape, x.shape)) if k != dim % x.ndim):
        refuse("scatter_add into a part of a tensor")
    zeros = lift(g, np.zeros(x.shape), source.dtype)
    return x + pulled_back(source, TABLE["gather"](zeros, dim, index), [zeros.node])[0]


# ---- Of one value --------------------------------------------------------------------------------------------------------
@of("threshold_backward")
def threshold_backward(grad, x, threshold):
    return np.where(np.greater(x, threshold), grad, 0.0)


@of("_softmax_backward_data")
def softmax_backward(grad, output, dim, dtype=None):
    part = np.multiply(grad, output)
    return part - np.multiply(output, np.sum(part, axis=dim, keepdims=True))


@of("_log_softmax_backward_data")
def log_softmax_backward(grad, output, dim, dtype=None):
    return np.subtract(grad, np.exp(output) * np.sum(grad, axis=dim, keepdims=True))
