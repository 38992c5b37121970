"""Several starts in one loop, the best kept; options reused; maxclocktime, fvalquit, prescaling; numbers formatted as users do."""
import time
import numpy as np
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

torch.manual_seed(7)
w = torch.tensor(np.linspace(1, 2, 5), dtype=torch.double)


def comb_fn(X_struct):
    x = X_struct.x
    obj = torch.max(torch.abs(w * x.squeeze() - torch.cos(3 * x.squeeze()))) + 1e-2 * torch.sum(x**2)
    return [obj, None, None]


opts = pygransoStruct()
opts.maxit = 400
opts.opt_tol = 1e-8
opts.print_level = 0
start = time.time()
results = []
for k in range(4):
    opts.x0 = torch.randn(5, 1, dtype=torch.double)
    s = pygranso(var_spec={"x": [5, 1]}, combined_fn=comb_fn, user_opts=opts)
    results.append((float(s.final.f), s.termination_code, s.iters))
    print(f"run {k}: f = {s.final.f:.10e}, code {s.termination_code:d}, {s.iters:4d} iterations")
assert min(r[0] for r in results) < 0.5 and all(r[1] in (0, 6) for r in results), results
opts.maxclocktime = 1e-9
assert pygranso({"x": [5, 1]}, comb_fn, opts).termination_code == 5
del opts.maxclocktime
opts.fvalquit = 10.0
assert pygranso({"x": [5, 1]}, comb_fn, opts).termination_code == 2
del opts.fvalquit
opts.prescaling_threshold = 1e-3
s = pygranso({"x": [5, 1]}, comb_fn, opts)
assert s.final_unscaled.f > s.final.f and s.scalings.f < 1 and s.best_unscaled.x.shape == (5, 1)
assert time.time() - start < 120
print("passed")
