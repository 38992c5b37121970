"""Types of the public names of lathe."""
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import compat as compat, console as console, errors as errors, torch as torch
from ._core import Graph as Graph
from .compiled import Function as Function
from .datasets import Dataset as Dataset
from .errors import (ArgumentError as ArgumentError, CancelledError as CancelledError, CaptureError as CaptureError, DeviceError as DeviceError,
                     DtypeError as DtypeError, Error as Error, FileError as FileError, FormatError as FormatError, InternalError as InternalError,
                     MismatchError as MismatchError, NumericError as NumericError, OutOfMemoryError as OutOfMemoryError, ShapeError as ShapeError,
                     UnsupportedError as UnsupportedError)
from .kernels import QuantumKernel as QuantumKernel
from .matrix_file import GramFile as GramFile
from .problem import Problem as Problem
from .scipy_like import OptimizeResult as OptimizeResult
from .solution import Point as Point, Solution as Solution
from .system import Diagnosis as Diagnosis, Profile as Profile

__version__: str
__all__: list[str]

Capture = Literal["verify", "always", "never"]
Start = ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike]
Progress = bool | Callable[[int, int], Any] | None

def solve(problem: str | PathLike[str] | Problem | Callable[..., Any], x0: Start | str | PathLike[str] | None = None, *, device: str = "auto",
          capture: Capture = "verify", jac: Callable[..., Any] | Literal["2-point", "3-point"] | None = None, on_error: Literal["raise", "stop"] = "raise", **options: Any) -> Solution: ...
def minimize(fun: Callable[..., Any], x0: ArrayLike, args: Any = (), method: Any = None, jac: Any = None, bounds: Any = None, constraints: Any = (),
             tol: float | None = None, callback: Callable[..., Any] | None = None, options: Mapping[str, Any] | None = None, *, hess: Any = None, hessp: Any = None,
             capture: Capture = "verify", device: str = "auto") -> OptimizeResult: ...
def function(f: Callable[..., Any], *examples: ArrayLike, mode: Literal["default", "eager", "reduce-overhead", "max-autotune"] = "default", device: str = "cpu",
             capture: Capture = "verify") -> Function: ...
def gram(X: ArrayLike, Y: ArrayLike | None = None, *, weights: ArrayLike | None = None, map: str | None = None, circuit: str | None = None, device: str = "auto", progress: Progress = None, **options: Any) -> NDArray[np.floating]: ...
def generate(config: str | PathLike[str] | Mapping[str, Any], output: str | PathLike[str] | None = None, *, resume: bool = False, overwrite: bool = False,
             device: str | None = None, threads: int = 0, progress: Progress = None, **overrides: Any) -> dict[str, Any]: ...
def replay(path: str | PathLike[str], row: int, *, realization: int | None = None, device: str = "cpu", weights_out: str | PathLike[str] | None = None) -> dict[str, Any]: ...
def devices() -> list[dict[str, Any]]: ...
def doctor() -> Diagnosis: ...
def profile(path: str | PathLike[str] | None = None) -> AbstractContextManager[Profile]: ...
def set_threads(n: int) -> None: ...
def get_threads() -> int: ...
def last_copies() -> list[str]: ...
def options(of: Literal["solve", "gram", "qsvm", "similarity"] = "solve") -> list[dict[str, Any]]: ...
def examples() -> dict[str, str]: ...
