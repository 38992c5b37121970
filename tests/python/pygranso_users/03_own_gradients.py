"""globalAD = False with gradients by hand, f a plain number, columns n x 1 and n x k."""
import numpy as np
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

A = torch.tensor([[3., 1, 0], [1, 2, 0.5], [0, 0.5, 1]], dtype=torch.double)


def user_fn(X):
    x = X.x.detach()
    f = 0.5 * (x.T @ A @ x).item() + torch.sum(torch.abs(x - 1)).item()
    f_grad = A @ x + torch.sign(x - 1)
    ci = torch.vstack((x[0] - 2, -x[1] - 3))
    ci_grad = torch.tensor([[1., 0], [0, -1], [0, 0]], dtype=torch.double)
    ce, ce_grad = x[0] + x[1] + x[2] - 1, torch.ones(3, 1, dtype=torch.double)
    return [f, f_grad, ci, ci_grad, ce.reshape(1, 1), ce_grad]


opts = pygransoStruct()
opts.globalAD = False
opts.x0 = torch.tensor([[2.], [3.], [-1.]], dtype=torch.double)
opts.print_level = 0
opts.maxit = 200
soln = pygranso({"x": [3, 1]}, user_fn, opts)
assert soln.termination_code in (0, 6, 7), soln.termination_code
x = soln.final.x.numpy()
assert abs(x.sum() - 1) < 1e-6 and x.shape == (3, 1) and isinstance(x, np.ndarray)
assert soln.final.ci.shape == (2, 1) and soln.final.ce.shape == (1, 1) and soln.final.tvi == 0
print("passed")
