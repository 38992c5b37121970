"""Reference counts of everything that lives long, exact over many calls: None, True, small numbers, types, exception classes, dtypes, arguments.

Run by test_references.py, also under a debug build of Python (whose checks of the interpreter then are on) and under AddressSanitizer.
A reference that a call forgets shows as growth by the number of calls in every round; blocks of the interpreter are counted too.
SPDX-License-Identifier: BSD-3-Clause
"""
import gc
import os
import sys
import tempfile
import warnings

import lathe
import lathe.console
import numpy as np
from lathe import _core, errors

lathe.console.quiet = True
#: Cases in which lathe calls np.zeros or np.ones, and NumPy keeps a reference to float64 (2.4 does).
OF_NUMPY = {"minimize": "dtype float64"}
CALLS = int(os.environ.get("LATHE_CALLS", "300"))
FOLDER = tempfile.mkdtemp()


def watched():
    """Objects that outlive every call, by name. From Python 3.12 on the first few are immortal and say nothing."""
    own = {f"lathe.{n}": getattr(errors, n) for n in ("ArgumentError", "ShapeError", "DtypeError", "FormatError", "CaptureError", "FileError")}
    core = {f"_core.{n}": getattr(_core, n) for n in ("Graph", "Node", "Program", "Problem", "Gram") if hasattr(_core, n)}
    dtypes = {f"dtype {n}": np.dtype(n) for n in ("float64", "float32", "int64", "int32", "complex128")}
    return {"None": None, "True": True, "False": False, "()": (), "''": "", "ndarray": np.ndarray, "ValueError": ValueError, "dict": dict,
            **own, **core, **dtypes}


def failing(function, *kinds):
    """A call that has to fail."""
    def call():
        try:
            function()
        except kinds or (ValueError, TypeError, OSError, ZeroDivisionError):
            return
        raise AssertionError("no failure")
    return call


def divide(x):
    return 1 / 0


def cases():
    """name -> call"""
    # Arrays are made beforehand: np.ones itself keeps a reference to its dtype in some versions.
    x, two, four, nine, six, wide = np.ones(3), np.ones(2), np.ones(4), np.ones(9), np.ones(6), np.ones((4, 6))[:, ::2]
    objects, unknown, flat, many = np.array([None, 1, 2]), np.full((2, 3), np.nan), np.zeros(3), np.ones((2, 5))
    unit, layer = np.eye(3)[:1], np.zeros((1, 3))
    text = "var x[3]\nminimize sum(abs(x))\nsubject to c: sum(x^2) <= 1"
    called = _core.Problem.from_functions(3, 1, 0, lambda x: (float(x @ x), x[:1], None), lambda x: (2 * x, unit, None), [("x", (3,))])
    fails = _core.Problem.from_functions(3, 0, 0, divide, divide, [("x", (3,))])
    count = _core.Problem.from_functions(3, 1, 0, lambda x: (1.0, x, None), lambda x: x, [("x", (3,))])
    pair = _core.Problem.from_functions(3, 0, 0, lambda x: (1.0, None), lambda x: x, [("x", (3,))])
    f, kernel = lathe.function(lambda a, b: (np.sum(a * b), a + b)), lathe.QuantumKernel(np.zeros((1, 3)))
    problem = lathe.Problem(text, x0=[1.0, 2.0, 3.0])
    graph = _core.Graph()
    node = graph.input("x", "float64", (3,))
    program = graph.compile([graph.op("square", node)])

    def build():
        g = _core.Graph()
        a = g.input("a", "float64", (4,))
        g.compile(list(g.grad(g.op("sum", g.op("square", a)), [a])))(four)

    def logged():
        lathe.solve(problem, maxit=3, halt_log_fn=lambda it: False)

    def broken_log(it):
        raise ZeroDivisionError
    return {
        "function": lambda: f(x, x), "function, strided": lambda: f(x, six[::2]), "function, list": lambda: f([1.0, 2, 3], x), "graph": build,
        "program": lambda: program(x), "program, exact": lambda: program.exact(x), "program, not exact": lambda: program.exact(wide),
        "program, wrong shape": failing(lambda: program(four)), "program, wrong count": failing(lambda: program(x, x)),
        "program, objects": failing(lambda: program(objects)), "program, text": failing(lambda: program("abc")),
        "program, keywords": failing(lambda: program(x=x)),
        "op, unknown": failing(lambda: graph.op("nothing", node)), "op, arguments": failing(lambda: graph.op("sum")), "op, shape": failing(lambda: graph.op("reshape", node, (7,))),
        "input, type": failing(lambda: _core.Graph().input("x", "float99", (3,))), "input, shape": failing(lambda: _core.Graph().input("x", "float64", (-3,))),
        "compile, mode": failing(lambda: graph.compile([node], mode="fast")), "compile, device": failing(lambda: graph.compile([node], device="tpu"), Exception),
        "solve text": lambda: lathe.solve(problem), "problem": lambda: lathe.Problem(text, x0=[1.0, 2.0, 3.0]), "problem, bad": failing(lambda: lathe.Problem("var x[2]\nminimize sum(y)")),
        "solve called": lambda: _core.solve(called, {"maxit": 5}, {"x0": x}), "evaluate": lambda: called.evaluate(x), "evaluate, raises": failing(lambda: fails.evaluate(x)),
        "evaluate, count": failing(lambda: count.evaluate(x)), "evaluate, two things": failing(lambda: pair.evaluate(x)), "evaluate, shape": failing(lambda: called.evaluate(two)),
        "solve, raises": failing(lambda: _core.solve(fails, {}, {"x0": x})), "solve, option": failing(lambda: lathe.solve(problem, opt_toll=1)),
        "solve, value": failing(lambda: lathe.solve(problem, wolfe1=7.0)), "solve, x0": failing(lambda: lathe.solve(problem, x0=nine)), "solve, logged": logged,
        "solve, log raises": failing(lambda: lathe.solve(problem, halt_log_fn=broken_log)), "solve, warm": failing(lambda: lathe.solve(problem, limited_mem_size=3, limited_mem_warm_start={"S": 1})),
        "solve, limited": lambda: lathe.solve(problem, limited_mem_size=3), "solve, H0": failing(lambda: lathe.solve(problem, H0=four)),
        "minimize": lambda: lathe.minimize(lambda x: np.sum(x**2), x, options={"maxit": 3}), "capture, branches": lambda: lathe.solve(lambda x: float(x @ x), x0=x, maxit=2),
        "gram": lambda: kernel(wide), "gram, two": lambda: kernel(wide, wide), "gram, shape": failing(lambda: kernel(x)), "gram, qubits": failing(lambda: kernel(many)),
        "gram, option": failing(lambda: lathe.gram(wide, weights=layer, nothing=1)), "gram, NaN": failing(lambda: kernel(unknown), Exception),
        "gram, weights": failing(lambda: lathe.gram(wide, weights=flat)), "gram, states": lambda: kernel.states(wide),
        "gram, progress": lambda: kernel.evaluate(wide, progress=lambda a, b: None),
        "dataset, missing": failing(lambda: lathe.Dataset(os.path.join(FOLDER, "none.h5"))), "devices": lathe.devices, "options": lambda: lathe.options("solve"), "copies": lathe.last_copies,
        "generate, bad": failing(lambda: lathe.generate({"version": 3}, os.path.join(FOLDER, "d.h5"))),
    }


def settled():
    """Blocks of the interpreter that somebody needs. Its cache of attributes keeps up to 4096 names until others come: NumPy and extensions ask
    for attributes by new strings each time, so that it grows by fewer and fewer for thousands of calls (342, 132, … blocks per 60 of minimize)."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.13 has a new name for it
        getattr(sys, "_clear_internal_caches", sys._clear_type_cache)()
    return sys.getallocatedblocks()


def grown(call):
    """(least growth of references by name, least growth of blocks) over three rounds; tables of the interpreter grow once in a while."""
    objects, rounds = watched(), []
    for _ in range(max(20, CALLS // 2)):
        call()
    for _ in range(3):
        blocks = settled()
        before = {n: sys.getrefcount(o) for n, o in objects.items()}
        for _ in range(CALLS):
            call()
        more = settled() - blocks
        rounds.append(({n: sys.getrefcount(o) - before[n] for n, o in objects.items()}, more))
    return {n: min((r[n] for r, _ in rounds), key=abs) for n in objects}, min(b for _, b in rounds)


def main():
    wrong = []
    for name, call in cases().items():
        try:
            references, blocks = grown(call)
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
            continue
        wrong += [f"{name}: {n} {g:+d} references over {CALLS} calls" for n, g in references.items() if abs(g) >= 0.9 * CALLS and OF_NUMPY.get(name) != n]
        wrong += [f"{name}: {blocks:+d} blocks over {CALLS} calls"] if blocks >= 0.1 * CALLS else []
    kind = "debug" if hasattr(sys, "gettotalrefcount") else "release"
    print("\n".join(wrong + [f"{len(cases())} cases, {kind} build of Python {sys.version.split()[0]}: {len(wrong)} findings"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
