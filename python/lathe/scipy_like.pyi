from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .solution import Solution

class OptimizeResult(dict[str, Any]):
    x: NDArray[np.float64]
    fun: float
    jac: NDArray[np.float64]
    hess_inv: NDArray[np.float64]
    nit: int
    nfev: int
    njev: int
    status: int
    success: bool
    message: str
    maxcv: float
    how: str
    solution: Solution

def minimize(fun: Callable[..., Any], x0: ArrayLike, args: Any = (), method: Any = None, jac: Any = None, bounds: Any = None, constraints: Any = (),
             tol: float | None = None, callback: Callable[..., Any] | None = None, options: Mapping[str, Any] | None = None, *, hess: Any = None, hessp: Any = None,
             capture: Literal["verify", "always", "never"] = "verify", device: str = "auto") -> OptimizeResult: ...
