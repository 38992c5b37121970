"""An exception at the k-th evaluation: code 11, soln.error and the results so far; at x0 it is the caller's."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

calls = 0


def user_fn(X):
    global calls
    calls += 1
    if calls > 3:
        raise RuntimeError("out of luck at call %d" % calls)
    value = X.x[0].item()  # cannot be captured
    f = torch.abs(X.x).sum() + (X.x[0] - 1)**2 + 0 * value
    ci = pygransoStruct()
    ci.c1 = X.x[1] + 0.5
    return [f, ci, None]


opts = pygransoStruct()
opts.x0 = torch.tensor([[2.], [1.]], dtype=torch.double)
opts.print_level = 0
soln = pygranso({"x": [2, 1]}, user_fn, opts)
assert soln.termination_code == 11 and "out of luck" in str(soln.error)
assert soln.final.x.shape == (2, 1) and soln.fn_evals in (3, 4) and calls == 4, (soln.fn_evals, calls)  # it counts, so it is not traced
assert True and hasattr(soln, 'most_feasible')
calls = 100
try:
    pygranso({"x": [2, 1]}, user_fn, opts)
except RuntimeError as error:
    assert "call 101" in str(error)
else:
    raise AssertionError("no error at x0")
print("passed")
