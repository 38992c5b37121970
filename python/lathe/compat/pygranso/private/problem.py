"""combined_fn as a problem of lathe: as a graph where it can be captured, else called as it is, with PyTorch's reverse mode."""
from __future__ import annotations

import numbers

import numpy as np

import lathe
from lathe import _core, capture as capturing
from lathe.capture.effects import watch
from lathe.capture.reverse import jacobian
from lathe.console import say_once
from lathe.errors import ArgumentError, CaptureError, ShapeError, kind_of, of_result
from lathe.problem import from_captured
from ..pygransoStruct import fields_of


def build(points, combined_fn, x0, given):
    """(lathe.Problem of combined_fn, whether it was captured); x0 a vector of NumPy, ``given`` the options of this layer."""
    called = (Called if given.globalAD else CalledWithGradients)(points, combined_fn)
    with watch(combined_fn, points.model) as seen:
        try:
            called(x0)  # an error at x0 is the caller's; how many constraints there are is decided here
        except (ArgumentError, ShapeError) as error:
            raise of_result(error, combined_fn)
    why = "globalAD = False" if not given.globalAD else "capture = 'never'" if given.capture == "never" else None
    if why is None and seen.effect and given.capture == "verify":
        why = f"it {seen.effect}, which a graph would not do"
    if why is None:
        try:
            return captured(points, combined_fn, x0, called.sizes), True
        except CaptureError as error:
            if given.capture == "always":
                raise
            why = str(error)
    core = _core.Problem.from_functions(points.n, *called.sizes, called, called.gradients, [("x", (points.n,))])
    problem = lathe.Problem(core)
    problem.how = f"called from C, gradients by {called.source}: {why}"
    if given.globalAD and given.capture != "never":
        say_once(combined_fn, problem.how)
    return problem, False


def captured(points, combined_fn, x0, sizes):
    """combined_fn as a graph over its variables, or CaptureError."""
    import torch
    vector = torch.from_numpy(x0.copy()).to(points.dtype)
    arrays, at = [], 0
    for shape in points.shapes:
        count = int(np.prod(shape, dtype=np.int64))
        arrays.append(vector[at:at + count].reshape(shape).numpy())
        at += count
    function = points.stand_in(combined_fn)

    def parts(*tensors):
        f, ci, ce = function(*tensors)
        return f, tensors_of(ci, "ci"), tensors_of(ce, "ce")
    made = capturing.capture(parts, arrays, [torch.from_numpy(a) for a in arrays], points.names, effects=True)
    problem = lathe.Problem(from_captured(made))
    if (problem.p, problem.q) != sizes:
        raise CaptureError(f"the graph has {problem.p} inequalities and {problem.q} equalities, the function {sizes[0]} and {sizes[1]}")
    problem.how = made.how
    return problem


class Called:
    """values(x) and gradients(x): gradients are always asked for at the last x for which values were."""

    expected, source = "[f, ci, ce]", "PyTorch's reverse mode"

    def __init__(self, points, combined_fn):
        self.points, self.combined_fn, self.sizes = points, combined_fn, None
        self.first = None

    def __call__(self, x):
        if self.first is not None and np.array_equal(x, self.first[0]):  # x0 was evaluated when the problem was built
            values, self.first = self.first[1], None
            return values
        X, self.leaves = self.points.at(x)
        made = self.combined_fn(X)
        if not isinstance(made, (list, tuple)) or len(made) != self.expected.count(",") + 1:
            raise ArgumentError(f"combined_fn returned {describe(made)}: expected {self.expected}")
        values = self.take(made)
        sizes = values[1].size, values[2].size
        if self.sizes is None:
            self.sizes, self.first = sizes, (x.copy(), values)
        elif sizes != self.sizes:
            raise ShapeError(f"combined_fn returned {sizes[0]} inequalities and {sizes[1]} equalities: at x0 it returned {self.sizes[0]} and {self.sizes[1]}")
        return values

    def take(self, made):
        self.f = made[0]
        self.vector = column([*tensors_of(made[1], "ci"), *tensors_of(made[2], "ce")], self.leaves[0])
        ci = sum(t.numel() for t in tensors_of(made[1], "ci"))
        both = host(self.vector)
        return scalar(made[0]), both[:ci], both[ci:]

    def gradients(self, x):
        import torch
        if self.leaves is None:
            self(x)
        ci, ce = self.sizes
        both = host(jacobian(self.vector, self.leaves)) if ci + ce else np.empty((0, self.points.n))
        df = host(jacobian(self.f.reshape(1), self.leaves, keep=False)) if torch.is_tensor(self.f) else np.zeros(self.points.n)
        self.f = self.vector = self.leaves = None  # frees the graph
        return df, both[:ci], both[ci:]


class CalledWithGradients(Called):
    """globalAD = False: combined_fn returns the gradients as well, n x 1 and one column per constraint."""

    expected, source = "[f, f_grad, ci, ci_grad, ce, ce_grad]", "the function"

    def take(self, made):
        f, df, ci, dci, ce, dce = made
        blocks = [host(column(tensors_of(c, name), self.leaves[0])) for c, name in ((ci, "ci"), (ce, "ce"))]
        self.made = [rows(d, b.size, self.points.n, name) for d, b, name in
                     ((df, np.empty(1), "f_grad"), (dci, blocks[0], "ci_grad"), (dce, blocks[1], "ce_grad"))]
        return scalar(f), *blocks

    def gradients(self, x):
        return tuple(self.made)


def describe(made) -> str:
    return f"{len(made)} things" if isinstance(made, (list, tuple)) else kind_of(made)


def scalar(f) -> float:
    """f as a number: a one-element tensor, or a plain number."""
    if f is None:
        raise ArgumentError("combined_fn returned None for f: expected a number or a tensor of one element")
    if hasattr(f, "numel"):
        if f.numel() != 1:
            raise ShapeError(f"f has shape {tuple(f.shape)}: expected one element")
        if f.is_complex():
            raise ArgumentError("f is complex: expected a real number")
        return float(f.detach())
    if not isinstance(f, (numbers.Real, np.ndarray)):
        raise ArgumentError(f"f is {kind_of(f)}: expected a number or a tensor of one element")
    return float(f)


def tensors_of(block, name) -> list:
    """The tensors of ci or ce, in order: None, a struct, a dict, or one tensor."""
    import torch
    if block is None:
        return []
    if is_tensor(block):
        return [torch.as_tensor(block)]
    if isinstance(block, (list, tuple, str)):
        raise ArgumentError(f"{name} is {kind_of(block)}: expected None, a pygransoStruct of tensors, or a tensor")
    for key, part in fields_of(block).items():
        if not is_tensor(part) or torch.is_tensor(part) and part.is_complex():
            raise ArgumentError(f"{name}.{key} is {'complex' if torch.is_tensor(part) else kind_of(part)}: expected a tensor of real numbers")
    return [torch.as_tensor(part) for part in fields_of(block).values()]


def is_tensor(value) -> bool:
    """A tensor, an array or a number: what torch.as_tensor takes here."""
    import torch
    return torch.is_tensor(value) or isinstance(value, (numbers.Real, np.ndarray))


def column(tensors, like):
    """All elements one after the other, row-major."""
    import torch
    parts = [t.to(device=like.device, dtype=like.dtype).reshape(-1) for t in tensors]
    return parts[0] if len(parts) == 1 else torch.cat(parts) if parts else torch.empty(0, dtype=like.dtype, device=like.device)


def host(tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()


def rows(block, k, n, name) -> np.ndarray:
    """n x k as it was returned, one row per function as the solver takes it."""
    import torch
    if block is None or k == 0:
        if k:
            raise ArgumentError(f"combined_fn returned None for {name}: expected {n} x {k} numbers")
        return np.empty((0, n))
    made = host(torch.as_tensor(block))
    if made.size != n * k:
        raise ShapeError(f"{name} has shape {made.shape}: expected {n} x {k}")
    return np.ascontiguousarray(made.reshape(n, k).T)
