"""lathe.minimize in SciPy's place: its test problems, its forms of bounds and constraints, its result fields."""
import unittest

import harness
import lathe
import numpy as np


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosen_der(x):
    der = np.zeros_like(x)
    xm = x[1:-1]
    der[1:-1] = 200 * (xm - x[:-2] ** 2) - 400 * (x[2:] - xm ** 2) * xm - 2 * (1 - xm)
    der[0] = -400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0])
    der[-1] = 200 * (x[-1] - x[-2] ** 2)
    return der


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def entropy(k):
    F = np.array([[1.0, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 0, 0]])
    return np.log(np.sum(np.exp(F @ k))) - np.array([1, 0.3, 0.5]) @ k


#: name: (f, x0, f at the minimum)
PROBLEMS = {
    "Rosenbrock, 5": (rosen, [1.3, 0.7, 0.8, 1.9, 1.2], 0.0),
    "Rosenbrock, 10": (rosen, np.linspace(-1, 1.5, 10), 0.0),
    "Beale": (lambda x: (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2, [1.0, 1.0], 0.0),
    "Booth": (lambda x: (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2, [0.0, 0.0], 0.0),
    "Himmelblau": (himmelblau, [0.0, 0.0], 0.0),
    "Powell": (lambda x: (x[0] + 10 * x[1]) ** 2 + 5 * (x[2] - x[3]) ** 2 + (x[1] - 2 * x[2]) ** 4 + 10 * (x[0] - x[3]) ** 4, [3.0, -1.0, 0.0, 1.0], 0.0),
    "maximum entropy": (entropy, np.zeros(3), entropy(np.array([0.0, -0.524869316, 0.487525860]))),
    "nonsmooth": (lambda x: np.abs(x[0] - 1) + 2 * np.abs(x[1] + 3) + np.max(np.abs(x)), [4.0, 4.0], 3.0),
}


class Problems(unittest.TestCase):
    def test_minima(self):
        for name, (f, x0, best) in PROBLEMS.items():
            with self.subTest(name):
                r = lathe.minimize(f, x0)
                self.assertAlmostEqual(r.fun, best, places=4)
                self.assertIn("captured", r.how)

    def test_ways_to_give_derivatives(self):
        x0 = [1.3, 0.7, 0.8, 1.9, 1.2]
        for kwargs in ({"jac": rosen_der}, {"jac": "2-point"}, {"jac": "3-point"}, {"jac": "cs"}, {}, {"jac": False}):
            r = lathe.minimize(rosen, x0, capture="never", **kwargs)
            np.testing.assert_allclose(r.x, 1, atol=1e-3, err_msg=str(kwargs))
        r = lathe.minimize(lambda x: (rosen(x), rosen_der(x)), x0, jac=True, capture="never")
        np.testing.assert_allclose(r.x, 1, atol=1e-5)
        np.testing.assert_allclose(lathe.minimize(lambda x: (rosen(x), rosen_der(x)), x0, jac=True).x, 1, atol=1e-5)

    def test_args(self):
        r = lathe.minimize(lambda x, a, b: (x[0] - a) ** 2 + (x[1] - b) ** 2, [0.0, 0.0], args=(3.0, 4.0))
        np.testing.assert_allclose(r.x, [3, 4], atol=1e-6)
        np.testing.assert_allclose(lathe.minimize(lambda x, a: np.sum((x - a) ** 2), [0.0], args=2.0).x, [2], atol=1e-6)

    def test_result_fields(self):
        r = lathe.minimize(rosen, [1.3, 0.7])
        for field in ("x", "fun", "jac", "hess_inv", "nit", "nfev", "njev", "status", "success", "message"):
            self.assertIn(field, r)
        self.assertIs(r.success, True)
        self.assertEqual(r["x"].shape, (2,))
        self.assertIn("message", repr(r))
        self.assertIn("x", dir(r))

    def test_method_and_hess_are_named_as_unused(self):
        r = lathe.minimize(rosen, [1.3, 0.7], method="SLSQP", hess=lambda x: np.eye(2))
        self.assertIn("not used: method='SLSQP', hess", r.how)
        with self.assertRaisesRegex(ValueError, "Unknown solver"):
            lathe.minimize(rosen, [1.3, 0.7], method="nothing")

    def test_callbacks(self):
        seen = []
        lathe.minimize(rosen, [1.3, 0.7], callback=lambda xk: seen.append(xk.copy()))
        self.assertGreater(len(seen), 3)

        def by_result(intermediate_result):
            if intermediate_result.nit == 3:
                raise StopIteration
        self.assertEqual(lathe.minimize(rosen, [1.3, 0.7], callback=by_result).nit, 3)

    def test_options(self):
        self.assertEqual(lathe.minimize(rosen, [1.3, 0.7], options={"maxiter": 2}).nit, 2)
        with self.assertRaisesRegex(ValueError, "did you mean"):
            lathe.minimize(rosen, [1.3, 0.7], options={"maxitt": 2})


class Constraints(unittest.TestCase):
    """The problems of SciPy's tests of SLSQP and trust-constr."""

    def setUp(self):
        self.f = lambda d: 2 * d[0] * d[1] + 2 * d[0] - d[0] ** 2 - 2 * d[1] ** 2

    def fun(self, d, sign=-1.0):
        return sign * (2 * d[0] * d[1] + 2 * d[0] - d[0] ** 2 - 2 * d[1] ** 2)

    def test_dicts(self):
        equality = {"type": "eq", "fun": lambda x: x[0] - x[1]}
        both = ({"type": "eq", "fun": lambda x, a: x[0] ** a - x[1], "args": (3,)}, {"type": "ineq", "fun": lambda x: x[1] - 1, "jac": lambda x: np.array([0, 1.0])})
        for capture in ("verify", "never"):
            r = lathe.minimize(self.fun, [-1.0, 1.0], constraints=equality, capture=capture)
            np.testing.assert_allclose(r.x, [1, 1], atol=1e-4)
            self.assertLess(r.maxcv, 1e-6)
            np.testing.assert_allclose(lathe.minimize(self.fun, [-1.0, 1.0], constraints=both, capture=capture).x, [1, 1], atol=1e-3)

    def test_bounds(self):
        for bounds in ([(-0.8, 1), (None, 0.8)], [(-0.8, 1.0), (-np.inf, 0.8)]):
            for capture in ("verify", "never"):
                r = lathe.minimize(self.fun, [-1.0, 1.0], bounds=bounds, capture=capture)
                self.assertTrue((-0.8 <= r.x[0] <= 1) and r.x[1] <= 0.8)
                self.assertAlmostEqual(r.fun, -1.5, places=4)

    @harness.needs("scipy")
    def test_scipys_objects(self):
        from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
        from scipy.sparse import csr_matrix
        circle = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, 1)
        ring = NonlinearConstraint(lambda x: [x[0] ** 2 + x[1] ** 2, x[0]], [1, -0.5], [1, 0.5], jac=lambda x: [[2 * x[0], 2 * x[1]], [1, 0]])
        for capture in ("verify", "never"):
            f = lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2  # noqa: E731
            r = lathe.minimize(f, [0.1, 0.2], constraints=circle, capture=capture)
            np.testing.assert_allclose(r.x, np.array([2, 1]) / np.sqrt(5), atol=1e-4)
            r = lathe.minimize(f, [0.1, 0.9], constraints=[ring], capture=capture)
            np.testing.assert_allclose(r.x, [0.5, np.sqrt(0.75)], atol=1e-4)
            for A in ([[1, 1]], csr_matrix([[1.0, 1.0]])):
                r = lathe.minimize(f, [0.0, 0.0], constraints=LinearConstraint(A, 1, 1), bounds=Bounds([0, 0], [np.inf, 0.2]), capture=capture)
                np.testing.assert_allclose(r.x, [1, 0], atol=1e-4)

    @harness.needs("scipy")
    def test_the_same_minima_as_scipy(self):
        from scipy.optimize import minimize
        cases = [(himmelblau, [1.0, 1.0], {"bounds": [(0, 2), (0, 2)]}),
                 (lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2, [2.0, 0.0],
                  {"bounds": [(0, None)] * 2, "constraints": [{"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2}, {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6},
                                                              {"type": "ineq", "fun": lambda x: -x[0] + 2 * x[1] + 2}]}),
                 (lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1.0, 5.0, 5.0, 1.0],
                  {"bounds": [(1, 5)] * 4, "constraints": [{"type": "ineq", "fun": lambda x: np.prod(x) - 25}, {"type": "eq", "fun": lambda x: np.sum(x ** 2) - 40}]})]
        for f, x0, kwargs in cases:
            theirs, ours = minimize(f, x0, **kwargs), lathe.minimize(f, x0, **kwargs)
            self.assertAlmostEqual(ours.fun, theirs.fun, places=3)

    def test_keep_feasible_keeps_iterates_inside(self):
        class Bounds:
            lb, ub, keep_feasible = np.array([0.1, -np.inf]), np.array([np.inf, 0.5]), True
        seen = []
        r = lathe.minimize(lambda x: np.sum(x * x) - np.log(x[0]) + np.abs(x[1] - 2), [5.0, 0.0], bounds=Bounds(), callback=lambda x: seen.append(np.array(x)) and False)
        np.testing.assert_allclose(r.x, [np.sqrt(0.5), 0.5], atol=1e-6)
        self.assertTrue(all(x[0] >= 0.1 and x[1] <= 0.5 for x in seen))
        self.assertIsNotNone(r.solution.certificate["bound_multipliers"])

    def test_fixed_variables_and_keep_feasible(self):
        r = lathe.minimize(lambda x: np.sum((x - 3) ** 2), [0.0, 1.0], bounds=[(2, 2), (None, None)])
        np.testing.assert_allclose(r.x, [2, 3], atol=1e-5)

        class Keep:
            lb, ub, keep_feasible = np.array([0.0]), np.array([4.0]), True
        seen = []

        def f(x):
            seen.append(float(x[0]))
            return (x[0] - 9) ** 2
        r = lathe.minimize(f, [1.0], bounds=Keep(), capture="never")
        self.assertLessEqual(max(seen), 4.0)
        np.testing.assert_allclose(r.x, [4], atol=1e-4)

    def test_what_makes_no_sense(self):
        for kwargs, message in (({"bounds": [(0, 1)]}, "1 bounds for 2 variables"), ({"bounds": [(2, 1), (0, 1)]}, "above the upper"),
                                ({"constraints": {"type": "le", "fun": abs}}, "'eq' or 'ineq'"), ({"constraints": {"type": "eq"}}, "no function"),
                                ({"constraints": [3]}, "is an int"), ({"jac": "four-point"}, "jac")):
            with self.assertRaisesRegex(ValueError, message):
                lathe.minimize(rosen, [1.3, 0.7], **kwargs)
        with self.assertRaisesRegex(ValueError, "one dimension"):
            lathe.minimize(rosen, [[1.3, 0.7]])


if __name__ == "__main__":
    harness.main()
