"""Problems: min f(x) subject to ci(x) <= 0 and ce(x) = 0."""
from __future__ import annotations

import os

import numpy as np

from . import _core, capture as capturing
from .console import say_once
from .errors import ArgumentError, CaptureError, ShapeError, kind_of, of_result
from .tree import flatten
from .variables import Variables


class Problem:
    """A problem for ``lathe.solve``: from a file or text of the problem language, or from a Python function.

    A function takes the variables in the form of x0 (an array, several in a tuple, or several by name) and returns f, or
    (f, ci, ce), where ci and ce are None, an array, or several in a list or dict. ci(x) <= 0 and ce(x) = 0 are wanted.

    capture
        "verify": as a graph where it can be captured and the graph agrees with the function, else called as it is;
        "always": as a graph or CaptureError; "never": called as it is.
    jac
        for functions that are called: ``jac(x)`` gives df, or (df, dci, dce) with one row per constraint. Without it derivatives
        come from the framework's reverse mode, of NumPy code from differences.

    >>> import lathe
    >>> p = lathe.Problem("var x[2] = [1, 2]\\nminimize sum(x^2)\\nsubject to\\n  x[0] >= 1")
    >>> p.n, p.p, p.q
    (2, 1, 0)
    >>> float(p.evaluate([3, 4])["f"])
    25.0
    """

    def __init__(self, source, x0=None, *, variables=None, capture="verify", jac=None, name=None):
        if capture not in capturing.MODES:
            raise ArgumentError(f"capture {capture!r}: expected one of {', '.join(capturing.MODES)}")
        self.x0, self.variables, self.how = None, None, ""
        if isinstance(source, _core.Problem):
            self.core = source
        elif callable(source):
            self._from_function(source, x0, variables, capture, jac)
            return
        elif isinstance(source, (str, os.PathLike)):
            self.core = from_text(os.fspath(source), name)
        else:
            raise ArgumentError(f"a problem is a path, a text, a lathe.Problem or a function, not {kind_of(source)}")
        self.variables = Variables("dict", *zip(*self.core.variables)) if len(self.core.variables) > 1 else \
            Variables("array", [self.core.variables[0][0]], [self.core.variables[0][1]])
        self.how = self.how or "graph of the problem's text"
        if x0 is not None:
            self.x0 = Variables.of(x0)[1]

    def _from_function(self, function, x0, variables, capture, jac):
        if x0 is None and variables is None:
            raise ArgumentError("a function needs x0, or variables={'name': shape, …}: its variables are not known")
        if variables is not None:
            self.variables = Variables.named(variables)
            arrays = Variables.of(x0)[1] if x0 is not None else [np.random.Generator(np.random.Philox(0)).standard_normal(s) for s in self.variables.shapes]
        else:
            self.variables, arrays = Variables.of(x0)
        if x0 is not None:
            self.x0 = arrays
        arguments = list(x0.values()) if isinstance(x0, dict) else list(x0) if isinstance(x0, (tuple, list)) and self.variables.form == "tuple" else [x0] \
            if x0 is not None else arrays
        try:
            self.core, self.how = build(function, self.variables, arrays, arguments, capture, jac)
        except (ArgumentError, ShapeError) as error:
            raise of_result(error, function)

    n = property(lambda self: self.core.n, doc="number of variables")
    p = property(lambda self: self.core.p, doc="number of inequalities")
    q = property(lambda self: self.core.q, doc="number of equalities")

    def evaluate(self, x) -> dict:
        """f, grad_f, ci, grad_ci, ce, grad_ce at x; gradients one row per constraint."""
        return self.core.evaluate(self._packed(x))

    def check(self, x=None, tolerance=1e-5, directions=100) -> dict:
        """Gradients against differences of the values."""
        return self.core.check(None if x is None else self._packed(x), tolerance, directions)

    def _packed(self, x):
        given = Variables.of(x)[1]
        if len(given) == 1 and given[0].size == self.n:
            return given[0].ravel()
        if len(given) != len(self.variables.shapes):
            raise ShapeError(f"x has {len(given)} parts: the problem has {len(self.variables.shapes)} variables")
        return self.variables.pack(given)

    def __repr__(self):
        return f"Problem({self.n} variables, {self.p} inequalities, {self.q} equalities; {self.how})"


def from_text(source: str, name):
    """A path, 'example:NAME', or the text itself: a text has more than one line, or a statement in its only one."""
    if "\n" in source or not source.startswith("example:") and not source.endswith((".lt", ".nl")) and " " in source.strip():
        return _core.Problem.from_text(source, name or "problem", "")
    return _core.Problem.from_path(source)


# ---- From functions ------------------------------------------------------------------------------------------------------
def parts_of(made):
    """(f, ci, ce) of what a function returned."""
    if isinstance(made, (tuple, list)):
        if len(made) not in (2, 3):
            raise ArgumentError(f"the function returned {len(made)} things: expected f, or f, ci and ce")
        return made[0], made[1], made[2] if len(made) == 3 else None
    return made, None, None


def build(function, variables, arrays, arguments, capture, jac):
    """(core problem, how)"""
    bound = variables.bind(function)
    if capture != "never":
        try:
            made = capturing.capture(lambda *a: parts_of(bound(*a)), arrays, arguments, variables.names, effects=capture == "always")
            return from_captured(made), made.how
        except CaptureError as error:
            if capture == "always":
                raise
            why = str(error)
    else:
        why = "capture='never'"
    from .callbacks import from_function
    core, gradients = from_function(bound, variables, arrays, arguments, jac)
    how = f"called from C, gradients by {gradients}: {why}"
    say_once(function, how)
    return core, how


def from_captured(made):
    """The nodes of f, ci and ce; how many of each the tree says."""
    counts = [len(flatten_tree(t)) for t in made.tree.children]
    if counts[0] != 1:
        raise ArgumentError(f"f has {counts[0]} parts: expected one number")
    f, rest = made.outputs[0], made.outputs[1:]
    if int(np.prod(f.shape, dtype=np.int64)) != 1:
        raise ShapeError(f"f has shape {f.shape}: expected one number")
    return _core.Problem.from_graph(made.graph, f, rest[:counts[1]], rest[counts[1]:])


def flatten_tree(tree) -> list:
    return [tree] if tree.kind == "leaf" else [t for child in tree.children for t in flatten_tree(child)]


def column(part) -> np.ndarray:
    """Constraints as one vector: the elements of each array in turn."""
    leaves, _ = flatten(part)
    return np.concatenate([np.ravel(np.asarray(x, dtype=float)) for x in leaves]) if leaves else np.empty(0)
