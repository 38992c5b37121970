"""A3: dictionary learning on the sphere, with automatic, analytic and partly automatic gradients, and as a module."""
import numpy as np
import numpy.linalg as la
import torch
import torch.nn as nn
from pygranso.private.getCiGradVec import getCiGradVec
from pygranso.private.getNvar import getNvarTorch
from pygranso.private.getObjGrad import getObjGrad, getObjGradDL
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct
from scipy.stats import norm

device = torch.device("cpu")
n = 30
m = 10 * n**2
np.random.seed(1)
theta = 0.3
Y = norm.ppf(np.random.rand(n, m)) * (norm.ppf(np.random.rand(n, m)) <= theta)
Y = torch.from_numpy(Y).to(device=device, dtype=torch.double)
np.random.seed(1)
x0 = norm.ppf(np.random.rand(n, 1))
x0 /= la.norm(x0, 2)
x0 = torch.from_numpy(x0).to(device=device, dtype=torch.double)
var_in = {"q": [n, 1]}


def options(maxit=500):
    opts = pygransoStruct()
    opts.torch_device = device
    opts.maxit = maxit
    opts.x0 = x0
    opts.print_frequency = 10
    opts.print_level = 0
    return opts


def user_fn(X_struct):
    q = X_struct.q
    f = 1 / m * torch.norm(q.T @ Y, p=1)
    ce = pygransoStruct()
    ce.c1 = q.T @ q - 1
    return [f, None, ce]


soln = pygranso(var_in, user_fn, options())
assert abs(soln.final.f - 0.4919422) < 1e-6 and soln.termination_code in (0, 6)
assert abs(torch.max(torch.abs(soln.final.x)).item() - 1) < 1e-6
assert soln.final.ci.shape == (0, 1) and soln.final.ce.shape == (1, 1)

# target value, with PyGRANSO's cache rule
opts = options()
opts.fvalquit = 0.4963
opts.compat = 1
opts.capture = "never"  # x0 lies on the kink of |ce|, where the last bit of q'q decides the path: here that of PyTorch
soln = pygranso(var_in, user_fn, opts)
assert soln.termination_code == 2 and (soln.iters, soln.fn_evals) == (77, 256), vars(soln)


def analytic(X_struct):
    q = X_struct.q.detach()
    qtY = q.T @ Y
    f = (1 / m * torch.norm(qtY, p=1)).item()
    f_grad = 1 / m * Y @ torch.sign(qtY).T
    ce = q.T @ q - 1
    ce_grad = 2 * q
    return [f, f_grad, None, None, ce, ce_grad]


def partial(X_struct):
    q = X_struct.q
    f = 1 / m * torch.norm(q.T @ Y, p=1)
    f_grad = getObjGrad(nvar=n, var_dim_map=var_in, f=f, X=X_struct, torch_device=device, double_precision=True)
    ce_vec = q.T @ q - 1
    ce_grad = getCiGradVec(nvar=n, nconstr_ci_total=1, var_dim_map=var_in, X=X_struct, ci_vec_torch=ce_vec, torch_device=device, double_precision=True)
    assert f_grad.shape == (n, 1) and ce_grad.shape == (n, 1) and not f_grad.requires_grad
    return [f.detach().item(), f_grad, None, None, ce_vec.detach(), ce_grad]


rows = {}
for name, function in (("by AD", user_fn), ("analytic", analytic), ("partial", partial)):
    values = []
    opts = options(20)
    opts.globalAD = function is user_fn
    opts.capture = "never"
    opts.halt_log_fn = lambda it, x, parts, *rest: values.append(parts.mu * parts.f + parts.tv)
    soln = pygranso(var_spec=var_in, combined_fn=function, user_opts=opts)
    rows[name] = values
    assert soln.iters == 20 and abs(values[0] - 0.61751624522) < 1e-9 and abs(values[20] - 0.58456516016) < 1e-7, (name, values)


class Sphere(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(x0.clone())

    def forward(self, Y):
        return self.q.T @ Y


model = Sphere()
assert getNvarTorch(model.parameters()) == n


def of_module(model):
    f = 1 / m * torch.norm(model(Y), p=1)
    assert getObjGradDL(n, model, f, device, True).shape == (n, 1) if torch.is_grad_enabled() and f.requires_grad else True
    q = list(model.parameters())[0]
    ce = pygransoStruct()
    ce.c1 = q.T @ q - 1
    return [f, None, ce]


opts = options()
opts.x0 = torch.nn.utils.parameters_to_vector(model.parameters()).detach().reshape(n, 1)
soln = pygranso(var_spec=model, combined_fn=of_module, user_opts=opts)
assert abs(soln.final.f - 0.4919422) < 1e-6
torch.nn.utils.vector_to_parameters(soln.final.x, model.parameters())
assert abs(float(of_module(model)[0]) - soln.final.f) < 1e-12
print("passed")
