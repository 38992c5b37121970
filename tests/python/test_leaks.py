"""No memory is lost, and no reference: the same call many times over."""
import gc
import os
import resource
import sys
import tracemalloc
import unittest

import harness
import lathe
import numpy as np
from lathe import _core

CALLS = int(os.environ.get("LATHE_CALLS", "10000"))


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def fails(call):
    try:
        call()
    except (ValueError, TypeError):
        pass


class Leaks(unittest.TestCase):
    def check(self, call, calls=CALLS, limit=4 << 20):
        """The least growth of three rounds: tables of the interpreter grow once in a while, a leak in every round. No object has
        less than 32 bytes, so less than half of that per call is none."""
        for _ in range(calls // 10):
            call()
        tracemalloc.start()  # before all rounds: a table of the interpreter that is laid out anew (that of interned names is, again and again) is no growth
        try:
            rounds = [self.growth(call, calls // 3) for _ in range(4)]
        finally:
            tracemalloc.stop()
        self.assertLess(min(kept for kept, _ in rounds), 16 * (calls // 3), "Python objects")
        if not harness.SANITIZED:
            self.assertLess(min(grown for _, grown in rounds), limit // 3, "resident memory")

    def growth(self, call, calls):
        gc.collect()
        kept, resident = tracemalloc.get_traced_memory()[0], resident_bytes()
        for _ in range(calls):
            call()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - kept, resident_bytes() - resident

    def test_functions(self):
        f, x = lathe.function(lambda x, y: (np.sum(x * y), x + y)), np.ones(50)
        self.check(lambda: f(x, x))
        y = np.ones(100)[::2]
        self.check(lambda: f(x, y))

    def test_graphs_and_programs(self):
        def call():
            g = _core.Graph()
            x = g.input("x", "float64", (4,))
            g.compile(list(g.grad(g.op("sum", g.op("square", x)), [x])))(np.ones(4))
        self.check(call, CALLS // 3)

    def test_solves(self):
        problem = lathe.Problem("example:A1")
        self.check(lambda: lathe.solve(problem), CALLS // 3)

    def test_callbacks(self):
        core = _core.Problem.from_functions(3, 1, 0, lambda x: (float(x @ x), x[:1], None), lambda x: (2 * x, np.eye(3)[:1], None), [("x", (3,))])
        x = np.ones(3)
        self.check(lambda: core.evaluate(x))

    def test_failures(self):
        core = _core.Problem.from_functions(3, 0, 0, lambda x: 1 / 0, lambda x: x, [("x", (3,))])

        def call():
            try:
                core.evaluate(np.ones(3))
            except ZeroDivisionError:
                pass
        self.check(call)
        self.check(lambda: fails(lambda: lathe.solve("example:A1", opt_toll=1)), CALLS // 3)
        self.check(lambda: fails(lambda: _core.Gram(np.ones((1, 2)), {"nothing": 1})), CALLS // 3)

    def test_gram(self):
        kernel, X = lathe.QuantumKernel(np.zeros((1, 3))), np.ones((5, 3))
        self.check(lambda: kernel(X), CALLS // 3)

    def test_references_are_given_back(self):
        x, options = np.ones(3), {"maxit": 3}
        core = _core.Problem.from_functions(3, 0, 0, lambda x: float(x @ x), lambda x: 2 * x, [("x", (3,))])
        before = [sys.getrefcount(o) for o in (x, options, core)]
        for _ in range(100):
            core.evaluate(x)
            _core.solve(core, options, {"x0": x})
        self.assertEqual([sys.getrefcount(o) for o in (x, options, core)], before)

    def test_cycles_through_callbacks_are_collected(self):
        import weakref

        class Holder:
            def values(self, x):
                return float(x @ x)

            def gradients(self, x):
                return 2 * x
        holder = Holder()
        holder.problem = _core.Problem.from_functions(2, 0, 0, holder.values, holder.gradients, [("x", (2,))])
        seen = weakref.ref(holder)
        del holder
        gc.collect()
        self.assertIsNone(seen())


if __name__ == "__main__":
    harness.main()
