"""B1: a feasibility problem; and the same with no feasible point in reach."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

var_in = {"x": [1, 1], "y": [1, 1]}


def user_fn(X_struct, shift=-3):
    x, y = X_struct.x, X_struct.y
    f = 0 * x + 0 * y
    ci = pygransoStruct()
    ci.c1 = (y + x**2) ** 2 + 0.1 * y**2 - 1
    ci.c2 = y - torch.exp(-x) + shift
    ci.c3 = y - x + 4
    return [f, ci, None]


opts = pygransoStruct()
opts.x0 = torch.zeros(2, 1, dtype=torch.double)
opts.print_level = 0
soln = pygranso(var_in, user_fn, opts)
assert (soln.iters, soln.fn_evals, soln.termination_code) == (3, 7, 0)
assert torch.allclose(soln.final.x.ravel(), torch.tensor([1.688660, -2.486619], dtype=torch.double), atol=1e-5)

# f as a plain number: its gradient is zero
soln = pygranso(var_in, lambda X: [0, *user_fn(X)[1:]], opts)
assert (soln.iters, soln.fn_evals, soln.termination_code) == (3, 7, 0)

soln = pygranso(var_in, lambda X: user_fn(X, 3), opts)
assert soln.termination_code == 7 and not hasattr(soln, "best") and abs(soln.final.x[1].item() + 0.9535) < 1e-3
print("passed")
