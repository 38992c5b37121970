"""lathe.solve."""
from __future__ import annotations

import os

import numpy as np

from . import _core
from .errors import ArgumentError
from .problem import Problem
from .solution import Solution
from .variables import Variables

#: What a program sets as objects and not as text.
OBJECTS = ("H0", "H0_diagonal", "lbfgs_state", "iterate_fn")
#: PyGRANSO's names of them.
ALIASES = {"limited_mem_warm_start": "lbfgs_state", "halt_log_fn": "iterate_fn"}


def solve(problem, x0=None, *, device="auto", capture="verify", jac=None, on_error="raise", **options) -> Solution:
    """Minimise f(x) subject to ci(x) <= 0 and ce(x) = 0, all possibly nonsmooth and nonconvex.

    problem
        a problem file, 'example:NAME', its text, a ``lathe.Problem``, or a Python function that returns f or (f, ci, ce).
    x0
        where to start: an array, a tuple of arrays or a dict of arrays; the function takes its variables in the same form. For a problem
        that knows its variables also the name of a file: packed variables (.npy), or a result that the command wrote (.json, .npz).
    device
        where graphs run: "auto", "cpu", "cuda", "cuda:1". Functions that are called run where they are.
    capture, jac
        as of ``lathe.Problem``.
    on_error
        "raise": an exception of the function ends the run and is raised, with the results so far as its ``solution``;
        "stop": the solution is returned, with termination code 11. What is no Exception (Ctrl-C, sys.exit()) is raised anyhow.
    options
        by name, as of the command: ``lathe.options("solve")`` lists them. Also H0, lbfgs_state and iterate_fn.
        With print_level above 0 the table of the run is printed.

    Ctrl-C ends a run; KeyboardInterrupt has the results so far as its ``solution``.

    >>> import lathe
    >>> lathe.solve("example:A1", stationarity_tol=1e-6).termination_code
    0
    """
    if on_error not in ("raise", "stop"):
        raise ArgumentError(f"on_error {on_error!r}: expected 'raise' or 'stop'")
    if isinstance(x0, (str, os.PathLike)):  # read by the library: packed variables, or the result of another run
        options["x0"], x0 = os.fspath(x0), None
    if not isinstance(problem, Problem):
        problem = Problem(problem, x0, capture=capture, jac=jac)
        start = problem.x0
    else:
        start = Variables.of(x0)[1] if x0 is not None else problem.x0
    if "x0" in options:
        start = None
    options = {ALIASES.get(name, name): value for name, value in options.items()}
    objects = {name: options.pop(name) for name in OBJECTS if name in options}
    if start is not None:
        objects["x0"] = pack(problem, start)
    if "torch_device" not in options:  # its name in PyGRANSO
        options.setdefault("device_name", device)
    fields, failure = _core.solve(problem.core, options, objects, bool(options.get("print_level", 0)))
    solution = Solution(fields, problem.variables, problem.how, failure)
    if failure is not None and (on_error == "raise" or not isinstance(failure, Exception)):  # Ctrl-C and sys.exit() go on
        failure.solution = failure.partial = solution
        raise failure
    return solution


def pack(problem, arrays):
    if len(arrays) == 1 and arrays[0].size == problem.n:
        return arrays[0].ravel()
    if len(arrays) == len(problem.variables.shapes):
        return problem.variables.pack(arrays)
    raise ArgumentError(f"x0 has {sum(np.size(a) for a in arrays)} numbers: the problem has {problem.n} variables")
