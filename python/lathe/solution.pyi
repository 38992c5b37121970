from typing import Any

import numpy as np
from numpy.typing import NDArray

HISTORY: tuple[str, ...]

class Point:
    x: NDArray[np.float64]
    f: float
    # With constraints only:
    ci: NDArray[np.float64]
    ce: NDArray[np.float64]
    tvi: float
    tve: float
    tv: float
    feasible_to_tol: bool
    mu: float
    def __init__(self, fields: dict[str, Any]) -> None: ...

class Solution:
    final: Point
    best: Point | None
    most_feasible: Point | None
    final_unscaled: Point | None
    best_unscaled: Point | None
    most_feasible_unscaled: Point | None
    scalings: dict[str, Any]
    H_final: NDArray[np.float64] | dict[str, Any]
    n: int
    p: int
    q: int
    iters: int
    fn_evals: int
    gradient_evals: int
    termination_code: int
    n_qp: int
    n_mu_reductions: int
    n_start_moved: int
    stat_value: float
    stat_unweighted: float
    stat_mu_normalised: float
    quadprog_failure_rate: float
    mu_lowest: float
    time_total: float
    time_eval: float
    time_qp: float
    time_h: float
    time_compile: float
    BFGS_updates: dict[str, int]
    certificate: dict[str, Any]
    message: str
    error: str | None
    device: str
    device_reason: str
    changed_options: list[Any]
    interrupted: bool
    history: NDArray[np.float64]
    how: str
    exception: BaseException | None
    variables: Any
    def __init__(self, fields: dict[str, Any], variables: Any = None, how: str = "", exception: BaseException | None = None) -> None: ...
    @property
    def point(self) -> Point: ...
    @property
    def x(self) -> Any: ...
    @property
    def f(self) -> float: ...
    @property
    def feasible(self) -> bool: ...
    @property
    def success(self) -> bool: ...
    def table(self) -> np.recarray[Any, Any]: ...
    def summary(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...
