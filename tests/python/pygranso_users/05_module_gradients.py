"""globalAD = False with a module: getObjGradDL and getCiGradVecDL."""
import torch
from pygranso.private.getNvar import getNvarTorch
from pygranso.private.tensor2vec import getCiGradVecDL, getObjGradDL
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

torch.manual_seed(4)
device = torch.device('cpu')
model = torch.nn.Linear(3, 2).to(device=device, dtype=torch.double)
data, target = torch.randn(20, 3, dtype=torch.double), torch.randn(20, 2, dtype=torch.double)
nvar = getNvarTorch(model.parameters())


def user_fn(model):
    f = torch.mean(torch.abs(model(data) - target))
    ci_vec = torch.abs(model.bias) - 0.05
    f_grad = getObjGradDL(nvar, model, f, device, True)
    ci_grad = getCiGradVecDL(nvar, 2, model, ci_vec, device, True)
    return [f.item(), f_grad, ci_vec.detach().reshape(-1, 1), ci_grad, None, None]


opts = pygransoStruct()
opts.globalAD = False
opts.x0 = torch.nn.utils.parameters_to_vector(model.parameters()).detach().reshape(-1, 1)
opts.maxit, opts.print_level = 60, 0
soln = pygranso(model, user_fn, opts)
assert soln.best.x.shape == (nvar, 1) and float(soln.best.ci.max()) <= 1e-6
first = torch.mean(torch.abs(data @ opts.x0[:6].reshape(2, 3).T + opts.x0[6:].reshape(2) - target)).item()
assert soln.best.f < first
print("passed")
