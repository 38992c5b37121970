"""C1: robust principal components, two matrices and twelve equalities."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
d1, d2 = 3, 4
torch.manual_seed(1)
eta = 0.05
Y = torch.randn(d1, d2).to(device=device, dtype=torch.double)
var_in = {"M": [d1, d2], "S": [d1, d2]}


def user_fn(X_struct, Y):
    M, S = X_struct.M, X_struct.S
    f = torch.norm(M, p="nuc") + eta * torch.norm(S, p=1)
    ce = pygransoStruct()
    ce.c1 = M + S - Y
    return [f, None, ce]


opts = pygransoStruct()
opts.torch_device = device
opts.print_frequency = 10
opts.x0 = 0.2 * torch.ones((2 * d1 * d2, 1), dtype=torch.double)
opts.opt_tol = 1e-6
soln = pygranso(var_spec=var_in, combined_fn=lambda X_struct: user_fn(X_struct, Y), user_opts=opts)
assert soln.best.f <= 0.3342 and soln.best.tve <= 1e-6 and soln.termination_code in (0, 6), vars(soln)
print("passed")
