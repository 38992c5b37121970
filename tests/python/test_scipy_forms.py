"""Every documented form of bounds, constraints, callbacks and options of scipy.optimize.minimize, and its own test problems: the same minima.
SPDX-License-Identifier: BSD-3-Clause"""
import unittest
import warnings

import harness
import lathe
import numpy as np

try:
    from scipy import optimize, sparse
    from scipy.optimize import BFGS, SR1, Bounds, LinearConstraint, NonlinearConstraint
except ImportError:
    optimize = None


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


#: The quadratic of SciPy's tutorial for SLSQP: minimum 0.8 at (1.4, 1.7).
def tutorial(x):
    return (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2


def tutorial_constraints():
    return [{"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2}, {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6},
            {"type": "ineq", "fun": lambda x: -x[0] + 2 * x[1] + 2}]


A = [[1, 2], [2, 1]]


def curve(x):
    return [x[0] ** 2 + x[1], x[0] ** 2 - x[1]]


def curve_jac(x):
    return [[2 * x[0], 1], [2 * x[0], -1]]


def curve_hess(x, v):
    return v[0] * np.array([[2, 0], [0, 0]]) + v[1] * np.array([[2, 0], [0, 0]])


@harness.needs("scipy")
class Forms(unittest.TestCase):
    """The problem of SciPy's tutorial for trust-constr: minimum 0.3427 at (0.4149, 0.1701)."""

    def check(self, constraints, bounds=None, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = lathe.minimize(rosen, [0.5, 0.0], constraints=constraints, bounds=bounds, **more)
        self.assertTrue(made.success, made)
        np.testing.assert_allclose(made.x, [0.41494531, 0.17010937], atol=2e-5)
        self.assertAlmostEqual(made.fun, 0.342717574857755, places=6)
        self.assertLessEqual(made.maxcv, 1e-6)
        return made

    def linear(self, **more):
        return LinearConstraint(A, [-np.inf, 1], [1, 1], **more)

    def test_objects(self):
        for hess in (curve_hess, BFGS(), SR1(), "2-point"):
            for jac in (curve_jac, "2-point", "3-point", "cs"):
                with self.subTest(jac=jac, hess=type(hess).__name__):
                    self.check([self.linear(), NonlinearConstraint(curve, -np.inf, 1, jac=jac, hess=hess)], Bounds([0, -0.5], [1.0, 2.0]), hess=BFGS())

    def test_keep_feasible(self):
        seen = []

        def watched(x):
            seen.append(np.array(x, dtype=float))
            return rosen(x)
        bounds = Bounds([0, -0.5], [1.0, 2.0], keep_feasible=True)
        made = lathe.minimize(watched, [0.5, 0.0], bounds=bounds, constraints=[self.linear(keep_feasible=False), NonlinearConstraint(curve, -np.inf, 1)], capture="never", jac="3-point")
        np.testing.assert_allclose(made.x, [0.41494531, 0.17010937], atol=2e-5)
        steps = 1e-4  # of differences
        self.assertTrue(all((x >= np.array([0, -0.5]) - steps).all() and (x <= np.array([1, 2.0]) + steps).all() for x in seen))

    def test_sparse_and_jacobians_of_another_form(self):
        rows = LinearConstraint(sparse.csr_matrix(A), [-np.inf, 1], [1, 1])
        jac = NonlinearConstraint(curve, -np.inf, 1, jac=lambda x: sparse.csc_matrix(curve_jac(x)))
        for capture in ("verify", "never"):
            self.check([rows, jac], [(0, 1), (-0.5, 2)], capture=capture)

    def test_dicts_with_args_and_jac(self):
        ways = [{"type": "eq", "fun": lambda x, c: 2 * x[0] + x[1] - c, "args": (1,), "jac": lambda x, c: np.array([2.0, 1.0])},
                {"type": "ineq", "fun": lambda x: 1 - x[0] - 2 * x[1]},
                {"type": "ineq", "fun": lambda x: np.array([1 - x[0] ** 2 - x[1], 1 - x[0] ** 2 + x[1]]), "jac": lambda x: np.array([[-2 * x[0], -1], [-2 * x[0], 1]])}]
        for capture in ("verify", "never"):
            self.check(ways, ((0, 1), (-0.5, 2)), method="SLSQP", capture=capture)
        self.check(tuple(ways), [(0, 1), (None, None)])

    def test_one_of_each_alone(self):
        for one in (tutorial_constraints()[0], NonlinearConstraint(lambda x: x[0] - 2 * x[1] + 2, 0, np.inf), LinearConstraint([1, -2], -2)):
            made = lathe.minimize(tutorial, (2, 0), constraints=one)
            expected = optimize.minimize(tutorial, (2, 0), constraints=one, method="SLSQP")
            np.testing.assert_allclose(made.x, expected.x, atol=1e-5)

    def test_equal_ends_are_equalities(self):
        made = lathe.minimize(lambda x: np.sum(x**2), [3.0, 1.0, 2.0], constraints=LinearConstraint([[1, 1, 1]], 3, 3))
        np.testing.assert_allclose(made.x, [1, 1, 1], atol=1e-6)

    def test_tutorial(self):
        made = lathe.minimize(tutorial, (2, 0), method="SLSQP", bounds=((0, None), (0, None)), constraints=tutorial_constraints())
        np.testing.assert_allclose(made.x, [1.4, 1.7], atol=1e-6)
        self.assertAlmostEqual(made.fun, 0.8, places=6)

    def test_bounds_that_do_not_fit(self):
        for bounds in (Bounds([1, 1], [0, 2]), [(0, 1)], [(2, 1), (0, 1)], [(0, 1, 2), (0, 1)]):
            with self.subTest(bounds=bounds), self.assertRaises(ValueError):
                lathe.minimize(tutorial, (2, 0), bounds=bounds)
        for wrong in ({"fun": tutorial}, {"type": "less", "fun": tutorial}, {"type": "eq"}, 3):
            with self.subTest(wrong=wrong), self.assertRaises((ValueError, TypeError, KeyError)):
                lathe.minimize(tutorial, (2, 0), constraints=wrong)


@harness.needs("scipy")
class CallbacksAndOptions(unittest.TestCase):
    def test_callbacks(self):
        seen = []

        def by_result(intermediate_result):
            seen.append((intermediate_result.x.copy(), intermediate_result.fun))
            if len(seen) == 3:
                raise StopIteration
        made = lathe.minimize(rosen, [-1.2, 1.0], callback=by_result)
        self.assertEqual(len(seen), 3)
        self.assertEqual(made.nit, 3)
        self.assertAlmostEqual(seen[-1][1], rosen(seen[-1][0]), places=10)
        points = []
        lathe.minimize(rosen, [-1.2, 1.0], callback=lambda xk: points.append(xk))
        self.assertEqual(points[0].shape, (2,))
        self.assertFalse(any(np.shares_memory(points[0], p) for p in points[1:]))

    def test_options_of_scipys_methods(self):
        """The same meaning here, or a warning that names what means nothing; no call has to be edited."""
        def f(x):
            return (x[0] - 1)**2 + abs(x[1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for options in ({"gtol": 1e-6, "norm": np.inf}, {"xatol": 1e-8}, {"eps": 1e-8}, {"verbose": 0, "xtol": 1e-8}):
                if set(options) & {"norm", "xatol", "eps", "xtol"}:
                    with self.assertRaisesRegex(RuntimeWarning, min(set(options) - {"gtol", "verbose"})):
                        lathe.minimize(f, [1.3, 0.7], options=options)
            for options in ({"maxcor": 5}, {"maxls": 20}, {"c1": 1e-4, "c2": 0.9}, {"hess_inv0": np.eye(2)}, {"catol": 1e-4}, {"maxfev": 1000}, {"maxiter": None}):
                self.assertTrue(lathe.minimize(f, [1.3, 0.7], options=options).success, options)
            with self.assertRaisesRegex(RuntimeWarning, "Hessian"):
                lathe.minimize(f, [1.3, 0.7], hess=lambda x: np.eye(2))
        few = lathe.minimize(lambda x: 100 * (x[1] - x[0]**2)**2 + (1 - x[0])**2, [-1.2, 1.0], options={"maxfev": 12})
        self.assertFalse(few.success)
        self.assertIn("maxfev = 12", few.message)
        self.assertLess(few.nfev, 25)
        with self.assertWarnsRegex(RuntimeWarning, "fatol"):
            self.assertIn("not used: fatol", lathe.minimize(f, [1.3, 0.7], options={"fatol": 1e-4}).how)

    def test_a_method_that_is_a_function_is_called(self):
        def method(fun, x0, args=(), **others):
            self.assertEqual(set(others), {"jac", "hess", "hessp", "bounds", "constraints", "callback", "steps"})
            return ("mine", fun(x0, *args), others["steps"])
        self.assertEqual(lathe.minimize(lambda x, a: a * x[0], [2.0], args=(3,), method=method, options={"steps": 7}), ("mine", 6.0, 7))

    def test_callback_of_trust_constr(self):
        seen = []
        lathe.minimize(lambda x: (x[0] - 1)**2, [5.0], callback=lambda xk, state: seen.append((xk[0], state.x[0], state.nit, state.nfev)))
        self.assertEqual(seen[-1][0], seen[-1][1])
        self.assertEqual([s[2] for s in seen], list(range(1, len(seen) + 1)))

    def test_tol_and_options(self):
        loose, tight = (lathe.minimize(rosen, [-1.2, 1.0], tol=t) for t in (1e-1, 1e-10))
        self.assertLessEqual(tight.solution.stat_value, 1e-10)
        self.assertTrue(1e-10 < loose.solution.stat_value <= 1e-1, loose.solution.stat_value)
        self.assertGreater(loose.fun, tight.fun)
        self.assertEqual(lathe.minimize(rosen, [-1.2, 1.0], options={"maxiter": 4}).nit, 4)
        self.assertFalse(lathe.minimize(rosen, [-1.2, 1.0], options={"maxiter": 4}).success)
        self.assertTrue(lathe.minimize(rosen, [-1.2, 1.0], options={"gtol": 1e-6, "disp": False}).success)
        with self.assertRaisesRegex(ValueError, "maxitr"):
            lathe.minimize(rosen, [-1.2, 1.0], options={"maxitr": 4})

    def test_fields(self):
        made = lathe.minimize(rosen, [-1.2, 1.0])
        expected = optimize.minimize(rosen, [-1.2, 1.0], method="BFGS")
        for name in ("x", "fun", "jac", "hess_inv", "nit", "nfev", "njev", "status", "success", "message"):
            self.assertIn(name, made)
            self.assertEqual(np.shape(made[name]), np.shape(expected[name]), name)

    def test_args_and_jac(self):
        def f(x, a, b):
            return a * np.sum((x - b) ** 2)
        for jac in (None, lambda x, a, b: 2 * a * (x - b), "2-point", "3-point", "cs", False):
            np.testing.assert_allclose(lathe.minimize(f, [0.0, 5.0], args=(2, 3.0), jac=jac, capture="never").x, 3, atol=1e-5)
        both = lathe.minimize(lambda x, b: (np.sum((x - b) ** 2), 2 * (x - b)), [0.0, 5.0], args=3.0, jac=True)
        np.testing.assert_allclose(both.x, 3, atol=1e-6)


@harness.needs("scipy")
class OwnProblems(unittest.TestCase):
    """Those of SciPy's tests and tutorials, from their starts."""

    def test_the_same_minima(self):
        cases = {
            "rosenbrock of five": (optimize.rosen, [1.3, 0.7, 0.8, 1.9, 1.2], 0.0),
            "rosenbrock by hand": (rosen, [-1.2, 1.0], 0.0),
            "himmelblau": (himmelblau, [0.0, 0.0], 0.0),
            "beale": (lambda x: (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2, [1.0, 1.0], 0.0),
            "booth": (lambda x: (x[0] + 2 * x[1] - 7) ** 2 + (2 * x[0] + x[1] - 5) ** 2, [10.0, -5.0], 0.0),
            "powell": (lambda x: (x[0] + 10 * x[1]) ** 2 + 5 * (x[2] - x[3]) ** 2 + (x[1] - 2 * x[2]) ** 4 + 10 * (x[0] - x[3]) ** 4, [3.0, -1, 0, 1], 0.0),
            "nonsmooth": (lambda x: np.max(np.abs(x - np.array([1.0, 2.0, 3.0]))), [9.0, 9.0, 9.0], 0.0),
        }
        for name, (f, x0, minimum) in cases.items():
            for capture in ("verify", "never"):
                with self.subTest(name, capture=capture):
                    made = lathe.minimize(f, x0, capture=capture)
                    self.assertLess(abs(made.fun - minimum), 1e-4 if name == "nonsmooth" else 1e-6, made)  # 1e-4: the radius of nearby gradients

    def test_maratos(self):
        """trust-constr's test: minimum (1, 0) on the circle, where full steps are refused."""
        for degrees in (60.0, 120.0):
            start = np.deg2rad(degrees)
            made = lathe.minimize(lambda x: 2 * (x[0] ** 2 + x[1] ** 2 - 1) - x[0], [np.cos(start), np.sin(start)],
                                  constraints=NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 1, 1))
            np.testing.assert_allclose(made.x, [1, 0], atol=2e-3)  # f is flat along the circle: 1e-6 of it is 1e-3 of x
            self.assertAlmostEqual(made.fun, -1, places=5)


if __name__ == "__main__":
    harness.main()
