"""A problem file as functions for any solver: values and gradients by lathe's C library through ctypes, so that problems are written once.
SPDX-License-Identifier: BSD-3-Clause"""
import ctypes
import re
import time

import numpy as np

POINTER = ctypes.POINTER(ctypes.c_double)


class Outputs(ctypes.Structure):
    _fields_ = [(name, POINTER) for name in ("f", "grad_f", "ci", "grad_ci", "ce", "grad_ce")]


class Size(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in "npq"]


class View(ctypes.Structure):
    """lt_model_view of lathe/problem.h; its nodes are pairs of 32-bit numbers."""
    _fields_ = [("size", ctypes.c_size_t), ("graph", ctypes.c_void_p), ("nodes", ctypes.c_int64 * 4), ("maximize", ctypes.c_bool), ("n", ctypes.c_int64), ("p", ctypes.c_int64),
                ("q", ctypes.c_int64), ("variables", ctypes.c_void_p), ("n_variables", ctypes.c_int), ("constraints", ctypes.c_void_p), ("n_constraints", ctypes.c_int),
                ("options", ctypes.c_void_p), ("n_options", ctypes.c_int), ("x0", POINTER), ("name", ctypes.c_char_p), ("objective_line", ctypes.c_int)]


def library(build):
    lib = ctypes.CDLL(f"{build}/lib/liblathe.so")
    lib.lt_error_text.restype = ctypes.c_char_p
    lib.lt_problem_get_size.restype = Size
    return lib


def expectation(text):
    """The optimum that a file states, and the file without its options: solvers run at their defaults."""
    found = re.search(r"^# expect f = (\S+)", text, re.M)
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("option "))
    return (float(found.group(1)) if found else None), plain


class Problem:
    """min f(x), ci(x) <= 0, ce(x) = 0. Each new x is evaluated once, with all gradients; `calls` counts these."""

    def __init__(self, lib, name, text):
        self.lib, self.name, self.calls, self.last = lib, name, 0, None
        self.model, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        data = text.encode()
        self.check(lib.lt_model_parse(name.encode(), b"", data, ctypes.c_size_t(len(data)), ctypes.byref(self.model)))
        self.check(lib.lt_problem_from_model(self.model, ctypes.byref(self.handle)))
        size = lib.lt_problem_get_size(self.handle)
        self.n, self.p, self.q = size.n, size.p, size.q
        view = View(size=ctypes.sizeof(View))
        lib.lt_model_get_into(self.model, ctypes.byref(view))
        self.x0 = np.array([view.x0[i] for i in range(self.n)])
        self.sense = -1.0 if view.maximize else 1.0
        self.deadline = np.inf
        self.find_bounds()

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.lt_error_text().decode())

    def at(self, x):
        x = np.ascontiguousarray(x, float)
        if self.last is not None and np.array_equal(self.last[0], x):
            return self.last
        if time.perf_counter() > self.deadline:
            raise TimeoutError
        self.calls += 1
        f, g = np.empty(1), np.empty(self.n)
        ci, gi, ce, ge = np.empty(self.p), np.empty((self.p, self.n)), np.empty(self.q), np.empty((self.q, self.n))
        arrays = [a.ctypes.data_as(POINTER) if a.size else None for a in (f, g, ci, gi, ce, ge)]
        self.check(self.lib.lt_problem_evaluate(self.handle, x.ctypes.data_as(POINTER), ctypes.byref(Outputs(*arrays))))
        self.last = (x.copy(), f[0], g, ci, gi, ce, ge)
        return self.last

    def find_bounds(self):
        """Rows of ci that are a x_j + b <= 0 become bounds, for solvers that have them: their gradients are the same at two points."""
        self.low, self.high = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        here = self.at(self.x0)
        moved = self.at(self.x0 + 0.01 * np.random.default_rng(1).uniform(0.5, 1, self.n) * np.maximum(1, np.abs(self.x0)))
        rows = (here[4] != 0).sum(axis=1) == 1 if self.p else np.zeros(0, bool)
        rows &= (here[4] == moved[4]).all(axis=1) if self.p else True
        for row in np.flatnonzero(rows):
            j = int(np.flatnonzero(here[4][row])[0])
            a = here[4][row, j]
            edge = self.x0[j] - here[3][row] / a
            if abs(a * moved[0][j] - a * edge - moved[3][row]) > 1e-9 * max(1, abs(moved[3][row])):
                rows[row] = False
            elif a > 0:
                self.high[j] = min(self.high[j], edge)
            else:
                self.low[j] = max(self.low[j], edge)
        self.general = np.flatnonzero(~rows)

    def violation(self, x):
        _, _, _, ci, _, ce, _ = self.at(x)
        return max([0.0, *ci, *np.abs(ce)])

    def close(self):
        self.lib.lt_problem_destroy(self.handle)
        self.lib.lt_model_destroy(self.model)
