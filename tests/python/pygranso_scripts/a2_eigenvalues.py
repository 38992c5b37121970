"""A2, the self-contained variant: eigenvalues of A + B X C. 40 x 40, 20 variables."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
torch.manual_seed(1)
N = 40
A = torch.randn(N, N).to(device=device, dtype=torch.double)
A = A - 0.88 * N**0.5 * torch.eye(N, dtype=torch.double)
B = torch.randn(N, 4).to(device=device, dtype=torch.double)
C = torch.randn(5, N).to(device=device, dtype=torch.double)
var_in = {"X": [4, 5]}


def user_fn(X_struct, A, B, C):
    X = X_struct.X
    M = A + B @ X @ C
    D = torch.linalg.eigvals(M)
    f = torch.max(D.imag)
    ci = pygransoStruct()
    ci.c1 = torch.max(D.real) + 1
    return [f, ci, None]


comb_fn = lambda X_struct: user_fn(X_struct, A, B, C)
opts = pygransoStruct()
opts.torch_device = device
opts.maxit = 60
opts.x0 = torch.zeros(20, 1, dtype=torch.double)
opts.print_frequency = 10
first = comb_fn(type("X", (), {"X": torch.zeros(4, 5, dtype=torch.double)}))
soln = pygranso(var_spec=var_in, combined_fn=comb_fn, user_opts=opts)
assert soln.best.feasible_to_tol and soln.best.tvi <= 1e-6
assert float(first[1].c1) > 0 and soln.best.f < float(first[0]) - 1, (soln.best.f, first)
check = torch.linalg.eigvals(A + B @ soln.best.x.reshape(4, 5) @ C)
assert abs(float(check.imag.max()) - soln.best.f) < 1e-8 and float(check.real.max()) + 1 <= 1e-6
print("passed")
