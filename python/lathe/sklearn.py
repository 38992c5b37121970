"""Support vector machines on quantum kernels as estimators of scikit-learn: classes, numbers, one class.

>>> from lathe.sklearn import QSVC
>>> import numpy as np
>>> X = np.random.default_rng(0).uniform(size=(40, 3))
>>> y = np.where(X[:, 0] > X[:, 1], "above", "below")
>>> QSVC(re_embed=True, C=10, random_state=0).fit(X, y).score(X, y) > 0.9
True
"""
from __future__ import annotations

import inspect
import threading

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.svm import SVC, SVR, OneClassSVM
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(f"lathe.sklearn needs scikit-learn 1.6 or later: pip install scikit-learn ({error})") from error

from . import _core
from .errors import ArgumentError, ShapeError
from .kernels import QuantumKernel
from .progress import bar

#: Without ``qubits``: one per feature, and principal components beyond so many. As ``lathe qsvm`` has it.
MOST_QUBITS = 16
#: Upper end of the interval that training features are scaled to; None: by the embedding, or not at all.
RANGES = {"auto": None, "unit": 1.0, "pi": np.pi, "none": None}
#: Rows of a kernel matrix that predictions hold at once.
BLOCK_ROWS = 4096
#: Options of ``gram`` that change the form of the matrix, which is no business of an estimator's user.
NOT_OFFERED = {"packed", "return_dtype", "symmetric"}


def value_of(row):
    """The default of an option as a Python value."""
    text = row["default"]
    return {"bool": lambda: text == "true", "integer": lambda: int(text), "number": lambda: float(text)}.get(row["type"], lambda: text)()


#: Options of the kernel and their defaults, from the library's own rows.
KERNEL_OPTIONS = {name: value_of(row) for row in _core.option_rows("gram") if (name := row["name"].replace("-", "_")) not in NOT_OFFERED}


def with_kernel_options(init):
    """The constructor with the kernel's options in its signature: scikit-learn reads there which parameters an estimator has."""
    own = [p for p in inspect.signature(init).parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in KERNEL_OPTIONS.items()]
    init.__signature__ = inspect.Signature(own + options)
    return init


def principal_components(X, weight, n):
    """Mean and n components of weighted rows, each signed so that its largest coefficient is positive; n = None: as many as there are, at
    most 16. Directions that the rows do not span are refused."""
    mean = np.average(X, axis=0, weights=weight)
    _, lengths, directions = np.linalg.svd(np.sqrt(weight)[:, None] * (X - mean), full_matrices=False)
    rank = int(np.sum(lengths > max(X.shape) * np.finfo(float).eps * lengths[0])) if len(lengths) else 0
    wanted = n or max(1, min(rank, MOST_QUBITS))
    if wanted > rank:
        raise ArgumentError(f"{wanted} qubits: the {len(X)} samples span {rank} principal components")
    directions = directions[:wanted]
    largest = np.argmax(np.abs(directions), axis=1)
    return mean, directions * np.sign(directions[np.arange(wanted), largest])[:, None]


def interruptible(function, *arguments):
    """Calls it on another thread, so that Ctrl-C is answered while scikit-learn's solver computes. The solver itself cannot be stopped: its
    thread ends when it is done, and its result is dropped."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    done = []

    def work():
        try:
            done.append((function(*arguments), None))
        except BaseException as error:
            done.append((None, error))
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    value, error = done[0]
    if error is not None:
        raise error
    return value


class Machine(BaseEstimator):
    """What the estimators share: rows to angles, the kernel, a machine of scikit-learn on the finished matrix."""

    def _set_kernel_options(self, options):
        for name, default in KERNEL_OPTIONS.items():
            setattr(self, name, options.pop(name, default))
        if options:
            raise TypeError(f"{type(self).__name__} has no parameter {min(options)!r}; it has {', '.join(inspect.signature(type(self)).parameters)}")

    def _fit_rows(self, X, sample_weight, machine, *targets):
        """Learns from rows that count; targets are y of all rows, or nothing."""
        sample_weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        counted = np.arange(len(X)) if sample_weight is None else np.flatnonzero(sample_weight)
        X, targets, sample_weight = X[counted], [y[counted] for y in targets], None if sample_weight is None else sample_weight[counted]
        self._learn_angles(X, np.ones(len(X)) if sample_weight is None else sample_weight)
        angles = self._angles(X)
        self.kernel_ = self._make_kernel(angles.shape[1])
        matrix = self.kernel_.evaluate(angles, progress=self.progress)
        try:
            interruptible(lambda: machine.fit(matrix, *targets, sample_weight=sample_weight))
        except KeyboardInterrupt as stopped:
            stopped.partial = {"matrix": matrix, "kernel": self.kernel_}
            raise
        self.svc_ = machine
        self.support_, self.support_vectors_ = counted[self.svc_.support_], angles[self.svc_.support_]
        return self

    def _make_kernel(self, qubits):
        if self.map is None and self.circuit is None:
            return QuantumKernel(self._weights(qubits), device=self.device, **self._chosen())
        return QuantumKernel(self.weights, map=self.map, circuit=self.circuit, device=self.device, **self._chosen())

    def _learn_angles(self, X, weight):
        """Sets components_ (None: all features as they are), mean_, minimum_ and scale_."""
        if self.range not in RANGES:
            raise ArgumentError(f"range = {self.range!r}: expected one of {', '.join(RANGES)}")
        if self.qubits is not None and not 1 <= self.qubits <= X.shape[1]:
            raise ArgumentError(f"qubits = {self.qubits}: expected 1 to {X.shape[1]}, the number of features")
        self.mean_, self.components_ = np.zeros(X.shape[1]), None
        if (self.qubits or min(X.shape[1], MOST_QUBITS)) < X.shape[1]:
            self.mean_, self.components_ = principal_components(X, weight, self.qubits)
        X = self._reduced(X)
        top = RANGES[self.range] or RANGES["pi" if self.embed == "angle" else "unit"]
        spread = np.ptp(X, axis=0)
        self.minimum_, self.scale_ = (0.0, 1.0) if self.range == "none" else (X.min(axis=0), top / np.where(spread > 0, spread, 1.0))

    def _reduced(self, X):
        return X if self.components_ is None else (X - self.mean_) @ self.components_.T

    def _angles(self, X):
        return np.ascontiguousarray((self._reduced(X) - self.minimum_) * self.scale_)

    def _weights(self, qubits):
        if self.weights is None:
            shape = (self.layers, qubits, 3) if self.entangler == "strong" else (self.layers, qubits)
            return check_random_state(self.random_state).normal(0.0, self.weight_std, shape)
        if np.ndim(self.weights) < 2 or np.shape(self.weights)[1] != qubits:
            raise ShapeError(f"weights have shape {np.shape(self.weights)}: expected layers by {qubits} qubits")
        return self.weights

    def _chosen(self):
        """The kernel's options that were set: a default given by name would keep the library from choosing by itself."""
        return {name: getattr(self, name) for name, default in KERNEL_OPTIONS.items() if getattr(self, name) != default}

    def _by_blocks(self, X, method):
        """A method of the SVC on rows of the kernel matrix, which needs the columns of support vectors alone: the others stay 0."""
        check_is_fitted(self)
        angles = self._angles(validate_data(self, X, dtype=np.float64, reset=False))
        answers = []
        with bar(self.progress, "predict", "row") as step:
            for first in range(0, len(angles), BLOCK_ROWS):
                rows = angles[first:first + BLOCK_ROWS]
                K = np.zeros((len(rows), self.svc_.shape_fit_[0]))
                K[:, self.svc_.support_] = self.kernel_.evaluate(rows, self.support_vectors_)
                answers.append(getattr(self.svc_, method)(K))
                if step:
                    step(first + len(rows), len(angles))
        return np.concatenate(answers)

    dual_coef_ = property(lambda self: self._fitted("dual_coef_"))
    intercept_ = property(lambda self: self._fitted("intercept_"))
    n_support_ = property(lambda self: self._fitted("n_support_"))
    n_iter_ = property(lambda self: self._fitted("n_iter_"))

    def _fitted(self, name):
        if "svc_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted: {name} is there after fit")
        return getattr(self.svc_, name)


class QSVC(ClassifierMixin, Machine):
    """A support vector classifier whose kernel is |<psi(x)|psi(y)>|^2 of a quantum feature map.

    Features are reduced to qubits by PCA where there are more, scaled to angles, and compared by ``lathe.gram``. scikit-learn's SVC solves
    the dual problem on the finished matrix, several classes one against one, and so C, class_weight, sample_weight, tol, shrinking,
    max_iter, decision_function_shape and break_ties mean what they mean there. tol is 1e-8, not 1e-3, so that a row of weight 2 and a row
    given twice lead to the same machine; where C is large that takes several times the iterations, and tol=1e-3 saves them.

    weights: layers by qubits (by 3 for ``entangler="strong"``); None draws ``layers`` of them from random_state, of deviation weight_std.
    qubits: None for one per feature, at most 16. range: where training features are scaled to: "unit" is [0, 1], "pi" is [0, pi], "none"
    leaves them alone, "auto" is "pi" for ``embed="angle"`` and "unit" otherwise. map: a named map instead of layers, as "zz(reps=2)", with its weights if
    it has some; circuit: OpenQASM, a circuit of Qiskit or a function of PennyLane instead (docs/circuits.md). Other options are the kernel's:
    ``lathe.options("gram")`` explains them. progress: True for a bar, or a function of pairs done and in all.

    After fit: ``kernel_`` (a QuantumKernel), ``svc_``, ``classes_``, ``support_``, ``support_vectors_`` (as angles before angle_scale),
    ``dual_coef_``, ``intercept_``, ``n_support_``, ``n_iter_``, ``n_features_in_``, and the way to angles: ``components_``, ``mean_``, ``minimum_``,
    ``scale_``.
    """

    @with_kernel_options
    def __init__(self, weights=None, *, qubits=None, layers=2, weight_std=0.1, range="auto", C=1.0, class_weight=None, tol=1e-8, shrinking=True,
                 cache_size=200, max_iter=-1, decision_function_shape="ovr", break_ties=False, random_state=None, map=None, circuit=None, device="auto", progress=None, **options):
        self.weights = weights
        self.qubits = qubits
        self.layers = layers
        self.weight_std = weight_std
        self.range = range
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.map = map
        self.circuit = circuit
        self.device = device
        self.progress = progress
        self._set_kernel_options(options)

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their classes. KeyboardInterrupt has the kernel matrix, as far as it was computed, in its ``partial``."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        svc = SVC(kernel="precomputed", C=self.C, class_weight=self.class_weight, tol=self.tol, shrinking=self.shrinking, cache_size=self.cache_size,
                  max_iter=self.max_iter, decision_function_shape=self.decision_function_shape, break_ties=self.break_ties)
        return self._fit_rows(X, sample_weight, svc, y)

    def decision_function(self, X):
        """Distances to the separating planes: (rows,) for two classes, else (rows, classes), or one column per pair for "ovo"."""
        return self._by_blocks(X, "decision_function")

    def predict(self, X):
        """The class of each row."""
        return self._by_blocks(X, "predict")

    classes_ = property(lambda self: self._fitted("classes_"))


class QSVR(RegressorMixin, Machine):
    """Epsilon support vector regression on a quantum kernel: scikit-learn's SVR on the matrix, with the parameters of QSVC otherwise.

    >>> from lathe.sklearn import QSVR
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(40, 2))
    >>> QSVR(map="zz(reps=1)", C=10).fit(X, np.sin(3 * X[:, 0])).score(X, np.sin(3 * X[:, 0])) > 0.9
    True
    """

    @with_kernel_options
    def __init__(self, weights=None, *, qubits=None, layers=2, weight_std=0.1, range="auto", C=1.0, epsilon=0.1, tol=1e-8, shrinking=True,
                 cache_size=200, max_iter=-1, random_state=None, map=None, circuit=None, device="auto", progress=None, **options):
        self.weights = weights
        self.qubits = qubits
        self.layers = layers
        self.weight_std = weight_std
        self.range = range
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.map = map
        self.circuit = circuit
        self.device = device
        self.progress = progress
        self._set_kernel_options(options)

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their values."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, y_numeric=True)
        return self._fit_rows(X, sample_weight, SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon, tol=self.tol, shrinking=self.shrinking, cache_size=self.cache_size,
                                                    max_iter=self.max_iter), y)

    def predict(self, X):
        """The value of each row."""
        return self._by_blocks(X, "predict")


class QOneClassSVM(OutlierMixin, Machine):
    """Which rows are like the training rows, of which at most the share nu lies outside: scikit-learn's OneClassSVM on a quantum kernel."""

    @with_kernel_options
    def __init__(self, weights=None, *, qubits=None, layers=2, weight_std=0.1, range="auto", nu=0.5, tol=1e-8, shrinking=True,
                 cache_size=200, max_iter=-1, random_state=None, map=None, circuit=None, device="auto", progress=None, **options):
        self.weights = weights
        self.qubits = qubits
        self.layers = layers
        self.weight_std = weight_std
        self.range = range
        self.nu = nu
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.map = map
        self.circuit = circuit
        self.device = device
        self.progress = progress
        self._set_kernel_options(options)

    def fit(self, X, y=None, sample_weight=None):
        """Learns from rows; y is not looked at."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        machine = OneClassSVM(kernel="precomputed", nu=self.nu, tol=self.tol, shrinking=self.shrinking, cache_size=self.cache_size, max_iter=self.max_iter)
        self._fit_rows(X, sample_weight, machine)
        self.offset_ = self.svc_.offset_
        return self

    def decision_function(self, X):
        """Above 0 for rows like the training rows."""
        return self._by_blocks(X, "decision_function")

    def score_samples(self, X):
        """Decision values before the offset."""
        return self._by_blocks(X, "score_samples")

    def predict(self, X):
        """1 for rows like the training rows, -1 for others."""
        return self._by_blocks(X, "predict")


__all__ = ["QOneClassSVM", "QSVC", "QSVR", "QuantumKernel"]
