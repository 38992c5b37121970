"""ATen's ops on windows that the op table has no kernel for, on tracers: from slices, one for each place in a window.

Windows of any sizes, in one to three dimensions, with ceil_mode; transposed and three-dimensional convolutions; the largest of each window
sends its derivative to the first place that holds it, as PyTorch does.
"""
from __future__ import annotations

import itertools

import numpy as np

from .aten import TABLE, of
from .aten_backward import pulled_back
from .tracer import Refused, graph_of, lift, refuse


def sizes(value, n) -> tuple:
    """One number per dimension: a list of one stands for all."""
    value = [int(v) for v in value]
    return tuple(value * n if len(value) == 1 else value)


def outputs(length, kernel, stride, before, dilation, ceil) -> int:
    """Windows along one dimension; with ceil the last one may reach over the end, but has to begin inside."""
    span = length + 2 * before - dilation * (kernel - 1) - 1
    n = (span + (stride - 1 if ceil else 0)) // stride + 1
    return n - (ceil and (n - 1) * stride >= length + before)


class Windows:
    """x with its last dimensions seen through windows: ``slices(value)`` has x padded with this value, one slice per place of a window."""

    def __init__(self, x, kernel, stride, padding, dilation, ceil, spatial):
        self.x, self.lead = x, x.ndim - spatial
        self.kernel, self.padding, self.dilation = (sizes(v, spatial) for v in (kernel, padding or [0], dilation or [1]))
        self.stride = sizes(stride, spatial) if len(stride) else self.kernel
        self.lengths = x.shape[self.lead:]
        self.n = [outputs(*one, ceil) for one in zip(self.lengths, self.kernel, self.stride, self.padding, self.dilation)]

    def slices(self, value):
        reach = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(self.n, self.stride, self.dilation, self.kernel)]
        around = [(p, max(0, r - p - length)) for p, r, length in zip(self.padding, reach, self.lengths)]
        padded = TABLE["constant_pad_nd"](self.x, [v for pair in reversed(around) for v in pair], value) if any(map(any, around)) else self.x
        for place in itertools.product(*map(range, self.kernel)):
            cuts = (slice(at * d, at * d + (n - 1) * s + 1, s) for at, d, n, s in zip(place, self.dilation, self.n, self.stride))
            yield padded[(slice(None),) * self.lead + tuple(cuts)]

    def counts(self, with_padding) -> np.ndarray:
        """Elements that each window averages over: those beyond the padding never count."""
        made = np.ones(())
        for n, k, s, p, length in zip(self.n, self.kernel, self.stride, self.padding, self.lengths):
            first = np.arange(n) * s - p
            last = np.minimum(first + k, length + p)
            along = last - first if with_padding else np.minimum(last, length) - np.maximum(first, 0)
            made = made[..., None] * along
        return made


def largest(windows):
    return np.max(np.stack(list(windows.slices(-np.inf))), axis=0)


def pool(spatial):
    def handler(x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
        return largest(Windows(x, kernel, stride, padding, dilation, ceil_mode, spatial)), Refused("positions of a pooling")
    return handler


def average(spatial):
    def handler(x, kernel, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
        w = Windows(x, kernel, stride, padding, None, ceil_mode, spatial)
        total = None
        for part in w.slices(0.0):
            total = part if total is None else total + part
        return total / (w.counts(count_include_pad).astype(x.dtype) if divisor_override is None else float(divisor_override))
    return handler


TABLE.update({"max_pool3d_with_indices": pool(3), "avg_pool3d": average(3)})


@of("adaptive_max_pool2d")
def adaptive_max_pool2d(x, size):
    """Each result from its own part of x, which may overlap with others."""
    def ends(n, m):
        return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
    lead = x.shape[:-2]
    rows = [[np.max(np.reshape(x[..., a:b, c:e], (*lead, -1)), axis=-1) for c, e in ends(x.shape[-1], int(size[1]))] for a, b in ends(x.shape[-2], int(size[0]))]
    return np.stack([np.stack(row, -1) for row in rows], -2), Refused("positions of a pooling")


@of("_adaptive_avg_pool3d", "adaptive_avg_pool3d")
def adaptive_avg_pool3d(x, size):
    from .aten_networks import averages
    for axis, m in zip((-3, -2, -1), size):
        x = np.swapaxes(np.matmul(np.swapaxes(x, axis, -1), averages(x.shape[axis], int(m)).astype(x.dtype).T), axis, -1)
    return x


@of("unfold")
def unfold(x, dim, size, step):
    n = (x.shape[dim] - size) // step + 1
    lead = (slice(None),) * (dim % x.ndim)
    return np.stack([x[lead + (slice(i, i + (n - 1) * step + 1, step),)] for i in range(size)], -1)


# ---- Convolutions ----------------------------------------------------------------------------------------------------------
def convolution3d(x, weight, bias, stride, padding, dilation, groups):
    """A sum of convolutions over the last two dimensions, one for each place along the first."""
    x = TABLE["constant_pad_nd"](x, [0, 0, 0, 0, padding[0], padding[0]]) if padding[0] else x
    n, channels, depth = x.shape[:3]
    kernel = weight.shape[2]
    steps = (depth - dilation[0] * (kernel - 1) - 1) // stride[0] + 1
    total = None
    for k in range(kernel):
        part = x[:, :, k * dilation[0]:k * dilation[0] + (steps - 1) * stride[0] + 1:stride[0]]
        flat = np.reshape(np.swapaxes(part, 1, 2), (n * steps, channels, *x.shape[3:]))
        made = TABLE["convolution"](flat, weight[:, :, k], None, stride[1:], padding[1:], dilation[1:], False, (0, 0), groups)
        total = made if total is None else total + made
    made = np.swapaxes(np.reshape(total, (n, steps, *total.shape[1:])), 1, 2)
    return made if bias is None else made + np.reshape(bias, (1, -1, 1, 1, 1))


def transposed(x, weight, bias, stride, padding, dilation, output_padding, groups):
    """The derivative of a convolution with respect to its input, which is linear in both, so that it has derivatives in turn."""
    g = graph_of(x, weight, bias)
    length = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, s, p, d, k, o in zip(x.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding)]
    zeros = lift(g, np.zeros((x.shape[0], weight.shape[1] * groups, *length)), x.dtype)
    made = TABLE["convolution"](zeros, weight, None, stride, padding, dilation, False, (0,) * len(stride), groups)
    if made.shape != x.shape:
        refuse("a transposed convolution with this output_padding")
    found = pulled_back(x, made, [zeros.node])[0]
    return found if bias is None else found + np.reshape(bias, (1, -1) + (1,) * len(length))
