"""C2: total-variation denoising; no constraints."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

n = 80
eta = 0.5
torch.manual_seed(1)
b = torch.rand(n, 1).to(dtype=torch.double)
F = torch.zeros(n - 1, n, dtype=torch.double)
F[:, 1:] += torch.eye(n - 1)
F[:, :-1] -= torch.eye(n - 1)


def user_fn(X_struct):
    x = X_struct.x
    f = (x - b).T @ (x - b) + eta * torch.norm(F @ x, p=1)
    return [f, None, None]


opts = pygransoStruct()
opts.x0 = torch.ones((n, 1), dtype=torch.double)
opts.print_level = 1
opts.print_frequency = 50
soln = pygranso({"x": [n, 1]}, user_fn, opts)
assert soln.final.f <= 5.0779552563 and soln.termination_code in (0, 6) and soln.iters <= 600, vars(soln)
assert not hasattr(soln.final, "ci") and not hasattr(soln.final, "tv") and not hasattr(soln, "most_feasible")
print("passed")
