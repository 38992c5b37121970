"""A1 (d): random start, and a logging function with its twelve arguments."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct


class HaltLog:
    def haltLog(self, iteration, x, penaltyfn_parts, d, get_BFGS_state_fn, H_regularized, ls_evals, alpha, n_gradients, stat_vec, stat_val, fallback_level):
        self.index += 1
        self.x_iterates.append(x)
        self.f.append(penaltyfn_parts.f)
        self.tv.append(penaltyfn_parts.tv)
        if iteration == 0:
            assert ls_evals == 1 and alpha == 0 and n_gradients == 1 and not d.any() and fallback_level == 0
        assert x.shape == d.shape == stat_vec.shape == (2, 1) and get_BFGS_state_fn().shape == (2, 2) and H_regularized is None
        assert penaltyfn_parts.ci.shape == (2, 1) and penaltyfn_parts.ce.shape == (0, 1)
        assert penaltyfn_parts.tv == max(penaltyfn_parts.tvi, penaltyfn_parts.tve) and penaltyfn_parts.mu > 0
        assert penaltyfn_parts.feasible_to_tol in (True, False)
        return False

    def makeHaltLogFunctions(self, maxit):
        self.x_iterates, self.f, self.tv, self.index = [], [], [], 0
        halt_log_fn = lambda iteration, x, penaltyfn_parts, d, get_BFGS_state_fn, H_regularized, ls_evals, alpha, n_gradients, stat_vec, stat_val, fallback_level: \
            self.haltLog(iteration, x, penaltyfn_parts, d, get_BFGS_state_fn, H_regularized, ls_evals, alpha, n_gradients, stat_vec, stat_val, fallback_level)
        return [halt_log_fn, lambda: self.getLog()]

    def getLog(self):
        log = pygransoStruct()
        log.x, log.f, log.tv = self.x_iterates[0:self.index], self.f[0:self.index], self.tv[0:self.index]
        return log


def comb_fn(X):
    ci = pygransoStruct()
    ci.c1, ci.c2 = (2**0.5) * X.x1 - 1, 2 * X.x2 - 1
    return [8 * abs(X.x1**2 - X.x2) + (1 - X.x1) ** 2, ci, None]


torch.manual_seed(3)
opts = pygransoStruct()
opts.opt_tol = 1e-6
opts.maxit = 100
opts.print_level = 0
[halt_log_fn, get_log_fn] = HaltLog().makeHaltLogFunctions(opts.maxit)
opts.halt_log_fn = halt_log_fn
soln = pygranso({"x1": [1], "x2": [1]}, comb_fn, opts)
log = get_log_fn()
assert len(log.f) == soln.iters + 1 and len(log.f[0:3]) == 3
assert log.f[-1] == soln.final.f and torch.equal(log.x[-1], soln.final.x)
assert not torch.equal(log.x[0], log.x[1])
torch.manual_seed(3)
assert torch.equal(log.x[0], torch.randn(2, 1).double())

opts.halt_log_fn = lambda iteration, *rest: iteration == 2
assert pygranso({"x1": [1], "x2": [1]}, comb_fn, opts).termination_code == 3
print("passed")
