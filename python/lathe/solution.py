"""What a run of the optimizer gives."""
from __future__ import annotations

import html

import numpy as np

HISTORY = ("iter", "evals", "mu", "phi", "f", "tvi", "tve", "t", "stat", "stat_unweighted", "level", "qp_attempts", "n_gradients", "seconds")


class Point:
    """A point of a run: x and f; with constraints also ci, ce, tvi, tve, tv, feasible_to_tol and mu."""

    def __init__(self, fields: dict):
        self.__dict__.update(fields)

    def __repr__(self):
        return f"Point(f={self.f:.10g}" + (f", tv={self.tv:.3g}" if hasattr(self, "tv") else "") + f", x={np.array2string(self.x, threshold=8)})"

    def __eq__(self, other):
        return isinstance(other, Point) and self.__dict__.keys() == other.__dict__.keys() and \
            all(np.array_equal(v, other.__dict__[k]) for k, v in self.__dict__.items())

    __hash__ = None


class Solution:
    """The result of ``lathe.solve``; the fields are those of the command's JSON.

    ``final`` is the last accepted point, ``best`` the best feasible one (None when none was), ``most_feasible`` the one of least
    violation (None without constraints); with prescaling also ``final_unscaled`` and so on. ``x`` and ``f`` are those of ``best``, or
    of ``final`` where there is none. ``how`` says how the function was run: as a graph, or called from C and why.
    """

    def __init__(self, fields: dict, variables=None, how: str = "", exception=None):
        for name, value in fields.items():
            setattr(self, name, Point(value) if isinstance(value, dict) and "x" in value else value)
        self.variables = variables
        self.how = how
        self.exception = exception

    @property
    def point(self) -> Point:
        return self.best if self.best is not None else self.final

    @property
    def x(self):
        """The best point in the form of x0: an array, a tuple or a dict of arrays."""
        return self.variables.like(self.point.x) if self.variables is not None else self.point.x

    @property
    def f(self) -> float:
        return self.point.f

    @property
    def feasible(self) -> bool:
        return bool(getattr(self.point, "feasible_to_tol", True))

    @property
    def success(self) -> bool:
        """A stationary point, a stalled penalty function or a target was reached, at a feasible point."""
        return self.termination_code in (0, 1, 2)

    def table(self) -> np.ndarray:
        """One record per accepted step, the start first."""
        return np.rec.fromarrays(list(self.history.T), names=HISTORY) if len(self.history) else np.rec.fromrecords([], names=HISTORY)

    def __getstate__(self):
        state = dict(self.__dict__)
        state["exception"] = None  # tracebacks hold frames, which cannot be pickled
        return state

    def __repr__(self):
        violation = f", violation {self.point.tv:.3g}" if hasattr(self.point, "tv") else ""
        return (f"Solution(f={self.f:.10g}{violation}, code {self.termination_code}: {self.message}\n"
                f"         {self.iters} iterations, {self.fn_evals} evaluations, {self.time_total:.3g} s; {self.how})")

    def _repr_html_(self):
        from .pages import solution_page
        return solution_page(self)

    def summary(self) -> dict:
        """The numbers that matter, for tables."""
        return {"f": self.f, "code": self.termination_code, "iterations": self.iters, "evaluations": self.fn_evals,
                "violation": getattr(self.point, "tv", 0.0), "stationarity": self.stat_value, "seconds": self.time_total, "how": html.escape(self.how)}
