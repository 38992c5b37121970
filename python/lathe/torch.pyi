from collections.abc import Callable, Mapping
from typing import Any

class Report:
    graphs: dict[str, int]
    programs: int
    ops: int
    eager: dict[str, int]
    reasons: dict[str, str]
    whole_graphs: dict[str, int]
    graph_breaks: dict[str, int]
    differences: list[str]

def report() -> Report: ...
def reset() -> None: ...
def backend(module: Any, inputs: Any, *, mode: str | None = None, options: Mapping[str, Any] | None = None, **unknown: Any) -> Callable[..., Any]: ...
