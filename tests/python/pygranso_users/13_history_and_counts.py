"""combined_fn counts its calls, keeps a history, prints, remembers its last value: what is kept is what the evaluations of the run left there."""
import contextlib
import io

import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

evals, history = 0, []


def counting(X):
    global evals
    evals += 1
    f = (X.x**2).sum() + X.x.abs().max()
    history.append(f.detach())
    return [f, None, None]


def printing(X):
    f = (X.x**2).sum() + X.x.abs().max()
    print("f:", f.item())
    return [f, None, None]


class Objective:
    def __init__(self):
        self.best = None

    def fun(self, X):
        f = (X.x**2).sum() + X.x.abs().max()
        self.best = f.detach() if self.best is None else torch.minimum(self.best, f.detach())
        return [f, None, None]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls, self.last = torch.nn.Linear(3, 1).double(), 0, None

    def forward(self, x):
        self.calls += 1
        self.last = self.layer(x)
        return self.last


opts = pygransoStruct()
opts.x0 = torch.tensor([[1.], [-2.], [3.]], dtype=torch.double)
opts.maxit, opts.print_level = 50, 0
soln = pygranso({"x": [3]}, counting, opts)
assert evals == soln.fn_evals == len(history), (evals, soln.fn_evals, len(history))
assert abs(torch.stack(history).min().item() - soln.best.f) < 1e-15
out = io.StringIO()
with contextlib.redirect_stdout(out):
    soln = pygranso({"x": [3]}, printing, opts)
lines = out.getvalue().splitlines()
assert len(lines) == soln.fn_evals and float(lines[0].split()[1]) == 17, lines[0]
objective = Objective()
soln = pygranso({"x": [3]}, objective.fun, opts)
assert abs(objective.best.item() - soln.best.f) < 1e-15
net = Net()
opts.x0 = torch.ones(4, 1, dtype=torch.double)
soln = pygranso(net, lambda model: [model(torch.ones(4, 3).double()).pow(2).sum(), None, None], opts)
assert net.calls == soln.fn_evals and net.last.shape == (4, 1)
print("passed")
