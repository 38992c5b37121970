"""What is printed: header, rows, the end block; ASCII and boxes; frequency; silence; the help pages."""
import contextlib
import io
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoOptions import pygransoOptions
from pygranso.pygransoOptionsAdvanced import pygransoOptionsAdvanced
from pygranso.pygransoStruct import pygransoStruct


def user_fn(X):
    ci = pygransoStruct()
    ci.c1 = X.x[0] - 0.5
    return [torch.sum(torch.abs(X.x)) + X.x[1]**2, ci, None]


def printed(**more):
    opts = pygransoStruct()
    opts.x0 = torch.tensor([[3.], [2.]], dtype=torch.double)
    opts.maxit = 7
    for name, value in more.items():
        setattr(opts, name, value)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        soln = pygranso({"x": [2, 1]}, user_fn, opts)
    return out.getvalue(), soln


text, soln = printed(print_ascii=True)
assert all(c < '\x80' for c in text) and '\x1b' not in text
rows = [line for line in text.splitlines() if line.replace('|', ' ').strip()[:1].isdigit()]
assert len(rows) >= soln.iters + 1, text
for word in ('Iter', 'Penalty Function', 'Mu', 'Value', 'Objective', 'Total Violation', 'Ineq', 'Eq', 'Line Search', 'SD', 'Evals', 't', 'Stationarity', 'Grads',
             'Iterations', 'Function evaluations', 'Termination code', '# of variables', '# of inequality constraints', '# of equality constraints'):
    assert word.lower() in text.lower(), (word, text)
assert '\u2551' in printed()[0] or '\u2502' in printed()[0] or '║' in printed()[0]
assert printed(print_level=0)[0] == ''
few = printed(print_ascii=True, print_frequency=3)[0]
assert len(few.splitlines()) < len(text.splitlines())
wide = printed(print_ascii=True, print_width=20)[0]
assert max(map(len, wide.splitlines())) > max(map(len, text.splitlines()))
lm = printed(print_ascii=True, limited_mem_size=2)[0]
assert 'limited' in lm.lower() and len(lm) > len(text)
unconstrained = io.StringIO()
with contextlib.redirect_stdout(unconstrained):
    opts = pygransoStruct()
    opts.x0, opts.print_ascii = torch.ones(2, 1, dtype=torch.double), True
    soln = pygranso({"x": [2, 1]}, lambda X: [torch.sum(X.x**2), None, None], opts)
assert 'Penalty Fn' in unconstrained.getvalue()
assert not hasattr(soln, 'most_feasible') and not hasattr(soln.final, 'ci') and not hasattr(soln.final, 'tv') and list(vars(soln.final)) == ['x', 'f']
for page in (pygransoOptions, pygransoOptionsAdvanced):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        help(page)
    assert 'maxit' in out.getvalue() or 'steering' in out.getvalue()
print("passed")
