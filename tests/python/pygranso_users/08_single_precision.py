"""double_precision = False: tensors of single precision everywhere."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

torch.manual_seed(1)
M = torch.randn(6, 6)
M = M @ M.T + torch.eye(6)
types = set()


def user_fn(X):
    q = X.q
    types.add(q.dtype)
    f = -q.T @ M @ q
    ce = pygransoStruct()
    ce.c1 = q.T @ q - 1
    return [f, None, ce]


opts = pygransoStruct()
opts.double_precision = False
opts.torch_device = torch.device('cpu')
opts.opt_tol, opts.viol_eq_tol = 1e-3, 1e-3
opts.mu0 = 0.01
opts.maxit, opts.print_level = 300, 0
largest = torch.linalg.eigvalsh(M)[-1].item()
for length in (1.0, 6 ** 0.5):  # on the sphere, where the penalty has its kink and single precision sees no violation; and off it
    opts.x0 = length * torch.ones(6, 1) / 6 ** 0.5
    soln = pygranso({"q": [6, 1]}, user_fn, opts)
    assert types == {torch.float} and soln.final.x.dtype == torch.float and soln.final.ce.dtype == torch.float and soln.H_final.dtype == torch.float
    assert soln.termination_code == 0 and abs(float(soln.final.f) + largest) < 1e-3 * largest, (soln.termination_code, soln.final.f, largest)
print("passed")
