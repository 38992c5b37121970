"""user_opts as options of lathe.solve."""
from __future__ import annotations

import dataclasses
import difflib

import numpy as np

import lathe.compat
from lathe.errors import ArgumentError
from ..pygransoStruct import fields_of

#: May be None; every other known option set to None is a mistake.
MAY_BE_NONE = ("x0", "H0", "limited_mem_warm_start", "halt_log_fn")
QP_SOLVERS = ("osqp", "gurobi")
#: The published method, whose runs scripts know; lathe.solve has other defaults.
AS_PUBLISHED = {"patience": 0, "lagrangian_updates": False, "correct_steps": False, "steering_halvings": 0, "honor_bounds": False, "scale_functions": False, "scale_variables": False, "bfgs_damping": 1e-4}


class OptionError(ArgumentError, AttributeError):
    """An option that does not exist, or has no such value."""


@dataclasses.dataclass
class Given:
    """What this layer acts on itself; ``solver`` goes to lathe.solve as it is."""

    x0: object = None
    device: object = None
    double: bool = True
    globalAD: bool = True
    capture: str = "verify"
    halt_log_fn: object = None
    objects: dict = dataclasses.field(default_factory=dict)
    solver: dict = dataclasses.field(default_factory=dict)


def known() -> dict:
    """Every option by name: the library's rows, and what only programs can set."""
    from lathe import _core
    rows = {name: row["help"] for row in _core.option_rows("solve") for name in (row["alias"], row["name"]) if name}
    return rows | {"QPsolver": "osqp or gurobi; the quadratic programs are solved by lathe's own solver",
                   "halt_log_fn": "called at the start and after every step, with twelve arguments; true stops the run",
                   "capture": "verify: combined_fn as a graph where it can be captured; always; never: called as it is"}


def take(user_opts) -> Given:
    import torch
    fields = {} if user_opts is None else fields_of(user_opts)
    names = known()
    for name, value in fields.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise OptionError(f"there is no option '{name}'" + (f": did you mean '{near[0]}'?" if near else ""))
        if value is None and name not in MAY_BE_NONE:
            raise OptionError(f"option '{name}' is None: expected a value ({names[name]})")
    given = Given(device=torch.device(fields.pop("torch_device", "cpu")), double=bool(fields.pop("double_precision", True)),
                  globalAD=bool(fields.pop("globalAD", True)), capture=fields.pop("capture", lathe.compat.default_capture), x0=fields.pop("x0", None),
                  halt_log_fn=fields.pop("halt_log_fn", None))
    if given.capture not in ("verify", "always", "never"):
        raise OptionError(f"option 'capture' is {given.capture!r}: expected verify, always or never")
    solver = fields.pop("QPsolver", None)
    if solver is not None and solver not in QP_SOLVERS:
        raise OptionError(f"option 'QPsolver' is {solver!r}: expected one of {', '.join(QP_SOLVERS)}")
    if fields.get("limited_mem_warm_start") is not None and not fields.get("limited_mem_size", 0):
        raise OptionError("option 'limited_mem_warm_start' is given, but limited_mem_size is 0: expected the size of the run that it comes from")
    for name, read in (("H0", matrix), ("limited_mem_warm_start", warm_start)):
        value = fields.pop(name, None)
        if value is not None and (made := read(value)) is not None:
            given.objects[name] = made
    given.solver = {"print_level": 1, "double_precision": given.double} | AS_PUBLISHED | {name: plain(value) for name, value in fields.items()}
    if solver is not None and given.solver["print_level"] and given.solver.get("quadprog_info_msg", True):
        print(f"QPsolver '{solver}' is not used: the quadratic programs are solved by lathe's own solver.")
    return given


def plain(value):
    """A tensor of one element as the number in it."""
    return value.item() if hasattr(value, "numel") and value.numel() == 1 else value


def numbers_of(value, what) -> np.ndarray:
    import torch
    if torch.is_tensor(value):
        value = (value.to_dense() if value.layout != torch.strided else value).detach().cpu().double().numpy()
    elif hasattr(value, "toarray"):  # sparse, of SciPy
        value = value.toarray()
    array = np.array(value, dtype=float)
    if not np.isfinite(array).all():
        raise OptionError(f"option '{what}' is not finite everywhere")
    return array


def matrix(value) -> np.ndarray:
    return numbers_of(value, "H0")


def warm_start(value) -> dict | None:
    """S and Y as n x m, as H_final has them; the library takes one row per pair. None where there are no pairs yet."""
    fields = fields_of(value)
    missing = [name for name in ("S", "Y", "rho", "gamma") if name not in fields]
    if missing:
        raise OptionError(f"option 'limited_mem_warm_start' has no {', '.join(missing)}: expected S, Y, rho and gamma")
    made = {name: numbers_of(fields[name], f"limited_mem_warm_start.{name}") for name in ("S", "Y", "rho")}
    if made["S"].ndim != 2 or made["S"].shape != made["Y"].shape or made["rho"].size != made["S"].shape[1]:
        raise OptionError(f"option 'limited_mem_warm_start': S is {made['S'].shape}, Y is {made['Y'].shape}, rho has {made['rho'].size} numbers: "
                          "expected n x m, n x m and m")
    if not made["S"].shape[1]:
        return None
    return {"S": np.ascontiguousarray(made["S"].T), "Y": np.ascontiguousarray(made["Y"].T), "rho": made["rho"].ravel(), "gamma": float(plain(fields["gamma"]))}


def start(given: Given, n: int) -> np.ndarray:
    """x0 as a vector. Absent: standard normal from PyTorch's generator in single precision, as PyGRANSO draws it, so that
    ``torch.manual_seed`` decides."""
    import torch
    if given.x0 is None:
        return torch.randn(n, 1).double().numpy().ravel()
    x = numbers_of(given.x0, "x0")
    if x.size != n:
        raise OptionError(f"option 'x0' has {x.size} numbers: the problem has {n} variables")
    return x.ravel()
