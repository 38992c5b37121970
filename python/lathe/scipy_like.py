"""lathe.minimize: the signature, meaning and result fields of scipy.optimize.minimize."""
from __future__ import annotations

import inspect
import warnings

import numpy as np

from .constraints import Terms, bounds_of, terms_of
from .errors import ArgumentError, CaptureError, kind_of
from .optimize import solve
from .problem import Problem
from .variables import Variables

#: Names of SciPy's methods: accepted, so that calls need no edit; the method is lathe's own in any case.
SCIPY_METHODS = ("nelder-mead", "powell", "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa", "slsqp", "trust-constr", "dogleg",
                 "trust-ncg", "trust-exact", "trust-krylov")
#: SciPy's names of options that lathe has under another name.
OPTION_NAMES = {"maxiter": "max_iterations", "gtol": "stationarity_tol", "ftol": "decrease_tol", "f_target": "target_f", "maxcor": "lbfgs_pairs", "maxls": "search_evals",
                "c1": "wolfe_decrease", "c2": "wolfe_slope", "hess_inv0": "H0"}
#: Options of SciPy's methods for which there is nothing to set here: a warning names those that are given (decision 341).
OTHER_OPTIONS = frozenset((
    "xatol", "fatol", "xtol", "xrtol", "eps", "finite_diff_rel_step", "norm", "return_all", "adaptive", "initial_simplex", "direc", "rhobeg", "iprint", "workers", "maxCGit", "eta", "stepmx",
    "accuracy", "minfev", "scale", "offset", "rescale", "barrier_tol", "sparse_jacobian", "initial_tr_radius", "final_tr_radius", "initial_constr_penalty", "initial_barrier_parameter",
    "initial_barrier_tolerance", "factorization_method", "initial_trust_radius", "max_trust_radius", "inexact", "subproblem_maxiter", "history_size", "nb_points", "store_history"))


class OptimizeResult(dict):
    """x, fun, jac, hess_inv, nit, nfev, njev, status, success, message, maxcv, as of SciPy; also ``solution`` and ``how``."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

    def __dir__(self):
        return list(self)

    def __repr__(self):
        shown = [k for k in ("message", "success", "status", "fun", "x", "nit", "jac", "hess_inv", "nfev", "njev", "maxcv", "how") if k in self]
        return "\n".join(f"{k:>9}: {self[k]!r}" for k in shown)


def minimize(fun, x0, args=(), method=None, jac=None, bounds=None, constraints=(), tol=None, callback=None, options=None, *, hess=None, hessp=None,
             capture="verify", device="auto"):
    """Minimise fun(x, *args) as scipy.optimize.minimize does, by lathe's own method, which needs no smoothness.

    bounds: pairs with None for no bound, or a Bounds; with keep_feasible no iterate leaves them (option honor_bounds). constraints: dicts ('ineq' means fun >= 0), LinearConstraint,
    NonlinearConstraint, one or a list. jac: a function, True (fun returns value and gradient), '2-point', '3-point', 'cs' or None.
    options: those of ``lathe.options("solve")`` and those of SciPy's methods: maxiter, maxfev, disp, gtol, ftol and others mean the same here; a warning
    names those that mean nothing, and hess and hessp. method: a function is called in place of lathe's method, as in SciPy; of a name the
    result's ``how`` says that it was not used.

    Ctrl-C ends a run; KeyboardInterrupt has the result so far as its ``partial``.

    Where the functions can be captured, derivatives come from the graph; otherwise from jac, else from differences.

    >>> import lathe, numpy as np
    >>> r = lathe.minimize(lambda x: (1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2, [-1.2, 1.0])
    >>> r.success, np.round(r.x, 5)
    (True, array([1., 1.]))
    """
    x0 = np.atleast_1d(np.asarray(x0))
    if x0.ndim != 1:
        raise ArgumentError("'x0' must only have one dimension.")
    if method is not None and not callable(method) and str(method).lower() not in (*SCIPY_METHODS, "lathe"):
        raise ArgumentError(f"Unknown solver {method}")
    args = args if isinstance(args, tuple) else (args,)
    if callable(method):
        given = options or {}
        return method(fun, x0, args=args, jac=jac, hess=hess, hessp=hessp, bounds=bounds, constraints=constraints, callback=callback, **given)
    start = Variables.of(x0)[1][0]
    box = bounds_of(bounds, start.size)
    start = box.inside(start)
    terms = terms_of(constraints, start, box)
    objective = Objective(fun, args, jac, box)
    problem = problem_of(objective, terms, start, capture)
    settings, most_evals, idle = settings_of(tol, options)
    if box.keep:
        settings.setdefault("honor_bounds", True)
    watch = Callback(callback, most_evals) if callback is not None or most_evals is not None else None
    note = unused(method, hess, hessp, idle)
    try:
        solution = solve(problem, start, device=device, iterate_fn=watch, **settings)
    except KeyboardInterrupt as stopped:
        if getattr(stopped, "solution", None) is not None:
            stopped.partial = result_of(stopped.solution, problem, objective, terms, box, note)
        raise
    made = result_of(solution, problem, objective, terms, box, note)
    if watch is not None and watch.too_many:
        made.update(success=False, message=f"Maximum number of function evaluations has been exceeded (maxfev = {most_evals}).")
    return made


def settings_of(tol, options):
    """(options of lathe, most evaluations or None, names of those that mean nothing here)"""
    settings, most_evals, idle = {} if tol is None else {"stationarity_tol": float(tol)}, None, []
    for name, value in (options or {}).items():
        if name in OTHER_OPTIONS:
            idle.append(name)
        elif name in ("maxfev", "maxfun"):
            most_evals = None if value is None else int(value)
        elif name in ("disp", "verbose"):
            settings["print_level"] = max(int(value or 0) - (name == "verbose"), 0)  # 1 of verbose is a report at the end
        elif name in ("catol", "feasibility_tol"):
            settings |= {"inequality_tol": float(value), "equality_tol": float(value)}
        elif value is not None:
            settings[OPTION_NAMES.get(name, name)] = value
    return settings, most_evals, idle


def unused(method, hess, hessp, idle) -> str:
    second = [name for name, value in (("hess", hess), ("hessp", hessp)) if value is not None]
    if second or idle:
        what = [f"Hessian information ({', '.join(second)})"] * bool(second) + [f"these options of SciPy's methods: {', '.join(idle)}"] * bool(idle)
        warnings.warn(f"lathe.minimize does not use {', nor '.join(what)}", RuntimeWarning, stacklevel=3)
    given = [f"method={method!r}"] if method is not None and str(method).lower() != "lathe" else []
    given += second + idle
    return f"; not used: {', '.join(given)}" if given else ""


class Objective:
    """fun with its args: values, and gradients by jac, by fun itself, or by differences."""

    def __init__(self, fun, args, jac, box):
        if not callable(fun):
            raise ArgumentError(f"fun is {kind_of(fun)}: expected a function")
        self.fun, self.args, self.box, self.both = fun, args, box, jac is True
        self.jac = jac if callable(jac) else None
        self.scheme = jac if jac in ("2-point", "3-point", "cs") else None
        if jac not in (None, True, False) and not self.jac and not self.scheme:
            raise ArgumentError(f"jac {jac!r}: expected a function, True, False, '2-point', '3-point' or 'cs'")
        self._at, self._gradient = None, None

    def traced(self, x):
        made = self.fun(self.box.clip(x), *self.args)
        return made[0] if self.both else made

    def value(self, x):
        made = self.fun(self.box.clip(x), *self.args)
        if self.both:
            made, self._gradient = made
            self._at = x.tobytes()
        from .callbacks import number
        return number(made)

    def gradient(self, x):
        if self.both:
            if self._at != x.tobytes():
                self.value(x)
            return np.ravel(np.asarray(self._gradient, dtype=float))
        if self.jac:
            return np.ravel(np.asarray(self.jac(x, *self.args), dtype=float))
        from .constraints import differences
        return differences(lambda y: np.atleast_1d(self.fun(self.box.clip(y), *self.args)), x, self.scheme or "3-point")[0]

    def source(self):
        return "fun" if self.both else "jac" if self.jac else f"differences ({self.scheme or '3-point'})"


def problem_of(objective: Objective, terms: Terms, start, capture) -> Problem:
    """The functions as one graph where they can be captured, else as callbacks with the derivatives that were given."""
    from . import _core
    from .console import say_once
    why = "capture='never'"
    if capture != "never":
        try:
            return Problem(lambda x: (objective.traced(x), *terms.traced(x)), start, capture="always")
        except CaptureError as error:
            if capture == "always":
                raise
            why = str(error)
    made = Problem.__new__(Problem)
    made.x0, made.variables = [start], Variables.of(start)[0]
    made.how = f"called from C, gradients by {objective.source()}: {why}"
    say_once(objective.fun, made.how)
    made.core = _core.Problem.from_functions(start.size, terms.p, terms.q, lambda x: (objective.value(x), *terms.values(x)),
                                             lambda x: (objective.gradient(x), *terms.gradients(x)), [("x", start.shape)])
    return made


class Callback:
    """SciPy's three forms: callback(xk), callback(intermediate_result=…), and callback(xk, state) of trust-constr; StopIteration or a true value
    stops the run, and so does the step with which there were too many evaluations."""

    def __init__(self, function, most_evals):
        self.function, self.most_evals, self.evals, self.too_many = function, most_evals, 0, False
        self.by_result, self.with_state = False, False
        try:
            parameters = inspect.signature(function).parameters if function is not None else {}
        except (TypeError, ValueError):
            return
        self.by_result = set(parameters) == {"intermediate_result"}
        needed = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
        self.with_state = len(needed) == 2

    def __call__(self, it):
        self.evals += it["ls_evals"]
        if it["iter"] == 0:
            return False
        self.too_many = self.most_evals is not None and self.evals >= self.most_evals
        return self.answer(it) or self.too_many

    def answer(self, it) -> bool:
        if self.function is None:
            return False
        state = OptimizeResult(x=it["x"], fun=it["f"], nit=it["iter"], nfev=self.evals)
        try:
            made = self.function(intermediate_result=state) if self.by_result else self.function(it["x"], state) if self.with_state else self.function(it["x"])
        except StopIteration:
            return True
        return bool(made)


def result_of(solution, problem, objective, terms, box, note) -> OptimizeResult:
    point = solution.point
    x = box.inside(point.x)
    at = problem.core.evaluate(x)
    violation = max(0.0, float(np.max(at["ci"], initial=0.0)), float(np.max(np.abs(at["ce"]), initial=0.0)))
    code = solution.termination_code
    settled = code in (0, 1, 2) or code == 6 and solution.stat_value <= 1e-4
    made = OptimizeResult(x=x, fun=float(at["f"]), jac=at["grad_f"], nit=solution.iters, nfev=solution.fn_evals, njev=solution.gradient_evals,
                          status=code, success=bool(settled and solution.feasible), message=solution.message, how=solution.how + note, solution=solution)
    if isinstance(solution.H_final, np.ndarray):
        made["hess_inv"] = solution.H_final
    if terms.p or terms.q:
        made["maxcv"] = violation
    return made
