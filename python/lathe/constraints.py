"""SciPy's forms of bounds and constraints as ci(x) <= 0 and ce(x) = 0. SciPy itself is not needed: its objects are read by their attributes."""
from __future__ import annotations

import numpy as np

from .errors import ArgumentError, ShapeError, kind_of


def differences(function, x, scheme="3-point"):
    """The Jacobian of function(x) -> vector, one row per element."""
    x = np.asarray(x, dtype=float)
    base = np.atleast_1d(function(x)) if scheme == "2-point" else None
    columns = []
    for i in range(x.size):
        if scheme == "cs":
            h = 1e-20
            up = x.astype(complex)
            up[i] += 1j * h
            columns.append(np.imag(np.atleast_1d(function(up))) / h)
            continue
        h = (np.sqrt if scheme == "2-point" else np.cbrt)(np.finfo(float).eps) * max(1.0, abs(x[i]))
        up, down = x.copy(), x.copy()
        up[i] += h
        if scheme == "2-point":
            columns.append((np.atleast_1d(function(up)) - base) / (up[i] - x[i]))
        else:
            down[i] -= h
            columns.append((np.atleast_1d(function(up)) - np.atleast_1d(function(down))) / (up[i] - down[i]))
    return np.array(columns, dtype=float).reshape(x.size, -1).T


class Box:
    """Bounds on x. ``keep``: the functions are never called outside of them."""

    def __init__(self, low, high, keep=False):
        self.low, self.high, self.keep = low, high, bool(keep)

    def inside(self, x):
        return np.clip(x, self.low, self.high)

    def clip(self, x):
        return np.minimum(np.maximum(x, self.low), self.high) if self.keep else x


def bounds_of(bounds, n) -> Box:
    if bounds is None:
        return Box(np.full(n, -np.inf), np.full(n, np.inf))
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        low, high, keep = bounds.lb, bounds.ub, np.any(getattr(bounds, "keep_feasible", False))
    else:
        pairs = [tuple(pair) for pair in bounds]
        if len(pairs) != n:
            raise ArgumentError(f"{len(pairs)} bounds for {n} variables: the length of x0 and of bounds must be the same")
        if any(len(pair) != 2 for pair in pairs):
            raise ArgumentError("each bound is a pair (min, max), with None for no bound")
        low = [-np.inf if a is None else a for a, _ in pairs]
        high = [np.inf if b is None else b for _, b in pairs]
        keep = False
    try:
        low, high = np.broadcast_to(np.asarray(low, dtype=float), n).copy(), np.broadcast_to(np.asarray(high, dtype=float), n).copy()
    except ValueError as error:
        raise ShapeError(f"bounds of {np.shape(low)} and {np.shape(high)} elements for {n} variables") from error
    low[np.isnan(low)], high[np.isnan(high)] = -np.inf, np.inf
    if (low > high).any():
        i = int(np.argmax(low > high))
        raise ArgumentError(f"bound {i}: the lower one, {low[i]:g}, is above the upper one, {high[i]:g}")
    return Box(low, high, keep)


class Term:
    """One function with bounds on its elements: low <= g(x) <= high, each element an equality where they agree."""

    def __init__(self, function, gradient, low, high, x, box):
        self.function, self.gradient, self.box = function, gradient, box
        value = np.atleast_1d(np.asarray(function(x), dtype=float))
        if value.ndim != 1:
            value = value.ravel()
        self.low = np.broadcast_to(np.asarray(low, dtype=float), value.shape)
        self.high = np.broadcast_to(np.asarray(high, dtype=float), value.shape)
        if (self.low > self.high).any():
            raise ArgumentError("a constraint has a lower bound above its upper one")
        self.equal = np.flatnonzero(self.low == self.high)
        self.below = np.flatnonzero((self.low != self.high) & np.isfinite(self.low))
        self.above = np.flatnonzero((self.low != self.high) & np.isfinite(self.high))
        self.m = value.size

    def at(self, x):
        value = np.ravel(np.asarray(self.function(self.box.clip(x)), dtype=float))
        if value.size != self.m:
            raise ShapeError(f"a constraint function returned {value.size} numbers: at x0 it returned {self.m}")
        return value

    def rows(self, x):
        if callable(self.gradient):
            made = self.gradient(x)
            made = made.toarray() if hasattr(made, "toarray") else made
            return np.asarray(made, dtype=float).reshape(self.m, -1)
        return differences(lambda y: np.ravel(self.function(self.box.clip(y))), x, self.gradient or "3-point")

    def split(self, value):
        """(ci, ce) of values, or of rows of derivatives without the constants."""
        constant = value.ndim == 1
        ci = np.concatenate([(self.low[self.below] if constant else 0) - value[self.below], value[self.above] - (self.high[self.above] if constant else 0)])
        return ci, value[self.equal] - (self.low[self.equal] if constant else 0)

    def traced(self, x):
        value = np.ravel(np.atleast_1d(self.function(self.box.clip(x))))
        if value.shape[0] != self.m:
            raise ShapeError(f"a constraint function returned {value.shape[0]} numbers: at x0 it returned {self.m}")
        ci = []
        if len(self.below):
            ci.append(self.low[self.below] - value[self.below])
        if len(self.above):
            ci.append(value[self.above] - self.high[self.above])
        return ci, [value[self.equal] - self.low[self.equal]] if len(self.equal) else []


class Terms:
    """All constraints."""

    def __init__(self, terms):
        self.terms = terms
        self.p = sum(len(t.below) + len(t.above) for t in terms)
        self.q = sum(len(t.equal) for t in terms)

    def traced(self, x):
        pairs = [t.traced(x) for t in self.terms]
        ci, ce = [c for pair in pairs for c in pair[0]], [c for pair in pairs for c in pair[1]]
        return ci or None, ce or None

    def values(self, x):
        return self.join([t.split(t.at(x)) for t in self.terms])

    def gradients(self, x):
        return self.join([t.split(t.rows(x)) for t in self.terms])

    @staticmethod
    def join(pairs):
        if not pairs:
            return None, None
        return np.concatenate([ci for ci, _ in pairs]), np.concatenate([ce for _, ce in pairs])


def terms_of(constraints, x, box: Box) -> Terms:
    """Constraints in any of SciPy's forms, and the bounds, as terms."""
    if isinstance(constraints, dict) or hasattr(constraints, "lb"):
        constraints = [constraints]
    terms = [term_of(c, x, box, i) for i, c in enumerate(constraints or ())]
    if np.isfinite(box.low).any() or np.isfinite(box.high).any():
        eye = np.eye(x.size)
        terms.append(Term(lambda y: y, lambda y: eye, box.low, box.high, x, Box(box.low, box.high)))
    return Terms([t for t in terms if t.m])


def term_of(c, x, box, number) -> Term:
    if isinstance(c, dict):
        return from_dict(c, x, box, number)
    if hasattr(c, "A"):
        A = c.A.toarray() if hasattr(c.A, "toarray") else np.atleast_2d(np.asarray(c.A, dtype=float))
        if A.shape[1] != x.size:
            raise ShapeError(f"constraint {number}: A has {A.shape[1]} columns for {x.size} variables")
        return Term(lambda y: A @ y, lambda y: A, c.lb, c.ub, x, Box(box.low, box.high))
    if hasattr(c, "fun") and hasattr(c, "lb"):
        gradient = c.jac if callable(c.jac) or c.jac in ("2-point", "3-point", "cs") else None
        return Term(c.fun, gradient, c.lb, c.ub, x, box)
    raise ArgumentError(f"constraint {number} is {kind_of(c)}: expected a dict, LinearConstraint or NonlinearConstraint")


def from_dict(c, x, box, number) -> Term:
    kind = str(c.get("type", "")).lower()
    if kind not in ("eq", "ineq"):
        raise ArgumentError(f"constraint {number}: type {c.get('type')!r}: expected 'eq' or 'ineq'")
    if not callable(c.get("fun")):
        raise ArgumentError(f"constraint {number} has no function 'fun'")
    args = c.get("args", ())
    args = args if isinstance(args, tuple) else (args,)
    fun, jac = c["fun"], c.get("jac")
    gradient = (lambda y: jac(y, *args)) if callable(jac) else jac if jac in ("2-point", "3-point", "cs") else None
    return Term(lambda y: fun(y, *args), gradient, 0.0, 0.0 if kind == "eq" else np.inf, x, box)
