from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

class LazyArray:
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    size: int
    stored: str
    stored_bytes: int
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def read(self, first: int, n: int) -> NDArray[Any]: ...
    def blocks(self, bytes_at_once: int = ...) -> Iterator[tuple[int, NDArray[Any]]]: ...
