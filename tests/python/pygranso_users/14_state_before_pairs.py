"""Limited memory before its first pair: get_BFGS_state_fn() at iteration 0, H_final of a run without steps, and a warm start from it; frozen parameters."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

n, sizes = 3, []


def log(iteration, x, penaltyfn_parts, d, get_BFGS_state_fn, H_regularized, ls_evals, alpha, n_gradients, stat_vec, stat_val, fallback_level):
    sizes.append(get_BFGS_state_fn()['S'].shape)
    return False


def comb_fn(X):
    return [X.x.abs().sum() + (X.x[0] - 1)**2, None, None]


opts = pygransoStruct()
opts.limited_mem_size, opts.print_level, opts.maxit = 5, 0, 2
opts.x0 = torch.tensor([[3.], [-2.], [1.]], dtype=torch.double)
opts.halt_log_fn = log
soln = pygranso({"x": [n]}, comb_fn, opts)
assert sizes[0] == (n, 0) and sizes[-1][1] >= 1, sizes
opts.halt_log_fn = lambda iteration, *rest: True
soln = pygranso({"x": [n]}, comb_fn, opts)
assert soln.iters == 0 and soln.H_final['S'].shape == (n, 0) and soln.H_final['rho'].numel() == 0
opts.halt_log_fn, opts.limited_mem_warm_start = log, soln.H_final
assert pygranso({"x": [n]}, comb_fn, opts).iters == 2

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
for p in model[0].parameters():
    p.requires_grad_(False)
data = torch.randn(20, 3).double()
start = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone().reshape(-1, 1)
opts = pygransoStruct()
opts.x0, opts.print_level, opts.maxit = start, 0, 30
found = []
for capture in ("verify", "never"):
    opts.capture = capture
    soln = pygranso(model, lambda m: [(m(data) - 1).abs().mean(), None, None], opts)
    assert torch.equal(soln.final.x[:16], start[:16]) and not torch.equal(soln.final.x[16:], start[16:])
    found.append(soln.best.f)
assert abs(found[0] - found[1]) < 1e-6, found
assert not model[0].weight.requires_grad and model[2].weight.requires_grad
print("passed")
