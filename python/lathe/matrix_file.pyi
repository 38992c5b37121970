from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

class GramFile:
    path: str | PathLike[str]
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    packed: bool
    def __init__(self, path: str | PathLike[str]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: int | slice) -> NDArray[Any]: ...
    def blocks(self, rows: int = 4096) -> Iterator[Any]: ...
