"""double_precision = False: tensors of single precision everywhere. A module in single precision."""
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

# A module left in single precision, in a run in double precision: the parameters round what they are given.
net, data, target = torch.nn.Linear(3, 2), torch.randn(9, 3), torch.randn(9, 2)
opts = pygransoStruct()
opts.x0 = torch.nn.utils.parameters_to_vector(net.parameters()).detach().reshape(8, 1)
opts.maxit, opts.print_level = 30, 0
soln = pygranso(net, lambda model: [(model(data) - target).abs().mean() + model.weight.abs().sum(), None, None], opts)
assert soln.how.startswith("captured") and soln.final.x.dtype == torch.double and net.weight.dtype == torch.float, soln.how
print("passed")
