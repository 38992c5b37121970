"""C3 on made-up data of the same shape: an l1-regularised logistic path, sixteen runs from zero."""
import numpy as np
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct
from scipy.optimize import minimize

rng = np.random.default_rng(0)
y = np.repeat([0.0, 1.0], 50)
data = rng.normal([5.0, 3.4, 1.5, 0.2], 0.3, (100, 4)) + y[:, None] * np.array([0.9, -0.6, 2.8, 1.1])
data /= data.max()
X, labels = torch.from_numpy(data), torch.from_numpy(y)


def solve(C, maxit):
    def comb_fn(X_struct):
        w = X_struct.w
        f = torch.sum(torch.log(1 + torch.exp(-labels * (X @ w).ravel()))) + 1 / C * torch.norm(w, p=1)
        return [f, None, None]

    opts = pygransoStruct()
    opts.x0 = torch.zeros(4, 1, dtype=torch.double)
    opts.print_level = 0
    opts.maxit = maxit
    opts.opt_tol = 1e-6
    return pygranso({"w": [4, 1]}, comb_fn, opts)


def convex(C):
    """The same with w = u - v, u and v not negative: smooth."""
    def value(z):
        w = z[:4] - z[4:]
        t = -y * (data @ w)
        s = -y / (1 + np.exp(-t))
        return np.logaddexp(0, t).sum() + z.sum() / C, np.concatenate([data.T @ s, -data.T @ s]) + 1 / C
    return minimize(value, np.ones(8), jac=True, bounds=[(0, None)] * 8, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-11, "maxiter": 5000}).fun


for k in range(16):
    C = 0.10007147962830593 * 10 ** (7 * k / 15)
    f_star = convex(C)
    soln = solve(C, 500)
    assert soln.final.f <= f_star * (1 + 1e-6), (k, soln.final.f, f_star)
print("passed")
