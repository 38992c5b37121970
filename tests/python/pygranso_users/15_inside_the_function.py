"""What users do inside combined_fn: fill tensors element by element, ask torch.autograd.grad for a derivative, sort, one_hot, pad in circles; captured and called agree."""
import torch
import torch.nn.functional as F
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

torch.manual_seed(0)
n = 6
labels, image = torch.tensor([0, 2, 1, 2]), torch.rand(1, 1, 6, 6).double()
points = torch.linspace(0, 1, 20).double().reshape(-1, 1)
net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()


def filled(X):
    grid = torch.zeros(n, 1, dtype=torch.double)
    for i in range(n):
        grid[i] = X.x[i] ** 2 * (i + 1)
    f = 0
    for i in range(n - 1):
        f += torch.abs(grid[i + 1] - grid[i])
    ci = pygransoStruct()
    M = torch.empty(2, 2, dtype=torch.double)
    M[0, 0], M[0, 1], M[1, 0], M[1, 1] = X.x[0, 0], X.x[1, 0], X.x[2, 0], 1
    ci.det = 1 - torch.linalg.det(M)
    return [f + grid.sum(), ci, None]


def sorted_values(X):
    largest = torch.sort(X.x.abs(), dim=0, descending=True)[0][:3].sum()
    padded = F.pad(image * X.x[0], (1, 1, 1, 1), mode="circular")
    return [largest + torch.median(X.x) ** 2 + (F.one_hot(labels, 3) * X.x[:3].T).pow(2).sum() + padded.sum() / 1e3, None, None]


def physics(model):
    x = points.clone().requires_grad_(True)
    u = model(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    ce = pygransoStruct()
    ce.start = model(torch.zeros(1, 1).double()) - 1
    return [((du + u) ** 2).mean(), None, ce]


def run(var_spec, function, x0):
    found = []
    for capture in ("verify", "never"):
        opts = pygransoStruct()
        opts.x0, opts.maxit, opts.print_level, opts.capture = x0, 60, 0, capture
        found.append(pygranso(var_spec, function, opts))
    assert found[0].how.startswith("captured"), found[0].how
    assert abs(found[0].final.f - found[1].final.f) < 1e-2 * (1 + abs(found[1].final.f)), (function, found[0].final.f, found[1].final.f)


run({"x": [n, 1]}, filled, torch.linspace(1, 2, n, dtype=torch.double).reshape(n, 1))
run({"x": [n, 1]}, sorted_values, torch.linspace(-1, 2, n, dtype=torch.double).reshape(n, 1))
run(net, physics, torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone().reshape(-1, 1))
print("passed")
