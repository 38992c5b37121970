"""What a run gives, in PyGRANSO's types: columns as n x 1 tensors on the device of the run."""
from __future__ import annotations

import numpy as np

from ..pygransoStruct import pygransoStruct, struct

POINTS = ("final", "best", "most_feasible", "final_unscaled", "best_unscaled", "most_feasible_unscaled")
NUMBERS = ("time_total", "time_eval", "time_qp", "time_h", "n_qp", "n_mu_reductions", "stat_unweighted", "message", "how")


class Tensors:
    """NumPy arrays as tensors of one device and precision; ``limited``: H of n variables is kept as pairs."""

    def __init__(self, device, dtype, n, limited):
        self.device, self.dtype, self.n, self.limited = device, dtype, n, limited

    def __call__(self, array):
        import torch
        return torch.from_numpy(np.ascontiguousarray(array)).to(device=self.device, dtype=self.dtype)

    def column(self, array):
        """n x 1; absent: 0 x 1."""
        return self(np.empty(0) if array is None else array).reshape(-1, 1)

    def gradients(self, rows, n):
        """n x k of k rows."""
        return self(np.empty((n, 0)) if rows is None else rows.T)

    def hessian(self, H):
        """n x n, or the pairs of limited memory with one column per pair, of which there may be none yet."""
        if H is None and self.limited:
            H = {"S": np.empty((0, self.n)), "Y": np.empty((0, self.n)), "rho": np.empty(0), "gamma": 1.0}
        if not isinstance(H, dict):
            return None if H is None else self(H)
        return {"S": self(H["S"].T), "Y": self(H["Y"].T), "rho": self(H["rho"].reshape(1, -1)), "gamma": H["gamma"]}


def solution(made, tensors: Tensors) -> pygransoStruct:
    """Fields in the order of the record; those that do not apply are absent."""
    soln = pygransoStruct()
    for name in POINTS:
        point = getattr(made, name, None)
        if point is not None:
            setattr(soln, name, struct(**{k: tensors.column(v) if k in ("x", "ci", "ce") else v for k, v in vars(point).items()}))
    if made.scalings:
        soln.scalings = struct(**{k: tensors.column(v) if isinstance(v, np.ndarray) else v for k, v in made.scalings.items()})
    soln.H_final = tensors.hessian(made.H_final)
    soln.stat_value = made.stat_value
    soln.iters = made.iters
    soln.BFGS_updates = struct(**made.BFGS_updates)
    soln.fn_evals = made.fn_evals
    soln.termination_code = made.termination_code
    soln.quadprog_failure_rate = made.quadprog_failure_rate
    if made.termination_code in (11, 12, 13):
        soln.error = made.exception if made.exception is not None else made.error
    if made.termination_code == 8 and hasattr(made.final, "tv"):
        soln.mu_lowest = made.mu_lowest
    for name in NUMBERS:
        setattr(soln, name, getattr(made, name))
    return soln


class HaltLog:
    """The user's halt_log_fn, called with twelve arguments. What it raises ends the run and is raised when that has ended."""

    def __init__(self, function, tensors: Tensors):
        self.function, self.tensors, self.failure = function, tensors, None

    def __call__(self, it: dict):
        t = self.tensors
        try:
            return self.function(it["iter"], t.column(it["x"]), self.parts(it), t.column(it["d"]), lambda: t.hessian(it["H"]),
                                 None if it["H_regularised"] is None else t(it["H_regularised"]),
                                 it["ls_evals"], it["alpha"], it["n_gradients"], t.column(it["stat_vec"]), it["stat_val"], it["fallback_level"])
        except BaseException as error:
            self.failure = error
            return True

    def parts(self, it: dict) -> pygransoStruct:
        t = self.tensors
        return struct(x=t.column(it["x"]), f=it["f"], ci=t.column(it["ci"]), ce=t.column(it["ce"]), tvi=it["tvi"], tve=it["tve"], tv=it["tv"],
                      feasible_to_tol=it["feasible_to_tol"], mu=it["mu"], tvi_l1=it["tvi_l1"], tve_l1=it["tve_l1"], tv_l1=it["tv_l1"],
                      phi=it["phi"], grad_f=t.column(it["grad_f"]), grad_phi=t.column(it["grad_phi"]), grad_ci=t.gradients(it["grad_ci"], len(it["x"])),
                      grad_ce=t.gradients(it["grad_ce"], len(it["x"])), stat_value=it["stat_val"])
