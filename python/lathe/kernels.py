"""Gram matrices of quantum feature maps: K_ij = |<psi(x_i)|psi(y_j)>|^2."""
from __future__ import annotations

import numpy as np

from . import _core
from .errors import ArgumentError, ShapeError
from .progress import bar


def gram(X, Y=None, *, weights, device="auto", progress=None, **options) -> np.ndarray:
    """The matrix of the rows of X with those of Y, or with themselves.

    weights: layers by qubits (by 3 for ``entangler="strong"``). options by name: ``lathe.options("gram")`` lists them.
    progress: True for a bar, or a function of pairs done and in all; False from it ends the computation.
    Ctrl-C ends it too; KeyboardInterrupt has as its ``partial`` the matrix so far, with zeros where nothing was computed yet, and the counts.

    >>> import lathe, numpy as np
    >>> X = np.linspace(0, 1, 6).reshape(3, 2)
    >>> K = lathe.gram(X, weights=np.zeros((1, 2)))
    >>> bool(np.allclose(np.diag(K), 1)) and bool((K == K.T).all())
    True
    """
    return QuantumKernel(weights, device=device, **options).evaluate(X, Y, progress=progress)


class QuantumKernel:
    """A feature map, for many matrices: ``kernel(X, Y)``, and so ``sklearn.svm.SVC(kernel=kernel)``.

    >>> import lathe, numpy as np
    >>> kernel = lathe.QuantumKernel(np.zeros((2, 3)), re_embed=True)
    >>> kernel(np.eye(3), np.ones((2, 3))).shape
    (3, 2)
    >>> kernel.info["qubits"]
    3
    """

    def __init__(self, weights, *, device="auto", **options):
        self.weights, self.device, self.options = np.array(weights, dtype=float), device, dict(options)
        self._gram = None
        self._handle()

    def _handle(self):
        if self._gram is None:
            self._gram = _core.Gram(self.weights, self.options, self.device)
        return self._gram

    def evaluate(self, X, Y=None, *, progress=None) -> np.ndarray:
        """The matrix; symmetric to the bit where Y is None or X itself."""
        with bar(progress, "gram", "pair") as step:
            return self._handle().fill(X, None if Y is X else Y, step)

    __call__ = evaluate

    def states(self, X) -> np.ndarray:
        """psi of each row: complex, (rows, 2**qubits)."""
        if np.ndim(X) != 2 or np.shape(X)[1] != self.weights.shape[1]:
            raise ShapeError(f"X has shape {np.shape(X)}: expected rows of {self.weights.shape[1]} numbers")
        return self._handle().states(X)

    def diagonal(self, X) -> np.ndarray:
        """k(x, x) of each row: ones, up to rounding."""
        return np.sum(np.abs(self.states(X)) ** 2, axis=1) ** 2

    @property
    def info(self) -> dict:
        """Method, kernel, precision, times and plan of the last matrix."""
        return self._handle().info

    def get_params(self, deep=True) -> dict:
        """As scikit-learn asks for them; those left at their defaults are not listed."""
        return {"weights": self.weights, "device": self.device, **self.options}

    def set_params(self, **params) -> QuantumKernel:
        """Changes weights, device or options; after a failure nothing has changed. For ``kernel__embed`` in a grid search."""
        self.__dict__.update(QuantumKernel(**{**self.get_params(), **params}).__dict__)
        return self

    def __sklearn_clone__(self):
        return QuantumKernel(**self.get_params())

    def __getstate__(self):
        return {"weights": self.weights, "device": self.device, "options": self.options}

    def __setstate__(self, state):
        self.__dict__.update(state, _gram=None)

    def __repr__(self):
        layers, qubits = self.weights.shape[:2]
        return f"QuantumKernel({qubits} qubits, {layers} layers{''.join(f', {k}={v!r}' for k, v in self.options.items())})"

    def _repr_html_(self):
        from .pages import kernel_page
        return kernel_page(self)


__all__ = ["ArgumentError", "QuantumKernel", "gram"]
