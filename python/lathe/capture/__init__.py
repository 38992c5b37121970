"""Python functions become graphs.

A *front* knows one way of writing array code. It is a module of this package with these names:

``NAME``
    how messages call it: "NumPy code".
``ready(arguments)``
    whether it can be tried: its package is loaded, and it knows what to do with the arguments.
``arguments(arrays)``
    NumPy arrays as what the function is called with.
``call(function, arrays)``
    what the function returns for these.
``trace(function, graph, nodes, arrays)``
    calls the function with stand-ins for the nodes; returns what it returned, with graph nodes in place of arrays.
``value(tree)``
    what the function returned, with NumPy arrays in place of the framework's.
``gradients(function, arrays, weights)``
    derivatives of sum(weights . outputs) by the framework's own reverse mode, or None where it has none.

To add one: write the module and add its name to FRONTS. ``capture`` tries them in that order and says why each failed.
"""
from __future__ import annotations

import dataclasses
import importlib
import random
import sys

import numpy as np

from .. import _core
from ..errors import CaptureError, describe, kind_of, place
from ..tree import flatten, unflatten

FRONTS = ("numpy", "torch", "jax")
MODES = ("verify", "always", "never")


@dataclasses.dataclass
class Captured:
    """A function as a graph: ``graph.inputs`` in the order of its arguments, outputs as a tree of nodes."""

    graph: object
    inputs: list
    outputs: list
    tree: object
    front: object
    how: str
    types: list | None = None  #: of what the function itself returned; the graph has masks as 0 and 1, and counts as floats

    def program(self, outputs, mode="default", device="cpu"):
        return self.graph.compile(outputs, mode=mode, device=device)


def front(name: str):
    return importlib.import_module(f"{__name__}.{name}")


def candidates(arguments):
    """The fronts that may be tried for these arguments, in order."""
    for name in FRONTS:
        if name != "numpy" and name not in sys.modules:  # a function of a framework that was never imported cannot be
            continue
        module = front(name)
        if module.ready(arguments):
            yield module


def capture(function, arrays, arguments=None, names=None, verify=True, effects=False):
    """A Captured of function(*arrays), or CaptureError with the reason of each way that was tried.

    effects=False: a function that does something besides (counts, prints) is refused, as a graph would not; True: it is captured all the same.
    """
    arguments = arrays if arguments is None else arguments
    reasons = []
    for module in candidates(arguments):
        try:
            if not verify:
                return trace(module, function, arrays, names)
            from .check import check, watched
            expected = watched(module, function, arrays, effects)  # before stand-ins go where the function keeps things
            made = trace(module, function, arrays, names)
            check(made, function, arrays, expected)
            made.types = expected.types
            return made
        except CaptureError as error:
            reasons.append((module.NAME, reason(error)))
    raise CaptureError("; ".join(f"not as {name}: {why}" for name, why in reasons) or "no way to capture these arguments")


def reason(error) -> str:
    """Why, and the user's line where it came up."""
    where = place(error.__cause__ or error)
    return f"{error} ({where})" if where and where not in str(error) else str(error)


def trace(module, function, arrays, names=None) -> Captured:
    """One call of the function with stand-ins. Everything it raises becomes a CaptureError: a call with real arrays shows which error it was."""
    graph = _core.Graph()
    nodes = [graph.input(name, array_type(a), a.shape) for name, a in zip(names or [f"x{i}" for i in range(len(arrays))], arrays)]
    drawn = random_state()
    try:
        made = module.trace(function, graph, nodes, arrays)
    except CaptureError:
        raise
    except Exception as error:
        raise refusal_behind(error) or CaptureError(describe(error)) from error
    if random_state() != drawn:
        raise CaptureError("the function draws random numbers")
    leaves, tree = flatten(made)
    if not leaves:
        raise CaptureError("the function returned nothing")
    outputs = [as_node(graph, leaf) for leaf in leaves]
    return Captured(graph, nodes, outputs, tree, module, f"captured from {module.NAME}, {graph.node_count} nodes")


def refusal_behind(error):
    """NumPy wraps what a tracer raises (float(x) while it writes into an array): the refusal says more."""
    while error is not None:
        if isinstance(error, CaptureError):
            return error
        error = error.__cause__ or error.__context__
    return None


def array_type(a):
    if a.dtype.name not in ("float64", "float32", "int64", "int32"):
        raise CaptureError(f"an argument of type {a.dtype}")
    return a.dtype


def as_node(graph, leaf):
    """A node for what was returned: traced values as they are, plain numbers and arrays as constants."""
    node = getattr(leaf, "node", leaf)
    if isinstance(node, _core.Node):
        return node
    array = np.asarray(leaf)
    if array.dtype.kind not in "biuf":
        raise CaptureError(f"the function returned {kind_of(leaf)}")
    return graph.constant(np.ascontiguousarray(array, dtype=float).reshape(array.shape))


def random_state():
    """Changes when somebody draws from the global generators of Python or NumPy."""
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    return hash(random.getstate()), kind, hash(keys.tobytes()), position, has_gauss, gauss


def result(captured: Captured, arrays):
    """Outputs as a program computed them, in the shape the function returned them."""
    return unflatten(captured.tree, list(arrays))
