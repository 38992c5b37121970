"""What users get wrong: a Python exception with the library's sentence and the user's file and line, or the stated fall-back; never a crash, never
a silent difference. SPDX-License-Identifier: BSD-3-Clause"""
import multiprocessing
import os
import sys
import threading
import traceback
import unittest

import harness
import lathe
import numpy as np

try:
    import torch
except ImportError:
    torch = None

HERE = "test_bad_input.py"


def f(x):
    return np.sum(np.abs(x)), [x[0] - 3], None


class Arrays(unittest.TestCase):
    def test_shapes(self):
        g = lathe.function(lambda a, b: a @ b)
        with self.assertRaises(ValueError):
            g(np.ones((2, 3)), np.ones((4, 5)))
        with self.assertRaisesRegex(ValueError, r"x has shape \(5,\): expected \(2,\)"):
            lathe.solve(lathe.Problem(f, np.ones(2)), np.ones(5))
        for X in (np.ones(3), np.ones((2, 2, 3)), np.ones((2, 5))):
            with self.subTest(shape=X.shape), self.assertRaises(ValueError):
                lathe.gram(X, weights=np.zeros((1, 3)))
        with self.assertRaises(ValueError):
            lathe.gram(np.ones((2, 3)), np.ones((2, 4)), weights=np.zeros((1, 3)))

    def test_types(self):
        kernel = lathe.QuantumKernel(np.zeros((1, 3)))
        reference = kernel(np.arange(6.0).reshape(2, 3))
        for dtype in (np.int8, np.uint16, np.int64, np.float16, np.longdouble, ">f8"):
            with self.subTest(dtype=dtype):
                np.testing.assert_allclose(kernel(np.arange(6).reshape(2, 3).astype(dtype)), reference, atol=1e-3)
        for X in (np.array([[None, 1, 2]]), np.array([["a", "b", "c"]]), np.ones((2, 3), dtype=complex), np.array([[1, 2, 3]], dtype="datetime64[s]"), "text", b"bytes", {1: 2}):
            with self.subTest(X=X), self.assertRaises((TypeError, ValueError)):
                kernel(X)
        for x0 in (np.array([None, 1.0]), np.array(["a"]), object(), "xy"):
            with self.subTest(x0=x0), self.assertRaises((TypeError, ValueError)):
                lathe.solve(f, x0=x0)

    def test_strides_and_read_only(self):
        X = np.random.default_rng(0).uniform(size=(6, 8))
        X.flags.writeable = False
        kernel = lathe.QuantumKernel(np.zeros((1, 4)))
        for view in (X[::2, ::2], X[:, 7:3:-1], np.asfortranarray(X)[:, :4], X.T[:4].T):
            before = view.copy()
            np.testing.assert_allclose(kernel(view), kernel(before.copy()), rtol=1e-12)
            np.testing.assert_array_equal(view, before)
        x0 = np.ones(2)
        x0.flags.writeable = False
        self.assertLess(lathe.solve(f, x0=x0).f, 1e-6)
        self.assertEqual(x0.tolist(), [1, 1])
        np.testing.assert_array_equal(lathe.function(lambda a: a * 2)(X[::3]), X[::3] * 2)

    def test_not_finite(self):
        for value in (np.nan, np.inf):
            with self.subTest(value=value), self.assertRaises(ValueError):
                lathe.solve(f, x0=[value, 1.0])
            with self.subTest(value=value), self.assertRaises((ValueError, FloatingPointError)):
                lathe.gram(np.full((2, 3), value), weights=np.zeros((1, 3)))
        with self.assertRaises((ValueError, FloatingPointError)):
            lathe.solve(lambda x: np.sum(x) * np.nan, x0=np.ones(2))

    def test_generators(self):
        for wrong in ((i for i in range(3)), iter([1.0, 2.0]), map(float, range(2))):
            with self.assertRaises((TypeError, ValueError)):
                lathe.solve(f, x0=wrong)
        with self.assertRaises((TypeError, ValueError)):
            lathe.gram((row for row in np.ones((2, 3))), weights=np.zeros((1, 3)))

    def test_empty(self):
        with self.assertRaises(ValueError):
            lathe.solve(lambda x: np.sum(np.abs(x)), x0=[])
        with self.assertRaises(ValueError):
            lathe.gram(np.ones((0, 3)), weights=np.zeros((1, 3)))

    @unittest.skipIf(torch is None, "not installed: torch (scripts/test-python.sh)")
    def test_devices(self):
        """A device that is not there is named; tensors without memory are refused."""
        for device in ("cuda:77", "tpu"):
            with self.subTest(device=device), self.assertRaises(Exception) as caught:
                lathe.solve(f, x0=np.ones(2), device=device)
            self.assertIsInstance(caught.exception, lathe.Error)
        with self.assertRaises((TypeError, ValueError, RuntimeError, NotImplementedError)):
            lathe.gram(torch.ones(2, 3, device="meta"), weights=np.zeros((1, 3)))
        with self.assertRaises((TypeError, ValueError, RuntimeError)):
            lathe.gram(torch.ones(2, 3).to_sparse(), weights=np.zeros((1, 3)))


class Functions(unittest.TestCase):
    def test_wrong_number_of_returns(self):
        for made in (lambda x: (1.0, 2.0, 3.0, 4.0), lambda x: None, lambda x: (), lambda x: "text", lambda x: x, lambda x: (None, x, None)):
            for capture in ("verify", "never"):
                with self.subTest(capture=capture), self.assertRaisesRegex((ValueError, TypeError), r"\(test_bad_input.py:\d+\)"):
                    lathe.solve(made, x0=np.ones(2), capture=capture)

    def test_raises_at_call_k(self):
        for k in (1, 2, 5):
            calls = []

            def raising(x):
                calls.append(1)
                if len(calls) == k:
                    raise KeyError(f"call {k}")
                return float(np.sum(np.abs(x))) + 0.1 * float(x[0]) ** 2
            with self.subTest(k=k):
                try:
                    lathe.solve(raising, x0=np.array([3.0, -2.0]), capture="never", jac=lambda x: np.sign(x) + [0.2 * x[0], 0])
                    self.fail("no exception")
                except KeyError as error:
                    self.assertIn(f"call {k}", str(error))
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    self.assertEqual((os.path.basename(last.filename), last.name), (HERE, "raising"))
                    if k == 5:
                        self.assertGreaterEqual(error.solution.fn_evals, 1)

    def test_shape_changes_between_calls(self):
        calls = []

        def changing(x):
            calls.append(1)
            return float(x @ x), np.ones(1 + (len(calls) > 4)) - 5, None
        with self.assertRaisesRegex(ValueError, "ci|inequalities|numbers"):
            lathe.solve(changing, x0=np.array([3.0, 2.0]), capture="never", jac="2-point")

    def test_what_cannot_be_a_graph_is_called_and_says_where(self):
        def in_place(x):
            y = np.array(x, dtype=float)
            y[0] = y[0] * 2
            return float(np.sum(np.abs(y)))

        def item(x):
            return np.sum(np.abs(x)) + 0 * x[0].item()

        def branch(x):
            return np.sum(np.abs(x)) if x[0] > 0 else np.sum(np.abs(2 * x))

        def augmented(x):
            y = x * 1
            y += 1
            return np.sum(np.abs(y - 1))
        for function in (in_place, item, branch, augmented):
            with self.subTest(function.__name__):
                made = lathe.solve(function, x0=np.array([3.0, -2.0]))
                self.assertRegex(made.how, rf"called from C.*{HERE}:\d+|captured")
                self.assertLess(made.f, 1e-3)  # by differences, across kinks
                if "called" in made.how:
                    with self.assertRaisesRegex(lathe.CaptureError, HERE):
                        lathe.solve(function, x0=np.array([3.0, -2.0]), capture="always")

    def test_random_numbers(self):
        import random
        for draw in (lambda: np.random.normal(), random.random):
            with self.assertRaisesRegex(lathe.CaptureError, "random"):
                lathe.solve(lambda x: np.sum(x**2) + 1e-9 * draw(), x0=np.ones(2), capture="always")
        rng = np.random.default_rng(0)  # its own generator: the comparison with the original sees it
        with self.assertRaisesRegex(lathe.CaptureError, "as a graph"):
            lathe.solve(lambda x: np.sum(x**2) + rng.normal(), x0=np.ones(2), capture="always")

    def test_a_function_that_counts_differs_and_is_called(self):
        calls = []

        def counting(x):
            calls.append(1)
            return np.sum(x**2) + len(calls)
        with self.assertRaisesRegex(lathe.CaptureError, "as a graph"):
            lathe.function(counting, np.ones(2), capture="always")


class Places(unittest.TestCase):
    def test_threads(self):
        found = []

        def work(k):
            x = np.full(3, 1.0 + k)
            for _ in range(10):
                made = lathe.solve(lambda x: np.sum(np.abs(x - k)), x0=x, maxit=20)
                try:
                    lathe.solve("var x[2]\nminimize nothing(x)")
                except ValueError as error:
                    found.append((made.f < 1, "nothing" in str(error)))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual((len(found), set(found)), (40, {(True, True)}))

    def test_after_fork(self):
        program = lathe.function(lambda a: np.tanh(a).sum())
        expected = float(program(np.ones(1000)))
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=lambda: queue.put(float(program(np.ones(1000)))))
        child.start()
        self.assertEqual(queue.get(timeout=60), expected)
        child.join()
        self.assertEqual(child.exitcode, 0)

    def test_sub_interpreters_are_refused(self):
        try:
            import _xxsubinterpreters as sub
        except ImportError:
            self.skipTest(f"Python {sys.version.split()[0]} has no module for sub-interpreters under this name")
        code = ("import _xxsubinterpreters as s, sys\nimport lathe._core\ni = s.create()\ntry:\n"
                "    s.run_string(i, 'import sys; sys.path[:] = ' + repr(sys.path) + '; import lathe._core')\nexcept s.RunFailedError as e:\n    print('refused', e)\n")
        self.assertTrue(sub)
        text = harness.run_code(code)
        self.assertIn("refused", text)
        self.assertRegex(text, "interpreter")


if __name__ == "__main__":
    harness.main()
