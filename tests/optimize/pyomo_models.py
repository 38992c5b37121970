#!/usr/bin/env python3
"""Pyomo writes models, lathe-ampl solves them, Pyomo reads the answers: pyomo_models.py FOLDER_OF_LATHE_AMPL. SPDX-License-Identifier: BSD-3-Clause"""
import math, os, sys

try:
    import pyomo.environ as pe
except ImportError as e:
    print(f"no Pyomo ({e})")
    sys.exit(77)

os.environ["PATH"] = sys.argv[1] + os.pathsep + os.environ["PATH"]


def hs071():
    """Hock and Schittkowski, problem 71."""
    m = pe.ConcreteModel()
    m.x = pe.Var([1, 2, 3, 4], bounds=(1, 5), initialize={1: 1, 2: 5, 3: 5, 4: 1})
    m.f = pe.Objective(expr=m.x[1] * m.x[4] * (m.x[1] + m.x[2] + m.x[3]) + m.x[3])
    m.a = pe.Constraint(expr=m.x[1] * m.x[2] * m.x[3] * m.x[4] >= 25)
    m.b = pe.Constraint(expr=sum(m.x[i] ** 2 for i in m.x) == 40)
    return m, 17.0140173


def nonsmooth_rosenbrock():
    m = pe.ConcreteModel()
    m.x = pe.Var([0, 1], initialize=1)
    m.f = pe.Objective(expr=8 * abs(m.x[0] ** 2 - m.x[1]) + (1 - m.x[0]) ** 2)
    m.c = pe.Constraint(expr=2**0.5 * m.x[0] <= 1)
    m.d = pe.Constraint(expr=2 * m.x[1] <= 1)
    return m, 0.08578643763


def hs035():
    """Hock and Schittkowski, problem 35: 1/9 at (4/3, 7/9, 4/9)."""
    m = pe.ConcreteModel()
    m.x = pe.Var([1, 2, 3], bounds=(0, None), initialize=0.5)
    x = m.x
    m.f = pe.Objective(expr=9 - 8 * x[1] - 6 * x[2] - 4 * x[3] + 2 * x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 + 2 * x[1] * x[2] + 2 * x[1] * x[3])
    m.c = pe.Constraint(expr=x[1] + x[2] + 2 * x[3] <= 3)
    return m, 1 / 9


def largest_entropy():
    """The distribution on 1 … 6 of mean 4.5 with the largest entropy (Jaynes): maximise, ranges, equalities, logarithms."""
    m = pe.ConcreteModel()
    m.p = pe.Var(range(1, 7), bounds=(1e-9, 1), initialize=1 / 6)
    m.f = pe.Objective(expr=-sum(m.p[i] * pe.log(m.p[i]) for i in m.p), sense=pe.maximize)
    m.total = pe.Constraint(expr=sum(m.p[i] for i in m.p) == 1)
    m.mean = pe.Constraint(expr=(4.5, sum(i * m.p[i] for i in m.p), 6))
    return m, 1.61358118


def chain():
    """Fifty variables: constraints and terms of one shape, and defined variables where the writer makes them."""
    m = pe.ConcreteModel()
    m.x = pe.Var(range(50), initialize=lambda m, i: -1.2 if i % 2 == 0 else 1.0)
    m.e = pe.Expression(range(49), rule=lambda m, i: m.x[i + 1] - m.x[i] ** 2)
    m.f = pe.Objective(expr=sum(100 * m.e[i] ** 2 + (1 - m.x[i]) ** 2 for i in range(49)))
    m.c = pe.Constraint(range(49), rule=lambda m, i: m.x[i] ** 2 + m.x[i + 1] ** 2 <= 2.5 + 0.01 * i)
    m.l = pe.Constraint(range(48), rule=lambda m, i: (-3, m.x[i] + 2 * m.x[i + 1] - m.x[i + 2], 4))
    return m, 0.0


failed = 0
for make in (hs071, nonsmooth_rosenbrock, hs035, largest_entropy, chain):
    for labels in (False, True):
        model, want = make()
        result = pe.SolverFactory("asl:lathe-ampl").solve(model, options={"max_iterations": 3000}, symbolic_solver_labels=labels)
        got = pe.value(model.f)
        good = str(result.solver.termination_condition) == "optimal" and math.isclose(got, want, rel_tol=2e-6, abs_tol=1e-6)
        print(f"{make.__name__}: {got!r}, expected {want!r}: {result.solver.termination_condition}")
        failed += not good
# Dual values come back with the answer: what f gains by one more unit of a right-hand side (Ipopt's documentation prints those of problem 71).
for make, wanted in ((hs071, {"a": 0.5522937, "b": -0.1614686}), (hs035, {"c": -2 / 9})):
    model, _ = make()
    model.dual = pe.Suffix(direction=pe.Suffix.IMPORT)
    pe.SolverFactory("asl:lathe-ampl").solve(model)
    for name, want in wanted.items():
        got = model.dual.get(getattr(model, name), math.nan)
        print(f"{make.__name__}: dual value of {name} {got!r}, expected {want!r}")
        failed += not math.isclose(got, want, rel_tol=1e-3)
# Constraints that conflict, whatever the search that found it ended with.
model = pe.ConcreteModel()
model.x, model.y = pe.Var(initialize=3), pe.Var(initialize=1)
model.f = pe.Objective(expr=model.x)
model.disc, model.beyond = pe.Constraint(expr=model.x**2 + model.y**2 <= 1), pe.Constraint(expr=model.x >= 2)
result = pe.SolverFactory("asl:lathe-ampl").solve(model, load_solutions=False)
print(f"a disc and a far half plane: {result.solver.termination_condition}")
failed += str(result.solver.termination_condition) != "infeasible"
sys.exit(failed > 0)
