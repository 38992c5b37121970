"""B2: the largest eigenvalue over the sphere, 300 variables."""
import torch
from pygranso.private.getNvar import getNvar
from pygranso.private.vec2tensor import vec2tensor
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
n = 300
torch.manual_seed(0)
A = torch.randn((n, n)).to(device=device, dtype=torch.double)
A = 0.5 * (A + A.T)
var_in = {"x": [n, 1]}
assert getNvar(var_in) == n


def user_fn(X_struct, A):
    x = X_struct.x
    f = -x.T @ A @ x
    ce = pygransoStruct()
    ce.c1 = x.T @ x - 1
    return [f, None, ce]


opts = pygransoStruct()
opts.torch_device = device
opts.x0 = torch.randn((n, 1)).to(device=device, dtype=torch.double)
opts.mu0 = 0.1
opts.opt_tol = 1e-6
opts.print_frequency = 10
opts.print_ascii = True
soln = pygranso(var_spec=var_in, combined_fn=lambda X_struct: user_fn(X_struct, A), user_opts=opts)
best = torch.linalg.eigvalsh(A)[-1].item()
assert abs(soln.final.f + best) <= 1e-6 and soln.termination_code in (0, 6), (soln.final.f, best)
assert vec2tensor(soln.final.x, var_in).x.shape == (n, 1)
print("passed")
