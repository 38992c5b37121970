"""lathe.function: a Python function compiled for the shapes and types it is called with."""
from __future__ import annotations

import threading

import numpy as np

from . import capture as capturing
from .arrays import host_array
from .errors import ArgumentError, CaptureError, MismatchError, ShapeError, kind_of
from .tree import flatten, tree_map, unflatten

MODES = ("default", "eager", "reduce-overhead", "max-autotune")
MAX_PLANS = 64


def function(f, *examples, mode="default", device="cpu", capture="verify"):
    """f compiled: callable on arrays, with ``grad``, ``jacobian``, ``plan()``, ``verify()`` and ``stats``.

    f is traced and compiled once for each combination of shapes and types; examples do that beforehand. A function that cannot be
    captured is called as it is (``capture="verify"``), or is an error ("always"). Also a decorator.

    >>> import lathe, numpy as np
    >>> f = lathe.function(lambda x, y: np.sum(np.abs(x) * y))
    >>> float(f(np.array([1.0, -2.0]), np.array([3.0, 4.0])))
    11.0
    >>> f.grad(np.array([1.0, -2.0]), np.array([3.0, 4.0]))
    array([ 3., -4.])
    >>> f.stats["compiles"]
    1
    """
    if mode not in MODES:
        raise ArgumentError(f"mode {mode!r}: expected one of {', '.join(MODES)}")
    if capture not in capturing.MODES:
        raise ArgumentError(f"capture {capture!r}: expected one of {', '.join(capturing.MODES)}")
    if not callable(f):
        raise ArgumentError(f"{kind_of(f)} is no function")
    made = Function(f, mode, device, capture)
    if examples:
        made._plan(examples)
    return made


class Plan:
    """The programs for one combination of shapes and types; derivatives are compiled when asked for."""

    def __init__(self, owner, arrays, arguments):
        self.lock = threading.Lock()
        self.how, self.captured, self.why = "", None, ""
        self.single, self.types = False, None
        self.programs = {}
        try:
            if owner.capture == "never":
                raise CaptureError("capture='never'")
            self.captured = capturing.capture(owner.f, arrays, arguments, effects=owner.capture == "always")
            self.how = self.captured.how
            self.single = self.captured.tree.kind == "leaf"
            self.values = self.captured.program(self.captured.outputs, owner.mode, owner.device)
            types = [t if t.kind in "fbiu" and t != n.dtype else None for t, n in zip(self.captured.types, self.captured.outputs)]
            self.types = types if any(t is not None for t in types) else None
        except CaptureError as error:
            if owner.capture == "always":
                raise
            self.how = f"called as it is: {error}"

    def derivative(self, owner, kind, which):
        """The program of gradients or Jacobians with respect to the arguments `which`."""
        with self.lock:
            key = (kind, which)
            if key not in self.programs:
                self.programs[key] = self.make(owner, kind, which)
            return self.programs[key]

    def make(self, owner, kind, which):
        c = self.captured
        if c is None:
            raise CaptureError(f"no derivatives: {self.how}")
        if not self.single:
            raise ArgumentError(f"{kind} of a function with several results")
        y, wrt = c.outputs[0], [c.inputs[i] for i in which]
        if any(n.dtype.kind != "f" for n in wrt):
            raise ArgumentError(f"{kind} with respect to whole numbers")
        if kind == "grad":
            if int(np.prod(y.shape, dtype=np.int64)) != 1:
                raise ShapeError(f"grad of a result of shape {y.shape}: expected one number; jacobian takes any")
            nodes = list(c.graph.grad(y, wrt))
        else:
            nodes = [c.graph.op("reshape", c.graph.jacobian([y], x)[0], y.shape + x.shape) for x in wrt]
        return c.program(nodes, owner.mode, owner.device)


class Derivative:
    """f.grad and f.jacobian: with respect to one argument (an array), or several (a tuple)."""

    def __init__(self, owner, kind, argnums=0):
        self.owner, self.kind, self.argnums = owner, kind, argnums

    def wrt(self, *argnums):
        """The same with respect to these arguments."""
        return Derivative(self.owner, self.kind, argnums if len(argnums) != 1 else argnums[0])

    def __call__(self, *arguments):
        which = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        plan, arrays = self.owner._plan(arguments)
        if any(not 0 <= i < len(arguments) for i in which):
            raise ArgumentError(f"argument {max(which)} of {len(arguments)}")
        made = plan.derivative(self.owner, self.kind, which)(*arrays)
        made = tuple(like(m, a) for m, a in zip(made, [arguments[i] for i in which]))
        return made if isinstance(self.argnums, tuple) else made[0]


def like(array, example):
    """A result as the kind of array that came in: torch for torch, else NumPy; the same memory."""
    module = type(example).__module__.partition(".")[0]
    if module == "torch":
        import torch
        return torch.from_dlpack(array) if array.dtype.kind == "f" else torch.from_numpy(array)
    if module in ("jax", "jaxlib"):
        import jax
        return jax.numpy.asarray(array)
    return array


class Function:
    """A function and its plans; made by ``lathe.function``."""

    def __init__(self, f, mode, device, capture):
        self.f, self.mode, self.device, self.capture = f, mode, device, capture
        self.plans, self.lock = {}, threading.Lock()
        self.fast, self.fast_single, self.fast_tree = None, False, None
        self.compiles, self.hits, self.evictions, self.last_reason = 0, 0, 0, ""
        self.grad, self.jacobian = Derivative(self, "grad"), Derivative(self, "jacobian")
        self.__doc__, self.__name__ = f.__doc__, getattr(f, "__name__", type(f).__name__)

    def __call__(self, *arguments):
        fast = self.fast
        if fast is not None:
            made = fast.exact(*arguments)  # NumPy arrays of the form of the last call
            if made is not None:
                self.hits += 1
                return made[0] if self.fast_single else unflatten(self.fast_tree, list(made))
        plan, arrays = self._plan(arguments)
        if plan.captured is None:
            return self.f(*arguments)
        self.fast, self.fast_single, self.fast_tree = plan.values if plan.types is None else None, plan.single, plan.captured.tree
        made = plan.values(*arrays)
        if plan.types is not None:
            made = [m if t is None else m.astype(t) for m, t in zip(made, plan.types)]
        made = [like(m, arguments[0]) if arguments else m for m in made]
        return made[0] if plan.single else unflatten(plan.captured.tree, made)

    def _plan(self, arguments):
        """(plan, arrays) for these arguments, made where there is none yet."""
        arrays = [host_array(a, f"argument {i}")[0] for i, a in enumerate(arguments)]
        arrays = [a if a.dtype.name in ("float64", "float32", "int64", "int32") else a.astype(float) if a.dtype.kind in "fiub" else refuse_type(a, i)
                  for i, a in enumerate(arrays)]
        key = tuple([(a.shape, a.dtype) for a in arrays])
        with self.lock:
            plan = self.plans.get(key)
            if plan is None:
                self.last_reason = self._reason(key)
                plan = self.plans[key] = Plan(self, arrays, arguments)
                self.compiles += 1
                if len(self.plans) > MAX_PLANS:
                    self.plans.pop(next(iter(self.plans)))
                    self.evictions += 1
            else:
                self.hits += 1
        return plan, arrays

    def _reason(self, key):
        if not self.plans:
            return "first call"
        last = next(reversed(self.plans))
        if len(last) != len(key):
            return f"{len(key)} arguments instead of {len(last)}"
        return next((f"argument {i} is {b[0]} {b[1]} instead of {a[0]} {a[1]}" for i, (a, b) in enumerate(zip(last, key)) if a != b), "evicted before")

    @property
    def stats(self) -> dict:
        """Compilations, hits, evictions and why the last compilation happened."""
        return {"compiles": self.compiles, "hits": self.hits, "evictions": self.evictions, "last_reason": self.last_reason}

    @property
    def how(self) -> str:
        """How the plan made last runs: captured, or why not."""
        return next(reversed(self.plans.values())).how if self.plans else "not called yet"

    def plan(self, *examples) -> str:
        """Every kernel with what it fuses, its bytes and FLOPs; of the plan made last, or the one for these arguments."""
        if examples:
            made = self._plan(examples)[0]
        elif self.plans:
            made = next(reversed(self.plans.values()))
        else:
            raise ArgumentError("no plan yet: call the function, or give examples")
        return made.values.plan() if made.captured is not None else made.how

    def verify(self, *arguments) -> None:
        """The compiled function against the original at these arguments; MismatchError where they differ by more than rounding."""
        plan, arrays = self._plan(arguments)
        if plan.captured is None:
            return
        from .capture.check import compare_values
        try:
            compare_values(plan.captured, plan.values, self.f, arrays, "at these arguments")
        except CaptureError as error:
            raise MismatchError(str(error)) from None

    def __repr__(self):
        return f"<lathe.function {self.__name__}: {self.compiles} compiled, {self.how}>"


def refuse_type(array, i):
    from .errors import DtypeError
    raise DtypeError(f"argument {i} has elements of type {array.dtype}: expected real numbers")


__all__ = ["function", "Function", "flatten", "tree_map"]
