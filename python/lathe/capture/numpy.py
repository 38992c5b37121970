"""Front: ordinary NumPy code, called with tracers."""
from __future__ import annotations

import numpy as np

from ..tree import tree_map
from .tracer import ComplexTracer, Refused, Tracer, refuse

NAME = "NumPy code"


def ready(arguments) -> bool:
    return all(isinstance(a, (np.ndarray, np.generic, float, int, list, tuple)) for a in arguments)


def arguments(arrays):
    return arrays


def call(function, arrays):
    return function(*arrays)


def trace(function, graph, nodes, arrays):
    return tree_map(returned, function(*[Tracer(n) for n in nodes]))


def returned(leaf):
    if isinstance(leaf, ComplexTracer):
        refuse("the function returns complex values")
    if isinstance(leaf, Refused):
        leaf._no()
    return leaf


def value(made):
    return made


def gradients(function, arrays, weights):
    return None
