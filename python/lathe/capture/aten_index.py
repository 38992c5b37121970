"""ATen's ops that write by position, that sort, or that run along a dimension, on tracers.

Positions have to be constants: where they are computed the op is refused by name. Writing is the derivative of reading, so that all of it has
derivatives in turn.
"""
from __future__ import annotations

import numpy as np

from .aten import TABLE, of
from .aten_backward import pulled_back
from .tracer import Refused, Tracer, graph_of, lift, refuse


# ---- Writing -------------------------------------------------------------------------------------------------------------------
def written(x, source, read, add):
    """x with source where ``read`` looks: added, or in place of what was there; then no place may occur twice."""
    g = graph_of(x, source)
    x = lift(g, x)
    source = lift(g, source, x.dtype)
    zeros = lift(g, np.zeros(x.shape), x.dtype)
    placed = read(zeros)
    made = pulled_back(np.broadcast_to(source, placed.shape), placed, [zeros.node])[0]
    if add:
        return x + made
    numbers = np.arange(1, 1 + x.size).reshape(x.shape)  # which elements are looked at: the same reading, of their numbers
    used = np.unique(read(numbers), return_counts=True)
    if used[0].size and used[1].max() > 1:
        refuse("writing into one element twice")
    return np.where(np.isin(numbers, used[0]), made, x)


def along(index, dim):
    """Reads as gather does."""
    def read(x):
        return np.take_along_axis(crop(x, index, dim), index, dim) if isinstance(x, np.ndarray) else TABLE["gather"](crop(x, index, dim), dim, index)
    return read


def crop(x, index, dim):
    """The part of x that an index reaches along the other dimensions."""
    return x[tuple(slice(None) if k == dim % x.ndim else slice(0, n) for k, n in enumerate(index.shape))]


def constant(index):
    return refuse("writing at computed positions") if isinstance(index, Tracer) else np.asarray(index)


@of("scatter")
def scatter(x, dim, index, source, *, reduce=None):
    if reduce is not None:
        refuse("scatter with reduce")
    index = constant(index)
    if np.ndim(source):
        source = source[tuple(slice(0, n) for n in index.shape)]
    return written(x, source, along(index, dim), False)


@of("index_put", "_unsafe_index_put")
def index_put(x, indices, values, accumulate=False):
    if any(isinstance(i, Tracer) for i in indices):
        return at_computed(x, indices, values, accumulate)
    at = tuple(slice(None) if i is None else np.asarray(i) for i in indices)
    return written(x, values, lambda a: a[at], accumulate)


def at_computed(x, indices, values, accumulate):
    """Positions along one dimension that are results themselves, as backward graphs have them."""
    from .aten_backward import rows
    at = [k for k, i in enumerate(indices) if i is not None]
    if not accumulate or len(at) != 1:
        refuse("writing into elements by computed index")
    g = graph_of(x, indices[at[0]], values)
    zeros = lift(g, np.zeros(np.shape(x)), np.dtype(x.dtype))
    read = rows(g, zeros, lift(g, indices[at[0]]), at[0])
    return lift(g, x) + pulled_back(np.broadcast_to(lift(g, values), read.shape), read, [zeros.node])[0]


@of("masked_select")
def masked_select(x, mask):
    if isinstance(mask, Tracer):
        refuse("indexing by a computed mask")
    shape = np.broadcast_shapes(x.shape, np.shape(mask))
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


@of("masked_scatter")
def masked_scatter(x, mask, source):
    if isinstance(mask, Tracer):
        refuse("writing where a computed mask says")
    mask = np.broadcast_to(mask, x.shape)
    return written(x, np.ravel(source)[:int(mask.sum())], lambda a: a[mask], False)


# ---- Sorted ----------------------------------------------------------------------------------------------------------------------
@of("sort")
def sort(x, dim=-1, descending=False, *, stable=None):
    return TABLE["topk"](x, x.shape[dim], dim, descending) if x.ndim else (x, np.zeros((), dtype=np.int64))


@of("argsort")
def argsort(x, dim=-1, descending=False, *, stable=None):
    return sort(x, dim, descending)[1]


@of("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    made = [TABLE["select"](part, dim, k - 1) for part in TABLE["topk"](x, k, dim, False)]
    return [np.expand_dims(part, dim) for part in made] if keepdim else made


@of("median", "nanmedian")
def median(x, dim=None, keepdim=False):
    """The lower one of two in the middle."""
    if dim is None:
        return kthvalue(np.ravel(x), (x.size + 1) // 2)[0]
    return kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)


# ---- One after the other -----------------------------------------------------------------------------------------------------------
LONGEST = 256


def running(step):
    """What a step makes of each element and all before it; each is an op of its own, so not for long dimensions."""
    def handler(x, dim, *, dtype=None):
        if x.ndim and x.shape[dim] > LONGEST:
            refuse(f"a running result over more than {LONGEST} elements")
        if not x.ndim:
            return x
        parts = [TABLE["select"](x, dim, i) for i in range(x.shape[dim])]
        for i in range(1, len(parts)):
            parts[i] = step(parts[i - 1], parts[i])
        return np.stack(parts, dim % x.ndim)
    return handler


cummax, cummin = (running(step) for step in (lambda a, b: np.where(np.greater_equal(b, a), b, a), lambda a, b: np.where(np.less_equal(b, a), b, a)))
TABLE.update({"cumprod": running(np.multiply), "logcumsumexp": running(np.logaddexp),
              "cummax": lambda x, dim: (cummax(x, dim), Refused("positions of cummax")), "cummin": lambda x, dim: (cummin(x, dim), Refused("positions of cummin"))})
