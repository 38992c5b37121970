"""NumPy's functions on tracers. To add one: a function here with ``@of(np.name)``; its arguments are NumPy's.

``np.linalg`` is in linalg.py, ``np.einsum`` in einsum.py. What is not in the table is refused by name.
"""
from __future__ import annotations

import numbers

import numpy as np

from . import ufuncs
from .tracer import ComplexTracer, Refused, Tracer, cast, graph_of, is_number, lift, refuse

TABLE = {}


def of(*functions):
    def add(handler):
        TABLE.update(dict.fromkeys(functions, handler))
        return handler
    return add


def apply(function, args, kwargs):
    from . import einsum, linalg  # noqa: F401  (their rows)
    for value in (*args, *kwargs.values()):
        if isinstance(value, (ComplexTracer, Refused)):
            return value.__array_function__(function, (), args, kwargs)
    if function not in TABLE:
        refuse(f"{name_of(function)} has no op")
    if kwargs.pop("out", None) is not None:
        refuse(f"the function changes an array in place (out= of {name_of(function)})")
    try:
        return TABLE[function](*args, **{k: v for k, v in kwargs.items() if v is not np._NoValue})
    except TypeError as error:
        if "argument" not in str(error):
            raise
        return refuse(f"{name_of(function)} with these arguments ({error})")


def name_of(function) -> str:
    module = (getattr(function, "__module__", "") or "numpy").replace("numpy", "np", 1).replace("np._core", "np").split(".")
    return f"np.{'linalg.' if 'linalg' in module else 'fft.' if 'fft' in module else ''}{function.__name__}"


def traced(x, real=False) -> Tracer:
    """x as a tracer of numbers, in floating point where asked."""
    x = ufuncs.as_numbers(lift(graph_of(x), x))
    return cast(x, np.float64) if real and x.node.dtype.kind != "f" else x


def axes_of(axis, ndim):
    """Axes as a sorted tuple of positions; None is all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, numbers.Integral) else tuple(axis)
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim) if hasattr(np, "exceptions") else np.AxisError(a, ndim)
    return tuple(sorted({int(a) % ndim for a in axes}))


# ---- Reductions ----------------------------------------------------------------------------------------------------------
def reduce(op, x: Tracer, axis, keepdims) -> Tracer:
    """op over everything, or op_axis over one axis after the other (sum and mean: all at once)."""
    g, axes = x.node.graph, axes_of(axis, x.ndim)
    if x.ndim == 0:
        return Tracer(g.op(op, x.node))
    if len(axes) == x.ndim:
        node = g.op(op, x.node)
        return Tracer(g.op("reshape", node, (1,) * x.ndim) if keepdims else node)
    if op in ("sum", "mean"):
        return Tracer(g.op(f"{op}_axes", x.node, axes, bool(keepdims)))
    node = x.node
    for a in reversed(axes):
        node = g.op(f"{op}_axis", node, a, bool(keepdims))
    return Tracer(node)


@of(np.sum)
def np_sum(a, axis=None, dtype=None, keepdims=False):
    made = reduce("sum", traced(a), axis, keepdims)
    return made if dtype is None else cast(made, dtype)


@of(np.mean)
def np_mean(a, axis=None, dtype=None, keepdims=False):
    return reduce("mean", traced(a, real=True), axis, keepdims)


@of(np.prod)
def np_prod(a, axis=None, dtype=None, keepdims=False):
    return reduce("prod", traced(a), axis, keepdims)


@of(np.max, np.amax)
def np_max(a, axis=None, keepdims=False):
    return reduce("max", traced(a), axis, keepdims)


@of(np.min, np.amin)
def np_min(a, axis=None, keepdims=False):
    return reduce("min", traced(a), axis, keepdims)


@of(np.ptp)
def np_ptp(a, axis=None, keepdims=False):
    return np_max(a, axis, keepdims) - np_min(a, axis, keepdims)


@of(np.all)
def np_all(a, axis=None, keepdims=False):
    return Tracer(reduce("min", Tracer(cast(lift(graph_of(a), a), bool).node), axis, keepdims).node, True)


@of(np.any)
def np_any(a, axis=None, keepdims=False):
    return Tracer(reduce("max", Tracer(cast(lift(graph_of(a), a), bool).node), axis, keepdims).node, True)


@of(np.var)
def np_var(a, axis=None, dtype=None, ddof=0, keepdims=False):
    x = traced(a, real=True)
    n = int(np.prod([x.shape[i] for i in axes_of(axis, x.ndim)], dtype=np.int64))
    centred = x - reduce("mean", x, axis, True)
    return reduce("sum", np.square(centred), axis, keepdims) / float(n - ddof)


@of(np.std)
def np_std(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return np.sqrt(np_var(a, axis, dtype, ddof, keepdims))


@of(np.average)
def np_average(a, axis=None, weights=None):
    if weights is None:
        return np_mean(a, axis)
    if axis is None and np.shape(weights) == np.shape(a):
        return np.sum(np.multiply(a, weights)) / np.sum(weights)
    refuse("np.average with weights along an axis")


@of(np.argmax)
def np_argmax(a, axis=None):
    return arg("argmax", traced(a), axis)


@of(np.argmin)
def np_argmin(a, axis=None):
    return arg("argmin", traced(a), axis)


def arg(op, x, axis):
    flat = np_ravel(x) if axis is None else x
    return Tracer(x.node.graph.op(op, flat.node, 0 if axis is None else int(axis)))


@of(np.cumsum)
def np_cumsum(a, axis=None, dtype=None):
    x = traced(a)
    return Tracer(x.node.graph.op("cumsum", (np_ravel(x) if axis is None else x).node, 0 if axis is None else int(axis)))


@of(np.count_nonzero)
def np_count_nonzero(a, axis=None, keepdims=False):
    return reduce("sum", Tracer(cast(lift(graph_of(a), a), bool).node), axis, keepdims)


@of(np.diff)
def np_diff(a, n=1, axis=-1):
    x = traced(a)
    for _ in range(n):
        first, last = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        first[axis], last[axis] = slice(1, None), slice(None, -1)
        x = x[tuple(first)] - x[tuple(last)]
    return x


# ---- Sorted --------------------------------------------------------------------------------------------------------------
def largest(x, k, axis):
    """The k largest along an axis, descending, and where they are: of equal ones the first comes first."""
    moved = np_swapaxes(x, axis, -1)
    return tuple(np_swapaxes(Tracer(moved.node.graph.op(op, moved.node, k)), axis, -1) for op in ("topk", "topk_index"))


def ordered(a, axis):
    """(the values along an axis in ascending order, where they are)"""
    x, axis = (np_ravel(traced(a)), 0) if axis is None else (traced(a), int(axis))
    values, at = largest(-x, x.shape[axis], axis)
    return -values, at


@of(np.sort)
def np_sort(a, axis=-1, kind=None, order=None, *, stable=None):
    return ordered(a, axis)[0]


@of(np.argsort)
def np_argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    return ordered(a, axis)[1]


@of(np.partition)
def np_partition(a, kth, axis=-1, kind="introselect", order=None):
    return np_sort(a, axis)


@of(np.argpartition)
def np_argpartition(a, kth, axis=-1, kind="introselect", order=None):
    return np_argsort(a, axis)


@of(np.median)
def np_median(a, axis=None, *, keepdims=False):
    axis = 0 if axis is None and np.ndim(a) == 1 else axis
    x = np_sort(a, axis)
    along = 0 if axis is None else int(axis)
    n = x.shape[along]
    made = np.take(x, np.arange((n - 1) // 2, n // 2 + 1), along).mean(along)
    return made if not keepdims else np.reshape(made, (1,) * np.ndim(a)) if axis is None else np.expand_dims(made, along)


# ---- Shape ---------------------------------------------------------------------------------------------------------------
@of(np.reshape)
def np_reshape(a, /, shape=None, order="C", newshape=None):
    if order not in ("C", "K", "A"):
        refuse("np.reshape in Fortran order")
    shape = newshape if shape is None else shape
    x, shape = lift(graph_of(a), a), (int(shape),) if isinstance(shape, numbers.Integral) else tuple(int(s) for s in shape)
    return Tracer(x.node.graph.op("reshape", x.node, shape), x.logical)


@of(np.ravel)
def np_ravel(a, order="C"):
    if order not in ("C", "K", "A"):
        refuse("np.ravel in Fortran order")
    x = lift(graph_of(a), a)
    return x if x.ndim == 1 else Tracer(x.node.graph.op("reshape", x.node, (-1,)), x.logical)


@of(np.transpose)
def np_transpose(a, axes=None):
    x = lift(graph_of(a), a)
    axes = tuple(range(x.ndim))[::-1] if axes is None else tuple(int(i) % x.ndim for i in axes)
    return x if axes == tuple(range(x.ndim)) else Tracer(x.node.graph.op("permute", x.node, axes), x.logical)


@of(np.swapaxes)
def np_swapaxes(a, axis1, axis2):
    axes = list(range(np.ndim(a)))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return np_transpose(a, axes)


@of(np.moveaxis)
def np_moveaxis(a, source, destination):
    n = np.ndim(a)
    source = [s % n for s in (source if isinstance(source, (tuple, list)) else [source])]
    destination = [d % n for d in (destination if isinstance(destination, (tuple, list)) else [destination])]
    order = [i for i in range(n) if i not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return np_transpose(a, order)


@of(np.squeeze)
def np_squeeze(a, axis=None):
    shape = np.shape(a)
    gone = {i for i, s in enumerate(shape) if s == 1} if axis is None else set(axes_of(axis, len(shape)))
    if any(shape[i] != 1 for i in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return np_reshape(a, tuple(s for i, s in enumerate(shape) if i not in gone))


@of(np.expand_dims)
def np_expand_dims(a, axis):
    axes = (axis,) if isinstance(axis, numbers.Integral) else tuple(axis)
    n = np.ndim(a) + len(axes)
    shape = iter(np.shape(a))
    at = {i % n for i in axes}
    return np_reshape(a, tuple(1 if i in at else next(shape) for i in range(n)))


@of(np.broadcast_to)
def np_broadcast_to(array, shape, subok=False):
    x = lift(graph_of(array), array)
    return Tracer(x.node.graph.op("broadcast_to", x.node, (int(shape),) if isinstance(shape, numbers.Integral) else tuple(shape)), x.logical)


@of(np.broadcast_arrays)
def np_broadcast_arrays(*args, subok=False):
    shape = np.broadcast_shapes(*[np.shape(a) for a in args])
    g = graph_of(args)
    return tuple(np_broadcast_to(lift(g, a), shape) for a in args)


@of(np.concatenate)
def np_concatenate(arrays, axis=0, dtype=None, casting="same_kind"):
    g, arrays = graph_of(arrays), list(arrays)
    dtype = dtype or np.result_type(*[a.dtype if isinstance(a, Tracer) else np.asarray(a) for a in arrays])
    parts = [lift(g, a, dtype) for a in arrays]
    if axis is None:
        parts, axis = [np_ravel(p) for p in parts], 0
    return Tracer(g.op("concat", [p.node for p in parts], int(axis)))


@of(np.stack)
def np_stack(arrays, axis=0, dtype=None, casting="same_kind"):
    g, arrays = graph_of(arrays), list(arrays)
    dtype = dtype or np.result_type(*[a.dtype if isinstance(a, Tracer) else np.asarray(a) for a in arrays])
    return Tracer(g.op("stack", [lift(g, a, dtype).node for a in arrays], int(axis)))


def at_least(x, ndim):
    return np_reshape(x, {(0, 1): (1,), (0, 2): (1, 1), (1, 2): (1, -1)}[(np.ndim(x), ndim)]) if np.ndim(x) < ndim else x


@of(np.atleast_1d)
def np_atleast_1d(*arrays):
    made = [at_least(a, 1) for a in arrays]
    return made[0] if len(made) == 1 else made


@of(np.atleast_2d)
def np_atleast_2d(*arrays):
    made = [at_least(a, 2) for a in arrays]
    return made[0] if len(made) == 1 else made


@of(np.hstack)
def np_hstack(tup, dtype=None, casting="same_kind"):
    g = graph_of(tup)
    parts = [at_least(lift(g, a), 1) for a in tup]
    return np_concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@of(np.vstack)
def np_vstack(tup, dtype=None, casting="same_kind"):
    g = graph_of(tup)
    return np_concatenate([at_least(lift(g, a), 2) for a in tup], 0)


@of(np.column_stack)
def np_column_stack(tup):
    g = graph_of(tup)
    parts = [lift(g, a) for a in tup]
    return np_concatenate([np_reshape(p, (-1, 1)) if p.ndim < 2 else p for p in parts], 1)


@of(np.block)
def np_block(arrays):
    """Innermost lists along the last axis, lists of them along the one before."""
    if not isinstance(arrays, list):
        return lift(graph_of(arrays), arrays)
    if arrays and isinstance(arrays[0], list):
        return np_concatenate([np_concatenate([at_least(lift(graph_of(arrays), a), 2) for a in row], -1) for row in arrays], -2)
    return np_concatenate([at_least(lift(graph_of(arrays), a), 1) for a in arrays], -1)


@of(np.append)
def np_append(arr, values, axis=None):
    return np_concatenate([np.ravel(arr), np.ravel(values)] if axis is None else [arr, values], 0 if axis is None else axis)


@of(np.split, np.array_split)
def np_split(ary, indices_or_sections, axis=0):
    n = ary.shape[axis]
    if isinstance(indices_or_sections, numbers.Integral):
        edges = np.linspace(0, n, indices_or_sections + 1)
        if not np.array_equal(edges, edges.astype(int)):
            raise ValueError("array split does not result in an equal division")
        cuts = list(edges.astype(int))
    else:
        cuts = [0, *indices_or_sections, n]
    lead = (slice(None),) * (axis % ary.ndim)
    return [ary[lead + (slice(a, b),)] for a, b in zip(cuts, cuts[1:])]


@of(np.flip)
def np_flip(m, axis=None):
    x = lift(graph_of(m), m)
    node = x.node
    for a in axes_of(axis, x.ndim):
        node = node.graph.op("flip", node, a)
    return Tracer(node, x.logical)


@of(np.fliplr)
def np_fliplr(m):
    return np_flip(m, 1)


@of(np.flipud)
def np_flipud(m):
    return np_flip(m, 0)


@of(np.roll)
def np_roll(a, shift, axis=None):
    x = lift(graph_of(a), a)
    if axis is None:
        return np_reshape(np_roll(np_ravel(x), shift, 0), x.shape)
    pairs = zip(*np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis)))
    node = x.node
    for s, ax in pairs:
        node = node.graph.op("roll", node, int(s), int(ax))
    return Tracer(node, x.logical)


@of(np.pad)
def np_pad(array, pad_width, mode="constant", constant_values=0):
    if mode != "constant" or constant_values != 0:
        refuse("np.pad other than with zeros")
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    node = array.node
    for axis, (before, after) in enumerate(widths):
        if before or after:
            node = node.graph.op("pad", node, axis, int(before), int(after))
    return Tracer(node)


@of(np.tile)
def np_tile(A, reps):
    x = lift(graph_of(A), A)
    reps = (reps,) if isinstance(reps, numbers.Integral) else tuple(reps)
    n = max(x.ndim, len(reps))
    x, reps = np_reshape(x, (1,) * (n - x.ndim) + x.shape), (1,) * (n - len(reps)) + reps
    for axis, r in enumerate(reps):
        x = np_concatenate([x] * r, axis) if r > 1 else x
    return x


@of(np.repeat)
def np_repeat(a, repeats, axis=None):
    x = lift(graph_of(a), a)
    x, axis = (np_ravel(x), 0) if axis is None else (x, axis % x.ndim)
    return x[(slice(None),) * axis + (np.repeat(np.arange(x.shape[axis]), repeats),)]


@of(np.take)
def np_take(a, indices, axis=None, mode="raise"):
    x = lift(graph_of(a), a)
    x, axis = (np_ravel(x), 0) if axis is None else (x, axis % x.ndim)
    return x[(slice(None),) * axis + (indices,)]


@of(np.take_along_axis)
def np_take_along_axis(arr, indices, axis=-1):
    g = graph_of(arr, indices)
    x, index = lift(g, arr), lift(g, indices)
    if axis is None or x.ndim == 1:
        return np_ravel(x)[index]
    return Tracer(g.op("gather", x.node, index.node, int(axis) % x.ndim), x.logical)


# ---- Choosing ------------------------------------------------------------------------------------------------------------
@of(np.where)
def np_where(condition, x=None, y=None):
    if x is None:
        refuse("np.where with one argument: the shape of its result depends on values")
    g = graph_of(condition, x, y)
    dtype = ufuncs.common_type(x, y, real=False) if isinstance(x, Tracer) or isinstance(y, Tracer) else np.result_type(np.asarray(x), np.asarray(y))
    mask = ufuncs.mask_of(g, condition)
    a, b = lift(g, x, dtype).node, lift(g, y, dtype).node
    return Tracer(g.op("where", cast(Tracer(mask.node), a.dtype).node, a, b))


@of(np.select)
def np_select(condlist, choicelist, default=0):
    made = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        made = np_where(condition, choice, made)
    return made


@of(np.clip)
def np_clip(a, a_min=None, a_max=None, *, min=None, max=None):
    low, high = a_min if a_min is not None else min, a_max if a_max is not None else max
    x = traced(a)
    if (low is None or is_number(low)) and (high is None or is_number(high)) and x.node.dtype.kind == "f":
        return Tracer(x.node.graph.op("clamp_scalar", x.node, -np.inf if low is None else float(low), np.inf if high is None else float(high)))
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


@of(np.nan_to_num)
def np_nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    info = np.finfo(x.dtype)
    x = np.where(np.isnan(x), nan, x)
    x = np.where(np.equal(x, np.inf), info.max if posinf is None else posinf, x)
    return np.where(np.equal(x, -np.inf), info.min if neginf is None else neginf, x)


@of(np.triu)
def np_triu(m, k=0):
    return traced(m) * np.triu(np.ones(np.shape(m)[-2:]), k)


@of(np.tril)
def np_tril(m, k=0):
    return traced(m) * np.tril(np.ones(np.shape(m)[-2:]), k)


# ---- Products ------------------------------------------------------------------------------------------------------------
def matrix_product(a, b):
    g = graph_of(a, b)
    dtype = ufuncs.common_type(lift(g, a), lift(g, b), real=True)
    return Tracer(g.op("matmul", lift(g, a, dtype).node, lift(g, b, dtype).node))


@of(np.dot)
def np_dot(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(a) <= 2 and np.ndim(b) <= 2:
        return matrix_product(a, b)
    return np_tensordot(a, b, ((-1,), (-2 if np.ndim(b) > 1 else -1,)))


@of(np.vdot)
def np_vdot(a, b):
    return np.sum(np.ravel(a) * np.ravel(b))


@of(np.inner)
def np_inner(a, b):
    return np_tensordot(a, b, ((-1,), (-1,))) if np.ndim(a) and np.ndim(b) else np.multiply(a, b)


@of(np.outer)
def np_outer(a, b):
    return np.reshape(np.ravel(a), (-1, 1)) * np.reshape(np.ravel(b), (1, -1))


@of(np.tensordot)
def np_tensordot(a, b, axes=2):
    g = graph_of(a, b)
    a, b = lift(g, a), lift(g, b)
    if isinstance(axes, numbers.Integral):
        of_a, of_b = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        of_a, of_b = ([int(i) for i in np.atleast_1d(x)] for x in axes)
        of_a, of_b = [i % a.ndim for i in of_a], [i % b.ndim for i in of_b]
    left, right = [i for i in range(a.ndim) if i not in of_a], [i for i in range(b.ndim) if i not in of_b]
    k = int(np.prod([a.shape[i] for i in of_a], dtype=np.int64))
    rows = np_reshape(np_transpose(a, left + of_a), (-1, k))
    columns = np_reshape(np_transpose(b, of_b + right), (k, -1))
    return np_reshape(matrix_product(rows, columns), tuple(a.shape[i] for i in left) + tuple(b.shape[i] for i in right))


@of(np.kron)
def np_kron(a, b):
    g = graph_of(a, b)
    a, b = lift(g, a), lift(g, b)
    n = max(a.ndim, b.ndim)
    a, b = np_reshape(a, (1,) * (n - a.ndim) + a.shape), np_reshape(b, (1,) * (n - b.ndim) + b.shape)
    spread = np_reshape(a, tuple(x for s in a.shape for x in (s, 1))) * np_reshape(b, tuple(x for s in b.shape for x in (1, s)))
    return np_reshape(spread, tuple(p * q for p, q in zip(a.shape, b.shape)))


@of(np.cross)
def np_cross(a, b, axis=-1):
    if np.shape(a)[axis] != 3 or np.shape(b)[axis] != 3:
        refuse("np.cross of vectors that do not have three elements")
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return np_stack(parts, axis)


@of(np.trace)
def np_trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    x = traced(a)
    if offset == 0 and x.ndim == 2 and x.shape[0] == x.shape[1]:
        return Tracer(x.node.graph.op("trace", x.node))
    return np.sum(np_diagonal(x, offset, axis1, axis2), axis=-1)


@of(np.diagonal)
def np_diagonal(a, offset=0, axis1=0, axis2=1):
    x = np.moveaxis(traced(a), (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    i = np.arange(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    return x[(Ellipsis, i - min(offset, 0), i + max(offset, 0))]


@of(np.diag)
def np_diag(v, k=0):
    x = traced(v)
    if x.ndim == 2:
        return np_diagonal(x, k)
    made = Tracer(x.node.graph.op("diag", x.node))
    return made if k == 0 else np_pad(made, ((max(-k, 0), max(k, 0)), (max(k, 0), max(-k, 0))))


# ---- Like another --------------------------------------------------------------------------------------------------------
@of(np.zeros_like)
def np_zeros_like(a, dtype=None, order="K", subok=True, shape=None):
    return np.zeros(a.shape if shape is None else shape, dtype or a.dtype)


@of(np.ones_like)
def np_ones_like(a, dtype=None, order="K", subok=True, shape=None):
    return np.ones(a.shape if shape is None else shape, dtype or a.dtype)


@of(np.full_like)
def np_full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):
    shape = a.shape if shape is None else shape
    if isinstance(fill_value, Tracer):
        return np_broadcast_to(fill_value, shape)
    return np.full(shape, fill_value, dtype or a.dtype)


@of(np.empty_like)
def np_empty_like(a, *args, **kwargs):
    return np.zeros(a.shape, a.dtype)


# ---- Asking --------------------------------------------------------------------------------------------------------------
TABLE.update({np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
              np.real: lambda a: a, np.imag: np_zeros_like, np.copy: lambda a, order="K", subok=False: a,
              np.iscomplexobj: lambda a: False, np.isrealobj: lambda a: True, np.round: lambda a, decimals=0: refuse("np.round has no op")})
