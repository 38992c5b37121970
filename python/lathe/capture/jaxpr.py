"""JAX's primitives on tracers: one table, by name. To add one: a row in ONE or TWO, or a function with ``@of("name")``, whose
arguments are the operands and whose keywords are the parameters of the primitive."""
from __future__ import annotations

import numpy as np

from . import functions
from .functions import traced
from .tracer import ComplexTracer, Refused, Tracer, cast, graph_of, lift, refuse

ONE = {
    "abs": np.absolute, "neg": np.negative, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
    "cbrt": np.cbrt, "square": np.square, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "floor": np.floor,
    "ceil": np.ceil, "sign": np.sign, "is_finite": np.isfinite, "not": np.logical_not,
}
TWO = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "pow": np.power, "max": np.maximum, "min": np.minimum,
    "atan2": np.arctan2, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}
TABLE = {name: (lambda ufunc: lambda *values, **unused: ufunc(*values))(ufunc) for name, ufunc in (ONE | TWO).items()}


def of(*names):
    def add(handler):
        TABLE.update(dict.fromkeys(names, handler))
        return handler
    return add


def plain(op):
    return lambda x, **unused: Tracer(x.node.graph.op(op, traced(x, real=True).node))


TABLE.update({"logistic": plain("sigmoid"), "erf": plain("erf")})


@of("copy", "copy_p", "reduce_precision", "optimization_barrier", "real")
def same(x, **unused):
    return x.real if isinstance(x, ComplexTracer) else x


@of("imag")
def imag(x, **unused):
    return x.imag


@of("stop_gradient")
def stop_gradient(x, **unused):
    return Tracer(x.node.graph.op("detach", x.node), x.logical)


@of("integer_pow")
def integer_pow(x, *, y):
    return np.power(x, y)


@of("rsqrt")
def rsqrt(x, **unused):
    return np.power(x, -0.5)


@of("erfc")
def erfc(x, **unused):
    return 1 - TABLE["erf"](x)


@of("clamp")
def clamp(low, x, high):
    return np.minimum(np.maximum(x, low), high)


@of("select_n")
def select_n(which, *cases):
    if len(cases) != 2:
        refuse("a choice between more than two values")
    return np.where(which, cases[1], cases[0])


@of("convert_element_type")
def convert(x, *, new_dtype, **unused):
    return cast(x, np.dtype(new_dtype)) if np.dtype(new_dtype).kind in "fb" or not isinstance(x, Tracer) or x.node.dtype.kind != "f" else refuse("a cast to whole numbers")


# ---- Shape ---------------------------------------------------------------------------------------------------------------
@of("reshape")
def reshape(x, *, new_sizes, dimensions=None, **unused):
    return np.reshape(x, tuple(new_sizes)) if dimensions is None else refuse("reshape with dimensions")


@of("transpose")
def transpose(x, *, permutation):
    return np.transpose(x, permutation)


@of("squeeze")
def squeeze(x, *, dimensions):
    return np.squeeze(x, tuple(dimensions)) if len(dimensions) else x


@of("expand_dims")
def expand_dims(x, *, dimensions):
    return np.expand_dims(x, tuple(dimensions))


@of("broadcast_in_dim")
def broadcast_in_dim(x, *, shape, broadcast_dimensions, **unused):
    middle = [1] * len(shape)
    for i, at in enumerate(broadcast_dimensions):
        middle[at] = x.shape[i]
    return np.broadcast_to(np.reshape(x, tuple(middle)), tuple(shape))


@of("slice")
def slice_(x, *, start_indices, limit_indices, strides=None):
    return x[tuple(slice(a, b, s) for a, b, s in zip(start_indices, limit_indices, strides or [1] * x.ndim))]


@of("dynamic_slice")
def dynamic_slice(x, *starts, slice_sizes):
    parts = []
    for start, n, size in zip(starts, x.shape, slice_sizes):
        if isinstance(start, Tracer) and size > 1:
            refuse("a slice of several elements at a computed position")
        at = np.clip(start, 0, n - size)
        parts.append(np.reshape(at, (1,)) if isinstance(start, Tracer) else slice(int(at), int(at) + size))
    return x[tuple(parts)]


@of("concatenate")
def concatenate(*parts, dimension):
    return np.concatenate(parts, dimension)


@of("rev")
def rev(x, *, dimensions):
    return np.flip(x, tuple(dimensions))


@of("pad")
def pad(x, value, *, padding_config):
    if isinstance(value, Tracer) or value != 0 or any(inner for _, _, inner in padding_config) or any(a < 0 or b < 0 for a, b, _ in padding_config):
        refuse("padding other than with zeros around")
    return np.pad(x, [(a, b) for a, b, _ in padding_config])


@of("gather")
def gather(x, indices, *, dimension_numbers, slice_sizes, mode, **unused):
    """The positions of every element of the result are found by gathering from a table of positions."""
    if isinstance(indices, Tracer):
        return gather_rows(x, indices, dimension_numbers, slice_sizes, mode)
    import jax
    places = np.arange(x.size).reshape(x.shape)
    found = np.asarray(jax.lax.gather(places, np.asarray(indices), dimension_numbers, slice_sizes, mode="clip"))
    return np.reshape(np.take(np.ravel(x), found.ravel()), found.shape)


def gather_rows(x, indices, how, slice_sizes, mode):
    """x[i], or x[:, i], of computed positions i along one axis. Beyond the end JAX has NaN, where it does not clip: here that is an error."""
    import jax
    axis, rank = how.start_index_map[0], indices.ndim - 1
    whole = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    kept = tuple(k for k in range(x.ndim - 1 + rank) if not axis <= k < axis + rank)
    if how.start_index_map != (axis,) or how.collapsed_slice_dims != (axis,) or tuple(slice_sizes) != whole or tuple(how.offset_dims) != kept or how.operand_batching_dims:
        refuse("indexing by computed values along several axes")
    at = np.squeeze(indices, -1)
    return x[(slice(None),) * axis + (np.clip(at, 0, x.shape[axis] - 1) if mode == jax.lax.GatherScatterMode.CLIP else at,)]


# ---- Reductions ----------------------------------------------------------------------------------------------------------
def reduction(function):
    return lambda x, *, axes, **unused: function(x, axis=tuple(axes))


TABLE.update({"reduce_sum": reduction(np.sum), "reduce_prod": reduction(np.prod), "reduce_max": reduction(np.max), "reduce_min": reduction(np.min),
              "reduce_and": reduction(np.all), "reduce_or": reduction(np.any)})
TABLE.update({"argmax": lambda x, *, axes, **unused: np.argmax(x, axis=axes[0]), "argmin": lambda x, *, axes, **unused: np.argmin(x, axis=axes[0])})


@of("sort")
def sort(*operands, dimension, num_keys, **unused):
    if num_keys != 1:
        refuse("a sort by several keys")
    values, at = functions.ordered(operands[0], dimension)
    return [values, *(np.take_along_axis(x, at, dimension) for x in operands[1:])]


@of("top_k")
def top_k(x, *, k, **unused):
    return list(functions.largest(x, k, -1))


@of("cumsum")
def cumsum(x, *, axis, reverse=False):
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)


@of("dot_general")
def dot_general(a, b, *, dimension_numbers, **unused):
    (of_a, of_b), (batch_a, batch_b) = dimension_numbers
    g = graph_of(a, b)
    a, b = lift(g, a), lift(g, b)
    if not batch_a:
        return np.tensordot(a, b, (tuple(of_a), tuple(of_b)))
    free_a, free_b = ([i for i in range(x.ndim) if i not in (*c, *n)] for x, c, n in ((a, of_a, batch_a), (b, of_b, batch_b)))
    sizes = tuple(a.shape[i] for i in batch_a)
    k = int(np.prod([a.shape[i] for i in of_a], dtype=np.int64))
    left = np.reshape(np.transpose(a, (*batch_a, *free_a, *of_a)), (*sizes, -1, k))
    right = np.reshape(np.transpose(b, (*batch_b, *of_b, *free_b)), (*sizes, k, -1))
    return np.reshape(np.matmul(left, right), sizes + tuple(a.shape[i] for i in free_a) + tuple(b.shape[i] for i in free_b))


# ---- Linear algebra ------------------------------------------------------------------------------------------------------
@of("svd")
def svd(x, *, compute_uv, **unused):
    values, vectors = np.linalg.svd(x, compute_uv=False), Refused("singular vectors have no derivative here")
    return [values, vectors, vectors] if compute_uv else [values]


@of("eigh")
def eigh(x, **unused):
    return [Refused("eigenvectors have no derivative here"), np.linalg.eigvalsh((x + np.swapaxes(x, -1, -2)) * 0.5)]


@of("eig")
def eig(x, **unused):
    vectors = Refused("eigenvectors have no derivative here")
    return [np.linalg.eigvals(x), vectors, vectors]


@of("cholesky")
def cholesky(x, **unused):
    return np.linalg.cholesky(x)


@of("conv_general_dilated")
def convolution(x, w, *, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count, batch_group_count, **unused):
    if len(window_strides) != 2 or any(d != 1 for d in lhs_dilation) or batch_group_count != 1:
        refuse("a convolution over other than two dimensions, or a transposed one")
    g = graph_of(x, w)
    x = np.transpose(lift(g, x), dimension_numbers.lhs_spec)
    w = np.transpose(lift(g, w, x.dtype), dimension_numbers.rhs_spec)
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    made = Tracer(g.op("conv2d", x.node, w.node, None, tuple(window_strides), (0, 0), tuple(rhs_dilation), int(feature_group_count), False))
    return np.transpose(made, np.argsort(dimension_numbers.out_spec))
