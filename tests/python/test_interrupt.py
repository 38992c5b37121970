"""Ctrl-C ends every run within 0.2 s, with what was computed so far. SPDX-License-Identifier: BSD-3-Clause

The time is taken from the signal to the exception, by the least of several tries: other work on the machine only ever adds to it. What the
limit is compared with is what this machine needs to wake a thread just then, in addition to the 0.2 s.
"""
import os
import pathlib
import signal
import tempfile
import threading
import time
import unittest

import harness
import lathe
import numpy as np

LIMIT_S = 2 if harness.SANITIZED else 0.2
TRIES = 4
CONFIG = pathlib.Path(__file__).parents[2] / "examples" / "configs" / "small_cpu.yaml"


def waking() -> float:
    """How late this machine wakes a thread that asked for 10 ms, at worst of five."""
    late = []
    for _ in range(5):
        begun = time.monotonic()
        time.sleep(0.01)
        late.append(time.monotonic() - begun - 0.01)
    return max(late)


def interrupted(run, after):
    """(exception, seconds from the signal to it)"""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(after, send)
    timer.start()
    try:
        while True:  # one run may be over before the signal
            run()
    except KeyboardInterrupt as error:
        return error, time.monotonic() - sent[0]
    finally:
        timer.join()


def big_gram(n=6000, q=10):
    X = np.random.default_rng(0).uniform(size=(n, q))
    return lambda: lathe.gram(X, weights=np.full((2, q), 0.1))


def chain(x):
    """Rosenbrock's function along a chain: thousands of steps to its minimum."""
    return (100 * abs(x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def chain_slope(x):
    off = x[1:] - x[:-1] ** 2
    slope = np.zeros_like(x)
    slope[1:] += 200 * off
    slope[:-1] -= 400 * off * x[:-1] + 2 * (1 - x[:-1])
    return slope


class Latency(unittest.TestCase):
    def best(self, run, after=0.5):
        """The exception of the quickest of several tries, which is quick enough. A signal that came before the run had begun does not count."""
        found = []
        for _ in range(TRIES):
            error, seconds = interrupted(run, after)
            if not hasattr(error, "partial"):
                after *= 2
                continue
            found.append((error, seconds))
            if seconds <= LIMIT_S:
                break
        self.assertTrue(found, "no try ended inside a run")
        error, seconds = min(found, key=lambda pair: pair[1])
        self.assertLessEqual(seconds, LIMIT_S + waking(), f"tries: {[round(s, 3) for _, s in found]}")
        return error

    def test_solve_as_a_graph(self):
        error = self.best(lambda: lathe.solve("var x[300]\nminimize sum(abs(x - 1)) + norm(x)", x0=np.linspace(-9, 9, 300), opt_tol=0, maxit=10**6))
        self.assertGreaterEqual(error.solution.iters, 1)
        self.assertTrue(error.solution.interrupted)

    def test_solve_with_large_quadratic_programs(self):
        rng = np.random.default_rng(1)
        A, b = rng.standard_normal((300, 200)), rng.standard_normal(300)
        problem = lathe.Problem(lambda x: (np.sum(np.abs(x)), A @ x - b), np.full(200, 3.0))
        error = self.best(lambda: lathe.solve(problem, opt_tol=0, maxit=10**6))
        self.assertTrue(error.solution.interrupted)

    def test_solve_of_a_function_that_is_called(self):
        def f(x):
            time.sleep(0.01)
            return float(chain(x))
        error = self.best(lambda: lathe.solve(f, x0=np.full(8, -1.2), capture="never", jac=chain_slope, opt_tol=0))
        self.assertGreaterEqual(error.solution.fn_evals, 1)

    @harness.needs("torch")
    def test_the_drop_in(self):
        import torch  # noqa: F401
        from lathe.compat.pygranso.pygranso import pygranso
        from lathe.compat.pygranso.pygransoStruct import struct

        def f(X):
            return [chain(X.x), None, None]
        for capture in ("verify", "never"):
            pygranso({"x": [600]}, f, struct(print_level=0, maxit=1, capture=capture))  # what PyTorch imports when it traces for the first time
            error = self.best(lambda: pygranso({"x": [600]}, f, struct(print_level=0, opt_tol=0, maxit=10**6, capture=capture)), after=1.5)
            self.assertEqual(error.solution.final.x.shape, (600, 1))

    def test_capture(self):
        def deep(x):
            for _ in range(200000):
                x = np.tanh(x) + 0.1 * np.sin(x)
            return np.sum(x)
        found = [interrupted(lambda: lathe.function(deep, np.ones(3)), 0.3)[1] for _ in range(TRIES)]
        self.assertLessEqual(min(found), LIMIT_S + waking(), found)

    def test_minimize(self):
        error = self.best(lambda: lathe.minimize(chain, np.linspace(-3, 3, 600), tol=0, options={"maxit": 10**6}), after=1.0)
        self.assertEqual(error.partial.x.shape, (600,))

    def test_generate(self):
        with tempfile.TemporaryDirectory() as folder:
            error = self.best(lambda: lathe.generate(CONFIG, os.path.join(folder, "d.h5"), overwrite=True, sampling={"total_samples": 5000}), after=1.0)
        self.assertFalse(error.partial["complete"])
        self.assertIn("samples", error.partial)

    def test_gram(self):
        error = self.best(big_gram())
        self.assertGreater(error.partial["pairs_total"], error.partial["pairs_done"])
        self.assertEqual(error.partial["matrix"].shape, (6000, 6000))

    @harness.needs("sklearn")
    def test_fit(self):
        from lathe.sklearn import QSVC
        rng = np.random.default_rng(3)
        X, y = rng.uniform(size=(6000, 10)), rng.integers(0, 2, 6000)
        self.assertEqual(self.best(lambda: QSVC(random_state=0).fit(X, y)).partial["matrix"].shape, (6000, 6000))

    @harness.needs("sklearn")
    def test_fit_while_the_dual_problem_is_solved(self):
        from lathe.sklearn import QSVC
        rng = np.random.default_rng(3)
        X, y = rng.uniform(size=(1000, 3)), rng.integers(0, 2, 1000)
        machine = QSVC(random_state=0, C=1e6, max_iter=10**8)
        np.testing.assert_allclose(np.diag(self.best(lambda: machine.fit(X, y), after=2.0).partial["matrix"]), 1, atol=1e-9)
        self.assertFalse(hasattr(machine, "svc_"))

    def test_handlers_of_the_program_are_called(self):
        """A handler of one's own may do something else than raise: the run goes on or ends as it says."""
        seen = []
        before = signal.signal(signal.SIGINT, lambda *unused: seen.append(1))
        try:
            timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            made = lathe.solve("var x[200]\nminimize sum(abs(x - 1)) + norm(x)", x0=np.linspace(-9, 9, 200), opt_tol=0, maxit=300)
            timer.join()
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(seen, [1])
        self.assertGreaterEqual(made.iters, 0)


if __name__ == "__main__":
    harness.main()
