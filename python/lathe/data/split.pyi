from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

class Split:
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    seed: int
    rule: str
    def __iter__(self) -> Iterator[NDArray[np.int64]]: ...
