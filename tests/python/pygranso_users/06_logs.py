"""halt_log_fn: lists of iterates, a stop by one's own rule, and the state of BFGS."""
import torch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct


class HaltLog:
    def haltLog(self, iteration, x, penaltyfn_parts, d, get_BFGS_state_fn, H_regularized, ls_evals, alpha, n_gradients, stat_vec, stat_val, fallback_level):
        self.index += 1
        self.x_iterates.append(x)
        self.f.append(penaltyfn_parts.f)
        self.tv.append(penaltyfn_parts.tv)
        self.mu.append(penaltyfn_parts.mu)
        self.evals.append(ls_evals)
        assert x.shape == (2, 1) and d.shape == (2, 1) and stat_vec.shape == (2, 1) and isinstance(x, torch.Tensor)
        assert isinstance(iteration, int) and iteration == self.index - 1
        if iteration == 0:
            assert torch.norm(d) == 0 and ls_evals == 1 and alpha == 0 and n_gradients == 1 and fallback_level == 0
        else:
            self.H = get_BFGS_state_fn()
        assert hasattr(penaltyfn_parts, 'feasible_to_tol') and hasattr(penaltyfn_parts, 'tvi') and hasattr(penaltyfn_parts, 'tve')
        return iteration == 5

    def makeHaltLogFunctions(self, maxit):
        self.index, self.x_iterates, self.f, self.tv, self.mu, self.evals = 0, [], [], [], [], []
        return [self.haltLog, self.getLog]

    def getLog(self):
        log = pygransoStruct()
        log.x, log.f, log.tv, log.mu, log.evals = self.x_iterates, self.f, self.tv, self.mu, self.evals
        return log


def user_fn(X):
    x1, x2 = X.x1, X.x2
    f = 8 * abs(x1**2 - x2) + (1 - x1)**2
    ci = pygransoStruct()
    ci.c1 = (2**0.5) * x1 - 1
    ci.c2 = 2 * x2 - 1
    return [f, ci, None]


log_obj = HaltLog()
[halt_log_fn, get_log_fn] = log_obj.makeHaltLogFunctions(100)
opts = pygransoStruct()
opts.halt_log_fn = halt_log_fn
opts.x0 = torch.ones(2, 1, dtype=torch.double) * 3
opts.print_level = 0
opts.maxit = 100
soln = pygranso({"x1": [1], "x2": [1]}, user_fn, opts)
log = get_log_fn()
assert soln.termination_code == 3 and soln.iters == 5
assert len(log.f) == 6 and len(log.x) == 6 and log.f[0:3][0] == log.f[0]
assert abs(log.f[0] - (8 * 6 + 4)) < 1e-12, log.f[0]
assert torch.equal(log.x[0], torch.full((2, 1), 3., dtype=torch.double)) and not torch.equal(log.x[0], log.x[-1])
assert torch.equal(log.x[-1], soln.final.x) and log.mu[0] == 1 and sum(log.evals) <= soln.fn_evals
assert log_obj.H.shape == (2, 2)
print("f of the first three:", log.f[0:3])
print("passed")
