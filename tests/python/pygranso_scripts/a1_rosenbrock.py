"""A1: the nonsmooth Rosenbrock function with two constraints, and restarts with full and with limited memory."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
var_in = {"x1": [1], "x2": [1]}


def user_fn(X_struct):
    x1 = X_struct.x1
    x2 = X_struct.x2
    f = 8 * abs(x1**2 - x2) + (1 - x1) ** 2
    ci = pygransoStruct()
    ci.c1 = (2**0.5) * x1 - 1
    ci.c2 = 2 * x2 - 1
    ce = None
    return [f, ci, ce]


comb_fn = lambda X_struct: user_fn(X_struct)

# (a) from the kink
opts = pygransoStruct()
opts.torch_device = device
opts.x0 = torch.ones((2, 1), device=device, dtype=torch.double)
opts.print_level = 0
soln = pygranso(var_spec=var_in, combined_fn=comb_fn, user_opts=opts)
assert 0.0857864376269 - 1e-5 <= soln.best.f <= 0.0859 and soln.best.feasible_to_tol and soln.termination_code in (0, 6), vars(soln)

# (b) ten steps from far away, printed
opts = pygransoStruct()
opts.torch_device = device
opts.x0 = 5.5 * torch.ones((2, 1), device=device, dtype=torch.double)
opts.mu0 = 100
opts.maxit = 10
opts.print_level = 1
opts.print_frequency = 1
opts.print_ascii = True
opts.QPsolver = "osqp"
soln = pygranso(var_in, comb_fn, opts)
assert soln.termination_code == 4 and soln.iters == 10 and soln.fn_evals == 35
assert abs(soln.final.f - 9.27057783616) < 1e-9 and abs(soln.final.tvi - 4.053355) < 1e-5
assert soln.final.x.shape == (2, 1) and soln.final.x.dtype == torch.double and soln.H_final.shape == (2, 2)
assert not hasattr(soln, "best") and hasattr(soln, "most_feasible")

# (c) goes on from there
opts = pygransoStruct()
opts.torch_device = device
opts.x0 = soln.final.x
opts.mu0 = soln.final.mu
opts.H0 = soln.H_final
opts.scaleH0 = False
opts.opt_tol = 1e-6
opts.maxit = 100
opts.print_level = 0
soln = pygranso(var_in, comb_fn, opts)
assert soln.final.f <= 0.0862 and soln.final.feasible_to_tol and soln.termination_code in (0, 6) and soln.iters <= 60

# (e) limited memory of one pair, then (f) goes on from there
opts = pygransoStruct()
opts.torch_device = device
opts.x0 = 5.5 * torch.ones((2, 1), device=device, dtype=torch.double)
opts.mu0 = 100
opts.maxit = 10
opts.limited_mem_size = 1
opts.print_level = 0
soln = pygranso(var_in, comb_fn, opts)
assert abs(soln.final.f - 10.4174724535) < 1e-8 and soln.fn_evals == 29
assert set(soln.H_final) == {"S", "Y", "rho", "gamma"} and soln.H_final["S"].shape == (2, 1) and soln.H_final["rho"].shape == (1, 1)
assert abs(soln.most_feasible.f - 75.6886238113) < 1e-7

opts = pygransoStruct()
opts.torch_device = device
opts.x0 = soln.final.x
opts.mu0 = soln.final.mu
opts.limited_mem_size = 1
opts.limited_mem_warm_start = soln.H_final
opts.limited_mem_fixed_scaling = False
opts.scaleH0 = False
opts.maxit = 100
opts.print_level = 0
soln = pygranso(var_in, comb_fn, opts)
assert soln.final.f <= 0.0860 and soln.termination_code in (0, 6)
print("passed")
