"""Traced graphs of PyTorch as a list of steps: programs of lathe where the table has the ops, the ops themselves where it has not.

``plan(module)`` walks the ATen ops once on tracers to see which are refused; those become steps of their own, everything between them
is compiled. A piece is compared with PyTorch's own ops at its first call, and gives way to them where the two differ by more than rounding.
"""
from __future__ import annotations

import operator

import numpy as np

from .. import _core
from ..errors import CaptureError
from .check import tolerance
from .torch import compute, constant_of, is_random, mutates, op_name
from .tracer import Refused, Tracer

#: Types that a program takes and gives; masks travel as numbers.
TYPES = ("float64", "float32", "int64", "int32", "bool")


class Stop(Exception):
    """A node has to be an op of PyTorch after all: the plan is made again."""

    def __init__(self, node, why):
        self.node, self.why = node, why


# ---- Which nodes a graph can have ----------------------------------------------------------------------------------------
class Plan:
    """Where each node is computed: in stage k as part of a program, or as an op after the programs of stage k."""

    def __init__(self, module, forced):
        import torch
        self.module, self.forced, self.tensor = module, forced, torch.Tensor
        self.values, self.stage, self.constants, self.eager = {}, {}, {}, {}
        self.graph, self.last_draw = _core.Graph(), 0
        for node in module.graph.nodes:
            if mutates(node):
                raise CaptureError(f"aten.{op_name(node.target)} changes a tensor in place")
            if node.op == "placeholder":
                self.values[node] = stand_in(self.graph, node)
                self.stage[node] = 0
            elif node.op == "get_attr":
                self.values[node] = self.constants[node] = constant_of(module, node.target)
            elif node.op == "call_function":
                self.place(node)
            elif node.op != "output":
                raise CaptureError(f"a node of kind {node.op}")

    def place(self, node):
        if node.target is operator.getitem and node.args[0] in self.eager:
            return self.as_op(node, None)
        if node in self.forced:
            return self.as_op(node, self.forced[node])
        try:
            unknown = next((n for n in node.all_input_nodes if self.values[n] is None), None)
            if unknown is not None:
                raise CaptureError(f"elements of type {type_of(unknown)}")
            made = computed(self.graph, node, self.values)
        except CaptureError as error:
            return self.as_op(node, str(error))
        except Exception as error:  # PyTorch's table of signatures is wider than ours: whatever fails is an op of PyTorch
            return self.as_op(node, f"{type(error).__name__}: {error}")
        if isinstance(made, Refused) and node.users:
            raise Stop(node.args[0], object.__getattribute__(made, "_what"))
        self.values[node] = made
        if isinstance(made, self.tensor) or not any(n in self.stage for n in node.all_input_nodes):
            self.constants[node] = made
        else:
            self.stage[node] = max(self.stage[n] + (n in self.eager) for n in node.all_input_nodes if n in self.stage)

    def as_op(self, node, why):
        self.eager[node] = why
        self.stage[node] = max((self.stage[n] for n in node.all_input_nodes if n in self.stage), default=0)
        if is_random(node):  # draws keep their order
            self.stage[node] = self.last_draw = max(self.stage[node], self.last_draw)
        self.values[node] = stand_in(self.graph, node)

    def compiled(self):
        """Nodes of programs, by stage."""
        made = {}
        for node, k in self.stage.items():
            if node.op == "call_function" and node not in self.eager:
                made.setdefault(k, []).append(node)
        return made


def computed(graph, node, values):
    """One node on tracers. as_strided depends on the layout of what it reads, which only the traced graph knows."""
    if op_name(node.target) != "as_strided":
        return compute(graph, node, values)
    read, made = node.args[0].meta["val"], node.meta["val"]
    if not read.is_contiguous() or not made.is_contiguous() or read.numel() != made.numel() or made.storage_offset() != read.storage_offset():
        raise CaptureError("aten.as_strided of another layout")
    return np.reshape(values[node.args[0]], tuple(made.shape))


def type_of(node) -> str:
    value = node.meta.get("val")
    return str(getattr(value, "dtype", type(value).__name__)).replace("torch.", "")


def stand_in(graph, node):
    """A tracer in the form of a node's value; a list of them for a list; None for what no program takes."""
    return shaped(graph, node.name, node.meta.get("val"))


def shaped(graph, name, value):
    import torch
    if isinstance(value, (tuple, list)):
        return [shaped(graph, f"{name}.{i}", v) for i, v in enumerate(value)]
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or str(value.dtype).replace("torch.", "") not in TYPES:
        return None
    logical = value.dtype == torch.bool
    return Tracer(graph.input(name, np.dtype("float64" if logical else str(value.dtype).replace("torch.", "")), tuple(value.shape)), logical)


def plan(module) -> Plan:
    forced = {}
    while True:
        try:
            made = Plan(module, forced)
            check_borders(made)
            return made
        except Stop as stop:
            if stop.node in forced:
                raise CaptureError(stop.why) from None
            forced[stop.node] = stop.why


def check_borders(plan):
    """What leaves a program has to be an array."""
    for node in plan.stage:
        if node.op == "call_function" and node not in plan.eager and leaves_program(plan, node) and not isinstance(plan.values[node], Tracer):
            raise Stop(node, f"{op_name(node.target)} gives values that no array holds")


def leaves_program(plan, node) -> bool:
    return any(user.op == "output" or user in plan.eager or plan.stage.get(user) != plan.stage[node] for user in node.users
               if not (user.target is operator.getitem and user in plan.stage and user not in plan.eager))


# ---- Steps ---------------------------------------------------------------------------------------------------------------
class Op:
    """One op of PyTorch."""

    def __init__(self, node):
        self.node = node

    def __call__(self, env):
        run_op(self.node, env)


def run_op(node, env):
    from torch.fx.node import map_arg
    args, kwargs = map_arg((node.args, node.kwargs), lambda n: env[n])
    env[node] = node.target(*args, **kwargs)


class Piece:
    """Nodes of one stage as a program."""

    def __init__(self, plan, nodes, mode, device):
        inside = set(nodes)
        self.nodes, self.checked, self.differs = nodes, False, None
        outer = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside and n not in plan.constants)
        self.inputs = list(outer)
        self.constants = {n: plan.constants[n] for node in nodes for n in node.all_input_nodes if n in plan.constants}
        self.outputs = [n for n in nodes if isinstance(plan.values[n], Tracer) and leaves_program(plan, n)]
        graph = _core.Graph()
        values = {n: stand_in(graph, n) for n in outer} | self.constants
        for node in nodes:
            values[node] = computed(graph, node, values)
        self.program = graph.compile([values[n].node for n in self.outputs], mode=mode, device=device)

    def __call__(self, env):
        if self.differs is not None:
            return self.as_ops(env)
        made = self.program(*[array_of(env[n]) for n in self.inputs])
        for node, array in zip(self.outputs, made):
            env[node] = tensor_of(array, node.meta["val"])

    def as_ops(self, env):
        env.update(self.constants)
        for node in self.nodes:
            run_op(node, env)

    def check(self, env):
        """At the first call: what PyTorch's ops make of the same inputs. Its results are used where the two differ."""
        self.checked = True
        own = {n: env[n] for n in self.inputs}
        self.as_ops(own)
        self(env)
        arrays = [array_of(env[n]) for n in self.inputs]
        for node in self.outputs:
            difference = differs(env[node], own[node], arrays)
            if difference:
                self.differs = f"{node.name}: {difference}"
                env.update({n: own[n] for n in self.outputs})
                return


def array_of(tensor):
    import torch
    tensor = tensor.detach()
    return (tensor.double() if tensor.dtype == torch.bool else tensor.resolve_conj().resolve_neg()).numpy()


def tensor_of(array, like):
    """An array as the tensor that PyTorch would have made: type, shape and strides."""
    import torch
    made = torch.from_numpy(array)
    if made.dtype != like.dtype:
        made = made.to(like.dtype)
    if made.stride() == like.stride() or made.numel() < 2:
        return made
    return torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).copy_(made)


def differs(got, expected, arrays) -> str:
    """How two tensors differ by more than rounding; '' where they do not."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{tuple(got.shape)} {got.dtype}, {tuple(expected.shape)} {expected.dtype} by PyTorch"
    a, b = (t.detach().double().numpy().ravel() for t in (got, expected))
    with np.errstate(invalid="ignore"):
        same = (np.abs(a - b) <= tolerance(arrays, b, any(x.dtype == np.float32 for x in arrays))) | (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return ""
    k = int(np.argmin(same))
    return f"element {k} is {float(a[k])!r}, {float(b[k])!r} by PyTorch"


# ---- The whole -----------------------------------------------------------------------------------------------------------
class Steps:
    """A traced module as steps: called with its inputs, gives the list of its outputs."""

    def __init__(self, module, mode="default", device="cpu", verify=True):
        self.plan, self.verify = plan(module), verify
        self.placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        leaves = next(n for n in module.graph.nodes if n.op == "output").args[0]
        self.outputs = list(leaves) if isinstance(leaves, (tuple, list)) else [leaves]
        self.pieces = {k: Piece(self.plan, nodes, mode, device) for k, nodes in self.plan.compiled().items()
                       if any(leaves_program(self.plan, n) for n in nodes)}
        self.steps = []
        for k in range(max(self.plan.stage.values(), default=0) + 1):
            self.steps += [self.pieces[k]] if k in self.pieces else []
            self.steps += [Op(node) for node in module.graph.nodes if node in self.plan.eager and self.plan.stage[node] == k]
        self.free = last_uses(self.steps, self.outputs)

    def __call__(self, *inputs):
        env = dict(zip(self.placeholders, inputs)) | self.plan.constants
        for step, done in zip(self.steps, self.free):
            if self.verify and isinstance(step, Piece) and not step.checked:
                step.check(env)
            else:
                step(env)
            for node in done:
                env.pop(node, None)
        return [self.leaf(env, leaf) for leaf in self.outputs]

    def leaf(self, env, leaf):
        if not hasattr(leaf, "op"):
            return leaf
        return env[leaf].clone() if leaf in self.plan.constants else env[leaf]

    @property
    def differences(self):
        return [p.differs for p in self.pieces.values() if p.differs]


def last_uses(steps, outputs):
    """For each step the nodes that nothing needs after it."""
    kept, made = {n for n in outputs if hasattr(n, "op")}, []
    for step in reversed(steps):
        used = set(step.inputs) | set(step.nodes) if isinstance(step, Piece) else {step.node, *step.node.all_input_nodes}
        made.append(used - kept)
        kept |= used
    return made[::-1]
