"""PyTorch's ATen ops on tracers: one table, by the name of the op without its overload.

To add one: a row in ONE or TWO, or a function with ``@of("name")`` whose arguments are those of the op's schema. Arguments that are
no tracers arrive as NumPy arrays and plain numbers. Shapes and indexing are in aten_shape.py, linear algebra in aten_linalg.py, networks in
aten_networks.py.
"""
from __future__ import annotations

import numpy as np

from . import functions
from .functions import axes_of, traced
from .tracer import ComplexTracer, Tracer, cast, graph_of, lift, refuse

#: op -> ufunc of NumPy, whose tracing is that of NumPy code.
ONE = {
    "abs": np.absolute, "neg": np.negative, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2,
    "log10": np.log10, "sqrt": np.sqrt, "square": np.square, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "sign": np.sign, "sgn": np.sign, "reciprocal": np.reciprocal, "isnan": np.isnan,
    "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not, "bitwise_not": np.invert,
}
TWO = {
    "mul": np.multiply, "pow": np.power, "maximum": np.maximum, "minimum": np.minimum, "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp,
    "remainder": np.remainder, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "fmin": np.minimum, "fmax": np.maximum,
}
TABLE = {**ONE, **TWO}


def of(*names):
    def add(handler):
        TABLE.update(dict.fromkeys(names, handler))
        return handler
    return add


def plain(op):
    """A handler of an op of lathe with one operand."""
    return lambda x: Tracer(x.node.graph.op(op, floating(x).node))


def floating(x) -> Tracer:
    return traced(x, real=True)


TABLE.update({"sigmoid": plain("sigmoid"), "relu": plain("relu"), "erf": plain("erf")})


# ---- Arithmetic ----------------------------------------------------------------------------------------------------------
@of("add")
def add(a, b, *, alpha=1):
    return np.add(a, b if alpha == 1 else np.multiply(b, alpha))


@of("sub", "subtract")
def sub(a, b, *, alpha=1):
    return np.subtract(a, b if alpha == 1 else np.multiply(b, alpha))


@of("rsub")
def rsub(a, b, alpha=1):
    return sub(b, a, alpha=alpha)


@of("div", "true_divide", "divide")
def div(a, b, *, rounding_mode=None):
    made = np.true_divide(a, b)
    return made if rounding_mode is None else np.floor(made) if rounding_mode == "floor" else np.trunc(made)


@of("fmod")
def fmod(a, b):
    """With the sign of a: exact, as the remainder of absolute values is."""
    return np.copysign(1.0, a) * np.remainder(np.absolute(a), np.absolute(b)) if not isinstance(a, Tracer) else \
        np.where(np.less(a, 0), -1.0, 1.0) * np.remainder(np.absolute(a), np.absolute(b))


@of("round")
def round_(x, *, decimals=0):
    """To even at a half."""
    if decimals:
        refuse("rounding to decimals")
    low = np.floor(x)
    beyond = np.subtract(x, low)
    return np.where(np.less(beyond, 0.5), low, np.where(np.greater(beyond, 0.5), low + 1, low + np.remainder(low, 2.0)))


@of("copysign")
def copysign(a, b):
    size = np.absolute(a)
    return np.where(np.less(b, 0), -size, size) if isinstance(b, Tracer) else size * np.copysign(1.0, b)


@of("heaviside")
def heaviside(x, at_zero):
    return np.where(np.equal(x, 0), at_zero, np.where(np.greater(x, 0), 1.0, 0.0))


@of("rsqrt")
def rsqrt(x):
    return np.power(x, -0.5)


@of("addcmul")
def addcmul(x, a, b, *, value=1):
    return np.add(x, np.multiply(np.multiply(a, b), value))


@of("addcdiv")
def addcdiv(x, a, b, *, value=1):
    return np.add(x, np.multiply(np.true_divide(a, b), value))


@of("lerp")
def lerp(a, b, weight):
    return np.add(a, np.multiply(weight, np.subtract(b, a)))


@of("clamp", "clip")
def clamp(x, min=None, max=None):
    return np.clip(traced(x), min, max)


@of("clamp_min")
def clamp_min(x, low):
    return clamp(x, low)


@of("clamp_max")
def clamp_max(x, high):
    return clamp(x, None, high)


@of("where")
def where(condition, a, b):
    return np.where(condition, a, b)


@of("masked_fill")
def masked_fill(x, mask, value):
    return np.where(mask, value, x)


@of("detach")
def detach(x):
    return Tracer(x.node.graph.op("detach", x.node), x.logical)


@of("alias", "clone", "lift_fresh", "lift_fresh_copy", "contiguous", "conj", "positive")
def same(x, **unused):
    return x


@of("_to_copy", "to")
def to_copy(x, *, dtype=None, **unused):
    if isinstance(x, ComplexTracer):
        refuse("a change of type of complex values")
    return x if dtype is None else cast(x, numpy_type(dtype))


@of("copy")
def copy(target, source, non_blocking=False):
    """What a tensor holds after source was written into it."""
    made = source if isinstance(source, Tracer) else lift(graph_of(target), source)
    return made if made.shape == np.shape(target) else np.broadcast_to(made, np.shape(target))


def numpy_type(dtype):
    import torch
    names = {torch.float64: "float64", torch.float32: "float32", torch.int64: "int64", torch.int32: "int32", torch.bool: "bool"}
    return np.dtype(names[dtype]) if dtype in names else refuse(f"elements of type {dtype}")


# ---- Reductions ----------------------------------------------------------------------------------------------------------
def dims_of(dim):
    """None and an empty list mean all axes."""
    return None if dim is None or hasattr(dim, "__iter__") and not len(dim) else tuple(dim) if hasattr(dim, "__iter__") else int(dim)


@of("sum")
def sum_(x, dim=None, keepdim=False, *, dtype=None):
    if isinstance(x, Singular) and not keepdim:
        return Tracer(x.node.graph.op("norm_nuc", x.matrix.node))
    return np.sum(x, axis=dims_of(dim), keepdims=keepdim)


@of("mean")
def mean(x, dim=None, keepdim=False, *, dtype=None):
    return np.mean(x, axis=dims_of(dim), keepdims=keepdim)


@of("prod")
def prod(x, dim=None, keepdim=False, *, dtype=None):
    return np.prod(x, axis=dims_of(dim), keepdims=keepdim)


def shared_extreme(reduce):
    """amax and amin: ties share the gradient, which only the reduction of everything does here."""
    def handler(x, dim=(), keepdim=False):
        return reduce(x, axis=dims_of(dim), keepdims=keepdim)
    return handler


TABLE.update({"amax": shared_extreme(np.max), "amin": shared_extreme(np.min)})


def extreme(reduce, arg):
    """max and min: of everything, along a dimension with positions, or of two tensors."""
    def handler(x, dim=None, keepdim=False):
        if dim is None:
            return reduce(x)
        if not isinstance(dim, int):
            return (np.maximum if reduce is np.max else np.minimum)(x, dim)
        at = arg(x, axis=dim)
        return reduce(x, axis=dim, keepdims=keepdim), np.expand_dims(at, dim) if keepdim else at
    return handler


TABLE.update({"max": extreme(np.max, np.argmax), "min": extreme(np.min, np.argmin)})


def position(arg):
    def handler(x, dim=None, keepdim=False):
        made = arg(x, axis=dim)
        return np.expand_dims(made, dim) if keepdim and dim is not None else made
    return handler


TABLE.update({"argmax": position(np.argmax), "argmin": position(np.argmin)})


@of("any")
def any_(x, dim=None, keepdim=False):
    return np.any(x, axis=dims_of(dim), keepdims=keepdim)


@of("all")
def all_(x, dim=None, keepdim=False):
    return np.all(x, axis=dims_of(dim), keepdims=keepdim)


@of("var")
def var(x, dim=None, *, correction=1, keepdim=False):
    return np.var(x, axis=dims_of(dim), ddof=1 if correction is None else correction, keepdims=keepdim)


@of("std")
def std(x, dim=None, *, correction=1, keepdim=False):
    return np.sqrt(var(x, dim, correction=correction, keepdim=keepdim))


@of("var_mean")
def var_mean(x, dim=None, *, correction=1, keepdim=False):
    return var(x, dim, correction=correction, keepdim=keepdim), mean(x, dim, keepdim)


@of("cumsum")
def cumsum(x, dim, *, dtype=None):
    return np.cumsum(x, axis=dim) if x.ndim else x


@of("logsumexp")
def logsumexp(x, dim, keepdim=False):
    x, axes = floating(x), axes_of(dims_of(dim), x.ndim)
    if len(axes) == x.ndim:
        made = Tracer(x.node.graph.op("logsumexp", x.node))
        return np.reshape(made, (1,) * x.ndim) if keepdim else made
    if len(axes) > 1:
        refuse("logsumexp along several dimensions")
    return Tracer(x.node.graph.op("logsumexp_axis", x.node, axes[0], bool(keepdim)))


@of("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    made, at = functions.largest(x if largest else -x, k, dim)
    return made if largest else -made, at


@of("linalg_vector_norm")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    x = floating(x)
    axes = axes_of(dims_of(dim), x.ndim)
    if len(axes) == x.ndim:
        made = np.linalg.norm(np.ravel(x), ord)
        return np.reshape(made, (1,) * x.ndim) if keepdim else made
    if len(axes) == 1:
        return np.linalg.norm(x, ord, axis=axes[0], keepdims=keepdim)
    if ord == 2:
        return np.sqrt(np.sum(np.square(x), axis=axes, keepdims=keepdim))
    return refuse(f"vector norms of order {ord} along several dimensions")


@of("_cdist_forward")
def cdist(a, b, p, mode=None):
    apart = np.subtract(np.expand_dims(a, -2), np.expand_dims(b, -3))
    return vector_norm(apart, p, [-1])


@of("_trilinear")
def trilinear(a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    for axis in expand1:
        a = np.expand_dims(a, axis)
    for axis in expand2:
        b = np.expand_dims(b, axis)
    for axis in expand3:
        c = np.expand_dims(c, axis)
    return np.sum(a * b * c, axis=tuple(sumdim))


@of("dist")
def dist(a, b, p=2):
    return vector_norm(np.subtract(a, b), p)


@of("norm")
def norm(x, p=2, dim=None, keepdim=False, *, dtype=None):
    return vector_norm(x, 2 if p is None else p, dim, keepdim)


# ---- Like another --------------------------------------------------------------------------------------------------------
def like(value):
    return lambda x, *unused, **more: np.full(x.shape, value)


TABLE.update({"zeros_like": like(0.0), "ones_like": like(1.0), "empty_like": like(0.0)})


@of("full_like")
def full_like(x, value, **unused):
    return np.full(x.shape, value)


@of("new_zeros", "new_empty")
def new_zeros(x, size, **unused):
    return np.zeros(tuple(size))


@of("new_ones")
def new_ones(x, size, **unused):
    return np.ones(tuple(size))


@of("new_full")
def new_full(x, size, value, **unused):
    return np.full(tuple(size), value)


@of("fill")
def fill(x, value):
    return np.broadcast_to(value, x.shape) if isinstance(value, Tracer) else np.full(x.shape, value)


# ---- Values with a meaning of their own ----------------------------------------------------------------------------------
class Singular(Tracer):
    """Singular values, with the matrix: their sum is the nuclear norm, which is differentiable where some of them are zero."""

    __slots__ = ("matrix",)

    def __init__(self, node, matrix):
        super().__init__(node)
        self.matrix = matrix


class Pair:
    """Complex values seen as real: one more axis, of real and imaginary part."""

    def __init__(self, of: ComplexTracer):
        self.of = of
        self.shape = (*of.shape, 2)

    def select(self, dim, index):
        if dim % len(self.shape) != len(self.shape) - 1:
            refuse("parts of complex values along another dimension")
        return self.of.imag if index % 2 else self.of.real


@of("view_as_real")
def view_as_real(x):
    return Pair(x)


@of("view_as_complex")
def view_as_complex(x):
    return ComplexTracer(x[..., 0], x[..., 1])


@of("complex")
def complex_(a, b):
    g = graph_of(a, b)
    return ComplexTracer(lift(g, a), lift(g, b))


@of("real")
def real(x):
    return x.real


@of("imag")
def imag(x):
    return x.imag
