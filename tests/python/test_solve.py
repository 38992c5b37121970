"""lathe.solve: fields, options, functions that misbehave, Ctrl-C, threads, fork."""
import io
import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import unittest

import harness
import lathe
import numpy as np

F_STAR = (1 - 1 / np.sqrt(2)) ** 2


def rosenbrock(x):
    return 8 * np.abs(x[0] ** 2 - x[1]) + (1 - x[0]) ** 2, [np.sqrt(2) * x[0] - 1, 2 * x[1] - 1]


class Solutions(unittest.TestCase):
    def test_fields_are_those_of_the_record(self):
        s = lathe.solve("example:A1")
        for field in ("final", "best", "most_feasible", "H_final", "stat_value", "iters", "BFGS_updates", "fn_evals", "termination_code",
                      "quadprog_failure_rate", "time_total", "time_eval", "time_qp", "time_h", "n_qp", "n_mu_reductions", "stat_unweighted", "error",
                      "mu_lowest", "scalings", "final_unscaled"):
            self.assertTrue(hasattr(s, field), field)
        for field in ("x", "f", "ci", "ce", "tvi", "tve", "tv", "feasible_to_tol", "mu"):
            self.assertTrue(hasattr(s.best, field), field)
        self.assertAlmostEqual(s.f, F_STAR, places=8)
        self.assertEqual(s.H_final.shape, (2, 2))
        self.assertEqual(len(s.table()), s.iters + 1)
        self.assertIsNone(s.final_unscaled)

    def test_starts_from_files(self):
        import tempfile
        first = lathe.solve("example:A1", max_iterations=8)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.npz")
            np.savez(path, x=first.x, mu=first.point.mu, H=first.H_final, ci_multipliers=first.certificate["ci_multipliers"])
            again = lathe.solve("example:A1", path)
            self.assertEqual(again.table().f[0], first.f)
            self.assertAlmostEqual(again.f, F_STAR, places=8)
            with self.assertRaisesRegex(lathe.Error, "another problem"):
                lathe.solve("example:B2", path)
            saved = os.path.join(folder, "run.ckpt")
            lathe.solve("example:A1", checkpoint=saved, max_iterations=3)
            self.assertEqual(lathe.solve("example:A1", resume=saved, max_iterations=7).changed_options, [("max_iterations", "3", "7")])

    def test_unconstrained_has_no_measures(self):
        s = lathe.solve(lambda x: np.sum(x * x), x0=[1.0, 2.0])
        self.assertIsNone(s.most_feasible)
        self.assertFalse(hasattr(s.final, "ci"))

    def test_prescaling_gives_unscaled_twins(self):
        s = lathe.solve("example:A1", prescaling_threshold=1.0)
        self.assertAlmostEqual(s.best_unscaled.f, F_STAR, places=5)
        self.assertIn("ci", s.scalings)

    def test_limited_memory_and_warm_start(self):
        first = lathe.solve(rosenbrock, x0=[5.5, 5.5], limited_mem_size=3, maxit=5)
        self.assertEqual(set(first.H_final), {"S", "Y", "rho", "gamma"})
        again = lathe.solve(rosenbrock, x0=first.final.x, limited_mem_size=3, limited_mem_warm_start=first.H_final, mu0=first.final.mu, scaleH0=False)
        self.assertLess(again.final.tv, 1e-5)
        with self.assertRaisesRegex(ValueError, "lbfgs_state"):
            lathe.solve(rosenbrock, x0=[1.0, 1.0], limited_mem_size=3, lbfgs_state={"S": [1.0]})

    def test_restart_in_full_memory(self):
        first = lathe.solve(rosenbrock, x0=[5.5, 5.5], mu0=100, maxit=10)
        again = lathe.solve(rosenbrock, x0=first.final.x, H0=first.H_final, mu0=first.final.mu, scaleH0=False, opt_tol=1e-6)
        self.assertAlmostEqual(again.f, F_STAR, places=3)

    def test_pickled_and_back(self):
        s = lathe.solve(rosenbrock, x0=[5.0, 5.0])
        t = pickle.loads(pickle.dumps(s))
        self.assertEqual(s.final, t.final)
        self.assertEqual((s.how, s.f, s.iters), (t.how, t.f, t.iters))
        np.testing.assert_array_equal(s.x, t.x)

    def test_html_and_text(self):
        s = lathe.solve("example:A1")
        self.assertIn("iframe", s._repr_html_())
        self.assertIn("svg", s._repr_html_())
        self.assertIn("code 0", repr(s))


class Variables(unittest.TestCase):
    def test_forms_of_x0(self):
        by_name = lathe.solve(lambda U, b: np.sum((U - 1) ** 2) + np.sum((b + 2) ** 2), x0={"U": np.zeros((2, 3)), "b": np.zeros(2)})
        self.assertEqual(by_name.x["U"].shape, (2, 3))
        np.testing.assert_allclose(by_name.x["b"], -2, atol=1e-6)
        in_order = lathe.solve(lambda U, b: np.sum((U - 1) ** 2) + np.sum((b + 2) ** 2), x0=(np.zeros((2, 3)), np.zeros(2)))
        np.testing.assert_allclose(in_order.x[0], 1, atol=1e-6)
        matrix = lathe.solve(lambda U: np.sum((U - np.eye(2)) ** 2), x0=np.zeros((2, 2)))
        np.testing.assert_allclose(matrix.x, np.eye(2), atol=1e-6)
        scalar = lathe.solve(lambda x: np.sum((x - 3) ** 2), x0=0.0)
        np.testing.assert_allclose(scalar.x, [3], atol=1e-6)

    def test_constraints_in_dicts_and_lists(self):
        s = lathe.solve(lambda x: (np.sum(x * x), {"a": 1 - x[0], "b": [1 - x[1:]]}, None), x0=np.zeros(3))
        np.testing.assert_allclose(s.x, 1, atol=1e-5)
        s = lathe.solve(lambda x: (np.sum(x * x), None, {"sum": x.sum() - 3}), x0=np.zeros(3))
        np.testing.assert_allclose(s.x, 1, atol=1e-5)

    def test_problem_text_by_name(self):
        p = lathe.Problem("var U[2,2]\nvar b[2]\nminimize sum((U - 1)^2) + sum(b^2)")
        self.assertEqual(lathe.solve(p, x0={"U": np.zeros((2, 2)), "b": np.ones(2)}).x["U"].shape, (2, 2))
        self.assertTrue(p.check()["passed"])

    def test_captured_and_called_take_the_same_path(self):
        graph = lathe.solve(rosenbrock, x0=[5.5, 5.5], maxit=8)
        called = lathe.solve(rosenbrock, x0=[5.5, 5.5], maxit=8, capture="never",
                             jac=lambda x: (np.array([16 * x[0] * np.sign(x[0] ** 2 - x[1]) - 2 * (1 - x[0]), -8 * np.sign(x[0] ** 2 - x[1])]),
                                            np.array([[np.sqrt(2), 0], [0, 2]]), None))
        np.testing.assert_allclose(graph.history[:, 4], called.history[:, 4], rtol=1e-10)
        self.assertIn("gradients by jac", called.how)


class Options(unittest.TestCase):
    def test_by_name_with_the_librarys_words(self):
        with self.assertRaisesRegex(ValueError, "did you mean 'opt_tol'"):
            lathe.solve("example:A1", opt_toll=1)
        with self.assertRaisesRegex(ValueError, "wolfe1"):
            lathe.solve("example:A1", wolfe1=0.7)
        with self.assertRaisesRegex(ValueError, "maxit"):
            lathe.solve("example:A1", maxit=2.5)
        self.assertEqual(lathe.solve("example:A1", maxit=np.float64(3), lagrangian_updates=np.False_, correct_steps=False, print_ascii=np.True_, opt_tol=None).iters, 3)

    def test_rows_come_from_the_library(self):
        rows = {r["name"]: r for r in lathe.options("solve")}
        self.assertEqual(rows["stationarity_tol"]["default"], "1e-8")
        self.assertEqual(rows["stationarity_tol"]["alias"], "opt_tol")
        self.assertGreater(len(rows), 60)

    def test_table_goes_to_sys_stdout(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            lathe.solve("example:A1", print_level=1, print_ascii=True)
        self.assertIn("Objective", out.getvalue())
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            lathe.solve("example:A1")
        self.assertEqual(out.getvalue(), "")

    def test_logging_function(self):
        seen = []
        lathe.solve("example:A1", halt_log_fn=lambda it: seen.append((it["iter"], it["f"], it["x"].copy(), it["H"].shape)))
        self.assertEqual([s[0] for s in seen], list(range(len(seen))))
        stopped = lathe.solve("example:A1", x0=[5.5, 5.5], halt_log_fn=lambda it: it["iter"] == 2)
        self.assertEqual((stopped.termination_code, stopped.iters), (3, 2))

        def fails(it):
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            lathe.solve("example:A1", halt_log_fn=fails)


class BadInput(unittest.TestCase):
    def test_calls_that_make_no_sense(self):
        for bad, message in ((lambda: lathe.solve(3), "path, a text"), (lambda: lathe.solve(rosenbrock), "needs x0"),
                             (lambda: lathe.solve(rosenbrock, x0=[np.nan, 1.0]), "not finite"), (lambda: lathe.solve(rosenbrock, x0=["a", "b"]), "type"),
                             (lambda: lathe.solve(rosenbrock, x0=[1.0, 1.0], capture="sometimes"), "capture"),
                             (lambda: lathe.solve("no such file.lt"), "no such file"), (lambda: lathe.solve("example:Z9"), "Z9"),
                             (lambda: lathe.solve("example:A1", x0=[1.0, 2.0, 3.0]), r"shape \(3,\): expected \(2,\)"),
                             (lambda: lathe.solve("example:A1", device="gpu7"), "gpu7"),
                             (lambda: lathe.solve(lambda x: x, x0=[1.0, 2.0]), "one number"),
                             (lambda: lathe.solve(lambda x: (x.sum(), None, None, None), x0=[1.0]), "4 things"),
                             (lambda: lathe.solve(lambda x: None, x0=[1.0]), "f is None"),
                             (lambda: lathe.solve(lambda x: "text", x0=[1.0]), "str"),
                             (lambda: lathe.solve(lambda x: np.log(-x).sum(), x0=[1.0]), "finite")):
            with self.subTest(message), np.errstate(all="ignore"), self.assertRaisesRegex((lathe.Error, TypeError), message):
                bad()

    def test_text_errors_have_a_caret(self):
        with self.assertRaisesRegex(ValueError, r"(?s)line 2|:2:.*\^"):
            lathe.solve("var x[2]\nminimize sum(y)")

    def test_an_exception_at_x0_is_the_functions_own(self):
        def fails(x):
            raise LookupError("at x0")
        with self.assertRaisesRegex(LookupError, "at x0"):
            lathe.solve(fails, x0=[1.0])

    def failing_later(self, what):
        calls = []

        def f(x):
            calls.append(1)
            if len(calls) > 20:
                return what()
            return float(np.sum(np.asarray(x) ** 4) + 1)
        return f

    def test_an_exception_at_call_k_carries_the_results_so_far(self):
        def boom():
            raise LookupError("later")
        with self.assertRaisesRegex(LookupError, "later") as caught:
            lathe.solve(self.failing_later(boom), x0=[3.0, 2.0], capture="never")
        self.assertEqual(caught.exception.solution.termination_code, 11)
        stopped = lathe.solve(self.failing_later(boom), x0=[3.0, 2.0], capture="never", on_error="stop")
        self.assertEqual(stopped.termination_code, 11)
        self.assertRegex(stopped.error, r"LookupError: later \(test_solve\.py:\d+\)")

    def test_shapes_that_change_between_calls(self):
        with self.assertRaisesRegex(lathe.ShapeError, "expected one number"):
            lathe.solve(self.failing_later(lambda: np.ones(2)), x0=[3.0, 2.0], capture="never")

    def test_a_kept_x_stays_what_it_was(self):
        kept = []

        def f(x):
            kept.append(x)
            return float(x @ x)
        lathe.solve(f, x0=[3.0, 2.0], capture="never", jac=lambda x: 2 * x)
        np.testing.assert_array_equal(kept[0], [3.0, 2.0])
        self.assertGreater(len({tuple(k) for k in kept}), 1)

    def test_gradients_of_the_wrong_size(self):
        with self.assertRaisesRegex(ValueError, "gradient of f has 3 numbers: expected 2"):
            lathe.solve(lambda x: float(x @ x), x0=[3.0, 2.0], capture="never", jac=lambda x: np.ones(3))


class Interrupts(unittest.TestCase):
    def interrupt(self, run):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt) as caught:
            run()
        return caught.exception, time.monotonic() - begun

    def test_ctrl_c_in_a_graph(self):
        def run():
            while True:  # one run may be over before the signal
                lathe.solve("var x[400]\nminimize sum(abs(x)) + sum(x^2)", x0=np.ones(400), opt_tol=0, maxit=10 ** 6)
        error, seconds = self.interrupt(run)
        self.assertLess(seconds, 1.5)
        if hasattr(error, "solution"):
            self.assertTrue(error.solution.interrupted)

    def test_ctrl_c_in_a_callback(self):
        def slow(x):
            time.sleep(0.2)
            return float(np.sum(np.abs(x)))
        error, seconds = self.interrupt(lambda: lathe.solve(slow, x0=np.ones(3), capture="never", jac=np.sign, opt_tol=0))
        self.assertLess(seconds, 1.5)
        self.assertGreaterEqual(error.solution.fn_evals, 1)

    def test_the_handler_of_python_is_back_afterwards(self):
        lathe.solve("example:A1")
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)


def in_child(queue):
    queue.put((lathe.solve("example:A1").f, lathe.gram(np.linspace(0, 1, 60).reshape(20, 3), weights=np.zeros((1, 3))).sum()))


class Concurrency(unittest.TestCase):
    def test_threads(self):
        results = []
        threads = [threading.Thread(target=lambda: results.append(lathe.solve(rosenbrock, x0=[5.0, 5.0]).f)) for _ in range(8)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual(len(set(results)), 1)
        self.assertEqual(len(results), 8)

    def test_threads_share_a_problem(self):
        problem = lathe.Problem(rosenbrock, [5.0, 5.0])
        results = []
        threads = [threading.Thread(target=lambda: results.append(lathe.solve(problem).f)) for _ in range(6)]
        [t.start() for t in threads], [t.join() for t in threads]
        self.assertEqual((len(set(results)), len(results)), (1, 6))

    def test_after_fork(self):
        np.testing.assert_allclose(lathe.gram(np.ones((4, 3)), weights=np.zeros((1, 3))), 1)  # the pool exists before the fork
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=in_child, args=(queue,)) for _ in range(3)]
        [c.start() for c in children]
        answers = [queue.get(timeout=60) for _ in children]
        [c.join(60) for c in children]
        self.assertEqual(len(set(answers)), 1)

    def test_a_callback_may_solve(self):
        def outer(x):
            inner = lathe.solve("example:A1", maxit=3)
            return float(np.sum(x ** 2)) + 0 * inner.f
        s = lathe.solve(outer, x0=[2.0], capture="never", jac=lambda x: 2 * x)
        self.assertLess(s.f, 1e-8)

    def test_set_threads(self):
        before = lathe.get_threads()
        lathe.set_threads(1)
        self.assertEqual(lathe.get_threads(), 1)
        lathe.set_threads(before)
        with self.assertRaises(ValueError):
            lathe.set_threads(-1)


if __name__ == "__main__":
    harness.main()
