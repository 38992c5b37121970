"""``torch.compile(f, backend="lathe")``: forward and backward on lathe's programs, through AOTAutograd.

>>> import torch, lathe.torch  # doctest: +SKIP
>>> model = torch.compile(torch.nn.Linear(4, 2), backend="lathe")  # doctest: +SKIP
>>> loss = model(torch.ones(3, 4)).square().sum()  # doctest: +SKIP
>>> loss.backward()  # doctest: +SKIP
>>> print(lathe.torch.report())  # doctest: +SKIP
1 forward, 1 backward graph: 2 programs with 7 ops; every op was compiled

The package registers the backend by an entry point, so that ``import lathe`` is not needed. Ops that lathe has no kernel for are called in
PyTorch, between the programs; ``report()`` counts and names them, and the graph breaks of Dynamo. At its first call each program is
compared with PyTorch's own ops on the same inputs; where they differ by more than rounding, PyTorch's ops stay.

``options``: {"verify": False} leaves that comparison out, {"mode": "eager" | "reduce-overhead" | "max-autotune"} is the mode of the compiler;
torch.compile's own ``mode`` means the same.
"""
from __future__ import annotations

import collections
import dataclasses

from .errors import ArgumentError, CaptureError

MODES = ("default", "eager", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
OPTIONS = ("mode", "verify")


@dataclasses.dataclass
class Report:
    """What was compiled since the start, or the last ``reset()``."""

    graphs: dict = dataclasses.field(default_factory=lambda: {"forward": 0, "backward": 0, "inference": 0})
    programs: int = 0          #: pieces of graphs that run on lathe
    ops: int = 0               #: ATen ops in them
    eager: dict = dataclasses.field(default_factory=dict)        #: op -> how often it stayed with PyTorch
    reasons: dict = dataclasses.field(default_factory=dict)      #: op -> why, the first time
    whole_graphs: dict = dataclasses.field(default_factory=dict)  #: why a whole graph stayed with PyTorch -> how often
    graph_breaks: dict = dataclasses.field(default_factory=dict)  #: Dynamo's reason -> how often
    differences: list = dataclasses.field(default_factory=list)  #: programs that gave way to PyTorch's ops, and where they differed

    def __str__(self):
        kinds = [f"{n} {name}" for name, n in self.graphs.items() if n]
        lines = [f"{', '.join(kinds) or 'no'} graph{'s' * (sum(self.graphs.values()) != 1)}: {self.programs} programs with {self.ops} ops"
                 + ("" if self.eager or self.whole_graphs else "; every op was compiled")]
        lines += [f"by PyTorch: aten.{name}, {n} times ({self.reasons[name]})" for name, n in sorted(self.eager.items())]
        lines += [f"whole graphs by PyTorch, {n} times: {why}" for why, n in self.whole_graphs.items()]
        lines += [f"graph break, {n} times: {why}" for why, n in self.graph_breaks.items()]
        return "\n".join(lines + [f"gave way to PyTorch: {d}" for d in self.differences])


_report = Report()
_compiled: list = []
_breaks_before: collections.Counter = collections.Counter()


def report() -> Report:
    """Graphs, programs and ops so far; which ops, and graphs, stayed with PyTorch and why."""
    return dataclasses.replace(_report, graph_breaks=dict(_breaks() - _breaks_before), graphs=dict(_report.graphs), eager=dict(_report.eager),
                               reasons=dict(_report.reasons), whole_graphs=dict(_report.whole_graphs),
                               differences=[d for steps in _compiled for d in steps.differences])


def reset() -> None:
    """Counts start again; functions that were compiled stay so."""
    global _report, _breaks_before
    _report, _breaks_before = Report(), _breaks()
    _compiled.clear()


def _breaks() -> collections.Counter:
    from torch._dynamo.utils import counters
    return collections.Counter({first_line(why): n for why, n in counters["graph_break"].items()})


def first_line(text) -> str:
    return str(text).strip().splitlines()[0] if str(text).strip() else "no reason given"


# ---- The backend ---------------------------------------------------------------------------------------------------------
def backend(module, inputs, *, mode=None, options=None, **unknown):
    """What Dynamo calls with a graph; AOTAutograd makes one of ATen ops, and its backward, of it."""
    from torch._dynamo.backends.common import aot_autograd
    settings = settings_of(mode, options, unknown)

    def compiler(kind):
        return lambda graph, examples: boxed(compiled(graph, kind, settings))
    way = aot_autograd(fw_compiler=compiler("forward"), bw_compiler=compiler("backward"), inference_compiler=compiler("inference"),
                       decompositions=decompositions())
    with plain_attention():
        return way(module, inputs)


def plain_attention():
    """Attention as products and softmax. PyTorch takes its fused forward apart in a way that its fused backward cannot follow."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return sdpa_kernel(SDPBackend.MATH)


def settings_of(mode, options, unknown) -> dict:
    made = {"mode": mode or "default", "verify": True, **(options or {})}
    wrong = [*unknown.keys() - {"name"}, *(made.keys() - set(OPTIONS))]
    if wrong:
        raise ArgumentError(f"backend 'lathe' has no option '{wrong[0]}': expected {' or '.join(OPTIONS)}")
    if made["mode"] not in MODES:
        raise ArgumentError(f"mode {made['mode']!r}: expected one of {', '.join(MODES[:-1])}")
    made["mode"] = made["mode"].removesuffix("-no-cudagraphs")
    return made


def boxed(function):
    from functorch.compile import make_boxed_func
    return make_boxed_func(function)


def decompositions():
    """PyTorch's own for what the table has no row for, and for ops whose second results (statistics) the backward needs."""
    import torch
    from .capture.torch import decompositions as core, fill_table
    fill_table()
    aten = torch.ops.aten
    more = (aten.native_layer_norm, aten.native_layer_norm_backward, aten.native_group_norm, aten.native_group_norm_backward,
            aten.native_batch_norm, aten.native_batch_norm_backward, aten._native_batch_norm_legit, aten._native_batch_norm_legit_functional,
            aten._native_batch_norm_legit_no_training, aten.nll_loss_forward, aten.nll_loss_backward)
    made = core(beyond_core=False) | torch._decomp.get_decompositions(more)
    return {op: way for op, way in made.items() if "attention" not in op.name()}


def compiled(graph, kind, settings):
    """The graph as a function of its inputs; PyTorch's own where nothing of it can be compiled."""
    _report.graphs[kind] += 1
    if symbolic(graph):
        return Specialised(graph, settings)
    return steps_of(graph, settings)


def steps_of(graph, settings):
    from torch.utils._python_dispatch import _disable_current_modes
    from .capture.pieces import Steps
    try:
        with _disable_current_modes():
            refuse_other_devices(graph)
            made = Steps(graph, **settings)
    except CaptureError as error:
        _report.whole_graphs[str(error)] = _report.whole_graphs.get(str(error), 0) + 1
        return graph
    count(made)
    return made


def count(steps):
    from .capture.torch import op_name
    _compiled.append(steps)
    _report.programs += len(steps.pieces)
    _report.ops += sum(len(p.nodes) for p in steps.pieces.values())
    for node, why in steps.plan.eager.items():
        if why is not None:
            name = op_name(node.target)
            _report.eager[name] = _report.eager.get(name, 0) + 1
            _report.reasons.setdefault(name, why)


def refuse_other_devices(graph):
    import torch
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            raise CaptureError(f"tensors on {value.device}: programs of torch.compile take them from the host's memory")


# ---- Sizes that vary -----------------------------------------------------------------------------------------------------
def symbolic(graph) -> bool:
    """Whether Dynamo left sizes open."""
    import torch
    values = [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]
    return any(isinstance(v, torch.SymInt | torch.SymFloat | torch.SymBool) or isinstance(v, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in v.shape)
               for v in values)


class Specialised:
    """A graph with open sizes: traced again, and compiled, for each combination of sizes that it is called with."""

    MOST = 64

    def __init__(self, graph, settings):
        self.graph, self.settings, self.made = graph, settings, {}

    def __call__(self, *inputs):
        import torch
        key = tuple((tuple(v.shape), v.stride(), v.dtype) if isinstance(v, torch.Tensor) else v for v in inputs)
        if key not in self.made:
            if len(self.made) >= self.MOST:
                self.made.pop(next(iter(self.made)))
            self.made[key] = steps_of(self.traced(inputs), self.settings)
        return self.made[key](*inputs)

    def traced(self, inputs):
        from torch.fx.experimental.proxy_tensor import make_fx
        return make_fx(self.graph, tracing_mode="fake")(*inputs)
