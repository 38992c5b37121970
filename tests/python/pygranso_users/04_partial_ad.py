"""globalAD = False where only the constraint is differentiated by getCiGradVec, and the objective by getObjGrad."""
import torch
from pygranso.private.getCiGradVec import getCiGradVec
from pygranso.private.getNvar import getNvar
from pygranso.private.getObjGrad import getObjGrad
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device, double_precision = torch.device('cpu'), True
var_in = {"u": [2, 1], "v": [2, 2]}
nvar = getNvar(var_in)


def user_fn(X):
    u, v = X.u, X.v
    obj = torch.norm(u, p=1) + torch.norm(v - 1)
    f_grad = getObjGrad(nvar=nvar, var_dim_map=var_in, f=obj, X=X, torch_device=device, double_precision=double_precision)
    ci_vec_torch = torch.cat([(1 - u.sum()).reshape(1), (v @ u).reshape(-1) - 2])
    ci_grad = getCiGradVec(nvar=nvar, nconstr_ci_total=3, var_dim_map=var_in, X=X, ci_vec_torch=ci_vec_torch, torch_device=device, double_precision=double_precision)
    assert f_grad.shape == (6, 1) and ci_grad.shape == (6, 3) and not f_grad.requires_grad and not ci_grad.requires_grad
    ci = ci_vec_torch.detach().reshape(-1, 1)
    return [obj.item(), f_grad, ci, ci_grad, None, None]


opts = pygransoStruct()
opts.globalAD = False
opts.x0 = 0.3 * torch.ones((nvar, 1), dtype=torch.double)
opts.print_level = 0
opts.opt_tol = 1e-6
soln = pygranso(var_in, user_fn, opts)
assert abs(soln.best.f - 1) < 1e-4, soln.best.f
assert soln.best.ci.shape == (3, 1) and soln.best.ce.shape[0] == 0 and soln.best.tve == 0
print("passed")
