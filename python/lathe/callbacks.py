"""Way 3: a function as it is, called from C for values; gradients by ``jac``, by the framework, or by differences."""
from __future__ import annotations

import numpy as np

from . import _core
from .capture import candidates
from .errors import ArgumentError, ShapeError, kind_of


def from_function(bound, variables, arrays, arguments, jac):
    """(core problem, where gradients come from)"""
    for module in candidates(arguments):
        if jac is None and hasattr(module, "callbacks"):
            made = module.callbacks(bound, variables, arrays)
            if made is not None:
                return _core.Problem.from_functions(variables.n, *made[:4], named(variables)), made[4]
    values = Values(bound, variables)
    values(variables.pack(arrays))
    if callable(jac):
        gradients, how = UserGradients(variables.bind(jac), variables), "jac"
    elif jac in (None, "2-point", "3-point"):
        order = "2-point" if jac == "2-point" else "3-point"
        gradients, how = Differences(values, order), f"differences ({order})"
    else:
        raise ArgumentError(f"jac {jac!r}: expected a function, '2-point' or '3-point'")
    return _core.Problem.from_functions(variables.n, *values.sizes, values, gradients, named(variables)), how


def named(variables):
    return list(zip(variables.names, variables.shapes))


class Values:
    """values(x) -> (f, ci, ce) of packed x; the sizes must stay what they were."""

    def __init__(self, bound, variables):
        self.bound, self.variables, self.sizes = bound, variables, None

    def __call__(self, x):
        from .problem import column, parts_of
        f, ci, ce = parts_of(self.bound(*self.variables.unpack(x)))
        f = number(f)
        if ci is None and ce is None and self.sizes in (None, (0, 0)):
            self.sizes = (0, 0)
            return f, None, None
        ci, ce = column(ci), column(ce)
        if self.sizes is None:
            self.sizes = (ci.size, ce.size)
        elif self.sizes != (ci.size, ce.size):
            raise ShapeError(f"the function returned {ci.size} inequalities and {ce.size} equalities: at first it returned {self.sizes[0]} and {self.sizes[1]}")
        return f, ci, ce


def number(f) -> float:
    if isinstance(f, float):
        return f
    array = np.asarray(f)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"f is {kind_of(f)}: expected a real number")
    if array.size != 1:
        raise ShapeError(f"f has shape {array.shape}: expected one number")
    return float(array.reshape(()))


class UserGradients:
    """gradients(x) of the user's jac: df, or (df, dci, dce)."""

    def __init__(self, bound, variables):
        self.bound, self.variables = bound, variables

    def __call__(self, x):
        made = self.bound(*self.variables.unpack(x))
        made = made if isinstance(made, tuple) and len(made) == 3 and self.variables.form == "array" else (made, None, None)
        return tuple(None if part is None else flat(part) for part in made)


def flat(part):
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, (tuple, list)) and any(np.ndim(p) != np.ndim(part[0]) or np.shape(p) != np.shape(part[0]) for p in part):
        return np.concatenate([np.ravel(np.asarray(p, dtype=float)) for p in part])
    return np.ravel(np.asarray(part, dtype=float))


class Differences:
    """gradients(x) by differences of the values: forward, or central."""

    def __init__(self, values, order):
        self.values, self.order = values, order

    def __call__(self, x):
        base = self.column(x) if self.order == "2-point" else None
        step = (np.sqrt if self.order == "2-point" else np.cbrt)(np.finfo(float).eps)
        rows = []
        for i in range(x.size):
            h = step * max(1.0, abs(x[i]))
            up = x.copy()
            up[i] += h
            if self.order == "2-point":
                rows.append((self.column(up) - base) / (up[i] - x[i]))
            else:
                down = x.copy()
                down[i] -= h
                rows.append((self.column(up) - self.column(down)) / (up[i] - down[i]))
        jacobian = np.array(rows).T
        p, q = self.values.sizes
        return jacobian[0], jacobian[1:1 + p], jacobian[1 + p:1 + p + q]

    def column(self, x):
        f, ci, ce = self.values(x)
        return np.concatenate([[f]] + [c for c in (ci, ce) if c is not None])
