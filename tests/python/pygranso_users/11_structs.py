"""Constraints in every form: blocks of any shape, lists of names made by setattr, feasibility alone, no feasible point, dictionaries."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct


def silent(**more):
    opts = pygransoStruct()
    opts.print_level = 0
    for name, value in more.items():
        setattr(opts, name, value)
    return opts


def blocks(X):
    ci, ce = pygransoStruct(), pygransoStruct()
    for k in range(3):
        setattr(ci, "c" + str(k), X.M[k] - (k + 1.0))           # rows
    ci.matrix = X.M - 5                                          # a block
    ce.trace = torch.trace(X.M) - 3                              # no dimension
    return [torch.linalg.matrix_norm(X.M, ord='nuc'), ci, ce]


soln = pygranso({"M": [3, 3]}, blocks, silent(x0=torch.eye(3, dtype=torch.double).reshape(-1, 1) * 0.7, maxit=100))
assert soln.final.ci.shape == (18, 1) and soln.final.ce.shape == (1, 1)
assert torch.allclose(soln.final.ci[3:6, 0], soln.final.x.reshape(3, 3)[1] - 2)
assert abs(soln.best.f - 3) < 1e-4, soln.best.f

only = pygranso({"x": [2]}, lambda X: [0.0, {"c1": (X.x - 1)**2 - 1e-2}, None], silent(x0=torch.tensor([3., 4.], dtype=torch.double).reshape(2, 1)))
assert only.best.f == 0 and only.best.tv <= 1e-6


def infeasible(X):
    ci = pygransoStruct()
    ci.c1, ci.c2 = X.x + 1, 1 - X.x
    return [X.x**2, ci, None]


none = pygranso({"x": [1]}, infeasible, silent(x0=torch.ones(1, 1, dtype=torch.double), maxit=30))
assert not hasattr(none, 'best') and hasattr(none, 'most_feasible') and not none.final.feasible_to_tol
assert none.most_feasible.tv > 0.9 and isinstance(none.final.tvi, float) and none.final.tve == 0
print(none.final)
assert 'most_feasible' in vars(none)
print("passed")
