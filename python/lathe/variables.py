"""The variables of a problem: how x, one vector in C, is what a Python function takes."""
from __future__ import annotations

import numpy as np

from .arrays import host_array
from .errors import ArgumentError, ShapeError


class Variables:
    """Names and shapes, in order, and the form in which the function takes them.

    ``form`` is "array" (one array), "tuple" (several, in order) or "dict" (several, by name).
    """

    def __init__(self, form, names, shapes):
        self.form, self.names, self.shapes = form, list(names), [tuple(int(d) for d in s) for s in shapes]
        self.sizes = [int(np.prod(s, dtype=np.int64)) for s in self.shapes]
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        self.n = int(self.offsets[-1])
        self.plain = form == "array" and len(self.shapes[0]) == 1

    @classmethod
    def of(cls, x0):
        """(Variables, the arrays of x0): x0 is an array, a tuple or list of arrays, or a dict of them."""
        if isinstance(x0, dict):
            values, form, names = list(x0.values()), "dict", [str(k) for k in x0]
        elif isinstance(x0, (tuple, list)) and any(np.ndim(v) for v in x0 if not hasattr(v, "__dlpack__")) or \
                isinstance(x0, (tuple, list)) and any(hasattr(v, "__dlpack__") and np.ndim(v) for v in x0):
            values, form, names = list(x0), "tuple", [f"x{i}" for i in range(len(x0))]
        else:
            values, form, names = [x0], "array", ["x"]
        arrays = [start(v, name) for v, name in zip(values, names)]
        if not any(a.size for a in arrays):
            raise ArgumentError("x0 holds no variable")
        return cls(form, names, [a.shape for a in arrays]), arrays

    @classmethod
    def named(cls, shapes: dict):
        """From a dict of names and shapes."""
        return cls("dict", shapes, [(s,) if np.ndim(s) == 0 else s for s in shapes.values()])

    def pack(self, arrays) -> np.ndarray:
        for a, shape, name in zip(arrays, self.shapes, self.names):
            if a.shape != shape:
                raise ShapeError(f"{name} has shape {a.shape}: expected {shape}")
        return np.concatenate([np.ravel(a) for a in arrays]) if len(arrays) > 1 else np.ravel(arrays[0])

    def unpack(self, x) -> list:
        """Views of x, one per variable."""
        if self.plain:
            return [x]
        return [x[a:b].reshape(s) for a, b, s in zip(self.offsets, self.offsets[1:], self.shapes)]

    def bind(self, function):
        """The function as one of positional arrays."""
        if self.form != "dict":
            return function
        names = self.names
        return lambda *arrays: function(**dict(zip(names, arrays)))

    def like(self, x):
        """A packed vector in the form of x0."""
        parts = [np.array(p) for p in self.unpack(np.asarray(x))]
        return parts[0] if self.form == "array" else tuple(parts) if self.form == "tuple" else dict(zip(self.names, parts))


def start(value, name) -> np.ndarray:
    """One variable of x0 as float64; a number becomes an array of one element."""
    array, _ = host_array(value, name)
    if array.dtype.kind not in "fiub":
        from .errors import DtypeError
        raise DtypeError(f"{name} has elements of type {array.dtype}: expected real numbers")
    array = np.array(array, dtype=float)
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} is not finite everywhere: a run starts where the functions are defined")
    return array.reshape(1) if array.ndim == 0 else array
