"""Type stubs: the parameters of every function as they are, fields of results, and a program that passes mypy --strict. SPDX-License-Identifier: BSD-3-Clause"""
import ast
import importlib
import importlib.util
import inspect
import pathlib
import subprocess
import sys
import unittest

import harness
import lathe

PACKAGE = pathlib.Path(lathe.__file__).parent
PROGRAM = '''
import numpy as np
import lathe
from lathe.sklearn import QSVC, QSVR, QOneClassSVM

s = lathe.solve(lambda x: float(x @ x), x0=[1.0, 2.0], maxit=5)
code: int = s.termination_code
print(s.f, s.x, s.final.x, s.final.tv, s.iters, s.how, s.best, s.certificate)
r = lathe.minimize(lambda x: float(x @ x), [1.0, 2.0], bounds=[(0, None), (0, None)], tol=1e-6)
print(r.x, r.success, r.fun)
g = lathe.function(lambda x: np.sum(x), np.ones(3))
print(g(np.ones(3)), g.grad(np.ones(3)), g.grad.wrt(0)(np.ones(3)), g.plan(), g.stats)
k = lathe.QuantumKernel(np.zeros((1, 2)), re_embed=True)
print(k(np.ones((3, 2))), lathe.gram(np.ones((3, 2)), weights=np.zeros((1, 2))).shape, k.info)
m = QSVC(C=1.0, re_embed=True).fit(np.ones((2, 2)), [0, 1])
print(m.predict(np.ones((1, 2))), m.classes_, m.get_params(), QSVR(), QOneClassSVM())
lathe.generate("config.yaml", "out.h5", sampling={"total_samples": 4}, progress=True)
with lathe.Dataset("out.h5") as d:
    train, val, test = d.split(0.8, 0.1, 0.1, seed=0)
    print(len(d), d.features()["x"], d["/parameters/params"][1:2], d[3], d.info, train, d.statistics(train).normalize("parameters", np.ones(3)))
with lathe.profile("trace.json") as spans:
    pass
p = lathe.Problem("var x[2] = [1, 2]\\nminimize sum(x^2)")
print(p.n, p.evaluate([1, 2]), p.check(), lathe.doctor().healthy, lathe.torch.report().ops)
lathe.console.quiet = True
lathe.compat.install()
'''


def module_of(stub):
    name = ".".join(stub.relative_to(PACKAGE).with_suffix("").parts)
    return importlib.import_module("lathe." + name.removesuffix("__init__").rstrip(".") if name != "__init__" else "lathe")


def parameters(node):
    """(names, which have defaults) of a function in a stub."""
    a = node.args
    plain = [p.arg for p in a.posonlyargs + a.args]
    given = set(plain[len(plain) - len(a.defaults):]) | {p.arg for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
    stars = [p.arg for p in (a.vararg, a.kwarg) if p is not None]
    return plain + [p.arg for p in a.kwonlyargs] + stars, given


def real_parameters(function):
    found = inspect.signature(inspect.unwrap(function)).parameters.values()
    order = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)] + [p for p in found if p.kind is p.KEYWORD_ONLY]
    stars = [p.name for p in found if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return [p.name for p in order] + stars, {p.name for p in found if p.default is not p.empty}


class Stubs(unittest.TestCase):
    def stubs(self):
        for stub in sorted(PACKAGE.rglob("*.pyi")):
            if stub.stem == "_core" or stub.stem == "sklearn" and not importlib.util.find_spec("sklearn") or stub.stem == "torch" and not importlib.util.find_spec("torch"):
                continue
            yield stub, module_of(stub), ast.parse(stub.read_text())

    def compare(self, node, real, where):
        if isinstance(real, property):
            self.assertIn("property", [getattr(d, "id", "") for d in node.decorator_list], where)
            return
        self.assertTrue(callable(real), where)
        if inspect.isbuiltin(real):  # says nothing of its parameters
            return
        names, given = parameters(node)
        real_names, real_given = real_parameters(real)
        if where.endswith("__init__") and "options" in names and "sklearn" in where:  # the library's rows are in the real signature
            real_names = [n for n in real_names if n in names] + ["options"]
            real_given &= given
        self.assertEqual((names, given), (real_names, real_given), where)

    def test_parameters_are_those_of_the_functions(self):
        seen = 0
        for stub, module, tree in self.stubs():
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    self.compare(node, getattr(module, node.name), f"{stub.name}: {node.name}")
                    seen += 1
                for inner in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(inner, ast.FunctionDef) and not any(getattr(d, "id", "") == "overload" for d in inner.decorator_list):
                        owner = getattr(module, node.name)
                        if inner.name in ("get_params", "set_params", "score") and stub.stem == "sklearn":
                            continue
                        self.compare(inner, inspect.getattr_static(owner, inner.name), f"{stub.name}: {node.name}.{inner.name}")
                        seen += 1
        self.assertGreater(seen, 80)

    def test_fields_of_a_solution(self):
        tree = ast.parse((PACKAGE / "solution.pyi").read_text())
        fields = {c.name: {n.target.id for n in c.body if isinstance(n, ast.AnnAssign)} for c in tree.body if isinstance(c, ast.ClassDef)}
        s = lathe.solve("var x[2] = [3, 4]\nminimize sum(abs(x))\nsubject to\n  x[0] >= 1", print_level=0)
        self.assertEqual(fields["Solution"], set(vars(s)))
        self.assertEqual(fields["Point"], set(vars(s.final)))

    def test_results_have_the_fields_of_minimize(self):
        tree = ast.parse((PACKAGE / "scipy_like.pyi").read_text())
        fields = {n.target.id for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body if isinstance(n, ast.AnnAssign)}
        self.assertEqual(fields, set(lathe.minimize(lambda x: (x[0] - 1)**2, [0.0], bounds=[(0, 2)], constraints={"type": "ineq", "fun": lambda x: x[0]})))

    @harness.needs("mypy")
    def test_a_program_passes_mypy(self):
        pathlib.Path("program.py").write_text(PROGRAM)
        package = PACKAGE.parent
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "mypy", "program.py"], capture_output=True, text=True, timeout=300,
                              env={"PATH": "/usr/bin:/bin", "MYPYPATH": str(package)})
        self.assertLessEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("program.py")], [])  # what is inside the package is not a user's to mend


if __name__ == "__main__":
    harness.main()
