"""ATen's ops that only move elements, on tracers."""
from __future__ import annotations

import numpy as np

from .aten import Pair, of
from .functions import axes_of
from .tracer import Tracer, graph_of, lift, refuse


@of("view", "reshape", "_unsafe_view", "view_copy", "_reshape_alias")
def view(x, shape, *unused):
    if not hasattr(shape, "__iter__"):
        refuse("a tensor seen as another type")
    return np.reshape(x, tuple(shape))


@of("unsqueeze")
def unsqueeze(x, dim):
    return np.expand_dims(x, dim)


@of("squeeze")
def squeeze(x, dim=None):
    gone = axes_of(dim, x.ndim) if x.ndim else ()
    return np.reshape(x, tuple(s for i, s in enumerate(x.shape) if i not in gone or s != 1))


@of("permute")
def permute(x, dims):
    return np.transpose(x, dims)


@of("transpose", "swapaxes")
def transpose(x, a, b):
    return np.swapaxes(x, a, b) if x.ndim else x


@of("t", "numpy_T")
def t(x):
    return np.transpose(x)


@of("expand")
def expand(x, sizes, *, implicit=False):
    lead = len(sizes) - x.ndim
    return np.broadcast_to(x, tuple(x.shape[i - lead] if s == -1 else s for i, s in enumerate(sizes)))


@of("slice")
def slice_(x, dim=0, start=None, end=None, step=1):
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


@of("select")
def select(x, dim, index):
    if isinstance(x, Pair):
        return x.select(dim, index)
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


@of("narrow")
def narrow(x, dim, start, length):
    return slice_(x, dim, start, start + length)


@of("cat", "concatenate")
def cat(tensors, dim=0):
    parts = [p for p in tensors if np.shape(p) != (0,)]
    return np.concatenate(parts, dim)


@of("stack")
def stack(tensors, dim=0):
    return np.stack(tensors, dim if dim >= 0 else dim + np.ndim(tensors[0]) + 1)


@of("unbind")
def unbind(x, dim=0):
    return [select(x, dim, i) for i in range(x.shape[dim])]


@of("split")
def split(x, size, dim=0):
    n = x.shape[dim]
    return split_with_sizes(x, [min(size, n - at) for at in range(0, n, size)], dim)


@of("split_with_sizes")
def split_with_sizes(x, sizes, dim=0):
    ends = np.cumsum([0, *sizes])
    return [slice_(x, dim, int(a), int(b)) for a, b in zip(ends, ends[1:])]


@of("chunk")
def chunk(x, n, dim=0):
    return split(x, -(-x.shape[dim] // n), dim)


@of("flip")
def flip(x, dims):
    return np.flip(x, tuple(dims))


@of("roll")
def roll(x, shifts, dims=()):
    return np.roll(x, tuple(shifts), tuple(dims)) if len(dims) else np.roll(x, shifts[0])


@of("repeat")
def repeat(x, repeats):
    return np.tile(x, tuple(repeats))


@of("constant_pad_nd")
def constant_pad_nd(x, pad, value=0):
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    before = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    inner = x[tuple(slice(max(-a, 0), None if b >= 0 else b) for a, b in before)]
    widths = [(max(a, 0), max(b, 0)) for a, b in before]
    made = np.pad(inner, widths)
    return made if value == 0 else made + np.pad(np.zeros(inner.shape), widths, constant_values=value).astype(x.dtype)


@of("tril")
def tril(x, diagonal=0):
    return np.tril(x, diagonal)


@of("triu")
def triu(x, diagonal=0):
    return np.triu(x, diagonal)


@of("diagonal", "linalg_diagonal")
def diagonal(x, offset=0, dim1=0, dim2=1):
    return np.diagonal(x, offset, dim1, dim2)


@of("diag_embed")
def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    if x.ndim != 1 or (dim1, dim2) not in ((-2, -1), (0, 1)):
        refuse("diag_embed of stacked vectors")
    return np.diag(x, offset)


@of("select_scatter")
def select_scatter(x, source, dim, index):
    g, ndim = graph_of(x, source), np.ndim(x)
    n, dim = np.shape(x)[dim], dim % ndim
    index %= n
    return scattered(g, x, np.expand_dims(lift(g, source), dim), dim, index, index + 1)


@of("slice_scatter")
def slice_scatter(x, source, dim=0, start=None, end=None, step=1):
    if step != 1:
        refuse("writing into every second element")
    dim %= np.ndim(x)
    start, end, _ = slice(start, end).indices(np.shape(x)[dim])
    return scattered(graph_of(x, source), x, source, dim, start, end)


def scattered(g, x, source, dim, start, end):
    """x with the part from start to end along dim replaced."""
    x, lead = lift(g, x), (slice(None),) * dim
    parts = [x[lead + (slice(0, start),)] if start else None, lift(g, source, x.dtype), x[lead + (slice(end, None),)] if end < x.shape[dim] else None]
    return np.concatenate([p for p in parts if p is not None], dim)


@of("gather")
def gather(x, dim, index, *, sparse_grad=False):
    g = graph_of(x, index)
    x, index = lift(g, x), lift(g, index)
    if index.ndim < 2 <= x.ndim or index.dtype.kind != "i":  # an index of rank 1 would be NumPy's take
        refuse("gathering by another rank")
    return Tracer(g.op("gather", x.node, index.node, dim % max(x.ndim, 1)), x.logical)


@of("index_select")
def index_select(x, dim, index):
    if isinstance(index, Tracer):
        from .aten_backward import rows
        return rows(index.node.graph, lift(index.node.graph, x), index, dim % np.ndim(x))
    return np.take(x, index, axis=dim)


@of("index", "_unsafe_index")
def index(x, indices):
    if sum(i is not None for i in indices) == 1 and isinstance(indices[-1], Tracer):
        return index_select(x, len(indices) - 1, indices[-1])
    return x[tuple(slice(None) if i is None else i if isinstance(i, Tracer) else np.asarray(i) for i in indices)]
