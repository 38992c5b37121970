"""lathe: nonsmooth constrained optimization, datasets of neural operators and quantum kernels on one small tensor compiler.

>>> import lathe, numpy as np
>>> def rosenbrock(x):
...     return 8 * np.abs(x[0]**2 - x[1]) + (1 - x[0])**2, [np.sqrt(2) * x[0] - 1, 2 * x[1] - 1]
>>> solution = lathe.solve(rosenbrock, x0=[5.5, 5.5], mu0=100)
>>> print(np.round(solution.x, 3), round(solution.f, 3))
[0.707 0.5  ] 0.086

The functions are imported on first use: ``import lathe`` alone loads neither NumPy nor the library.
"""
from __future__ import annotations

import importlib

#: Public name -> module that has it. No module is called like a public name: importing it would hide the function.
_PUBLIC = {
    "solve": "optimize", "Problem": "problem", "Solution": "solution", "Point": "solution", "minimize": "scipy_like", "function": "compiled",
    "gram": "kernels", "QuantumKernel": "kernels", "GramFile": "matrix_file", "generate": "datasets", "replay": "datasets", "Dataset": "datasets",
    "devices": "system", "doctor": "system", "profile": "system", "set_threads": "system", "get_threads": "system", "last_copies": "system",
    "options": "system", "examples": "system", "Graph": "_core",
    "Error": "errors", "ArgumentError": "errors", "ShapeError": "errors", "DtypeError": "errors", "OutOfMemoryError": "errors",
    "FileError": "errors", "FormatError": "errors", "UnsupportedError": "errors", "DeviceError": "errors", "NumericError": "errors",
    "MismatchError": "errors", "CancelledError": "errors", "InternalError": "errors", "CaptureError": "errors",
}
_MODULES = ("capture", "compat", "console", "errors", "sklearn", "torch")

__all__ = sorted(_PUBLIC)


def __getattr__(name):
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f".{_PUBLIC[name]}", __name__), name)
        globals()[name] = value
        return value
    if name == "__version__":
        return importlib.import_module("._core", __name__).__version__
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'lathe' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_PUBLIC, *_MODULES, "__version__"])
