"""Tracers: stand-ins for arrays that write down, in a graph, what is done to them.

A tracer answers NumPy's two protocols (``__array_ufunc__`` and ``__array_function__``), so that ordinary NumPy code builds the
graph. What a value would have to be known for (branches, ``float(x)``, writing into an array) raises CaptureError at that line.
"""
from __future__ import annotations

import numbers

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..errors import CaptureError


def refuse(what: str):
    raise CaptureError(what)


class Refused:
    """A value that exists but has no derivative here (singular vectors): any use of it is refused by name."""

    __array_priority__ = 1000

    def __init__(self, what: str):
        object.__setattr__(self, "_what", what)

    def _no(self, *args, **kwargs):
        refuse(object.__getattribute__(self, "_what"))

    __getattr__ = __getitem__ = __array__ = __array_ufunc__ = __array_function__ = __iter__ = __bool__ = __float__ = _no
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = __rmatmul__ = __neg__ = __len__ = _no


class Tracer(NDArrayOperatorsMixin):
    """A value of a graph that behaves like an array. ``logical`` marks masks, which NumPy has as bool and the graph as 0 and 1."""

    __slots__ = ("node", "logical")
    __array_priority__ = 1000
    __hash__ = None

    def __init__(self, node, logical: bool = False):
        self.node = node
        self.logical = logical

    # ---- what it is ----
    @property
    def shape(self):
        return self.node.shape

    @property
    def dtype(self):
        return np.dtype(bool) if self.logical else self.node.dtype

    @property
    def ndim(self):
        return len(self.node.shape)

    @property
    def size(self):
        return int(np.prod(self.node.shape, dtype=np.int64))

    @property
    def T(self):
        return np.transpose(self)

    @property
    def mT(self):
        return np.swapaxes(self, -1, -2)

    @property
    def real(self):
        return self

    @property
    def imag(self):
        return np.zeros_like(self)

    @property
    def flat(self):
        return iter(self.ravel())

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"<traced array of shape {self.shape}, {self.dtype}>"

    # ---- what it can do ----
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from . import ufuncs
        return ufuncs.apply(ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        from . import functions
        return functions.apply(function, args, kwargs)

    def __getitem__(self, index):
        from . import indexing
        return indexing.take(self, index)

    def astype(self, dtype, **unused):
        return cast(self, np.dtype(dtype))

    def copy(self, order=None):
        return self

    def conj(self):
        return self

    conjugate = conj

    def reshape(self, *shape, **kwargs):
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, **kwargs)

    def transpose(self, *axes):
        return np.transpose(self, (axes[0] if len(axes) == 1 and not isinstance(axes[0], numbers.Integral) else axes) or None)

    def swapaxes(self, a, b):
        return np.swapaxes(self, a, b)

    def flatten(self, order="C"):
        return np.ravel(self, order)

    def ravel(self, order="C"):
        return np.ravel(self, order)

    # ---- what would need its value ----
    def __bool__(self):
        refuse("the function branches on a value")

    def __float__(self):
        refuse("the function takes a value out as a plain number (float(), or writing it into an array)")

    def __int__(self):
        refuse("the function takes a value out as a whole number")

    def __complex__(self):
        refuse("the function takes a value out as a complex number")

    def __index__(self):
        refuse("the function uses a value as an index")

    def __array__(self, *args, **kwargs):
        refuse("the function turns a traced value into a plain array (np.array, np.asarray, or code outside NumPy)")

    def __setitem__(self, index, value):
        refuse("the function writes into an array in place")

    def item(self, *args):
        refuse("the function calls .item()")

    def tolist(self):
        refuse("the function calls .tolist()")


def _in_place(name):
    def method(self, other):
        refuse(f"the function changes an array in place ({name})")
    method.__name__ = name
    return method


for _name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "ilshift", "irshift"):
    setattr(Tracer, f"__{_name}__", _in_place(f"__{_name}__"))


def _method(name):
    function = getattr(np, name)

    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)
    method.__name__ = name
    return method


for _name in ("sum", "mean", "prod", "max", "min", "argmax", "argmin", "argsort", "cumsum", "dot", "trace", "diagonal", "clip", "squeeze",
              "take", "std", "var", "ptp", "repeat", "all", "any", "round"):
    setattr(Tracer, _name, _method(_name))


class ComplexTracer:
    """Real and imaginary part of a complex value (eigenvalues): parts and absolute values can be taken, nothing else."""

    __array_priority__ = 1000
    __slots__ = ("real", "imag")

    def __init__(self, real: Tracer, imag: Tracer):
        self.real = real
        self.imag = imag

    @property
    def shape(self):
        return self.real.shape

    @property
    def ndim(self):
        return self.real.ndim

    @property
    def size(self):
        return self.real.size

    @property
    def dtype(self):
        return np.dtype(complex)

    def __len__(self):
        return len(self.real)

    def __getitem__(self, index):
        return ComplexTracer(self.real[index], self.imag[index])

    def __abs__(self):
        return np.hypot(self.real, self.imag)

    def conj(self):
        return ComplexTracer(self.real, -self.imag)

    conjugate = conj

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method == "__call__" and not kwargs and len(inputs) == 1:
            if ufunc is np.absolute:
                return abs(self)
            if ufunc is np.conjugate:
                return self.conj()
        refuse(f"np.{ufunc.__name__} of complex values")

    def __array_function__(self, function, types, args, kwargs):
        if function in (np.real, np.imag) and len(args) == 1:
            return self.real if function is np.real else self.imag
        if function is np.angle and len(args) == 1 and not kwargs:
            return np.arctan2(self.imag, self.real)
        refuse(f"np.{function.__name__} of complex values")

    def __array__(self, *args, **kwargs):
        refuse("the function turns traced complex values into a plain array")

    def __bool__(self):
        refuse("the function branches on a value")


# ---- From values to nodes ------------------------------------------------------------------------------------------------
def is_traced(value) -> bool:
    return isinstance(value, (Tracer, ComplexTracer, Refused))


def is_number(value) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, np.ndarray) or isinstance(value, np.ndarray) and value.ndim == 0 \
        and value.dtype.kind in "biuf"


def graph_of(*values):
    """The graph of the tracers among (nested) values."""
    for value in values:
        if isinstance(value, Tracer):
            return value.node.graph
        if isinstance(value, ComplexTracer):
            return value.real.node.graph
        if isinstance(value, (tuple, list)):
            found = graph_of(*value)
            if found is not None:
                return found
        if isinstance(value, Refused):
            value._no()
    return None


def graph_dtype(dtype) -> np.dtype:
    """The element type that stands for a NumPy type in a graph."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.dtype("float64")
    if dtype.kind in "iu":
        return np.dtype("int64") if dtype.itemsize > 4 or dtype.kind == "u" else np.dtype("int32")
    if dtype.kind == "f":
        return np.dtype("float32") if dtype.itemsize <= 4 else np.dtype("float64")
    refuse(f"elements of type {dtype}")


def lift(graph, value, dtype=None) -> Tracer:
    """value as a tracer of this graph, cast to dtype where one is given."""
    if isinstance(value, Tracer):
        return value if dtype is None else cast(value, dtype)
    if isinstance(value, (ComplexTracer, Refused)):
        refuse("arithmetic with complex values" if isinstance(value, ComplexTracer) else value._no())
    if isinstance(value, (list, tuple)) and graph_of(value) is not None:
        return np.stack([lift(graph, v, dtype) for v in value])
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        refuse(f"a constant of type {array.dtype}")
    logical = array.dtype.kind == "b" and dtype is None
    array = np.ascontiguousarray(array, dtype=graph_dtype(dtype or array.dtype)).reshape(array.shape)
    return Tracer(graph.constant(array), logical)


def cast(x: Tracer, dtype) -> Tracer:
    dtype = np.dtype(dtype)
    if dtype == x.dtype:
        return x
    if dtype.kind == "b":
        zero = Tracer(x.node.graph.op("scalar", x.node.dtype, 0.0))
        return Tracer(x.node.graph.op("rsub", 1.0, x.node.graph.op("eq", x.node, zero.node)), True)
    if dtype.kind in "iu" and x.node.dtype.kind == "f" and not x.logical:
        refuse("a cast to whole numbers")
    target = graph_dtype(dtype)
    return Tracer(x.node if x.node.dtype == target else x.node.graph.op("cast", x.node, target))
