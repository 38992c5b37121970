"""Gram matrices of quantum feature maps: K_ij = |<psi(x_i)|psi(y_j)>|^2."""
from __future__ import annotations

import os
import pathlib

import numpy as np

from . import _core
from .circuits import circuit_of, described, waits
from .errors import ArgumentError, ShapeError
from .progress import bar


def names_of(table) -> set[str]:
    return {row["name"].replace("-", "_") for row in _core.option_rows(table)}


def gram(X, Y=None, *, weights=None, map=None, circuit=None, device="auto", progress=None, **options) -> np.ndarray:
    """The matrix of the rows of X with those of Y, or with themselves.

    weights: layers by qubits (by 3 for ``entangler="strong"``). options by name: ``lathe.options("gram")`` lists them.
    map: a named map instead of layers, with its arguments by name: ``map="zz", reps=2, entanglement="linear"``, or as one text, ``map="zz(reps=2)"``;
    circuit: OpenQASM, a text or the name of a file; a circuit of Qiskit; a function f(x) or f(x, w), a QNode or a tape of PennyLane (docs/circuits.md). Both take ``similarity=``, ``gamma=``, ``shots=`` with ``seed=``, and ``depolarizing=``; weights are those of the map or circuit.
    progress: True for a bar, or a function of pairs done and in all; False from it ends the computation.
    Ctrl-C ends it too; KeyboardInterrupt has as its ``partial`` the matrix so far, with zeros where nothing was computed yet, and the counts.

    >>> import lathe, numpy as np
    >>> X = np.linspace(0, 1, 6).reshape(3, 2)
    >>> K = lathe.gram(X, weights=np.zeros((1, 2)))
    >>> bool(np.allclose(np.diag(K), 1)) and bool((K == K.T).all())
    True
    >>> lathe.gram(X, map="zz", reps=1, entanglement="linear").shape
    (3, 3)
    """
    return QuantumKernel(weights, map=map, circuit=circuit, device=device, **options).evaluate(X, Y, progress=progress)


def argument_text(value) -> str:
    """An argument of a map as the text of a map has it: lists in brackets, names without quotes."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(argument_text(v) for v in value)}]"
    return str(value)


def map_text(map, arguments) -> str:
    if not arguments:
        return map
    if "(" in map:
        raise ArgumentError(f"map = {map!r} has its arguments in it: {', '.join(arguments)} go there too, or all of them by name")
    return f"{map}({', '.join(f'{name}={argument_text(value)}' for name, value in arguments.items())})"


def layers_text(weights, options) -> str:
    """The circuit of a kernel's layers as OpenQASM: the embedding, before each layer where asked, then rotations by the weights and a ring of CX."""
    options = {row["name"]: row["default"] for row in _core.option_rows("gram")} | {name.replace("_", "-"): value for name, value in options.items()}
    (layers, qubits), strong = weights.shape[:2], weights.ndim == 3
    again = str(options["re-embed"]).lower() in ("true", "1")
    embed = [f"{gate}({float(options['angle-scale'])!r} * x[{k}]) q[{k}];" for k in range(qubits) for gate in (("ry", "rz") if options["embed"] == "ryrz" else ("ry",))]
    lines = ["OPENQASM 3.0;", 'include "stdgates.inc";', f"input array[float[64], {qubits}] x;", f"input array[float[64], {weights.size}] w;", f"qubit[{qubits}] q;"]
    for l in range(layers):
        lines += embed if l == 0 or again else []
        angles = iter(range(weights[0].size * l, weights[0].size * (l + 1)))
        lines += [f"{gate}(w[{next(angles)}]) q[{k}];" for k in range(qubits) for gate in (("rz", "ry", "rz") if strong else ("rx",))]
        reach = l % (qubits - 1) + 1 if strong and qubits > 1 else 1
        lines += [f"cx q[{k}], q[{(k + reach) % qubits}];" for k in range(qubits if strong and qubits > 1 or qubits > 2 else qubits - 1)]
    return "\n".join(lines) + "\n"


class QuantumKernel:
    """A feature map, for many matrices: ``kernel(X, Y)``, and so ``sklearn.svm.SVC(kernel=kernel)``.

    >>> import lathe, numpy as np
    >>> kernel = lathe.QuantumKernel(np.zeros((2, 3)), re_embed=True)
    >>> kernel(np.eye(3), np.ones((2, 3))).shape
    (3, 2)
    >>> kernel.info["qubits"]
    3
    >>> lathe.QuantumKernel(map="zz", reps=1)(np.eye(3)).shape
    (3, 3)
    """

    def __init__(self, weights=None, *, map=None, circuit=None, device="auto", **options):
        self.weights = None if weights is None else np.array(weights, dtype=float)
        self.map, self.circuit, self.device, self.options = map, circuit, device, dict(options)
        self._gram, self._circuit = None, None
        if map is not None and circuit is not None:
            raise ArgumentError("map and circuit both name a circuit: expected one of them")
        if self._is_circuit():
            self._split()
            if not self._waits():
                self._handle()
        elif weights is None:
            raise ArgumentError("weights of the layers are missing; a map or a circuit may have none")
        else:
            self._handle()

    def _waits(self):
        """Whether there is no circuit before the number of features is known."""
        return self.map is not None or self.circuit is not None and waits(self.circuit)

    def _is_circuit(self):
        return self.map is not None or self.circuit is not None

    def _split(self):
        """Options of the matrix, of the similarity, and arguments of the map."""
        of_gram, of_similarity = names_of("gram"), names_of("similarity")
        options = {name: value for name, value in self.options.items() if name in of_gram}
        similarity = {name: value for name, value in self.options.items() if name in of_similarity}
        others = {name: value for name, value in self.options.items() if name not in of_gram | of_similarity | {"seed"}}
        if self.circuit is not None and others:
            raise ArgumentError(f"{min(others)!r} is no option of a circuit's kernel; they are {', '.join(sorted(of_gram | of_similarity | {'seed'}))}")
        return options, similarity, others

    def _make_circuit(self, features):
        if self.circuit is not None and not isinstance(self.circuit, (str, os.PathLike)):
            return circuit_of(self.circuit, features, self.weights)
        if self.circuit is not None:
            given = os.fspath(self.circuit)
            text = given if "\n" in given or ";" in given else pathlib.Path(given).read_text(encoding="utf-8")
            return _core.Circuit.from_qasm(text, "circuit" if text is given else given)
        layers = len(self.weights) if self.weights is not None and self.weights.ndim > 1 else 0
        return _core.Circuit.from_map(map_text(self.map, self._split()[2]), features, layers)

    def _handle(self, features=None):
        if not self._is_circuit():
            if self._gram is None:
                self._gram = _core.Gram(self.weights, self.options, self.device)
            return self._gram
        if self._gram is None or (self._waits() and features is not None and features != self._circuit.info["features"]):
            if self._waits() and features is None:
                raise ArgumentError(f"a {'map' if self.map is not None else 'function'} knows its wires from the first X: nothing was computed yet")
            self._circuit = self._make_circuit(features)
            options, similarity, _ = self._split()
            weights = np.zeros(0) if self.weights is None else self.weights
            device = "cpu" if self.device == "auto" else self.device
            self._gram = _core.Gram.of_circuit(self._circuit, weights, options, similarity, int(self.options.get("seed", 0)), device)
        return self._gram

    def _for(self, X):
        return self._handle(np.shape(X)[1] if self._waits() and np.ndim(X) == 2 else None)

    def qasm(self) -> str:
        """The circuit as OpenQASM 3; of a map after its first matrix."""
        if not self._is_circuit():
            return layers_text(self.weights, self.options)
        self._handle()
        return self._circuit.qasm()

    def gradient(self, X, dK, *, wrt_x=False):
        """sum_ij dK_ij dK(x_i, x_j)_ij by the weights, in their shape; with wrt_x also by X. Of fidelities and real parts."""
        if not self._is_circuit():
            return QuantumKernel(self.weights, circuit=self.qasm(), device=self.device).gradient(X, dK, wrt_x=wrt_x)
        handle = self._for(X)
        shape = np.shape(self.weights) if self.weights is not None else (0,)
        made = handle.gradient(X, dK, self._circuit.info["weights"], wrt_x)
        return (made[0].reshape(shape), made[1]) if wrt_x else made.reshape(shape)

    def evaluate(self, X, Y=None, *, progress=None) -> np.ndarray:
        """The matrix; symmetric to the bit where Y is None or X itself. Of two rows of features it is a number."""
        if Y is not None and np.ndim(X) == np.ndim(Y) == 1:
            return float(self.evaluate(np.atleast_2d(X), np.atleast_2d(Y))[0, 0])
        with bar(progress, "gram", "pair") as step:
            return self._for(X).fill(X, None if Y is X else Y, step)

    __call__ = evaluate

    def states(self, X) -> np.ndarray:
        """psi of each row: complex, (rows, 2**qubits)."""
        if self._is_circuit():
            handle = self._for(X)
            return handle.states(X, self._circuit.info["qubits"])
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

    def is_ready(self) -> bool:
        """Whether there is something that ``info`` can speak of: a map knows its wires from its first matrix."""
        return self._gram is not None or not self._waits()

    def get_params(self, deep=True) -> dict:
        """As scikit-learn asks for them; those left at their defaults are not listed."""
        named = {"map": self.map} if self.map is not None else {"circuit": self.circuit} if self.circuit is not None else {}
        return {"weights": self.weights, **named, "device": self.device, **self.options}

    def set_params(self, **params) -> QuantumKernel:
        """Changes weights, device or options; after a failure nothing has changed. For ``kernel__embed`` in a grid search."""
        self.__dict__.update(QuantumKernel(**{**self.get_params(), **params}).__dict__)
        return self

    def __sklearn_clone__(self):
        return QuantumKernel(**self.get_params())

    def __getstate__(self):
        return {"weights": self.weights, "map": self.map, "circuit": self.circuit, "device": self.device, "options": self.options}

    def __setstate__(self, state):
        self.__dict__.update({"map": None, "circuit": None, **state}, _gram=None, _circuit=None)

    def __repr__(self):
        options = "".join(f", {k}={v!r}" for k, v in self.options.items())
        if self._is_circuit():
            return f"QuantumKernel({f'map={self.map!r}' if self.map is not None else described(self.circuit)}{options})"
        layers, qubits = self.weights.shape[:2]
        return f"QuantumKernel({qubits} qubits, {layers} layers{options})"

    def _repr_html_(self):
        from .pages import kernel_page
        return kernel_page(self)


__all__ = ["ArgumentError", "QuantumKernel", "gram"]
