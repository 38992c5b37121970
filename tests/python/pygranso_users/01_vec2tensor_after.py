"""Two named matrices; results are unpacked by vec2tensor afterwards; options and results are printed as users do."""
import torch
from pygranso.private.getNvar import getNvar
from pygranso.private.vec2tensor import vec2tensor
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device('cpu')
torch.manual_seed(2)
var_in = {"A": [3, 2], "b": [2, 1]}
target = torch.randn(3, 1).to(device=device, dtype=torch.double)


def user_fn(X_struct):
    A, b = X_struct.A, X_struct.b
    assert A.requires_grad and A.shape == (3, 2) and A.dtype == torch.double
    f = torch.norm(A @ b - target) + 0.1 * torch.sum(torch.abs(A))
    ce = pygransoStruct()
    ce.c1 = b.T @ b - 1
    return [f, None, ce]


opts = pygransoStruct()
opts.torch_device = device
opts.maxit = 300
opts.x0 = torch.ones((getNvar(var_in), 1)).to(device=device, dtype=torch.double)
opts.print_frequency = 50
opts.opt_tol = 1e-5
soln = pygranso(var_spec=var_in, combined_fn=user_fn, user_opts=opts)
X = vec2tensor(soln.best.x, var_in)
assert type(soln.best.x) is torch.Tensor and soln.best.x.shape == (8, 1)
assert X.A.shape == (3, 2) and X.b.shape == (2, 1)
assert abs(torch.norm(X.b).item() - 1) < 1e-5
assert soln.best.ci.numel() == 0 and soln.best.ce.shape == (1, 1)
print("best f = {:.6f} after {} iterations, {} evaluations, code {}".format(soln.best.f, soln.iters, soln.fn_evals, soln.termination_code))
print("A =", X.A.cpu().numpy())
print("passed")
