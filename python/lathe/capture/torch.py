"""Front: PyTorch code, traced by make_fx to ATen ops, which aten.py maps onto the op table.

A decomposition of PyTorch is used for every op that the table does not have. Tensors from outside the function (data, parameters,
buffers) become constants; what depends on no variable is computed once, by PyTorch itself.
"""
from __future__ import annotations

import contextlib
import operator
import sys
import warnings

import numpy as np

from ..errors import CaptureError
from ..tree import flatten, tree_map, unflatten
from .tracer import ComplexTracer, Refused, Tracer, cast, graph_dtype, refuse

NAME = "PyTorch code"


def ready(arguments) -> bool:
    torch = sys.modules["torch"]
    return all(isinstance(a, torch.Tensor) for a in arguments)


def arguments(arrays):
    import torch
    return [torch.from_numpy(np.array(a)) for a in arrays]


# ---- Tracing -------------------------------------------------------------------------------------------------------------
def trace(function, graph, nodes, arrays):
    fill_table()
    shape = {}

    def flat(*tensors):
        leaves, shape["tree"] = flatten(function(*tensors))
        return leaves
    module = traced_module(flat, arguments(arrays))
    outputs = run(module, graph, [Tracer(n) for n in nodes])
    return unflatten(shape["tree"], [returned(leaf) for leaf in outputs])


def fill_table():
    from . import aten_backward, aten_index, aten_linalg, aten_networks, aten_shape, aten_windows  # noqa: F401  (their rows)


def traced_module(function, tensors):
    """The function as ATen ops that change nothing in place.

    Traced below `functionalize`, which knows no torch.autograd.grad inside the function: such a function is traced without it first.
    Decompositions change tensors in place in turn, so what is left of that is functionalized once more.
    """
    import torch
    drawn = torch.random.get_rng_state()
    try:
        with quietly(), torch.backends.mkldnn.flags(enabled=False):  # recurrent layers as ops of the table
            module = without_branches(function, tensors)
            return changed_nowhere(module, tensors) if any(mutates(node) for node in live_nodes(module)) else module
    except CaptureError:
        raise
    except RuntimeError as error:
        if "_local_scalar_dense" in str(error):
            raise CaptureError("the function takes a value out of a tensor (a branch on it, .item(), float())") from error
        raise
    finally:
        torch.random.set_rng_state(drawn)  # a function that draws is refused, and draws the same when it is called


def without_branches(function, tensors):
    from torch.fx.experimental.proxy_tensor import make_fx
    try:
        return functional(function, tensors)
    except RuntimeError as error:
        if "functorch" not in str(error):
            raise
        with_gradients = make_fx(function)(*tensors)
        return functional(with_gradients, tensors)


def changed_nowhere(module, tensors):
    """The traced module once more; as it is where it changes constants, which in_place below knows how to follow."""
    try:
        return functional(module, tensors)
    except RuntimeError:
        return module


def functional(function, tensors):
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    with ways():
        return make_fx(torch.func.functionalize(function, remove="mutations"), decomposition_table=decompositions())(*tensors)


def ways():
    """Functions of PyTorch that look at values where they need not, in ways that do not."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Ways(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.nn.functional.one_hot:
                made = one_hot(*args, **(kwargs or {}))
                if made is not None:
                    return made
            if function is torch.Tensor.__getitem__ and is_position(args[1]):
                return args[0][args[1].reshape(1)][0]
            return function(*args, **(kwargs or {}))
    return Ways()


def is_position(index) -> bool:
    """Whether an index is one computed position, of argmax say, whose value PyTorch would take out of its tensor."""
    import torch
    return isinstance(index, torch.Tensor) and index.ndim == 0 and index.dtype in (torch.int64, torch.int32)


def one_hot(tensor, num_classes=-1):
    """Without the look for the largest class, where their number is given."""
    import torch
    if num_classes <= 0:
        return None
    return (tensor.unsqueeze(-1) == torch.arange(num_classes, device=tensor.device)).long()


@contextlib.contextmanager
def quietly():
    """What PyTorch or the function warn of is heard when the function is called."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def decompositions(beyond_core=True):
    """PyTorch's own, for what the table has no row for; some of those beyond its core set turn what eager PyTorch does fast into many ops."""
    import torch
    from .aten import TABLE
    beyond = {op: way for op, way in torch._decomp.decomposition_table.items() if torch.Tag.nondeterministic_seeded not in getattr(op, "tags", ())} if beyond_core else {}
    return {op: way for op, way in (beyond | dict(torch._decomp.core_aten_decompositions())).items() if op_name(op) not in TABLE}


# ---- From ATen to the graph ----------------------------------------------------------------------------------------------
def run(module, graph, inputs):
    """The traced module, op by op, on tracers; constants stay tensors of PyTorch until an op mixes them with tracers."""
    values, inputs = {}, iter(inputs)
    for node in live_nodes(module):
        if node.op == "placeholder":
            values[node] = next(inputs)
        elif node.op == "get_attr":
            values[node] = constant_of(module, node.target)
        elif node.op == "call_function":
            values[node] = compute(graph, node, values)
        elif node.op == "output":
            leaves = node.args[0] if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
            return [values[leaf] if hasattr(leaf, "op") else leaf for leaf in leaves]
    raise CaptureError("the function returned nothing")


def live_nodes(module):
    """Nodes on which the outputs depend, and those that change something outside: placeholders too, in order."""
    wanted = set()
    for node in reversed(module.graph.nodes):
        if node.op in ("output", "placeholder") or node in wanted or mutates(node) or is_random(node):
            wanted.add(node)
            wanted.update(node.all_input_nodes)
    return [node for node in module.graph.nodes if node in wanted]


def constant_of(module, target):
    value = module
    for part in target.split("."):
        value = getattr(value, part)
    return value.detach()


def op_name(op) -> str:
    """'add' of aten.add.Tensor."""
    return getattr(op, "_schema", None).name.split("::")[1] if hasattr(op, "_schema") else getattr(op, "__name__", str(op))


def mutates(node) -> bool:
    return node.op == "call_function" and hasattr(node.target, "_schema") and node.target._schema.is_mutable


def is_random(node) -> bool:
    import torch
    return node.op == "call_function" and torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def compute(graph, node, values):
    from torch.fx.node import map_arg
    args, kwargs = map_arg((node.args, node.kwargs), lambda n: values[n])
    if node.target is operator.getitem:
        part = args[0][args[1]]
        return fitted(graph, part, node) if isinstance(part, (np.ndarray, np.generic)) else part
    if is_random(node):
        name = op_name(node.target)
        refuse("dropout draws random numbers (put the module in eval mode)" if "dropout" in name or "bernoulli" in name else
               f"the function draws random numbers ({name})")
    if mutates(node):
        return in_place(graph, node, values, args, kwargs)
    if not any_traced(args, kwargs):
        return node.target(*args, **kwargs)
    return fitted(graph, apply(op_name(node.target), args, kwargs), node)


def is_pair(leaf) -> bool:
    from .aten import Pair
    return isinstance(leaf, Pair)


def apply(name, args, kwargs):
    from .aten import TABLE
    if name not in TABLE:
        refuse(f"aten.{name} has no op")
    args, kwargs = tree_map(plain, list(args)), {k: plain(v) for k, v in kwargs.items()}
    try:
        return TABLE[name](*args, **kwargs)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        return refuse(f"aten.{name} with these arguments ({error})")


def in_place(graph, node, values, args, kwargs):
    """What functionalize left in place: on a value of the function it is a new value under the old name."""
    import torch
    name, first = op_name(node.target), node.args[0]
    if isinstance(args[0], torch.Tensor) and args[0].untyped_storage().data_ptr() in outside(values):
        refuse(f"the function changes a tensor outside it in place (aten.{name})")
    made = fitted(graph, apply(name.rstrip("_"), args, kwargs), node) if any_traced(args, kwargs) else node.target(*args, **kwargs)
    values[first] = made
    return made


def outside(values) -> set:
    """Where the tensors lie that the function did not make."""
    return {v.untyped_storage().data_ptr() for n, v in values.items() if n.op == "get_attr"}


def any_traced(args, kwargs) -> bool:
    return any(isinstance(leaf, (Tracer, ComplexTracer, Refused)) or is_pair(leaf) for leaf in flatten([args, kwargs])[0])


def plain(value):
    """A constant as NumPy has it: an array, or a number where it is one."""
    import torch
    if not isinstance(value, torch.Tensor):
        return value
    if value.is_complex():
        refuse("complex constants")
    return value.item() if value.ndim == 0 and value.dtype != torch.bool else value.detach().cpu().numpy()


def fitted(graph, made, node):
    """The result in the shape and precision that PyTorch gave it."""
    import torch
    expected = node.meta.get("val")
    if not isinstance(made, Tracer) or not isinstance(expected, torch.Tensor):
        if isinstance(made, (np.ndarray, np.generic)) and isinstance(expected, torch.Tensor):
            return torch.from_numpy(np.ascontiguousarray(made)).to(expected.dtype).reshape(expected.shape)
        return list(made) if isinstance(made, tuple) else made
    if tuple(made.shape) != tuple(expected.shape):
        raise CaptureError(f"aten.{op_name(node.target)} made shape {made.shape} where PyTorch makes {tuple(expected.shape)}")
    if expected.dtype in (torch.float32, torch.float64) and not made.logical:
        return cast(made, graph_dtype("float32" if expected.dtype == torch.float32 else "float64"))
    return made


def returned(leaf):
    import torch
    if isinstance(leaf, ComplexTracer):
        refuse("the function returns complex values")
    if isinstance(leaf, Refused):
        leaf._no()
    return leaf.detach().cpu().numpy() if isinstance(leaf, torch.Tensor) else leaf


# ---- The original --------------------------------------------------------------------------------------------------------
def call(function, arrays):
    return function(*arguments(arrays))


def value(made):
    import torch
    return tree_map(lambda leaf: leaf.detach().cpu().numpy() if isinstance(leaf, torch.Tensor) else leaf, made)


def gradients(function, arrays, weights):
    """Derivatives of sum(weights . outputs) by PyTorch's reverse mode."""
    import torch
    leaves = [t.requires_grad_(t.is_floating_point()) for t in arguments(arrays)]
    outputs = [o for o in flatten(function(*leaves))[0] if not isinstance(o, torch.Tensor) or o.is_floating_point() and o.numel()]
    total = sum((o * torch.from_numpy(np.asarray(w, dtype=float)).reshape(o.shape)).sum() for o, w in zip(outputs, weights) if isinstance(o, torch.Tensor))
    real = [leaf for leaf in leaves if leaf.requires_grad]
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return [np.zeros(leaf.shape) for leaf in real]
    made = torch.autograd.grad(total, real, allow_unused=True)
    return [np.zeros(leaf.shape) if g is None else g.numpy() for g, leaf in zip(made, real)]


def callbacks(bound, variables, arrays):
    """Way 3 for functions of tensors: (p, q, values, gradients, where gradients come from)."""
    made = Called(bound, variables)
    made(variables.pack(arrays))
    return *made.sizes, made, made.gradients, "PyTorch's reverse mode"


class Called:
    """values(x) and gradients(x); gradients are always asked for at the last x for which values were."""

    def __init__(self, bound, variables):
        self.bound, self.variables, self.sizes = bound, variables, None

    def __call__(self, x):
        import torch
        from ..callbacks import number
        from ..problem import parts_of
        self.leaves = [torch.from_numpy(part).detach().requires_grad_(True) for part in self.variables.unpack(x)]
        f, ci, ce = parts_of(self.bound(*self.leaves))
        ci, ce = (self.column(part) for part in (ci, ce))
        self.f, self.both = f, torch.cat([ci, ce])
        sizes = ci.numel(), ce.numel()
        if self.sizes not in (None, sizes):
            from ..errors import ShapeError
            raise ShapeError(f"the function returned {sizes[0]} inequalities and {sizes[1]} equalities: at first it returned {self.sizes[0]} and {self.sizes[1]}")
        self.sizes = sizes
        return number(f.detach().cpu() if isinstance(f, torch.Tensor) else f), ci.detach().numpy(), ce.detach().numpy()

    def column(self, part):
        import torch
        leaves = [torch.as_tensor(leaf).double().reshape(-1) for leaf in flatten(part)[0]]
        return torch.cat(leaves) if leaves else torch.empty(0, dtype=torch.double)

    def gradients(self, x):
        import torch
        from .reverse import jacobian
        if self.leaves is None:
            self(x)
        p, q = self.sizes
        rows = jacobian(self.both, self.leaves).double().numpy()
        df = jacobian(self.f.reshape(1), self.leaves, keep=False).double().numpy() if isinstance(self.f, torch.Tensor) else np.zeros(self.variables.n)
        self.leaves = self.f = self.both = None  # frees the graph
        return df, rows[:p], rows[p:p + q]


