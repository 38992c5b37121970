"""A network whose first layer has orthogonal rows and whose output bias is bounded; the model is used afterwards."""
import torch
import torch.nn as nn
from pygranso.private.getNvar import getNvarTorch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device('cpu')
torch.manual_seed(0)
double_precision = torch.double


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3, bias=False)
        self.fc2 = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


model = Net().to(device=device, dtype=double_precision)
model.train()
inputs = torch.randn(30, 4).to(device=device, dtype=double_precision)
labels = torch.sin(inputs.sum(1, keepdim=True))
criterion = nn.MSELoss()


def user_fn(model, inputs, labels):
    f = criterion(model(inputs), labels)
    W = list(model.parameters())[0]
    ce = pygransoStruct()
    ce.c1 = W @ W.T - torch.eye(3).to(device=device, dtype=double_precision)
    ci = pygransoStruct()
    ci.c1 = torch.abs(list(model.parameters())[2]) - 0.1
    return [f, ci, ce]


comb_fn = lambda model: user_fn(model, inputs, labels)  # noqa: E731
opts = pygransoStruct()
opts.torch_device = device
nvar = getNvarTorch(model.parameters())
assert nvar == 12 + 4 and isinstance(nvar, int)
opts.x0 = torch.nn.utils.parameters_to_vector(model.parameters()).detach().reshape(nvar, 1)
opts.opt_tol, opts.viol_eq_tol, opts.viol_ineq_tol = 1e-3, 1e-4, 1e-4
opts.maxit = 200
opts.print_level = 1
opts.print_ascii = True
opts.print_frequency = 25
soln = pygranso(var_spec=model, combined_fn=comb_fn, user_opts=opts)
torch.nn.utils.vector_to_parameters(soln.best.x, model.parameters())
with torch.no_grad():
    W = model.fc1.weight
    assert torch.norm(W @ W.T - torch.eye(3, dtype=torch.double), p=float('inf')) < 1e-3
    assert abs(criterion(model(inputs), labels).item() - soln.best.f) < 1e-8
assert soln.final.ce.shape == (9, 1) and soln.final.ci.shape == (1, 1)
assert soln.most_feasible.tv <= soln.final.tv + 1e-15
print("passed")
