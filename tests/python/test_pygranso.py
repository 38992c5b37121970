"""The drop-in for PyGRANSO: scripts that run unchanged, types and names, options, errors. SPDX-License-Identifier: BSD-3-Clause"""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import unittest

import harness
import lathe.compat

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pygranso_scripts")


def rosenbrock(X):
    from pygranso.pygransoStruct import pygransoStruct
    ci = pygransoStruct()
    ci.c1, ci.c2 = 2**0.5 * X.x[0] - 1, 2 * X.x[1] - 1
    return [8 * abs(X.x[0] ** 2 - X.x[1]) + (1 - X.x[0]) ** 2, ci, None]


def solve(combined_fn=rosenbrock, var_spec=None, **options):
    """pygranso with these options, from (5.5, 5.5); silent."""
    import torch
    from pygranso.pygranso import pygranso
    from pygranso.pygransoStruct import pygransoStruct
    opts = pygransoStruct()
    opts.x0 = torch.full((2, 1), 5.5, dtype=torch.double)
    opts.print_level = 0
    vars(opts).update(options)
    return pygranso(var_spec or {"x": [2]}, combined_fn, opts)


@harness.needs("torch")
class Scripts(unittest.TestCase):
    """Each script checks its own results, to the acceptance of the twelve examples."""

    def test_what_is_printed(self):
        done = subprocess.run([sys.executable, "-m", "lathe.compat", os.path.join(SCRIPTS, "a1_rosenbrock.py")], capture_output=True, text=True, timeout=500)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        printed = done.stdout
        self.assertTrue(printed.endswith("passed\n"), printed[-3000:])
        self.assertIn("QPsolver 'osqp' is not used", printed)
        for row in ("218.250000000", "42.9789783006", "9.27057783616"):  # objectives of rows 0, 1 and 10
            self.assertIn(row, printed)

    def test_unknown_script(self):
        done = subprocess.run([sys.executable, "-m", "lathe.compat", "no_such.py"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no file 'no_such.py'", done.stderr)

    def test_capture_by_the_command_line(self):
        with open("how.py", "w") as file:
            file.write("from pygranso.pygranso import pygranso\nfrom pygranso.pygransoStruct import pygransoStruct\nopts = pygransoStruct()\nopts.print_level = 0\n"
                       "print(pygranso({'x': [2]}, lambda X: [(X.x**2).sum(), None, None], opts).how)\n")
        for arguments, words in (([], "captured"), (["--capture", "never"], "called from C"), (["--capture=always"], "captured")):
            done = subprocess.run([sys.executable, "-m", "lathe.compat", *arguments, "how.py"], capture_output=True, text=True)
            self.assertTrue(done.stdout.startswith(words), done.stdout + done.stderr)
        done = subprocess.run([sys.executable, "-m", "lathe.compat", "--capture", "how.py"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--capture 'how.py': expected one of verify, always, never", done.stderr)

    def test_arguments_and_folder_are_the_scripts(self):
        with open("args.py", "w") as file:
            file.write("import sys, neighbour\nassert __name__ == '__main__' and sys.argv[1:] == ['-x', '3'], sys.argv\nprint(neighbour.word)\n")
        with open("neighbour.py", "w") as file:
            file.write("word = 'passed'\n")
        done = subprocess.run([sys.executable, "-m", "lathe.compat", os.path.abspath("args.py"), "-x", "3"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)

    def test_spawned_processes_have_the_drop_ins(self):
        with open("spawns.py", "w") as file:
            file.write("import multiprocessing\nimport lathe.compat\nfrom pygranso.pygransoStruct import pygransoStruct\n\n\n"
                       "def job(n):\n    made = pygransoStruct()\n    made.n = n, lathe.compat.default_capture\n    return made\n\n\n"
                       "if __name__ == '__main__':\n    for way in ('spawn', 'forkserver'):\n        with multiprocessing.get_context(way).Pool(1) as pool:\n"
                       "            print(pool.map_async(job, [7]).get(60)[0].n)\n")
        done = subprocess.run([sys.executable, "-m", "lathe.compat", "--capture", "never", "spawns.py"], capture_output=True, text=True, timeout=200)
        self.assertEqual((done.returncode, done.stdout), (0, "(7, 'never')\n" * 2), done.stderr)


harness.script_tests(Scripts, SCRIPTS)


@harness.needs("torch")
class Modules(unittest.TestCase):
    def test_one_module_under_two_names(self):
        import pygranso.pygransoStruct as alias
        import lathe.compat.pygranso.pygransoStruct as own
        self.assertIs(alias, own)
        self.assertEqual(own.__spec__.name, "lathe.compat.pygranso.pygransoStruct")
        with self.assertRaises(ImportError):
            import pygranso.nothing_here  # noqa: F401

    def test_names(self):
        from pygranso.private.getCiGradVec import getCiGradVec, getCiGradVecDL  # noqa: F401
        from pygranso.private.getNvar import getNvar, getNvarTorch
        from pygranso.private.getObjGrad import getObjGrad, getObjGradDL  # noqa: F401
        from pygranso.private.tensor2vec import getCiGradVec as also
        import torch
        self.assertIs(also, getCiGradVec)
        self.assertEqual(getNvar({"a": [2, 3], "b": [1]}), 7)
        self.assertEqual(getNvarTorch(torch.nn.Linear(3, 2).parameters()), 8)

    def test_help_lists_every_option(self):
        from pygranso.pygransoOptions import pygransoOptions
        from pygranso.pygransoOptionsAdvanced import pygransoOptionsAdvanced
        pages = pygransoOptions.__doc__ + pygransoOptionsAdvanced.__doc__
        for row in lathe.options("solve"):
            self.assertIn((row["alias"] or row["name"]) + ":", pages)
        self.assertIn("halt_log_fn:", pages)

    def test_gradients_with_fixed_places(self):
        """A variable that plays no part leaves zeros in its own rows."""
        import torch
        from pygranso.private.getCiGradVec import getCiGradVec
        from pygranso.private.getObjGrad import getObjGrad
        from pygranso.private.vec2tensor import vec2tensor
        sizes = {"a": [2], "b": [2, 2], "c": [1]}
        X = vec2tensor(torch.arange(1.0, 8.0, dtype=torch.double), sizes)
        for name in sizes:
            setattr(X, name, getattr(X, name).detach().requires_grad_(True))
        g = getCiGradVec(7, 3, sizes, X, torch.cat([X.b[0] ** 2, 5 * X.c]), torch.device("cpu"), True)
        expected = torch.zeros(7, 3, dtype=torch.double)
        expected[2, 0], expected[3, 1], expected[6, 2] = 6, 8, 5
        self.assertTrue(torch.equal(g, expected))
        g = getObjGrad(7, sizes, (X.b.sum() * 2), X, torch.device("cpu"), False)
        self.assertEqual((g.shape, g.dtype, g[:, 0].tolist()), ((7, 1), torch.float, [0, 0, 2, 2, 2, 2, 0]))

    def test_batched_gradients_and_row_by_row(self):
        """An op without a batched derivative: the same rows, one call each."""
        import torch
        from lathe.capture.reverse import jacobian

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                if float(g.sum()) > 1e9:  # looks at values: cannot be batched
                    raise ValueError
                return 2 * x * g

        x = torch.arange(3.0, requires_grad=True)
        unused = torch.ones(2, requires_grad=True)
        self.assertEqual(jacobian(Square.apply(x), [x, unused]).tolist(), [[0, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 4, 0, 0]])
        self.assertEqual(jacobian(x * x, [x, unused]).tolist(), [[0, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 4, 0, 0]])


@harness.needs("torch")
class Results(unittest.TestCase):
    def test_fields_in_order(self):
        soln = solve(opt_tol=1e-6)
        self.assertEqual(list(vars(soln))[:9], ["final", "best", "most_feasible", "H_final", "stat_value", "iters", "BFGS_updates", "fn_evals", "termination_code"])
        self.assertEqual(list(vars(soln.best)), ["x", "f", "ci", "ce", "tvi", "tve", "tv", "feasible_to_tol", "mu"])
        self.assertEqual(soln.BFGS_updates.requests, soln.iters)
        self.assertFalse(hasattr(soln, "error") or hasattr(soln, "mu_lowest") or hasattr(soln, "scalings"))

    def test_prescaling(self):
        soln = solve(prescaling_threshold=1.0)
        self.assertTrue(hasattr(soln, "final_unscaled"))
        self.assertTrue(hasattr(soln.scalings, "f"))

    def test_no_options_at_all(self):
        from pygranso.pygranso import pygranso
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            soln = pygranso({"x": [2]}, lambda X: [(X.x**2).sum(), None, None])
        self.assertEqual(soln.termination_code, 0)
        self.assertIn("Termination code", out.getvalue())

    def test_single_precision(self):
        import torch
        seen = set()

        def function(X):
            seen.add(X.x.dtype)
            return rosenbrock(X)
        soln = solve(function, double_precision=False, opt_tol=1e-4, x0=torch.full((2, 1), 5.5), capture="never")
        self.assertEqual((seen, soln.final.x.dtype), ({torch.float}, torch.float))
        self.assertLess(soln.final.f, 0.0900)

    def test_unbounded_reports_lowest_mu(self):
        from pygranso.pygransoStruct import pygransoStruct

        def function(X):
            ci = pygransoStruct()
            ci.c1 = -X.x[1] - 1000
            return [X.x[0] * 1.0, ci, None]
        soln = solve(function)
        self.assertEqual(soln.termination_code, 8)
        self.assertGreater(soln.mu_lowest, 0)

    def test_module_holds_the_last_point_called(self):
        import torch
        model = torch.nn.Linear(2, 1).double()
        points = []

        def function(model):
            points.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone())
            return [(model.weight - 1).abs().sum() + (model.bias - 2).abs().sum(), None, None]
        soln = solve(function, model, x0=torch.zeros(3, 1, dtype=torch.double), capture="never")
        self.assertTrue(torch.equal(points[-1], torch.nn.utils.parameters_to_vector(model.parameters()).detach()))
        self.assertEqual(len(points), soln.fn_evals)

    def test_sparse_H0_in_limited_memory(self):
        import torch
        soln = solve(limited_mem_size=3, H0=(2 * torch.eye(2, dtype=torch.double)).to_sparse(), maxit=5)
        self.assertEqual(soln.H_final["S"].shape[0], 2)

    def test_log_of_an_unconstrained_run_in_limited_memory(self):
        seen = []

        def log(iteration, x, parts, d, get_state, H_regularized, *rest):
            state = get_state()
            seen.append((parts.tv, parts.ci.shape[0], sorted(state) if state else None))
        solve(lambda X: [((X.x - 1) ** 4).sum(), None, None], limited_mem_size=2, maxit=4, halt_log_fn=log)
        self.assertEqual(seen[-1], (0, 0, ["S", "Y", "gamma", "rho"]))


@harness.needs("torch")
class Mistakes(unittest.TestCase):
    def test_unknown_option_names_the_nearest(self):
        with self.assertRaisesRegex(AttributeError, "no option 'max_it': did you mean 'maxit'"):
            solve(max_it=3)

    def test_values_of_options(self):
        import torch
        for options, words in (({"mu0": None}, "option 'mu0' is None"), ({"QPsolver": "mosek"}, "QPsolver"), ({"wolfe1": 0.7}, "wolfe1"),
                               ({"x0": torch.ones(3, 1)}, "x0.*3 numbers"), ({"x0": torch.tensor([[1.0], [float("nan")]])}, "x0.*finite"),
                               ({"limited_mem_size": 2, "limited_mem_warm_start": {"S": 1}}, "has no Y"), ({"capture": "maybe"}, "capture"),
                               ({"limited_mem_warm_start": {"S": torch.ones(2, 1), "Y": torch.ones(2, 1), "rho": torch.ones(1), "gamma": 1}}, "limited_mem_size is 0")):
            with self.assertRaisesRegex(ValueError, words):
                solve(**options)
        with self.assertRaisesRegex(TypeError, "var_spec"):
            solve(var_spec=[2])
        with self.assertRaisesRegex(ValueError, r"'x' has sizes \[3, -1\]"):
            solve(var_spec={"x": [3, -1]})

    def test_error_at_the_start_is_raised(self):
        def function(X):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            solve(function)

    def test_error_later_ends_the_run_with_code_11(self):
        calls = []

        def function(X):
            calls.append(1)
            if len(calls) == 5:
                raise KeyError("the fifth call")
            return rosenbrock(X)
        soln = solve(function, capture="never")
        self.assertEqual(soln.termination_code, 11)
        self.assertIsInstance(soln.error, KeyError)
        self.assertTrue(hasattr(soln, "final") and hasattr(soln, "most_feasible"))
        self.assertEqual(len(calls), 5)

    def test_exit_inside_ends_the_script(self):
        calls = []

        def function(X):
            calls.append(1)
            if len(calls) == 5:
                raise SystemExit(3)
            return rosenbrock(X)
        with self.assertRaises(SystemExit):
            solve(function, capture="never")

    def test_f_as_a_number_of_numpy(self):
        import numpy as np
        for capture in ("verify", "never"):
            soln = solve(lambda X: [np.float64(2.0), {"c": 1 - list(vars(X).values())[0]}, None], capture=capture)
            self.assertEqual((soln.best.f, soln.best.tvi <= 1e-6), (2.0, True))

    def test_error_of_the_log_is_raised(self):
        def log(*arguments):
            raise ZeroDivisionError("in the log")
        with self.assertRaisesRegex(ZeroDivisionError, "in the log"):
            solve(halt_log_fn=log)

    def test_wrong_returns(self):
        import torch
        for function, words in ((lambda X: X.x.sum(), r"expected \[f, ci, ce\]"), (lambda X: [None, None, None], "None for f"),
                                (lambda X: [X.x, None, None], "one element"), (lambda X: [torch.tensor(1j), None, None], "complex"),
                                (lambda X: [1.0, [X.x], None], "ci is a list: expected None"), (lambda X: [1.0, None, {"c": "text"}], "ce.c is a str: expected a tensor"),
                                (lambda X: [1.0, {"c": torch.tensor(1j)}, None], "ci.c is complex")):
            with self.assertRaisesRegex(ValueError, words + r".* \(test_pygranso.py:\d+\)"):
                solve(function)
        with self.assertRaisesRegex(ValueError, "f_grad"):
            solve(lambda X: [1.0, torch.ones(3), None, None, None, None], globalAD=False)

    def test_install_takes_the_place_of_what_is_loaded(self):
        harness.run_code("import sys, types\nsys.modules['pygranso'] = types.ModuleType('pygranso')\nimport lathe.compat\nlathe.compat.install()\n"
                         "lathe.compat.install()\nfrom pygranso.pygransoStruct import pygransoStruct\nassert pygransoStruct.__module__.startswith('lathe')\n"
                         "lathe.compat.uninstall()\nimport importlib.util\nassert 'pygranso' not in sys.modules")


if __name__ == "__main__":
    if importlib.util.find_spec("torch"):
        lathe.compat.install()
    harness.main()
