"""lathe.function: plans per shape and type, derivatives, fall-back, verification."""
import threading
import unittest

import harness
import lathe
import lathe.tree
import numpy as np


class Calls(unittest.TestCase):
    def test_values_and_structures(self):
        f = lathe.function(lambda x, y: {"sum": x + y, "parts": (x.sum(), [y * 2])})
        made = f(np.ones(3), np.arange(3.0))
        np.testing.assert_array_equal(made["sum"], [1, 2, 3])
        self.assertEqual(float(made["parts"][0]), 3)
        np.testing.assert_array_equal(f(np.ones(3), np.arange(3.0))["parts"][1][0], [0, 2, 4])

    def test_a_plan_per_shape_and_type(self):
        f = lathe.function(lambda x: np.sum(x * x))
        f(np.ones(3)), f(np.ones(3)), f(np.ones(4))
        self.assertEqual((f.stats["compiles"], f.stats["hits"]), (2, 1))
        self.assertIn("(4,)", f.stats["last_reason"])
        self.assertEqual(f(np.ones(3, np.float32)).dtype, np.float32)
        self.assertIn("float32", f.stats["last_reason"])
        self.assertEqual(float(f([1, 2])), 5)

    def test_examples_compile_beforehand(self):
        f = lathe.function(lambda x: x.sum(), np.ones(5))
        self.assertEqual(f.stats["compiles"], 1)
        self.assertIn("sum", f.plan())

    def test_modes(self):
        x = np.random.default_rng(0).standard_normal((8, 8))
        for mode in ("default", "eager", "reduce-overhead"):
            np.testing.assert_allclose(lathe.function(lambda x: np.tanh(x @ x).sum(axis=0), mode=mode)(x), np.tanh(x @ x).sum(axis=0), rtol=1e-12)
        with self.assertRaisesRegex(ValueError, "mode"):
            lathe.function(abs, mode="fast")

    def test_no_aliasing_of_results(self):
        f = lathe.function(lambda x: x * 2)
        first = f(np.ones(3))
        f(np.zeros(3))
        np.testing.assert_array_equal(first, 2)

    def test_threads(self):
        f = lathe.function(lambda x: np.sum(np.sin(x)))
        wrong = []

        def work(n):
            x = np.full(n, 0.5)
            for _ in range(200):
                if abs(float(f(x)) - n * np.sin(0.5)) > 1e-9:
                    wrong.append(n)
        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 4, 5, 3, 4, 5)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(wrong, [])


class Derivatives(unittest.TestCase):
    def test_gradient_and_jacobian(self):
        f = lathe.function(lambda x, y: np.sum(x ** 2 * y))
        x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        np.testing.assert_allclose(f.grad(x, y), 2 * x * y)
        both = f.grad.wrt(0, 1)(x, y)
        np.testing.assert_allclose(both[1], x ** 2)
        g = lathe.function(lambda x: np.outer(x, x))
        jacobian = g.jacobian(x)
        self.assertEqual(jacobian.shape, (2, 2, 2))
        np.testing.assert_allclose(jacobian[:, :, 0], [[2, 2], [2, 0]])

    def test_what_has_no_gradient(self):
        f = lathe.function(lambda x: x * 2)
        with self.assertRaisesRegex(ValueError, "expected one number"):
            f.grad(np.ones(3))
        with self.assertRaisesRegex(ValueError, "whole numbers"):
            lathe.function(lambda i: (i * 1.5).sum()).grad(np.arange(3))
        with self.assertRaisesRegex(ValueError, "argument 1"):
            lathe.function(lambda x: x.sum()).grad.wrt(1)(np.ones(2))


class FallBack(unittest.TestCase):
    def test_what_cannot_be_captured_is_called(self):
        f = lathe.function(lambda x: np.unique(x)[0])
        self.assertEqual(f(np.array([3.0, 1.0])), 1.0)
        self.assertIn("np.unique has no op", f.how)
        with self.assertRaisesRegex(lathe.CaptureError, "no derivatives"):
            f.grad(np.ones(2))
        with self.assertRaisesRegex(lathe.CaptureError, "np.unique"):
            lathe.function(lambda x: np.unique(x)[0], capture="always")(np.ones(2))

    def test_verify(self):
        state = {"factor": 1.0}
        f = lathe.function(lambda x: x.sum() * state["factor"])
        x = np.ones(3)
        f(x)
        f.verify(x)
        state["factor"] = 2.0
        with self.assertRaises(lathe.MismatchError):
            f.verify(x)

    def test_bad_arguments(self):
        f = lathe.function(lambda x: x.sum())
        for bad in (np.array(["a"]), np.array([object()]), (i for i in range(3)), 1j * np.ones(2)):
            with self.assertRaises((TypeError, ValueError)):
                f(bad)


class Types(unittest.TestCase):
    def test_results_have_the_types_of_the_function(self):
        """Masks and counts, which the graph has as floats."""
        def f(x):
            return x > 0, np.sum(x), np.count_nonzero(x), np.all(x), x.shape, np.block([[x, x], [x, 2 * x]])
        x, y = np.array([[1.0, -2.0], [0.0, 3.0]]), np.array([[-1.0, 2.0], [4.0, 3.0]])
        g = lathe.function(f, capture="always")
        for at in (x, y, x):
            for got, wanted in zip(lathe.tree.flatten(g(at))[0], lathe.tree.flatten(f(at))[0]):
                self.assertEqual(got.dtype, np.asarray(wanted).dtype)
                np.testing.assert_array_equal(got, wanted)
        self.assertEqual(x[lathe.function(lambda a: a > 0)(x)].tolist(), [1.0, 3.0])
        self.assertEqual(lathe.function(lambda a: np.mean(a))(np.float32([1, 2])).dtype, np.float32)

    def test_blocks(self):
        for x in (np.arange(3.0), np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 2, 2)):
            for f in (np.block, lambda a: np.block([a, 2 * a]), lambda a: np.block([[a, a], [2 * a, a]])):
                np.testing.assert_array_equal(lathe.function(f, capture="always")(x), f(x))


if __name__ == "__main__":
    harness.main()
