"""pygranso: the solver's call."""
from __future__ import annotations

import lathe
from .private import options, problem, results
from .private.points import points_of
from .pygransoStruct import pygransoStruct


def pygranso(var_spec, combined_fn, user_opts=None) -> pygransoStruct:
    """Minimise f(x) subject to ci(x) <= 0 and ce(x) = 0.

    var_spec
        a dict name -> list of sizes, or a torch.nn.Module, whose parameters are the variables.
    combined_fn
        ``combined_fn(X)`` with the tensors as attributes of X (or X the module) returns [f, ci, ce], ci and ce a pygransoStruct of
        tensors or None; with ``opts.globalAD = False`` it returns [f, f_grad, ci, ci_grad, ce, ce_grad].
    user_opts
        a pygransoStruct; ``help(pygransoOptions)`` lists the options.

    The solution has final, best (absent when nothing was feasible), most_feasible, H_final, iters, fn_evals, termination_code, ...
    """
    given = options.take(user_opts)
    points = points_of(var_spec, given.device, given.double)
    x0 = options.start(given, points.n)
    made, captured = problem.build(points, combined_fn, x0, given)
    tensors = results.Tensors(given.device, points.dtype, points.n, bool(int(given.solver.get("limited_mem_size", 0))))
    log = results.HaltLog(given.halt_log_fn, tensors) if given.halt_log_fn is not None else None
    try:
        solved = lathe.solve(made, x0, device=str(given.device) if captured else "cpu", on_error="stop", halt_log_fn=log, **given.objects, **given.solver)
    except KeyboardInterrupt as stopped:
        if getattr(stopped, "solution", None) is not None:
            stopped.solution = stopped.partial = results.solution(stopped.solution, tensors)
        raise
    if captured:
        points.leave(solved.final.x)
    soln = results.solution(solved, tensors)
    if log is not None and log.failure is not None:
        raise log.failure
    return soln
