"""x[...] of a tracer: whole numbers, slices, ..., None, constant arrays of whole numbers or truth values, and positions that were computed."""
from __future__ import annotations

import numbers

import numpy as np

from .tracer import Tracer, is_traced, refuse

END = (1 << 63) - 1


def take(x: Tracer, index):
    parts = expand(x, index if isinstance(index, tuple) else (index,))
    arrays = [i for i, part in enumerate(parts) if isinstance(part, np.ndarray)]
    computed = [i for i, part in enumerate(parts) if is_traced(part)]
    if computed:
        return take_computed(x, parts, computed[0]) if len(computed + arrays) == 1 else refuse("indexing by several arrays, one of them computed")
    if arrays:
        parts = [np.asarray(p) if arrays and isinstance(p, numbers.Integral) and near(i, arrays) else p for i, p in enumerate(parts)]
        return take_arrays(x, parts)
    return take_basic(x, parts)


def near(i, arrays):
    """A whole number beside index arrays is one of them, as in NumPy."""
    return arrays[0] - 1 <= i <= arrays[-1] + 1


def expand(x: Tracer, index):
    """One entry per axis of x, and None for new ones: ... filled in, masks as positions."""
    parts = []
    for part in index:
        if is_traced(part) and (not isinstance(part, Tracer) or part.logical or part.dtype.kind != "i"):
            refuse("indexing by a computed mask" if getattr(part, "logical", False) else "indexing by a computed value")
        if is_traced(part):
            parts.append(part)
        elif isinstance(part, (list, np.ndarray)) and np.asarray(part).ndim:
            array = np.asarray(part)
            parts.extend(array.nonzero() if array.dtype.kind == "b" else [array.astype(np.int64)])
        else:
            parts.append(int(part) if isinstance(part, (numbers.Integral, np.ndarray)) and not isinstance(part, (bool, np.bool_)) else part)
    used = sum(1 for p in parts if p is not None and p is not Ellipsis)
    if used > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed")
    fill = [slice(None)] * (x.ndim - used)
    for i, part in enumerate(parts):
        if part is Ellipsis:
            return parts[:i] + fill + parts[i + 1:]
    return parts + fill


def take_basic(x: Tracer, parts):
    g, node, axis = x.node.graph, x.node, 0
    for part in parts:
        if part is None:
            node = g.op("unsqueeze", node, axis)
        elif isinstance(part, numbers.Integral):
            node = g.op("select", node, axis, check(part, node.shape[axis], axis))
            continue
        elif isinstance(part, slice):
            node = take_slice(g, node, axis, part)
        else:
            refuse(f"an index of type {type(part).__name__}")
        axis += 1
    return Tracer(node, x.logical)


def check(i, n, axis):
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i % n


def take_slice(g, node, axis, part):
    n = node.shape[axis]
    start, stop, step = part.indices(n)
    length = len(range(start, stop, step))
    if length == n and step == 1:
        return node
    if length == 0:
        refuse("an empty slice")
    if step > 0:
        return g.op("slice", node, axis, start, stop, step)
    low = start + (length - 1) * step  # the same elements forward, then reversed
    return g.op("flip", g.op("slice", node, axis, low, start + 1, -step), axis)


def take_computed(x: Tracer, parts, at):
    """Elements along one axis by an array of positions that is a result itself: of argmax, of a sort."""
    whole = take_basic(x, parts[:at] + [slice(None)] + parts[at + 1:])
    return rows(whole, parts[at], sum(1 for p in parts[:at] if not isinstance(p, numbers.Integral)))


def rows(x: Tracer, index: Tracer, axis):
    """Parts of x along an axis, by an array of positions of any shape."""
    g = x.node.graph
    made = g.op("gather", x.node, g.op("reshape", index.node, (-1,)), axis)
    return Tracer(g.op("reshape", made, x.shape[:axis] + index.shape + x.shape[axis + 1:]), x.logical)


def take_arrays(x: Tracer, parts):
    """Index arrays on neighbouring axes: those axes become one, of which the elements are gathered."""
    at = [i for i, p in enumerate(parts) if isinstance(p, np.ndarray)]
    if at[-1] - at[0] + 1 != len(at):
        refuse("index arrays on axes that are not neighbours")
    whole = take_basic(x, [slice(None) if isinstance(p, np.ndarray) else p for p in parts])
    first = sum(1 for p in parts[:at[0]] if not isinstance(p, numbers.Integral))
    arrays = np.broadcast_arrays(*[parts[i] for i in at])
    sizes = whole.shape[first:first + len(at)]
    linear = np.zeros(arrays[0].shape, dtype=np.int64)
    for k, (array, n) in enumerate(zip(arrays, sizes)):
        if array.size and (array.min() < -n or array.max() >= n):
            raise IndexError(f"index {array[(array < -n) | (array >= n)].flat[0]} is out of bounds for axis {first + k} with size {n}")
        linear = linear * n + array % n
    return gather(whole, linear, first, len(at))


def gather(x: Tracer, linear, first, count):
    g, shape = x.node.graph, x.shape
    if not linear.size:
        refuse("an empty index array")
    flat = g.op("reshape", x.node, shape[:first] + (int(np.prod(shape[first:first + count])),) + shape[first + count:]) if count > 1 else x.node
    rows = g.op("gather", flat, g.constant(np.ascontiguousarray(linear.ravel())), first)
    return Tracer(g.op("reshape", rows, shape[:first] + linear.shape + shape[first + count:]) if linear.ndim != 1 else rows, x.logical)
