"""Ipopt through its C interface: first derivatives from the problem, a limited-memory Hessian, as the others have no second ones either.
SPDX-License-Identifier: BSD-3-Clause"""
import ctypes
import ctypes.util
import importlib.util
import os

import numpy as np

I, B, V = ctypes.c_int, ctypes.c_bool, ctypes.c_void_p
P, PI = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int)
F = ctypes.CFUNCTYPE(B, I, P, B, P, V)
G = ctypes.CFUNCTYPE(B, I, P, B, I, P, V)
J = ctypes.CFUNCTYPE(B, I, P, B, I, I, PI, PI, P, V)
S = ctypes.CFUNCTYPE(B, I, I, *[ctypes.c_double] * 8, I, V)
H = ctypes.CFUNCTYPE(B, I, P, B, ctypes.c_double, I, P, B, I, PI, PI, P, V)


def find():
    """$LATHE_IPOPT, the library in the wheel of CasADi, or the system's; None without any."""
    casadi = importlib.util.find_spec("casadi")
    inside = os.path.join(os.path.dirname(casadi.origin), "libipopt.so") if casadi else ""
    for path in (os.environ.get("LATHE_IPOPT"), inside, ctypes.util.find_library("ipopt")):
        try:
            if path:
                lib = ctypes.CDLL(path)
                lib.CreateIpoptProblem.restype = V
                return lib
        except OSError:
            pass
    return None


def solve(lib, problem, limit):
    n, rows, q = problem.n, problem.general, problem.q
    m = len(rows) + q
    best = {"x": problem.x0, "error": None}

    def guarded(call):
        try:
            return bool(call())
        except Exception as error:  # must not pass through C
            best["error"] = error
            return False

    def at(x):
        best["x"] = np.array(x[:n])
        return problem.at(best["x"])

    def fill(to, values):
        values = np.ascontiguousarray(values, float).ravel()
        ctypes.memmove(to, values.ctypes.data, values.nbytes)
        return np.isfinite(values).all()

    def jacobian(values, x, row, column):
        if not values:
            for k in range(m * n):
                row[k], column[k] = divmod(k, n)
            return True
        point = at(x)
        return fill(values, np.vstack([point[4][rows], point[6]]))

    calls = (F(lambda n_, x, new, out, _: guarded(lambda: fill(out, at(x)[1]))),
             G(lambda n_, x, new, m_, out, _: guarded(lambda: fill(out, np.concatenate([at(x)[3][rows], at(x)[5]])))),
             F(lambda n_, x, new, out, _: guarded(lambda: fill(out, at(x)[2]))),
             J(lambda n_, x, new, m_, k, row, column, values, _: guarded(lambda: jacobian(values, x, row, column))),
             H(lambda *_: False))
    stop = S(lambda *_: best["error"] is None)
    array = lambda values: (ctypes.c_double * max(1, len(values)))(*values)
    low, high = array(np.maximum(problem.low, -1e20)), array(np.minimum(problem.high, 1e20))
    lower, upper = array([-1e20] * len(rows) + [0.0] * q), array([0.0] * m)
    handle = V(lib.CreateIpoptProblem(I(n), low, high, I(m), lower, upper, I(m * n), I(0), I(0), *calls))
    lib.SetIntermediateCallback(handle, stop)
    for name, value in (("hessian_approximation", "limited-memory"), ("sb", "yes")):
        lib.AddIpoptStrOption(handle, name.encode(), value.encode())
    lib.AddIpoptIntOption(handle, b"print_level", I(0))
    lib.AddIpoptNumOption(handle, b"max_cpu_time", ctypes.c_double(limit))
    lib.AddIpoptNumOption(handle, b"bound_relax_factor", ctypes.c_double(0))
    x = array(problem.x0)
    lib.IpoptSolve(handle, x, None, None, None, None, None, None)
    lib.FreeIpoptProblem(handle)
    if best["error"] is not None and not isinstance(best["error"], TimeoutError):
        raise best["error"]
    return np.array(x[:n])
