"""A captured function against the original: values at x0 and at a point beside it, derivatives beside it.

Derivatives come from the framework's own reverse mode where it has one, else from differences. They are compared beside x0 only:
x0 itself often lies on a kink (a vector of zeros), where either side may be right.
"""
from __future__ import annotations

import contextlib
import random
import sys

import numpy as np

from ..errors import CaptureError, describe
from ..tree import flatten
from .effects import watch


def tolerance(arrays, expected, single) -> float:
    """What another order of summation may change: relative to the largest element, and for sums that cancel, to the arguments.
    ``single``: something is computed in single precision."""
    largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)
    of_arguments = max((float(np.max(np.abs(a), initial=0.0)) for a in arrays if a.dtype.kind == "f"), default=0.0)
    return (1e-3 if single else 1e-8) * largest + (1e-5 if single else 1e-14) * (1 + of_arguments)


def is_single(captured) -> bool:
    return " f32" in captured.graph.dump()


class Leaves(list):
    """Arrays of floats, and the types that they had."""


def original(front, function, arrays) -> Leaves:
    """Leaves of what the function returns, as float arrays."""
    try:
        made = front.value(front.call(function, [a.copy() for a in arrays]))
        leaves = [np.asarray(leaf) for leaf in flatten(made)[0]]
        floats = Leaves(leaf.astype(float, copy=False) for leaf in leaves)
        floats.types = [leaf.dtype for leaf in leaves]
        return floats
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(describe(error)) from error


def beside(arrays, scale):
    rng = np.random.Generator(np.random.Philox(20171))
    return [a if a.dtype.kind != "f" else (a + scale * (1 + np.abs(a)) * rng.standard_normal(a.shape)).astype(a.dtype) for a in arrays]


@contextlib.contextmanager
def generators_kept():
    """Draws of this call are drawn again: one call more is no difference to those who set a seed."""
    torch = sys.modules.get("torch")
    states = random.getstate(), np.random.get_state(), torch and torch.random.get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        if torch:
            torch.random.set_rng_state(states[2])


def watched(front, function, arrays, effects):
    """What the function returns at x0; without ``effects`` CaptureError where it does something besides."""
    with watch(function) as seen, generators_kept():
        expected = original(front, function, arrays)
    if seen.effect and not effects:
        raise CaptureError(f"the function {seen.effect}, which a graph would not do")
    return expected


def check(captured, function, arrays, expected):
    """CaptureError where the graph and the function, which returned ``expected`` at x0, differ by more than rounding."""
    program = captured.program(captured.outputs)
    compare_values(captured, program, function, arrays, "at x0", expected)
    for scale in (1e-3, 1e-5):
        near = beside(arrays, scale)
        expected = original(captured.front, function, near)
        if all(np.isfinite(e).all() for e in expected):
            break
    compare_values(captured, program, function, near, "beside x0", expected)
    compare_gradients(captured, function, near, expected)
    captured.how += ", checked at x0 and beside it"


def compare_values(captured, program, function, arrays, where, expected=None):
    expected = original(captured.front, function, arrays) if expected is None else expected
    got = program(*arrays)
    single = is_single(captured)
    if len(got) != len(expected):
        raise CaptureError(f"the function returned {len(expected)} values {where}, and {len(got)} while it was traced")
    for i, (a, b) in enumerate(zip(got, expected)):
        a = np.asarray(a, dtype=float)
        if a.shape != b.shape and a.size != b.size:
            raise CaptureError(f"result {i} has shape {b.shape} {where}, and {a.shape} as a graph")
        a, b = a.ravel(), b.ravel()
        with np.errstate(invalid="ignore"):
            same = (np.abs(a - b) <= tolerance(arrays, b, single)) | (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            k = int(np.argmin(same))
            raise CaptureError(f"element {k} of result {i} {where} is {float(a[k])!r} as a graph, {float(b[k])!r} by the function")


def compare_gradients(captured, function, arrays, expected):
    wrt = [n for n, a in zip(captured.inputs, arrays) if a.dtype.kind == "f"]
    outputs = [(o, e) for o, e in zip(captured.outputs, expected) if o.dtype.kind == "f" and e.size]
    if not wrt or not outputs or not all(np.isfinite(e).all() for e in expected):
        return
    rng = np.random.Generator(np.random.Philox(7))
    weights = [rng.uniform(0.5, 1.5, e.shape) for _, e in outputs]
    got = weighted_gradient(captured, [o for o, _ in outputs], weights, wrt, arrays)
    try:
        by_framework = captured.front.gradients(function, arrays, weights)
    except Exception as error:
        raise CaptureError(f"no derivatives of the original: {describe(error)}") from error
    if by_framework is not None:
        single = is_single(captured)
        for a, b in zip(got, by_framework):
            if not np.allclose(a, b, rtol=1e-2 if single else 1e-6, atol=(1e-4 if single else 1e-6) * (1 + np.max(np.abs(b), initial=0.0))):
                raise CaptureError("derivatives beside x0 differ from those of the framework")
        return
    compare_differences(captured, function, arrays, outputs, weights, got, rng)


def weighted_gradient(captured, outputs, weights, wrt, arrays):
    """d sum(weights . outputs) / d wrt, by a graph of its own: the captured one stays as it was traced."""
    g = captured.graph
    total = None
    for node, weight in zip(outputs, weights):
        shaped = g.constant(np.ascontiguousarray(weight.reshape(node.shape), dtype=node.dtype))
        part = g.op("sum", g.op("mul", node, shaped))
        part = part if part.dtype == np.float64 else g.op("cast", part, "float64")
        total = part if total is None else g.op("add", total, part)
    return captured.program(list(g.grad(total, wrt)))(*arrays)


def compare_differences(captured, function, arrays, outputs, weights, got, rng):
    """Along two random directions; one of several steps has to agree, as a step across a kink does not count."""
    chosen = {id(o): w for (o, _), w in zip(outputs, weights)}
    real = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]

    def total(point):
        values = original(captured.front, function, point)
        return sum(float(np.sum(v * chosen[id(o)])) for o, v in zip(captured.outputs, values) if id(o) in chosen)

    for _ in range(2):
        step = {i: rng.standard_normal(arrays[i].shape) for i in real}
        slope = sum(float(np.sum(np.asarray(g, dtype=float) * step[i])) for g, i in zip(got, real))
        found = []
        for h in (1e-5, 1e-6, 1e-4, 1e-7):
            ends = [[a + s * h * (1 + np.abs(a)).max(initial=0.0) * step[i] if i in step else a for i, a in enumerate(arrays)] for s in (1, -1)]
            width = 2 * h * max((float((1 + np.abs(arrays[i])).max(initial=0.0)) for i in real), default=1.0)
            if len(real) > 1:  # one common step length, so that the direction is the same for all
                length = width / 2
                ends = [[a + s * length * step[i] if i in step else a for i, a in enumerate(arrays)] for s in (1, -1)]
            difference = (total([e.astype(a.dtype) for e, a in zip(ends[0], arrays)]) - total([e.astype(a.dtype) for e, a in zip(ends[1], arrays)])) / width
            found.append(difference)
            if abs(difference - slope) <= 1e-3 * max(1.0, abs(slope), abs(difference)):
                break
        else:
            raise CaptureError(f"a derivative beside x0 is {slope:.6g} as a graph, {found[0]:.6g} by differences")
