from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal

from numpy.typing import ArrayLike

class Problem:
    how: str
    core: Any
    variables: Any
    x0: Any
    def __init__(self, source: str | PathLike[str] | Callable[..., Any], x0: ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike] | None = None, *,
                 variables: Mapping[str, int | Sequence[int]] | None = None, capture: Literal["verify", "always", "never"] = "verify",
                 jac: Callable[..., Any] | Literal["2-point", "3-point"] | None = None, name: str | None = None) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def p(self) -> int: ...
    @property
    def q(self) -> int: ...
    def evaluate(self, x: ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike]) -> dict[str, Any]: ...
    def check(self, x: ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike] | None = None, tolerance: float = 1e-5, directions: int = 100) -> dict[str, Any]: ...
