"""Limited memory, stopped by maxit, then gone on from H_final, final.x and final.mu."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

n = 30


def user_fn(X):
    x = X.x
    f = torch.sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
    ci = pygransoStruct()
    ci.c1 = torch.sum(x**2) - 20
    return [f, ci, None]


opts = pygransoStruct()
opts.x0 = torch.zeros((n, 1), dtype=torch.double)
opts.limited_mem_size = 5
opts.limited_mem_fixed_scaling = False
opts.maxit = 15
opts.print_level = 0
soln = pygranso({"x": [n, 1]}, user_fn, opts)
assert soln.termination_code == 4 and soln.iters == 15
H = soln.H_final
assert list(H.keys()) == ['S', 'Y', 'rho', 'gamma'], list(H.keys())
assert H['S'].shape == (n, 5) and H['Y'].shape == (n, 5) and H['rho'].numel() == 5 and float(H['gamma']) > 0
opts.x0, opts.mu0, opts.limited_mem_warm_start, opts.scaleH0 = soln.final.x, soln.final.mu, soln.H_final, False
opts.maxit = 500
again = pygranso({"x": [n, 1]}, user_fn, opts)
assert again.final.f < soln.final.f and again.final.tv < 1e-5
one = pygranso({"x": [n, 1]}, user_fn, pygransoStruct())  # all defaults, an empty struct; prints its table
assert one.H_final.shape == (n, n)
print("passed")
