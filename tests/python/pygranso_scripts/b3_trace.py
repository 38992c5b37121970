"""B3: trace maximisation over orthonormal columns; the start is the default one."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct


def run(d, **settings):
    torch.manual_seed(0)
    n = 5
    A = torch.randn((n, n)).to(dtype=torch.double)
    A = (A + A.T) / 2

    def user_fn(X_struct):
        V = X_struct.V
        f = -torch.trace(V.T @ A @ V)
        ce = pygransoStruct()
        ce.c1 = V.T @ V - torch.eye(d).to(dtype=torch.double)
        return [f, None, ce]

    opts = pygransoStruct()
    opts.print_level = 0
    for name, value in settings.items():
        setattr(opts, name, value)
    return pygranso(var_spec={"V": [n, d]}, combined_fn=user_fn, user_opts=opts)


soln = run(1, maxit=3000)
assert abs(soln.final.f + 3.04324830604) < 1e-8 and soln.termination_code in (0, 6), vars(soln)
soln = run(2, opt_tol=5e-6, maxit=1000)
assert soln.final.f <= -3.922 and soln.final.feasible_to_tol and soln.final.ce.shape == (4, 1)
print("passed")
